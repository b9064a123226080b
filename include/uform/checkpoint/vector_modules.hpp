/// The modules that turn a text's vector into another: what their own `config.json` says.
#ifndef UFORM_CHECKPOINT_VECTOR_MODULES_HPP
#define UFORM_CHECKPOINT_VECTOR_MODULES_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "uform/architecture.hpp"
#include "uform/checkpoint/fields.hpp"
#include "uform/checkpoint/modules.hpp"
#include "uform/checkpoint/torch_class.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/status.hpp"

namespace uform {

/// A Normalize, a Dense or a LayerNorm.
struct VectorModule {
    ModuleKind kind = ModuleKind::normalize;
    std::string folder;      ///< where its files are
    std::size_t columns = 0; ///< of what it answers
    bool has_bias = true;    ///< of a Dense; its epsilon and so on are the reference's defaults
    DenseActivation activation = DenseActivation::identity;
};

/// Checks that a module works on the vector of the text, "sentence_embedding", or on those of its tokens,
/// "token_embeddings". A key that isn't there is what is wanted.
UFORM_COLD inline void check_input(Fields &fields, std::string_view wanted) {
    for (std::string_view const key : {"module_input_name", "module_output_name"})
        if (!fields.is_absent(key) && fields.text(key, {}) != wanted)
            fields.refuse(Status::unsupported, key, " is ", shown(fields.find(key)), "; \"", wanted, "\" is served");
}

/// The activation of a class of torch; without a name it is tanh. The reference takes tanh, too, in place of a class
/// that isn't torch's: here that is refused.
[[nodiscard]] inline DenseActivation read_dense_activation(Fields &fields) {
    struct Spelling {
        std::string_view spelling;
        DenseActivation activation;
    };
    static constexpr Spelling known[] = {
        {"Tanh", DenseActivation::tanh}, {"ReLU", DenseActivation::relu},
        {"GELU", DenseActivation::gelu}, {"Sigmoid", DenseActivation::sigmoid},
        {"SiLU", DenseActivation::silu}, {"LeakyReLU", DenseActivation::leaky_relu},
        {"ELU", DenseActivation::elu},   {"Softplus", DenseActivation::softplus},
        {"Mish", DenseActivation::mish}, {"Identity", DenseActivation::identity},
    };
    constexpr std::string_view key = "activation_function";
    auto const name = fields.text(key, "torch.nn.modules.activation.Tanh");
    for (auto const &[spelling, activation] : known)
        if (torch_class(name) == spelling) return activation;
    fields.refuse(
        Status::unsupported, key, " is \"", name,
        "\", which isn't served; Tanh, ReLU, GELU, Sigmoid, SiLU, LeakyReLU, ELU, Softplus, Mish and Identity "
        "of torch.nn are");
    return DenseActivation::identity;
}

/// Reads what a module's folder says, which is given vectors of `columns`: those of texts, "sentence_embedding", or of
/// tokens, "token_embeddings".
///
/// Errors  `io`; `corrupt`, also for a module that is given vectors of other columns than it takes; `unsupported`. Each
///         names the file and the key.
/// Source  sentence-transformers 6.2, `Normalize`, `Dense` and `LayerNorm`.
[[nodiscard]] UFORM_COLD inline Result<VectorModule> read_vector_module(ModuleKind kind, std::string folder,
                                                                        std::size_t columns,
                                                                        std::string_view input = "sentence_embedding") {
    VectorModule module = {.kind = kind, .folder = std::move(folder), .columns = columns};
    auto path = join_path(module.folder, "config.json");
    if (kind == ModuleKind::normalize && !file_exists(path)) return module;
    auto file = JsonFile::read_object(std::move(path));
    if (!file) return file.error();
    Fields fields = file->fields();
    check_input(fields, input);
    auto const expect = [&](std::string_view key) {
        if (!fields.find(key)) fields.refuse(Status::corrupt, key, " is missing");
        else if (fields.find(key).natural() != columns)
            fields.refuse_type(key, joined("the ", columns, " columns that the module before it answers"));
    };
    if (kind == ModuleKind::dense) {
        fields.refuse_others({"in_features", "out_features", "bias", "activation_function", "module_input_name",
                              "module_output_name", "use_residual"},
                             ": an unknown key of a Dense module");
        expect("in_features");
        if (!fields.find("out_features")) fields.refuse(Status::corrupt, "out_features", " is missing");
        module.columns = fields.count("out_features", 1, 1'000'000);
        module.has_bias = fields.boolean("bias", true);
        module.activation = read_dense_activation(fields);
        if (fields.boolean("use_residual", false))
            fields.refuse(Status::unsupported, "use_residual", " is true, which isn't served");
    } else if (kind == ModuleKind::layer_norm) {
        fields.refuse_others({"dimension"}, ": an unknown key of a LayerNorm module");
        expect("dimension");
    }
    if (fields.error()) return *fields.error();
    return module;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_VECTOR_MODULES_HPP
