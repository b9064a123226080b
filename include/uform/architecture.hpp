/// The words by which a checkpoint's configuration and the kernels agree on what is computed.
#ifndef UFORM_ARCHITECTURE_HPP
#define UFORM_ARCHITECTURE_HPP

#include <cstdint>

namespace uform {

/// What a feed-forward layer applies to each element between its two products.
enum class HiddenActivation : std::uint8_t {
    gelu,      ///< x · Φ(x), by the error function
    gelu_tanh, ///< its older approximation by a hyperbolic tangent
    relu,      ///< max(x, 0)
    silu,      ///< x / (1 + e^−x)
    tanh,
};

/// How the states of a text's tokens become one vector. In the order in which the older spelling joins several.
enum class Pooling : std::uint8_t {
    cls,              ///< the first token's state
    max,              ///< the largest of each column
    mean,             ///< the sum over the number of tokens
    mean_sqrt_length, ///< the sum over the square root of the number of tokens
    weighted_mean,    ///< the mean with weights 1, 2, 3 …
    last,             ///< the last token's state
};

} // namespace uform

#endif // UFORM_ARCHITECTURE_HPP
