/// Linear layers: weights packed once into panels, and their products with rows of activations.
#ifndef UFORM_KERNELS_LINEAR_HPP
#define UFORM_KERNELS_LINEAR_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "uform/config.hpp"
#include "uform/kernels/table.hpp"
#include "uform/scalar.hpp"

namespace uform {

/// The weights and the bias of y = W·x + b in the layout of one instruction set's tile; it owns nothing.
///
/// Shapes  panels  [outputs / width, inputs / e, width, e]  `width` columns of the tile, `e` scalars to a 4-byte word
///                                                          (1 for f32); missing outputs of the last panel are zeros
///         bias    [outputs / width, width]                 f32, zeros past the last output
struct PackedLinear {
    std::uint32_t inputs = 0, outputs = 0, width = 0;
    Scalar scalar = Scalar::f32;
    std::byte *panels = nullptr;
    float *bias = nullptr;

    [[nodiscard]] std::size_t panel_count() const noexcept { return (outputs + std::size_t{width} - 1) / width; }
    [[nodiscard]] std::size_t panel_bytes() const noexcept {
        return std::size_t{inputs} * width * scalar_bits(scalar) / 8;
    }
    /// All bytes of a packed layer, a multiple of 64.
    [[nodiscard]] std::size_t bytes() const noexcept {
        return (panel_count() * (panel_bytes() + width * sizeof(float)) + 63) / 64 * 64;
    }
};

/// A layer of that shape with no memory yet: for its `bytes()`.
[[nodiscard]] inline PackedLinear describe_linear(Kernels const &kernels, std::uint32_t inputs,
                                                  std::uint32_t outputs) noexcept {
    return {.inputs = inputs, .outputs = outputs, .width = kernels.linear.columns};
}

/// Gives the layer its memory, of `layer.bytes()`, 64-byte aligned, which must outlive it. What no output is packed
/// into is zeros from here on; all outputs are to be packed.
inline void place_linear(PackedLinear &layer, std::byte *memory) noexcept {
    std::size_t const whole_bytes = layer.outputs / layer.width * layer.panel_bytes();
    layer.panels = memory;
    layer.bias = reinterpret_cast<float *>(memory + layer.panel_count() * layer.panel_bytes());
    std::memset(memory + whole_bytes, 0, layer.bytes() - whole_bytes);
}

/// Packs the weights [inputs] and the bias of one output, both times `scale`. Distinct outputs from any threads.
UFORM_NEVER_INLINE inline void pack_output(PackedLinear const &layer, std::size_t output, float const *weights,
                                           float bias, float scale = 1.0f) noexcept {
    std::size_t const width = layer.width;
    auto *word = reinterpret_cast<float *>(layer.panels + output / width * layer.panel_bytes()) + output % width;
    for (std::size_t k = 0; k < layer.inputs; ++k, word += width) *word = weights[k] * scale;
    layer.bias[output] = bias * scale;
}

/// What a linear layer is applied to. A null `residual` leaves its step out.
///
/// Shapes  input     [rows, inputs]   f32, rows `input_stride` floats apart
///         output    [rows, outputs]  f32, rows `output_stride` floats apart; may not overlap the others
///         residual  [rows, outputs]  f32, rows `residual_stride` floats apart
struct LinearRows {
    std::size_t rows = 0;
    float const *input = nullptr;
    std::size_t input_stride = 0;
    float *output = nullptr;
    std::size_t output_stride = 0;
    float const *residual = nullptr;
    std::size_t residual_stride = 0;
    bool gelu = false;
    std::size_t first_panel = 0, last_panel = SIZE_MAX; ///< these panels only, so that threads can share the columns
};

/// Multiplies the first `columns` of a tile's columns, and touches nothing of `out` and `residual` past them.
inline void multiply_columns(TileShape const &shape, Tile tile, std::size_t rows, std::size_t columns) noexcept {
    if (columns >= shape.columns) return shape.multiply[rows - 1](tile);
    float sums[largest_tile_k], residual[largest_tile_k] = {};
    float *const out = tile.out;
    std::size_t const out_stride = tile.out_stride;
    auto const copy = [=](float *to, std::size_t to_stride, float const *from, std::size_t from_stride) {
        for (std::size_t i = 0; i < rows; ++i)
            std::memcpy(to + i * to_stride, from + i * from_stride, columns * sizeof(float));
    };
    if (tile.continues) copy(sums, shape.columns, out, out_stride);
    if (tile.residual) {
        for (std::size_t i = 0; i < rows; ++i)
            std::memcpy(residual + i * shape.columns,
                        tile.residual + static_cast<std::ptrdiff_t>(i) * tile.residual_stride, columns * sizeof(float));
        tile.residual = residual, tile.residual_stride = shape.columns;
    }
    tile.out = sums, tile.out_stride = shape.columns;
    shape.multiply[rows - 1](tile);
    copy(out, out_stride, sums, shape.columns);
}

/// output = W · input + bias, then + residual, then GELU, as asked.
///
/// Errors  none. Memory  allocates nothing; up to 4 KiB of stack. Threads: any, for distinct outputs.
/// Order   the chain over `inputs` is cut in blocks that depend on the layer alone, and goes on where it was cut: the
///         bits of a row don't depend on how many rows there are nor on where it stands among them.
/// Source  Goto and van de Geijn 2008, Anatomy of High-Performance Matrix Multiplication, for the blocks.
inline void apply_linear(Kernels const &kernels, PackedLinear const &layer, LinearRows const &call) noexcept {
    TileShape const &shape = kernels.linear;
    constexpr std::size_t most_rows = 192; // of input that stay in the second cache while all panels pass
    std::size_t const width = layer.width, inputs = layer.inputs;
    std::size_t const depth_blocks = (inputs + kernels.depth_block - 1) / kernels.depth_block;
    std::size_t const panel_count = layer.panel_count();
    std::size_t const last_panel = call.last_panel < panel_count ? call.last_panel : panel_count;
    std::size_t const row_blocks = (call.rows + most_rows - 1) / most_rows;

    for (std::size_t block = 0; block < row_blocks; ++block) {
        std::size_t const first_row = call.rows * block / row_blocks, end_row = call.rows * (block + 1) / row_blocks;
        std::size_t const rows = end_row - first_row, tiles = (rows + shape.rows - 1) / shape.rows;
        for (std::size_t panel = call.first_panel; panel < last_panel; ++panel) {
            std::size_t const column = panel * width;
            auto const *weights = reinterpret_cast<float const *>(layer.panels + panel * layer.panel_bytes());
            for (std::size_t cut = 0; cut < depth_blocks; ++cut) { // the panel's sums stay in the second cache
                std::size_t const first_input = inputs * cut / depth_blocks;
                std::size_t const end_input = inputs * (cut + 1) / depth_blocks;
                bool const last = cut + 1 == depth_blocks;
                for (std::size_t t = 0; t < tiles; ++t) { // even tiles: 9 rows are 5 and 4, not 8 and 1
                    std::size_t const row = first_row + rows * t / tiles, end = first_row + rows * (t + 1) / tiles;
                    Tile const tile = {
                        .left = call.input + row * call.input_stride + first_input,
                        .left_stride = call.input_stride,
                        .panel = weights + first_input * width,
                        .depth = end_input - first_input,
                        .out = call.output + row * call.output_stride + column,
                        .out_stride = call.output_stride,
                        .bias = last ? layer.bias + column : nullptr,
                        .residual =
                            last && call.residual ? call.residual + row * call.residual_stride + column : nullptr,
                        .residual_stride = static_cast<std::ptrdiff_t>(call.residual_stride),
                        .gelu = last && call.gelu,
                        .continues = cut > 0,
                    };
                    multiply_columns(shape, tile, end - row, layer.outputs - column);
                }
            }
        }
    }
}

} // namespace uform

#endif // UFORM_KERNELS_LINEAR_HPP
