/// What a verb was asked for, in one shape for all of them.
#ifndef UFORM_CALLS_REQUEST_HPP
#define UFORM_CALLS_REQUEST_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/scalar.hpp"
#include "uform/tape.hpp"

namespace uform {

enum class Verb : std::uint8_t { encode, classify, rerank };

/// One call's input and options. Owns nothing.
struct CallRequest {
    Verb verb = Verb::encode;
    bool is_pairs = false;
    TapeView texts, second; ///< of pairs: the first texts, one for all or one each, and the second ones
    Outputs outputs{};
    Scalar scalar = Scalar::f32;
    EncodeOptions options;
    Activation activation = Activation::as_published;

    [[nodiscard]] static CallRequest encode(TapeView texts, Outputs outputs, Scalar scalar,
                                            EncodeOptions const &options) noexcept {
        CallRequest request;
        request.texts = texts, request.outputs = outputs, request.scalar = scalar, request.options = options;
        return request;
    }
    [[nodiscard]] static CallRequest classify(TapeView texts, Scalar scalar, ClassifyOptions const &options) noexcept {
        CallRequest request = encode(
            texts, Outputs::probabilities, scalar,
            {.truncate = options.truncate, .tokens_per_call = options.tokens_per_call, .cancel = options.cancel});
        request.verb = Verb::classify, request.activation = options.activation;
        return request;
    }
    [[nodiscard]] static CallRequest classify(TapeView first, TapeView second, Scalar scalar,
                                              ClassifyOptions const &options) noexcept {
        CallRequest request = classify(first, scalar, options);
        request.second = second, request.is_pairs = true;
        return request;
    }
    [[nodiscard]] static CallRequest rerank(TapeView queries, TapeView documents, Scalar scalar,
                                            RerankOptions const &options) noexcept {
        CallRequest request = classify(queries, documents, scalar, options);
        request.verb = Verb::rerank;
        return request;
    }

    [[nodiscard]] bool asks(Outputs one) const noexcept { return contains(outputs, one); }
    /// Texts, or pairs.
    [[nodiscard]] std::size_t size() const noexcept { return is_pairs ? second.size() : texts.size(); }
    /// The text of a number, or the first of a pair.
    [[nodiscard]] std::string_view first_text(std::size_t i) const noexcept {
        return texts[is_pairs && texts.size() == 1 ? 0 : i];
    }
    /// Whether there are as many first texts as second ones, or one.
    [[nodiscard]] bool is_matched() const noexcept {
        return !is_pairs || texts.size() == 1 || texts.size() == second.size();
    }
};

} // namespace uform

#endif // UFORM_CALLS_REQUEST_HPP
