/// An arena is moved, not copied: two owners of one block can't be.
// REASON: deleted|implicitly-deleted|use of deleted
#include <utility>

#include "uform/arena.hpp"

int main() {
    uform::Arena<uform::Ram> arena;
#if defined(PASSING)
    uform::Arena<uform::Ram> const other = std::move(arena);
#else
    uform::Arena<uform::Ram> const other = arena;
#endif
    return other.capacity() != 0;
}
