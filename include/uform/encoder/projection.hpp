/// A linear layer of its own with an activation: what follows the pooling or the states of tokens.
#ifndef UFORM_ENCODER_PROJECTION_HPP
#define UFORM_ENCODER_PROJECTION_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "uform/architecture.hpp"
#include "uform/config.hpp"
#include "uform/encoder/weight_block.hpp"
#include "uform/encoder/weight_packer.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/kernels/activation.hpp"
#include "uform/kernels/kernels.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/status.hpp"

namespace uform {

/// A Dense module, or the projection of a late-interaction model, with its weights packed for one instruction set.
/// Move-only; one that wasn't loaded has no outputs.
///
/// Memory  what its weights take, packed; the checkpoint may go after loading. `apply` allocates nothing.
/// Threads any at once, for distinct outputs.
/// Order   a row's bits depend on that row alone.
class Projection {
    Kernels const *kernels_ = nullptr;
    DenseActivation activation_ = DenseActivation::identity;
    PackedLinear linear_;
    WeightBlock block_;

  public:
    Projection() noexcept = default;

    /// Loads `NAME.weight` [outputs, inputs], and `NAME.bias` [outputs] where there is one. `place` is what messages
    /// name where no file can be named.
    ///
    /// Errors  of `BertWeights::load`.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static Result<Projection>
    load(Source const &source, std::string_view name, std::size_t inputs, std::size_t outputs, bool has_bias,
         DenseActivation activation, InstructionSet set, std::string_view place) noexcept {
        constexpr std::size_t most = std::size_t{1} << 24; // keeps every product below within 64 bits
        for (auto const &[count, what] : {std::pair{inputs, "inputs"}, std::pair{outputs, "outputs"}})
            if (count == 0 || count > most)
                return Error::of(Status::corrupt, place, ": the configuration asks for ", count, " ", what);
        Projection projection;
        projection.kernels_ = &kernels_for(set);
        projection.activation_ = activation;
        TensorName const probe(name, ".weight");
        Weights<Source> const tensors(source, {""}, probe.text(), place);
        auto block = WeightPacker<Source>(tensors, *projection.kernels_).pack([&](auto &packer) noexcept {
            packer.linear(projection.linear_, static_cast<std::uint32_t>(inputs),
                          {{TensorName(name), static_cast<std::uint32_t>(outputs)}}, has_bias);
        });
        if (!block) return block.error();
        projection.block_ = *std::move(block);
        return projection;
    }

    [[nodiscard]] std::size_t inputs() const noexcept { return linear_.inputs; }
    [[nodiscard]] std::size_t outputs() const noexcept { return linear_.outputs; }

    /// Takes rows through the layer.
    ///
    /// Shapes  rows  [count, inputs]   f32, `stride` floats apart
    ///         into  [count, outputs]  f32, tight, overwritten; may not overlap `rows`
    /// Errors  none: it was loaded.
    void apply(float const *rows, std::size_t stride, std::size_t count, float *into) const noexcept {
        apply_linear(
            *kernels_, linear_,
            {.rows = count, .input = rows, .input_stride = stride, .output = into, .output_stride = linear_.outputs});
        activate(activation_, into, count * linear_.outputs);
    }
};

} // namespace uform

#endif // UFORM_ENCODER_PROJECTION_HPP
