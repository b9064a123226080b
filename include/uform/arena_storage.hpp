/// What an arena keeps beside its state word, and the places that name its outputs while a call writes them.
#ifndef UFORM_ARENA_STORAGE_HPP
#define UFORM_ARENA_STORAGE_HPP

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "uform/buffer.hpp"
#include "uform/residency.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"

namespace uform {

/// What a place may hold: a scalar, or `std::byte` where the scalar is known when the program runs only.
template <class T> concept PlaceScalar = RowScalar<T> || std::same_as<T, std::byte>;

/// What a place says of any scalar.
struct PlaceKey {
    void const *arena = nullptr;
    std::uint64_t draft = 0;
    std::uint32_t index = 0;
};
/// Names an output's rows between `place` and `publish`. Plain data; means nothing to another draft.
template <PlaceScalar T> struct Place : PlaceKey {};
/// As `Place`, with offsets.
template <PlaceScalar T> struct RaggedPlace : PlaceKey {};
/// As `Place`, in host memory for every residency: for ids and counts that the caller reads at once.
template <RowScalar T> struct HostPlace : PlaceKey {};

/// Where an output's rows lie, and whether offsets part them.
enum class PieceKind : std::uint8_t { rows, ragged, host_rows };

/// One output of a draft: its shape, and where it lies in the block.
struct Piece {
    std::size_t rows = 0, texts = 0, at = 0, offsets_at = 0;
    std::uint32_t columns = 0, stride_bytes = 0;
    Scalar scalar = Scalar::f32;
    PieceKind kind = PieceKind::rows;
    std::byte *data = nullptr;        // these two from commit on, so that a pinned reader need not look at the block,
    std::uint32_t *offsets = nullptr; // which the next draft may be growing
};

/// What an arena's slot keeps beside the state word. Touched by the call that has the lease, and by pinned readers of
/// `current`; the two atomics by anyone.
template <class R> struct ArenaStorage {
    typename R::Block block;
    Buffer<Piece> drafted, current; // swapped at commit, so that old results stay readable while drafting
    std::uint64_t draft = 0;        // that `current` is of, so that a place of another one is refused
    Extent used;                    // of the current results
    std::optional<Error> fault;     // of the draft or the writing, answered by `commit` or `publish`
    std::atomic<std::size_t> limit{SIZE_MAX};
    std::atomic<std::size_t> capacity{0};

    explicit ArenaStorage(typename R::Block::Origin origin) noexcept : block(origin) {}

    void note_capacity() noexcept { capacity.store(block.capacity(), std::memory_order_relaxed); }
    [[nodiscard]] Piece *find(PlaceKey const &place, PieceKind kind) noexcept {
        if (place.draft != draft || place.index >= current.size()) return nullptr;
        return current[place.index].kind == kind ? &current[place.index] : nullptr;
    }
};

} // namespace uform

#endif // UFORM_ARENA_STORAGE_HPP
