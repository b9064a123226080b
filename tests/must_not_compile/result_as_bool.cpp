/// A result isn't a number: it converts to `bool` in conditions only.
// REASON: cannot convert|no viable conversion|could not convert
#include "uform/status.hpp"

bool worked(uform::Result<int> const &result) {
#if defined(PASSING)
    return result.has_value();
#else
    return result;
#endif
}
int main() { return worked(0); }
