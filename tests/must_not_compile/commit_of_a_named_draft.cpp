/// Commit uses a draft up, and says so with `std::move`.
// REASON: discards qualifiers|expects an rvalue|ref-qualifier|lvalue
#include <utility>

#include "uform/arena.hpp"

int main() {
    uform::Arena<uform::Ram> arena;
    auto draft = arena.begin();
#if defined(PASSING)
    return !std::move(*draft).commit();
#else
    return !draft->commit();
#endif
}
