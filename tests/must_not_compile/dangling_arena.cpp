/// A call's answer lives no longer than its arena: returned from where the arena is, Clang warns.
// COMPILER: clang
// REASON: address of stack memory
// WARNS
#include "uform/model.hpp"

using namespace uform;

#if defined(PASSING)
#define LOCAL static
#else
#define LOCAL
#endif

Result<Draft<Ram>> begin() {
    LOCAL Arena<Ram> arena;
    return arena.begin(); // REFUSED
}
Result<Encoded<Ram>> encode(BoundModel<Ram> const &model) {
    LOCAL Arena<Ram> arena;
    return model.text_encode("a text", Outputs::embeddings, Scalar::f32, arena); // REFUSED
}
Result<Encoded<Ram>> encode_here(Model const &model) {
    LOCAL Arena<Ram> arena;
    return model.text_encode("a text", Outputs::embeddings, Scalar::f32, arena); // REFUSED
}
Result<Deferred<Encoded<Ram>>> submit(DeferredModel<Ram> const &model) {
    LOCAL Arena<Ram> arena;
    return model.text_encode("a text", Outputs::embeddings, Scalar::f32, arena); // REFUSED
}
int main() {}
