/// What a tokenizer is made of, as the readers of its files hand it over.
#ifndef UFORM_TEXT_TOKENIZER_PARTS_HPP
#define UFORM_TEXT_TOKENIZER_PARTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/json.hpp"
#include "uform/status.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/bert_normalizer.hpp"
#include "uform/text/vocabulary.hpp"
#include "uform/text/wordpiece.hpp"

namespace uform {

/// Owns all that it points at.
struct TokenizerParts {
    BertNormalizer::Flags normalizer;
    bool has_lowercase_step = false; ///< a normaliser of the type Lowercase stands beside BERT's
    WordPiece model;
    std::vector<AddedToken> added;            ///< each name once
    std::vector<std::uint32_t> before, after; ///< the special tokens around one text
    std::size_t vocabulary_size = 0;          ///< the greatest id + 1
    std::vector<std::string> warnings;
};

/// A string that an object must have.
[[nodiscard]] inline Result<std::string_view> json_string(JsonValue object, std::string_view key,
                                                          std::string_view file) {
    if (auto const value = object.find(key).string()) return *value;
    return Error::of(Status::corrupt, file, ": '", key, "' is ", json_kind_name(object.find(key).kind()),
                     ", not a string");
}

/// A boolean that an object must have.
[[nodiscard]] inline Result<bool> json_boolean(JsonValue object, std::string_view key, std::string_view file) {
    if (auto const value = object.find(key).boolean()) return *value;
    return Error::of(Status::corrupt, file, ": '", key, "' is ", json_kind_name(object.find(key).kind()),
                     ", not a boolean");
}

/// A boolean that an object may have, or `null`.
[[nodiscard]] inline Result<bool> json_boolean_or(JsonValue object, std::string_view key, bool otherwise,
                                                  std::string_view file) {
    JsonValue const value = object.find(key);
    if (!value || value.is(JsonKind::null)) return otherwise;
    return json_boolean(object, key, file);
}

/// An id. Errors: `corrupt` if it is none, `unsupported` if it is above `greatest_id_k`.
[[nodiscard]] inline Result<std::uint32_t> json_id(JsonValue value, std::string_view what, std::string_view file) {
    auto const id = value.natural();
    if (!id) return Error::of(Status::corrupt, file, ": the id of '", what, "' is no number from 0 on");
    if (*id > greatest_id_k)
        return Error::of(Status::unsupported, file, ": the id ", *id, " of '", what, "' is above ", greatest_id_k);
    return static_cast<std::uint32_t>(*id);
}

/// Builds the model and the greatest id, once the added tokens and the special tokens are in the parts.
///
/// Errors  `corrupt` without the unknown token; `unsupported` for a vocabulary past the limits of `Trie`.
[[nodiscard]] inline Result<void> finish_parts(TokenizerParts &parts, Vocabulary const &vocabulary,
                                               std::string_view prefix, std::string_view unknown,
                                               std::size_t most_code_points, std::string_view file) {
    auto const unknown_id = vocabulary.find(unknown);
    if (!unknown_id)
        return Error::of(Status::corrupt, file, ": the unknown token '", unknown, "' is not in the vocabulary");
    std::size_t size = 0;
    auto const take = [&](std::uint32_t id) { size = id < size ? size : std::size_t{id} + 1; };
    for (Trie::Entry const &entry : vocabulary.entries()) take(entry.value);
    for (AddedToken const &token : parts.added) take(token.id);
    for (std::vector<std::uint32_t> const *ids : {&parts.before, &parts.after})
        for (std::uint32_t id : *ids) take(id);
    parts.vocabulary_size = size;
    if (!parts.model.build(vocabulary.entries(), prefix, *unknown_id, most_code_points))
        return Error::of(Status::unsupported, file, ": the vocabulary is too large");
    return {};
}

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_PARTS_HPP
