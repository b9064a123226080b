/// A view of texts lives no longer than the texts: kept of a temporary tape, string or offsets, Clang warns.
// COMPILER: clang
// REASON: temporary whose address is used|address of stack memory
// WARNS
#include <cstdint>
#include <string>
#include <vector>

#include "uform/tape.hpp"

using namespace uform;

Tape tape();
std::string text();
std::vector<std::int32_t> offsets();

#if defined(PASSING)
std::size_t keep() {
    auto const owner = tape();
    TapeView const texts = owner;
    auto const word = text();
    TapeView const one = word;
    auto const parts = offsets();
    auto const many = TapeView::of(word, parts);
    return texts.size() + one.size() + many->size();
}
#else
void keep() {
    [[maybe_unused]] TapeView a = tape();                        // REFUSED
    [[maybe_unused]] TapeView b = text();                        // REFUSED
    [[maybe_unused]] auto c = TapeView::of("a text", offsets()); // REFUSED
}
TapeView returned() {
    auto const owner = tape();
    return owner; // REFUSED
}
#endif
int main() {}
