/// Nor does a verb write into an arena that dies at the end of the line: on the calling thread, on an executor,
/// deferred.
// REASON: deleted
#include "uform/model.hpp"

using namespace uform;

#if defined(PASSING)
Arena<Ram> arena;
#define ARENA arena
#else
#define ARENA Arena<Ram>()
#endif

void encode(Model const &model, BoundModel<Ram> const &bound) {
    (void)model.text_encode("a text", Outputs::embeddings, Scalar::f32, ARENA);            // REFUSED
    (void)bound.text_encode("a text", Outputs::embeddings, Scalar::f32, ARENA);            // REFUSED
    (void)bound.deferred().text_encode("a text", Outputs::embeddings, Scalar::f32, ARENA); // REFUSED
}
int main() {}
