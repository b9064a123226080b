/// The functions of real numbers that are used: `<cmath>` takes a sixth of what `<vector>`, `<string>` and `<memory>`
/// take together, nearly all of it for special functions.
#ifndef UFORM_MATH_HPP
#define UFORM_MATH_HPP

/// Each is the C library's, or an instruction of the processor, as its namesake in `<cmath>`.
namespace uform::math {

[[nodiscard]] inline float sqrt(float x) noexcept { return __builtin_sqrtf(x); }
[[nodiscard]] inline double sqrt(double x) noexcept { return __builtin_sqrt(x); }
[[nodiscard]] inline float fabs(float x) noexcept { return __builtin_fabsf(x); }
[[nodiscard]] inline float tanh(float x) noexcept { return __builtin_tanhf(x); }
[[nodiscard]] inline double tanh(double x) noexcept { return __builtin_tanh(x); }
[[nodiscard]] inline double exp(double x) noexcept { return __builtin_exp(x); }
[[nodiscard]] inline double expm1(double x) noexcept { return __builtin_expm1(x); }
[[nodiscard]] inline double log1p(double x) noexcept { return __builtin_log1p(x); }
[[nodiscard]] inline double erfc(double x) noexcept { return __builtin_erfc(x); }
[[nodiscard]] inline double pow(double base, double exponent) noexcept { return __builtin_pow(base, exponent); }
[[nodiscard]] inline double cos(double x) noexcept { return __builtin_cos(x); }
[[nodiscard]] inline double sin(double x) noexcept { return __builtin_sin(x); }

} // namespace uform::math

#endif // UFORM_MATH_HPP
