/// What sentence-transformers stores of a whole model: its kind, prompts, the similarity, and what PyLate put there.
#ifndef UFORM_CHECKPOINT_SENTENCE_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_SENTENCE_CONFIGURATION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/architecture.hpp"
#include "uform/checkpoint/classifier_configuration.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/lengths.hpp"
#include "uform/checkpoint/modules.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"

namespace uform {

/// How two of a model's vectors, or sets of vectors, are meant to be compared. They are the same whatever it says.
enum class Similarity : std::uint8_t {
    cosine,
    dot,
    euclidean,
    manhattan,
    max_sim,      ///< for each vector of a query the largest dot product with one of the document's, summed
    mean_max_sim, ///< that, over the number of the query's vectors
};

/// Names with their texts, in the order of the file.
struct Prompt {
    std::string name, text;
    [[nodiscard]] bool operator==(Prompt const &) const = default;
};
using Prompts = List<Prompt>;

/// The two that the reference gives every model but a cross-encoder.
[[nodiscard]] UFORM_COLD inline Prompts usual_prompts() { return {{"query", ""}, {"document", ""}}; }

/// What is said there of late interaction: all of it by PyLate, which knew no prompts and had no module for skipping.
struct LateInteractionSettings {
    RoleLengths roles;
    std::string query_prefix, document_prefix; ///< the prompts begin with them
    std::optional<std::vector<std::string>> skipped_words;
};

/// What `config_sentence_transformers.json` says of the whole model.
struct SentenceConfiguration {
    FolderKind kind = FolderKind::embeddings;
    Prompts prompts = usual_prompts();
    std::optional<std::string> default_prompt_name;
    Similarity similarity = Similarity::cosine;
    std::optional<ScoreActivation> activation; ///< of a cross-encoder
    LateInteractionSettings late;              ///< of late interaction
};

/// The text of a prompt; nothing if none has the name.
[[nodiscard]] UFORM_COLD inline std::optional<std::string_view> find_prompt(Prompts const &prompts,
                                                                            std::string_view name) noexcept {
    for (auto const &[one, text] : prompts)
        if (one == name) return std::string_view(text);
    return std::nullopt;
}
UFORM_COLD inline void set_prompt(Prompts &prompts, std::string_view name, std::string text) {
    for (auto &[one, known] : prompts)
        if (one == name) return void(known = std::move(text));
    prompts.push_back({std::string(name), std::move(text)});
}

/// The most prompts that a file may name: each is compared with those before it.
inline constexpr std::size_t most_prompts_k = 10'000;

/// Reads the kind of a folder.
[[nodiscard]] UFORM_COLD inline FolderKind read_folder_kind(Fields &fields) {
    constexpr FolderKind kinds[] = {FolderKind::embeddings, FolderKind::cross_encoder, FolderKind::sparse,
                                    FolderKind::late_interaction, FolderKind::pylate};
    auto const name = fields.text("model_type", folder_kind_name(FolderKind::embeddings));
    std::string served;
    for (FolderKind const kind : kinds) {
        if (name == folder_kind_name(kind)) return kind;
        served += joined(served.empty() ? "\"" : ", \"", folder_kind_name(kind), "\"");
    }
    fields.refuse(Status::unsupported, "model_type", " is ", shown(fields.find("model_type")), "; ", served,
                  " are served");
    return FolderKind::embeddings;
}

UFORM_COLD inline void read_prompts(Fields &fields, SentenceConfiguration &configuration) {
    JsonValue const prompts = fields.find("prompts");
    if (prompts && !prompts.is(JsonKind::object)) fields.refuse_type("prompts", "an object");
    if (prompts.size() > most_prompts_k)
        fields.refuse(Status::unsupported, "prompts", ": ", prompts.size(), " of them; at most ", most_prompts_k,
                      " are served");
    if (configuration.kind == FolderKind::cross_encoder) configuration.prompts.clear();
    for (std::size_t i = 0; i != prompts.size() && !fields.error(); ++i) {
        auto const name = prompts.key(i);
        if (!prompts[i].is(JsonKind::string) && !prompts[i].is(JsonKind::null))
            fields.refuse(Status::corrupt, "prompts", ": ", name, " is ", shown(prompts[i]), ", not a string");
        set_prompt(configuration.prompts, name, std::string(prompts[i].string().value_or(std::string_view())));
    }
    if (fields.is_absent("default_prompt_name")) return;
    configuration.default_prompt_name = fields.text("default_prompt_name", {});
    if (!find_prompt(configuration.prompts, *configuration.default_prompt_name))
        fields.refuse_type("default_prompt_name", "a name among the prompts");
}

/// Reads the similarity. In late interaction, another than its own two is the first of them, as in the reference.
UFORM_COLD inline void read_similarity(Fields &fields, SentenceConfiguration &configuration,
                                       std::vector<std::string> &warnings) {
    constexpr std::string_view key = "similarity_fn_name",
                               names[] = {"cosine", "dot", "euclidean", "manhattan", "maxsim", "meanmaxsim"};
    constexpr auto first_late = static_cast<std::size_t>(Similarity::max_sim);
    bool const is_late = configuration.kind == FolderKind::late_interaction || configuration.kind == FolderKind::pylate;
    configuration.similarity = is_late                                    ? Similarity::max_sim
                               : configuration.kind == FolderKind::sparse ? Similarity::dot
                                                                          : Similarity::cosine;
    if (fields.is_absent(key)) return;
    auto const name = fields.text(key, {});
    for (std::size_t i = is_late ? first_late : 0; i != (is_late ? std::size(names) : first_late); ++i)
        if (names[i] == name) return void(configuration.similarity = static_cast<Similarity>(i));
    if (!is_late)
        warnings.push_back(joined(fields.path(), ": similarity_fn_name is ", shown(fields.find(key)),
                                  ", which is none of one vector a text; ",
                                  names[static_cast<std::size_t>(configuration.similarity)], " stands in its place"));
}

/// Reads an array of strings; nothing if the key is absent or `null`.
[[nodiscard]] UFORM_COLD inline std::optional<std::vector<std::string>> read_words(Fields &fields,
                                                                                   std::string_view key) {
    if (fields.is_absent(key)) return std::nullopt;
    JsonValue const list = fields.find(key);
    std::vector<std::string> words;
    if (!list.is(JsonKind::array)) fields.refuse_type(key, "an array of strings");
    else
        for (std::size_t i = 0; i != list.size(); ++i) {
            auto const word = list[i].string();
            if (!word) fields.refuse(Status::corrupt, key, ": ", shown(list[i]), " isn't a string");
            words.push_back(std::string(word.value_or(std::string_view())));
        }
    return words;
}

/// Reads what PyLate says of queries and documents. A prefix comes before the prompt of the same name, which it may
/// begin with already. Where any of the keys is there, queries are expanded unless it is denied.
///
/// Source  sentence-transformers 6.2, `MultiVectorEncoder._parse_model_config`.
UFORM_COLD inline void read_late_interaction_settings(Fields &fields, SentenceConfiguration &configuration) {
    LateInteractionSettings &late = configuration.late;
    for (bool const query : {true, false}) {
        std::string_view const key = query ? "query_prefix" : "document_prefix", name = query ? "query" : "document";
        if (!fields.find(key)) continue;
        auto &prefix = query ? late.query_prefix : late.document_prefix;
        if (!fields.is_absent(key)) prefix = fields.text(key, {});
        std::string_view saved = find_prompt(configuration.prompts, name).value_or(std::string_view());
        if (saved.starts_with(prefix)) saved.remove_prefix(prefix.size());
        set_prompt(configuration.prompts, name, joined(prefix, saved));
    }
    late.skipped_words = read_words(fields, "skiplist_words");
    late.roles.query = read_length(fields, "query_length");
    late.roles.document = read_length(fields, "document_length");
    bool is_pylate = false;
    for (std::string_view const key :
         {"query_length", "document_length", "do_query_expansion", "attend_to_expansion_tokens",
          "attend_to_mask_tokens", "query_prefix", "document_prefix", "skiplist_words"})
        is_pylate |= static_cast<bool>(fields.find(key));
    if (fields.find("query_expansion")) {
        if (!fields.is_absent("query_expansion")) late.roles.expansion = read_query_expansion(fields);
        return;
    }
    bool const expands = fields.is_absent("do_query_expansion") || fields.boolean("do_query_expansion", true);
    if (!is_pylate || !expands) return;
    std::string_view const key =
        fields.find("attend_to_expansion_tokens") ? "attend_to_expansion_tokens" : "attend_to_mask_tokens";
    late.roles.expansion.emplace();
    late.roles.expansion->length = late.roles.query.value_or(late.roles.expansion->length);
    late.roles.expansion->attends = !fields.is_absent(key) && fields.boolean(key, false);
    late.roles.query.reset();
}

/// Reads a `config_sentence_transformers.json`. A key that it doesn't know makes a warning: the reference ignores it.
///
/// Errors  `io`; `corrupt`, also for a default prompt that isn't among the prompts; `unsupported` for another kind of
///         model, and for vectors that are to be cut (`truncate_dim`, `max_active_dims`).
/// Source  sentence-transformers 6.2, `_get_model_type` and `_parse_model_config` of each kind of model.
[[nodiscard]] UFORM_COLD inline Result<SentenceConfiguration>
read_sentence_configuration(std::string path, std::vector<std::string> &warnings) {
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    SentenceConfiguration configuration;
    FolderKind const kind = configuration.kind = read_folder_kind(fields);
    for (std::string_view const key : {"truncate_dim", "max_active_dims"})
        if (!fields.is_absent(key) && (key == "truncate_dim" || kind == FolderKind::sparse))
            fields.refuse(Status::unsupported, key, " is ", shown(fields.find(key)),
                          ": vectors that are cut aren't served");
    read_prompts(fields, configuration);
    read_similarity(fields, configuration, warnings);
    List<std::string_view> known = {"__version__", "requirements",        "model_type",        "truncate_dim",
                                    "prompts",     "default_prompt_name", "similarity_fn_name"};
    if (kind == FolderKind::cross_encoder) {
        configuration.activation = read_score_activation(fields, "activation_fn");
        known.append({"activation_fn", "keep_in_fp32_modules"}); // all is f32
    } else if (kind == FolderKind::sparse) {
        known.push_back("max_active_dims");
    } else if (kind != FolderKind::embeddings) {
        read_late_interaction_settings(fields, configuration);
        known.append({"query_length", "document_length", "query_expansion", "do_query_expansion",
                      "attend_to_expansion_tokens", "attend_to_mask_tokens", "query_prefix", "document_prefix",
                      "skiplist_words"});
    }
    if (fields.error()) return *fields.error();
    for (std::size_t i = 0; i != fields.object().size(); ++i) {
        auto const key = fields.object().key(i);
        bool is_known = false;
        for (std::string_view const one : known) is_known |= one == key;
        if (!is_known) warnings.push_back(joined(file->path, ": ", key, " isn't known, and is left alone"));
    }
    return configuration;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_SENTENCE_CONFIGURATION_HPP
