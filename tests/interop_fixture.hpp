/// Rows to export, published in an arena or made up for a residency of the tests' own, and memory that can run out.
#ifndef UFORM_TESTS_INTEROP_FIXTURE_HPP
#define UFORM_TESTS_INTEROP_FIXTURE_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "uform/arena.hpp"

/// `operator new` gives this many blocks more to the thread, then none; negative: as many as it likes.
inline thread_local long blocks_left = -1;
/// Blocks of `operator new` that weren't deleted yet, of all threads.
inline std::atomic<long> blocks_alive{0};

// Weak, so that several units may define them. Not inlined: GCC would see `free` meet memory of `new`, which it takes
// for another allocator's.
__attribute__((weak)) UFORM_NEVER_INLINE void *operator new(std::size_t bytes, std::nothrow_t const &) noexcept {
    if (blocks_left == 0) return nullptr;
    if (blocks_left > 0) --blocks_left;
    void *const memory = std::malloc(bytes ? bytes : 1);
    if (memory) blocks_alive.fetch_add(1, std::memory_order_relaxed);
    return memory;
}
__attribute__((weak)) UFORM_NEVER_INLINE void *operator new(std::size_t bytes) {
    if (void *memory = operator new(bytes, std::nothrow)) return memory;
    throw std::bad_alloc();
}
__attribute__((weak)) UFORM_NEVER_INLINE void operator delete(void *memory) noexcept {
    if (memory) blocks_alive.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
}
__attribute__((weak)) UFORM_NEVER_INLINE void operator delete(void *memory, std::size_t) noexcept {
    operator delete(memory);
}

/// What byte `i` of an exported output holds.
[[nodiscard]] constexpr std::uint8_t byte_at(std::size_t i) noexcept {
    return static_cast<std::uint8_t>(i * 37 + i / 256 + 11);
}
/// Whether the bytes are those of an output from byte `first` on.
[[nodiscard]] inline bool holds_bytes(void const *memory, std::size_t bytes, std::size_t first = 0) {
    auto const *byte = static_cast<std::uint8_t const *>(memory);
    for (std::size_t i = 0; i != bytes; ++i)
        if (byte[i] != byte_at(first + i)) return false;
    return true;
}

/// Publishes `[rows, columns]` whose bytes are `byte_at`.
template <class T>
uform::Result<uform::Rows<uform::Ram>> publish_rows(uform::Arena<uform::Ram> &arena, std::size_t rows,
                                                    std::size_t columns) {
    auto draft = arena.begin();
    if (!draft) return draft.error();
    auto const place = draft->template place<T>(rows, columns);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    auto const bytes = std::as_writable_bytes(writing->values(place));
    for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = std::byte{byte_at(i)};
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}

/// Publishes the rows of texts of such lengths, whose bytes are `byte_at`.
template <class T>
uform::Result<uform::RaggedRows<uform::Ram>>
publish_texts(uform::Arena<uform::Ram> &arena, std::vector<std::uint32_t> const &lengths, std::size_t columns) {
    auto draft = arena.begin();
    if (!draft) return draft.error();
    std::size_t total = 0;
    for (auto length : lengths) total += length;
    auto const place = draft->template place_ragged<T>(lengths.size(), total, columns);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    auto const bytes = std::as_writable_bytes(writing->values(place));
    for (std::size_t i = 0; i != bytes.size(); ++i) bytes[i] = std::byte{byte_at(i)};
    auto const offsets = writing->offsets(place);
    offsets[0] = 0;
    for (std::size_t text = 0; text != lengths.size(); ++text) offsets[text + 1] = offsets[text] + lengths[text];
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}

/// Whether a call would be let in, which rewinds nothing.
[[nodiscard]] inline bool is_free(uform::Arena<uform::Ram> &arena) { return arena.begin().has_value(); }
/// Whether a call is told that a reader holds the rows.
[[nodiscard]] inline bool is_held(uform::Arena<uform::Ram> &arena) {
    auto const draft = arena.begin();
    return !draft && draft.error().status() == uform::Status::contended;
}

/// A residency that no arena has: its rows are made up below.
template <bool host_access, uform::Residency where> struct Made {
    static constexpr bool host_accessible = host_access;
    static constexpr uform::Residency residency = where;
};
using MadeOnDevice = Made<false, uform::Residency::vram>;
using MadeOnHost = Made<true, uform::Residency::ram>;

/// The shape of rows that are made up, which no arena need be able to hold.
struct MadeRows {
    void const *data = nullptr;
    std::size_t rows = 0;
    std::uint32_t columns = 0, stride_bytes = 0;
    uform::Scalar scalar = uform::Scalar::f32;
};

namespace uform {
/// Views may be made by what publishes them only, so this stands in for that.
template <bool host_access, Residency where> class Published<Made<host_access, where>> {
  public:
    static Rows<Made<host_access, where>> view(Stamp stamp, MadeRows const &made) noexcept {
        Rows<Made<host_access, where>> rows;
        rows.stamp_ = stamp, rows.data_ = static_cast<std::byte const *>(made.data), rows.rows_ = made.rows;
        rows.columns_ = made.columns, rows.stride_bytes_ = made.stride_bytes, rows.scalar_ = made.scalar;
        return rows;
    }
    static RaggedRows<Made<host_access, where>> view(Stamp stamp, MadeRows const &made,
                                                     std::vector<std::uint32_t> const &offsets) noexcept {
        RaggedRows<Made<host_access, where>> texts;
        texts.flat_ = view(stamp, made), texts.offsets_ = offsets.data(), texts.texts_ = offsets.size() - 1;
        return texts;
    }
};
} // namespace uform

/// A slot with nothing in it, at a published epoch until its end: what views that are made up are stamped with.
template <class R> class MadeArena {
    struct Nothing {};
    uform::Slot *slot_ = uform::Slots::instance().take();
    uform::Stamp stamp_{slot_, 0};

  public:
    MadeArena() {
        if (!slot_) std::abort();
        slot_->construct<Nothing>();
        (void)slot_->lease.reserve(uform::Readers::refused);
        (void)slot_->lease.commit();
        (void)slot_->lease.publish(false, stamp_.epoch);
    }
    MadeArena(MadeArena const &) = delete;
    MadeArena &operator=(MadeArena const &) = delete;
    ~MadeArena() {
        if (slot_->lease.close()) uform::Slots::instance().recycle(*slot_);
    }
    [[nodiscard]] uform::Rows<R> rows(MadeRows const &made) const { return uform::Published<R>::view(stamp_, made); }
    [[nodiscard]] uform::RaggedRows<R> texts(MadeRows const &made, std::vector<std::uint32_t> const &offsets) const {
        return uform::Published<R>::view(stamp_, made, offsets);
    }
    [[nodiscard]] std::size_t pins() const { return decltype(slot_->lease)::pins_of(slot_->lease.word()) & 0xfff; }
};

#endif // UFORM_TESTS_INTEROP_FIXTURE_HPP
