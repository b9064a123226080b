/// The verbs, spelt once for all that serves them: a model, a model on an executor, and its deferred calls.
#ifndef UFORM_CALLS_VERBS_HPP
#define UFORM_CALLS_VERBS_HPP

#include <concepts>

#include "uform/arena.hpp"
#include "uform/calls/request.hpp"
#include "uform/config.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/residency.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"

namespace uform {

/// What `Server` answers through its `call(request, arena)`: an `Encoded<R>`, or a `Deferred` one.
///
/// Errors  `contended`: the arena serves another call, or a reader holds it. `invalid_argument`: no output, a prompt
///         that isn't there, a text too long where `Truncate::refuse` says so, options that can't be, tapes of unequal
///         counts, or a tape in the arena itself. `unsupported`: an output or scalar that this model or version can't
///         serve. `device`: a tape in a device's memory. `out_of_memory`. `cancelled`. After these the arena's previous
///         results are as they were, unless the call was cancelled while it computed. `corrupt`: results that aren't
///         numbers; the previous results are stale then.
/// Memory  grows the arena and the workspace to the largest call, then allocates nothing.
/// Order   a text's rows are the same bits alone, beside any other text and on any number of threads.
/// Scalars f32; f16 and bf16, rounded to nearest even; i8, 127 × the vector at unit length, rounded to nearest even;
///         b1, 1 where an element is above 0, the first element in the most significant bit. Rows are tight: those of
///         b1 fill whole bytes with zeros. i8 and b1 are of embeddings, states and token vectors alone.
template <class Server, AnyResidency R, class Answer> class Verbs {
    [[nodiscard]] Server const &server() const noexcept { return static_cast<Server const &>(*this); }

  public:
    /// Encodes each text of a tape into the arena.
    ///
    /// Shapes  embeddings [texts, dimensions]; states [tokens, hidden]; token vectors [tokens that count, dimensions];
    ///         probabilities as `text_classify`; sparse ids and weights [entries, 1]; all but the first with offsets
    ///         [texts + 1]; each only if asked for, all computed in one pass
    [[nodiscard]] Result<Answer>
    text_encode(TapeView texts, Outputs outputs, Scalar scalar, Arena<R> &arena UFORM_LIFETIMEBOUND,
                EncodeOptions const &options = {}) const noexcept requires std::same_as<R, Ram> {
        return server().call(CallRequest::encode(texts, outputs, scalar, options), arena);
    }
    Result<Answer> text_encode(TapeView, Outputs, Scalar, Arena<R> &&, EncodeOptions const & = {}) const =
        delete; // views of a temporary arena would be stale at once

    /// Gives the labels of each text their probabilities, or those of each token where the model labels tokens.
    ///
    /// Shapes  probabilities [texts, labels], or token probabilities [tokens, labels] with offsets [texts + 1]; the
    ///         labels are those of `Model::labels()`
    [[nodiscard]] Result<Answer>
    text_classify(TapeView texts, Scalar scalar, Arena<R> &arena UFORM_LIFETIMEBOUND,
                  ClassifyOptions const &options = {}) const noexcept requires std::same_as<R, Ram> {
        return server().call(CallRequest::classify(texts, scalar, options), arena);
    }
    Result<Answer> text_classify(TapeView, Scalar, Arena<R> &&, ClassifyOptions const & = {}) const =
        delete; // views of a temporary arena would be stale at once

    /// The same for pairs: the first text of each with the second, or one first text with every second one.
    ///
    /// Shapes  probabilities [pairs, labels]
    [[nodiscard]] Result<Answer>
    text_classify(TapeView first, TapeView second, Scalar scalar, Arena<R> &arena UFORM_LIFETIMEBOUND,
                  ClassifyOptions const &options = {}) const noexcept requires std::same_as<R, Ram> {
        return server().call(CallRequest::classify(first, second, scalar, options), arena);
    }
    Result<Answer> text_classify(TapeView, TapeView, Scalar, Arena<R> &&, ClassifyOptions const & = {}) const =
        delete; // views of a temporary arena would be stale at once

    /// Scores documents for a query each, or for one query.
    ///
    /// Shapes  probabilities [pairs, 1]: the larger, the better the document answers
    [[nodiscard]] Result<Answer>
    text_rerank(TapeView queries, TapeView documents, Scalar scalar, Arena<R> &arena UFORM_LIFETIMEBOUND,
                RerankOptions const &options = {}) const noexcept requires std::same_as<R, Ram> {
        return server().call(CallRequest::rerank(queries, documents, scalar, options), arena);
    }
    Result<Answer> text_rerank(TapeView, TapeView, Scalar, Arena<R> &&, RerankOptions const & = {}) const =
        delete; // views of a temporary arena would be stale at once
};

} // namespace uform

#endif // UFORM_CALLS_VERBS_HPP
