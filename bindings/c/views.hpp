/// Views as plain data: how they are made, checked and pinned.
#ifndef UFORM_BINDINGS_C_VIEWS_HPP
#define UFORM_BINDINGS_C_VIEWS_HPP

#include "uform.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "arguments.hpp"
#include "errors.hpp"
#include "uform/cuda.hpp"
#include "uform/uform.hpp"

namespace uform {

/// The memory of ragged rows that are put together from plain data: the host's, which was checked.
struct PlainData {
    static constexpr bool host_accessible = true;
};

/// Takes views apart and puts them together: whatever is `Published` may, of ragged rows those of its own memory.
template <> class Published<PlainData> {
  public:
    [[nodiscard]] static uform_rows_t rows(Stamp stamp, void const *data, std::size_t rows, std::size_t columns,
                                           std::size_t stride_bytes, Scalar scalar, Residency residency,
                                           std::int32_t device) noexcept {
        return {reinterpret_cast<uform_lease_t>(stamp.slot),
                stamp.epoch,
                data,
                rows,
                columns,
                stride_bytes,
                static_cast<uform_scalar_t>(scalar),
                static_cast<uform_residency_t>(residency),
                device,
                0};
    }
    template <class R> [[nodiscard]] static uform_rows_t apart(Rows<R> const &view, std::int32_t device) noexcept {
        if (!view.stamp_.slot) return {};
        return rows(view.stamp_, view.data_, view.rows_, view.columns_, view.stride_bytes_, view.scalar_, R::residency,
                    device);
    }
    /// Only of columns and a stride below 2^32, and a scalar that there is.
    template <class R> [[nodiscard]] static Rows<R> together(uform_rows_t const &plain, Stamp stamp) noexcept {
        Rows<R> view;
        view.stamp_ = stamp, view.data_ = static_cast<std::byte const *>(plain.data), view.rows_ = plain.rows;
        view.columns_ = static_cast<std::uint32_t>(plain.columns);
        view.stride_bytes_ = static_cast<std::uint32_t>(plain.row_stride_bytes);
        view.scalar_ = static_cast<Scalar>(plain.scalar);
        return view;
    }
    [[nodiscard]] static RaggedRows<PlainData> together(uform_ragged_rows_t const &plain, Stamp stamp) noexcept {
        RaggedRows<PlainData> view;
        view.flat_ = together<PlainData>(plain.rows, stamp);
        view.offsets_ = plain.offsets, view.texts_ = plain.texts;
        return view;
    }
};

} // namespace uform

namespace uform::c_abi {

using Plain = Published<PlainData>;

[[nodiscard]] inline uform_arena_description_t plain(ArenaDescription const &where) noexcept {
    return {static_cast<uform_residency_t>(where.residency),
            where.device ? static_cast<std::int32_t>(*where.device) : -1};
}

template <class R> uform_ragged_rows_t plain(RaggedRows<R> const &rows, std::int32_t device) noexcept {
    auto const flat = Plain::apart(rows.flat(), device);
    if (!flat.lease) return {};
    auto const offsets = rows.offsets();
    return {flat, offsets ? offsets->data() : nullptr, rows.size()};
}

template <class R> uform_encoded_t plain(Encoded<R> const &encoded, std::int32_t device) noexcept {
    uform_encoded_t out{};
    out.embeddings = Plain::apart(encoded.embeddings(), device);
    out.probabilities = Plain::apart(encoded.probabilities(), device);
    out.states = plain(encoded.states(), device);
    out.token_vectors = plain(encoded.token_vectors(), device);
    out.token_probabilities = plain(encoded.token_probabilities(), device);
    out.sparse_ids = plain(encoded.sparse_ids(), device);
    out.sparse_weights = plain(encoded.sparse_weights(), device);
    Stamp stamp; // all outputs of a call have the same
    for (uform_rows_t const *rows : {&out.embeddings, &out.probabilities, &out.states.rows, &out.token_vectors.rows,
                                     &out.token_probabilities.rows, &out.sparse_ids.rows})
        if (rows->lease) stamp = {const_cast<Slot *>(reinterpret_cast<Slot const *>(rows->lease)), rows->epoch};
    auto const counts = [stamp](std::uint32_t const *first, std::size_t count) {
        return Plain::rows(stamp, first, count, 1, sizeof *first, Scalar::u32, Residency::ram, -1);
    };
    auto const truncated = encoded.truncated_tokens(); // an error if the rows are stale already
    out.truncated_tokens = counts(truncated ? truncated->data() : nullptr, encoded.texts());
    if (auto const ids = encoded.token_ids()) out.token_ids = counts(ids->data(), ids->size());
    out.texts = encoded.texts(), out.outputs = static_cast<uform_outputs_t>(encoded.outputs());
    return out;
}

/// Takes the pin out of a result that was born with one: the views needn't be current any more.
class TakenPin : Pinned<Encoded<Ram>> {
  public:
    explicit TakenPin(Pinned<Encoded<Ram>> result) noexcept : Pinned<Encoded<Ram>>(std::move(result)) {}
    [[nodiscard]] Pin pin() noexcept { return std::move(this->PinnedView<Encoded<Ram>>::pin_); }
};

/// A pin as a handle: its slot's address, with the residency in the lowest bit, which is 0 in every slot's.
[[nodiscard]] inline uform_pin_t disown(Pin pin, bool is_of_device) noexcept {
    auto const handle = reinterpret_cast<std::uintptr_t>(pin.slot()) | std::uintptr_t{is_of_device};
    alignas(Pin) std::byte kept[sizeof(Pin)];
    ::new (static_cast<void *>(kept)) Pin(std::move(pin)); // never destroyed: the handle has the pin from here on
    return reinterpret_cast<uform_pin_t>(handle);
}
[[nodiscard]] inline Slot *slot_of(uform_pin_t pin) noexcept {
    return reinterpret_cast<Slot *>(reinterpret_cast<std::uintptr_t>(pin) & ~std::uintptr_t{1});
}

[[nodiscard]] inline Stamp stamp_of(uform_rows_t const &rows) noexcept {
    return {const_cast<Slot *>(reinterpret_cast<Slot const *>(rows.lease)), rows.epoch};
}
/// The refusal of a view that isn't current; its text is static. An empty one has fewer causes than in the headers:
/// these views are made with their call's result, before anyone could pin it.
inline uform_status_t refuse_stale(Stamp stamp, char const **message) noexcept {
    if (!stamp.slot)
        return bad("the view is empty: its output was not asked for, or the call that would have filled it failed",
                   message);
    return refuse(Status::invalid_argument, stamp.refusal().what(), message);
}
/// Whether a call has filled the result: of one that hasn't, no output was refused for itself.
inline uform_status_t check_filled(uform_encoded_t const &encoded, char const **message) noexcept {
    if (encoded.truncated_tokens.lease) return uform_status_success_k;
    return bad("encoded: empty, as it is after a call that failed", message);
}

/// Whether the rows can be read on the host as this scalar. The order of the checks is part of the interface.
inline uform_status_t check_host_rows(uform_rows_t const *rows, uform_scalar_t scalar, char const **message) noexcept {
    if (!rows) return bad("rows: NULL", message);
    if (rows->residency != uform_residency_ram_k)
        return refuse(Status::device, "rows: in a device's memory, which the host can't read", message);
    Stamp const stamp = stamp_of(*rows);
    if (!stamp.is_current()) return refuse_stale(stamp, message);
    if (rows->scalar != scalar)
        return refuse(Error::of(Status::invalid_argument, "the rows hold ", uform_scalar_name(rows->scalar), ", and ",
                                uform_scalar_name(scalar), " was asked for"),
                      message);
    return uform_status_success_k;
}
/// Whether a view can be put together from its plain data.
inline uform_status_t check_shape(uform_rows_t const &rows, char const **message) noexcept {
    if (!rows.lease) return refuse_stale({}, message);
    if (!names_scalar(rows.scalar))
        return refuse(Error::of(Status::invalid_argument, "rows.scalar: ", rows.scalar, known_scalars), message);
    std::uint64_t bytes = 0;
    if (rows.columns > UINT32_MAX || rows.row_stride_bytes > UINT32_MAX ||
        __builtin_mul_overflow(rows.rows, rows.row_stride_bytes, &bytes) || bytes > most_bytes)
        return bad("rows: a shape that no arena has", message);
    return uform_status_success_k;
}
inline uform_status_t take_pin(Stamp stamp, bool is_of_device, uform_pin_t *pin, char const **message) noexcept {
    if (!stamp.slot) return refuse_stale(stamp, message);
    auto held = stamp.pin();
    if (!held) return refuse(held.error(), message);
    *pin = disown(*std::move(held), is_of_device);
    return succeed(message);
}
inline uform_status_t pin_rows(uform_rows_t const &rows, uform_pin_t *pin, char const **message) noexcept {
    return take_pin(stamp_of(rows), rows.residency == uform_residency_vram_k, pin, message);
}
inline uform_status_t read_counts(uform_rows_t const &rows, uint32_t const **values, uint64_t *count,
                                  char const **message) noexcept {
    if (auto status = check_host_rows(&rows, uform_scalar_u32_k, message)) return status;
    *values = static_cast<uint32_t const *>(rows.data);
    if (count) *count = rows.rows;
    return succeed(message);
}

} // namespace uform::c_abi

#endif // UFORM_BINDINGS_C_VIEWS_HPP
