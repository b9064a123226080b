/// Views over an arena: plain data that is checked against the arena's epoch at every host access.
#ifndef UFORM_VIEW_HPP
#define UFORM_VIEW_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "uform/config.hpp"
#include "uform/index_iterator.hpp"
#include "uform/lease.hpp"
#include "uform/residency.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"

namespace uform {

/// Holds one pin of a slot, and lets it go. Move-only.
class Pin {
    Slot *slot_ = nullptr;

  public:
    Pin() noexcept = default;
    /// Takes over a pin that was counted.
    explicit Pin(Slot *counted) noexcept : slot_(counted) {}
    Pin(Pin &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Pin &operator=(Pin &&other) noexcept {
        Pin next(std::move(other)); // may be this one
        std::swap(slot_, next.slot_);
        return *this;
    }
    ~Pin() { release(); }

    /// Null once it was let go.
    [[nodiscard]] Slot *slot() const noexcept { return slot_; }
    void release() noexcept {
        Slot *slot = std::exchange(slot_, nullptr);
        if (slot && slot->lease.unpin()) Slots::instance().recycle(*slot);
    }
};

/// The slot and epoch that a view was published with. A default one was never published.
struct Stamp {
    Slot *slot = nullptr;
    std::uint64_t epoch = 0;

    [[nodiscard]] bool is_current() const noexcept { return slot && slot->lease.is_current(epoch); }
    /// Why a view that isn't current is refused.
    [[nodiscard]] Error refusal() const noexcept {
        if (!slot)
            return Error::fixed(
                Status::invalid_argument,
                "the view is empty: its output was not asked for, its place is another call's, or it was "
                "made while 4,094 pins were held");
        return Error::fixed(Status::invalid_argument,
                            "the view is stale: a later call rewound its arena, or the arena was freed");
    }
    [[nodiscard]] Result<Pin> pin() const noexcept {
        switch (slot ? slot->lease.pin(epoch) : LeaseStep::closed) {
        case LeaseStep::done: return Pin(slot);
        case LeaseStep::pinned:
            return Error::fixed(Status::contended, "the arena holds 4,094 pins, the most it can count");
        default: return refusal();
        }
    }
};

template <class T> class Pinned;

/// A view with its pin: the base of `Pinned`.
template <class T> class PinnedView : public T {
  protected:
    Pin pin_;

  public:
    PinnedView(T view, Pin pin) noexcept : T(view), pin_(std::move(pin)) {}
};

/// The accessors of a pinned view, bound to the guard where the compiler can warn: what they answer is safe while the
/// pin lives. Each view has its own.
template <class T> class PinnedAccessors : public PinnedView<T> {
  public:
    using PinnedView<T>::PinnedView;
};

/// Rows that were checked once: a random-access range of spans. Unchecked: valid until the arena's next call.
template <class T> class Matrix {
    std::byte const *data_ = nullptr;
    std::size_t rows_ = 0, per_row_ = 0, stride_bytes_ = 0;

  public:
    Matrix() noexcept = default;
    Matrix(std::byte const *data, std::size_t rows, std::size_t per_row, std::size_t stride_bytes) noexcept
        : data_(data), rows_(rows), per_row_(per_row), stride_bytes_(stride_bytes) {}

    [[nodiscard]] std::size_t size() const noexcept { return rows_; }
    [[nodiscard]] bool empty() const noexcept { return rows_ == 0; }
    [[nodiscard]] std::size_t row_stride_bytes() const noexcept { return stride_bytes_; }
    /// Row `i`, which must be below `size()`.
    [[nodiscard]] std::span<T const> operator[](std::size_t i) const noexcept {
        return {reinterpret_cast<T const *>(data_ + i * stride_bytes_), per_row_};
    }
    [[nodiscard]] IndexIterator<Matrix> begin() const noexcept { return {*this, 0}; }
    [[nodiscard]] IndexIterator<Matrix> end() const noexcept { return {*this, rows_}; }
};

template <class R> class RaggedRows;
template <class R> class Published;

/// A view of rows in an arena: `[rows(), columns()]`, row-major.
///
/// Plain data: copy it freely, it owns nothing. Shapes can always be read. Values can be read while `is_current()`:
/// until the next call on the arena, or its end. A default one is never current.
/// Threads  unpinned reads are for the thread that makes the arena's calls and frees it; others `pin()` first.
template <class R> class Rows {
    Stamp stamp_;
    std::byte const *data_ = nullptr;
    std::size_t rows_ = 0;
    std::uint32_t columns_ = 0, stride_bytes_ = 0;
    Scalar scalar_ = Scalar::f32;

    friend class RaggedRows<R>;
    template <class> friend class Published;

    template <class T> [[nodiscard]] Result<Matrix<T>> checked() const noexcept {
        static_assert(RowScalar<T>, "no scalar is stored as this type: specialise uform::scalar_of for it");
        if (!stamp_.is_current()) return stamp_.refusal();
        if (scalar_of<T> != scalar_)
            return Error::of(Status::invalid_argument, "the rows hold ", scalar_name(scalar_), ", and ",
                             scalar_name(scalar_of<T>), " was asked for");
        return Matrix<T>(data_, rows_, row_bytes(scalar_, columns_) / sizeof(T), stride_bytes_);
    }

  public:
    using Memory = R;

    Rows() noexcept = default;
    Rows(Pinned<Rows> &&) = delete; // the pin would be sliced away: name the guard, and keep it while reading
    Rows &operator=(Pinned<Rows> &&) = delete; // the pin would be sliced away

    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    /// Scalars in a row; of `Scalar::b1`, bits.
    [[nodiscard]] std::size_t columns() const noexcept { return columns_; }
    /// Bytes from one row to the next. A verb's rows are tight: the bytes of one row.
    [[nodiscard]] std::size_t row_stride_bytes() const noexcept { return stride_bytes_; }
    [[nodiscard]] Scalar scalar() const noexcept { return scalar_; }
    /// Whether the values may be read now. Costs about a nanosecond; from any thread.
    [[nodiscard]] bool is_current() const noexcept { return stamp_.is_current(); }

    /// All rows end to end. Errors: `invalid_argument` for a stale view, or a `T` that isn't `scalar()`.
    template <class T> [[nodiscard]] Result<std::span<T const>> values() const noexcept requires(R::host_accessible) {
        auto const all = checked<T>();
        if (!all) return all.error();
        std::size_t const per_row = row_bytes(scalar_, columns_) / sizeof(T);
        return std::span<T const>(reinterpret_cast<T const *>(data_), rows_ * per_row);
    }
    /// One row. Errors: as `values`, and `invalid_argument` for a row that isn't there.
    template <class T>
    [[nodiscard]] Result<std::span<T const>> row(std::size_t i) const noexcept requires(R::host_accessible) {
        auto const all = checked<T>();
        if (!all) return all.error();
        if (i >= rows_) return Error::of(Status::invalid_argument, "row ", i, " of ", rows_);
        return (*all)[i];
    }
    /// Checks once, for many reads. Errors: as `values`.
    template <class T> [[nodiscard]] Result<Matrix<T>> matrix() const noexcept requires(R::host_accessible) {
        return checked<T>();
    }
    /// Copies all rows, tight, to host memory of exactly as many `T`. Of a device it waits for the first stream, and
    /// holds a pin meanwhile.
    /// Errors: as `values`; `invalid_argument` for a destination of another size; of a device `device`,
    /// `out_of_memory`.
    template <class T> [[nodiscard]] Result<void> copy_to(std::span<T> to) const noexcept {
        auto const all = checked<T>();
        if (!all) return all.error();
        std::size_t const scalars = rows_ * (row_bytes(scalar_, columns_) / sizeof(T));
        if (to.size() != scalars)
            return Error::of(Status::invalid_argument, "the destination has room for ", to.size(), " scalars of ",
                             scalars);
        if (to.empty()) return {};
        if constexpr (R::host_accessible) {
            std::memcpy(static_cast<void *>(to.data()), data_, to.size_bytes());
            return {};
        } else {
            auto const pin = stamp_.pin();
            if (!pin) return pin.error();
            return R::copy_to_host(*stamp_.slot, to.data(), data_, to.size_bytes());
        }
    }
    template <class T, std::size_t Count>
        requires(Count != std::dynamic_extent)
    [[nodiscard]] Result<void> copy_to(std::span<T, Count> to) const noexcept { return copy_to(std::span<T>(to)); }
    /// Makes a stream of the caller's wait until the rows are there, without waiting itself. The caller pins the rows
    /// while the stream's work reads them, and lets go with `release_on`.
    /// Errors: `invalid_argument` for a stale view; `contended` at 4,094 pins; `device`; `out_of_memory`.
    [[nodiscard]] Result<void> stream_wait(void *stream) const noexcept requires(!R::host_accessible) {
        auto const pin = stamp_.pin();
        if (!pin) return pin.error();
        return R::stream_wait(*stamp_.slot, stream);
    }

    /// Keeps the rows until the guard goes. From any thread.
    /// Errors: `invalid_argument` for a stale view; `contended` at 4,094 pins.
    [[nodiscard]] Result<Pinned<Rows>> pin() const noexcept {
        auto pin = stamp_.pin();
        if (!pin) return pin.error();
        return Pinned<Rows>(*this, *std::move(pin));
    }
    /// The address of the first row, host or device, unchecked: for another library, which must be done before the next
    /// call.
    [[nodiscard]] void const *data() const noexcept { return data_; }
};

/// The accessors of pinned rows, bound to the guard.
template <class R> class PinnedAccessors<Rows<R>> : public PinnedView<Rows<R>> {
    using View = Rows<R>;

  public:
    using PinnedView<View>::PinnedView;

    template <class T>
    [[nodiscard]] Result<std::span<T const>> values() const noexcept UFORM_LIFETIMEBOUND requires(R::host_accessible) {
        return View::template values<T>();
    }
    template <class T>
    [[nodiscard]] Result<std::span<T const>> row(std::size_t i) const noexcept UFORM_LIFETIMEBOUND
        requires(R::host_accessible) {
        return View::template row<T>(i);
    }
    template <class T>
    [[nodiscard]] Result<Matrix<T>> matrix() const noexcept UFORM_LIFETIMEBOUND requires(R::host_accessible) {
        return View::template matrix<T>();
    }
    [[nodiscard]] void const *data() const noexcept UFORM_LIFETIMEBOUND { return View::data(); }
};

/// `rows.values<T>()` as a free function, so that generic code needs no `.template`.
template <class T> [[nodiscard]] auto values(auto const &rows UFORM_LIFETIMEBOUND) noexcept requires requires {
    rows.template values<T>();
}
{ return rows.template values<T>(); }
/// `rows.row<T>(i)` as a free function.
template <class T>
[[nodiscard]] auto row(auto const &rows UFORM_LIFETIMEBOUND, std::size_t i) noexcept requires requires {
    rows.template row<T>(i);
}
{ return rows.template row<T>(i); }
/// `rows.matrix<T>()` as a free function.
template <class T> [[nodiscard]] auto matrix(auto const &rows UFORM_LIFETIMEBOUND) noexcept requires requires {
    rows.template matrix<T>();
}
{ return rows.template matrix<T>(); }

/// The rows of all texts end to end, with the offsets that part them: `[tokens, columns]` and `[texts + 1]`.
/// Plain data, checked as `Rows` are. The offsets are in host memory for every residency.
template <class R> class RaggedRows {
    Rows<R> flat_;
    std::uint32_t const *offsets_ = nullptr;
    std::size_t texts_ = 0;

    friend class Published<R>;

  public:
    using Memory = R;

    RaggedRows() noexcept = default;
    RaggedRows(Pinned<RaggedRows> &&) = delete;            // the pin would be sliced away
    RaggedRows &operator=(Pinned<RaggedRows> &&) = delete; // the pin would be sliced away

    /// The number of texts.
    [[nodiscard]] std::size_t size() const noexcept { return texts_; }
    /// The rows of all texts.
    [[nodiscard]] Rows<R> flat() const noexcept { return flat_; }
    [[nodiscard]] bool is_current() const noexcept { return flat_.is_current(); }
    /// The rows of one text. Errors: `invalid_argument` for a stale view, or a text that isn't there.
    [[nodiscard]] Result<Rows<R>> at(std::size_t text) const noexcept {
        if (!flat_.is_current()) return flat_.stamp_.refusal();
        if (text >= texts_) return Error::of(Status::invalid_argument, "text ", text, " of ", texts_);
        Rows<R> part = flat_;
        part.data_ += std::size_t{offsets_[text]} * part.stride_bytes_;
        part.rows_ = offsets_[text + 1] - offsets_[text];
        return part;
    }
    /// Where each text's rows start, and where the last one ends. Errors: `invalid_argument` for a stale view.
    [[nodiscard]] Result<std::span<std::uint32_t const>> offsets() const noexcept {
        if (!flat_.is_current()) return flat_.stamp_.refusal();
        return std::span(offsets_, texts_ + 1);
    }
    /// As `Rows::pin`.
    [[nodiscard]] Result<Pinned<RaggedRows>> pin() const noexcept {
        auto pin = flat_.stamp_.pin();
        if (!pin) return pin.error();
        return Pinned<RaggedRows>(*this, *std::move(pin));
    }
};

/// The accessors of pinned ragged rows, bound to the guard.
template <class R> class PinnedAccessors<RaggedRows<R>> : public PinnedView<RaggedRows<R>> {
    using View = RaggedRows<R>;

  public:
    using PinnedView<View>::PinnedView;

    [[nodiscard]] Rows<R> flat() const noexcept UFORM_LIFETIMEBOUND { return View::flat(); }
    [[nodiscard]] Result<Rows<R>> at(std::size_t text) const noexcept UFORM_LIFETIMEBOUND { return View::at(text); }
    [[nodiscard]] Result<std::span<std::uint32_t const>> offsets() const noexcept UFORM_LIFETIMEBOUND {
        return View::offsets();
    }
};

/// A view with a pin: while it lives, a call that would rewind its arena answers `contended`, and the bytes stay, also
/// when the arena was freed. Move-only. A copy of the plain view is checked as any other, and lasts as long.
template <class T> class Pinned : public PinnedAccessors<T> {
    using PinnedView<T>::pin_;

  public:
    using PinnedAccessors<T>::PinnedAccessors;
    /// The same pin with another view of the same arena.
    template <class View> [[nodiscard]] Pinned<View> with(View view) &&noexcept { return {view, std::move(pin_)}; }

    /// Lets the pin go once the work that the caller has queued on a stream so far is done: the next call, and the end
    /// of the arena, wait for it in the order of streams, and no host thread does.
    /// Errors: `device`, `out_of_memory`; the pin is then still held. `invalid_argument` where it was let go before.
    [[nodiscard]] Result<void> release_on(void *stream) noexcept requires(!T::Memory::host_accessible) {
        if (!pin_.slot()) return Error::fixed(Status::invalid_argument, "the pin was moved away or let go before");
        if (auto done = T::Memory::release_on(*pin_.slot(), stream); !done) return done;
        pin_.release();
        return {};
    }
};

} // namespace uform

#endif // UFORM_VIEW_HPP
