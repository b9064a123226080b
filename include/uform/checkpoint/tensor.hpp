/// A tensor of a checkpoint: where its bytes are, what they are, and their widening to float.
#ifndef UFORM_CHECKPOINT_TENSOR_HPP
#define UFORM_CHECKPOINT_TENSOR_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>

#include "uform/config.hpp"
#include "uform/scalar.hpp"
#include "uform/sort.hpp"

namespace uform {

/// The element types that safetensors files hold. Only f32, f16 and bf16 can be weights here; the others may stand in a
/// file as long as nobody asks for their tensor.
/// Source  the `Dtype` of the `safetensors` library, release 0.8.
enum class DType : std::uint8_t {
    boolean,
    f4,
    f6_e2m3,
    f6_e3m2,
    u8,
    i8,
    f8_e5m2,
    f8_e4m3,
    f8_e8m0,
    f8_e4m3fnuz,
    f8_e5m2fnuz,
    i16,
    u16,
    f16,
    bf16,
    i32,
    u32,
    f32,
    c64,
    f64,
    i64,
    u64,
};

/// What there is to know of an element type.
struct DTypeTraits {
    std::string_view name; ///< as files spell it
    std::uint8_t bits;     ///< of one element
    Scalar scalar;         ///< `no_scalar` unless it can be widened
};

/// One entry a `DType`, in its order.
inline constexpr DTypeTraits dtype_traits_k[] = {
    {"BOOL", 8, no_scalar},    {"F4", 4, no_scalar},          {"F6_E2M3", 6, no_scalar},     {"F6_E3M2", 6, no_scalar},
    {"U8", 8, no_scalar},      {"I8", 8, no_scalar},          {"F8_E5M2", 8, no_scalar},     {"F8_E4M3", 8, no_scalar},
    {"F8_E8M0", 8, no_scalar}, {"F8_E4M3FNUZ", 8, no_scalar}, {"F8_E5M2FNUZ", 8, no_scalar}, {"I16", 16, no_scalar},
    {"U16", 16, no_scalar},    {"F16", 16, Scalar::f16},      {"BF16", 16, Scalar::bf16},    {"I32", 32, no_scalar},
    {"U32", 32, no_scalar},    {"F32", 32, Scalar::f32},      {"C64", 64, no_scalar},        {"F64", 64, no_scalar},
    {"I64", 64, no_scalar},    {"U64", 64, no_scalar},
};
static_assert(std::size(dtype_traits_k) == static_cast<std::size_t>(DType::u64) + 1);

/// The traits of an element type; `dtype` must be an enumerator.
[[nodiscard]] constexpr DTypeTraits const &traits_of(DType dtype) noexcept {
    return dtype_traits_k[static_cast<std::size_t>(dtype)];
}

/// A tensor in a mapped file. Plain data; valid as long as the file's object, wherever that is moved.
struct TensorView {
    std::string_view name;
    DType dtype;
    Scalar scalar;                      ///< f32, f16 or bf16; `no_scalar` for an element type that can't be widened
    std::uint32_t file;                 ///< the index of its file in the checkpoint
    std::span<std::size_t const> shape; ///< outermost first; empty for one element
    std::byte const *data;              ///< row-major, little-endian, of any alignment
    std::size_t bytes;                  ///< elements × bits / 8

    /// The product of the shape, which is known not to overflow.
    [[nodiscard]] std::size_t elements() const noexcept {
        std::size_t product = 1;
        for (std::size_t const extent : shape) product *= extent;
        return product;
    }
    /// Whether the shape is exactly these extents.
    [[nodiscard]] bool has_shape(std::initializer_list<std::size_t> extents) const noexcept {
        bool is_same = shape.size() == extents.size();
        for (std::size_t i = 0; is_same && i != shape.size(); ++i) is_same = shape[i] == extents.begin()[i];
        return is_same;
    }
    template <class... Extents> [[nodiscard]] bool has_shape(Extents... extents) const noexcept {
        return has_shape({static_cast<std::size_t>(extents)...});
    }
};

/// Equal names come in any order.
inline void sort_by_name(std::span<TensorView> tensors) noexcept {
    heap_sort(tensors.data(), tensors.size(),
              [](TensorView const &a, TensorView const &b) noexcept { return a.name < b.name; });
}

/// Widens elements to floats, exactly.
///
/// Shapes  values [count], overwritten; `tensor` may be of any shape, its elements are counted in row-major order
/// Needs   `first + count` within the elements, and a `scalar` of f32, f16 or bf16; the caller has checked both.
/// Memory  allocates nothing; the tensor may be unaligned. Threads: any, for distinct `values`.
inline void widen(TensorView const &tensor, std::size_t first, std::size_t count,
                  float *UFORM_RESTRICT values) noexcept {
    if (count == 0) return;
    std::byte const *const data = tensor.data + first * (scalar_bits(tensor.scalar) / 8);
    if (tensor.scalar == Scalar::f32) {
        std::memcpy(values, data, count * sizeof(float));
        return;
    }
    bool const half = tensor.scalar == Scalar::f16;
    for (std::size_t i = 0; i != count; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, data + i * sizeof bits, sizeof bits);
        values[i] = half ? widen(F16{bits}) : widen(BF16{bits});
    }
}

/// Widens one row of a tensor of at least one dimension: all elements of an index of its outermost one.
inline void widen_row(TensorView const &tensor, std::size_t row, float *UFORM_RESTRICT values) noexcept {
    std::size_t columns = 1;
    for (std::size_t const extent : tensor.shape.subspan(1)) columns *= extent;
    widen(tensor, row * columns, columns, values);
}

} // namespace uform

#endif // UFORM_CHECKPOINT_TENSOR_HPP
