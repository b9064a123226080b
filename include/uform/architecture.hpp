/// The words by which a checkpoint's configuration and the kernels agree on what is computed.
#ifndef UFORM_ARCHITECTURE_HPP
#define UFORM_ARCHITECTURE_HPP

#include <cstdint>

namespace uform {

/// The arithmetic of an encoder: families that differ in names and numbers alone share one.
enum class Architecture : std::uint8_t {
    bert,       ///< word, segment and position tables; a norm after each of attention and feed-forward
    distilbert, ///< BERT without segments
    roberta,    ///< BERT whose positions start after the padding id; CamemBERT and XLM-RoBERTa too
    mpnet,      ///< RoBERTa without segments, with a bias on scores by the distance of two tokens
    modernbert, ///< rotary positions, norms before, gates, layers that see a window only
    nomic_bert, ///< BERT with rotary positions and gates, without biases
};

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

/// What a Dense module of sentence-transformers applies to its sums.
enum class DenseActivation : std::uint8_t {
    identity,
    tanh,
    relu,       ///< max(x, 0)
    gelu,       ///< x · Φ(x), by the error function
    sigmoid,    ///< 1 / (1 + e^−x)
    silu,       ///< x / (1 + e^−x)
    leaky_relu, ///< x, or x / 100 below 0
    elu,        ///< x, or e^x − 1 below 0
    softplus,   ///< ln(1 + e^x)
    mish,       ///< x · tanh(softplus(x))
};

/// What the network behind the states is for.
enum class HeadKind : std::uint8_t {
    classifier,       ///< scores of labels for a whole text, or for a pair
    token_classifier, ///< scores of labels for each token
    masked_language,  ///< scores of every word of the vocabulary for each token
};

/// What of a text's states a head reads.
enum class HeadInput : std::uint8_t {
    first_token, ///< the first token's state
    mean,        ///< the mean of all tokens' states
    each_token,  ///< every token's state, by itself
};

/// What the scores of one text, pair or token go through.
enum class ScoreActivation : std::uint8_t {
    none,    ///< they stay as they are
    sigmoid, ///< each becomes 1 / (1 + e^−x)
    softmax, ///< each becomes e^x over the sum of all
};

} // namespace uform

#endif // UFORM_ARCHITECTURE_HPP
