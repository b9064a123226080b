/// The points of the arena's contract, one test each: residency, laziness, staleness, refusal and failure, one call at
/// a time, pins, freeing, and inputs that lie in the arena.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "uform/arena.hpp"

using uform::Arena, uform::Draft, uform::Pinned, uform::Place, uform::Published, uform::RaggedPlace, uform::RaggedRows,
    uform::Ram, uform::Result, uform::Rows, uform::Status, uform::Writing;

namespace {

/// Rows of one value, published.
Result<Rows<Ram>> fill(Arena<Ram> &arena, std::size_t rows, std::size_t columns, float value) {
    auto draft = arena.begin();
    if (!draft) return draft.error();
    auto const place = draft->place<float>(rows, columns);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    std::ranges::fill(writing->values(place), value);
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}

/// Texts of the given lengths, whose rows hold their text's number.
Result<RaggedRows<Ram>> fill_ragged(Arena<Ram> &arena, std::vector<std::uint32_t> const &lengths) {
    auto draft = arena.begin();
    if (!draft) return draft.error();
    std::uint32_t total = 0;
    for (auto length : lengths) total += length;
    auto const place = draft->place_ragged<float>(lengths.size(), total, 2);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    auto const offsets = writing->offsets(place);
    auto const values = writing->values(place);
    offsets[0] = 0;
    for (std::size_t text = 0; text != lengths.size(); ++text) {
        offsets[text + 1] = offsets[text] + lengths[text];
        for (std::size_t i = offsets[text]; i != offsets[text + 1]; ++i)
            values[2 * i] = values[2 * i + 1] = float(text);
    }
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}

bool holds(Rows<Ram> const &rows, float value) {
    auto const values = rows.values<float>();
    return values && std::ranges::all_of(*values, [&](float v) { return v == value; });
}

/// The status of a result: success for a value.
template <class T> Status status(Result<T> const &result) { return result ? Status::success : result.error().status(); }

/// Whether every way of reading rows is refused as stale.
bool is_refused(Rows<Ram> const &rows) {
    float buffer[64];
    return !rows.is_current() && status(rows.values<float>()) == Status::invalid_argument &&
           status(rows.values<std::uint8_t>()) == Status::invalid_argument &&
           status(rows.row<float>(0)) == Status::invalid_argument &&
           status(rows.matrix<float>()) == Status::invalid_argument &&
           status(rows.copy_to(std::span<float>(buffer, rows.rows() * rows.columns()))) == Status::invalid_argument &&
           status(rows.pin()) == Status::invalid_argument;
}
bool is_refused(RaggedRows<Ram> const &rows) {
    return !rows.is_current() && status(rows.offsets()) == Status::invalid_argument &&
           status(rows.at(0)) == Status::invalid_argument && status(rows.pin()) == Status::invalid_argument &&
           is_refused(rows.flat());
}

/// The word of the arena that a place is in.
template <class T> std::uint64_t word_of(Place<T> place) {
    return static_cast<uform::Slot const *>(place.arena)->lease.word();
}
using Lease = uform::Lease<uform::PosixPlatform>;

} // namespace

TEST_CASE("contract 1: an arena says where its outputs land", "[arena][contract]") {
    auto const where = Arena<Ram>().describe();
    CHECK(where.residency == uform::Residency::ram);
    CHECK_FALSE(where.device.has_value());
    uform::ArenaDescription const device{uform::Residency::vram, 0};
    CHECK(where == uform::ArenaDescription{uform::Residency::ram, std::nullopt});
    CHECK_FALSE(where == device);
    CHECK_FALSE(device == uform::ArenaDescription{uform::Residency::vram, 1});
    std::unordered_map<uform::ArenaDescription, int> const map{
        {where, 1}, {device, 2}, {{uform::Residency::vram, 1}, 3}};
    CHECK(map.at(where) == 1);
    CHECK(map.at(device) == 2);
    Arena<Ram> arena, moved = std::move(arena);
    CHECK(arena.describe() == where);
    CHECK(moved.describe() == where);
}

TEST_CASE("contract 2: nothing is allocated until a call writes", "[arena][contract]") {
    Arena<Ram> arena;
    CHECK(arena.capacity() == 0);
    {
        auto draft = arena.begin();
        REQUIRE(draft);
        (void)draft->place<float>(1000, 1000);
    }
    CHECK(arena.capacity() == 0);
    auto const none = fill(arena, 0, 8, 0);
    REQUIRE(none);
    CHECK(arena.capacity() == 0);
    CHECK(none->is_current());
    CHECK(none->values<float>().value().empty());
    REQUIRE(fill(arena, 10, 10, 1));
    CHECK(arena.capacity() >= 400);
    CHECK(arena.capacity() < 65536);
}

TEST_CASE("contract 3: a view of an earlier call is stale, for every way to read it", "[arena][contract]") {
    Arena<Ram> arena;
    Rows<Ram> const never;
    CHECK(is_refused(never));
    CHECK(is_refused(RaggedRows<Ram>()));
    auto const first = fill(arena, 2, 3, 1).value();
    CHECK(holds(first, 1));
    auto const copy = first; // plain data
    auto const second = fill(arena, 2, 3, 2).value();
    CHECK(is_refused(first));
    CHECK(is_refused(copy));
    CHECK(holds(second, 2));
    CHECK(std::string(first.values<float>().error().what()) ==
          "the view is stale: a later call rewound its arena, or the arena was freed");
    CHECK(std::string(never.values<float>().error().what()) ==
          "the view is empty: its output was not asked for, its place is another call's, or it was made while "
          "4,094 pins were held");
    CHECK(first.rows() == 2); // shapes can always be read
    CHECK(first.columns() == 3);

    auto const ragged = fill_ragged(arena, {1, 0, 2}).value();
    CHECK(is_refused(second));
    auto const text = ragged.at(2).value();
    CHECK(holds(text, 2));
    REQUIRE(fill(arena, 1, 1, 3));
    CHECK(is_refused(ragged));
    CHECK(is_refused(text));
    STATIC_REQUIRE(std::is_trivially_copyable_v<Rows<Ram>>);
    STATIC_REQUIRE(sizeof(Rows<Ram>) <= 48);
    STATIC_REQUIRE(std::is_trivially_copyable_v<RaggedRows<Ram>>);
    STATIC_REQUIRE(sizeof(RaggedRows<Ram>) <= 64);
}

TEST_CASE("contract 3: views die at commit, not at begin, and none exists before publish", "[arena][contract]") {
    Arena<Ram> arena;
    auto const old = fill(arena, 2, 3, 1).value();
    auto draft = arena.begin();
    auto const place = draft->place<float>(2, 3);
    CHECK(holds(old, 1));
    auto writing = std::move(*draft).commit();
    CHECK(is_refused(old));
    std::ranges::fill(writing->values(place), 2.0f);
    auto const published = std::move(*writing).publish().value();
    CHECK(is_refused(old));
    CHECK(holds(published[place], 2));
}

TEST_CASE("contract 3: views follow a moved arena", "[arena][contract]") {
    Arena<Ram> arena;
    auto const rows = fill(arena, 2, 3, 1).value();
    Arena<Ram> moved = std::move(arena);
    CHECK(holds(rows, 1));
    CHECK(status(arena.begin()) == Status::invalid_argument);
    CHECK(status(arena.reserve(10)) == Status::invalid_argument);
    CHECK(status(arena.trim()) == Status::invalid_argument);
    CHECK(arena.capacity() == 0);
    CHECK(moved.capacity() != 0);
    arena.limit(1); // no-op
    Arena<Ram> const moved_from_moved_from = std::move(arena);
    CHECK(holds(rows, 1));

    Arena<Ram> other;
    auto const others = fill(other, 1, 1, 5).value();
    other = std::move(moved); // frees what `other` had
    CHECK(status(moved.begin()) == Status::invalid_argument);
    CHECK(is_refused(others));
    CHECK(holds(rows, 1));
    auto &same = other;
    other = std::move(same);
    CHECK(holds(rows, 1));
    std::swap(other, moved);
    CHECK(holds(rows, 1));
    arena = std::move(moved); // one that was moved from can be given another
    auto const next = fill(arena, 2, 3, 2).value();
    CHECK(is_refused(rows));
    CHECK(holds(next, 2));
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Arena<Ram>>);
    STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<Arena<Ram>>);
    STATIC_REQUIRE(std::is_nothrow_default_constructible_v<Arena<Ram>>);
    STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Arena<Ram>>);
    STATIC_REQUIRE(std::is_nothrow_move_assignable_v<Arena<Ram>>);
}

TEST_CASE("contract 3: an arena moved in the middle of a call", "[arena][contract]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<float>(1, 1);
    Arena<Ram> moved = std::move(arena);
    auto writing = std::move(*draft).commit();
    Arena<Ram> again = std::move(moved);
    writing->values(place)[0] = 4;
    auto const published = std::move(*writing).publish().value();
    CHECK(holds(published[place], 4));
    CHECK(status(again.begin()) == Status::success);
}

TEST_CASE("contract 3: a view of a freed arena is stale, also when another arena took its slot", "[arena][contract]") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto draft = arena->begin();
    auto const place = draft->place<float>(1, 1);
    auto writing = std::move(*draft).commit();
    writing->values(place)[0] = 1;
    auto const published = std::move(*writing).publish().value();
    auto const rows = published[place];
    void const *const slot = place.arena;
    CHECK(holds(rows, 1));
    arena.reset();
    CHECK(is_refused(rows));
    CHECK_FALSE(published[place].is_current());

    // Slots are recycled: one of the next arenas has the same.
    std::vector<Arena<Ram>> others;
    bool reused = false;
    for (int i = 0; i != 64 && !reused; ++i) {
        auto &other = others.emplace_back();
        auto next_draft = other.begin();
        auto const next = next_draft->place<float>(1, 1);
        auto next_writing = std::move(*next_draft).commit();
        next_writing->values(next)[0] = 2;
        CHECK(next_writing->data(place) == nullptr); // the place of the arena that had the slot before
        auto const next_published = std::move(*next_writing).publish().value();
        reused = next.arena == slot;
        CHECK(holds(next_published[next], 2));
        CHECK_FALSE(next_published[place].is_current());
        CHECK_FALSE(published[next].is_current());
        CHECK(is_refused(rows));
    }
    CHECK(reused);
}

TEST_CASE("contract 4: a refused call leaves the results readable, by view and by place", "[arena][contract]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<float>(2, 3);
    auto const ragged = draft->place_ragged<std::uint32_t>(1, 1, 1);
    auto writing = std::move(*draft).commit();
    std::ranges::fill(writing->values(place), 1.0f);
    writing->offsets(ragged)[0] = 0, writing->offsets(ragged)[1] = 1;
    writing->values(ragged)[0] = 77;
    auto const published = std::move(*writing).publish().value();
    auto const rows = published[place];
    auto const unchanged = [&] {
        return holds(rows, 1) && holds(published[place], 1) &&
               published[ragged].flat().values<std::uint32_t>().value_or({})[0] == 77 &&
               rows.data() == published[place].data();
    };
    CHECK(unchanged());
    auto const commit = [](Result<Draft<Ram>> &&begun) { return std::move(*begun).commit(); };

    SECTION("dropped before commit") {
        {
            auto dropped = arena.begin();
            (void)dropped->place<float>(100, 100);
            CHECK(unchanged());
        }
        CHECK(unchanged());
    }
    SECTION("assigned over") {
        auto second = arena.begin();
        Arena<Ram> other;
        auto third = other.begin();
        *second = std::move(*third);
        CHECK(unchanged());
        CHECK(status(arena.begin()) == Status::success); // the first draft was refused
        CHECK(status(other.begin()) == Status::contended);
    }
    SECTION("moved onto itself") {
        auto second = arena.begin();
        auto &same = *second;
        *second = std::move(same);
        CHECK(status(arena.begin()) == Status::contended);
        auto const second_place = second->place<float>(1, 1);
        auto second_writing = commit(std::move(second));
        REQUIRE(second_writing);
        auto &same_writing = *second_writing;
        *second_writing = std::move(same_writing);
        second_writing->values(second_place)[0] = 9;
        auto const second_published = std::move(*second_writing).publish().value();
        CHECK(holds(second_published[second_place], 9));
        // What is asked of the results before says that they are stale, and not that there never were any.
        auto const stale = published[place].values<float>();
        CHECK(status(stale) == Status::invalid_argument);
        CHECK(std::string(stale.error().what()).starts_with("the view is stale"));
        CHECK(status(published[ragged].at(0)) == Status::invalid_argument);
        CHECK(std::string(published[ragged].at(0).error().what()).starts_with("the view is stale"));
        auto const none = second_published[place].values<float>();
        CHECK(std::string(none.error().what()).starts_with("the view is empty"));
        return;
    }
    SECTION("out of memory") {
        auto too_large = arena.begin();
        (void)too_large->place<float>(std::size_t{1} << 44, 64);
        CHECK(status(commit(std::move(too_large))) == Status::out_of_memory);
        auto overflow = arena.begin();
        (void)overflow->place<float>(SIZE_MAX / 2, 64);
        CHECK(status(commit(std::move(overflow))) == Status::out_of_memory);
    }
    SECTION("over the limit") {
        arena.limit(256);
        auto over = arena.begin();
        (void)over->place<float>(5, 16);
        CHECK(status(commit(std::move(over))) == Status::out_of_memory);
    }
    SECTION("a bad shape") {
        auto bad = arena.begin();
        (void)bad->place<float>(1, std::size_t{1} << 33);
        CHECK(status(commit(std::move(bad))) == Status::invalid_argument);
    }
    SECTION("a reader holds it") {
        auto const pin = rows.pin();
        CHECK(status(arena.begin()) == Status::contended);
    }
    SECTION("larger than before, and pinned in between") {
        auto grows = arena.begin();
        (void)grows->place<float>(1000, 1000);
        auto const pin = rows.pin();
        REQUIRE(pin);
        CHECK(status(commit(std::move(grows))) == Status::contended);
    }
    CHECK(unchanged());
    arena.limit(SIZE_MAX);
    CHECK(status(fill(arena, 2, 3, 2)) == Status::success); // and the arena is ready
    CHECK_FALSE(rows.is_current());
    CHECK_FALSE(published[place].is_current());
}

TEST_CASE("contract 4: a call that fails after it began writing leaves the rows stale and the arena ready",
          "[arena][contract]") {
    Arena<Ram> arena;
    auto const old = fill(arena, 2, 3, 1).value();
    {
        auto draft = arena.begin();
        auto const place = draft->place<float>(2, 3);
        auto writing = std::move(*draft).commit();
        writing->values(place)[0] = 2;
    }
    CHECK(is_refused(old));
    auto const next = fill(arena, 2, 3, 3).value();
    CHECK(holds(next, 3));
    CHECK(is_refused(old));

    auto draft = arena.begin();
    auto const place = draft->place<float>(2, 3);
    auto writing = std::move(*draft).commit();
    writing->keep(place, 3); // more than it has
    CHECK(status(std::move(*writing).publish()) == Status::invalid_argument);
    CHECK(is_refused(next));
    CHECK(holds(fill(arena, 1, 1, 4).value(), 4));

    auto first = arena.begin();
    (void)first->place<float>(1, 1);
    auto assigned_over = std::move(*first).commit();
    Arena<Ram> other;
    auto second = other.begin();
    auto others = std::move(*second).commit();
    *assigned_over = std::move(*others); // fails the first
    CHECK(status(arena.begin()) == Status::success);
    CHECK(status(other.begin()) == Status::contended);
}

TEST_CASE("contract 5: a second call on a busy arena is contended at once and touches nothing", "[arena][contract]") {
    Arena<Ram> arena;
    auto const old = fill(arena, 2, 3, 1).value();
    auto draft = arena.begin();
    auto const place = draft->place<float>(4, 3);
    auto const all_contended = [&] {
        return status(arena.begin()) == Status::contended && status(arena.reserve(1)) == Status::contended &&
               status(arena.reserve(SIZE_MAX)) == Status::contended && status(arena.trim()) == Status::contended;
    };
    CHECK(all_contended());
    CHECK(holds(old, 1));
    auto writing = std::move(*draft).commit();
    std::ranges::fill(writing->values(place), 2.0f);
    auto const capacity = arena.capacity();
    CHECK(all_contended());
    CHECK(arena.capacity() == capacity);
    CHECK(std::ranges::count(writing->values(place), 2.0f) == 12);
    auto const rows = std::move(*writing).publish().value()[place];
    CHECK(holds(rows, 2)); // the holder's results, until the next call that succeeds
    CHECK(status(arena.trim()) == Status::success);
    CHECK(holds(rows, 2));
}

TEST_CASE("contract 6: while a pin lives, a call that would rewind is contended", "[arena][contract]") {
    Arena<Ram> arena;
    auto const rows = fill(arena, 2, 3, 1).value();
    {
        auto const pinned = rows.pin().value();
        CHECK(holds(pinned, 1));
        CHECK(status(arena.begin()) == Status::contended);
        auto const again = pinned.pin().value();                  // any number of them
        CHECK(status(arena.reserve(1 << 20)) == Status::success); // memory alone may grow
        CHECK(status(arena.trim()) == Status::success);
        CHECK(holds(pinned, 1));
        CHECK(holds(again, 1));
    }
    CHECK(status(fill(arena, 2, 3, 2)) == Status::success);
    CHECK(status(rows.pin()) == Status::invalid_argument); // pinning checks the epoch
}

TEST_CASE("contract 6: a pin moves with its guard", "[arena][contract]") {
    Arena<Ram> arena;
    auto pinned = fill(arena, 2, 3, 1).value().pin().value();
    Pinned<Rows<Ram>> moved = std::move(pinned);
    CHECK(status(arena.begin()) == Status::contended);
    auto &same = moved;
    moved = std::move(same);
    CHECK(status(arena.begin()) == Status::contended); // a move onto itself keeps it
    CHECK(holds(moved, 1));
    Rows<Ram> const plain = moved; // sliced off: the plain view
    Arena<Ram> other;
    moved = fill(other, 1, 1, 2).value().pin().value(); // lets the first go
    CHECK(status(arena.begin()) == Status::success);
    CHECK(status(other.begin()) == Status::contended);
    CHECK(holds(plain, 1));
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Pinned<Rows<Ram>>>);
    STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<Pinned<Rows<Ram>>>);
}

TEST_CASE("contract 6: a pin that comes between begin and commit stops the rewind", "[arena][contract]") {
    Arena<Ram> arena;
    auto const rows = fill(arena, 2, 3, 1).value();
    auto draft = arena.begin();
    (void)draft->place<float>(2, 3);
    std::optional<Pinned<Rows<Ram>>> pin;
    std::thread([&] { pin.emplace(rows.pin().value()); }).join();
    CHECK(status(std::move(*draft).commit()) == Status::contended);
    CHECK(holds(*pin, 1));
    CHECK(status(arena.begin()) == Status::contended); // the draft is gone, the pin isn't
    pin.reset();
    CHECK(status(fill(arena, 2, 3, 2)) == Status::success);
}

TEST_CASE("contract 6: where a bad argument and a reader meet, contended wins", "[arena][contract]") {
    Arena<Ram> arena;
    auto const rows = fill(arena, 2, 2, 1).value();
    bool const is_limited = GENERATE(false, true);
    if (is_limited) arena.limit(64);
    auto draft = arena.begin();
    REQUIRE(draft);
    (void)draft->place<float>(is_limited ? 1000 : 1, is_limited ? 1 : std::size_t{1} << 33);
    {
        auto const pin = rows.pin().value();
        auto const refused = std::move(*draft).commit();
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status() == Status::contended);
        CHECK(holds(pin, 1));
    }
    auto again = arena.begin();
    (void)again->place<float>(is_limited ? 1000 : 1, is_limited ? 1 : std::size_t{1} << 33);
    auto const refused = std::move(*again).commit(); // and without a reader it is what it is
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status() == (is_limited ? Status::out_of_memory : Status::invalid_argument));
}

TEST_CASE("contract 3: a guard that was moved from looks nothing up once its arena has gone", "[arena][contract]") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto draft = arena->begin();
    auto const place = draft->place<float>(1, 1);
    auto published = std::move(*draft).commit().value().publish_pinned().value();
    { auto const taken = std::move(published).with(Rows<Ram>()); }
    arena.reset();
    auto const rows = published[place];
    CHECK_FALSE(rows.is_current());
    CHECK(rows.rows() == 0); // nothing was looked up in what is freed
    CHECK(rows.data() == nullptr);
    auto const refused = rows.values<float>();
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message().find("stale") != std::string_view::npos);
}

TEST_CASE("contract 6: a pin outlives its arena and keeps the bytes", "[arena][contract]") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const rows = fill(*arena, 1000, 3, 1).value();
    auto const ragged_pin = [] {
        Arena<Ram> short_lived;
        return fill_ragged(short_lived, {1, 2}).value().pin().value();
    }();
    auto const pinned = rows.pin().value();
    auto const before = rows.values<float>().value();
    arena.reset();
    CHECK_FALSE(pinned.is_current()); // the bytes stay, no more
    CHECK(is_refused(pinned));
    CHECK(status(pinned.pin()) == Status::invalid_argument);
    CHECK(std::ranges::count(before, 1.0f) == 3000);
    CHECK(static_cast<float const *>(ragged_pin.flat().data())[2] == 1.0f);
    std::vector<Arena<Ram>> others(100); // none of them takes the slot
    for (auto &other : others) REQUIRE(fill(other, 1000, 3, 2));
    CHECK(std::ranges::count(before, 1.0f) == 3000);
}

TEST_CASE("contract 6: 4,094 pins, and the next is contended", "[arena][contract]") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const rows = fill(*arena, 1, 1, 1).value();
    std::vector<Pinned<Rows<Ram>>> pins;
    for (int i = 0; i != 4094; ++i) pins.push_back(rows.pin().value());
    CHECK(status(rows.pin()) == Status::contended);
    CHECK(status(rows.pin()) == Status::contended);
    CHECK(holds(rows, 1));
    pins.pop_back();
    CHECK(status(rows.pin()) == Status::success);
    arena.reset();
    CHECK_FALSE(rows.is_current());
    CHECK(*static_cast<float const *>(rows.data()) == 1.0f);
    pins.clear();
}

TEST_CASE("contract 6: rows are born pinned where asked", "[arena][contract]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<float>(1, 1);
    auto writing = std::move(*draft).commit();
    writing->values(place)[0] = 3;
    {
        auto published = std::move(*writing).publish_pinned();
        REQUIRE(published);
        CHECK(status(arena.begin()) == Status::contended);
        auto const rows = (*published)[place];
        CHECK(holds(rows, 3));
        auto const pinned_rows = (*std::move(published)).with(rows);
        CHECK(status(arena.begin()) == Status::contended);
        CHECK(holds(pinned_rows, 3));
    }
    CHECK(status(arena.begin()) == Status::success);

    auto next = arena.begin();
    auto const next_place = next->place<float>(1, 1);
    auto next_writing = std::move(*next).commit();
    next_writing->values(next_place)[0] = 4;
    std::optional<Result<Pinned<Published<Ram>>>> result(std::move(*next_writing).publish_pinned());
    auto const next_rows = (**result)[next_place];
    {
        auto const handed_on = (**std::move(result)).with(next_rows);
        result.reset(); // what the pin came with
        CHECK(status(arena.begin()) == Status::contended);
        CHECK(holds(handed_on, 4));
    }
    CHECK(status(arena.begin()) == Status::success);
}

TEST_CASE("contract 6: a bare pin is let go once, and says so", "[arena][contract]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<float>(1, 1);
    auto const published = std::move(*draft).commit().and_then([](auto w) { return std::move(w).publish(); }).value();
    auto pin = published.stamp().pin().value();
    auto const other = published.stamp().pin().value();
    CHECK(pin.slot() == place.arena);
    pin.release();
    CHECK(pin.slot() == nullptr);
    pin.release(); // no-op: the other one stands
    CHECK(uform::Lease<uform::PosixPlatform>::pins_of(word_of(place)) == 1);
    CHECK(status(arena.begin()) == Status::contended);
    CHECK(other.slot() == place.arena);
}

TEST_CASE("contract 6: a pin lives on another thread", "[arena][contract][threads]") {
    for (int round = 0; round != 50; ++round) {
        auto arena = std::make_unique<Arena<Ram>>();
        auto pinned = fill(*arena, 100, 10, 5).value().pin().value();
        std::atomic<bool> right{false};
        std::thread reader([pin = std::move(pinned), &right] {
            auto const *values = static_cast<float const *>(pin.data());
            right = std::count(values, values + 1000, 5.0f) == 1000;
        });
        arena.reset(); // never waits for readers; the last of the two frees the bytes
        reader.join();
        CHECK(right);
    }
}

TEST_CASE("contract 8: freeing an arena waits for the call of another thread", "[arena][contract][threads]") {
    for (int round = 0; round != 20; ++round) {
        auto arena = std::make_unique<Arena<Ram>>();
        std::atomic<bool> holds_it{false}, ended{false};
        std::thread caller([&] {
            auto draft = arena->begin();
            auto const place = draft->place<float>(10, 10);
            auto const until_freed = [&] { // the closer's bit: it is asleep, or about to be
                while (!(word_of(place) & Lease::waiting)) std::this_thread::yield();
                ended = true;
            };
            if (round % 2 == 0) {
                holds_it = true;
                until_freed();
                return; // refuses
            }
            auto writing = std::move(*draft).commit();
            std::ranges::fill(writing->values(place), 1.0f);
            holds_it = true;
            if (round % 4 == 1) {
                until_freed();
                return; // fails
            }
            until_freed();
            (void)std::move(*writing).publish();
        });
        while (!holds_it) std::this_thread::yield();
        arena.reset();
        CHECK(ended);
        caller.join();
    }
}

TEST_CASE("contract 8: move-assignment over an arena waits too", "[arena][contract][threads]") {
    Arena<Ram> arena;
    std::atomic<bool> holds_it{false}, ended{false};
    std::thread caller([&] {
        auto draft = arena.begin();
        auto const place = draft->place<float>(1, 1);
        holds_it = true;
        while (!(word_of(place) & Lease::waiting)) std::this_thread::yield();
        ended = true;
    });
    while (!holds_it) std::this_thread::yield();
    arena = Arena<Ram>();
    CHECK(ended);
    caller.join();
    CHECK(status(fill(arena, 1, 1, 1)) == Status::success);
}

TEST_CASE("contract 8: freed by the thread that holds its draft or writing", "[arena][contract]") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const old = fill(*arena, 2, 3, 1).value();
    std::optional<Arena<Ram>> next;

    SECTION("a draft: commit answers invalid_argument") {
        auto draft = arena->begin();
        auto const place = draft->place<float>(2000, 3);
        arena.reset();
        CHECK(is_refused(old));
        next.emplace(); // must not get the slot that the draft still holds
        CHECK(next->begin()->place<float>(1, 1).arena != place.arena);
        CHECK(status(std::move(*draft).commit()) == Status::invalid_argument);
    }
    SECTION("a draft that is dropped") {
        auto draft = arena->begin();
        arena.reset();
    }
    SECTION("a writing: publish answers invalid_argument, and the bytes stay until then") {
        auto draft = arena->begin();
        auto const place = draft->place<float>(2000, 3);
        auto writing = std::move(*draft).commit();
        arena.reset();
        next.emplace();
        auto const others = fill(*next, 2000, 3, 7).value();
        std::ranges::fill(writing->values(place), 2.0f);
        CHECK(std::ranges::count(writing->values(place), 2.0f) == 6000);
        CHECK(holds(others, 7));
        CHECK(status(std::move(*writing).publish()) == Status::invalid_argument);
    }
    SECTION("a writing, published pinned") {
        auto draft = arena->begin();
        (void)draft->place<float>(1, 1);
        auto writing = std::move(*draft).commit();
        arena.reset();
        CHECK(status(std::move(*writing).publish_pinned()) == Status::invalid_argument);
    }
    SECTION("a writing that is dropped") {
        auto draft = arena->begin();
        (void)draft->place<float>(1, 1);
        auto writing = std::move(*draft).commit();
        arena.reset();
    }
    CHECK(is_refused(old));
    // What was held went back: many arenas come and go without new slots being needed.
    for (int i = 0; i != 100; ++i) CHECK(status(fill(next.emplace(), 1, 1, 1)) == Status::success);
}

TEST_CASE("contract 8: freeing never waits for readers", "[arena][contract]") {
    auto arena = std::make_unique<Arena<Ram>>();
    auto const pinned = fill(*arena, 1, 1, 1).value().pin().value();
    arena.reset(); // on the reader's own thread: would hang
    CHECK(*static_cast<float const *>(pinned.data()) == 1.0f);

    auto busy = std::make_unique<Arena<Ram>>();
    auto const rows = fill(*busy, 1, 1, 2).value();
    auto draft = busy->begin();
    auto const late = rows.pin().value();
    busy.reset();
    CHECK(status(std::move(*draft).commit()) == Status::invalid_argument);
    CHECK(*static_cast<float const *>(late.data()) == 2.0f);
}

TEST_CASE("contract 11: an input that lies in the output's arena is refused", "[arena][contract]") {
    Arena<Ram> arena;
    auto const input = fill(arena, 4, 16, 1).value();
    {
        auto const pin = input.pin().value(); // as a verb pins its inputs first
        CHECK(status(arena.begin()) == Status::contended);
    }
    CHECK(holds(input, 1));
    // A raw pointer into the arena is for the verb to ask about.
    auto draft = arena.begin();
    auto const *first = static_cast<std::byte const *>(input.data());
    CHECK(draft->holds(first, 1));
    CHECK(draft->holds(first, 256));
    CHECK(draft->holds(first + 255, 1));
    CHECK(draft->holds(first + 100, SIZE_MAX)); // ends beyond it, wherever that is
    CHECK(draft->holds(first - 8, 9));
    CHECK_FALSE(draft->holds(first - 8, 8));
    CHECK_FALSE(draft->holds(first, 0));
    CHECK(draft->holds(first + 65536, 1)); // where the arena may grow to
    char elsewhere[16];
    CHECK_FALSE(draft->holds(elsewhere, sizeof elsewhere));
    CHECK_FALSE(draft->holds(nullptr, 16));
    Arena<Ram> empty;
    CHECK_FALSE(empty.begin()->holds(first, 256));
    auto moved = std::move(*draft);
    CHECK_FALSE(draft->holds(first, 256));
    CHECK(moved.holds(first, 256));
}

TEST_CASE("contract 13: detach gives the storage away with its results, and the arena starts afresh",
          "[arena][contract]") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const rows = fill(*arena, 2, 3, 1).value();
    {
        auto draft = arena->begin(); // a call has it
        CHECK(status(arena->detach()) == Status::contended);
        auto const writing = std::move(*draft).commit();
        CHECK(status(arena->detach()) == Status::contended);
    }
    CHECK_FALSE(rows.is_current());
    auto const kept = fill(*arena, 2, 3, 2).value();
    auto const capacity = arena->capacity();
    {
        auto pin = std::optional(kept.pin().value()); // readers don't stand in the way
        auto detached = std::optional(arena->detach().value());
        CHECK(holds(kept, 2));
        CHECK(detached->capacity() == capacity);
        CHECK(detached->describe() == arena->describe());
        CHECK(arena->capacity() == 0);
        auto const next = fill(*arena, 2, 3, 3).value(); // another block
        CHECK(holds(next, 3));
        CHECK(holds(kept, 2));
        CHECK(next.data() != kept.data());
        auto moved = std::move(*detached);
        detached.reset();
        CHECK(holds(kept, 2));
        arena.reset();
        CHECK(holds(kept, 2));
        CHECK_FALSE(next.is_current());
    }
    CHECK(is_refused(kept));
    Arena<Ram> one, other = std::move(one);
    CHECK(status(one.detach()) == Status::invalid_argument);
    CHECK(status(other.detach()) == Status::success); // of nothing yet
}
