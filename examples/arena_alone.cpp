/// An arena without any model: a verb of one's own that answers a number of rows that only it knows.
#include <cmath>
#include <cstdint>
#include <cstdio>

#include <uform/arena.hpp>

/// The divisors of 1 … `count`, parted by number.
static uform::Result<uform::RaggedRows<uform::Ram>> divisors(std::size_t count, uform::Arena<uform::Ram> &arena) {
    auto draft = arena.begin(); // a busy arena answers contended
    if (!draft) return draft.error();
    std::size_t most = 0;
    for (std::size_t n = 1; n <= count; ++n) most += 2 * static_cast<std::size_t>(std::sqrt(static_cast<double>(n)));
    auto place = draft->place_ragged<std::uint32_t>(count, most, 1); // an upper bound

    auto writing = std::move(*draft).commit(); // from here on the old results are stale
    if (!writing) return writing.error();
    auto values = writing->values(place), offsets = writing->offsets(place);
    std::uint32_t found = offsets[0] = 0;
    for (std::uint32_t n = 1; n <= count; offsets[n++] = found)
        for (std::uint32_t d = 1; d <= n; ++d)
            if (n % d == 0) values[found++] = d;

    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}

int main() {
    uform::Arena<uform::Ram> arena;
    auto first = divisors(12, arena).value();
    for (std::uint32_t d : first.at(11).value().values<std::uint32_t>().value()) std::printf("%u divides 12\n", d);
    (void)divisors(100, arena).value();
    std::printf("after the next call: %s\n", first.at(11).error().what());
}
