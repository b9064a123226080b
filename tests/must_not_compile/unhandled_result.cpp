/// A result that nobody looks at is a warning, and ours are errors.
// REASON: nodiscard|unused-result|unused-value
#include "uform/arena.hpp"

int main() {
    uform::Arena<uform::Ram> arena;
#if defined(PASSING)
    if (!arena.reserve(64)) return 1;
#else
    arena.reserve(64);
#endif
}
