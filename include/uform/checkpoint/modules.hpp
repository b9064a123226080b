/// The chain of modules that a folder of sentence-transformers names in its `modules.json`.
#ifndef UFORM_CHECKPOINT_MODULES_HPP
#define UFORM_CHECKPOINT_MODULES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/checkpoint/fields.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/status.hpp"

namespace uform {

/// The modules that are served. Those from `normalize` on turn the vector of a text into another.
enum class ModuleKind : std::uint8_t { transformer, pooling, normalize, dense, layer_norm };

/// A module and where it keeps its files.
struct ModulePath {
    ModuleKind kind;
    std::string path;
};

/// Where the modules of a served chain keep their files, as paths inside the folder; "" is the folder itself.
struct ModulePaths {
    std::string transformer, pooling;
    std::vector<ModulePath> after; ///< what follows the pooling, in order
};

/// The module of a Python class, in the spelling of sentence-transformers 1 to 4, or of 5 and 6.
///
/// Source  sentence-transformers 6.2: each spelling here is one that `import_module_class` takes.
[[nodiscard]] inline std::optional<ModuleKind> module_kind(std::string_view type) noexcept {
    struct Spelling {
        std::string_view package, file, name;
        ModuleKind kind;
    };
    constexpr std::string_view old = "models.", base = "base.modules.", own = "sentence_transformer.modules.";
    constexpr Spelling spellings[] = {
        {old, "", "Transformer", ModuleKind::transformer},
        {old, "Transformer.", "Transformer", ModuleKind::transformer},
        {base, "", "Transformer", ModuleKind::transformer},
        {base, "transformer.", "Transformer", ModuleKind::transformer},
        {own, "", "Transformer", ModuleKind::transformer},
        {old, "", "Pooling", ModuleKind::pooling},
        {old, "Pooling.", "Pooling", ModuleKind::pooling},
        {own, "", "Pooling", ModuleKind::pooling},
        {own, "pooling.", "Pooling", ModuleKind::pooling},
        {old, "", "Normalize", ModuleKind::normalize},
        {old, "Normalize.", "Normalize", ModuleKind::normalize},
        {base, "", "Normalize", ModuleKind::normalize},
        {base, "normalize.", "Normalize", ModuleKind::normalize},
        {own, "", "Normalize", ModuleKind::normalize},
        {own, "normalize.", "Normalize", ModuleKind::normalize},
        {old, "", "Dense", ModuleKind::dense},
        {old, "Dense.", "Dense", ModuleKind::dense},
        {base, "", "Dense", ModuleKind::dense},
        {base, "dense.", "Dense", ModuleKind::dense},
        {own, "", "Dense", ModuleKind::dense},
        {old, "", "LayerNorm", ModuleKind::layer_norm},
        {old, "LayerNorm.", "LayerNorm", ModuleKind::layer_norm},
        {own, "", "LayerNorm", ModuleKind::layer_norm},
        {own, "layer_norm.", "LayerNorm", ModuleKind::layer_norm},
    };
    constexpr std::string_view library = "sentence_transformers.";
    if (!type.starts_with(library)) return {};
    for (auto const &[package, file, name, kind] : spellings) {
        std::string_view rest = type.substr(library.size());
        if (!rest.starts_with(package)) continue;
        rest.remove_prefix(package.size());
        if (rest.starts_with(file) && rest.substr(file.size()) == name) return kind;
    }
    return {};
}

/// Whether a path stays inside the folder: relative on every system, without a `..` and without a zero byte.
[[nodiscard]] inline bool stays_in_folder(std::string_view path) noexcept {
    constexpr std::string_view slashes = "/\\";
    if (path.find('\0') != path.npos || path.find(':') != path.npos || path.find_first_of(slashes) == 0) return false;
    while (!path.empty()) {
        std::size_t const end = path.find_first_of(slashes);
        if (path.substr(0, end) == "..") return false;
        path.remove_prefix(end == path.npos ? path.size() : end + 1);
    }
    return true;
}

/// Reads a `modules.json`: a transformer, then one pooling, then any of the others, in the order of the list.
///
/// Errors  `io`; `corrupt` for what isn't a list of modules, and for paths that leave the folder; `unsupported` for
///         another module or order. Each names the file, and the module's place and type.
/// Source  sentence-transformers 6.2, `_load_config_modules`, which takes the list's order and not `idx`.
[[nodiscard]] UFORM_COLD inline Result<ModulePaths> read_modules(std::string file_path) {
    auto file = JsonFile::read(std::move(file_path));
    if (!file) return std::move(file).error();
    JsonValue const list = file->json.root();
    if (!list.is(JsonKind::array))
        return Error::of(Status::corrupt, file->path, ": its value is ", shown(list), ", not an array of modules");

    ModulePaths paths;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i != list.size(); ++i) {
        std::string const place = "module " + std::to_string(i) + ": ";
        if (!list[i].is(JsonKind::object))
            return Error::of(Status::corrupt, file->path, ": ", place, "is ", shown(list[i]), ", not an object");
        Fields fields(file->path, list[i], place);
        for (std::string_view const key : {"name", "type", "path"})
            if (!fields.find(key)) fields.refuse(Status::corrupt, key, " is missing");
        auto const type = fields.text("type", {}), path = fields.text("path", {}), name = fields.text("name", {});
        if (!stays_in_folder(path)) fields.refuse_type("path", "a path inside the folder");
        for (std::string_view const other : names)
            if (other == name) fields.refuse_type("name", "a name of its own");
        names.push_back(name);
        fields.refuse_others({"idx", "name", "path", "type", "kwargs"}, ": an unknown module key");
        if (fields.find("kwargs") && !(fields.find("kwargs").is(JsonKind::array) && fields.find("kwargs").size() == 0))
            fields.refuse(Status::unsupported, "kwargs", ": modules with arguments aren't served");

        auto const kind = module_kind(type);
        if (!kind)
            fields.refuse(Status::unsupported, "type", " \"", type,
                          "\" isn't served; Transformer, Pooling, Normalize, Dense and LayerNorm are");
        else if ((*kind == ModuleKind::transformer) != (i == 0) || (*kind == ModuleKind::pooling) != (i == 1))
            fields.refuse(Status::unsupported, "type", " \"", type,
                          "\" stands where it isn't served: the order is Transformer, Pooling, and then the others");
        if (fields.error()) return *fields.error();
        if (*kind == ModuleKind::transformer) paths.transformer = path;
        else if (*kind == ModuleKind::pooling) paths.pooling = path;
        else paths.after.push_back({*kind, std::string(path)});
    }
    if (list.size() < 2)
        return Error::of(Status::unsupported, file->path, ": ", list.size(),
                         " modules; a Transformer and a Pooling are the least that is served");
    return paths;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_MODULES_HPP
