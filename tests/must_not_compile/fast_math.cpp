/// Kernels whose sums may be reordered, and whose NaN may be assumed away, would break what the library promises.
// REASON: without -ffast-math
#if !defined(PASSING)
#define __FAST_MATH__ 1 // as -ffast-math does
#endif
#include "uform/kernels/kernels.hpp"

int main() {
    return uform::kernels_for(uform::InstructionSet::portable).set == uform::InstructionSet::portable ? 0 : 1;
}
