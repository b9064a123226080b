/// Every compiler switch and macro of the library, but for the version's numbers and the include guards.
#ifndef UFORM_CONFIG_HPP
#define UFORM_CONFIG_HPP

#if __cplusplus < 202002L
#error "uform needs C++20: compile with -std=c++20, or cpp_std=c++20 in Meson"
#endif

/// 1 where exceptions are on: `Result::value()` then throws, otherwise it aborts.
#if defined(__cpp_exceptions)
#define UFORM_EXCEPTIONS 1
#else
#define UFORM_EXCEPTIONS 0
#endif

/// The answer borrows from the argument, or from the object where it stands behind the parameters.
#if defined(__clang__)
#define UFORM_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define UFORM_LIFETIMEBOUND
#endif

/// Code that must be the same in every unit, whatever its options, or whose calls would cost more than its work.
#define UFORM_ALWAYS_INLINE inline __attribute__((always_inline))
/// Code of some size that is asked for in several places, where a call costs nothing beside its work.
#define UFORM_NEVER_INLINE __attribute__((noinline))
#define UFORM_RESTRICT __restrict
/// Code of errors and of loading: never inlined, built small, and what leads to it is taken for unlikely.
#define UFORM_COLD __attribute__((cold, noinline))

/// x86-64 instruction sets are chosen at run time; a function that uses one says so, and needs no `-march`.
#if defined(__x86_64__)
#define UFORM_X86 1
#define UFORM_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define UFORM_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#else
#define UFORM_X86 0
#endif

/// 1 where the compiler was told to build for a processor that multiplies and adds in one step.
#if defined(__FMA__) || defined(__FP_FAST_FMAF) || defined(__aarch64__)
#define UFORM_FUSED_MULTIPLY_ADD 1
#else
#define UFORM_FUSED_MULTIPLY_ADD 0
#endif

/// 1 where the compiler may assume that no float is NaN, and reorder sums.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#define UFORM_FAST_MATH 1
#else
#define UFORM_FAST_MATH 0
#endif

/// The one place that names the header of SIMD intrinsics, so that a stand-in can emulate them.
#if !defined(UFORM_SIMD_HEADER)
#define UFORM_SIMD_HEADER "uform/kernels/intrinsics.hpp"
#endif
/// 1 where that reads single parts of `<immintrin.h>`, by names that these compilers are known to have.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12 && __GNUC__ <= 14 && !defined(_IMMINTRIN_H_INCLUDED)
#define UFORM_SIMD_PARTS 1
#else
#define UFORM_SIMD_PARTS 0
#endif

#if defined(__SANITIZE_ADDRESS__)
#define UFORM_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UFORM_ADDRESS_SANITIZER 1
#endif
#endif
#if !defined(UFORM_ADDRESS_SANITIZER)
#define UFORM_ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__)
#define UFORM_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UFORM_THREAD_SANITIZER 1
#endif
#endif
#if !defined(UFORM_THREAD_SANITIZER)
#define UFORM_THREAD_SANITIZER 0
#endif

#endif // UFORM_CONFIG_HPP
