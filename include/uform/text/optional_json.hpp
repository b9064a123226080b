/// A JSON file of a folder that may be missing.
#ifndef UFORM_TEXT_OPTIONAL_JSON_HPP
#define UFORM_TEXT_OPTIONAL_JSON_HPP

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// An object, or nothing where there is no file. Move-only; moving leaves values valid.
struct OptionalJson {
    std::string path;
    std::optional<Json> json;

    /// Errors  `io` for a file that can't be read, `corrupt` for one that holds no JSON object.
    [[nodiscard]] UFORM_COLD static Result<OptionalJson> read(std::string const &folder, std::string_view name) {
        OptionalJson result{join_path(folder, name), std::nullopt};
        if (!file_exists(result.path)) return result;
        auto const file = File::map(result.path);
        if (!file) return file.error();
        auto json = Json::parse(file->text(), result.path);
        if (!json) return json.error();
        if (!json->root().is(JsonKind::object)) return Error::of(Status::corrupt, result.path, ": no object");
        result.json.emplace(std::move(*json));
        return result;
    }
    /// The whole object; missing where there is no file.
    [[nodiscard]] JsonValue root() const noexcept { return json ? json->root() : JsonValue(); }
    /// A member, missing where there is no file.
    [[nodiscard]] JsonValue find(std::string_view key) const noexcept { return root().find(key); }
};

} // namespace uform

#endif // UFORM_TEXT_OPTIONAL_JSON_HPP
