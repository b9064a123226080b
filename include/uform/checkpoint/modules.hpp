/// The chain of modules that a folder of sentence-transformers names in its `modules.json`.
#ifndef UFORM_CHECKPOINT_MODULES_HPP
#define UFORM_CHECKPOINT_MODULES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "uform/checkpoint/fields.hpp"
#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"

namespace uform {

/// What a folder of sentence-transformers makes of texts.
enum class FolderKind : std::uint8_t {
    embeddings,       ///< one vector a text: SentenceTransformer
    cross_encoder,    ///< scores of pairs: CrossEncoder
    sparse,           ///< weights over the vocabulary: SparseEncoder
    late_interaction, ///< vectors of tokens: MultiVectorEncoder
    pylate,           ///< vectors of tokens, as PyLate stored them before: ColBERT
};

/// The kind's name as `model_type`. Static storage.
[[nodiscard]] constexpr std::string_view folder_kind_name(FolderKind kind) noexcept {
    constexpr std::string_view names[] = {"SentenceTransformer", "CrossEncoder", "SparseEncoder", "MultiVectorEncoder",
                                          "ColBERT"};
    return names[static_cast<std::size_t>(kind)];
}

/// The modules that are served. Those from `normalize` on turn a vector into another.
enum class ModuleKind : std::uint8_t {
    transformer,
    masked_transformer, ///< a transformer with its masked-language head
    pooling,
    splade_pooling,
    token_mask, ///< says which tokens have vectors
    normalize,
    dense,
    layer_norm,
};

/// A module and where it keeps its files.
struct ModulePath {
    ModuleKind kind;
    std::string path;
};

/// Where the modules of a served chain keep their files, as paths inside the folder; "" is the folder itself.
struct ModulePaths {
    std::string transformer, pooling;
    bool is_masked = false; ///< the transformer is a `masked_transformer`
    List<ModulePath> after; ///< what follows the pooling, or the transformer where there is none, in order
};

/// The module of a Python class, in the spelling of sentence-transformers 1 to 4, or of 5 and 6.
///
/// Source  sentence-transformers 6.2: each spelling here is one that `import_module_class` takes.
[[nodiscard]] UFORM_COLD inline std::optional<ModuleKind> module_kind(std::string_view type) noexcept {
    struct Spelling {
        std::string_view package, file, name;
        ModuleKind kind;
    };
    constexpr std::string_view old = "models.", base = "base.modules.", own = "sentence_transformer.modules.";
    constexpr std::string_view old_sparse = "sparse_encoder.models.", sparse = "sparse_encoder.modules.",
                               cross = "cross_encoder.modules.", late = "multi_vector_encoder.modules.";
    constexpr Spelling spellings[] = {
        {old, "", "Transformer", ModuleKind::transformer},
        {old, "Transformer.", "Transformer", ModuleKind::transformer},
        {base, "", "Transformer", ModuleKind::transformer},
        {base, "transformer.", "Transformer", ModuleKind::transformer},
        {own, "", "Transformer", ModuleKind::transformer},
        {old_sparse, "", "Transformer", ModuleKind::transformer},
        {sparse, "", "Transformer", ModuleKind::transformer},
        {cross, "", "Transformer", ModuleKind::transformer},
        {old_sparse, "", "MLMTransformer", ModuleKind::masked_transformer},
        {old_sparse, "MLMTransformer.", "MLMTransformer", ModuleKind::masked_transformer},
        {old_sparse, "mlm_transformer.", "MLMTransformer", ModuleKind::masked_transformer},
        {sparse, "", "MLMTransformer", ModuleKind::masked_transformer},
        {sparse, "mlm_transformer.", "MLMTransformer", ModuleKind::masked_transformer},
        {old_sparse, "", "SpladePooling", ModuleKind::splade_pooling},
        {old_sparse, "SpladePooling.", "SpladePooling", ModuleKind::splade_pooling},
        {old_sparse, "splade_pooling.", "SpladePooling", ModuleKind::splade_pooling},
        {sparse, "", "SpladePooling", ModuleKind::splade_pooling},
        {sparse, "splade_pooling.", "SpladePooling", ModuleKind::splade_pooling},
        {late, "", "MultiVectorMask", ModuleKind::token_mask},
        {late, "multi_vector_mask.", "MultiVectorMask", ModuleKind::token_mask},
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
        {old_sparse, "", "Dense", ModuleKind::dense},
        {sparse, "", "Dense", ModuleKind::dense},
        {cross, "", "Dense", ModuleKind::dense},
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

/// Whether a module may stand at a place of the list, after those in `paths`.
[[nodiscard]] inline bool is_served_at(FolderKind folder, ModuleKind kind, std::size_t place,
                                       ModulePaths const &paths) noexcept {
    if (place == 0)
        return kind == ModuleKind::transformer ||
               (kind == ModuleKind::masked_transformer && folder == FolderKind::sparse);
    auto const has = [&](ModuleKind sought) {
        for (ModulePath const &one : paths.after)
            if (one.kind == sought) return true;
        return false;
    };
    switch (folder) {
    case FolderKind::embeddings: return place == 1 ? kind == ModuleKind::pooling : kind >= ModuleKind::normalize;
    case FolderKind::cross_encoder: return false;
    case FolderKind::sparse: return place == 1 && kind == ModuleKind::splade_pooling;
    case FolderKind::pylate: return kind == ModuleKind::dense;
    case FolderKind::late_interaction:
        return kind == ModuleKind::normalize || (kind == ModuleKind::dense && !has(ModuleKind::normalize)) ||
               (kind == ModuleKind::token_mask && !has(ModuleKind::token_mask));
    }
    return false;
}

/// The modules that a kind of folder has, for messages. Static storage.
[[nodiscard]] constexpr std::string_view served_order(FolderKind kind) noexcept {
    constexpr std::string_view orders[] = {"Transformer, Pooling, and then the others", "a Transformer alone",
                                           "Transformer or MLMTransformer, and SpladePooling",
                                           "Transformer, Dense, MultiVectorMask, Normalize", "Transformer, Dense"};
    return orders[static_cast<std::size_t>(kind)];
}

/// Reads a `modules.json`: a transformer, then what follows it in a folder of its kind, in the order of the list.
///
/// `kind_path` is the file that says the kind, for messages; empty: none does.
///
/// Errors  `io`; `corrupt` for what isn't a list of modules, and for paths that leave the folder; `unsupported` for
///         another module or order. Each names the file, and the module's place and type.
/// Source  sentence-transformers 6.2, `_load_config_modules`, which takes the list's order and not `idx`.
[[nodiscard]] UFORM_COLD inline Result<ModulePaths>
read_modules(std::string file_path, FolderKind folder = FolderKind::embeddings, std::string_view kind_path = {}) {
    auto file = JsonFile::read(std::move(file_path));
    if (!file) return file.error();
    JsonValue const list = file->json.root();
    if (!list.is(JsonKind::array))
        return Error::of(Status::corrupt, file->path, ": its value is ", shown(list), ", not an array of modules");

    ModulePaths paths;
    List<std::string_view> names;
    bool const is_late = folder == FolderKind::late_interaction || folder == FolderKind::pylate;
    bool has_dense = false;
    for (std::size_t i = 0; i != list.size(); ++i) {
        std::string const place = joined("module ", i, ": ");
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

        auto kind = module_kind(type);
        if (is_late && type == "pylate.models.Dense.Dense") kind = ModuleKind::dense;
        std::string const why = folder == FolderKind::embeddings ? ""
                                                                 : joined("model_type is \"", folder_kind_name(folder),
                                                                          "\" in ", kind_path, ", and ");
        if (!kind && folder == FolderKind::embeddings)
            fields.refuse(Status::unsupported, "type", " \"", type,
                          "\" isn't served; Transformer, Pooling, Normalize, Dense and LayerNorm are");
        else if (!kind)
            fields.refuse(Status::unsupported, "type", " \"", type, "\" isn't served: ", why, "the order is ",
                          served_order(folder));
        else if (!is_served_at(folder, *kind, i, paths))
            fields.refuse(Status::unsupported, "type", " \"", type, "\" stands where it isn't served: ", why,
                          "the order is ", served_order(folder));
        if (fields.error()) return *fields.error();
        if (i == 0) paths.transformer = path, paths.is_masked = *kind == ModuleKind::masked_transformer;
        else if (*kind == ModuleKind::pooling || *kind == ModuleKind::splade_pooling) paths.pooling = path;
        else paths.after.push_back({*kind, std::string(path)});
        has_dense |= *kind == ModuleKind::dense;
    }
    if (list.size() < 2 && folder == FolderKind::embeddings)
        return Error::of(Status::unsupported, file->path, ": ", list.size(),
                         " modules; a Transformer and a Pooling are the least that is served");
    if (list.size() < (folder == FolderKind::cross_encoder ? 1 : 2) || (is_late && !has_dense))
        return Error::of(Status::unsupported, file->path, ": ", list.size(), " modules, but model_type is \"",
                         folder_kind_name(folder), "\" in ", kind_path, ", and the order is ", served_order(folder));
    return paths;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_MODULES_HPP
