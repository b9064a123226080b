/// The kernels in plain C++, for processors that have no kernels of their own. Compilers vectorise most of it.
#ifndef UFORM_KERNELS_PORTABLE_HPP
#define UFORM_KERNELS_PORTABLE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility> // index_sequence

#include "uform/config.hpp"
#include "uform/kernels/gelu_table.hpp"
#include "uform/kernels/power_of_two.hpp"
#include "uform/kernels/table.hpp"
#include "uform/math.hpp"

namespace uform::portable {

/// a · b + c: fused where the compiler was told that the target fuses, so that it has no choice left to contract here
/// and not there; in two steps where it can't be fused.
UFORM_ALWAYS_INLINE float multiply_add(float a, float b, float c) noexcept {
#if UFORM_FUSED_MULTIPLY_ADD
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/// x · Φ(x), within 3.5e-7 · |x|; see `GeluTable`.
UFORM_ALWAYS_INLINE float gelu(float x) noexcept {
    float const magnitude = math::fabs(x);
    float position = magnitude * GeluTable::intervals_per_unit_k;
    position = position < GeluTable::last_position_k ? position : GeluTable::last_position_k; // NaN too
    auto const interval = static_cast<std::uint32_t>(position);
    float const variable = position - (static_cast<float>(interval) + 0.5f);
    float sum = gelu_table.coefficients[GeluTable::powers_k - 1][interval];
    for (std::size_t power = GeluTable::powers_k - 1; power-- > 0;)
        sum = multiply_add(sum, variable, gelu_table.coefficients[power][interval]);
    return multiply_add(magnitude, sum, x * 0.5f);
}

/// 2^x within one unit in the last place; 0 where it would be subnormal, at most 2^127; NaN stays NaN.
UFORM_ALWAYS_INLINE float power_of_two(float x) noexcept {
    float const capped = x > PowerOfTwo::largest_k ? PowerOfTwo::largest_k : x;
    float const bounded = capped > PowerOfTwo::smallest_k ? capped : PowerOfTwo::smallest_k; // a number even for NaN
    auto const n = static_cast<std::int32_t>(bounded + (bounded < 0 ? -0.5f : 0.5f));
    float const fraction = capped - static_cast<float>(n);
    float sum = PowerOfTwo::polynomial_k[6];
    for (std::size_t power = 6; power-- > 0;) sum = multiply_add(sum, fraction, PowerOfTwo::polynomial_k[power]);
    float const scale = std::bit_cast<float>(static_cast<std::uint32_t>(n + 127) << 23);
    return x < PowerOfTwo::smallest_k ? 0.0f : sum * scale;
}

/// e^x, within (2 + |x|) units in the last place, from about 1e-38 to 1e38; see `power_of_two`.
UFORM_ALWAYS_INLINE float exponential(float x) noexcept { return power_of_two(x * PowerOfTwo::per_ln2_k); }

/// Partial sums or maxima that a compiler can keep in registers of any width; folded in halves, always in this order.
inline constexpr std::size_t lanes_k = 16;
using Lanes = float[lanes_k];

UFORM_ALWAYS_INLINE float add_lanes(Lanes &lanes) noexcept {
    for (std::size_t half = lanes_k / 2; half; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) lanes[lane] += lanes[lane + half];
    return lanes[0];
}

/// Four floats of one register on any processor. Arrays of plain floats come out of Clang 14 seven times slower here.
using Four = float __attribute__((vector_size(16)));
inline constexpr std::size_t four_k = 4;

/// factor · b + c in each lane; see the other `multiply_add`.
UFORM_ALWAYS_INLINE Four multiply_add(float factor, Four b, Four c) noexcept {
    Four const sums = {multiply_add(factor, b[0], c[0]), multiply_add(factor, b[1], c[1]),
                       multiply_add(factor, b[2], c[2]), multiply_add(factor, b[3], c[3])};
    return sums;
}

/// GELU of a tile that was just stored: one function for all tiles is enough.
UFORM_NEVER_INLINE inline void gelu_rows(float *out, std::size_t stride, std::size_t rows,
                                         std::size_t columns) noexcept {
    for (std::size_t i = 0; i < rows; ++i, out += stride)
        for (std::size_t j = 0; j < columns; ++j) out[j] = gelu(out[j]);
}

/// See `TileFunction`. `rows` × `vectors` sums of four lanes.
template <std::size_t rows, std::size_t vectors> void multiply(Tile const &tile) noexcept {
    Four sums[rows][vectors] = {};
    if (tile.continues)
        for (std::size_t i = 0; i < rows; ++i) std::memcpy(sums[i], tile.out + i * tile.out_stride, sizeof sums[i]);

    float const *left = tile.left, *panel = tile.panel;
    std::size_t const left_stride = tile.left_stride;
    for (std::size_t depth = tile.depth; depth; --depth, ++left, panel += four_k * vectors) {
        Four right[vectors];
        std::memcpy(right, panel, sizeof right);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < rows; ++i) {
            float const factor = left[i * left_stride];
#pragma GCC unroll 16
            for (std::size_t j = 0; j < vectors; ++j) sums[i][j] = multiply_add(factor, right[j], sums[i][j]);
        }
    }

#pragma GCC unroll 16
    for (std::size_t i = 0; i < rows; ++i) { // unrolled, or GCC keeps the sums in memory from the start
        float out[four_k * vectors];         // apart, as the residual may be the rows that are written
        std::memcpy(out, sums[i], sizeof sums[i]);
        for (std::size_t j = 0; j < four_k * vectors; ++j) {
            if (tile.row_scales) out[j] *= tile.row_scales[i];
            else if (tile.bias) out[j] += tile.bias[j];
            if (tile.residual) out[j] += (tile.residual + static_cast<std::ptrdiff_t>(i) * tile.residual_stride)[j];
        }
        std::memcpy(tile.out + i * tile.out_stride, out, sizeof out);
    }
    if (tile.gelu) gelu_rows(tile.out, tile.out_stride, rows, four_k * vectors);
}

/// `multiply` for 1 to `sizeof...(counts)` rows.
template <std::size_t vectors, class> inline constexpr TileFunction *tiles[1] = {};
template <std::size_t vectors, std::size_t... counts>
inline constexpr TileFunction *tiles<vectors, std::index_sequence<counts...>>[] = {multiply<counts + 1, vectors>...};

/// See `SoftmaxFunction`.
inline void softmax(float *scores, std::size_t stride, std::size_t rows, std::size_t tokens,
                    float *inverse_sums) noexcept {
    std::size_t const whole = tokens / lanes_k * lanes_k;
    for (std::size_t i = 0; i < rows; ++i, scores += stride) {
        float largest = scores[0];
        for (std::size_t j = 1; j < tokens; ++j) largest = scores[j] > largest ? scores[j] : largest;
        Lanes sums = {};
        for (std::size_t j = 0; j < whole; j += lanes_k)
            for (std::size_t lane = 0; lane < lanes_k; ++lane) {
                scores[j + lane] = exponential(scores[j + lane] - largest);
                sums[lane] += scores[j + lane];
            }
        for (std::size_t j = whole; j < tokens; ++j) {
            scores[j] = exponential(scores[j] - largest);
            sums[j - whole] += scores[j];
        }
        inverse_sums[i] = 1.0f / add_lanes(sums);
    }
}

/// See `LayerNormFunction`.
inline void layer_norm(float const *in, std::size_t rows, std::size_t columns, float const *gain, float const *bias,
                       float epsilon, float *out) noexcept {
    std::size_t const whole = columns / lanes_k * lanes_k;
    auto const count = static_cast<float>(columns);
    for (std::size_t i = 0; i < rows; ++i, in += columns, out += columns) {
        Lanes sums = {}, squares = {};
        for (std::size_t j = 0; j < whole; j += lanes_k)
            for (std::size_t lane = 0; lane < lanes_k; ++lane) sums[lane] += in[j + lane];
        for (std::size_t j = whole; j < columns; ++j) sums[j - whole] += in[j];
        float const mean = add_lanes(sums) / count;
        for (std::size_t j = 0; j < whole; j += lanes_k)
            for (std::size_t lane = 0; lane < lanes_k; ++lane) {
                float const difference = in[j + lane] - mean;
                squares[lane] = multiply_add(difference, difference, squares[lane]);
            }
        for (std::size_t j = whole; j < columns; ++j)
            squares[j - whole] = multiply_add(in[j] - mean, in[j] - mean, squares[j - whole]);
        float const scale = 1.0f / math::sqrt(add_lanes(squares) / count + epsilon);
        for (std::size_t j = 0; j < columns; ++j) out[j] = multiply_add((in[j] - mean) * scale, gain[j], bias[j]);
    }
}

/// See `RotateFunction`.
inline void rotate(float *heads, std::size_t count, std::size_t half, float const *cos, float const *sin) noexcept {
    for (std::size_t head = 0; head < count; ++head, heads += 2 * half)
        for (std::size_t i = 0; i < half; ++i) {
            float const x = heads[i], y = heads[i + half];
            float const down = y * sin[i], up = x * sin[i];
            heads[i] = multiply_add(x, cos[i], -down);
            heads[i + half] = multiply_add(y, cos[i], up);
        }
}

/// See `GateFunction`.
inline void gate(float *UFORM_RESTRICT values, float const *UFORM_RESTRICT gates, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) values[i] *= gates[i];
}

/// The table in plain C++: 8 sums of four lanes, which fit the 16 registers of the oldest x86-64.
inline constexpr Kernels kernels = {
    .set = InstructionSet::portable,
    .linear = {4, 8, tiles<2, std::make_index_sequence<4>>},
    .attention = {4, 8, tiles<2, std::make_index_sequence<4>>},
    .depth_block = 512,
    .softmax = softmax,
    .layer_norm = layer_norm,
    .rotate = rotate,
    .gate = gate,
};

} // namespace uform::portable

#endif // UFORM_KERNELS_PORTABLE_HPP
