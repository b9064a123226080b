/// The classes of torch.nn, as files of sentence-transformers name them.
#ifndef UFORM_CHECKPOINT_TORCH_CLASS_HPP
#define UFORM_CHECKPOINT_TORCH_CLASS_HPP

#include <string_view>

namespace uform {

/// The class that a dotted name imports from torch.nn: "Tanh" of "torch.nn.modules.activation.Tanh"; nothing for a name
/// that isn't one. Whether torch has a class of that name is left to the caller.
[[nodiscard]] inline std::string_view torch_class(std::string_view name) noexcept {
    for (std::string_view const module :
         {"torch.nn.modules.activation.", "torch.nn.modules.linear.", "torch.nn.modules.", "torch.nn."}) {
        if (!name.starts_with(module)) continue;
        std::string_view const rest = name.substr(module.size());
        bool const is_linear = module.ends_with("linear."), is_activation = module.ends_with("activation.");
        bool const is_there = rest == "Identity" ? !is_activation : !is_linear;
        return is_there ? rest : std::string_view();
    }
    return {};
}

} // namespace uform

#endif // UFORM_CHECKPOINT_TORCH_CLASS_HPP
