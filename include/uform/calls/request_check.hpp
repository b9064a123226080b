/// What of a request can be refused before anything is computed.
#ifndef UFORM_CALLS_REQUEST_CHECK_HPP
#define UFORM_CALLS_REQUEST_CHECK_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "uform/architecture.hpp"
#include "uform/arena.hpp"
#include "uform/calls/parts.hpp"
#include "uform/calls/request.hpp"
#include "uform/calls/texts.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/placement.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"

namespace uform {

[[nodiscard]] inline Result<void> check_outputs(EncodingParts const &parts, CallRequest const &request) noexcept {
    Outputs all{};
    for (Outputs const one : every_output_k) all |= one;
    Outputs const given = parts.outputs();
    if (request.outputs == Outputs{}) return Error::fixed(Status::invalid_argument, "outputs: none was asked for");
    if (!contains(all, request.outputs))
        return Error::of(Status::invalid_argument, "outputs: ", static_cast<std::uint32_t>(request.outputs),
                         " names an unknown one");
    for (Outputs const one : every_output_k)
        if (request.asks(one) && !contains(given, one))
            return Error::of(Status::unsupported, "outputs: the model gives ", parts.output_names, ", not ",
                             outputs_name(one));
    if (request.is_pairs && parts.configuration.classifier->per_token)
        return Error::of(Status::unsupported, request.verb == Verb::rerank ? "text_rerank" : "pairs",
                         ": the model labels the tokens of single texts");
    if (request.verb == Verb::rerank && parts.classifier->outputs() != 1)
        return Error::of(Status::unsupported, "text_rerank: the model has ", parts.classifier->outputs(),
                         " labels, and a reranker has one");
    return {};
}

/// Bits make sense of what is compared by direction alone; integers of 127 steps of nothing else either.
[[nodiscard]] inline Result<void> check_scalar(CallRequest const &request) noexcept {
    Scalar const scalar = request.scalar;
    bool const is_float = scalar == Scalar::f32 || scalar == Scalar::f16 || scalar == Scalar::bf16;
    if (!is_float && scalar != Scalar::i8 && scalar != Scalar::b1)
        return Error::of(Status::unsupported, "scalar: ", scalar_name(scalar),
                         " isn't written by a verb; f32, f16, bf16, i8 and b1 are");
    for (Outputs const one : {Outputs::probabilities, Outputs::sparse})
        if (!is_float && request.asks(one))
            return Error::of(Status::unsupported, "scalar: ", outputs_name(one),
                             " are written as f32, f16 or bf16, not ", scalar_name(scalar));
    return {};
}

[[nodiscard]] inline Result<void> check_options(EncodingParts const &parts, CallRequest const &request) noexcept {
    EncodeOptions const &options = request.options;
    if (options.dimensions > parts.dimensions() && request.asks(Outputs::embeddings))
        return Error::of(Status::invalid_argument, "options.dimensions: ", options.dimensions,
                         " columns, and the model's embeddings have ", parts.dimensions());
    if (options.dimensions && !request.asks(Outputs::embeddings))
        return Error::fixed(Status::invalid_argument, "options.dimensions: cuts embeddings, which weren't asked for");
    if (options.truncate > Truncate::refuse || options.normalize > Normalize::off || options.role > Role::query ||
        request.activation > Activation::softmax)
        return Error::fixed(Status::invalid_argument,
                            "options: truncate, normalize, role or activation holds a value that none has");
    if (parts.late && options.role == Role::query && options.tokens_per_call &&
        options.tokens_per_call < parts.late->expanded)
        return Error::of(Status::invalid_argument, "options.tokens_per_call: ", options.tokens_per_call,
                         " allowed, and queries are filled to ", parts.late->expanded, " special and other tokens");
    std::size_t const special =
        request.is_pairs ? parts.tokenizer.pair_special_tokens_count() : parts.tokenizer.special_tokens_count();
    if (std::size_t const longest = CallTexts::longest(parts, request); longest < special)
        return Error::of(Status::invalid_argument,
                         options.tokens_per_call == longest ? "options.tokens_per_call: "
                         : request.is_pairs                 ? "pairs: "
                                                            : "texts: ",
                         longest, " allowed, and ", special, " special tokens are needed");
    if (!request.is_matched())
        return Error::of(Status::invalid_argument, "pairs: ", request.texts.size(), " first texts and ",
                         request.second.size(), " second ones; as many are wanted, or one first text for all");
    if (request.asks(Outputs::sparse) && request.size() > UINT32_MAX / parts.vocabulary->outputs())
        return Error::of(Status::out_of_memory, "sparse: ", request.size(), " texts; a call takes at most ",
                         UINT32_MAX / parts.vocabulary->outputs());
    return {};
}

/// Checks all arguments but the tapes' memory. Errors: as the verbs of `BoundModel`.
[[nodiscard]] inline Result<void> check_request(EncodingParts const &parts, CallRequest const &request) noexcept {
    if (auto checked = check_outputs(parts, request); !checked) return checked;
    if (auto checked = check_scalar(request); !checked) return checked;
    return check_options(parts, request);
}

/// The text of the prompt that a request names, or of the folder's default; pairs have none.
/// Errors: `invalid_argument` for a name that isn't there, with those that are.
[[nodiscard]] inline Result<std::string_view> find_prompt(EncodingParts const &parts,
                                                          CallRequest const &request) noexcept {
    FolderConfiguration const &folder = parts.configuration;
    std::string_view name = request.options.prompt;
    bool const by_default = request.verb == Verb::encode && !parts.late; // whose roles have prompts of their own
    if (name.empty() && by_default && folder.default_prompt_name) name = *folder.default_prompt_name;
    if (name.empty()) return std::string_view();
    bool const is_query = request.options.role == Role::query;
    if (parts.late && name == (is_query ? "document" : "query"))
        return Error::of(Status::invalid_argument, "options.prompt: \"", name,
                         "\" is for the other role; this model has "
                         "its prompts by options.role, Role::query or Role::document");
    if (auto const text = find_prompt(folder.prompts, name)) return *text;
    return Error::of(Status::invalid_argument, "options.prompt: the model has no prompt named \"", name,
                     folder.prompts.empty() ? "\"; it has none" : "\"; it has ", parts.prompt_names);
}

/// What the scores of a request go through.
[[nodiscard]] inline ScoreActivation score_activation(ClassifierConfiguration const &classifier,
                                                      CallRequest const &request) noexcept {
    switch (request.activation) {
    case Activation::none: return ScoreActivation::none;
    case Activation::sigmoid: return ScoreActivation::sigmoid;
    case Activation::softmax: return ScoreActivation::softmax;
    case Activation::as_published: break;
    }
    return request.verb == Verb::rerank ? classifier.rerank : classifier.classify;
}

/// Refuses a tape that the call can't read, or would overwrite.
[[nodiscard]] inline Result<void> check_tape(TapeView tape, Draft<Ram> const &draft) noexcept {
    auto const offsets = tape.offset_bytes();
    if (draft.holds(tape.data(), tape.size_bytes()) || draft.holds(offsets.data(), offsets.size()))
        return Error::fixed(Status::invalid_argument, "the tape lies in the arena that the call would rewind");
    for (void const *const input : {static_cast<void const *>(tape.data()), static_cast<void const *>(offsets.data())})
        if (input && !classify(input).host_accessible)
            return Error::fixed(Status::device,
                                "the tape lies in a device's memory, and the call computes on the host");
    return {};
}

} // namespace uform

#endif // UFORM_CALLS_REQUEST_CHECK_HPP
