/// The input of a call: texts end to end with their offsets, viewed (`TapeView`) or owned (`Tape`).
#ifndef UFORM_TAPE_HPP
#define UFORM_TAPE_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator> // std::ranges::begin and its like
#include <span>
#include <string_view>
#include <type_traits>

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/index_iterator.hpp"
#include "uform/status.hpp"

namespace uform {

/// An integer that offsets are made of: 4 or 8 bytes, signed as Arrow's too.
template <class T> concept OffsetInteger = std::integral<T> &&(sizeof(T) == 4 || sizeof(T) == 8);

/// A contiguous range of offsets, of a size that is known. This and the next are spelt with what `<iterator>` declares:
/// `<ranges>` takes a sixth of what `<vector>`, `<string>` and `<memory>` take together.
template <class Range> concept OffsetRange = requires(Range const &range) {
    { std::ranges::begin(range) } -> std::contiguous_iterator;
    std::ranges::end(range);
    std::ranges::size(range);
    requires OffsetInteger<std::iter_value_t<decltype(std::ranges::begin(range))>>;
};

/// A range that may die before what it points at, such as a span.
template <class Range> concept BorrowedRange = std::ranges::enable_borrowed_range<Range>;

/// A range of texts.
template <class Range> concept TextRange = requires(Range &range) {
    { std::ranges::begin(range) } -> std::input_iterator;
    std::ranges::end(range);
    { *std::ranges::begin(range) } -> std::convertible_to<std::string_view>;
};

/// Texts end to end: bytes and `size() + 1` offsets into them, 32- or 64-bit. The layout of an Arrow string column.
///
/// Owns nothing and is trivially copyable: bytes and offsets must live, unchanged, until the call that reads them
/// has returned. Texts should be UTF-8; what isn't counts as U+FFFD. A tape of host bytes may be indexed.
class TapeView {
    friend class Tape;
    char const *bytes_ = nullptr;
    std::size_t bytes_size_ = 0;
    void const *offsets_ = nullptr; // null: one text of all bytes, or none
    std::size_t texts_ = 0;
    std::size_t offset_bytes_ = 8;

    [[nodiscard]] std::uint64_t offset(std::size_t i) const noexcept {
        if (!offsets_) return i == 0 ? 0 : bytes_size_;
        auto const *const at = static_cast<char const *>(offsets_) + i * offset_bytes_;
        if (offset_bytes_ == 4) {
            std::uint32_t narrow;
            std::memcpy(&narrow, at, sizeof narrow);
            return narrow;
        }
        std::uint64_t wide; // copied: the caller's `long long` may not be read as another type of 8 bytes
        std::memcpy(&wide, at, sizeof wide);
        return wide;
    }

    template <OffsetInteger Integer>
    [[nodiscard]] static Result<TapeView> checked(void const *bytes, std::size_t size,
                                                  std::span<Integer const> offsets) {
        if (offsets.empty())
            return Error::fixed(Status::invalid_argument, "the tape has no offsets: a tape of N texts has N + 1");
        if (!bytes && size) return Error::fixed(Status::invalid_argument, "the tape's bytes are at a null pointer");
        std::uint64_t before = 0;
        for (std::size_t i = 0; i != offsets.size(); ++i) {
            if (std::signed_integral<Integer> && offsets[i] < Integer{0})
                return Error::of(Status::invalid_argument, "offset ", i, " of the tape is negative: ", offsets[i]);
            auto const now = static_cast<std::uint64_t>(offsets[i]);
            if (now < before)
                return Error::of(Status::invalid_argument, "offset ", i, " of the tape falls from ", before, " to ",
                                 now);
            if (now > size)
                return Error::of(Status::invalid_argument, "offset ", i, " of the tape is ", now,
                                 ", past the end of its ", size, " bytes");
            before = now;
        }
        TapeView tape;
        tape.bytes_ = static_cast<char const *>(bytes), tape.bytes_size_ = size;
        tape.offsets_ = offsets.data(), tape.offset_bytes_ = sizeof(Integer), tape.texts_ = offsets.size() - 1;
        return tape;
    }
    template <class Range> [[nodiscard]] static auto as_span(Range const &offsets) noexcept {
        using Integer = std::iter_value_t<decltype(std::ranges::begin(offsets))>;
        return std::span<Integer const>(std::ranges::data(offsets), std::ranges::size(offsets));
    }

  public:
    /// A tape of no texts.
    TapeView() noexcept = default;
    /// A tape of one text.
    TapeView(std::string_view text UFORM_LIFETIMEBOUND) noexcept
        : bytes_(text.data()), bytes_size_(text.size()), texts_(1) {}
    /// A tape of one text, from anything that converts to `std::string_view`.
    template <class Text>
        requires std::convertible_to<Text const &, std::string_view> TapeView(Text const &text UFORM_LIFETIMEBOUND)
    noexcept : TapeView() {
        std::string_view const view = text;
        bytes_ = view.data(), bytes_size_ = view.size(), texts_ = 1;
    }

    /// Checks the offsets, so that no call needs to: rising, within the bytes, not negative. The first need not be 0.
    ///
    /// Shapes  bytes [size], offsets [texts + 1], counted in bytes
    /// Errors  `invalid_argument`, naming the offset. Allocates nothing but the message of an error.
    template <OffsetRange Range>
        requires BorrowedRange<Range>
    [[nodiscard]] static Result<TapeView> of(std::string_view bytes UFORM_LIFETIMEBOUND, Range offsets) {
        return checked(bytes.data(), bytes.size(), as_span(offsets));
    }
    template <OffsetRange Range>
        requires(!BorrowedRange<Range>)
    [[nodiscard]] static Result<TapeView> of(std::string_view bytes UFORM_LIFETIMEBOUND,
                                             Range const &offsets UFORM_LIFETIMEBOUND) {
        return checked(bytes.data(), bytes.size(), as_span(offsets));
    }
    /// The same over `size` bytes of host or device memory; the offsets are on the host.
    template <OffsetRange Range>
        requires BorrowedRange<Range>
    [[nodiscard]] static Result<TapeView> of(void const *bytes, std::size_t size, Range offsets) {
        return checked(bytes, size, as_span(offsets));
    }
    template <OffsetRange Range>
        requires(!BorrowedRange<Range>)
    [[nodiscard]] static Result<TapeView> of(void const *bytes, std::size_t size,
                                             Range const &offsets UFORM_LIFETIMEBOUND) {
        return checked(bytes, size, as_span(offsets));
    }

    /// The number of texts.
    [[nodiscard]] std::size_t size() const noexcept { return texts_; }
    [[nodiscard]] bool empty() const noexcept { return texts_ == 0; }
    /// The address of the bytes that the offsets count from, unchecked.
    [[nodiscard]] char const *data() const noexcept { return bytes_; }
    /// The offsets as they lie in memory; empty for a tape of one text or none.
    [[nodiscard]] std::span<std::byte const> offset_bytes() const noexcept {
        return {static_cast<std::byte const *>(offsets_), offsets_ ? (texts_ + 1) * offset_bytes_ : 0};
    }
    /// The number of bytes that the offsets may reach.
    [[nodiscard]] std::size_t size_bytes() const noexcept { return bytes_size_; }

    /// `count` texts from `first` on; what passes the end is cut.
    [[nodiscard]] TapeView subtape(std::size_t first, std::size_t count) const noexcept {
        TapeView part = *this;
        first = first < texts_ ? first : texts_;
        part.texts_ = count < texts_ - first ? count : texts_ - first;
        if (offsets_) part.offsets_ = static_cast<char const *>(offsets_) + first * offset_bytes_;
        return part;
    }

    /// Text `i` of host bytes; `i` must be below `size()`.
    [[nodiscard]] std::string_view operator[](std::size_t i) const noexcept {
        std::uint64_t const first = offset(i);
        return {bytes_ + first, static_cast<std::size_t>(offset(i + 1) - first)};
    }
    [[nodiscard]] IndexIterator<TapeView> begin() const noexcept { return {*this, 0}; }
    [[nodiscard]] IndexIterator<TapeView> end() const noexcept { return {*this, texts_}; }
};
static_assert(std::is_trivially_copyable_v<TapeView>);

/// Owns texts end to end with their offsets. Move-only; converts to `TapeView`.
///
/// Memory  one buffer of bytes and one of offsets, which keep their capacity over `assign`.
class Tape {
    Buffer<char> bytes_;
    Buffer<std::uint64_t> offsets_;

  public:
    Tape() noexcept = default;

    /// Copies the texts of a range. Errors: `out_of_memory`.
    template <TextRange Range> [[nodiscard]] static Result<Tape> from(Range &&texts) {
        Tape tape;
        if (auto done = tape.assign(texts); !done) return done.error();
        return tape;
    }

    /// Replaces the texts by those of a range, which may not lie in this tape.
    /// Errors: `out_of_memory`, and the tape is then empty.
    template <TextRange Range> Result<void> assign(Range &&texts) {
        bytes_.clear(), offsets_.clear();
        bool fits = offsets_.push_back(0);
        if constexpr (requires { std::ranges::size(texts); })
            fits = fits && offsets_.reserve(static_cast<std::size_t>(std::ranges::size(texts)) + 1);
        for (auto &&item : texts) {
            std::string_view const text = item;
            if (!(fits = fits && bytes_.append(text.data(), text.size()) && offsets_.push_back(bytes_.size()))) break;
        }
        if (fits) return {};
        bytes_.clear(), offsets_.clear();
        return Error::fixed(Status::out_of_memory, "no memory for the tape");
    }

    /// The number of texts.
    [[nodiscard]] std::size_t size() const noexcept { return offsets_.empty() ? 0 : offsets_.size() - 1; }

    /// Valid until the tape is assigned to, moved or destroyed.
    operator TapeView() const &UFORM_LIFETIMEBOUND {
        if (offsets_.empty()) return {};
        TapeView tape; // its offsets rise, as they were counted here
        tape.bytes_ = bytes_.data(), tape.bytes_size_ = bytes_.size();
        tape.offsets_ = offsets_.data(), tape.offset_bytes_ = sizeof(std::uint64_t), tape.texts_ = size();
        return tape;
    }
};

} // namespace uform

#endif // UFORM_TAPE_HPP
