/// Nor can a verb's answer be overlooked, at once or deferred, nor what a handle answers.
// REASON: nodiscard|unused-result|unused-value
// WARNS
#include "uform/model.hpp"

using namespace uform;

#if defined(PASSING)
#define USE (void)
#else
#define USE
#endif

void calls(BoundModel<Ram> const &model, Arena<Ram> &arena, Deferred<Encoded<Ram>> &call) {
    USE model.text_encode("a text", Outputs::embeddings, Scalar::f32, arena);            // REFUSED
    USE model.deferred().text_encode("a text", Outputs::embeddings, Scalar::f32, arena); // REFUSED
    USE call.wait();                                                                     // REFUSED
}
int main() {}
