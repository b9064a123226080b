/// The weights of an encoder that is built like BERT: found in a checkpoint, checked, packed for an instruction set.
#ifndef UFORM_ENCODER_BERT_WEIGHTS_HPP
#define UFORM_ENCODER_BERT_WEIGHTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/encoder/bert_shape.hpp"
#include "uform/encoder/distance_bias.hpp"
#include "uform/encoder/rotary.hpp"
#include "uform/encoder/weight_block.hpp"
#include "uform/encoder/weight_packer.hpp"
#include "uform/encoder/weights.hpp"
#include "uform/kernels/linear.hpp"
#include "uform/kernels/table.hpp"
#include "uform/math.hpp"
#include "uform/status.hpp"

namespace uform {

/// One layer's weights. Queries, keys and values are one linear layer of 3 · hidden outputs, in this order, and the
/// queries' part carries the factor 1 / √head_size.
struct BertLayer {
    PackedLinear query_key_value, projection, gate, up, down;
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
    DistanceBias distance_bias;
    RotaryTable rotary;

    /// Finds, checks and packs the weights. Names may have the family's prefix; layer norms may be spelt `weight` and
    /// `bias` or `gamma` and `beta`; what else the checkpoint holds is not looked at. `place` is what messages name
    /// where no file can be named.
    ///
    /// Errors  `corrupt` for a shape that can't be, a missing tensor, one of another shape, or one that holds NaN or
    ///         infinity; `unsupported` for an element type that isn't f32, f16 or bf16; `out_of_memory`.
    template <WeightSource Source>
    [[nodiscard]] UFORM_COLD static Result<BertWeights> load(BertShape const &shape, Kernels const &kernels,
                                                             Source const &source, std::string_view place) noexcept;

  private:
    WeightBlock block_;

    [[nodiscard]] static Result<void> check(BertShape const &shape, std::string_view place) noexcept;
    template <WeightSource Source> void list(BertShape const &shape, WeightPacker<Source> &packer) noexcept;
};

UFORM_COLD inline Result<void> BertWeights::check(BertShape const &shape, std::string_view place) noexcept {
    constexpr std::uint32_t most = 1u << 24; // keeps every product below within 64 bits
    for (auto const &[number, name] :
         {std::pair{shape.layers, "layers"}, std::pair{shape.hidden, "hidden columns"}, std::pair{shape.heads, "heads"},
          std::pair{shape.intermediate, "intermediate columns"}, std::pair{shape.vocabulary, "vocabulary entries"},
          std::pair{shape.positions, "positions"}, std::pair{shape.segments + 1, "segments"}})
        if (number == 0 || number > most)
            return Error::of(Status::corrupt, place, ": the configuration asks for ", number, " ", name);
    if (shape.hidden % shape.heads || (shape.rotary_base != 0 && shape.head_size() % 2))
        return Error::of(Status::corrupt, place, ": the configuration asks for ", shape.hidden,
                         " hidden columns, which are no multiple of ", shape.heads,
                         shape.hidden % shape.heads ? " heads" : " heads of pairs");
    if (shape.first_position >= shape.positions)
        return Error::of(Status::corrupt, place, ": the configuration's first position ", shape.first_position,
                         " is past its ", shape.positions, " positions");
    return {};
}

template <WeightSource Source> void BertWeights::list(BertShape const &shape, WeightPacker<Source> &packer) noexcept {
    BertNames const &names = *shape.names;
    std::uint32_t const hidden = shape.hidden, wide = shape.intermediate;
    bool const attention_bias = shape.attention_bias, feed_forward_bias = shape.feed_forward_bias;
    float const query_scale = 1.0f / math::sqrt(static_cast<float>(shape.head_size()));

    packer.table(words, shape.vocabulary, hidden, TensorName(names.words, ".weight"));
    if (shape.rotary_base == 0)
        packer.table(positions, shape.positions, hidden, TensorName(names.positions, ".weight"));
    if (shape.segments) packer.table(segments, shape.segments, hidden, TensorName(names.segments, ".weight"));
    packer.norm(embedding_norm, hidden, TensorName(names.embedding_norm));
    packer.layers(layers, shape.layers, [&](BertLayer &layer, std::uint32_t number) noexcept {
        auto const part = [&](std::string_view name) { return TensorName(names.layer, number, name); };
        if (names.query_key_value.empty())
            packer.linear(
                layer.query_key_value, hidden,
                {{part(names.query), hidden, query_scale}, {part(names.key), hidden}, {part(names.value), hidden}},
                attention_bias);
        else
            packer.linear(layer.query_key_value, hidden,
                          {{part(names.query_key_value), hidden, query_scale, 0, 3 * hidden},
                           {part(names.query_key_value), 2 * hidden, 1, hidden, 3 * hidden}},
                          attention_bias);
        packer.linear(layer.projection, hidden, {{part(names.projection), hidden}}, attention_bias);
        packer.norm(layer.after_attention, hidden, part(names.after_attention));
        if (shape.gated) packer.linear(layer.gate, hidden, {{part(names.gate), wide}}, feed_forward_bias);
        packer.linear(layer.up, hidden, {{part(names.up), wide}}, feed_forward_bias);
        packer.linear(layer.down, wide, {{part(names.down), hidden}}, feed_forward_bias);
        packer.norm(layer.after_feed_forward, hidden, part(names.after_feed_forward));
    });
    if (shape.distance_buckets) {
        float const *buckets = nullptr;
        packer.matrix(buckets, shape.distance_buckets, shape.heads, TensorName(names.distance_bias, ".weight"));
        float *const room = packer.room(DistanceBias::floats(shape.longest_text(), shape.heads));
        if (room) distance_bias = DistanceBias::fill(room, shape.longest_text(), shape.heads, buckets);
    }
    if (shape.rotary_base != 0) {
        std::size_t const half = shape.head_size() / 2;
        float *const room = packer.room(RotaryTable::floats(shape.longest, half));
        if (room) rotary = RotaryTable::fill(room, shape.longest, half, shape.rotary_base);
    }
}

template <WeightSource Source>
Result<BertWeights> BertWeights::load(BertShape const &shape, Kernels const &kernels, Source const &source,
                                      std::string_view place) noexcept {
    if (auto checked = check(shape, place); !checked) return checked.error();
    Weights<Source> const tensors(source, {"", shape.names->prefix}, TensorName(shape.names->words, ".weight").text(),
                                  place);
    BertWeights weights;
    auto block = WeightPacker<Source>(tensors, kernels).pack([&](WeightPacker<Source> &packer) noexcept {
        weights.list(shape, packer);
    });
    if (!block) return block.error();
    weights.block_ = *std::move(block);
    return weights;
}

} // namespace uform

#endif // UFORM_ENCODER_BERT_WEIGHTS_HPP
