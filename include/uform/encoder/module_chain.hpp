/// The modules after the pooling, with their weights: vectors of a few texts in, vectors of other columns out.
#ifndef UFORM_ENCODER_MODULE_CHAIN_HPP
#define UFORM_ENCODER_MODULE_CHAIN_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/modules.hpp"
#include "uform/checkpoint/vector_modules.hpp"
#include "uform/config.hpp"
#include "uform/encoder/projection.hpp"
#include "uform/encoder/weight_block.hpp"
#include "uform/encoder/weight_packer.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/kernels/instruction_set.hpp"
#include "uform/kernels/kernels.hpp"
#include "uform/kernels/pooling.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"

namespace uform {

/// The chain of a folder, which may be empty. Move-only.
///
/// Memory  what its weights take, packed; no file stays open. `apply` allocates nothing.
/// Threads any at once, each with a scratch of its own.
/// Order   a text's vector depends on nothing beside it.
class ModuleChain {
    struct Step {
        ModuleKind kind;
        std::size_t columns; // of what it answers
        Projection dense;
        LayerNormWeights norm;
        WeightBlock norm_block;
    };
    static constexpr float layer_norm_epsilon_k = 1e-5f; ///< of torch.nn.LayerNorm, which the module doesn't change

    Kernels const *kernels_ = &portable::kernels;
    std::size_t columns_ = 0, widest_ = 0;
    List<Step> steps_;

    [[nodiscard]] static Result<Step> load_step(VectorModule const &module, std::size_t columns,
                                                Kernels const &kernels);

  public:
    static constexpr std::size_t most_texts_k = 16; ///< that go through at once

    /// Loads the weights of modules that are given vectors of `columns`.
    ///
    /// Errors  of `Checkpoint::open` and of `BertWeights::load`.
    [[nodiscard]] static Result<ModuleChain> load(std::span<VectorModule const> modules, std::size_t columns,
                                                  InstructionSet set);

    [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
    /// Floats of scratch that `apply` needs, a multiple of 16: two sets of vectors, the first for its input.
    [[nodiscard]] std::size_t scratch_floats() const noexcept { return empty() ? 0 : 2 * most_texts_k * widest_; }

    /// Takes vectors through all modules.
    ///
    /// Shapes  scratch  [scratch_floats()]      begins with the vectors, [texts, columns] of the pooling, tight
    ///         vectors  [texts, dimensions]     overwritten, tight
    /// Errors  none: there are at most `most_texts_k` texts, and the chain isn't empty.
    void apply(float *scratch, std::size_t texts, float *vectors) const noexcept;
};

UFORM_COLD inline Result<ModuleChain::Step> ModuleChain::load_step(VectorModule const &module, std::size_t columns,
                                                                   Kernels const &kernels) {
    Step step = {module.kind, module.columns, {}, {}, {}};
    if (module.kind == ModuleKind::normalize) return step;
    auto const checkpoint = Checkpoint::open(module.folder);
    if (!checkpoint) return checkpoint.error();
    if (module.kind == ModuleKind::dense) {
        auto dense = Projection::load(*checkpoint, "linear", columns, module.columns, module.has_bias,
                                      module.activation, kernels.set, module.folder);
        if (!dense) return dense.error();
        step.dense = *std::move(dense);
        return step;
    }
    Weights<Checkpoint> const tensors(*checkpoint, {""}, "norm.weight", module.folder);
    auto block = WeightPacker<Checkpoint>(tensors, kernels).pack([&](WeightPacker<Checkpoint> &packer) noexcept {
        packer.norm(step.norm, columns, TensorName("norm"));
    });
    if (!block) return block.error();
    step.norm_block = *std::move(block);
    return step;
}

UFORM_COLD inline Result<ModuleChain> ModuleChain::load(std::span<VectorModule const> modules, std::size_t columns,
                                                        InstructionSet set) {
    ModuleChain chain;
    chain.kernels_ = &kernels_for(set);
    chain.columns_ = chain.widest_ = columns;
    for (VectorModule const &module : modules) {
        std::size_t const given = chain.steps_.empty() ? columns : chain.steps_.back().columns;
        auto step = load_step(module, given, *chain.kernels_);
        if (!step) return step.error();
        chain.widest_ = chain.widest_ < module.columns ? module.columns : chain.widest_;
        chain.steps_.push_back(*std::move(step));
    }
    return chain;
}

inline void ModuleChain::apply(float *scratch, std::size_t texts, float *vectors) const noexcept {
    float *now = scratch, *other = scratch + most_texts_k * widest_;
    std::size_t columns = columns_;
    for (Step const &step : steps_) {
        if (step.kind == ModuleKind::dense) {
            step.dense.apply(now, columns, texts, other);
            std::swap(now, other);
        } else if (step.kind == ModuleKind::layer_norm) {
            kernels_->layer_norm(now, texts, columns, step.norm.gain, step.norm.bias, layer_norm_epsilon_k, now);
        } else {
            for (std::size_t text = 0; text < texts; ++text) normalize(now + text * columns, columns);
        }
        columns = step.columns;
    }
    std::memcpy(vectors, now, texts * columns * sizeof(float));
}

} // namespace uform

#endif // UFORM_ENCODER_MODULE_CHAIN_HPP
