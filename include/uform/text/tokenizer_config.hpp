/// Compares tokenizer.json with tokenizer_config.json beside it.
#ifndef UFORM_TEXT_TOKENIZER_CONFIG_HPP
#define UFORM_TEXT_TOKENIZER_CONFIG_HPP

#include <string>
#include <string_view>

#include "uform/config.hpp"
#include "uform/status.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/optional_json.hpp"
#include "uform/text/tokenizer_parts.hpp"

namespace uform {

/// Notes where tokenizer_config.json would make another tokenizer of the same vocabulary. transformers 5 builds BERT's
/// normaliser from it; this library follows tokenizer.json. Errors: as of reading the file.
[[nodiscard]] UFORM_COLD inline Result<void> compare_with_config(std::string const &folder, TokenizerParts &parts) {
    auto const config = OptionalJson::read(folder, "tokenizer_config.json");
    if (!config) return config.error();
    NormalizerStep const *const bert = parts.bert();
    if (!config->json || !bert) return {};
    JsonValue const root = config->json->root();
    auto const lowercase = json_boolean_or(root, "do_lower_case", true, config->path);
    if (!lowercase) return lowercase.error();
    auto const strip = json_boolean_or(root, "strip_accents", *lowercase, config->path);
    auto const spaced = json_boolean_or(root, "tokenize_chinese_chars", true, config->path);
    for (auto const *read : {&strip, &spaced})
        if (!*read) return read->error();
    auto const compare = [&](std::string_view key, bool there, bool here) {
        if (there != here)
            parts.warnings.push_back(joined(config->path, ": ", key, there ? " is true" : " is false",
                                            " here and not in tokenizer.json, which is followed"));
    };
    compare("do_lower_case", *lowercase, bert->bert.lowercase || parts.has_lowercase_step());
    compare("strip_accents", *strip, bert->bert.strip_accents);
    compare("tokenize_chinese_chars", *spaced, bert->bert.handle_chinese_chars);
    return {};
}

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_CONFIG_HPP
