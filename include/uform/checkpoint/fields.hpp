/// The members of one JSON file's object, read by key and type; the first that is wrong is kept as the error.
#ifndef UFORM_CHECKPOINT_FIELDS_HPP
#define UFORM_CHECKPOINT_FIELDS_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// A value as messages show it: a string in quotes, a number in digits, and only the kind of what is larger.
[[nodiscard]] UFORM_COLD inline std::string shown(JsonValue value) {
    if (auto const text = value.string()) return joined("\"", *text, "\"");
    if (auto const truth = value.boolean()) return *truth ? "true" : "false";
    if (auto const integer = value.integer()) return joined(*integer);
    if (auto const natural = value.natural()) return joined(*natural);
    if (auto const number = value.number()) {
        char digits[32];
        return {digits, std::to_chars(digits, digits + sizeof digits, *number).ptr};
    }
    return std::string(json_kind_name(value.kind()));
}

/// An object inside a JSON file, and what was wrong with it so far. A plain view of its `JsonFile`.
///
/// A reader of a configuration asks for all its keys and looks at `error()` once. An absent key is its fallback; a
/// value of the wrong type or size is `corrupt`, and the message names file, key, value and what was wanted. `null`
/// is a wrong type, but for `is_absent`.
class Fields {
    std::string_view path_, place_;
    JsonValue object_;
    std::optional<Error> error_;

  public:
    /// `place` is how messages name the object if it isn't the whole file: "weight_map: ".
    Fields(std::string_view path UFORM_LIFETIMEBOUND, JsonValue object, std::string_view place = {}) noexcept
        : path_(path), place_(place), object_(object) {}

    [[nodiscard]] std::string_view path() const noexcept { return path_; }
    [[nodiscard]] JsonValue object() const noexcept { return object_; }
    [[nodiscard]] JsonValue find(std::string_view key) const noexcept { return object_.find(key); }
    /// Whether a key isn't there, or is `null`.
    [[nodiscard]] UFORM_COLD bool is_absent(std::string_view key) const noexcept {
        JsonValue const value = find(key);
        return !value || value.is(JsonKind::null);
    }

    /// The first thing that was wrong, if any was.
    [[nodiscard]] std::optional<Error> const &error() const noexcept UFORM_LIFETIMEBOUND { return error_; }
    /// Keeps the error of an object inside this one, unless there is one already.
    UFORM_COLD void adopt(Error const &error) noexcept {
        if (!error_) error_.emplace(error);
    }
    /// Keeps an error about a key, unless there is one already.
    UFORM_COLD void refuse(Status status, std::string_view key, MessagePart const &a, MessagePart const &b = no_part,
                           MessagePart const &c = no_part, MessagePart const &d = no_part,
                           MessagePart const &e = no_part, MessagePart const &f = no_part,
                           MessagePart const &g = no_part) noexcept {
        if (!error_) error_.emplace(Error::of(status, path_, ": ", place_, key, a, b, c, d, e, f, g));
    }
    UFORM_COLD void refuse_type(std::string_view key, std::string_view wanted) {
        refuse(Status::corrupt, key, " is ", shown(find(key)), ", not ", wanted);
    }
    /// Keeps `unsupported` for the first key that isn't among those known.
    UFORM_COLD void refuse_others(std::initializer_list<std::string_view> known, std::string_view why) noexcept {
        for (std::size_t i = 0; i != object_.size(); ++i) {
            bool is_known = false;
            for (std::string_view const key : known) is_known |= key == object_.key(i);
            if (!is_known) refuse(Status::unsupported, object_.key(i), why);
        }
    }

    /// An integer from 1 to `most`.
    [[nodiscard]] UFORM_COLD std::size_t count(std::string_view key, std::size_t fallback, std::size_t most) {
        JsonValue const value = find(key);
        if (!value) return fallback;
        auto const number = value.natural();
        if (number && *number != 0 && *number <= most) return static_cast<std::size_t>(*number);
        refuse_type(key, joined("an integer from 1 to ", most));
        return fallback;
    }
    [[nodiscard]] UFORM_COLD bool boolean(std::string_view key, bool fallback) {
        JsonValue const value = find(key);
        if (value && !value.is(JsonKind::boolean)) refuse_type(key, "true or false");
        return value.boolean().value_or(fallback);
    }
    [[nodiscard]] UFORM_COLD double number(std::string_view key, double fallback) {
        JsonValue const value = find(key);
        if (value && !value.number()) refuse_type(key, "a number");
        return value.number().value_or(fallback);
    }
    /// Valid as long as the file's object; the fallback is handed through.
    [[nodiscard]] UFORM_COLD std::string_view text(std::string_view key, std::string_view fallback) {
        JsonValue const value = find(key);
        if (value && !value.is(JsonKind::string)) refuse_type(key, "a string");
        return value.string().value_or(fallback);
    }
};

/// A parsed JSON file. Move-only; values stay valid where it moves.
struct JsonFile {
    std::string path;
    Json json;

    /// Errors  `io` if it can't be read, `corrupt` if it isn't JSON, `out_of_memory`.
    [[nodiscard]] UFORM_COLD static Result<JsonFile> read(std::string path) {
        auto file = File::map(path);
        if (!file) return file.error();
        auto json = Json::parse(file->text(), path);
        if (!json) return json.error();
        return JsonFile{std::move(path), *std::move(json)};
    }
    /// The same for a file whose value must be an object; another is `corrupt`.
    [[nodiscard]] UFORM_COLD static Result<JsonFile> read_object(std::string path) {
        auto file = read(std::move(path));
        if (file && !file->json.root().is(JsonKind::object))
            return Error::of(Status::corrupt, file->path, ": its value is ", shown(file->json.root()),
                             ", not an object");
        return file;
    }
    [[nodiscard]] Fields fields() const noexcept UFORM_LIFETIMEBOUND { return {path, json.root()}; }
};

} // namespace uform

#endif // UFORM_CHECKPOINT_FIELDS_HPP
