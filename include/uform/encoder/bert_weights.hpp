/// The weights of a BERT encoder: found in a checkpoint, checked, and packed for an instruction set.
#ifndef UFORM_ENCODER_BERT_WEIGHTS_HPP
#define UFORM_ENCODER_BERT_WEIGHTS_HPP

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/encoder/weight_block.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/kernels/activation.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/kernels/table.hpp"
#include "uform/status.hpp"

namespace uform {

/// The numbers of a BERT checkpoint's configuration, and what its positions start at.
struct BertShape {
    std::uint32_t layers = 0, hidden = 0, heads = 0, intermediate = 0;
    std::uint32_t vocabulary = 0, positions = 0, segments = 0; ///< rows of the three embedding tables
    std::uint32_t first_position = 0; ///< row of a text's first token; padding id + 1 in RoBERTa
    double layer_norm_epsilon = 1e-12;
    HiddenActivation activation = HiddenActivation::gelu;

    [[nodiscard]] std::uint32_t head_size() const noexcept { return hidden / heads; }
    /// Tokens of the longest text that the position table serves.
    [[nodiscard]] std::uint32_t longest_text() const noexcept { return positions - first_position; }
};

/// What a layer norm multiplies by and adds, [hidden] each.
struct LayerNormWeights {
    float const *gain = nullptr, *bias = nullptr;
};

/// One layer's weights. Queries, keys and values are one linear layer of 3 · hidden outputs, in this order, and the
/// queries' part carries the factor 1 / √head_size.
struct BertLayer {
    PackedLinear query_key_value, projection, up, down;
    LayerNormWeights after_attention, after_feed_forward;
};

/// All weights of an encoder. Move-only.
///
/// Memory  one block for what is packed, about as large as the float32 weights of the layers. Tables of embeddings that
///         are float32 stay where the checkpoint has them, so that only the rows in use are resident: the checkpoint's
///         mapping must outlive these. Other tables are widened into the block.
struct BertWeights {
    float const *words = nullptr, *positions = nullptr, *segments = nullptr; ///< tables of rows of [hidden]
    LayerNormWeights embedding_norm;
    Buffer<BertLayer> layers;

    /// Finds, checks and packs the weights. Names may have the prefix `bert.`; layer norms may be spelt `weight` and
    /// `bias` or `gamma` and `beta`; what else the checkpoint holds is not looked at.
    ///
    /// Errors  `corrupt` for a shape that can't be, a missing tensor, one of another shape, or one that holds NaN or
    ///         infinity; `unsupported` for an element type that isn't f32, f16 or bf16; `out_of_memory`.
    template <WeightSource Source>
    [[nodiscard]] static Result<BertWeights> load(BertShape const &shape, Kernels const &kernels,
                                                  Source const &source) noexcept {
        if (auto checked = check(shape); !checked) return std::move(checked).error();
        auto tensors = find_tensors(shape, source);
        if (!tensors) return std::move(tensors).error();
        BertWeights weights;
        if (auto packed = weights.pack(shape, kernels, *tensors); !packed) return std::move(packed).error();
        return weights;
    }

  private:
    /// The tensors of one linear layer, and of one layer norm, before they are packed.
    struct LinearTensors {
        FoundTensor weight, bias;
    };
    struct LayerNormTensors {
        FoundTensor gain, bias;
    };
    struct LayerTensors {
        LinearTensors query, key, value, projection, up, down;
        LayerNormTensors after_attention, after_feed_forward;
    };
    struct Tensors {
        FoundTensor words, positions, segments;
        LayerNormTensors embeddings;
        Buffer<LayerTensors> layers;
    };
    WeightBlock block_;

    [[nodiscard]] static Result<void> check(BertShape const &shape) noexcept;
    template <WeightSource Source>
    [[nodiscard]] static Result<Tensors> find_tensors(BertShape const &shape, Source const &source) noexcept;
    [[nodiscard]] Result<void> pack(BertShape const &shape, Kernels const &kernels, Tensors const &tensors) noexcept;
};

inline Result<void> BertWeights::check(BertShape const &shape) noexcept {
    constexpr std::uint32_t most = 1u << 24; // keeps every product below within 64 bits
    for (auto const &[number, name] :
         {std::pair{shape.layers, "layers"}, std::pair{shape.hidden, "hidden columns"}, std::pair{shape.heads, "heads"},
          std::pair{shape.intermediate, "intermediate columns"}, std::pair{shape.vocabulary, "vocabulary entries"},
          std::pair{shape.positions, "positions"}, std::pair{shape.segments, "segments"}})
        if (number == 0 || number > most)
            return Error::of(Status::corrupt, "the configuration asks for ", number, " ", name);
    if (shape.hidden % shape.heads)
        return Error::of(Status::corrupt, "the configuration asks for ", shape.hidden,
                         " hidden columns, which are no multiple of ", shape.heads, " heads");
    if (shape.first_position >= shape.positions)
        return Error::of(Status::corrupt, "the configuration's first position ", shape.first_position, " is past its ",
                         shape.positions, " positions");
    return {};
}

template <WeightSource Source>
Result<BertWeights::Tensors> BertWeights::find_tensors(BertShape const &shape, Source const &source) noexcept {
    Weights<Source> const weights(source, {"", "bert."}, "embeddings.word_embeddings.weight");
    std::size_t const hidden = shape.hidden, intermediate = shape.intermediate;
    Result<void> outcome;
    auto const find = [&](FoundTensor &found, std::initializer_list<std::size_t> wanted, std::string_view name,
                          std::string_view older = {}) {
        if (!outcome) return; // the first error is the one to tell
        auto result = weights.find(wanted, name, older);
        if (result) found = *result;
        else outcome = std::move(result).error();
    };
    auto const find_linear = [&](LinearTensors &found, std::size_t inputs, std::size_t outputs,
                                 TensorName const &name) {
        find(found.weight, {outputs, inputs}, TensorName(name.text(), ".weight").text());
        find(found.bias, {outputs}, TensorName(name.text(), ".bias").text());
    };
    auto const find_norm = [&](LayerNormTensors &found, TensorName const &name) {
        find(found.gain, {hidden}, TensorName(name.text(), ".weight").text(), TensorName(name.text(), ".gamma").text());
        find(found.bias, {hidden}, TensorName(name.text(), ".bias").text(), TensorName(name.text(), ".beta").text());
    };

    Tensors tensors;
    find(tensors.words, {shape.vocabulary, hidden}, "embeddings.word_embeddings.weight");
    find(tensors.positions, {shape.positions, hidden}, "embeddings.position_embeddings.weight");
    find(tensors.segments, {shape.segments, hidden}, "embeddings.token_type_embeddings.weight");
    find_norm(tensors.embeddings, TensorName("embeddings.LayerNorm"));
    for (std::uint32_t i = 0; outcome && i < shape.layers; ++i) {
        TensorName const name("encoder.layer.", i);
        auto const part = [&](std::string_view rest) { return TensorName(name.text(), rest); };
        LayerTensors layer;
        find_linear(layer.query, hidden, hidden, part(".attention.self.query"));
        find_linear(layer.key, hidden, hidden, part(".attention.self.key"));
        find_linear(layer.value, hidden, hidden, part(".attention.self.value"));
        find_linear(layer.projection, hidden, hidden, part(".attention.output.dense"));
        find_norm(layer.after_attention, part(".attention.output.LayerNorm"));
        find_linear(layer.up, hidden, intermediate, part(".intermediate.dense"));
        find_linear(layer.down, intermediate, hidden, part(".output.dense"));
        find_norm(layer.after_feed_forward, part(".output.LayerNorm"));
        if (outcome && !tensors.layers.push_back(layer))
            outcome = Error::fixed(Status::out_of_memory, "no memory for the layers");
    }
    if (!outcome) return std::move(outcome).error();
    return tensors;
}

inline Result<void> BertWeights::pack(BertShape const &shape, Kernels const &kernels, Tensors const &tensors) noexcept {
    std::uint32_t const hidden = shape.hidden, intermediate = shape.intermediate;
    BertLayer const unplaced = {.query_key_value = describe_linear(kernels, hidden, 3 * hidden),
                                .projection = describe_linear(kernels, hidden, hidden),
                                .up = describe_linear(kernels, hidden, intermediate),
                                .down = describe_linear(kernels, intermediate, hidden),
                                .after_attention = {},
                                .after_feed_forward = {}};
    auto const rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
    std::size_t const vector_bytes = rounded(hidden * sizeof(float));
    std::size_t bytes =
        2 * vector_bytes + shape.layers * (unplaced.query_key_value.bytes() + unplaced.projection.bytes() +
                                           unplaced.up.bytes() + unplaced.down.bytes() + 4 * vector_bytes);
    for (FoundTensor const *table : {&tensors.words, &tensors.positions, &tensors.segments})
        if (!is_float_array(*table->tensor)) bytes += rounded(table->tensor->elements() * sizeof(float));
    Buffer<float> row, bias;
    std::size_t const widest = hidden < intermediate ? intermediate : hidden;
    if (!block_.allocate(bytes) || !layers.reserve(shape.layers) || !row.resize(widest) || !bias.resize(widest))
        return Error::of(Status::out_of_memory, "no memory for ", bytes, " bytes of packed weights");

    Result<void> outcome;
    std::byte *free = block_.data();
    auto const take = [&](std::size_t taken) { return std::exchange(free, free + rounded(taken)); };
    auto const read = [&](FoundTensor const &found, std::size_t first, std::size_t count, float *into) {
        float const *floats = outcome ? read_floats(*found.tensor, first, count, into) : nullptr;
        if (outcome && !floats) outcome = not_finite(found);
        return floats;
    };
    auto const pack_vector = [&](FoundTensor const &found) {
        auto *vector = reinterpret_cast<float *>(take(hidden * sizeof(float)));
        float const *floats = read(found, 0, hidden, vector);
        if (floats && floats != vector) std::memcpy(vector, floats, hidden * sizeof(float));
        return vector;
    };
    auto const pack_norm = [&](LayerNormTensors const &found) -> LayerNormWeights {
        float const *const gain = pack_vector(found.gain), *const shift = pack_vector(found.bias);
        return {gain, shift};
    };
    auto const pack_outputs = [&](PackedLinear const &packed, std::size_t first, LinearTensors const &found,
                                  float scale) {
        std::size_t const outputs = found.bias.tensor->shape[0], inputs = packed.inputs;
        float const *const shift = read(found.bias, 0, outputs, bias.data());
        for (std::size_t output = 0; outcome && output < outputs; ++output)
            if (float const *weights = read(found.weight, output * inputs, inputs, row.data()))
                pack_output(packed, first + output, weights, shift[output], scale);
    };
    auto const place = [&](PackedLinear packed) {
        place_linear(packed, take(packed.bytes()));
        return packed;
    };
    auto const pack_table = [&](FoundTensor const &found) {
        std::size_t const rows = found.tensor->shape[0];
        bool const mapped = is_float_array(*found.tensor);
        auto *const own = mapped ? nullptr : reinterpret_cast<float *>(take(rows * hidden * sizeof(float)));
        for (std::size_t i = 0; outcome && i < rows; ++i)
            read(found, i * hidden, hidden, mapped ? nullptr : own + i * hidden);
        return mapped ? reinterpret_cast<float const *>(found.tensor->data) : own;
    };

    float const query_scale = 1.0f / std::sqrt(static_cast<float>(shape.head_size()));
    embedding_norm = pack_norm(tensors.embeddings);
    for (std::size_t i = 0; outcome && i < shape.layers; ++i) {
        LayerTensors const &found = tensors.layers[i];
        BertLayer layer = unplaced;
        layer.query_key_value = place(layer.query_key_value);
        pack_outputs(layer.query_key_value, 0, found.query, query_scale);
        pack_outputs(layer.query_key_value, hidden, found.key, 1);
        pack_outputs(layer.query_key_value, 2 * std::size_t{hidden}, found.value, 1);
        pack_outputs(layer.projection = place(layer.projection), 0, found.projection, 1);
        layer.after_attention = pack_norm(found.after_attention);
        pack_outputs(layer.up = place(layer.up), 0, found.up, 1);
        pack_outputs(layer.down = place(layer.down), 0, found.down, 1);
        layer.after_feed_forward = pack_norm(found.after_feed_forward);
        (void)layers.push_back(layer); // there is room
    }
    words = pack_table(tensors.words);
    positions = pack_table(tensors.positions);
    segments = pack_table(tensors.segments);
    return outcome;
}

} // namespace uform

#endif // UFORM_ENCODER_BERT_WEIGHTS_HPP
