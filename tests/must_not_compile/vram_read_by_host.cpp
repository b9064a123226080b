/// A GPU's rows have no host accessors, also pinned and as free functions; they are copied, or their address handed on.
// REASON: host_accessible|no matching member function for call to 'values'|'rows.values<T>()' is invalid
#include <span>
#include <vector>

#include "uform/cuda.hpp"

using namespace uform;

#if defined(PASSING)
bool reads(Rows<Vram> rows, Pinned<Rows<Vram>> const &pinned, RaggedRows<Vram> ragged) {
    std::vector<float> copy(rows.rows() * rows.columns());
    return rows.copy_to(std::span(copy)) && ragged.offsets() && rows.data() == pinned.data();
}
#else
void reads(Rows<Vram> rows, Pinned<Rows<Vram>> const &pinned, RaggedRows<Vram> ragged) {
    (void)rows.values<float>();          // REFUSED
    (void)rows.row<float>(0);            // REFUSED
    (void)rows.matrix<float>();          // REFUSED
    (void)pinned.values<float>();        // REFUSED
    (void)pinned.row<float>(0);          // REFUSED
    (void)pinned.matrix<float>();        // REFUSED
    (void)values<float>(rows);           // REFUSED
    (void)ragged.flat().values<float>(); // REFUSED
}
#endif
int main() {}
