/// Rotary positions: the sines and cosines of every position, and the turning of a text's queries and keys by them.
#ifndef UFORM_ENCODER_ROTARY_HPP
#define UFORM_ENCODER_ROTARY_HPP

#include <cstddef>

#include "uform/kernels/table.hpp"
#include "uform/math.hpp"

namespace uform {

/// The turns of all positions; it owns nothing.
///
/// Shapes  cos, sin  [positions, half]  f32, of the angle position · base^(−2i / head_size) for pair i
/// Source  Su et al. 2021, RoFormer, section 3.2. The frequencies and the angles are rounded to f32, as in Hugging
///         Face's `compute_default_rope_parameters` and `forward`, whatever the rest is computed in.
struct RotaryTable {
    float const *cos = nullptr, *sin = nullptr;
    std::size_t half = 0;

    /// Floats that a table takes.
    [[nodiscard]] static std::size_t floats(std::size_t positions, std::size_t half) noexcept {
        return 2 * positions * half;
    }
    /// Fills in the memory of a table.
    [[nodiscard]] static RotaryTable fill(float *memory, std::size_t positions, std::size_t half,
                                          double base) noexcept {
        float *const cosines = memory, *const sines = memory + positions * half;
        for (std::size_t i = 0; i < half; ++i) {
            auto const exponent = static_cast<float>(2 * i) / static_cast<float>(2 * half);
            float const frequency = 1.0f / static_cast<float>(math::pow(base, static_cast<double>(exponent)));
            for (std::size_t position = 0; position < positions; ++position) {
                auto const angle = static_cast<double>(static_cast<float>(position) * frequency);
                cosines[position * half + i] = static_cast<float>(math::cos(angle));
                sines[position * half + i] = static_cast<float>(math::sin(angle));
            }
        }
        return {cosines, sines, half};
    }
    /// Turns the first `heads` heads of each row of one text, in place.
    ///
    /// Shapes  rows  [tokens, heads, 2, half]  f32, tokens `stride` floats apart; the first is at position 0
    void turn(Kernels const &kernels, float *rows, std::size_t stride, std::size_t tokens,
              std::size_t heads) const noexcept {
        for (std::size_t token = 0; token < tokens; ++token)
            kernels.rotate(rows + token * stride, heads, half, cos + token * half, sin + token * half);
    }
};

} // namespace uform

#endif // UFORM_ENCODER_ROTARY_HPP
