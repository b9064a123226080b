/// Loads what stands behind a model's encoder: classifiers, vocabulary heads, the projections of late interaction.
#ifndef UFORM_CALLS_LOAD_HEADS_HPP
#define UFORM_CALLS_LOAD_HEADS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "uform/architecture.hpp"
#include "uform/calls/parts.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/config.hpp"
#include "uform/encoder/head.hpp"
#include "uform/encoder/projection.hpp"
#include "uform/kernels/instruction_set.hpp"
#include "uform/sort.hpp"
#include "uform/status.hpp"

namespace uform {

/// Loads the projections and looks up the tokens of late interaction.
///
/// Errors  of `Projection::load`; `corrupt` where the token that queries are filled with isn't in the vocabulary.
[[nodiscard]] UFORM_COLD inline Result<LateInteraction>
load_late_interaction(EncodingParts const &parts, Checkpoint const &checkpoint, InstructionSet set) {
    LateInteractionConfiguration const &asked = *parts.configuration.late_interaction;
    std::string const &place = parts.configuration.transformer_folder;
    LateInteraction late;
    std::size_t inputs = parts.configuration.encoder.hidden_size;
    for (TokenProjection const &one : asked.projections) {
        auto const load = [&](Checkpoint const &from) {
            return Projection::load(from, one.name, inputs, one.columns, one.has_bias, one.activation, set, one.folder);
        };
        auto projection = one.folder == place ? load(checkpoint) : Checkpoint::open(one.folder).and_then(load);
        if (!projection) return projection.error();
        late.projections.push_back(*std::move(projection));
        inputs = one.columns;
    }
    late.query = {asked.query.prompt, asked.query.length};
    late.document = {asked.document.prompt, asked.document.length};
    if (asked.expansion_length) {
        auto const id = parts.tokenizer.id(asked.expansion_token);
        if (!id)
            return Error::of(Status::corrupt, place, ": queries are filled with ", asked.expansion_token,
                             ", which the vocabulary hasn't");
        late.expansion_id = *id, late.expanded = asked.expansion_length;
    }
    late.attends_to_expansion = asked.attends_to_expansion, late.normalizes = asked.normalizes;
    for (std::string const &word : asked.skipped_words)
        if (auto const id = parts.tokenizer.id(word)) late.skipped.push_back(*id);
    heap_sort(late.skipped.data(), late.skipped.size(), [](auto a, auto b) noexcept { return a < b; });
    return late;
}

/// Fills in the parts that the folder's configuration names.
///
/// Errors  of `Head::load` and `load_late_interaction`.
[[nodiscard]] UFORM_COLD inline Result<void> load_heads(EncodingParts &parts, Checkpoint const &checkpoint,
                                                        InstructionSet set) {
    FolderConfiguration const &folder = parts.configuration;
    std::string const &place = folder.transformer_folder;
    if (folder.classifier) {
        auto const kind = folder.classifier->per_token ? HeadKind::token_classifier : HeadKind::classifier;
        auto head = Head::load(kind, folder.encoder, folder.classifier->labels.size(), checkpoint, set, place);
        if (!head) return head.error();
        parts.classifier.emplace(*std::move(head));
    }
    if (folder.sparse) {
        auto head = Head::load(HeadKind::masked_language, folder.encoder, folder.encoder.vocabulary_size, checkpoint,
                               set, place);
        if (!head) return head.error();
        parts.vocabulary.emplace(*std::move(head));
    }
    if (folder.late_interaction) {
        auto late = load_late_interaction(parts, checkpoint, set);
        if (!late) return late.error();
        parts.late.emplace(*std::move(late));
    }
    return {};
}

} // namespace uform

#endif // UFORM_CALLS_LOAD_HEADS_HPP
