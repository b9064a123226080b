/// Host pages: a block whose address space is reserved once and whose pages are committed as it grows.
#ifndef UFORM_RAM_HPP
#define UFORM_RAM_HPP

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "uform/config.hpp"
#include "uform/residency.hpp"
#include "uform/status.hpp"

#if UFORM_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace uform {

/// Makes AddressSanitizer trap at bytes that no output owns. Nothing in other builds.
inline void poison([[maybe_unused]] void const *first, [[maybe_unused]] std::size_t bytes) noexcept {
#if UFORM_ADDRESS_SANITIZER
    if (bytes) __asan_poison_memory_region(first, bytes);
#endif
}
/// Takes `poison` back.
inline void unpoison([[maybe_unused]] void const *first, [[maybe_unused]] std::size_t bytes) noexcept {
#if UFORM_ADDRESS_SANITIZER
    if (bytes) __asan_unpoison_memory_region(first, bytes);
#endif
}

/// A range of pages. Owned by `HostBlock`.
struct HostPages {
    std::byte *first = nullptr;
    std::size_t reserved = 0;  ///< bytes of address space
    std::size_t committed = 0; ///< bytes that may be touched, from `first` on

    [[nodiscard]] static std::size_t page_bytes() noexcept {
        static std::size_t const bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        return bytes;
    }
    /// Up to whole pages; 0 where that overflows.
    [[nodiscard]] static std::size_t to_pages(std::size_t bytes) noexcept {
        std::size_t const page = page_bytes();
        return bytes > SIZE_MAX - page ? 0 : (bytes + page - 1) / page * page;
    }
    /// Address space without memory. Answers `false` where there is none. Not `MAP_NORESERVE`: pages that can't be
    /// touched aren't counted anyway, and `commit` would then be granted what the machine can never have.
    [[nodiscard]] bool reserve(std::size_t bytes) noexcept {
        void *at = bytes ? mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;
        if (at == MAP_FAILED) return false;
        first = static_cast<std::byte *>(at), reserved = bytes, committed = 0;
        return true;
    }
    /// Makes the first `bytes`, whole pages, touchable; what is new is poisoned. Answers `false` where there is no
    /// memory.
    [[nodiscard]] bool commit(std::size_t bytes) noexcept {
        if (bytes <= committed) return true;
        if (mprotect(first + committed, bytes - committed, PROT_READ | PROT_WRITE) != 0) return false;
        poison(first + committed, bytes - committed);
        committed = bytes;
        return true;
    }
    /// Gives the memory past the first `bytes`, whole pages, back and keeps the addresses.
    void decommit(std::size_t bytes) noexcept {
        if (bytes >= committed) return;
        (void)madvise(first + bytes, committed - bytes, MADV_DONTNEED);
        if (mprotect(first + bytes, committed - bytes, PROT_NONE) != 0) return;
        unpoison(first + bytes, committed - bytes); // it traps by itself, and `release` only knows what is committed
        committed = bytes;
    }
    void release() noexcept {
        if (!first) return;
        unpoison(first, committed);
        munmap(first, reserved);
        *this = HostPages{};
    }
};

/// The memory of a `Ram` arena: rewound by each call, grown in place, never copied.
///
/// Reserves address space at its first use: the least of the limit, twice the physical memory and 64 GiB. Where that is
/// refused, or a limit was raised later, it falls back to a block that can't grow in place: a successor is allocated
/// by `prepare` and takes over in `accept`, so that old rows stay readable until then.
/// Threads: one at a time; the arena's lease sees to that.
class HostBlock {
    HostPages pages_, successor_;
    bool keep_successor_ = false; // it was asked for by `reserve`, so a refused call leaves it
    bool shrink_ = false;         // `trim` waits for the next call, as the block can't shrink in place

#if UFORM_THREAD_SANITIZER
    static constexpr std::size_t most_reserved = std::size_t{4} << 30;
#else
    static constexpr std::size_t most_reserved = std::size_t{64} << 30;
#endif

    [[nodiscard]] bool make_successor(std::size_t bytes) noexcept {
        HostPages pages;
        if (!pages.reserve(bytes)) return false;
        if (!pages.commit(bytes)) return pages.release(), false;
        successor_.release(), successor_ = pages;
        return true;
    }

    [[nodiscard]] bool grow(std::size_t bytes, std::size_t limit) noexcept;

  public:
    /// What a block is made from: host pages need nothing, and serve every executor.
    struct Origin {
        bool operator==(Origin const &) const = default;
    };

    explicit HostBlock(Origin) noexcept {}
    HostBlock(HostBlock const &) = delete;
    HostBlock &operator=(HostBlock const &) = delete;
    ~HostBlock() { pages_.release(), successor_.release(); }

    [[nodiscard]] Origin origin() const noexcept { return {}; }

    /// Room for `need`, below `limit`; what is current stays as it is. Errors: `out_of_memory`.
    [[nodiscard]] Result<void> prepare(Extent need, std::size_t limit) noexcept {
        if (grow(need.bytes, limit)) return {};
        return Error::of(Status::out_of_memory, "no memory for ", need.bytes, " bytes of outputs");
    }
    /// The call writes from here on: a successor takes over, and the old rows' bytes are gone. Of a device the
    /// errors are the driver's; host pages have none.
    [[nodiscard]] Result<void> accept() noexcept {
        if (successor_.first) pages_.release(), pages_ = std::exchange(successor_, HostPages{});
        keep_successor_ = shrink_ = false;
        return {};
    }
    /// Waits until all that was written is there. Of a device: until its stream is done.
    [[nodiscard]] Result<void> finish() noexcept { return {}; }
    /// The stream that device work must be ordered on.
    [[nodiscard]] void *stream() const noexcept { return nullptr; }
    /// The call was refused.
    void refuse() noexcept {
        if (!keep_successor_) successor_.release();
    }
    /// A successor that `prepare` made is kept for the next call, also if calls are refused before it.
    void keep_successor() noexcept { keep_successor_ = successor_.first != nullptr; }

    /// Gives back what lies past the first `used` bytes; at the next call where that can't be done in place.
    void trim(Extent extent) noexcept {
        std::size_t const used = extent.bytes;
        successor_.release(), keep_successor_ = false;
        if (used == 0) pages_.release();
        else if (pages_.reserved == pages_.committed && pages_.committed > HostPages::to_pages(used)) shrink_ = true;
        else pages_.decommit(HostPages::to_pages(used));
    }

    [[nodiscard]] std::byte *data() const noexcept { return pages_.first; }
    /// Where offsets, counts and ids land: host memory for every residency, here the same block.
    [[nodiscard]] std::byte *host_data() const noexcept { return pages_.first; }
    [[nodiscard]] std::size_t capacity() const noexcept { return pages_.committed + successor_.committed; }
    [[nodiscard]] bool holds(void const *first, std::size_t bytes) const noexcept {
        auto const at = reinterpret_cast<std::uintptr_t>(first), mine = reinterpret_cast<std::uintptr_t>(pages_.first);
        return bytes && pages_.first && (at < mine ? mine - at < bytes : at - mine < pages_.reserved);
    }
    [[nodiscard]] std::optional<std::uint32_t> device() const noexcept { return std::nullopt; }

    /// Forgets what the bytes held: a raw stale pointer traps under AddressSanitizer until they are placed again.
    void poison_all() const noexcept { poison(pages_.first, pages_.committed); }
    void place(std::size_t at, std::size_t bytes) const noexcept { unpoison(pages_.first + at, bytes); }
    void place_host(std::size_t at, std::size_t bytes) const noexcept { place(at, bytes); }
};

inline bool HostBlock::grow(std::size_t bytes, std::size_t limit) noexcept {
    std::size_t const need = HostPages::to_pages(bytes);
    if (bytes && !need) return false;
    if (!pages_.first && need) {
        std::size_t const physical = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * (HostPages::page_bytes() * 2);
        std::size_t most = physical < most_reserved ? physical : most_reserved;
        if (limit < most) most = HostPages::to_pages(limit);
        if (most < need || !pages_.reserve(most)) {
            if (!pages_.reserve(need)) return false;
        }
        if (!pages_.commit(need)) return pages_.release(), false;
        return true;
    }
    if (successor_.first && need <= successor_.committed) return true;
    if (shrink_ && need && need < pages_.committed && make_successor(need)) return true;
    if (need <= pages_.committed) {
        successor_.release(), keep_successor_ = false; // too small to take over
        return true;
    }
    if (need <= pages_.reserved) {
        // By a half more than before: committed pages cost nothing until they are touched, and system calls do.
        std::size_t const half_more = HostPages::to_pages(pages_.committed + pages_.committed / 2);
        std::size_t const most =
            limit < pages_.reserved ? limit / HostPages::page_bytes() * HostPages::page_bytes() : pages_.reserved;
        std::size_t const wish = half_more < most ? half_more : most;
        if (wish > need && pages_.commit(wish)) return true;
        return pages_.commit(need);
    }
    std::size_t const half_more = HostPages::to_pages(pages_.committed + pages_.committed / 2);
    if (half_more > need && half_more <= limit && make_successor(half_more)) return true;
    return make_successor(need);
}

/// Host pages.
struct Ram {
    static constexpr bool host_accessible = true;
    static constexpr Residency residency = Residency::ram;
    using Block = HostBlock;

    /// What an executor's arenas are made from.
    [[nodiscard]] static HostBlock::Origin origin(auto const &) noexcept { return {}; }
};
static_assert(AnyResidency<Ram>);

} // namespace uform

#endif // UFORM_RAM_HPP
