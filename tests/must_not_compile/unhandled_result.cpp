/// A result that nobody looks at is a warning, and ours are errors: of each step of a call, of what changes an arena,
/// and of a function of the user's own, which needn't say so itself.
// REASON: nodiscard|unused-result|unused-value
// WARNS
#include <utility>

#include "uform/arena.hpp"

using namespace uform;

Result<int> verb() { return 1; }

#if defined(PASSING)
#define USE (void)
#else
#define USE
#endif

void calls(Arena<Ram> &arena, Draft<Ram> &draft, Writing<Ram> &writing, Rows<Ram> rows, RaggedRows<Ram> texts) {
    USE verb();                              // REFUSED
    USE arena.reserve(64);                   // REFUSED
    USE arena.trim();                        // REFUSED
    USE arena.detach();                      // REFUSED
    USE arena.begin();                       // REFUSED
    USE std::move(draft).commit();           // REFUSED
    USE std::move(writing).publish();        // REFUSED
    USE std::move(writing).publish_pinned(); // REFUSED
    USE rows.pin();                          // REFUSED
    USE rows.values<float>();                // REFUSED
    USE texts.at(0);                         // REFUSED
}
int main() {}
