/// A steady loop allocates once: after the largest shapes were seen, no call allocates anything, in any order of
/// shapes.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "catch.hpp"
#include "skip.hpp"
#include "uform/arena.hpp"
#include "uform/tape.hpp"

using uform::Arena, uform::Ram, uform::Status;

namespace {

bool counts_allocations() {
    if (AllocationCounter::works) return true;
    skip_test("allocations can't be counted under a sanitizer, or without glibc");
    return false;
}

/// The same address, of which the compiler knows nothing, so that no pair of calls is optimised away.
void *kept(void *memory) {
    asm volatile("" : "+r"(memory));
    return memory;
}

/// Shapes of one call: what was the largest bounds all of them.
struct Shape {
    std::size_t texts, tokens, columns, outputs;
};

/// One call of several outputs, read by view. Answers whether all went well; asserts nothing, as assertions allocate.
bool call(Arena<Ram> &arena, Shape const &shape) {
    auto draft = arena.begin();
    if (!draft) return false;
    uform::Place<float> last;
    for (std::size_t i = 0; i != shape.outputs; ++i) last = draft->place<float>(shape.texts, shape.columns);
    auto const ragged = draft->place_ragged<uform::F16>(shape.texts, shape.tokens, shape.columns);
    auto writing = std::move(*draft).commit();
    if (!writing) return false;
    std::ranges::fill(writing->values(last), 1.0f);
    std::ranges::fill(writing->offsets(ragged), 0u);
    auto published = std::move(*writing).publish();
    if (!published) return false;
    auto const rows = (*published)[last];
    auto const pin = rows.pin();
    auto const ragged_rows = (*published)[ragged];
    return pin && rows.values<float>() && ragged_rows.offsets() &&
           rows.values<float>()->size() == shape.texts * shape.columns;
}

} // namespace

TEST_CASE("the counter sees every way to get memory", "[arena][allocations]") {
    if (!counts_allocations()) return;
    auto const counted = [](auto &&way) {
        AllocationCounter const counter;
        way();
        return counter.count();
    };
    CHECK(counted([] {}) == 0);
    CHECK(counted([] { std::free(kept(std::malloc(10))); }) == 1);
    CHECK(counted([] { std::free(kept(std::calloc(10, 10))); }) == 1);
    CHECK(counted([] { std::free(kept(std::realloc(kept(std::realloc(nullptr, 10)), 1000))); }) == 2);
    CHECK(counted([] { std::free(kept(std::aligned_alloc(64, 64))); }) == 1);
    CHECK(counted([] {
              void *memory = nullptr;
              if (posix_memalign(&memory, 64, 64) == 0) std::free(kept(memory));
          }) == 1);
    CHECK(counted([] { ::operator delete(kept(::operator new(10))); }) == 1);
    auto const aligned = std::align_val_t(128);
    CHECK(counted([&] { ::operator delete(kept(::operator new(128, aligned)), aligned); }) == 1);
    CHECK(counted([] { delete static_cast<std::string *>(kept(new std::string(100, 'x'))); }) == 2);
    CHECK(counted([] {
              void *pages = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              mprotect(pages, 4096, PROT_READ);
              pages = mremap(pages, 4096, 8192, MREMAP_MAYMOVE);
              munmap(pages, 8192);
          }) == 3);
}

TEST_CASE("contract 2: a steady loop of random shapes allocates nothing after the largest", "[arena][allocations]") {
    if (!counts_allocations()) return;
    for (bool with_limit : {false, true}) {
        Arena<Ram> arena;
        if (with_limit) arena.limit(4 << 20);
        Shape const largest{200, 1000, 96, 12};
        REQUIRE(call(arena, largest));
        auto const capacity = arena.capacity();
        std::mt19937 random(7);
        std::vector<Shape> shapes{largest, largest};
        for (int i = 0; i != 500; ++i) {
            auto const up_to = [&](std::size_t most) {
                return std::uniform_int_distribution<std::size_t>(0, most)(random);
            };
            shapes.push_back({up_to(200), up_to(1000), up_to(96), 1 + up_to(11)});
        }
        AllocationCounter const counter;
        bool fine = true;
        for (auto const &shape : shapes) fine = fine && call(arena, shape);
        auto const count = counter.count();
        CHECK(fine);
        CHECK(count == 0);
        CHECK(arena.capacity() == capacity);
    }
}

TEST_CASE("contract 2: what a call may be refused for allocates nothing either", "[arena][allocations]") {
    if (!counts_allocations()) return;
    Arena<Ram> arena;
    Shape const shape{10, 100, 8, 2};
    REQUIRE(call(arena, shape));
    auto draft = arena.begin();
    AllocationCounter const counter;
    bool contended = true;
    for (int i = 0; i != 100; ++i) {
        auto const refused = arena.begin();
        contended = contended && !refused && refused.error().status() == Status::contended &&
                    !refused.error().message().empty();
        contended = contended && !arena.reserve(10) && !arena.trim();
    }
    uform::Rows<Ram> const stale;
    for (int i = 0; i != 100; ++i) contended = contended && !stale.values<float>() && !stale.pin();
    auto const count = counter.count();
    CHECK(contended);
    CHECK(count == 0);
}

TEST_CASE("a growing loop asks the system for memory a few times, not every time", "[arena][allocations]") {
    if (!counts_allocations()) return;
    Arena<Ram> arena;
    REQUIRE(call(arena, {1, 1, 1, 1}));
    AllocationCounter const counter;
    bool fine = true;
    for (std::size_t i = 1; i != 1000; ++i) fine = fine && call(arena, {i, i, 64, 1});
    auto const count = counter.count();
    CHECK(fine);
    CHECK(count <= 20);
}

TEST_CASE("making and freeing arenas allocates no slot again", "[arena][allocations]") {
    if (!counts_allocations()) return;
    { Arena<Ram> const warm; }
    AllocationCounter const counter;
    for (int i = 0; i != 1000; ++i) Arena<Ram> const arena;
    auto const count = counter.count();
    CHECK(count == 0);
}

TEST_CASE("a tape that saw its largest texts allocates no more", "[vocabulary][allocations]") {
    if (!counts_allocations()) return;
    std::vector<std::string> const large(100, std::string(60, 'x')), small(40, "y");
    auto tape = uform::Tape::from(large).value();
    AllocationCounter const counter;
    bool fine = true;
    for (int i = 0; i != 10; ++i) fine = fine && tape.assign(small) && tape.assign(large);
    std::size_t bytes = 0;
    for (auto text : uform::TapeView(tape).subtape(3, 50)) bytes += text.size();
    auto const count = counter.count();
    CHECK(fine);
    CHECK(bytes == 3000);
    CHECK(count == 0);
}
