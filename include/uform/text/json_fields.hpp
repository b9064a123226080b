/// Members of the JSON objects that tokenizers are read from: what a reader may expect, or an error that names them.
#ifndef UFORM_TEXT_JSON_FIELDS_HPP
#define UFORM_TEXT_JSON_FIELDS_HPP

#include <cstdint>
#include <string_view>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"
#include "uform/text/utf8.hpp"
#include "uform/text/vocabulary.hpp"

namespace uform {

/// Whether a member is missing, or `null`.
[[nodiscard]] inline bool json_absent(JsonValue value) noexcept { return !value || value.is(JsonKind::null); }

/// A string that an object must have.
[[nodiscard]] UFORM_COLD inline Result<std::string_view> json_string(JsonValue object, std::string_view key,
                                                                     std::string_view file) {
    if (auto const value = object.find(key).string()) return *value;
    return Error::of(Status::corrupt, file, ": '", key, "' is ", json_kind_name(object.find(key).kind()),
                     ", not a string");
}

/// A string that an object may have, or `null`; then it is empty.
[[nodiscard]] UFORM_COLD inline Result<std::string_view> json_string_or_empty(JsonValue object, std::string_view key,
                                                                              std::string_view file) {
    if (json_absent(object.find(key))) return std::string_view();
    return json_string(object, key, file);
}

/// A string of one code point that an object must have.
[[nodiscard]] UFORM_COLD inline Result<std::string_view> json_character(JsonValue object, std::string_view key,
                                                                        std::string_view file) {
    auto const value = json_string(object, key, file);
    if (value && (value->empty() || utf8::sequence_at(value->data(), value->size()).size != value->size()))
        return Error::of(Status::corrupt, file, ": '", key, "' is not one character");
    return value;
}

/// A boolean that an object must have.
[[nodiscard]] UFORM_COLD inline Result<bool> json_boolean(JsonValue object, std::string_view key,
                                                          std::string_view file) {
    if (auto const value = object.find(key).boolean()) return *value;
    return Error::of(Status::corrupt, file, ": '", key, "' is ", json_kind_name(object.find(key).kind()),
                     ", not a boolean");
}

/// A boolean that an object may have, or `null`.
[[nodiscard]] UFORM_COLD inline Result<bool> json_boolean_or(JsonValue object, std::string_view key, bool otherwise,
                                                             std::string_view file) {
    if (json_absent(object.find(key))) return otherwise;
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

} // namespace uform

#endif // UFORM_TEXT_JSON_FIELDS_HPP
