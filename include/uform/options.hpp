/// The options of loading and encoding, to be named with designated initialisers.
#ifndef UFORM_OPTIONS_HPP
#define UFORM_OPTIONS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "uform/kernels/instruction_set.hpp"
#include "uform/scalar.hpp"

namespace uform {

/// What happens to a text that is longer than the model reads.
enum class Truncate : std::uint8_t {
    cut,    ///< its end is cut, and the result counts the tokens
    refuse, ///< the call answers `invalid_argument` and nothing is touched
};

/// Whether embeddings are scaled to unit length.
enum class Normalize : std::uint8_t { as_published, on, off };

/// What a text is, for models of late interaction (ColBERT), which make other token vectors of queries than of
/// documents and have a prompt for each. Of other models it changes nothing: those that want a prompt before a query
/// (E5, Nomic) are asked for it by `EncodeOptions::prompt`.
enum class Role : std::uint8_t { document, query };

/// What the scores of a classifier or reranker go through.
enum class Activation : std::uint8_t {
    as_published,
    none,    ///< the scores as they are
    sigmoid, ///< each by itself: 1 / (1 + e^−x)
    softmax, ///< all of a text, or of a token: they sum to 1
};

/// How a folder is loaded.
struct LoadOptions {
    /// The type that the encoder computes in: `f32` in this version.
    Scalar compute = Scalar::f32;
    /// The kernels to use; empty: the best that the machine has. One that it lacks is `unsupported`. Vectors of
    /// different sets differ in their last bits: name one where machines share an index and the bits must be equal.
    std::optional<InstructionSet> instruction_set = std::nullopt;
};

/// How texts are encoded, beside what is asked for.
struct EncodeOptions {
    /// The name of a prompt of `Model::prompts()` to put before every text; empty: the folder's default, if it names
    /// one. The reference gives every model the prompts `query` and `document`, which are empty unless the folder says
    /// otherwise.
    std::string_view prompt = {};
    /// What happens to texts longer than `Model::max_sequence_length()`.
    Truncate truncate = Truncate::cut;
    /// Columns of the embeddings; 0: the model's. Fewer cut each vector, and where it is normalised, it is after the
    /// cut: for models that were trained so that the first columns serve alone.
    std::size_t dimensions = 0;
    /// The most tokens that a call computes at once, on all threads together; 0: no such limit. A larger batch is
    /// computed in parts, into the same arena and with the same bits; a text that is larger by itself counts as too
    /// long, as `truncate` says.
    std::size_t tokens_per_call = 0;
    /// Of embeddings and token vectors.
    Normalize normalize = Normalize::as_published;
    Role role = Role::document;
    /// A call stops with `cancelled` soon after this becomes true. Must live until the call has returned.
    std::atomic<bool> const *cancel = nullptr;
};

/// How texts, or pairs of texts, are classified.
struct ClassifyOptions {
    /// What happens to texts longer than `Model::max_sequence_length()`. Of a pair the longer is cut first.
    Truncate truncate = Truncate::cut;
    Activation activation = Activation::as_published;
    /// As `EncodeOptions::cancel`.
    std::atomic<bool> const *cancel = nullptr;
    /// As `EncodeOptions::tokens_per_call`.
    std::size_t tokens_per_call = 0;
};

/// How pairs of a query and a document are scored.
using RerankOptions = ClassifyOptions;

} // namespace uform

#endif // UFORM_OPTIONS_HPP
