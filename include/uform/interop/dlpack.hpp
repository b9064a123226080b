/// Hands rows to another library through DLPack, without a copy: the tensor holds their pin until it is deleted.
///
///     auto pinned = encoded->embeddings().pin();
///     if (!pinned) return pinned.error();
///     auto tensor = uform::to_dlpack(*std::move(pinned));         // or to_dlpack<::DLManagedTensor>(…)
///     if (!tensor) return tensor.error();
///     PyCapsule_New(tensor->release(), "dltensor_versioned", …);  // from here on its consumer deletes it
#ifndef UFORM_INTEROP_DLPACK_HPP
#define UFORM_INTEROP_DLPACK_HPP

#include "uform/config.hpp" // first: it refuses older standards by name

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "uform/residency.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/view.hpp"

namespace uform {

/// DLPack's structures: the members and the layout of its version 1, under names that meet no `dlpack.h`.
/// Source  dmlc.github.io/dlpack, C API; the layout has been the same since 1.0, and `ManagedTensor`'s since 0.6.
namespace dlpack {

struct Version {
    std::uint32_t major, minor;
};
/// The devices that rows live on.
enum class DeviceType : std::int32_t { cpu = 1, cuda = 2 };
struct Device {
    DeviceType device_type;
    std::int32_t device_id; ///< 0 for the host's memory
};
/// The kinds of scalar that rows hold.
enum class TypeCode : std::uint8_t { signed_integer = 0, unsigned_integer = 1, floating_point = 2, bfloat = 4 };
struct DataType {
    std::uint8_t code; ///< a `TypeCode`
    std::uint8_t bits;
    std::uint16_t lanes;
    bool operator==(DataType const &) const = default;
};
struct Tensor {
    void *data;
    Device device;
    std::int32_t ndim;
    DataType dtype;
    std::int64_t *shape;
    std::int64_t *strides; ///< in elements
    std::uint64_t byte_offset;
};
/// The structure of before version 1, a capsule's "dltensor". It can't say that the bytes are only to be read.
struct ManagedTensor {
    Tensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(ManagedTensor *self);
};
/// The structure of version 1, a capsule's "dltensor_versioned".
struct ManagedTensorVersioned {
    Version version;
    void *manager_ctx;
    void (*deleter)(ManagedTensorVersioned *self);
    std::uint64_t flags; ///< of `read_only`
    Tensor dl_tensor;
};
inline constexpr std::uint64_t read_only = 1;

/// Has the members of DLPack's tensor.
template <class T> concept DescribesTensor = requires(T tensor) {
    tensor.data, tensor.device.device_type, tensor.device.device_id, tensor.ndim, tensor.dtype.code;
    tensor.shape, tensor.strides, tensor.byte_offset;
};
/// Manages a tensor: has one, with a deleter.
template <class T> concept ManagesTensor = DescribesTensor<decltype(T::dl_tensor)> && requires(T managed) {
    managed.manager_ctx = nullptr, managed.deleter = static_cast<void (*)(T *)>(nullptr);
};
/// Says which version of DLPack it is of.
template <class T> concept SaysItsVersion = requires(T managed) {
    managed.version.major, managed.version.minor, managed.flags;
};
/// Is as large as the structure of that name here, so that it's of the same ABI.
template <class T>
concept HasSizeOfVersion1 = sizeof(T) == (SaysItsVersion<T> ? sizeof(ManagedTensorVersioned) : sizeof(ManagedTensor));

/// A managed tensor: one of ours, or `::DLManagedTensor` or `::DLManagedTensorVersioned` of any `dlpack.h` since 0.6.
template <class T> concept AnyManagedTensor = ManagesTensor<T> && HasSizeOfVersion1<T>;
static_assert(AnyManagedTensor<ManagedTensor> && !SaysItsVersion<ManagedTensor>);
static_assert(AnyManagedTensor<ManagedTensorVersioned> && SaysItsVersion<ManagedTensorVersioned>);
static_assert(sizeof(Tensor) == 48 && sizeof(ManagedTensor) == 64 && sizeof(ManagedTensorVersioned) == 80);

/// Calls the deleter of a tensor that no consumer took.
struct Delete {
    template <AnyManagedTensor T> void operator()(T *tensor) const noexcept { tensor->deleter(tensor); }
};
/// Owns a tensor until a consumer takes it: give that `release()`.
template <AnyManagedTensor T> using Owned = std::unique_ptr<T, Delete>;

/// How DLPack spells a scalar. Errors: `unsupported` for `Scalar::b1`, whose first bit is the most significant one of a
/// byte: DLPack packs from the least significant; and for a value that names no scalar.
[[nodiscard]] inline Result<DataType> data_type_of(Scalar scalar) noexcept {
    auto const bits = static_cast<std::uint8_t>(scalar_bits(scalar));
    auto const spelt = [bits](TypeCode code) { return DataType{static_cast<std::uint8_t>(code), bits, 1}; };
    switch (scalar) {
    case Scalar::f32:
    case Scalar::f16: return spelt(TypeCode::floating_point);
    case Scalar::bf16: return spelt(TypeCode::bfloat);
    case Scalar::i8: return spelt(TypeCode::signed_integer);
    case Scalar::u8:
    case Scalar::u32:
    case Scalar::u64: return spelt(TypeCode::unsigned_integer);
    case Scalar::b1: break;
    }
    return Error::of(Status::unsupported, "DLPack can't say ", scalar_name(scalar),
                     scalar == Scalar::b1 ? ": it packs bits from the least significant one of a byte" : "");
}

/// Where DLPack says that rows of a residency are. Errors: `invalid_argument` for host memory of a device, a device's
/// memory without one, or an ordinal over 2,147,483,647.
[[nodiscard]] inline Result<Device> device_of(Residency residency, std::optional<std::uint32_t> ordinal) noexcept {
    if (residency == Residency::ram) {
        if (ordinal) return Error::fixed(Status::invalid_argument, "a device was named for rows in host memory");
        return Device{DeviceType::cpu, 0};
    }
    if (!ordinal)
        return Error::fixed(Status::invalid_argument, "name the device of the rows: the arena's describe() has it");
    if (*ordinal > INT32_MAX)
        return Error::of(Status::invalid_argument, "device ", *ordinal, ": DLPack counts to 2,147,483,647");
    return Device{DeviceType::cuda, static_cast<std::int32_t>(*ordinal)};
}

/// What an exported tensor's deleter frees: the tensor, its shape and the pin.
template <AnyManagedTensor T, class R> struct Export {
    T managed{};
    std::int64_t shape[2]{}, strides[2]{};
    Pinned<Rows<R>> rows;

    explicit Export(Pinned<Rows<R>> held) noexcept : rows(std::move(held)) {}
};

} // namespace dlpack

/// Hands pinned rows to another library as a tensor of DLPack: the same bytes, read-only. The pin goes with the tensor,
/// and its deleter lets it go, from any thread, also after the arena was freed. Until then a call on the arena answers
/// `contended`.
///
/// Shapes  `[rows, columns]`, always of two dimensions, with strides in elements: ids too are `[rows, 1]`. No offset:
///         `data` is the first row, 64-byte aligned where it's an output's first; null for rows without a value.
/// T       whose structure: `dlpack::ManagedTensorVersioned`, or the older `dlpack::ManagedTensor` for a consumer that
///         takes no other, which can't be told that the bytes are only to be read, and must not write them. Where
///         `dlpack.h` is included, name its own `::DLManagedTensorVersioned` or `::DLManagedTensor` and the pointer
///         needs no cast; elsewhere hand ours on as `void *`, which is what a capsule holds. It's of version 1.0.
/// device  of rows in a device's memory: `arena.describe().device`. Empty for host pages.
/// Order   waits for no stream: of a device's rows, let the consumer's stream wait with `stream_wait` first, and end
///         its work before it calls the deleter.
/// Owner   the answer deletes the tensor unless it is `release()`d to the consumer, which then calls the deleter once.
/// Errors  `invalid_argument`: a stale view, or a device that doesn't fit the residency; `unsupported`: a scalar that
///         DLPack can't say (`b1`), or more rows than it counts; `out_of_memory`; `contended` at 4,094 pins, as the
///         tensor takes one before it drops yours. After an error the pin is still yours.
/// Memory  one block of less than 256 bytes. Threads: any.
template <dlpack::AnyManagedTensor T = dlpack::ManagedTensorVersioned, class R>
[[nodiscard]] Result<dlpack::Owned<T>> to_dlpack(Pinned<Rows<R>> &&rows,
                                                 std::optional<std::uint32_t> device = std::nullopt) noexcept {
    Rows<R> const &view = rows;
    auto held = view.pin(); // its own: a guard that was moved from holds none, and it is checked in the same step
    if (!held) return held.error();
    auto const type = dlpack::data_type_of(view.scalar());
    if (!type) return type.error();
    auto const where = dlpack::device_of(R::residency, device);
    if (!where) return where.error();
    std::size_t const scalar_bytes = type->bits / 8u;
    if (view.row_stride_bytes() % scalar_bytes != 0)
        return Error::of(Status::unsupported, "rows ", view.row_stride_bytes(), " bytes apart: DLPack counts in ",
                         scalar_name(view.scalar()));
    if (view.rows() > INT64_MAX)
        return Error::of(Status::unsupported, view.rows(), " rows: DLPack counts to 9,223,372,036,854,775,807");

    auto *out = new (std::nothrow) dlpack::Export<T, R>(*std::move(held));
    if (!out) return Error::fixed(Status::out_of_memory, "no memory for the tensor of DLPack");
    out->shape[0] = static_cast<std::int64_t>(view.rows()), out->shape[1] = static_cast<std::int64_t>(view.columns());
    out->strides[0] = static_cast<std::int64_t>(view.row_stride_bytes() / scalar_bytes), out->strides[1] = 1;

    T &managed = out->managed;
    if constexpr (dlpack::SaysItsVersion<T>) {
        managed.version.major = 1, managed.version.minor = 0; // nothing newer is used
        managed.flags = dlpack::read_only;
    }
    managed.manager_ctx = out;
    managed.deleter = [](T *self) noexcept { delete static_cast<dlpack::Export<T, R> *>(self->manager_ctx); };
    auto &tensor = managed.dl_tensor;
    tensor.data = view.rows() && view.columns() ? const_cast<void *>(view.data()) : nullptr;
    tensor.device.device_type = static_cast<decltype(tensor.device.device_type)>(where->device_type);
    tensor.device.device_id = where->device_id;
    tensor.ndim = 2, tensor.shape = out->shape, tensor.strides = out->strides, tensor.byte_offset = 0;
    tensor.dtype.code = type->code, tensor.dtype.bits = type->bits, tensor.dtype.lanes = type->lanes;
    Pinned<Rows<R>> const dropped = std::move(rows);
    return dlpack::Owned<T>(&managed);
}

} // namespace uform

#endif // UFORM_INTEROP_DLPACK_HPP
