/// The SIMD intrinsics that the kernels use: AVX2, FMA and the first of AVX-512.
#ifndef UFORM_KERNELS_INTRINSICS_HPP
#define UFORM_KERNELS_INTRINSICS_HPP

#include "uform/config.hpp"

#if UFORM_X86
#if UFORM_SIMD_PARTS
// GCC takes as long to read all of <immintrin.h> as <vector>, <string> and <memory>, and 3/4 of that are other sets.
// Its parts ask for the guard of the whole; each has its own, so that who includes the whole later gets the rest.
#define _IMMINTRIN_H_INCLUDED
// clang-format off
#include <emmintrin.h>
#include <pmmintrin.h>
#include <tmmintrin.h>
#include <smmintrin.h>
#include <avxintrin.h>
#include <avx2intrin.h>
#include <fmaintrin.h>
#include <avx512fintrin.h>
#include <avx512dqintrin.h>
// clang-format on
#undef _IMMINTRIN_H_INCLUDED
#else
#include <immintrin.h>
#endif
#endif

#endif // UFORM_KERNELS_INTRINSICS_HPP
