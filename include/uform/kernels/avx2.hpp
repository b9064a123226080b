/// The kernels for AVX2 with FMA.
#ifndef UFORM_KERNELS_AVX2_HPP
#define UFORM_KERNELS_AVX2_HPP

#include "uform/config.hpp"

#if UFORM_X86
#include UFORM_SIMD_HEADER

#include <cstddef>
#include <cstdint>
#include <utility> // index_sequence

#include "uform/kernels/gelu_table.hpp"
#include "uform/kernels/power_of_two.hpp"
#include "uform/kernels/table.hpp"

// Each function names its target: a lambda would not inherit it. Every multiply-add is written as one: what compilers
// contract on their own differs from one instantiation to the next.
namespace uform::avx2 {

/// The coefficient of a power of `GeluTable` for each lane's interval.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX2 __m256 look_up(std::size_t power, __m256i interval) noexcept {
    __m256 const entries = _mm256_load_ps(gelu_table.coefficients[power]);
    return _mm256_permutevar8x32_ps(entries, interval);
}

/// x · Φ(x), within 3.5e-7 · |x|; see `GeluTable`.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX2 __m256 gelu(__m256 x) noexcept {
    __m256 const magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), x);
    __m256 const position = _mm256_min_ps(_mm256_mul_ps(magnitude, _mm256_set1_ps(GeluTable::intervals_per_unit_k)),
                                          _mm256_set1_ps(GeluTable::last_position_k));
    __m256i const interval = _mm256_cvttps_epi32(position);
    __m256 const centre = _mm256_add_ps(_mm256_cvtepi32_ps(interval), _mm256_set1_ps(0.5f));
    __m256 const variable = _mm256_sub_ps(position, centre);
    __m256 sum = look_up(GeluTable::powers_k - 1, interval);
#pragma GCC unroll 8
    for (std::size_t power = GeluTable::powers_k - 1; power-- > 0;)
        sum = _mm256_fmadd_ps(sum, variable, look_up(power, interval));
    return _mm256_fmadd_ps(magnitude, sum, _mm256_mul_ps(x, _mm256_set1_ps(0.5f)));
}

/// GELU of a tile that was just stored, so that it is still in the first cache: beside the sums its table would not fit
/// the registers, and one function for all tiles is enough.
UFORM_TARGET_AVX2 UFORM_NEVER_INLINE inline void gelu_rows(float *out, std::size_t stride, std::size_t rows,
                                                           std::size_t columns) noexcept {
    for (std::size_t i = 0; i < rows; ++i, out += stride)
        for (std::size_t j = 0; j < columns; j += 8) _mm256_storeu_ps(out + j, gelu(_mm256_loadu_ps(out + j)));
}

/// 2^x for x < 127.5, within one unit in the last place; 0 where the result would be subnormal; NaN stays NaN.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX2 __m256 power_of_two(__m256 x) noexcept {
    __m256 const normal = _mm256_cmp_ps(x, _mm256_set1_ps(PowerOfTwo::smallest_k), _CMP_NLT_UQ);
    __m256 const n = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256 const fraction = _mm256_sub_ps(x, n);
    __m256 sum = _mm256_set1_ps(PowerOfTwo::polynomial_k[6]);
#pragma GCC unroll 8
    for (std::size_t power = 6; power-- > 0;)
        sum = _mm256_fmadd_ps(sum, fraction, _mm256_set1_ps(PowerOfTwo::polynomial_k[power]));
    __m256i const exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_and_ps(normal, _mm256_mul_ps(sum, _mm256_castsi256_ps(exponent)));
}

/// All bits set in the first `count` of 8 lanes, in all of them from 8 on.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX2 __m256i first_lanes(std::size_t count) noexcept {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < 8 ? static_cast<int>(count) : 8),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// The sum of the lanes, halves folded onto each other.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX2 float add_lanes(__m256 x) noexcept {
    __m128 const four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 const two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/// The largest lane.
UFORM_ALWAYS_INLINE UFORM_TARGET_AVX2 float largest_lane(__m256 x) noexcept {
    __m128 const four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    __m128 const two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

/// See `TileFunction`. `rows` × `vectors` sums of 8 lanes, at most 12 of the 16 registers.
template <std::size_t rows, std::size_t vectors> UFORM_TARGET_AVX2 void multiply(Tile const &tile) noexcept {
    __m256 sums[rows][vectors];
    if (tile.continues) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm256_loadu_ps(tile.out + i * tile.out_stride + 8 * j);
    } else {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j) sums[i][j] = _mm256_setzero_ps();
    }

    float const *left = tile.left, *panel = tile.panel;
    std::size_t const left_stride = tile.left_stride;
    for (std::size_t depth = tile.depth; depth; --depth, ++left, panel += 8 * vectors) {
        __m256 right[vectors];
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) right[j] = _mm256_loadu_ps(panel + 8 * j);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i) {
            __m256 const factor = _mm256_broadcast_ss(left + i * left_stride);
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j) sums[i][j] = _mm256_fmadd_ps(factor, right[j], sums[i][j]);
        }
    }

    if (tile.row_scales) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm256_mul_ps(sums[i][j], _mm256_broadcast_ss(tile.row_scales + i));
    } else if (tile.bias) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm256_add_ps(sums[i][j], _mm256_loadu_ps(tile.bias + 8 * j));
    }
    if (tile.residual) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j)
                sums[i][j] = _mm256_add_ps(
                    sums[i][j],
                    _mm256_loadu_ps(tile.residual + static_cast<std::ptrdiff_t>(i) * tile.residual_stride + 8 * j));
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i)
#pragma GCC unroll 16
        for (std::size_t j = 0; j < vectors; ++j) _mm256_storeu_ps(tile.out + i * tile.out_stride + 8 * j, sums[i][j]);

    if (tile.gelu) gelu_rows(tile.out, tile.out_stride, rows, 8 * vectors);
}

/// `multiply` for 1 to `sizeof...(counts)` rows.
template <std::size_t vectors, class> inline constexpr TileFunction *tiles[1] = {};
template <std::size_t vectors, std::size_t... counts>
inline constexpr TileFunction *tiles<vectors, std::index_sequence<counts...>>[] = {multiply<counts + 1, vectors>...};

/// See `SoftmaxFunction`.
UFORM_TARGET_AVX2 inline void softmax(float *scores, std::size_t stride, std::size_t rows, std::size_t tokens,
                                      float *inverse_sums) noexcept {
    __m256 const lowest = _mm256_set1_ps(-__builtin_inff());
    for (std::size_t i = 0; i < rows; ++i, scores += stride) {
        __m256 largest = lowest, sum = _mm256_setzero_ps();
        for (std::size_t j = 0; j < tokens; j += 8) {
            __m256 const lanes = _mm256_castsi256_ps(first_lanes(tokens - j));
            largest = _mm256_max_ps(largest, _mm256_blendv_ps(lowest, _mm256_loadu_ps(scores + j), lanes));
        }
        __m256 const per_ln2 = _mm256_set1_ps(PowerOfTwo::per_ln2_k);
        __m256 const shift = _mm256_set1_ps(largest_lane(largest) * PowerOfTwo::per_ln2_k);
        for (std::size_t j = 0; j < tokens; j += 8) {
            __m256 const lanes = _mm256_castsi256_ps(first_lanes(tokens - j));
            __m256 const value = power_of_two(_mm256_fmsub_ps(_mm256_loadu_ps(scores + j), per_ln2, shift));
            _mm256_storeu_ps(scores + j, value);
            sum = _mm256_add_ps(sum, _mm256_and_ps(lanes, value));
        }
        inverse_sums[i] = 1.0f / add_lanes(sum);
    }
}

/// See `LayerNormFunction`.
UFORM_TARGET_AVX2 inline void layer_norm(float const *in, std::size_t rows, std::size_t columns, float const *gain,
                                         float const *bias, float epsilon, float *out) noexcept {
    auto const count = static_cast<float>(columns);
    for (std::size_t i = 0; i < rows; ++i, in += columns, out += columns) {
        __m256 sum = _mm256_setzero_ps(), squares = _mm256_setzero_ps();
        for (std::size_t j = 0; j < columns; j += 8)
            sum = _mm256_add_ps(sum, _mm256_maskload_ps(in + j, first_lanes(columns - j)));
        __m256 const mean = _mm256_set1_ps(add_lanes(sum) / count);
        for (std::size_t j = 0; j < columns; j += 8) {
            __m256i const lanes = first_lanes(columns - j);
            __m256 const difference =
                _mm256_and_ps(_mm256_castsi256_ps(lanes), _mm256_sub_ps(_mm256_maskload_ps(in + j, lanes), mean));
            squares = _mm256_fmadd_ps(difference, difference, squares);
        }
        __m256 const variance = _mm256_set1_ps(add_lanes(squares) / count + epsilon);
        __m256 const scale = _mm256_div_ps(_mm256_set1_ps(1.0f), _mm256_sqrt_ps(variance));
        for (std::size_t j = 0; j < columns; j += 8) {
            __m256i const lanes = first_lanes(columns - j);
            __m256 const difference = _mm256_sub_ps(_mm256_maskload_ps(in + j, lanes), mean);
            __m256 const value = _mm256_fmadd_ps(_mm256_mul_ps(difference, scale), _mm256_maskload_ps(gain + j, lanes),
                                                 _mm256_maskload_ps(bias + j, lanes));
            if (j + 8 <= columns) _mm256_storeu_ps(out + j, value); // a masked store takes some processors 20 cycles
            else _mm256_maskstore_ps(out + j, lanes, value);
        }
    }
}

/// See `RotateFunction`.
UFORM_TARGET_AVX2 inline void rotate(float *heads, std::size_t count, std::size_t half, float const *cos,
                                     float const *sin) noexcept {
    for (std::size_t head = 0; head < count; ++head, heads += 2 * half)
        for (std::size_t i = 0; i < half; i += 8) {
            __m256i const lanes = first_lanes(half - i);
            __m256 const x = _mm256_maskload_ps(heads + i, lanes), y = _mm256_maskload_ps(heads + half + i, lanes);
            __m256 const c = _mm256_maskload_ps(cos + i, lanes), s = _mm256_maskload_ps(sin + i, lanes);
            _mm256_maskstore_ps(heads + i, lanes, _mm256_fmsub_ps(x, c, _mm256_mul_ps(y, s)));
            _mm256_maskstore_ps(heads + half + i, lanes, _mm256_fmadd_ps(y, c, _mm256_mul_ps(x, s)));
        }
}

/// See `GateFunction`.
UFORM_TARGET_AVX2 inline void gate(float *UFORM_RESTRICT values, float const *UFORM_RESTRICT gates,
                                   std::size_t count) noexcept {
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm256_storeu_ps(values + i, _mm256_mul_ps(_mm256_loadu_ps(values + i), _mm256_loadu_ps(gates + i)));
    for (; i < count; ++i) values[i] *= gates[i];
}

/// The table for AVX2: 12 sums in registers, a panel's block of 72 KiB in the second cache.
inline constexpr Kernels kernels = {
    .set = InstructionSet::avx2,
    .linear = {4, 24, tiles<3, std::make_index_sequence<4>>},
    .attention = {6, 16, tiles<2, std::make_index_sequence<6>>},
    .depth_block = 768,
    .softmax = softmax,
    .layer_norm = layer_norm,
    .rotate = rotate,
    .gate = gate,
};

} // namespace uform::avx2

#endif // UFORM_X86

#endif // UFORM_KERNELS_AVX2_HPP
