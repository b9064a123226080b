/// The wide half of a feed-forward block: one linear layer and its activation, or a gate over another.
#ifndef UFORM_ENCODER_WIDEN_HPP
#define UFORM_ENCODER_WIDEN_HPP

#include <cstddef>

#include "uform/kernels/activation.hpp"
#include "uform/kernels/kernels.hpp"
#include "uform/kernels/linear.hpp"

namespace uform {

/// Computes activation(input · first), times input · gated where there is one.
///
/// Shapes  input  [rows, hidden] tight; wide [rows, intermediate] tight, overwritten; with `gated` as many values more
///         behind it are scratch, and neither overlaps `input`
/// Errors  none. Memory  allocates nothing. Order  a row's bits depend on that row alone.
/// Source  Shazeer 2020, GLU Variants Improve Transformer, section 2, for the gate.
inline void widen(Kernels const &kernels, HiddenActivation activation, PackedLinear const &first,
                  PackedLinear const *gated, std::size_t rows, float const *input, float *wide) noexcept {
    bool const gelu = activation == HiddenActivation::gelu;
    std::size_t const hidden = first.inputs, intermediate = first.outputs;
    apply_linear(kernels, first,
                 {.rows = rows,
                  .input = input,
                  .input_stride = hidden,
                  .output = wide,
                  .output_stride = intermediate,
                  .gelu = gelu});
    if (!gelu) activate(activation, wide, rows * intermediate);
    if (!gated) return;
    float *const up = wide + rows * intermediate;
    apply_linear(kernels, *gated,
                 {.rows = rows, .input = input, .input_stride = hidden, .output = up, .output_stride = intermediate});
    kernels.gate(wide, up, rows * intermediate);
}

} // namespace uform

#endif // UFORM_ENCODER_WIDEN_HPP
