/// Nor are rows read as such a type.
// REASON: specialise uform::scalar_of
#include "uform/arena.hpp"

#if defined(PASSING)
using Element = float;
#else
using Element = int;
#endif

bool reads(uform::Rows<uform::Ram> const &rows) { return rows.values<Element>().has_value(); }
int main() { return reads({}); }
