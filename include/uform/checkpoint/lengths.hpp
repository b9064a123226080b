/// How many tokens a text may have, as files say it: of any text, of queries and of documents, and what fills queries.
#ifndef UFORM_CHECKPOINT_LENGTHS_HPP
#define UFORM_CHECKPOINT_LENGTHS_HPP

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "uform/checkpoint/fields.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// The largest length in tokens that a file may give; what is larger counts as this.
inline constexpr std::size_t most_tokens_k = 1'000'000'000;

/// A length in tokens, nothing if the key is absent or `null`. What says that there is no limit (1e30) is
/// `most_tokens_k`.
[[nodiscard]] UFORM_COLD inline std::optional<std::size_t> read_length(Fields &fields, std::string_view key) {
    if (fields.is_absent(key)) return {};
    auto const number = fields.find(key).number();
    if (number && *number > static_cast<double>(most_tokens_k)) return most_tokens_k;
    return fields.count(key, 1, most_tokens_k);
}

/// How queries are filled up.
struct QueryExpansion {
    std::size_t length = 32;          ///< in tokens, special ones included
    bool is_fixed = true;             ///< longer queries are cut to it
    bool attends = false;             ///< whether other tokens look at those that fill
    std::optional<std::string> token; ///< nothing: the tokenizer's mask token
};

/// What files say of queries and of documents apart.
struct RoleLengths {
    std::optional<std::size_t> query, document; ///< in tokens, special ones included; nothing: that of any text
    std::optional<QueryExpansion> expansion;
};

/// Reads a `query_expansion`, which isn't `null`.
///
/// Source  sentence-transformers 6.2, `_normalize_query_expansion`.
[[nodiscard]] inline QueryExpansion read_query_expansion(Fields &outer) {
    constexpr std::string_view key = "query_expansion";
    QueryExpansion expansion;
    JsonValue const object = outer.find(key);
    if (!object.is(JsonKind::object)) {
        outer.refuse_type(key, "an object");
        return expansion;
    }
    Fields fields(outer.path(), object, "query_expansion: ");
    fields.refuse_others({"strategy", "attend", "token", "length"}, ": an unknown key");
    auto const strategy = fields.find("strategy").string();
    expansion.is_fixed = strategy == "fixed";
    if (!expansion.is_fixed && strategy != "min")
        fields.refuse(Status::unsupported, "strategy", " is ", shown(fields.find("strategy")),
                      "; \"fixed\" and \"min\" are served");
    if (!fields.find("length")) fields.refuse(Status::corrupt, "length", " is missing");
    expansion.length = fields.count("length", 32, most_tokens_k);
    expansion.attends = fields.boolean("attend", false);
    if (!fields.is_absent("token")) expansion.token = fields.text("token", {});
    if (fields.error()) outer.adopt(*fields.error());
    return expansion;
}

/// Reads the lengths that the transformer's own file gives: each key that is there, `null` too, wins over what was said
/// before.
UFORM_COLD inline void read_role_lengths(Fields &fields, RoleLengths &roles) {
    if (fields.find("query_length")) roles.query = read_length(fields, "query_length");
    if (fields.find("document_length")) roles.document = read_length(fields, "document_length");
    if (!fields.find("query_expansion")) return;
    roles.expansion.reset();
    if (!fields.is_absent("query_expansion")) roles.expansion = read_query_expansion(fields);
}

} // namespace uform

#endif // UFORM_CHECKPOINT_LENGTHS_HPP
