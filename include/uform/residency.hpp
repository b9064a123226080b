/// Where memory lives: the one policy axis of arenas, executors and views.
#ifndef UFORM_RESIDENCY_HPP
#define UFORM_RESIDENCY_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional> // std::hash too
#include <string_view>

namespace uform {

/// The kinds of memory. The numbers are those of the C ABI and never change.
enum class Residency : std::uint8_t {
    ram,  ///< host pages
    vram, ///< the memory of one GPU
};

/// "ram" or "vram". Static storage.
[[nodiscard]] constexpr std::string_view residency_name(Residency residency) noexcept {
    return residency == Residency::ram ? "ram" : "vram";
}

/// Says whether the host may dereference its addresses.
template <class R> concept SaysHostAccess = requires {
    { R::host_accessible } -> std::convertible_to<bool>;
};
/// Names its kind of memory.
template <class R> concept NamesItsResidency = requires {
    { R::residency } -> std::same_as<Residency const &>;
};
/// Has a block of memory that grows, for an arena's outputs: see `HostBlock` for the operations, and
/// `Block::Origin` for what a block is made from.
template <class R> concept HasBlock = requires {
    typename R::Block;
    typename R::Block::Origin;
};

/// A residency: `Ram`, or the `Vram` of `uform/cuda.hpp`.
template <class R> concept AnyResidency = SaysHostAccess<R> && NamesItsResidency<R> && HasBlock<R>;

/// How much an arena's outputs take, in bytes: of the residency's memory, and of the host memory that a device arena
/// has beside it for offsets, counts and ids. Host pages hold both in one block, and count them in `bytes`.
struct Extent {
    std::size_t bytes = 0, host_bytes = 0;

    /// Both; `SIZE_MAX` where that overflows.
    [[nodiscard]] std::size_t total() const noexcept {
        return bytes > SIZE_MAX - host_bytes ? SIZE_MAX : bytes + host_bytes;
    }
};

/// Where an arena's outputs land.
struct ArenaDescription {
    Residency residency = Residency::ram;
    std::optional<std::uint32_t> device; ///< the device's ordinal; empty for host pages

    bool operator==(ArenaDescription const &) const = default;
};

} // namespace uform

template <> struct std::hash<uform::ArenaDescription> {
    std::size_t operator()(uform::ArenaDescription const &where) const noexcept {
        auto const device = where.device ? std::uint64_t{*where.device} + 1 : 0;
        return std::hash<std::uint64_t>{}(device << 8 | static_cast<std::uint64_t>(where.residency));
    }
};

#endif // UFORM_RESIDENCY_HPP
