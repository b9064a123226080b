/// What a classifier's folder says of its labels, and of what its scores go through.
#ifndef UFORM_CHECKPOINT_CLASSIFIER_CONFIGURATION_HPP
#define UFORM_CHECKPOINT_CLASSIFIER_CONFIGURATION_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/architecture.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/torch_class.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/sort.hpp"
#include "uform/status.hpp"

namespace uform {

/// A network of labels: a `…ForSequenceClassification`, or a `…ForTokenClassification`.
struct ClassifierConfiguration {
    std::vector<std::string> labels; ///< by id, at least one: as many as the head must have outputs
    bool per_token = false;          ///< scores for each token, special ones too; else for each text or pair
    /// Of texts, and of tokens. Of texts: none where `problem_type` is "regression"; sigmoid where it is
    /// "multi_label_classification" or the label is the only one; else softmax. Of tokens always softmax.
    ScoreActivation classify = ScoreActivation::softmax;
    /// Of pairs: what the folder names as its activation, else sigmoid where the label is the only one, else none.
    ScoreActivation rerank = ScoreActivation::none;
};

/// The most labels that a folder may have.
inline constexpr std::size_t most_labels_k = 1'000'000;

/// Reads a class of torch that scores go through; nothing if the key is absent or `null`. The reference takes its
/// default in place of a class that isn't torch's: here that is refused.
[[nodiscard]] UFORM_COLD inline std::optional<ScoreActivation> read_score_activation(Fields &fields,
                                                                                     std::string_view key) {
    if (fields.is_absent(key)) return std::nullopt;
    auto const name = fields.text(key, {});
    constexpr std::pair<std::string_view, ScoreActivation> known[] = {{"Identity", ScoreActivation::none},
                                                                      {"Sigmoid", ScoreActivation::sigmoid},
                                                                      {"Softmax", ScoreActivation::softmax}};
    for (auto const &[spelling, activation] : known)
        if (torch_class(name) == spelling) return activation;
    fields.refuse(Status::unsupported, key, " is \"", name,
                  "\", which isn't served; Identity, Sigmoid and Softmax of torch.nn are");
    return std::nullopt;
}

/// Reads the labels by their ids, which must be all from 0 on. Without any they are LABEL_0, LABEL_1 …, as many as
/// `num_labels`, else two.
///
/// Where counts contradict each other, transformers warns and goes by `id2label`: here that is refused.
[[nodiscard]] UFORM_COLD inline std::vector<std::string> read_labels(Fields &fields) {
    std::vector<std::string> labels;
    JsonValue const names = fields.find("id2label");
    bool const is_counted = !fields.is_absent("num_labels"), is_named = !fields.is_absent("id2label");
    std::size_t const count = is_counted ? fields.count("num_labels", 2, most_labels_k) : is_named ? names.size() : 2;
    if (!is_named) {
        for (std::size_t id = 0; id != count; ++id) labels.push_back(joined("LABEL_", id));
    } else if (!names.is(JsonKind::object) || names.size() == 0 || names.size() > most_labels_k) {
        fields.refuse_type("id2label", joined("an object of 1 to ", most_labels_k, " labels"));
    } else if (names.size() != count) {
        fields.refuse(Status::corrupt, "num_labels", " is ", count, ", and id2label has ", names.size(), " labels");
    }
    if (fields.error() || !is_named) return labels;
    List<bool> is_there(count);
    labels.resize(count);
    for (std::size_t i = 0; i != count; ++i) {
        auto const key = names.key(i);
        std::size_t id = 0;
        for (char const digit : key)
            id = digit >= '0' && digit <= '9' && id < count ? id * 10 + static_cast<std::size_t>(digit - '0') : count;
        if (key.empty() || id >= count || is_there[id])
            fields.refuse(Status::corrupt, "id2label", ": \"", key, "\" isn't an id of its own from 0 to ", count - 1);
        else if (!names[i].is(JsonKind::string))
            fields.refuse(Status::corrupt, "id2label", ": ", key, " is ", shown(names[i]), ", not a string");
        else is_there[id] = true, labels[id] = *names[i].string();
        if (fields.error()) return labels;
    }
    return labels;
}

/// Refuses a `label2id` that has another number of labels than `id2label`, in which several ids may share a name.
UFORM_COLD inline void check_label_ids(Fields &fields, std::vector<std::string> const &labels) {
    if (fields.is_absent("label2id") || fields.error()) return;
    JsonValue const ids = fields.find("label2id");
    if (!ids.is(JsonKind::object)) return fields.refuse_type("label2id", "an object");
    List<std::string_view> distinct;
    for (std::string const &label : labels) distinct.push_back(label);
    heap_sort(distinct.data(), distinct.size(), [](auto const &a, auto const &b) noexcept { return a < b; });
    std::size_t count = 0;
    for (std::size_t i = 0; i != distinct.size(); ++i) count += i == 0 || distinct[i] != distinct[i - 1];
    if (ids.size() != count)
        fields.refuse(Status::corrupt, "label2id", " has ", ids.size(), " labels, and id2label ", count);
}

/// Reads what a `config.json` of a classifier says of its labels and activations.
///
/// Errors  `io`; `corrupt` for labels that contradict each other or leave gaps; `unsupported` for another
///         `problem_type` or activation. Each names the file, the key and the value.
/// Source  transformers 5.24, `PreTrainedConfig`, `TextClassificationPipeline.postprocess` and that of
///         `TokenClassificationPipeline`; sentence-transformers 6.2, `CrossEncoder.get_default_activation_fn`.
[[nodiscard]] UFORM_COLD inline Result<ClassifierConfiguration> read_classifier_configuration(std::string path,
                                                                                              bool per_token) {
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    ClassifierConfiguration classifier{.labels = read_labels(fields), .per_token = per_token};
    check_label_ids(fields, classifier.labels);
    bool const is_single = classifier.labels.size() == 1;
    auto const problem = fields.is_absent("problem_type") ? std::string_view() : fields.text("problem_type", {});
    if (!problem.empty() && problem != "regression" && problem != "multi_label_classification" &&
        problem != "single_label_classification")
        fields.refuse(Status::unsupported, "problem_type", " is \"", problem,
                      "\"; regression, single_label_classification and multi_label_classification are served");
    if (problem == "single_label_classification" && is_single)
        fields.refuse(Status::corrupt, "problem_type", " is \"", problem, "\", and there is one label");
    if (!per_token)
        classifier.classify = problem == "regression"                                ? ScoreActivation::none
                              : problem == "multi_label_classification" || is_single ? ScoreActivation::sigmoid
                                                                                     : ScoreActivation::softmax;

    classifier.rerank = is_single ? ScoreActivation::sigmoid : ScoreActivation::none;
    JsonValue const stored = fields.find("sentence_transformers");
    if (stored && !stored.is(JsonKind::object) && !stored.is(JsonKind::null))
        fields.refuse_type("sentence_transformers", "an object");
    Fields inner(file->path, stored, "sentence_transformers: ");
    auto const named = stored.find("activation_fn")
                           ? read_score_activation(inner, "activation_fn")
                           : read_score_activation(fields, "sbert_ce_default_activation_function");
    if (named) classifier.rerank = *named;
    if (inner.error()) fields.adopt(*inner.error());
    if (fields.error()) return *fields.error();
    return classifier;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_CLASSIFIER_CONFIGURATION_HPP
