/// What is added to the scores of two tokens for the distance between them, in buckets as MPNet has them.
#ifndef UFORM_ENCODER_DISTANCE_BIAS_HPP
#define UFORM_ENCODER_DISTANCE_BIAS_HPP

#include <cstddef>
#include <cstdint>

#include "uform/kernels/attention.hpp"

namespace uform {

/// The bucket, of 32, of a key that stands `distance` places after its query.
///
/// Keys before the query, and the query itself, have the first 16 buckets, those after it the others. Of each 16, the
/// first 8 are one distance each, and the next grow by √2, so that 128 and more share the last.
/// Source  Raffel et al. 2019, T5; `MPNetEncoder.relative_position_bucket` of transformers 5.24, whose logarithm in f32
///         cuts where this does, at the integers n with n² ≥ 64 · 2^k.
[[nodiscard]] constexpr std::size_t distance_bucket(std::ptrdiff_t distance) noexcept {
    std::size_t const side = distance > 0 ? 16 : 0;
    std::size_t const places = static_cast<std::size_t>(distance > 0 ? distance : -distance);
    if (places < 8) return side + places;
    if (places >= 128) return side + 15;
    std::size_t bucket = 8;
    while (bucket < 15 && places * places >= std::size_t{64} << (bucket - 7)) ++bucket;
    return side + bucket;
}

/// The biases of all distances and heads, as `attend` reads them; it owns nothing.
struct DistanceBias {
    float const *zero = nullptr; ///< that of distance 0 in the first head
    std::size_t stride = 0;      ///< floats from one head to the next

    /// Floats that the biases take for texts of at most `tokens`.
    [[nodiscard]] static std::size_t floats(std::size_t tokens, std::size_t heads) noexcept {
        return heads * (tokens + AttentionRows::reach(tokens));
    }
    /// Fills in their memory from the table `buckets` of [32 or more, heads].
    [[nodiscard]] static DistanceBias fill(float *memory, std::size_t tokens, std::size_t heads,
                                           float const *buckets) noexcept {
        std::size_t const stride = tokens + AttentionRows::reach(tokens);
        for (std::size_t head = 0; head < heads; ++head)
            for (std::size_t at = 0; at < stride; ++at) {
                auto const distance = static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(tokens - 1);
                memory[head * stride + at] = buckets[distance_bucket(distance) * heads + head];
            }
        return {memory + tokens - 1, stride};
    }
};

} // namespace uform

#endif // UFORM_ENCODER_DISTANCE_BIAS_HPP
