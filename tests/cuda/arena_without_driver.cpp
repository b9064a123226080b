/// A program that includes device arenas and finds no driver: it starts, says why there is no device, and everything
/// else works.
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>

#include "uform/cuda.hpp"
#include "uform/executor.hpp"

using namespace uform;

int main() {
    for (unsigned ordinal = 0; ordinal != 2; ++ordinal) {
        auto const executor = Executor<Vram>::for_device(ordinal);
        if (executor) return std::puts("a device was found"), 2;
        auto const name = status_name(executor.error().status());
        std::printf("%.*s: %s\n", int(name.size()), name.data(), std::string(executor.error().message()).c_str());
    }
    Arena<Ram> arena(Executor<Ram>::with_threads(1).value());
    auto draft = arena.begin();
    if (!draft) return 3;
    auto const place = draft->place<float>(3, 4);
    auto writing = std::move(*draft).commit();
    if (!writing) return 4;
    std::ranges::fill(writing->values(place), 2.0f);
    auto const published = std::move(*writing).publish();
    if (!published) return 5;
    std::array<float, 12> read{};
    if (!(*published)[place].copy_to(std::span(read)) || std::ranges::count(read, 2.0f) != 12) return 6;
    if (!classify(read.data()).host_accessible || classify(read.data()).device_accessible) return 7;
    std::puts("host pages work");
}
