/// Nor can the result of a user's own function be overlooked, which needn't say so itself.
// REASON: nodiscard|unused-result|unused-value
#include "uform/status.hpp"

uform::Result<int> verb() { return 1; }

int main() {
#if defined(PASSING)
    return !verb();
#else
    verb();
#endif
}
