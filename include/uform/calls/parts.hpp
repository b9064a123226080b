/// The parts of a loaded model that calls read.
#ifndef UFORM_CALLS_PARTS_HPP
#define UFORM_CALLS_PARTS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/configuration.hpp"
#include "uform/config.hpp"
#include "uform/encoder/encoder.hpp"
#include "uform/encoder/head.hpp"
#include "uform/encoder/module_chain.hpp"
#include "uform/encoder/projection.hpp"
#include "uform/kernels/instruction_set.hpp"
#include "uform/list.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/sort.hpp"
#include "uform/status.hpp"
#include "uform/text/tokenizer.hpp"

namespace uform {

/// What late interaction does to the texts of one role.
struct RoleTexts {
    std::string prompt;      ///< put before the text
    std::size_t longest = 0; ///< tokens, special ones and the prompt's included
};

/// The part of a model that makes token vectors.
struct LateInteraction {
    List<Projection> projections; ///< one after the other, at least one
    RoleTexts query, document;
    std::uint32_t expansion_id = 0;
    std::size_t expanded = 0; ///< tokens to which queries are filled with `expansion_id`; 0: they aren't
    bool attends_to_expansion = false, normalizes = true;
    List<std::uint32_t> skipped; ///< ids that have no vectors in documents, sorted

    [[nodiscard]] std::size_t dimensions() const noexcept { return projections.back().outputs(); }
    /// Columns of the widest product.
    [[nodiscard]] std::size_t widest() const noexcept {
        std::size_t most = 0;
        for (Projection const &one : projections) most = one.outputs() > most ? one.outputs() : most;
        return most;
    }
    [[nodiscard]] RoleTexts const &of(Role role) const noexcept { return role == Role::query ? query : document; }
    /// Whether a token has a vector in the texts of a role.
    [[nodiscard]] bool keeps(Role role, std::uint32_t id) const noexcept { return role == Role::query || !skips(id); }
    [[nodiscard]] bool skips(std::uint32_t id) const noexcept {
        std::size_t const place =
            first_not_below(skipped.data(), skipped.size(), [=](std::uint32_t one) noexcept { return one < id; });
        return place != skipped.size() && skipped[place] == id;
    }
    /// Projects rows of states, `stride` floats apart, and answers where the vectors are: in one half of `scratch`,
    /// each of which holds `rows` of the widest.
    [[nodiscard]] float *apply(float const *states, std::size_t stride, std::size_t rows,
                               float *scratch) const noexcept {
        float *now = scratch, *other = scratch + rows * widest();
        for (Projection const &one : projections) {
            one.apply(states, stride, rows, now);
            states = now, stride = one.outputs();
            std::swap(now, other);
        }
        return other;
    }
};

/// All that an encoding call reads of a model.
struct EncodingParts {
    FolderConfiguration configuration;
    Tokenizer tokenizer;
    Encoder encoder;
    ModuleChain modules;            ///< after the pooling
    std::optional<Head> classifier; ///< what is there says which outputs the model gives
    std::optional<Head> vocabulary;
    std::optional<LateInteraction> late;
    std::string output_names, prompt_names; ///< for messages, which can't allocate

    [[nodiscard]] std::size_t dimensions() const noexcept { return configuration.dimensions(); }
    [[nodiscard]] Outputs outputs() const noexcept {
        Outputs given = Outputs::states;
        if (configuration.gives_embeddings) given |= Outputs::embeddings;
        if (late) given |= Outputs::token_vectors;
        if (classifier) given |= Outputs::probabilities;
        if (vocabulary) given |= Outputs::sparse;
        return given;
    }
    /// Spells the names once all parts are there.
    UFORM_COLD void spell_names() {
        auto const add = [](std::string &names, std::string_view name) {
            names += names.empty() ? "" : ", ", names += name;
        };
        for (Outputs const one : every_output_k)
            if (contains(outputs(), one)) add(output_names, outputs_name(one));
        for (auto const &[name, text] : configuration.prompts) add(prompt_names, name);
    }
};

} // namespace uform

#endif // UFORM_CALLS_PARTS_HPP
