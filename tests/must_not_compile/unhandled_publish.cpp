/// So is a call whose end nobody looks at.
// REASON: nodiscard|unused-result|unused-value
#include <utility>

#include "uform/arena.hpp"

int main() {
    uform::Arena<uform::Ram> arena;
    auto writing = arena.begin().value();
    auto begun = std::move(writing).commit().value();
#if defined(PASSING)
    return !std::move(begun).publish();
#else
    std::move(begun).publish();
#endif
}
