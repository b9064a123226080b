/// A piecewise polynomial for the Gaussian error linear unit, shared by all instruction sets.
#ifndef UFORM_KERNELS_GELU_TABLE_HPP
#define UFORM_KERNELS_GELU_TABLE_HPP

#include <cstddef>

namespace uform {

/// Coefficients of Φ(x) − ½ = ½ · erf(x / √2) on eight intervals of [0, 5.25], a quintic each.
///
/// Interval i covers [i, i + 1] · 5.25 / 8 and its variable runs from −½ to ½ across it. With them
/// gelu(x) = ½x + |x| · (Φ(|x|) − ½), within 3.5e-7 · |x| of x · Φ(x) when computed in float32; past 5.25 it is exactly
/// x, and exactly 0 for negative x. A quintic on eight intervals errs as little as a cubic on 32, and the eight entries
/// of a power fit one AVX2 register.
struct GeluTable {
    static constexpr std::size_t intervals_k = 8, powers_k = 6;
    static constexpr double range_k = 5.25;
    static constexpr float intervals_per_unit_k = static_cast<float>(intervals_k / range_k);
    static constexpr float last_position_k = 7.9999995f; ///< the float before 8: what lies beyond is clamped to it

    alignas(64) float coefficients[powers_k][intervals_k] = {}; ///< of the variable's powers 0 to 5

    constexpr GeluTable() noexcept {
        for (std::size_t interval = 0; interval < intervals_k; ++interval) {
            double power[powers_k] = {};
            fit(static_cast<double>(interval), power);
            // The last piece ends at ½, not at Φ(5.25) − ½, so that large negative numbers go to zero.
            if (interval + 1 == intervals_k) power[0] += 0.5 - above_half(range_k);
            for (std::size_t k = 0; k < powers_k; ++k) coefficients[k][interval] = static_cast<float>(power[k]);
        }
    }

  private:
    /// Φ(x) − ½ by its series φ(x) · Σ x^(2n+1) / (2n+1)!!, which has no cancellation for positive x.
    /// Source  Abramowitz and Stegun 1964, 26.2.11.
    static constexpr double above_half(double x) noexcept {
        double exponential = 1, sum = x;
        for (double n = 1, term = 1; n < 90; ++n) exponential += term *= x * x / 2 / n;
        for (double n = 1, term = x; n < 90; ++n) sum += term *= x * x / (2 * n + 1);
        return 0.398942280401432678 * sum / exponential;
    }

    /// The polynomial through the interval's six Chebyshev nodes: Newton's divided differences, multiplied out.
    static constexpr void fit(double interval, double (&power)[powers_k]) noexcept {
        constexpr double nodes[powers_k] = {-0.482962913144534143, -0.353553390593273762, -0.129409522551260381,
                                            0.129409522551260381,  0.353553390593273762,  0.482962913144534143};
        double differences[powers_k] = {};
        for (std::size_t j = 0; j < powers_k; ++j)
            differences[j] = above_half((interval + 0.5 + nodes[j]) * (range_k / intervals_k));
        for (std::size_t order = 1; order < powers_k; ++order)
            for (std::size_t j = powers_k - 1; j >= order; --j)
                differences[j] = (differences[j] - differences[j - 1]) / (nodes[j] - nodes[j - order]);
        for (std::size_t j = powers_k; j-- > 0;) { // Horner's rule on polynomials
            for (std::size_t k = powers_k - 1; k > 0; --k) power[k] = power[k - 1] - nodes[j] * power[k];
            power[0] = differences[j] - nodes[j] * power[0];
        }
    }
};

inline constexpr GeluTable gelu_table{};

} // namespace uform

#endif // UFORM_KERNELS_GELU_TABLE_HPP
