/// The table of kernels that each instruction set fills in; what is built on it is written once for all sets.
#ifndef UFORM_KERNELS_TABLE_HPP
#define UFORM_KERNELS_TABLE_HPP

#include <cstddef>
#include <cstdint>

#include "uform/config.hpp"
#include "uform/kernels/instruction_set.hpp"

#if UFORM_FAST_MATH
#error "uform's kernels need NaN and the order of sums: compile the unit that uses a model without -ffast-math"
#endif

namespace uform {

/// A few rows of a product with one whole panel, and what is done to the sums before they are stored.
///
/// Shapes  left    [rows, depth]     f32, rows `left_stride` floats apart
///         panel   [depth, columns]  f32, tight; `columns` is that of the `TileShape`
///         out     [rows, columns]   f32, rows `out_stride` floats apart; may be the residual, and overlaps no other
/// Order   out = (left · panel) · row_scales, or + bias; then + residual; then GELU. A null pointer leaves its step
///         out. Not both `row_scales` and `bias` are given.
struct Tile {
    float const *left = nullptr;
    std::size_t left_stride = 0;
    float const *panel = nullptr;
    std::size_t depth = 0;
    float *out = nullptr;
    std::size_t out_stride = 0;
    float const *row_scales = nullptr;  ///< [rows]
    float const *bias = nullptr;        ///< [columns]
    float const *residual = nullptr;    ///< [rows, columns]
    std::ptrdiff_t residual_stride = 0; ///< may be negative
    bool gelu = false;
    bool continues = false; ///< `out` holds the sums over the columns of `left` before these
};

/// Multiplies one tile.
///
/// Order  each sum is one chain of multiply-adds over rising depth from zero, whatever the number of rows, and a chain
///        cut by `continues` goes on where it stopped: the bits of a row don't depend on what is computed beside it.
using TileFunction = void(Tile const &) noexcept;

/// A register tile: at most `rows` × exactly `columns` sums are held in registers at once.
struct TileShape {
    std::uint32_t rows = 0, columns = 0;
    TileFunction *const *multiply = nullptr; ///< [rows], the function for n rows at n − 1
};

/// The largest tile of any set, in floats: what a buffer for one tile must hold.
inline constexpr std::size_t largest_tile_k = 512;

/// Turns rows of scores into their exponentials, less the row's maximum, and answers what divides each row.
///
/// Shapes  scores        [rows, tokens]  f32, in place, rows `stride` floats apart; what lies between `tokens` and the
///                                       next multiple of 16 is read and may be overwritten, and does not count
///         inverse_sums  [rows]          f32, 1 / Σ of the row's exponentials
/// Order   a row's bits depend on nothing but the row. A NaN among the scores makes the whole row NaN.
using SoftmaxFunction = void(float *scores, std::size_t stride, std::size_t rows, std::size_t tokens,
                             float *inverse_sums) noexcept;

/// Shifts and scales each row to mean 0 and variance 1, then multiplies by `gain` and adds `bias`.
///
/// Shapes  in, out     [rows, columns]  f32, tight; they may be the same memory
///         gain, bias  [columns]        f32
/// Order   two passes, the variance over the differences from the mean; a row's bits depend on nothing but the row.
/// Source  Ba, Kiros and Hinton 2016, Layer Normalization; `epsilon` is added to the variance, as PyTorch does.
using LayerNormFunction = void(float const *in, std::size_t rows, std::size_t columns, float const *gain,
                               float const *bias, float epsilon, float *out) noexcept;

/// Turns pairs of columns of each head of one row: (x, y) becomes (x · cos − y · sin, y · cos + x · sin), where x is
/// from the first half of the head's columns, and y stands `half` columns further on.
///
/// Shapes  heads      [count, 2, half]  f32, in place, tight
///         cos, sin   [half]            f32, of the row's position
/// Order   each pair by itself, in a product and a fused or plain multiply-add.
/// Source  Su et al. 2021, RoFormer, section 3.2, with the pairs as GPT-NeoX and Hugging Face have them.
using RotateFunction = void(float *heads, std::size_t count, std::size_t half, float const *cos,
                            float const *sin) noexcept;

/// Multiplies each of `count` floats by its gate, in place; the two may not overlap.
using GateFunction = void(float *UFORM_RESTRICT values, float const *UFORM_RESTRICT gates, std::size_t count) noexcept;

/// The kernels of one instruction set. Static storage; everything in it may be called from any thread.
struct Kernels {
    InstructionSet set;
    TileShape linear;        ///< the tile of packed weights: its columns are the width of a panel
    TileShape attention;     ///< the tile of scores and of their products with the values
    std::size_t depth_block; ///< rows of a panel that are multiplied in one go, so that they stay in a cache
    SoftmaxFunction *softmax;
    LayerNormFunction *layer_norm;
    RotateFunction *rotate;
    GateFunction *gate;
};

} // namespace uform

#endif // UFORM_KERNELS_TABLE_HPP
