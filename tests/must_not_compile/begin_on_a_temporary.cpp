/// A call on an arena that dies at the end of the line would answer views that are stale at once.
// REASON: the arena ends with the expression
#include "uform/arena.hpp"

int main() {
#if defined(PASSING)
    uform::Arena<uform::Ram> arena;
    return !arena.begin();
#else
    return !uform::Arena<uform::Ram>().begin();
#endif
}
