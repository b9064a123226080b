/// A tape's offsets are of 4 or 8 bytes.
// REASON: OffsetInteger|OffsetRange|constraints not satisfied|no matching
#include <cstdint>
#include <vector>

#include "uform/tape.hpp"

#if defined(PASSING)
using Offset = std::int32_t;
#else
using Offset = std::int16_t;
#endif

int main() {
    std::vector<Offset> const offsets{0, 3};
    return !uform::TapeView::of("abc", offsets);
}
