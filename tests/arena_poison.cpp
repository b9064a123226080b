/// What AddressSanitizer is told: a raw stale pointer traps from the rewind on until its bytes are placed again, and
/// wherever its storage has gone. Each child reads one byte through such a pointer; the reason of its end is checked.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "arena_fixture.hpp"
#include "catch.hpp"
#include "child_process.hpp"
#include "skip.hpp"
#include "uform/arena.hpp"
#include "uform/config.hpp"

using uform::Arena, uform::Detached, uform::Pinned, uform::Ram, uform::Result, uform::Rows;

namespace {

bool traps_can_be_seen() {
    if (UFORM_ADDRESS_SANITIZER) return true;
    skip_test("rewound bytes are poisoned under AddressSanitizer only");
    return false;
}

/// An arena with rows of 4 pages of the value 1, of which a child keeps a raw pointer. `moves`: its block is full and
/// can't grow in place.
struct Scene {
    std::optional<Arena<Ram>> arena{std::in_place};
    Rows<Ram> rows;
    std::optional<Pinned<Rows<Ram>>> pin;
    std::optional<Detached<Ram>> detached;
    std::optional<uform::Writing<Ram>> writing; // ends before the arena
    std::byte *stale = nullptr;

    explicit Scene(bool moves) {
        if (moves) {
            arena->limit(page);
            (void)fill(*arena, page, 0);
            arena->limit(SIZE_MAX);
        }
        rows = fill(*arena, 4 * page, 1).value();
        stale = static_cast<std::byte *>(const_cast<void *>(rows.data()));
    }
};

int children = 0, traps = 0;

enum class Block { grows, moves };
enum class Access { read, write, copy };

/// What becomes of a child that touches a byte of the first rows after `then`: "lived N" with the byte that it read,
/// the reason that AddressSanitizer gave, or all that it printed.
template <class Then>
std::string touch_after(std::size_t offset, Then then, Block block = Block::grows, Access access = Access::read) {
    ++children;
    auto const ended = in_child([&] {
        Scene scene(block == Block::moves);
        then(scene);
        std::printf("touching\n"), std::fflush(stdout); // so that an end before is no success
        auto volatile *const byte = reinterpret_cast<std::uint8_t volatile *>(scene.stale + offset);
        char copy[8] = {};
        if (access == Access::write) *byte = 9;
        if (access == Access::copy) std::memcpy(copy, scene.stale + offset, sizeof copy);
        std::printf("lived %d\n", access == Access::copy ? copy[0] : int{*byte}), std::fflush(stdout);
        return 0;
    });
    auto const said = [&](char const *words) { return ended.output.find(words) != std::string::npos; };
    if (!said("touching\n")) return "ended before: " + ended.output;
    if (auto const at = ended.output.find("lived "); ended.by_itself && at != std::string::npos)
        return ended.output.substr(at, ended.output.find('\n', at) - at);
    char const *const way = access == Access::write ? "WRITE" : "READ";
    if (said("AddressSanitizer: use-after-poison on address") && said((std::string(way) + " of size ").c_str()))
        return ++traps, "use-after-poison";
    if (said("AddressSanitizer: SEGV on unknown address") &&
        said((std::string("The signal is caused by a ") + way + " memory access").c_str()))
        return ++traps, "SEGV";
    return ended.output;
}
/// Its bytes may be gone from the process, or another block's that hasn't placed them.
bool is_trap(std::string const &what) { return what == "SEGV" || what == "use-after-poison"; }

} // namespace

TEST_CASE("poison: rows that are current, or were refused a rewind, can be read", "[arena][poison]") {
    if (!traps_can_be_seen()) return;
    CHECK(touch_after(0, [](Scene &) {}) == "lived 1");
    CHECK(touch_after(4 * page - 1, [](Scene &) {}) == "lived 1");
    CHECK(touch_after(
              4 * page - 8, [](Scene &) {}, Block::grows, Access::copy) == "lived 1");
    CHECK(touch_after(100, [](Scene &s) { (void)s.arena->begin(); }) == "lived 1");
    CHECK(touch_after(100, [](Scene &s) { (void)s.arena->begin()->place<float>(1, 1); }) == "lived 1");
    CHECK(touch_after(100, [](Scene &s) { s.arena->limit(64), (void)fill(*s.arena, 128, 2); }) == "lived 1");
    CHECK(touch_after(100, [](Scene &s) { (void)s.arena->reserve(64 * page); }) == "lived 1");
    CHECK(touch_after(4 * page - 1, [](Scene &s) { (void)s.arena->trim(); }) == "lived 1");
    CHECK(touch_after(100, [](Scene &) {
              Arena<Ram> other;
              (void)fill(other, 64, 2);
          }) == "lived 1");
    CHECK(touch_after(100, [](Scene &s) {
              Arena<Ram> moved = std::move(*s.arena);
              s.arena = std::move(moved);
          }) == "lived 1");
    for (auto const block : {Block::grows, Block::moves}) // a pin comes before a larger call's commit
        CHECK(touch_after(
                  100,
                  [](Scene &s) {
                      auto draft = s.arena->begin();
                      (void)draft->place<std::uint8_t>(64, page);
                      auto const pin = s.rows.pin();
                      (void)std::move(*draft).commit();
                  },
                  block) == "lived 1");
    CHECK(touch_after(
              100, [](Scene &s) { (void)s.arena->reserve(64 * page); }, Block::moves) == "lived 1");
    CHECK(touch_after(
              4 * page - 1, [](Scene &s) { (void)s.arena->trim(); }, Block::moves) == "lived 1");
}

TEST_CASE("poison: after a rewind until the bytes are placed again", "[arena][poison]") {
    if (!traps_can_be_seen()) return;
    auto const small_call = [](Scene &s) { (void)fill(*s.arena, 64, 2); };
    CHECK(touch_after(0, small_call) == "lived 2"); // placed again, and legally rewritten
    CHECK(touch_after(63, small_call) == "lived 2");
    CHECK(touch_after(64, small_call) == "use-after-poison");
    CHECK(touch_after(4 * page - 1, small_call) == "use-after-poison");
    CHECK(touch_after(64, small_call, Block::grows, Access::write) == "use-after-poison");
    CHECK(touch_after(64, small_call, Block::grows, Access::copy) == "use-after-poison");
    CHECK(touch_after(64, small_call, Block::moves) == "use-after-poison");
    CHECK(touch_after(0, [](Scene &s) { (void)fill(*s.arena, 0, 2); }) == "use-after-poison");
    CHECK(touch_after(4 * page - 1, [](Scene &s) { (void)fill(*s.arena, 64, 2), (void)fill(*s.arena, 4 * page, 3); }) ==
          "lived 3");
    auto const while_writing = [](Scene &s) { // while a call writes
        auto draft = s.arena->begin();
        (void)draft->place<std::uint8_t>(1, 64);
        s.writing.emplace(std::move(*draft).commit().value());
    };
    CHECK(touch_after(2 * page, while_writing) == "use-after-poison");
    CHECK(touch_after(2 * page, while_writing, Block::moves, Access::write) == "use-after-poison");
    // Between two places, behind the last one, and behind offsets.
    auto const places = [](Scene &s) {
        auto draft = s.arena->begin();
        auto const rows = draft->place<std::uint8_t>(1, 68);           // 0 to 68
        auto const texts = draft->place_ragged<std::uint8_t>(1, 3, 1); // 192 to 195, offsets 128 to 136
        auto const ids = draft->place_host<std::uint8_t>(5, 1);        // 256 to 261
        auto writing = std::move(*draft).commit();
        std::ranges::fill(writing->values(rows), std::uint8_t{3});
        std::ranges::fill(writing->values(texts), std::uint8_t{4});
        std::ranges::fill(writing->values(ids), std::uint8_t{5});
        writing->offsets(texts)[0] = 0, writing->offsets(texts)[1] = 3;
        (void)std::move(*writing).publish();
    };
    CHECK(touch_after(67, places) == "lived 3");
    CHECK(touch_after(72, places) == "use-after-poison");
    CHECK(touch_after(132, places) == "lived 3");
    CHECK(touch_after(136, places) == "use-after-poison");
    CHECK(touch_after(194, places) == "lived 4");
    CHECK(touch_after(200, places) == "use-after-poison");
    CHECK(touch_after(260, places) == "lived 5");
    CHECK(touch_after(264, places) == "use-after-poison");
}

TEST_CASE("poison: after a call that failed once it wrote", "[arena][poison]") {
    if (!traps_can_be_seen()) return;
    enum class Way { dropped, kept_too_many, offsets_fall, fine };
    auto const failing = [](Way way) {
        return [way](Scene &s) {
            auto draft = s.arena->begin();
            auto const rows = draft->place<std::uint8_t>(4, page);
            auto const texts = draft->place_ragged<std::uint8_t>(1, 3, 1);
            auto writing = std::move(*draft).commit();
            std::ranges::fill(writing->values(rows), std::uint8_t{3});
            writing->offsets(texts)[0] = way == Way::offsets_fall ? 1 : 0, writing->offsets(texts)[1] = 0;
            if (way == Way::dropped) return;
            if (way == Way::kept_too_many) writing->keep(rows, 5);
            (void)std::move(*writing).publish();
        };
    };
    CHECK(touch_after(100, failing(Way::fine)) == "lived 3"); // as the others do without a fault
    for (auto const way : {Way::dropped, Way::kept_too_many, Way::offsets_fall}) {
        CHECK(touch_after(0, failing(way)) == "use-after-poison");
        CHECK(touch_after(4 * page - 1, failing(way)) == "use-after-poison");
        CHECK(touch_after(0, failing(way), Block::grows, Access::write) == "use-after-poison");
    }
    CHECK(touch_after(100, [&](Scene &s) { failing(Way::dropped)(s), (void)fill(*s.arena, 128, 6); }) == "lived 6");
}

TEST_CASE("poison: after trim", "[arena][poison]") {
    if (!traps_can_be_seen()) return;
    auto const small_and_trim = [](Scene &s) { (void)fill(*s.arena, page, 2), (void)s.arena->trim(); };
    CHECK(touch_after(page - 1, small_and_trim) == "lived 2");
    CHECK(touch_after(page, small_and_trim) == "SEGV");
    CHECK(touch_after(4 * page - 1, small_and_trim) == "SEGV");
    CHECK(touch_after(3 * page, [&](Scene &s) { // the addresses are given out again, but not placed
              small_and_trim(s), (void)s.arena->reserve(8 * page);
          }) == "use-after-poison");
    CHECK(touch_after(3 * page, [&](Scene &s) { small_and_trim(s), (void)fill(*s.arena, 4 * page, 3); }) == "lived 3");
    CHECK(touch_after(0, [](Scene &s) { (void)fill(*s.arena, 0, 2), (void)s.arena->trim(); }) == "SEGV");
    // What can't shrink in place is poisoned, and goes at the next call.
    CHECK(touch_after(page, small_and_trim, Block::moves) == "use-after-poison");
    CHECK(touch_after(0, small_and_trim, Block::moves) == "lived 2");
    CHECK(is_trap(touch_after(
        0,
        [&](Scene &s) {
            small_and_trim(s);
            (void)fill(*s.arena, page, 3);
        },
        Block::moves)));
}

TEST_CASE("poison: after the end of an arena, of what it gave away, and of the last pin", "[arena][poison]") {
    if (!traps_can_be_seen()) return;
    auto const free = [](Scene &s) { s.arena.reset(); };
    for (auto const block : {Block::grows, Block::moves}) {
        CHECK(touch_after(0, free, block) == "SEGV");
        CHECK(touch_after(4 * page - 1, free, block) == "SEGV");
    }
    CHECK(touch_after(0, free, Block::grows, Access::write) == "SEGV");
    CHECK(touch_after(0, [](Scene &s) { *s.arena = Arena<Ram>(); }) == "SEGV");
    CHECK(is_trap(touch_after(2 * page, [](Scene &s) { // another block may get the addresses
        s.arena.reset();
        s.arena.emplace();
        (void)fill(*s.arena, 64, 2);
    })));
    // Pinned rows outlive their arena; the last pin takes them along.
    auto const pin_and_free = [](Scene &s) {
        s.pin.emplace(s.rows.pin().value());
        s.arena.reset();
    };
    CHECK(touch_after(0, pin_and_free) == "lived 1");
    CHECK(touch_after(4 * page - 1, pin_and_free) == "lived 1");
    CHECK(touch_after(100, pin_and_free, Block::moves, Access::copy) == "lived 1");
    CHECK(touch_after(100, [&](Scene &s) { pin_and_free(s), s.pin.reset(); }) == "SEGV");
    CHECK(touch_after(100, [&](Scene &s) {
              auto const second = s.rows.pin().value();
              pin_and_free(s), s.pin.reset();
              if (*static_cast<std::uint8_t const *>(second.data()) != 1) std::abort();
          }) == "SEGV");
    CHECK(touch_after(100, [](Scene &s) { // freed by the thread that writes: gone with its guard
              auto draft = s.arena->begin();
              (void)draft->place<std::uint8_t>(4, page);
              auto writing = std::move(*draft).commit();
              s.arena.reset();
              if (std::move(*writing).publish()) std::abort();
          }) == "SEGV");
    // Storage that was given away goes with its new owner.
    auto const detach = [](Scene &s) { s.detached.emplace(s.arena->detach().value()); };
    CHECK(touch_after(100, detach) == "lived 1");
    CHECK(touch_after(100, [&](Scene &s) { detach(s), (void)fill(*s.arena, 8 * page, 2); }) == "lived 1");
    CHECK(touch_after(100, [&](Scene &s) { detach(s), s.arena.reset(); }) == "lived 1");
    CHECK(touch_after(100, [&](Scene &s) { detach(s), s.detached.reset(); }) == "SEGV");
    CHECK(touch_after(100, [&](Scene &s) {
              s.pin.emplace(s.rows.pin().value());
              detach(s), s.detached.reset();
          }) == "lived 1");
    CHECK(touch_after(100, [&](Scene &s) {
              s.pin.emplace(s.rows.pin().value());
              detach(s), s.detached.reset(), s.pin.reset();
          }) == "SEGV");
}

TEST_CASE("poison: after the growth of a block", "[arena][poison]") {
    if (!traps_can_be_seen()) return;
    // In place: the old bytes are there, poisoned or placed again.
    CHECK(touch_after(100, [](Scene &s) { (void)fill(*s.arena, 16 * page, 2); }) == "lived 2");
    CHECK(touch_after(16 * page, [](Scene &s) { (void)fill(*s.arena, 16 * page, 2); }) == "SEGV"); // past it
    CHECK(touch_after(20 * page - 1, [](Scene &s) { (void)s.arena->reserve(20 * page); }) == "use-after-poison");
    // A block that moves: the old one is there until the call commits, and then it isn't.
    auto const grow = [](Scene &s) { (void)fill(*s.arena, 16 * page, 2); };
    CHECK(is_trap(touch_after(0, grow, Block::moves)));
    CHECK(is_trap(touch_after(4 * page - 1, grow, Block::moves)));
    CHECK(touch_after(
              100,
              [](Scene &s) {
                  auto draft = s.arena->begin();
                  (void)draft->place<std::uint8_t>(16, page);
              },
              Block::moves) == "lived 1");
    CHECK(is_trap(touch_after(
        100,
        [](Scene &s) { // and a writing that fails has moved already
            auto draft = s.arena->begin();
            (void)draft->place<std::uint8_t>(16, page);
            (void)std::move(*draft).commit();
        },
        Block::moves)));
    CHECK(is_trap(touch_after(
        100,
        [](Scene &s) { // a small call takes over what `reserve` made
            (void)s.arena->reserve(32 * page), (void)fill(*s.arena, 64, 2);
        },
        Block::moves)));
    std::printf("poison: %d children, %d of them trapped, each for the reason that it should\n", children, traps);
    std::fflush(stdout);
}

TEST_CASE("poison: addresses that are given back aren't poisoned for whoever gets them next", "[arena][poison]") {
    auto const mapped_again = [](auto then) {
        return in_child([&] {
            Scene scene(false);
            HOLDS(fill(*scene.arena, 64, 1)); // the rest is poisoned
            then(scene);
            void *const pages = mmap(scene.stale, 4 * page, PROT_READ | PROT_WRITE,
                                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            HOLDS(pages == scene.stale);
            std::fill(scene.stale, scene.stale + 4 * page, std::byte{5}); // a sanitizer checks each store
            HOLDS(scene.stale[3 * page] == std::byte{5});
            return 0;
        });
    };
    auto const freed = mapped_again([](Scene &s) { s.arena.reset(); });
    INFO(freed.output);
    CHECK(freed.by_itself);
    auto const trimmed = mapped_again([](Scene &s) { (void)s.arena->trim(), s.arena.reset(); });
    INFO(trimmed.output);
    CHECK(trimmed.by_itself);
    auto const all_trimmed = mapped_again([](Scene &s) { (void)fill(*s.arena, 0, 1), (void)s.arena->trim(); });
    INFO(all_trimmed.output);
    CHECK(all_trimmed.by_itself);
}
