/// Finds the weights that an architecture lists, and packs them into one block: the list is gone through twice.
#ifndef UFORM_ENCODER_WEIGHT_PACKER_HPP
#define UFORM_ENCODER_WEIGHT_PACKER_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/encoder/weight_block.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/kernels/table.hpp"
#include "uform/status.hpp"

namespace uform {

/// What a layer norm multiplies by and adds, [columns] each.
struct LayerNormWeights {
    float const *gain = nullptr, *bias = nullptr;
};

/// Outputs of a linear layer that are stored together: rows `first` to `first + outputs` of `NAME.weight` and
/// `NAME.bias`, which have `stored_outputs`.
struct LinearPart {
    TensorName name;
    std::uint32_t outputs = 0;
    float scale = 1; ///< times which the weights and the bias are packed
    std::uint32_t first = 0, stored_outputs = outputs;
};

/// What an architecture's list of weights talks to. First it finds every tensor and measures, and all that was asked
/// for is null or has no memory; then it packs, in the same order. After an error it does nothing.
template <WeightSource Source> class WeightPacker {
    Weights<Source> const &weights_;
    Kernels const &kernels_;
    Result<void> outcome_;
    std::size_t bytes_ = 0, widest_ = 0;
    std::byte *free_ = nullptr; // null while it measures
    WeightBlock block_;
    Buffer<float> row_, bias_;

    [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept { return (bytes + 63) / 64 * 64; }
    [[nodiscard]] bool is_packing() const noexcept { return free_ != nullptr; }
    [[nodiscard]] std::byte *take(std::size_t bytes) noexcept {
        if (is_packing()) return std::exchange(free_, free_ + rounded(bytes));
        bytes_ += rounded(bytes);
        return nullptr;
    }
    [[nodiscard]] UFORM_COLD FoundTensor find(std::initializer_list<std::size_t> shape, std::string_view name,
                                              std::string_view older = {}) noexcept {
        if (!outcome_) return {}; // the first error is the one to tell
        auto found = weights_.find(shape, name, older);
        if (found) return *found;
        outcome_ = found.error();
        return {};
    }
    [[nodiscard]] UFORM_COLD float const *read(FoundTensor const &found, std::size_t first, std::size_t count,
                                               float *into) noexcept {
        float const *const floats = outcome_ ? read_floats(*found.tensor, first, count, into) : nullptr;
        if (outcome_ && !floats) outcome_ = not_finite(found);
        return floats;
    }
    [[nodiscard]] UFORM_COLD bool allocate() noexcept {
        if (!block_.allocate(bytes_ + 64) || !row_.resize(widest_) || !bias_.resize(widest_)) return false;
        free_ = block_.data();
        return true;
    }
    /// Packs a part's rows of weights, and of a bias whose name isn't empty, as the outputs from `output` on.
    UFORM_COLD void pack_part(PackedLinear const &linear, std::uint32_t output, TensorName const &weights,
                              TensorName const &biases, LinearPart const &part) noexcept {
        std::size_t const stored = part.stored_outputs, inputs = linear.inputs;
        bool const has_bias = !biases.text().empty();
        FoundTensor const weight = find({stored, inputs}, weights.text()),
                          bias = has_bias ? find({stored}, biases.text()) : FoundTensor();
        widest_ = widest_ < inputs ? inputs : widest_;
        widest_ = widest_ < part.outputs ? part.outputs : widest_;
        if (!is_packing()) return;
        float const *const shift = has_bias ? read(bias, part.first, part.outputs, bias_.data()) : nullptr;
        for (std::uint32_t i = 0; outcome_ && i < part.outputs; ++i)
            if (float const *const row = read(weight, (part.first + std::size_t{i}) * inputs, inputs, row_.data()))
                pack_output(linear, output + i, row, shift ? shift[i] : 0.0f, part.scale);
    }
    UFORM_COLD void copy(FoundTensor const &found, std::size_t first, std::size_t count, float *into) noexcept {
        float const *const floats = read(found, first, count, into);
        if (floats && floats != into) std::memcpy(into, floats, count * sizeof(float));
    }

  public:
    WeightPacker(Weights<Source> const &weights, Kernels const &kernels) noexcept
        : weights_(weights), kernels_(kernels) {}

    /// Goes through `list(packer)` twice. What it filled in points into the block that is answered, or into the
    /// checkpoint's mapping.
    ///
    /// Errors  `corrupt` for a tensor that is missing, of another shape, or not of numbers; `unsupported` for an
    /// element
    ///         type that isn't f32, f16 or bf16; `out_of_memory`.
    template <class List> [[nodiscard]] Result<WeightBlock> pack(List const &list) noexcept {
        list(*this);
        if (outcome_ && !allocate())
            outcome_ = Error::of(Status::out_of_memory, "no memory for ", bytes_, " bytes of packed weights");
        if (outcome_) list(*this);
        if (!outcome_) return outcome_.error();
        return std::move(block_);
    }

    /// `columns` floats in the block that the caller fills in later; null while it measures.
    [[nodiscard]] float *room(std::size_t columns) noexcept {
        return reinterpret_cast<float *>(take(columns * sizeof(float)));
    }
    /// A matrix [rows, columns] copied into the block.
    UFORM_COLD void matrix(float const *&values, std::size_t rows, std::size_t columns,
                           TensorName const &name) noexcept {
        FoundTensor const found = find({rows, columns}, name.text());
        float *const into = room(rows * columns);
        if (into) copy(found, 0, rows * columns, into);
        values = into;
    }
    /// A table [rows, columns], of which single rows are read: left where it is if it is f32, so that only the rows in
    /// use are resident.
    UFORM_COLD void table(float const *&values, std::size_t rows, std::size_t columns,
                          TensorName const &name) noexcept {
        FoundTensor const found = find({rows, columns}, name.text());
        if (!found.tensor) return;
        bool const mapped = is_float_array(*found.tensor);
        float *const own = mapped ? nullptr : room(rows * columns);
        if (!is_packing()) return;
        for (std::size_t row = 0; outcome_ && row < rows; ++row)
            (void)read(found, row * columns, columns, own ? own + row * columns : nullptr);
        values = own ? own : reinterpret_cast<float const *>(found.tensor->data);
    }
    /// A layer norm, spelt `weight` and `bias` or `gamma` and `beta`; without a stored bias it adds zeros.
    UFORM_COLD void norm(LayerNormWeights &norm, std::size_t columns, TensorName const &name,
                         bool has_bias = true) noexcept {
        float *const gain = room(columns), *const bias = room(columns);
        FoundTensor const gains =
            find({columns}, TensorName(name.text(), ".weight").text(), TensorName(name.text(), ".gamma").text());
        if (gain) copy(gains, 0, columns, gain);
        if (has_bias) {
            FoundTensor const shifts =
                find({columns}, TensorName(name.text(), ".bias").text(), TensorName(name.text(), ".beta").text());
            if (bias) copy(shifts, 0, columns, bias);
        } else if (bias) std::memset(bias, 0, columns * sizeof(float));
        norm = {gain, bias};
    }
    /// A linear layer whose outputs are those of the parts, one after the other; without stored biases it adds zeros.
    UFORM_COLD void linear(PackedLinear &linear, std::uint32_t inputs, std::initializer_list<LinearPart> parts,
                           bool has_bias = true) noexcept {
        std::uint32_t outputs = 0;
        for (LinearPart const &part : parts) outputs += part.outputs;
        linear = describe_linear(kernels_, inputs, outputs);
        std::byte *const memory = take(linear.bytes());
        if (memory) place_linear(linear, memory);
        std::uint32_t output = 0;
        for (LinearPart const &part : parts) {
            pack_part(linear, output, TensorName(part.name.text(), ".weight"),
                      has_bias ? TensorName(part.name.text(), ".bias") : TensorName(), part);
            output += part.outputs;
        }
    }
    /// A linear layer whose weights [outputs, inputs] and bias [outputs] have names of their own; an empty one of the
    /// bias is none, and adds zeros.
    UFORM_COLD void linear(PackedLinear &linear, std::uint32_t inputs, std::uint32_t outputs, TensorName const &weights,
                           TensorName const &bias) noexcept {
        linear = describe_linear(kernels_, inputs, outputs);
        if (std::byte *const memory = take(linear.bytes())) place_linear(linear, memory);
        pack_part(linear, 0, weights, bias, {.name = weights, .outputs = outputs});
    }
    /// `list(layer, number)` for each of `count` layers.
    template <class Layer, class ListLayer>
    UFORM_COLD void layers(Buffer<Layer> &layers, std::uint32_t count, ListLayer const &list) noexcept {
        if (is_packing() && outcome_ && !layers.reserve(count))
            outcome_ = Error::fixed(Status::out_of_memory, "no memory for the layers");
        for (std::uint32_t i = 0; outcome_ && i < count; ++i) {
            Layer layer;
            list(layer, i);
            if (is_packing()) (void)layers.push_back(layer); // there is room
        }
    }
};

} // namespace uform

#endif // UFORM_ENCODER_WEIGHT_PACKER_HPP
