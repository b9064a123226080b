/// A place is of a type that rows are made of; `double` is none, unless its user says so.
// REASON: RowScalar|no_scalar|constraints not satisfied|scalar_of
#include "uform/arena.hpp"

#if defined(PASSING)
using Element = float;
#else
using Element = double;
#endif

int main() {
    uform::Arena<uform::Ram> arena;
    auto draft = arena.begin();
    return draft->place<Element>(1, 1).arena == nullptr;
}
