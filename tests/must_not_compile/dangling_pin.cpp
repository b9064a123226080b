/// What a pin answers is safe while the pin lives: kept from one that has no name, or returned beside its end, Clang
/// warns.
// COMPILER: clang
// REASON: temporary whose address is used|address of stack memory
// WARNS
#include "uform/encoded.hpp"

using namespace uform;

Pinned<Rows<Ram>> rows();
Result<Pinned<Rows<Ram>>> rows_or_error();
Pinned<RaggedRows<Ram>> ragged();
Pinned<Encoded<Ram>> encoded();
Result<Pinned<Encoded<Ram>>> encoded_or_error();
Pinned<Published<Ram>> published();

#if defined(PASSING)
bool keep(Place<float> place) {
    auto const kept = rows();
    auto const values = kept.values<float>();
    auto const *const address = kept.data();
    auto const all = encoded_or_error();
    auto const embeddings = all->embeddings();
    auto const texts = ragged();
    auto const offsets = texts.offsets();
    auto const places = published();
    auto const placed = places[place];
    return values && address && embeddings.is_current() && offsets && placed.is_current();
}
#else
void keep(Place<float> place) {
    [[maybe_unused]] auto a = rows().values<float>();                  // REFUSED
    [[maybe_unused]] auto b = rows_or_error().value().values<float>(); // REFUSED
    [[maybe_unused]] auto c = rows_or_error()->row<float>(0);          // REFUSED
    [[maybe_unused]] auto d = (*rows_or_error()).matrix<float>();      // REFUSED
    [[maybe_unused]] auto e = rows().data();                           // REFUSED
    [[maybe_unused]] auto f = values<float>(rows());                   // REFUSED
    [[maybe_unused]] auto g = row<float>(rows(), 0);                   // REFUSED
    [[maybe_unused]] auto h = matrix<float>(rows());                   // REFUSED
    [[maybe_unused]] auto i = ragged().flat();                         // REFUSED
    [[maybe_unused]] auto j = ragged().at(0);                          // REFUSED
    [[maybe_unused]] auto k = ragged().offsets();                      // REFUSED
    [[maybe_unused]] auto l = encoded().embeddings();                  // REFUSED
    [[maybe_unused]] auto m = encoded_or_error().value().states();     // REFUSED
    [[maybe_unused]] auto n = encoded_or_error()->truncated_tokens();  // REFUSED
    [[maybe_unused]] auto o = encoded().token_ids();                   // REFUSED
    [[maybe_unused]] auto p = published()[place];                      // REFUSED
}
Result<std::span<float const>> returned_values() {
    auto pinned = rows();
    return pinned.values<float>(); // REFUSED
}
void const *returned_address() {
    auto pinned = rows_or_error();
    return pinned->data(); // REFUSED
}
Rows<Ram> returned_view() {
    auto pinned = encoded();
    return pinned.embeddings(); // REFUSED
}
Rows<Ram> returned_view_of_a_result() {
    auto pinned = encoded_or_error();
    return pinned->embeddings(); // REFUSED
}
#endif
int main() {}
