/// From the states of a text's tokens to one vector, and to unit length.
#ifndef UFORM_KERNELS_POOLING_HPP
#define UFORM_KERNELS_POOLING_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "uform/architecture.hpp"
#include "uform/config.hpp"
#include "uform/kernels/length.hpp"
#include "uform/math.hpp"

namespace uform {

/// Pools the states of one text in one way, but for the first `skipped` tokens.
///
/// Shapes  states  [tokens, hidden]  f32, tight
///         pooled  [hidden]          f32, overwritten; may not overlap `states`
/// Errors  none: a text of no tokens gives zeros. Where all are skipped, `cls` is still the first token's, as in the
///         reference, and the others are zeros; for `max` the reference gives -infinity.
/// Memory  allocates nothing. Threads: any, for distinct `pooled`.
/// Order   sums run in double precision in token order, and don't depend on the batch or the instruction set. A token
///         keeps its weight in the weighted mean whatever is skipped before it.
/// Source  Reimers and Gurevych 2019, Sentence-BERT, section 3; Muennighoff 2022, SGPT, for the weighted mean;
/// `Pooling`
///         of sentence-transformers 6.2, for what is skipped.
inline void pool(Pooling pooling, float const *states, std::size_t tokens, std::size_t hidden, float *pooled,
                 std::size_t skipped = 0) noexcept {
    if (tokens <= skipped) {
        if (tokens && pooling == Pooling::cls) std::memcpy(pooled, states, hidden * sizeof(float));
        else std::memset(pooled, 0, hidden * sizeof(float));
        return;
    }
    states += skipped * hidden, tokens -= skipped;
    if (pooling == Pooling::cls || pooling == Pooling::last) {
        std::size_t const token = pooling == Pooling::cls ? 0 : tokens - 1;
        std::memcpy(pooled, states + token * hidden, hidden * sizeof(float));
        return;
    }
    if (pooling == Pooling::max) {
        std::memcpy(pooled, states, hidden * sizeof(float));
        for (std::size_t token = 1; token < tokens; ++token)
            for (std::size_t i = 0; i < hidden; ++i) {
                float const state = states[token * hidden + i];
                if (state > pooled[i] || state != state) pooled[i] = state; // NaN wins, and then stays
            }
        return;
    }
    auto const length = static_cast<double>(tokens), before = static_cast<double>(skipped);
    double const divisor = pooling == Pooling::mean               ? length
                           : pooling == Pooling::mean_sqrt_length ? math::sqrt(length)
                                                                  : length * (length + 1) / 2 + length * before;
    double const weight_step = pooling == Pooling::weighted_mean ? 1 : 0;
    constexpr std::size_t block = 64; // columns whose sums stay in the first cache
    for (std::size_t first = 0; first < hidden; first += block) {
        std::size_t const columns = hidden - first < block ? hidden - first : block;
        double sums[block] = {}, weight = 1 + weight_step * before;
        for (std::size_t token = 0; token < tokens; ++token, weight += weight_step)
            for (std::size_t i = 0; i < columns; ++i)
                sums[i] += weight * static_cast<double>(states[token * hidden + first + i]);
        for (std::size_t i = 0; i < columns; ++i) pooled[first + i] = static_cast<float>(sums[i] / divisor);
    }
}

/// Pools the states of one text in several ways, end to end in the order given: `pooled` is [ways · hidden].
inline void pool(std::span<Pooling const> ways, float const *states, std::size_t tokens, std::size_t hidden,
                 float *pooled, std::size_t skipped = 0) noexcept {
    for (Pooling const way : ways) {
        pool(way, states, tokens, hidden, pooled, skipped);
        pooled += hidden;
    }
}

/// Scales a vector of `count` floats to unit length in place; one shorter than 1e-12 is divided by that, so that zeros
/// stay zeros.
///
/// Order   the squares are added in double precision, in order; the same bits for every instruction set.
/// Source  torch.nn.functional.normalize, with its default ε.
UFORM_NEVER_INLINE inline void normalize(float *vector, std::size_t count) noexcept {
    double const divisor = unit_divisor(vector, count);
    for (std::size_t i = 0; i < count; ++i) vector[i] = static_cast<float>(static_cast<double>(vector[i]) / divisor);
}

} // namespace uform

#endif // UFORM_KERNELS_POOLING_HPP
