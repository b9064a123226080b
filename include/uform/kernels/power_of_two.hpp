/// The constants by which every instruction set computes 2^x, and e^x as 2^(x / ln 2).
#ifndef UFORM_KERNELS_POWER_OF_TWO_HPP
#define UFORM_KERNELS_POWER_OF_TWO_HPP

namespace uform {

/// 2^x = 2^n · 2^f with n = round(x), f = x − n, |f| ≤ ½.
///
/// The polynomial meets 2^f at the seven Chebyshev nodes of the interval, which leaves 2e-8. Where multiply-adds
/// are fused, a softmax takes x · (1 / ln 2) − m as its exponent: the rounding of m scales a whole row, and so cancels.
struct PowerOfTwo {
    static constexpr float per_ln2_k = 1.44269504f;
    static constexpr float polynomial_k[] = {1.0f,           0.693147182f,  0.240226507f,   0.0555032715f,
                                             0.00961805694f, 0.0013400428f, 0.000154614449f};
    static constexpr float smallest_k = -126.0f; ///< below it 2^x is not a normal float, and is answered as 0
    static constexpr float largest_k = 127.0f;   ///< a portable 2^x stays here for what lies above
};

} // namespace uform

#endif // UFORM_KERNELS_POWER_OF_TWO_HPP
