/// Every operation on an arena against every other, a pair at a time on two threads: results are right whoever comes
/// first, and ThreadSanitizer sees no race. Pairs that the contract forbids are left out, and named with its sentence.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "uform/arena.hpp"
#include "uform/executor.hpp"

using uform::Arena, uform::Detached, uform::Draft, uform::Executor, uform::HostPlace, uform::Pinned, uform::Place,
    uform::Published, uform::RaggedPlace, uform::RaggedRows, uform::Ram, uform::Result, uform::Rows, uform::Slot,
    uform::Status;
using Lease = uform::Lease<uform::PosixPlatform>;

namespace {

/// The places of one call, its number, and what was published: all that a reader may want.
struct Posted {
    Published<Ram> published;
    Place<std::uint32_t> place;
    RaggedPlace<std::uint32_t> ragged;
    HostPlace<std::uint32_t> host;
    Rows<Ram> rows;
    RaggedRows<Ram> texts;
    std::uint64_t number = 0;
};
static_assert(std::is_trivially_copyable_v<Posted> && sizeof(Posted) % 8 == 0);

/// Hands results from thread to thread by relaxed atomics alone, so that nothing but the arena's own protocol orders
/// the writing of rows before their reading. Every entry is written once, and carries a sum: one that has not come
/// over whole is none.
class Mailbox {
    static constexpr std::size_t words = sizeof(Posted) / 8, most = 1400;
    struct Entry {
        std::array<std::atomic<std::uint64_t>, words> content{};
        std::atomic<std::uint64_t> sum{0};
    };
    std::vector<Entry> entries_{most};
    std::atomic<std::size_t> taken_{0}, newest_{0};

    static std::uint64_t sum_of(std::array<std::uint64_t, words> const &content) {
        std::uint64_t sum = 1;
        for (auto word : content) sum = sum * 0x9E37'79B9'7F4A'7C15u + (word ^ word >> 29) + 1;
        return sum;
    }

  public:
    /// While no other thread looks.
    void clear() {
        for (auto &entry : entries_) entry.sum.store(0, std::memory_order_relaxed);
        taken_.store(0, std::memory_order_relaxed), newest_.store(0, std::memory_order_relaxed);
    }
    void put(Posted const &posted) {
        std::size_t const at = taken_.fetch_add(1, std::memory_order_relaxed);
        if (at >= most) return;
        std::array<std::uint64_t, words> content;
        std::memcpy(content.data(), &posted, sizeof posted);
        for (std::size_t i = 0; i != words; ++i) entries_[at].content[i].store(content[i], std::memory_order_relaxed);
        entries_[at].sum.store(sum_of(content), std::memory_order_relaxed);
        newest_.store(at, std::memory_order_relaxed);
    }
    std::optional<Posted> newest() const {
        auto const &entry = entries_[newest_.load(std::memory_order_relaxed)];
        std::array<std::uint64_t, words> content;
        for (std::size_t i = 0; i != words; ++i) content[i] = entry.content[i].load(std::memory_order_relaxed);
        if (entry.sum.load(std::memory_order_relaxed) != sum_of(content)) return std::nullopt;
        Posted posted;
        std::memcpy(static_cast<void *>(&posted), content.data(), sizeof posted);
        return posted;
    }
};

/// What two threads share.
struct World {
    std::optional<Arena<Ram>> arena;
    Mailbox mailbox;
    Executor<Ram> executor = Executor<Ram>::with_threads(1).value();
    std::atomic<std::uint32_t> numbers{1};
    std::atomic<int> torn{0}, unexpected{0}, unexpected_line{0};
    bool limited = false; // one of the pair sets limits, so any call may be over it

    void unexpected_at(int line) {
        unexpected.fetch_add(1, std::memory_order_relaxed);
        unexpected_line.store(line, std::memory_order_relaxed);
    }
};
#define UNEXPECTED(turn) (turn).world.unexpected_at(__LINE__)

/// One thread's part of a round, from its start to its finish.
struct Turn {
    World &world;
    std::atomic<long> &done; // times that the operation reached its end
    std::uint32_t number = 0;
    std::optional<Draft<Ram>> draft;
    Posted posted;
    std::optional<Pinned<Rows<Ram>>> pin;
    std::optional<Detached<Ram>> detached;

    Turn(World &shared, std::atomic<long> &counted) : world(shared), done(counted) {}
    void count() const { done.fetch_add(1, std::memory_order_relaxed); }
    /// Whether it is a success; what else it is must be one of `allowed`, or what a limit answers.
    template <class T> bool ok(Result<T> const &result, int line, std::initializer_list<Status> allowed) const {
        if (result) return true;
        Status const status = result.error().status();
        bool const expected =
            std::ranges::find(allowed, status) != allowed.end() || (world.limited && status == Status::out_of_memory);
        if (!expected) world.unexpected_at(line);
        return false;
    }
};

bool is_all(std::uint32_t const *values, std::size_t count, std::uint64_t number) {
    return std::all_of(values, values + count, [&](std::uint32_t v) { return v == number; });
}
/// For rows that can't be rewound: by their address, so that rows of a freed arena are read too.
void check_rows(Turn &turn, Rows<Ram> const &rows, std::uint64_t number) {
    if (rows.rows() == 0 ||
        !is_all(static_cast<std::uint32_t const *>(rows.data()), rows.rows() * rows.columns(), number))
        turn.world.torn.fetch_add(1, std::memory_order_relaxed);
    else turn.count();
}

// A call in its two parts: what may be just starting, and what may be under way while the arena itself changes.

void add_places(Turn &turn) {
    std::uint32_t const n = turn.number;
    turn.posted.number = n;
    turn.posted.place = turn.draft->place<std::uint32_t>(1 + n % 40, 1 + n % 97); // 16 KB at most
    turn.posted.ragged = turn.draft->place_ragged<std::uint32_t>(2, 1 + n % 9, 3);
    turn.posted.host = turn.draft->place_host<std::uint32_t>(1 + n % 5, 1);
}
template <uform::Holder holder> void begin(Turn &turn) {
    auto draft = turn.world.arena->begin(holder);
    if (!turn.ok(draft, __LINE__, {Status::contended})) return;
    turn.number = turn.world.numbers.fetch_add(1, std::memory_order_relaxed);
    turn.draft.emplace(*std::move(draft)), add_places(turn);
}
std::optional<uform::Writing<Ram>> commit_and_write(Turn &turn) {
    if (!turn.draft) return std::nullopt;
    auto writing = std::move(*turn.draft).commit();
    turn.draft.reset();
    if (!turn.ok(writing, __LINE__, {Status::contended})) return std::nullopt;
    std::ranges::fill(writing->values(turn.posted.place), turn.number);
    std::ranges::fill(writing->values(turn.posted.ragged), turn.number);
    std::ranges::fill(writing->values(turn.posted.host), turn.number);
    auto const offsets = writing->offsets(turn.posted.ragged);
    offsets[0] = 0, offsets[1] = (1 + turn.number % 9) / 2, offsets[2] = 1 + turn.number % 9;
    return *std::move(writing);
}
void post(Turn &turn, Published<Ram> const &published) {
    turn.posted.published = published;
    turn.posted.rows = published[turn.posted.place], turn.posted.texts = published[turn.posted.ragged];
    turn.world.mailbox.put(turn.posted);
}
void publish(Turn &turn) {
    auto writing = commit_and_write(turn);
    if (!writing) return;
    auto published = std::move(*writing).publish();
    if (turn.ok(published, __LINE__, {})) post(turn, *published), turn.count();
}
void publish_pinned(Turn &turn) {
    auto writing = commit_and_write(turn);
    if (!writing) return;
    auto published = std::move(*writing).publish_pinned();
    if (!turn.ok(published, __LINE__, {})) return;
    post(turn, *published);
    auto const texts = (*published)[turn.posted.ragged];
    check_rows(turn, (*published)[turn.posted.place], turn.number);
    check_rows(turn, texts.flat(), turn.number), check_rows(turn, (*published)[turn.posted.host], turn.number);
}
void refuse(Turn &turn) {
    if (!turn.draft) return;
    char elsewhere = 0;
    if (turn.draft->holds(&elsewhere, 1)) UNEXPECTED(turn);
    turn.draft.reset(), turn.count();
}
void commit_too_large(Turn &turn) {
    if (!turn.draft) return;
    (void)turn.draft->place<std::uint8_t>(std::size_t{1} << 52, 1); // more than there are addresses
    auto const writing = std::move(*turn.draft).commit();
    turn.draft.reset();
    if (turn.ok(writing, __LINE__, {Status::out_of_memory})) UNEXPECTED(turn);
    else turn.count();
}
void fail(Turn &turn) {
    if (commit_and_write(turn)) turn.count();
}
void publish_refused(Turn &turn) {
    auto writing = commit_and_write(turn);
    if (!writing) return;
    writing->keep(turn.posted.place, 1000);
    auto const published = std::move(*writing).publish();
    if (turn.ok(published, __LINE__, {Status::invalid_argument})) UNEXPECTED(turn);
    else turn.count();
}
void begin_for_executor(Turn &turn) {
    auto draft = turn.world.arena->begin(turn.world.executor);
    if (!turn.ok(draft, __LINE__, {Status::contended})) return;
    turn.draft.emplace(*std::move(draft));
}

// Readers of views.

template <class T> bool pinned(Turn const &turn, Result<T> const &pin) {
    return turn.ok(pin, __LINE__, {Status::invalid_argument});
}
void pin(Turn &turn) {
    auto const posted = turn.world.mailbox.newest();
    if (!posted) return;
    auto pin = posted->rows.pin();
    if (pinned(turn, pin)) turn.posted = *posted, turn.pin.emplace(*std::move(pin));
}
void read_and_unpin(Turn &turn) {
    if (!turn.pin) return;
    check_rows(turn, *turn.pin, turn.posted.number);
    turn.pin.reset();
}
void pin_read_unpin(Turn &turn) { pin(turn), read_and_unpin(turn); }
void pin_many(Turn &turn) {
    auto const posted = turn.world.mailbox.newest();
    std::array<std::optional<Pinned<Rows<Ram>>>, 16> pins;
    for (auto &one : pins)
        if (auto pin = posted ? posted->rows.pin() : Rows<Ram>().pin(); pinned(turn, pin)) one.emplace(*std::move(pin));
    for (auto const &one : pins)
        if (one) check_rows(turn, *one, posted->number);
    std::ranges::reverse(pins);
}
void is_current(Turn &turn) {
    auto const posted = turn.world.mailbox.newest();
    if (!posted) return;
    // Only once is a view stale for ever.
    bool const was = posted->rows.is_current(), flat = posted->texts.is_current(), is = posted->rows.is_current();
    if ((!was && is) || (!was && flat)) UNEXPECTED(turn);
    turn.count();
}
void values_of_pinned(Turn &turn) {
    if (!turn.pin) return;
    // Once the arena was freed or given away and ended, the view answers so, and the bytes stay.
    std::size_t const columns = turn.pin->columns();
    if (auto const values = turn.pin->values<std::uint32_t>(); pinned(turn, values))
        if (!is_all(values->data(), values->size(), turn.posted.number)) turn.world.torn++;
    if (auto const row = turn.pin->row<std::uint32_t>(0); pinned(turn, row))
        if (!is_all(row->data(), columns, turn.posted.number)) turn.world.torn++;
    if (auto const matrix = turn.pin->matrix<std::uint32_t>(); pinned(turn, matrix))
        for (auto const row : *matrix)
            if (!is_all(row.data(), columns, turn.posted.number)) turn.world.torn++;
    read_and_unpin(turn);
}
void copy_of_pinned(Turn &turn) {
    if (!turn.pin) return;
    std::vector<std::uint32_t> copy(turn.pin->rows() * turn.pin->columns());
    auto const copied = turn.pin->copy_to(std::span(copy));
    if (pinned(turn, copied) && !is_all(copy.data(), copy.size(), turn.posted.number)) turn.world.torn++;
    turn.count(), turn.pin.reset();
}
void view_by_place(Turn &turn) {
    auto const posted = turn.world.mailbox.newest();
    if (!posted) return;
    auto const rows = posted->published[posted->place]; // this call's, or stale
    auto const ids = posted->published[posted->host];
    if (auto const pin = rows.pin(); pinned(turn, pin)) check_rows(turn, *pin, posted->number);
    if (auto const pin = ids.pin(); pinned(turn, pin)) check_rows(turn, *pin, posted->number);
}
void view_by_pinned_place(Turn &turn) {
    auto const posted = turn.world.mailbox.newest();
    if (!posted) return;
    auto pin = posted->published.stamp().pin();
    if (!pinned(turn, pin)) return;
    Pinned<Published<Ram>> const result(posted->published, *std::move(pin));
    check_rows(turn, result[posted->place], posted->number);
    check_rows(turn, result[posted->host], posted->number);
}
void read_texts(Turn &turn) {
    auto const posted = turn.world.mailbox.newest();
    if (!posted) return;
    auto const pin = posted->texts.pin();
    if (!pinned(turn, pin)) return;
    auto const offsets = pin->offsets();
    if (pinned(turn, offsets) && (*offsets)[2] != 1 + posted->number % 9) turn.world.torn++;
    if (auto const text = pin->at(1); pinned(turn, text)) check_rows(turn, *text, posted->number);
}
void read_unpinned(Turn &turn) {
    auto const posted = turn.world.mailbox.newest();
    if (!posted) return;
    auto const values = posted->rows.values<std::uint32_t>();
    if (!values) UNEXPECTED(turn);
    else if (!is_all(values->data(), values->size(), posted->number)) turn.world.torn++;
    else turn.count();
}

// The levers.

void set_limit(Turn &turn) {
    constexpr std::size_t limits[] = {SIZE_MAX, 4096, 1 << 20, 0};
    turn.world.arena->limit(limits[turn.number++ % 4]), turn.count();
}
void get_limit(Turn &turn) {
    if (std::size_t const limit = turn.world.arena->limit(); limit != SIZE_MAX && limit > 1 << 20) UNEXPECTED(turn);
    turn.count();
}
void capacity(Turn &turn) {
    if (turn.world.arena->capacity() > 64 << 20) UNEXPECTED(turn);
    turn.count();
}
void describe(Turn &turn) {
    if (turn.world.arena->describe() != uform::ArenaDescription{}) UNEXPECTED(turn);
    turn.count();
}
void reserve(Turn &turn) {
    if (turn.ok(turn.world.arena->reserve(4096 * (1 + turn.number++ % 12)), __LINE__, {Status::contended}))
        turn.count();
}
void trim(Turn &turn) {
    if (turn.ok(turn.world.arena->trim(), __LINE__, {Status::contended})) turn.count();
}

// Other arenas, whose slots come from the same list.

bool call_elsewhere(Arena<Ram> &arena, std::uint32_t number) {
    arena.limit(1 << 16);
    auto draft = arena.begin();
    if (!draft) return false;
    auto const place = draft->place<std::uint32_t>(2, 3);
    auto writing = std::move(*draft).commit();
    if (!writing) return false;
    std::ranges::fill(writing->values(place), number);
    auto const published = std::move(*writing).publish();
    if (!published) return false;
    auto const values = (*published)[place].values<std::uint32_t>();
    return values && is_all(values->data(), 6, number);
}
void another_arena(Turn &turn) {
    Arena<Ram> arena;
    if (call_elsewhere(arena, turn.number++)) turn.count();
    else UNEXPECTED(turn);
}
void many_arenas(Turn &turn) {
    std::array<Arena<Ram>, 40> arenas; // more than a slab holds
    std::uint32_t const number = turn.number++;
    if (call_elsewhere(arenas[number % 40], number)) turn.count();
    else UNEXPECTED(turn);
}

// Changes of the arena itself.

void destroy(Turn &turn) { turn.world.arena.reset(), turn.count(); }
void assign_over(Turn &turn) { *turn.world.arena = Arena<Ram>(), turn.count(); }
void move_away_and_back(Turn &turn) {
    Arena<Ram> moved = std::move(*turn.world.arena);
    if (turn.world.arena->begin().has_value()) UNEXPECTED(turn); // of nothing
    *turn.world.arena = std::move(moved), turn.count();
}
void detach_and_end(Turn &turn) {
    auto detached = turn.world.arena->detach();
    if (turn.ok(detached, __LINE__, {Status::contended})) turn.count();
}
void detach_and_keep(Turn &turn) {
    auto detached = turn.world.arena->detach();
    if (!turn.ok(detached, __LINE__, {Status::contended})) return;
    turn.detached.reset(); // of the last round
    turn.detached.emplace(*std::move(detached)), turn.count();
}
/// Ends the arena while this thread's own draft has it, where the other thread's has not.
void destroy_under_own_draft(Turn &turn) {
    turn.world.arena.reset();
    if (!turn.draft) return;
    auto const writing = std::move(*turn.draft).commit();
    turn.draft.reset();
    if (turn.ok(writing, __LINE__, {Status::invalid_argument})) UNEXPECTED(turn);
    else turn.count();
}

enum : unsigned {
    starts_call = 1,  // on the arena, with a part that may be just starting
    calls = 2,        // on the arena, with no such part
    rewinds = 4,      // other threads' unpinned rows with it
    changes = 8,      // the arena itself
    ends_results = 16 // of which no pin is held
};
struct Operation {
    char const *name;
    unsigned traits;
    void (*start)(Turn &);
    void (*finish)(Turn &);
    bool is_unpinned = false, limits = false;
};
constexpr auto none = [](Turn &) {};

Operation const operations[] = {
    {"begin, commit, publish", starts_call | rewinds, begin<uform::Holder::this_thread>, publish},
    {"begin, commit, publish_pinned, read", starts_call | rewinds, begin<uform::Holder::this_thread>, publish_pinned},
    {"begin for no thread, commit, publish_pinned, read", starts_call | rewinds, begin<uform::Holder::none>,
     publish_pinned},
    {"begin, refuse", starts_call, begin<uform::Holder::this_thread>, refuse},
    {"begin for an executor, refuse", starts_call, begin_for_executor, refuse},
    {"begin, commit out of memory", starts_call, begin<uform::Holder::this_thread>, commit_too_large},
    {"begin, commit, fail", starts_call | rewinds, begin<uform::Holder::this_thread>, fail},
    {"begin, commit, publish refused", starts_call | rewinds, begin<uform::Holder::this_thread>, publish_refused},
    {"pin, read, unpin", 0, none, pin_read_unpin},
    {"read and unpin what is pinned", 0, pin, read_and_unpin},
    {"sixteen pins", 0, none, pin_many},
    {"is_current", 0, none, is_current},
    {"values, row, matrix of a pinned view", 0, pin, values_of_pinned},
    {"copy_to of a pinned view", 0, pin, copy_of_pinned},
    {"Published[place], pin, read", 0, none, view_by_place},
    {"pinned Published[place], read", 0, none, view_by_pinned_place},
    {"pinned texts, offsets", 0, none, read_texts},
    {"unpinned read", 0, none, read_unpinned, true},
    {"limit(bytes)", calls, none, set_limit, false, true},
    {"limit()", calls, none, get_limit},
    {"capacity()", calls, none, capacity},
    {"describe()", calls, none, describe},
    {"reserve", calls, none, reserve},
    {"trim", calls, none, trim},
    {"another arena", 0, none, another_arena},
    {"forty other arenas", 0, none, many_arenas},
    {"destroy", changes | ends_results, none, destroy},
    {"assign another arena", changes | ends_results, none, assign_over},
    {"destroy under its own draft", changes | ends_results | starts_call, begin<uform::Holder::this_thread>,
     destroy_under_own_draft},
    {"move away and back", changes, none, move_away_and_back},
    {"detach, and end that", changes | ends_results, none, detach_and_end},
    {"detach, and keep that", changes, none, detach_and_keep},
};

constexpr char const *changes_alone = "Destroying, moving and `detach()` change the arena itself: no other thread may "
                                      "be just starting a call on it (one under way is safe).";
constexpr char const *unpinned_alone =
    "Unpinned reads are for the one thread that makes the calls and frees the arena, "
    "while no deferred call holds it.";

/// The sentence of the contract that forbids a pair; null where none does.
char const *forbidden(Operation const &one, Operation const &other) {
    if ((one.traits & changes) && (other.traits & changes)) return changes_alone;
    for (auto const &[a, b] : {std::pair(&one, &other), std::pair(&other, &one)}) {
        if ((a->traits & changes) && (b->traits & calls)) return changes_alone;
        if (a->is_unpinned && (b->traits & (rewinds | ends_results))) return unpinned_alone;
    }
    return nullptr;
}

/// Where two threads meet; whoever waits spins, so that both go on at once.
class Meeting {
    std::atomic<unsigned> arrived_{0}, round_{0};

  public:
    void operator()() {
        unsigned const round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 1) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins)
            if (spins > 200) std::this_thread::yield();
    }
};

/// Two threads, and what they do to each other.
class Matrix {
    static constexpr long rounds_together = 50, rounds_in_step = 16, most_rounds = 200;

    World world_;
    Meeting meet_;
    bool moves_;                                  // the block can't grow in place
    std::array<Operation const *, 2> pair_{};     // null: the end
    bool in_step_ = false;                        // one of the pair changes the arena itself
    std::array<std::atomic<long>, 2> progress_{}; // rounds of each thread, while they run together
    std::map<Operation const *, std::atomic<long>> done_;
    std::optional<Slot const *> last_slot_;

    /// A result of the right bytes, by the one thread that is at work; where there is no arena, in a new one.
    bool publish_one() {
        if (!world_.arena) {
            world_.arena.emplace();
            if (moves_) { // the addresses are reserved below a limit that is raised later
                world_.arena->limit(4096);
                if (!call_once(1, 1)) return false;
            }
        }
        world_.arena->limit(SIZE_MAX);
        return call_once(0, 0);
    }
    bool call_once(std::size_t rows, std::size_t columns) {
        std::atomic<long> done{0};
        Turn turn(world_, done);
        if (rows) {
            auto draft = world_.arena->begin();
            if (!draft) return false;
            (void)draft->place<std::uint8_t>(rows, columns);
            auto writing = std::move(*draft).commit();
            return writing && std::move(*writing).publish().has_value();
        }
        begin<uform::Holder::this_thread>(turn);
        if (!turn.draft) return false;
        last_slot_ = static_cast<Slot const *>(turn.posted.place.arena);
        publish(turn);
        if (done.load() != 1) return false;
        read_unpinned(turn), read_texts(turn), view_by_place(turn);
        return done.load() == 5;
    }
    void run(int side) {
        Operation const &operation = *pair_[static_cast<std::size_t>(side)];
        auto &mine = progress_[static_cast<std::size_t>(side)], &others = progress_[static_cast<std::size_t>(1 - side)];
        Turn turn(world_, done_.at(&operation));
        if (!in_step_) {
            for (long i = 0;
                 i != most_rounds && (i < rounds_together || others.load(std::memory_order_relaxed) < rounds_together);
                 ++i) {
                operation.start(turn), operation.finish(turn);
                mine.store(i + 1, std::memory_order_relaxed);
            }
            meet_();
            return;
        }
        for (long i = 0; i != rounds_in_step; ++i) {
            if (side == 0 && !publish_one()) world_.unexpected_at(__LINE__);
            meet_();
            operation.start(turn);
            meet_();
            if (i % 3 == side) std::this_thread::yield(); // let the other one be first at times
            operation.finish(turn);
            meet_();
        }
        turn.detached.reset();
        meet_();
    }

  public:
    int pairs = 0;

    explicit Matrix(bool moves) : moves_(moves) {
        for (auto const &operation : operations) done_[&operation].store(0);
    }

    void run_pair(Operation const &one, Operation const &other) {
        ++pairs;
        world_.arena.reset();
        world_.mailbox.clear();
        world_.limited = one.limits || other.limits;
        progress_[0] = progress_[1] = 0;
        bool const ready = publish_one();
        auto const before = world_.mailbox.newest();
        pair_ = {&one, &other}, in_step_ = ((one.traits | other.traits) & changes) != 0;
        meet_();
        run(0);

        INFO(one.name << " against " << other.name << (moves_ ? ", a block that moves" : ", a block that grows"));
        CHECK(ready);
        CHECK(world_.torn.exchange(0) == 0);
        if (world_.unexpected.exchange(0) != 0) FAIL_CHECK("unexpected at line " << world_.unexpected_line);
        // The arena is usable, nobody holds it, and what came before is stale.
        auto const newest = world_.mailbox.newest();
        CHECK(publish_one());
        CHECK(before.has_value());
        CHECK_FALSE((before && before->rows.is_current()));
        CHECK_FALSE((newest && newest->rows.is_current()));
        auto const word = last_slot_.value()->lease.word();
        CHECK(Lease::pins_of(word) == 0);
        CHECK((word & (Lease::state_mask | Lease::waiting)) == Lease::idle);
    }
    void follow() { // the other thread's life
        for (meet_(); pair_[0]; meet_()) run(1);
    }
    void end() { pair_ = {}, meet_(); }
    void check_all_happened() {
        for (auto const &operation : operations) {
            INFO(operation.name);
            CHECK(done_.at(&operation).load() > 0);
        }
    }
};

} // namespace

TEST_CASE("every operation on an arena races every other that the contract allows", "[arena][threads][races]") {
    std::map<std::string, std::map<std::string, std::vector<std::string>>> left_out;
    int run = 0, under_way = 0, all = 0;
    for (bool const moves : {false, true}) {
        Matrix matrix(moves);
        std::thread other([&] { matrix.follow(); });
        for (auto const *one = std::begin(operations); one != std::end(operations); ++one)
            for (auto const *second = one; second != std::end(operations); ++second) {
                ++all;
                if (char const *sentence = forbidden(*one, *second)) {
                    if (!moves) left_out[sentence][one->name].push_back(second->name);
                    continue;
                }
                matrix.run_pair(*one, *second);
                under_way +=
                    ((one->traits ^ second->traits) & changes) && ((one->traits | second->traits) & starts_call);
            }
        matrix.end();
        other.join();
        matrix.check_all_happened();
        run += matrix.pairs;
    }
    std::size_t forbidden_pairs = 0;
    for (auto const &[sentence, pairs] : left_out)
        for (auto const &[one, others] : pairs) forbidden_pairs += 2 * others.size();
    CHECK(static_cast<std::size_t>(run) + forbidden_pairs == static_cast<std::size_t>(all));
    std::printf("races: %zu operations, %d pairs run on two kinds of blocks, %zu left out; of calls that change the "
                "arena itself against others, %d with the other call under way and none with it just starting\n",
                std::size(operations), run, forbidden_pairs, under_way);
    for (auto const &[sentence, pairs] : left_out) {
        std::printf("left out: \"%s\"\n", sentence.c_str());
        for (auto const &[one, others] : pairs) {
            std::printf("    %s ×", one.c_str());
            for (auto const &second : others) std::printf(" %s;", second.c_str());
            std::printf("\n");
        }
    }
    std::fflush(stdout);
}
