/// The activations between the two layers of a feed-forward block.
#ifndef UFORM_KERNELS_ACTIVATION_HPP
#define UFORM_KERNELS_ACTIVATION_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "uform/architecture.hpp"
#include "uform/kernels/portable.hpp"

namespace uform {

/// Applies an activation to `count` floats in place; NaN stays NaN.
///
/// Errors  none. Memory  allocates nothing. Threads: any, for distinct `values`.
/// Order   each element by itself, in plain C++ for all instruction sets, within 1e-6 · |x|.
/// Source  Hendrycks and Gimpel 2016, Gaussian Error Linear Units, for both of its forms.
inline void activate(HiddenActivation activation, float *values, std::size_t count) noexcept {
    using portable::exponential, portable::multiply_add;
    switch (activation) {
    case HiddenActivation::gelu:
        for (std::size_t i = 0; i < count; ++i) values[i] = portable::gelu(values[i]);
        break;
    case HiddenActivation::gelu_tanh: // ½x · (1 + tanh u) = x / (1 + e^(−2u)), u = √(2/π) · (x + 0.044715 x³)
        for (std::size_t i = 0; i < count; ++i) {
            float const x = values[i];
            float const cubic = multiply_add(0.0713548163f * x, x, 1.59576912f);
            values[i] = x / (1.0f + exponential(-x * cubic));
        }
        break;
    case HiddenActivation::relu:
        for (std::size_t i = 0; i < count; ++i) values[i] = values[i] < 0.0f ? 0.0f : values[i];
        break;
    case HiddenActivation::silu:
        for (std::size_t i = 0; i < count; ++i) values[i] = values[i] / (1.0f + exponential(-values[i]));
        break;
    case HiddenActivation::tanh:
        for (std::size_t i = 0; i < count; ++i) values[i] = std::tanh(values[i]);
        break;
    }
}

} // namespace uform

#endif // UFORM_KERNELS_ACTIVATION_HPP
