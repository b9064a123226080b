/// The kernels for AVX-512.
#ifndef UFORM_KERNELS_AVX512_HPP
#define UFORM_KERNELS_AVX512_HPP

#include "uform/config.hpp"

#if UFORM_X86
#include UFORM_SIMD_HEADER

#include <cstddef>
#include <cstdint>
#include <utility> // index_sequence

#include "uform/kernels/gelu_table.hpp"
#include "uform/kernels/power_of_two.hpp"
#include "uform/kernels/table.hpp"

// GCC 12 takes its own _mm512_undefined_ps for a mistake (GCC bug 105593); Clang doesn't know that warning's name.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

// Each function names its target: a lambda would not inherit it. Every multiply-add is written as one: what compilers
// contract on their own differs from one instantiation to the next.
namespace uform::avx512 {

/// The coefficient of a power of `GeluTable` for each lane's interval.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX512 __m512 look_up(std::size_t power, __m512i interval) noexcept {
    __m512 const entries = _mm512_broadcast_f32x8(_mm256_load_ps(gelu_table.coefficients[power]));
    return _mm512_permutexvar_ps(interval, entries);
}

/// x · Φ(x), within 3.5e-7 · |x|; see `GeluTable`.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX512 __m512 gelu(__m512 x) noexcept {
    __m512 const magnitude = _mm512_abs_ps(x);
    __m512 const position = _mm512_min_ps(_mm512_mul_ps(magnitude, _mm512_set1_ps(GeluTable::intervals_per_unit_k)),
                                          _mm512_set1_ps(GeluTable::last_position_k));
    __m512i const interval = _mm512_cvttps_epi32(position);
    __m512 const centre = _mm512_add_ps(_mm512_cvtepi32_ps(interval), _mm512_set1_ps(0.5f));
    __m512 const variable = _mm512_sub_ps(position, centre);
    __m512 sum = look_up(GeluTable::powers_k - 1, interval);
#pragma GCC unroll 8
    for (std::size_t power = GeluTable::powers_k - 1; power-- > 0;)
        sum = _mm512_fmadd_ps(sum, variable, look_up(power, interval));
    return _mm512_fmadd_ps(magnitude, sum, _mm512_mul_ps(x, _mm512_set1_ps(0.5f)));
}

/// GELU of a tile that was just stored, so that it is still in the first cache: beside the sums its table would not fit
/// the registers, and one function for all tiles is enough.
UFORM_TARGET_AVX512 UFORM_NEVER_INLINE inline void gelu_rows(float *out, std::size_t stride, std::size_t rows,
                                                             std::size_t columns) noexcept {
    for (std::size_t i = 0; i < rows; ++i, out += stride)
        for (std::size_t j = 0; j < columns; j += 16) _mm512_storeu_ps(out + j, gelu(_mm512_loadu_ps(out + j)));
}

/// 2^x for x < 128, within one unit in the last place; 0 where the result would be subnormal; NaN stays NaN.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX512 __m512 power_of_two(__m512 x) noexcept {
    __mmask16 const normal = _mm512_cmp_ps_mask(x, _mm512_set1_ps(PowerOfTwo::smallest_k), _CMP_NLT_UQ);
    __m512 const n = _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512 const fraction = _mm512_sub_ps(x, n);
    __m512 sum = _mm512_set1_ps(PowerOfTwo::polynomial_k[6]);
#pragma GCC unroll 8
    for (std::size_t power = 6; power-- > 0;)
        sum = _mm512_fmadd_ps(sum, fraction, _mm512_set1_ps(PowerOfTwo::polynomial_k[power]));
    return _mm512_maskz_scalef_ps(normal, sum, n);
}

/// The first `count` of 16 lanes, all of them from 16 on.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX512 __mmask16 first_lanes(std::size_t count) noexcept {
    return count >= 16 ? __mmask16{0xffff} : static_cast<__mmask16>((1u << count) - 1u);
}

/// See `TileFunction`. `rows` × `vectors` sums of 16 lanes, at most 24 of the 32 registers.
template <std::size_t rows, std::size_t vectors> UFORM_TARGET_AVX512 void multiply(Tile const &tile) noexcept {
    __m512 sums[rows][vectors];
    if (tile.continues) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm512_loadu_ps(tile.out + i * tile.out_stride + 16 * j);
    } else {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j) sums[i][j] = _mm512_setzero_ps();
    }

    float const *left = tile.left, *panel = tile.panel;
    std::size_t const left_stride = tile.left_stride;
    for (std::size_t depth = tile.depth; depth; --depth, ++left, panel += 16 * vectors) {
        __m512 right[vectors];
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) right[j] = _mm512_loadu_ps(panel + 16 * j);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i) {
            __m512 const factor = _mm512_set1_ps(left[i * left_stride]);
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j) sums[i][j] = _mm512_fmadd_ps(factor, right[j], sums[i][j]);
        }
    }

    if (tile.row_scales) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm512_mul_ps(sums[i][j], _mm512_set1_ps(tile.row_scales[i]));
    } else if (tile.bias) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm512_add_ps(sums[i][j], _mm512_loadu_ps(tile.bias + 16 * j));
    }
    if (tile.residual) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm512_add_ps(
                    sums[i][j],
                    _mm512_loadu_ps(tile.residual + static_cast<std::ptrdiff_t>(i) * tile.residual_stride + 16 * j));
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) _mm512_storeu_ps(tile.out + i * tile.out_stride + 16 * j, sums[i][j]);

    if (tile.gelu) gelu_rows(tile.out, tile.out_stride, rows, 16 * vectors);
}

/// `multiply` for 1 to `sizeof...(counts)` rows.
template <std::size_t vectors, class> inline constexpr TileFunction *tiles[1] = {};
template <std::size_t vectors, std::size_t... counts>
inline constexpr TileFunction *tiles<vectors, std::index_sequence<counts...>>[] = {multiply<counts + 1, vectors>...};

/// See `SoftmaxFunction`.
UFORM_TARGET_AVX512 inline void softmax(float *scores, std::size_t stride, std::size_t rows, std::size_t tokens,
                                        float *inverse_sums) noexcept {
    __m512 const lowest = _mm512_set1_ps(-__builtin_inff());
    for (std::size_t i = 0; i < rows; ++i, scores += stride) {
        __m512 largest = lowest, sum = _mm512_setzero_ps();
        for (std::size_t j = 0; j < tokens; j += 16)
            largest = _mm512_max_ps(largest, _mm512_mask_loadu_ps(lowest, first_lanes(tokens - j), scores + j));
        __m512 const per_ln2 = _mm512_set1_ps(PowerOfTwo::per_ln2_k);
        __m512 const shift = _mm512_set1_ps(_mm512_reduce_max_ps(largest) * PowerOfTwo::per_ln2_k);
        for (std::size_t j = 0; j < tokens; j += 16) {
            __m512 const value = power_of_two(_mm512_fmsub_ps(_mm512_loadu_ps(scores + j), per_ln2, shift));
            _mm512_storeu_ps(scores + j, value);
            sum = _mm512_mask_add_ps(sum, first_lanes(tokens - j), sum, value);
        }
        inverse_sums[i] = 1.0f / _mm512_reduce_add_ps(sum);
    }
}

/// See `LayerNormFunction`.
UFORM_TARGET_AVX512 inline void layer_norm(float const *in, std::size_t rows, std::size_t columns, float const *gain,
                                           float const *bias, float epsilon, float *out) noexcept {
    auto const count = static_cast<float>(columns);
    for (std::size_t i = 0; i < rows; ++i, in += columns, out += columns) {
        __m512 sum = _mm512_setzero_ps(), squares = _mm512_setzero_ps();
        for (std::size_t j = 0; j < columns; j += 16)
            sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(first_lanes(columns - j), in + j));
        __m512 const mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / count);
        for (std::size_t j = 0; j < columns; j += 16) {
            __mmask16 const lanes = first_lanes(columns - j);
            __m512 const difference = _mm512_maskz_sub_ps(lanes, _mm512_maskz_loadu_ps(lanes, in + j), mean);
            squares = _mm512_fmadd_ps(difference, difference, squares);
        }
        __m512 const variance = _mm512_set1_ps(_mm512_reduce_add_ps(squares) / count + epsilon);
        __m512 const scale = _mm512_div_ps(_mm512_set1_ps(1.0f), _mm512_sqrt_ps(variance));
        for (std::size_t j = 0; j < columns; j += 16) {
            __mmask16 const lanes = first_lanes(columns - j);
            __m512 const difference = _mm512_sub_ps(_mm512_maskz_loadu_ps(lanes, in + j), mean);
            __m512 const value =
                _mm512_fmadd_ps(_mm512_mul_ps(difference, scale), _mm512_maskz_loadu_ps(lanes, gain + j),
                                _mm512_maskz_loadu_ps(lanes, bias + j));
            _mm512_mask_storeu_ps(out + j, lanes, value);
        }
    }
}

/// See `RotateFunction`.
UFORM_TARGET_AVX512 inline void rotate(float *heads, std::size_t count, std::size_t half, float const *cos,
                                       float const *sin) noexcept {
    for (std::size_t head = 0; head < count; ++head, heads += 2 * half)
        for (std::size_t i = 0; i < half; i += 16) {
            __mmask16 const lanes = first_lanes(half - i);
            __m512 const x = _mm512_maskz_loadu_ps(lanes, heads + i),
                         y = _mm512_maskz_loadu_ps(lanes, heads + half + i);
            __m512 const c = _mm512_maskz_loadu_ps(lanes, cos + i), s = _mm512_maskz_loadu_ps(lanes, sin + i);
            _mm512_mask_storeu_ps(heads + i, lanes, _mm512_fmsub_ps(x, c, _mm512_mul_ps(y, s)));
            _mm512_mask_storeu_ps(heads + half + i, lanes, _mm512_fmadd_ps(y, c, _mm512_mul_ps(x, s)));
        }
}

/// See `GateFunction`.
UFORM_TARGET_AVX512 inline void gate(float *UFORM_RESTRICT values, float const *UFORM_RESTRICT gates,
                                     std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; i += 16) {
        __mmask16 const lanes = first_lanes(count - i);
        __m512 const product =
            _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, values + i), _mm512_maskz_loadu_ps(lanes, gates + i));
        _mm512_mask_storeu_ps(values + i, lanes, product);
    }
}

/// The table for AVX-512: 24 sums in registers, a panel's block of 144 KiB in the second cache.
inline constexpr Kernels kernels = {
    .set = InstructionSet::avx512,
    .linear = {8, 48, tiles<3, std::make_index_sequence<8>>},
    .attention = {12, 32, tiles<2, std::make_index_sequence<12>>},
    .depth_block = 768,
    .softmax = softmax,
    .layer_norm = layer_norm,
    .rotate = rotate,
    .gate = gate,
};

} // namespace uform::avx512

#pragma GCC diagnostic pop

#endif // UFORM_X86

#endif // UFORM_KERNELS_AVX512_HPP
