/// The activations of feed-forward blocks and of Dense modules.
#ifndef UFORM_KERNELS_ACTIVATION_HPP
#define UFORM_KERNELS_ACTIVATION_HPP

#include <cstddef>
#include <cstdint>

#include "uform/architecture.hpp"
#include "uform/kernels/portable.hpp"
#include "uform/math.hpp"

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
        for (std::size_t i = 0; i < count; ++i) values[i] = math::tanh(values[i]);
        break;
    }
}

/// One value of a Dense module's activation, in double precision; NaN stays NaN.
/// Source  the formulas and defaults of torch.nn; softplus is x itself above 20.
[[nodiscard]] inline double activated(DenseActivation activation, double x) noexcept {
    auto const softplus = [](double value) { return value > 20 ? value : math::log1p(math::exp(value)); };
    switch (activation) {
    case DenseActivation::identity: break;
    case DenseActivation::tanh: return math::tanh(x);
    case DenseActivation::relu: return x < 0 ? 0 : x;
    case DenseActivation::gelu: return x * 0.5 * math::erfc(-x * 0.70710678118654752440);
    case DenseActivation::sigmoid: return 1 / (1 + math::exp(-x));
    case DenseActivation::silu: return x / (1 + math::exp(-x));
    case DenseActivation::leaky_relu: return x < 0 ? x * 0.01 : x;
    case DenseActivation::elu: return x < 0 ? math::expm1(x) : x;
    case DenseActivation::softplus: return softplus(x);
    case DenseActivation::mish: return x * math::tanh(softplus(x));
    }
    return x;
}

/// Applies a Dense module's activation to `count` floats in place, the same bits for every instruction set.
inline void activate(DenseActivation activation, float *values, std::size_t count) noexcept {
    if (activation == DenseActivation::identity) return;
    for (std::size_t i = 0; i < count; ++i)
        values[i] = static_cast<float>(activated(activation, static_cast<double>(values[i])));
}

} // namespace uform

#endif // UFORM_KERNELS_ACTIVATION_HPP
