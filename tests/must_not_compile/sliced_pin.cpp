/// A pin that isn't named is gone at the end of the line, and with it what it kept: a plain view isn't made from one,
/// nor assigned, nor passed.
// REASON: would be sliced away
#include <utility>

#include "uform/encoded.hpp"

using namespace uform;

void read(Rows<Ram> rows);

#if defined(PASSING)
void keep(Rows<Ram> rows, RaggedRows<Ram> ragged, Encoded<Ram> encoded, Writing<Ram> writing) {
    auto const pinned = rows.pin().value();
    Rows<Ram> view = pinned; // the guard has a name, and lives on
    view = pinned;
    read(pinned);
    auto const texts = ragged.pin().value();
    ragged = texts;
    auto const all = encoded.pin().value();
    encoded = all;
    auto const published = std::move(writing).publish_pinned().value();
    [[maybe_unused]] Published<Ram> const places = published;
}
#else
void keep(Rows<Ram> rows, RaggedRows<Ram> ragged, Encoded<Ram> encoded, Writing<Ram> writing, Published<Ram> places) {
    Rows<Ram> const one = rows.pin().value();                                // REFUSED
    rows = rows.pin().value();                                               // REFUSED
    read(rows.pin().value());                                                // REFUSED
    auto pinned = rows.pin().value();                                        // the guard has a name
    rows = std::move(pinned);                                                // REFUSED
    RaggedRows<Ram> const two = ragged.pin().value();                        // REFUSED
    ragged = ragged.pin().value();                                           // REFUSED
    Encoded<Ram> const three = encoded.pin().value();                        // REFUSED
    encoded = encoded.pin().value();                                         // REFUSED
    Published<Ram> const four = std::move(writing).publish_pinned().value(); // REFUSED
    places = std::move(writing).publish_pinned().value();                    // REFUSED
    (void)one, (void)two, (void)three, (void)four;
}
#endif
int main() {}
