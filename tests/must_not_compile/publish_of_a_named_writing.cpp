/// Publish uses a writing up, and says so with `std::move`, so that a second one is seen where it is written.
// REASON: discards qualifiers|expects an rvalue|ref-qualifier|lvalue
#include <utility>

#include "uform/arena.hpp"

#if defined(PASSING)
#define GIVE(writing) std::move(writing)
#else
#define GIVE(writing) writing
#endif

bool publish(uform::Writing<uform::Ram> &writing) { return GIVE(writing).publish().has_value(); }       // REFUSED
bool pinned(uform::Writing<uform::Ram> &writing) { return GIVE(writing).publish_pinned().has_value(); } // REFUSED
int main() {}
