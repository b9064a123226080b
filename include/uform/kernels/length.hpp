/// The length of a vector, the same for all that divides by it.
#ifndef UFORM_KERNELS_LENGTH_HPP
#define UFORM_KERNELS_LENGTH_HPP

#include <cstddef>

#include "uform/config.hpp"
#include "uform/math.hpp"

namespace uform {

/// √Σx² of `count` floats.
///
/// Errors  none: NaN and infinity give what they give in double precision.
/// Order   the squares are added in double precision, in order, in eight sums that are added at the end; the same bits
///         for every instruction set.
[[nodiscard]] UFORM_NEVER_INLINE inline double euclidean_length(float const *vector, std::size_t count) noexcept {
    constexpr std::size_t lanes = 8;
    double sums[lanes] = {};
    std::size_t const whole = count / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes) // of fixed size, so that compilers vectorise it even at -O2
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            auto const value = static_cast<double>(vector[i + lane]);
            sums[lane] += value * value;
        }
    for (std::size_t i = whole; i < count; ++i) {
        auto const value = static_cast<double>(vector[i]);
        sums[i - whole] += value * value;
    }
    double sum = 0;
    for (double const lane : sums) sum += lane;
    return math::sqrt(sum);
}

/// What `vector` is divided by to have unit length: its length, and at least 1e-12, so that zeros stay zeros.
///
/// Source  torch.nn.functional.normalize, with its default ε.
[[nodiscard]] inline double unit_divisor(float const *vector, std::size_t count) noexcept {
    double const length = euclidean_length(vector, count);
    return length < 1e-12 ? 1e-12 : length; // NaN stays
}

} // namespace uform

#endif // UFORM_KERNELS_LENGTH_HPP
