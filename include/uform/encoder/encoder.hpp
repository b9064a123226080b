/// The encoder of any architecture that is served: one choice a call, none inside it.
#ifndef UFORM_ENCODER_ENCODER_HPP
#define UFORM_ENCODER_ENCODER_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "uform/architecture.hpp"
#include "uform/checkpoint/encoder_configuration.hpp"
#include "uform/config.hpp"
#include "uform/encoder/bert.hpp"
#include "uform/encoder/bert_shape.hpp"
#include "uform/encoder/distilbert.hpp"
#include "uform/encoder/modernbert.hpp"
#include "uform/encoder/mpnet.hpp"
#include "uform/encoder/nomic_bert.hpp"
#include "uform/encoder/roberta.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/kernels/instruction_set.hpp"
#include "uform/status.hpp"

namespace uform {

/// An encoder with its weights packed for one instruction set. Move-only; memory, threads and the order of sums are
/// those of `BertEncoder`.
class Encoder {
    std::optional<BertEncoder> bert_; // one of the two
    std::optional<ModernBertEncoder> modernbert_;

    explicit Encoder(BertEncoder &&encoder) noexcept : bert_(std::move(encoder)) {}
    explicit Encoder(ModernBertEncoder &&encoder) noexcept : modernbert_(std::move(encoder)) {}

    /// BERT's shape of any family but ModernBERT's.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static BertShape shape_of(EncoderConfiguration const &configuration, std::size_t longest,
                                                       Source const &source) noexcept {
        switch (configuration.architecture) {
        case Architecture::distilbert: return distilbert_shape(configuration, longest);
        case Architecture::roberta: return roberta_shape(configuration, longest);
        case Architecture::mpnet: return mpnet_shape(configuration, longest);
        case Architecture::nomic_bert: return nomic_bert_shape(configuration, longest, source);
        case Architecture::bert:
        case Architecture::modernbert: break;
        }
        return bert_shape(configuration, longest);
    }

  public:
    /// Loads the weights for texts of at most `longest` tokens and an instruction set that this machine has.
    ///
    /// `place` is what messages name where a tensor's file can't be.
    /// Errors  as `BertWeights::load`.
    /// Memory  reads all tensors, the embeddings too: after it the mapping's pages may be dropped.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static Result<Encoder> load(EncoderConfiguration const &configuration, std::size_t longest,
                                                         Source const &source, InstructionSet set,
                                                         std::string_view place) noexcept {
        if (configuration.architecture == Architecture::modernbert) {
            auto encoder = ModernBertEncoder::load(configuration, longest, source, set, place);
            if (!encoder) return encoder.error();
            return Encoder(*std::move(encoder));
        }
        auto encoder = BertEncoder::load(shape_of(configuration, longest, source), source, set, place);
        if (!encoder) return encoder.error();
        return Encoder(*std::move(encoder));
    }

    [[nodiscard]] InstructionSet instruction_set() const noexcept {
        return bert_ ? bert_->instruction_set() : modernbert_->instruction_set();
    }
    /// As `BertEncoder::workspace_bytes`.
    [[nodiscard]] std::size_t workspace_bytes(std::size_t tokens, std::size_t longest_text) const noexcept {
        return bert_ ? bert_->workspace_bytes(tokens, longest_text)
                     : modernbert_->workspace_bytes(tokens, longest_text);
    }
    /// As `BertEncoder::forward`; families without segments don't look at those given.
    void forward(std::span<std::uint32_t const> ids, std::span<std::uint32_t const> offsets, float *states,
                 std::span<std::byte> workspace, std::span<std::uint8_t const> segments = {},
                 std::span<std::uint32_t const> attended = {}) const noexcept {
        if (bert_) bert_->forward(ids, offsets, states, workspace, segments, attended);
        else modernbert_->forward(ids, offsets, states, workspace, segments, attended);
    }
};

} // namespace uform

#endif // UFORM_ENCODER_ENCODER_HPP
