/// What owns storage, a pin or a call is moved, not copied: an arena, its storage given away, a pin, and a call.
// REASON: deleted
#include <utility>

#include "uform/deferred.hpp"
#include "uform/encoded.hpp"

using namespace uform;

#if defined(PASSING)
#define GIVE(owner) std::move(owner)
#else
#define GIVE(owner) owner
#endif

Arena<Ram> give(Arena<Ram> &arena) { return GIVE(arena); }                           // REFUSED
Detached<Ram> give(Detached<Ram> &detached) { return GIVE(detached); }               // REFUSED
Draft<Ram> give(Draft<Ram> &draft) { return GIVE(draft); }                           // REFUSED
Writing<Ram> give(Writing<Ram> &writing) { return GIVE(writing); }                   // REFUSED
Pinned<Rows<Ram>> give(Pinned<Rows<Ram>> &pinned) { return GIVE(pinned); }           // REFUSED
Deferred<Encoded<Ram>> give(Deferred<Encoded<Ram>> &call) { return GIVE(call); }     // REFUSED
void assign(Arena<Ram> &arena, Arena<Ram> &other) { arena = GIVE(other); }           // REFUSED
void assign(Pinned<Rows<Ram>> &pin, Pinned<Rows<Ram>> &other) { pin = GIVE(other); } // REFUSED
int main() {}
