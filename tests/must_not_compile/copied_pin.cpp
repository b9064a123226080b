/// A pinned view is moved, not copied: it counts for one reader.
// REASON: deleted|implicitly-deleted|use of deleted
#include <utility>

#include "uform/arena.hpp"

uform::Pinned<uform::Rows<uform::Ram>> same(uform::Pinned<uform::Rows<uform::Ram>> &pinned) {
#if defined(PASSING)
    return std::move(pinned);
#else
    return pinned;
#endif
}
int main() {}
