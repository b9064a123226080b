/// The network behind the states, by which classifiers, rerankers and sparse encoders get their scores.
#ifndef UFORM_ENCODER_HEAD_HPP
#define UFORM_ENCODER_HEAD_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator> // std::size
#include <string_view>
#include <utility>

#include "uform/architecture.hpp"
#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/config.hpp"
#include "uform/encoder/weight_block.hpp"
#include "uform/encoder/weight_packer.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/kernels/activation.hpp"
#include "uform/kernels/kernels.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/status.hpp"

namespace uform {

/// How a family calls the tensors of a head, without `.weight` and `.bias`; an empty name is a step that isn't there.
struct HeadNames {
    std::string_view dense = {}, norm = {}, output = {};
    bool pooled = false; ///< the dense step is the encoder's own pooler, and has its prefix
    /// The tensor that is the output's bias in files that don't have `OUTPUT.bias`.
    std::string_view shared_bias = {};

    /// Those of a family's head.
    ///
    /// Source  the `…ForSequenceClassification`, `…ForTokenClassification` and `…ForMaskedLM` of transformers 5.24.
    [[nodiscard]] static constexpr HeadNames of(HeadKind kind, Architecture architecture) noexcept {
        bool const masked = kind == HeadKind::masked_language;
        if (architecture == Architecture::modernbert)
            return {.dense = "head.dense", .norm = "head.norm", .output = masked ? "decoder" : "classifier"};
        if (kind == HeadKind::token_classifier) return {.output = "classifier"};
        switch (architecture) {
        case Architecture::distilbert:
            if (masked) return {.dense = "vocab_transform", .norm = "vocab_layer_norm", .output = "vocab_projector"};
            return {.dense = "pre_classifier", .output = "classifier"};
        case Architecture::roberta:
        case Architecture::mpnet:
            if (masked)
                return {.dense = "lm_head.dense",
                        .norm = "lm_head.layer_norm",
                        .output = "lm_head.decoder",
                        .shared_bias = "lm_head.bias"};
            return {.dense = "classifier.dense", .output = "classifier.out_proj"};
        case Architecture::bert:
        case Architecture::nomic_bert:
        case Architecture::modernbert: break;
        }
        if (masked)
            return {.dense = "cls.predictions.transform.dense",
                    .norm = architecture == Architecture::bert ? "cls.predictions.transform.LayerNorm"
                                                               : "cls.predictions.transform.layer_norm",
                    .output = "cls.predictions.decoder",
                    .shared_bias = "cls.predictions.bias"};
        return {.dense = "pooler.dense", .output = "classifier", .pooled = true};
    }
};

/// A head: [dense → activation → [norm →]] output, with its weights packed for one instruction set. Move-only.
///
/// Memory  what its weights take, packed: for a masked-language head about as much as the table of words. The
///         checkpoint may go after loading. `apply` allocates nothing.
/// Threads any at once, each with a scratch of its own.
/// Order   a row's bits depend on that row alone.
/// Source  as `HeadNames::of`; the scores are what goes into a softmax or sigmoid.
class Head {
    Kernels const *kernels_ = nullptr;
    HeadInput input_ = HeadInput::first_token;
    HiddenActivation activation_ = HiddenActivation::tanh;
    float epsilon_ = 0;
    std::uint32_t hidden_ = 0;
    PackedLinear dense_, output_; // no dense step: of no outputs
    LayerNormWeights norm_;       // no norm: null
    WeightBlock block_;

    Head() noexcept = default;
    /// The prefix of the encoder's tensors, which a head's own don't have: that of the first of them that is found.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static std::string_view prefix_of(std::initializer_list<std::string_view> tensors,
                                                               Architecture architecture,
                                                               Source const &source) noexcept;
    /// The names of a head's tensors in one checkpoint; without `.weight` and `.bias` those of a dense step and a norm.
    struct Tensors {
        TensorName dense, norm, weights, bias, words; // an empty name is none
    };
    template <WeightSource Source>
    [[nodiscard]] static Tensors find(HeadKind kind, EncoderConfiguration const &configuration,
                                      Source const &source) noexcept;

    /// The table of words, which is the output's weights where a masked-language head has none of its own.
    [[nodiscard]] static constexpr std::string_view words(Architecture architecture) noexcept {
        return architecture == Architecture::modernbert ? "embeddings.tok_embeddings.weight"
                                                        : "embeddings.word_embeddings.weight";
    }

  public:
    /// Rows after which the scores of a vocabulary leave the caches: more at once gain nothing.
    static constexpr std::size_t most_rows_k = 32;

    Head(Head &&) noexcept = default;
    Head &operator=(Head &&) noexcept = default;

    /// Loads the weights of a head with `outputs` scores: as many as labels, or as words in the vocabulary.
    ///
    /// The last weights of a masked-language head may be stored, or be the table of words; its bias may be that of the
    /// last layer, or one beside it: what is stored with the last layer goes first, as in the reference. `place` is
    /// what messages name where no file can be named.
    /// Errors  of `BertWeights::load`; a number of labels that isn't the head's is `corrupt`.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static Result<Head> load(HeadKind kind, EncoderConfiguration const &configuration,
                                                      std::size_t outputs, Source const &source, InstructionSet set,
                                                      std::string_view place) noexcept;

    /// What of a text's states are the rows that it is given.
    [[nodiscard]] HeadInput input() const noexcept { return input_; }
    [[nodiscard]] std::size_t outputs() const noexcept { return output_.outputs; }
    /// Floats of scratch that `apply` needs for so many rows, a multiple of 16.
    [[nodiscard]] std::size_t scratch_floats(std::size_t rows) const noexcept {
        return dense_.outputs ? (rows * hidden_ + 15) / 16 * 16 : 0;
    }

    /// Computes the scores of some rows.
    ///
    /// Shapes  states   [rows, hidden]          f32, `stride` floats apart
    ///         scratch  [scratch_floats(rows)]  overwritten
    ///         scores   [rows, outputs]         f32, tight, overwritten
    /// Errors  none; the three may not overlap.
    void apply(float const *states, std::size_t stride, std::size_t rows, float *scratch, float *scores) const noexcept;
};

template <WeightSource Source>
std::string_view Head::prefix_of(std::initializer_list<std::string_view> tensors, Architecture architecture,
                                 Source const &source) noexcept {
    constexpr std::string_view prefixes[][3] = {{"", "bert."},  {"", "distilbert."}, {"", "roberta."},
                                                {"", "mpnet."}, {"", "model."},      {"", "nomic_bert.", "bert."}};
    static_assert(std::size(prefixes) == static_cast<std::size_t>(Architecture::nomic_bert) + 1); // in its order
    for (std::string_view const tensor : tensors)
        for (std::string_view const prefix : prefixes[static_cast<std::size_t>(architecture)])
            if (source.find(TensorName(prefix, tensor).text())) return prefix;
    return {};
}

template <WeightSource Source>
Head::Tensors Head::find(HeadKind kind, EncoderConfiguration const &configuration, Source const &source) noexcept {
    Architecture const architecture = configuration.architecture;
    auto const names = HeadNames::of(kind, architecture);
    auto const table = words(architecture);
    Tensors tensors = {TensorName(names.dense), TensorName(names.norm), TensorName(names.output, ".weight"),
                       TensorName(names.output, ".bias"), TensorName(prefix_of({table}, architecture, source), table)};
    if (names.pooled) {
        TensorName const pooler(names.dense, ".weight");
        tensors.dense = TensorName(prefix_of({pooler.text(), table}, architecture, source), names.dense);
    }
    if (kind != HeadKind::masked_language) return tensors;
    if (configuration.ties_words && !source.find(tensors.weights.text())) tensors.weights = tensors.words;
    if (!names.shared_bias.empty() && !source.find(tensors.bias.text())) tensors.bias = TensorName(names.shared_bias);
    if (architecture == Architecture::modernbert && !configuration.decoder_bias) tensors.bias = TensorName();
    return tensors;
}

template <WeightSource Source>
Result<Head> Head::load(HeadKind kind, EncoderConfiguration const &configuration, std::size_t outputs,
                        Source const &source, InstructionSet set, std::string_view place) noexcept {
    constexpr std::size_t most = std::size_t{1} << 24; // keeps every product below within 64 bits
    for (auto const &[count, what] :
         {std::pair{configuration.hidden_size, "hidden columns"}, std::pair{outputs, "scores"}})
        if (count == 0 || count > most)
            return Error::of(Status::corrupt, place, ": the configuration asks for ", count, " ", what);
    Head head;
    head.kernels_ = &kernels_for(set);
    head.hidden_ = static_cast<std::uint32_t>(configuration.hidden_size);
    head.input_ = kind == HeadKind::classifier ? configuration.classifier_input : HeadInput::each_token;
    head.activation_ =
        kind == HeadKind::masked_language ? configuration.masked_activation : configuration.classifier_activation;
    bool const named_nowhere = configuration.architecture == Architecture::distilbert; // its epsilon
    head.epsilon_ = static_cast<float>(named_nowhere ? 1e-12 : configuration.layer_norm_epsilon);
    Tensors const names = find(kind, configuration, source);
    Weights<Source> const weights(source, {""},
                                  source.find(names.weights.text()) ? names.weights.text() : names.words.text(), place);
    bool const modern = configuration.architecture == Architecture::modernbert; // whose biases are a choice
    auto block = WeightPacker<Source>(weights, *head.kernels_).pack([&](WeightPacker<Source> &packer) noexcept {
        if (!names.dense.text().empty())
            packer.linear(head.dense_, head.hidden_, {{names.dense, head.hidden_}}, !modern || configuration.head_bias);
        if (!names.norm.text().empty())
            packer.norm(head.norm_, head.hidden_, names.norm, !modern || configuration.norm_bias);
        packer.linear(head.output_, head.hidden_, static_cast<std::uint32_t>(outputs), names.weights, names.bias);
    });
    if (!block) return block.error();
    head.block_ = *std::move(block);
    return head;
}

UFORM_NEVER_INLINE inline void Head::apply(float const *states, std::size_t stride, std::size_t rows, float *scratch,
                                           float *scores) const noexcept {
    if (dense_.outputs) {
        bool const gelu = activation_ == HiddenActivation::gelu;
        apply_linear(*kernels_, dense_,
                     {.rows = rows,
                      .input = states,
                      .input_stride = stride,
                      .output = scratch,
                      .output_stride = hidden_,
                      .gelu = gelu});
        if (!gelu) activate(activation_, scratch, rows * hidden_);
        if (norm_.gain) kernels_->layer_norm(scratch, rows, hidden_, norm_.gain, norm_.bias, epsilon_, scratch);
        states = scratch, stride = hidden_;
    }
    apply_linear(
        *kernels_, output_,
        {.rows = rows, .input = states, .input_stride = stride, .output = scores, .output_stride = output_.outputs});
}

} // namespace uform

#endif // UFORM_ENCODER_HEAD_HPP
