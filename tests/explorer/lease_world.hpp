/// What a lease must do, beside what it does: the contract's table and the record of what really is, under the
/// explorer.
///
/// Each step of a lease is called through `World`, which says what is being done. Whenever the word changes, the change
/// is held against the table's row of that step and against the record; when the step returns, its answer is held
/// against the row and the word that it saw last. The layout, the rows and the limits are written down again here.
#ifndef UFORM_TESTS_EXPLORER_LEASE_WORLD_HPP
#define UFORM_TESTS_EXPLORER_LEASE_WORLD_HPP

#include "simulated.hpp"

#include "uform/lease.hpp"

#include <string>

namespace explorer {

using Word = std::uint64_t;
using Lease = uform::Lease<Simulated>;
using Slot = uform::BasicSlot<Simulated>;
using Slots = uform::BasicSlots<Simulated>;
using uform::Holder, uform::LeaseStep, uform::Readers;

inline constexpr Word idle = 0, reserved = 1, writing = 2, closed = 3;
inline constexpr Word last_epoch = 0xffff'ffff'ffff, pins_for_readers = 4094;

/// epoch : 48 | pins : 12 | spare : 1 | waiting : 1 | state : 2
struct Fields {
    Word epoch = 0, pins = 0, spare = 0, waiting = 0, state = idle;

    [[nodiscard]] static Fields of(Word word) noexcept {
        return {word >> 16, word >> 4 & 0xfff, word >> 3 & 1, word >> 2 & 1, word & 3};
    }
    [[nodiscard]] std::string text() const {
        static char const *const states[] = {"idle", "reserved", "writing", "closed"};
        return std::string(states[state]) + (waiting ? "+waiting" : "") + " epoch " +
               (epoch > last_epoch - 100 ? "last-" + std::to_string(last_epoch - epoch) : std::to_string(epoch)) +
               " pins " + std::to_string(pins);
    }
    bool operator==(Fields const &) const noexcept = default;
};

struct World;

/// What stands for an arena's storage: made in a slot, and gone when the last reference has gone.
struct ModelStorage {
    World &world;
    int slot;

    ModelStorage(World &in, int index) noexcept;
    ModelStorage(ModelStorage const &) = delete;
    ~ModelStorage();
};

struct World : Program {
    enum class Action : std::uint8_t {
        none,
        reserve,
        refuse,
        commit,
        publish,
        fail,
        pin,
        unpin,
        close,
        try_close,
        reopen
    };
    static constexpr int most_slots = 2, nobody = -1;
    static constexpr Word poison = 0xdead;

    /// What really is.
    struct Truth {
        int held_by = nobody; // the thread whose call has the slot, `deferred` for one without a thread
        bool is_held = false, is_writing = false;
        bool is_open = false;             // an arena has the slot
        bool holder_counts = false;       // as a pin: its own thread closed
        bool is_closing = false;          // a closer has set `waiting`
        bool is_alive = false;            // the storage
        std::uint8_t guards = 0;          // pins of the scenario's threads
        std::uint16_t foreign_guards = 0; // pins that are there from the start to the end
        std::uint8_t freed = 0, opened = 0;
        Word current = 0; // the epoch of the results that are readable, or 0
        Word views = 0;   // a bit for each epoch that a view was made of, from `first_epoch` on
        Word first_epoch = 0;
    };
    /// What a thread is doing, and what it has seen.
    struct Doing {
        Action action = Action::none;
        int slot = 0;
        Readers readers = Readers::refused;
        Holder holder = Holder::this_thread;
        bool pinned = false, changed = false, unpinned = false, freed_last = false;
        Word epoch = 0, seen = 0, before = 0, after = 0;
    };

    Slots slots;
    alignas(64) std::byte memory[most_slots][sizeof(Slot)];
    int word_location[most_slots] = {nobody, nobody};
    Truth truth[most_slots];
    Doing doing[most_threads];
    /// The results and their table; the draft's table and the block's successor; what dies last.
    Plain bytes[most_slots]{{0, "the bytes", false}, {0, "the bytes", false}};
    Plain draft[most_slots]{{0, "the draft", false}, {0, "the draft", false}};
    Plain life[most_slots]{{0, "the storage", false}, {0, "the storage", false}};
    Simulated::Atomic<Word> mail; // an epoch, sent without any order
    bool may_wander = false;      // a guard may be used on another thread than the one that began

    [[nodiscard]] static Explorer &explorer() noexcept { return Explorer::instance(); }
    static void require(bool holds, char const *text) { explorer().require(holds, text); }
    [[nodiscard]] Slot &slot(int index) noexcept { return *reinterpret_cast<Slot *>(memory[index]); }
    [[nodiscard]] Lease &lease(int index) noexcept { return slot(index).lease; }
    [[nodiscard]] Fields word(int index) const noexcept { return Fields::of(explorer().newest(word_location[index])); }
    [[nodiscard]] Doing &now() noexcept { return doing[explorer().current()]; }
    [[nodiscard]] int index_of(Slot const &which) noexcept {
        for (int i = 0; i != most_slots; ++i)
            if (&which == &slot(i)) return i;
        explorer().fault("a slot from nowhere");
    }

    // The record.

    void see_view(Truth &what, Word epoch) noexcept { what.views |= Word{1} << (epoch - what.first_epoch); }
    [[nodiscard]] static bool has_view(Truth const &what, Word epoch) noexcept {
        return epoch - what.first_epoch < 64 && (what.views >> (epoch - what.first_epoch) & 1);
    }
    void release_holder(Truth &what) noexcept { what.is_held = what.is_writing = false, what.held_by = nobody; }

    /// Each change of a word is one that the table's row makes.
    void changed(int location, int thread, Word word_before, Word word_after) override {
        int index = 0;
        while (index != most_slots && word_location[index] != location) ++index;
        if (index == most_slots) return;
        auto &what = truth[index];
        auto &does = doing[thread];
        Fields const before = Fields::of(word_before), after = Fields::of(word_after);
        Fields next = before; // what the row makes
        require(does.slot == index || does.action == Action::reopen, "a step changes the word of another slot");
        does.before = does.seen = word_before, does.after = word_after, does.changed = true;
        switch (does.action) {
        case Action::none: explorer().fault("the word changes outside of a step");
        case Action::reserve:
            require(before.state == idle, "reserve: not idle");
            require(!before.waiting, "reserve: a closer waits");
            require(does.readers == Readers::allowed || before.pins == 0, "reserve: a reader holds a pin");
            require(before.epoch + 3 <= last_epoch, "reserve: fewer than three epochs left");
            require(!what.is_held && what.is_open, "reserve: another call has the arena, or it was freed");
            next.state = reserved;
            what.is_held = true, what.held_by = does.holder == Holder::this_thread ? thread : nobody;
            break;
        case Action::refuse:
        case Action::fail:
        case Action::publish:
            require(what.is_held, "a call ends that isn't there");
            if (before.state == closed && does.action != Action::publish) {
                require(what.holder_counts, "a call ends on a closed slot where it wasn't counted");
                --next.pins;
                what.holder_counts = false, release_holder(what), does.unpinned = true;
                does.freed_last = next.pins == 0;
                break;
            }
            require(before.state == (does.action == Action::refuse ? reserved : writing),
                    "a call ends in another's state");
            next.state = idle;
            release_holder(what);
            if (does.action == Action::fail) ++next.epoch;
            if (does.action == Action::publish) {
                what.current = before.epoch, see_view(what, before.epoch);
                if (does.pinned) ++next.pins, ++what.guards;
            }
            break;
        case Action::commit:
            require(before.state == reserved && what.is_held, "commit: not reserved");
            require(before.pins == 0 && what.guards + what.foreign_guards == 0, "commit: a reader holds a pin");
            next.state = writing, ++next.epoch;
            what.is_writing = true, what.current = 0;
            break;
        case Action::pin:
            require(before.state <= reserved, "pin: not idle or reserved");
            require(before.epoch == does.epoch && what.current == does.epoch, "pin: another epoch");
            require(before.pins < pins_for_readers, "pin: more than readers may hold");
            ++next.pins, ++what.guards;
            break;
        case Action::unpin:
            require(what.guards > 0, "unpin: no pin is held");
            --next.pins, --what.guards;
            does.freed_last = before.state == closed && next.pins == 0;
            break;
        case Action::close:
        case Action::try_close:
            require(before.state != closed, "close: closed before");
            if (after.state != closed) {
                require(does.action == Action::close && before.state != idle, "waits for no call");
                require(before == after || !before.waiting, "close: more changes than `waiting`");
                next.waiting = 1, what.is_closing = true;
                break;
            }
            if (before.state != idle) {
                require(what.held_by == thread || may_wander, "close: doesn't wait for another thread's call");
                ++next.pins, what.holder_counts = true;
            }
            next.state = closed, ++next.epoch, next.waiting = 0;
            what.is_open = what.is_closing = false, what.current = 0;
            break;
        case Action::reopen:
            require(before.state == closed && before.pins == 0 && !before.waiting, "reopen: not closed, or not free");
            require(before.epoch + 4 <= last_epoch, "reopen: fewer than three epochs left then");
            require(!what.is_held && what.guards == 0, "reopen: somebody still uses the slot");
            next.state = idle, ++next.epoch;
            what.is_open = true, ++what.opened;
            break;
        }
        if (!(after == next))
            explorer().fault("the word became " + after.text() + ", and the table makes " + next.text());
        check(index);
    }
    void read(int location, int thread, Word value) override {
        int const index = doing[thread].slot;
        if (index != nobody && location == word_location[index]) doing[thread].seen = value;
    }
    /// What holds after every change.
    void check(int index) const {
        auto const &what = truth[index];
        Fields const is = word(index);
        require(is.spare == 0, "the spare bit is set");
        require(is.state == writing || !has_view(what, is.epoch) || what.current == is.epoch,
                "a word that isn't writing has the epoch of a view that isn't current");
        require(is.pins == static_cast<Word>(what.guards) + what.foreign_guards + what.holder_counts,
                "the pins aren't those that are held");
        require(what.is_open == (is.state != closed), "closed, and the arena wasn't freed");
        require(!what.current || (life[index].is_alive() && bytes[index].value() == what.current),
                "the current results aren't there");
        require(is.waiting == what.is_closing, "`waiting`, and nobody waits");
    }
    void hash(Hash &hash) const override {
        for (auto const &what : truth) {
            hash.add(static_cast<Word>(what.held_by + 1) << 32 | static_cast<Word>(what.is_held) << 31 |
                     static_cast<Word>(what.is_writing) << 30 | static_cast<Word>(what.is_open) << 29 |
                     static_cast<Word>(what.holder_counts) << 28 | static_cast<Word>(what.is_closing) << 27 |
                     static_cast<Word>(what.is_alive) << 26 | static_cast<Word>(what.guards) << 16 |
                     static_cast<Word>(what.freed) << 8 | what.opened);
            hash.add(what.current), hash.add(what.views);
        }
    }
    std::string describe(int location, Word value) const override {
        for (int i = 0; i != most_slots; ++i) {
            if (word_location[i] == location) return (i ? "second word: " : "word: ") + Fields::of(value).text();
            if (word_location[i] + 1 == location) return "holder: " + std::to_string(value);
        }
        return "mail: " + std::to_string(value);
    }

    // Slots and storage.

    /// A slot on the list of free ones, with the epoch that its next arena begins at.
    void add_slot(int index, Word epoch = 1) {
        ::new (static_cast<void *>(memory[index])) Slot;
        lease(index).~Lease();
        ::new (static_cast<void *>(&lease(index))) Lease((epoch - 1) << 16 | closed);
        now().slot = index;
        (void)lease(index).word();
        word_location[index] = explorer().last_location();
        truth[index].first_epoch = epoch;
        life[index].make(0), bytes[index].make(0), draft[index].make(0); // `recycle` wants something to free
        truth[index].is_alive = true;
        slot(index).construct<ModelStorage>(*this, -1 - index);
        slots.recycle(slot(index));
        truth[index].freed = 0;
    }
    /// `Arena::open`: the slot's number, or `nobody` where none is free.
    int open() {
        now() = {.action = Action::reopen, .slot = nobody}; // whichever is free
        int const index = explorer().whole([&] {
            Slot *const taken = slots.take();
            return taken ? index_of(*taken) : nobody;
        });
        now().action = Action::none;
        if (index == nobody) return nobody;
        require(!truth[index].is_alive, "open: the storage of the slot's last arena is still there");
        slot(index).construct<ModelStorage>(*this, index);
        explorer().note("opens slot", static_cast<Word>(index));
        return index;
    }
    void recycle(int index) {
        explorer().note("frees slot", static_cast<Word>(index));
        (void)explorer().whole([&] { return slots.recycle(slot(index)), 0; });
    }
    /// Another word, with pins that stay.
    void begin_at(int index, Fields fields) {
        lease(index).~Lease();
        ::new (static_cast<void *>(&lease(index))) Lease(fields.epoch << 16 | fields.pins << 4 | fields.state);
        now() = {.slot = index};
        (void)lease(index).word();
        word_location[index] = explorer().last_location();
        truth[index].foreign_guards = static_cast<std::uint16_t>(fields.pins);
    }

    // The steps, as `uform::Arena` and its guards call them.

    LeaseStep reserve(int index, Readers readers = Readers::refused, Holder holder = Holder::this_thread) {
        now() = {.action = Action::reserve, .slot = index, .readers = readers, .holder = holder};
        auto const answer = explorer().whole([&] { return lease(index).reserve(readers, holder); });
        Fields const seen = Fields::of(now().seen);
        LeaseStep expected = LeaseStep::done;
        if (seen.state == closed) expected = LeaseStep::closed;
        else if (seen.state != idle || seen.waiting) expected = LeaseStep::busy;
        else if (readers == Readers::refused && seen.pins) expected = LeaseStep::pinned;
        else if (seen.epoch + 3 > last_epoch) expected = LeaseStep::exhausted;
        require(answer == expected, "reserve: another answer than the word's");
        require(now().changed == (answer == LeaseStep::done), "reserve: answered what it didn't do");
        end("reserve answers", answer);
        return answer;
    }
    /// As a guard of a draft does: the draft is touched, the call ends, and who was last frees.
    void refuse(int index) {
        draft[index].write(draft[index].read() + 1);
        now() = {.action = Action::refuse, .slot = index};
        bool const last = explorer().whole([&] { return lease(index).refuse(); });
        require(now().changed && last == now().freed_last, "refuse: `last` is wrong");
        end("refuse answers", last);
        if (last) recycle(index);
    }
    LeaseStep commit(int index) {
        draft[index].write(draft[index].read() + 1);
        now() = {.action = Action::commit, .slot = index};
        auto const answer = explorer().whole([&] { return lease(index).commit(); });
        Fields const seen = Fields::of(now().seen);
        auto const expected = seen.state == closed ? LeaseStep::closed
                              : seen.pins          ? LeaseStep::pinned
                                                   : LeaseStep::done;
        require(answer == expected, "commit: another answer than the word's");
        require(now().changed == (answer == LeaseStep::done), "commit: answered what it didn't do");
        end("commit answers", answer);
        return answer;
    }
    /// Rewinds, and writes results that say their epoch.
    void write(int index) {
        (void)life[index].read();
        Word const epoch = Fields::of(now().after).epoch;
        bytes[index].write(poison);
        bytes[index].write(epoch);
    }
    /// The epoch that was published, or 0 where the arena was freed meanwhile.
    Word publish(int index, bool pinned) {
        (void)bytes[index].read();
        now() = {.action = Action::publish, .slot = index, .pinned = pinned};
        Word epoch = 0;
        bool const done = explorer().whole(
            [&]() -> Word { return lease(index).publish(pinned, epoch) == LeaseStep::done ? epoch + 1 : 0; });
        Fields const seen = Fields::of(now().seen);
        require(done == now().changed && done == (seen.state != closed), "publish: answered what it didn't do");
        require(!done || epoch == seen.epoch, "publish: another epoch");
        end("publish answers", done);
        if (done) return epoch;
        require(truth[index].holder_counts, "publish: closed, and the call wasn't counted");
        now() = {.action = Action::fail, .slot = index}; // a pin by now, as where a failed call finds the slot closed
        bool const last = explorer().whole([&] { return lease(index).unpin(); });
        require(now().changed && last == now().freed_last, "publish: `last` is wrong");
        if (last) recycle(index);
        return 0;
    }
    void fail(int index) {
        bytes[index].write(poison);
        now() = {.action = Action::fail, .slot = index};
        bool const last = explorer().whole([&] { return lease(index).fail(); });
        require(now().changed && last == now().freed_last, "fail: `last` is wrong");
        end("fail answers", last);
        if (last) recycle(index);
    }
    LeaseStep pin(int index, Word epoch) {
        now() = {.action = Action::pin, .slot = index, .epoch = epoch};
        auto const answer = explorer().whole([&] { return lease(index).pin(epoch); });
        Fields const seen = Fields::of(now().seen);
        auto const expected = seen.epoch != epoch || seen.state > reserved ? LeaseStep::closed
                              : seen.pins >= pins_for_readers              ? LeaseStep::pinned
                                                                           : LeaseStep::done;
        require(answer == expected, "pin: another answer than the word's");
        require(now().changed == (answer == LeaseStep::done), "pin: answered what it didn't do");
        end("pin answers", answer);
        return answer;
    }
    void unpin(int index) {
        now() = {.action = Action::unpin, .slot = index};
        bool const last = explorer().whole([&] { return lease(index).unpin(); });
        require(now().changed && last == now().freed_last, "unpin: `last` is wrong");
        end("unpin answers", last);
        if (last) recycle(index);
    }
    bool is_current(int index, Word epoch) {
        now() = {.slot = index};
        bool const answer = explorer().whole([&] { return lease(index).is_current(epoch); });
        Fields const seen = Fields::of(now().seen);
        require(answer == (seen.epoch == epoch && seen.state <= reserved), "peek: another answer than the word's");
        end("peek answers", answer);
        return answer;
    }
    void close(int index) {
        now() = {.action = Action::close, .slot = index};
        bool const last = explorer().whole([&] { return lease(index).close(); });
        require(Fields::of(now().after).state == closed, "close: not closed");
        require(last == (Fields::of(now().after).pins == 0), "close: `last` is wrong");
        end("close answers", last);
        if (last) recycle(index);
    }
    LeaseStep try_close(int index) {
        now() = {.action = Action::try_close, .slot = index};
        bool last = false;
        auto const answer = static_cast<LeaseStep>(explorer().whole([&] {
            auto const step = lease(index).try_close(last);
            return static_cast<int>(step) + 16 * last;
        }) & 15);
        Fields const seen = Fields::of(now().seen);
        require(answer == (now().changed ? LeaseStep::done : LeaseStep::busy), "try_close: answered what it didn't do");
        require(now().changed || seen.state == reserved || seen.state == writing,
                "try_close: busy, and no call has it");
        require(!now().changed || last == (Fields::of(now().after).pins == 0), "try_close: `last` is wrong");
        require(now().changed || !last, "try_close: busy, and `last` is set");
        end("try_close answers", answer);
        if (now().changed && last) recycle(index);
        return answer;
    }
    LeaseStep may_detach(int index) {
        now() = {.slot = index};
        auto const answer = explorer().whole([&] { return lease(index).may_detach(); });
        Fields const seen = Fields::of(now().seen);
        require((answer == LeaseStep::done) == (seen.state == idle && !seen.waiting),
                "may_detach: another answer than the word's");
        require(answer == LeaseStep::done || answer == LeaseStep::busy, "may_detach: neither done nor busy");
        end("may_detach answers", answer);
        return answer;
    }

    // What callers do.

    /// Reads results that may be read: they are those of the epoch.
    void look(int index, Word epoch) {
        (void)life[index].read();
        require(bytes[index].read() == epoch, "a reader sees the bytes of another epoch");
    }
    /// Whether it came to a read.
    bool pin_and_look(int index, Word epoch) {
        return explorer().whole([&] {
            if (pin(index, epoch) != LeaseStep::done) return false;
            look(index, epoch);
            unpin(index);
            return true;
        });
    }
    enum class Ending : std::uint8_t { refused, published, pinned, failed };
    /// A call from `begin` on, in one of four ways. Answers the epoch it published, or 0.
    Word call(int index, Ending ending, Readers readers = Readers::refused) {
        return explorer().whole([&]() -> Word {
            if (reserve(index, readers) != LeaseStep::done) return 0;
            draft[index].write(0);
            return go_on(index, ending);
        });
    }
    Word go_on(int index, Ending ending) {
        if (ending == Ending::refused || commit(index) != LeaseStep::done) return refuse(index), 0;
        write(index);
        if (ending == Ending::failed) return fail(index), 0;
        Word const epoch = publish(index, ending == Ending::pinned);
        if (!epoch) return 0;
        if (ending == Ending::pinned) look(index, epoch), unpin(index);
        return epoch;
    }
    /// All four.
    Ending any_ending() { return static_cast<Ending>(explorer().choose(4)); }
    Word any_call(int index) {
        return explorer().whole([&] { return call(index, any_ending()); });
    }
    /// An arena in a slot, with results.
    Word begin(int index, Word epoch = 1) {
        add_slot(index, epoch);
        require(open() == index, "the slot that was free wasn't taken");
        return call(index, Ending::published);
    }
    /// At the end of a scenario: the arena is freed, its storage once, and nothing is left over.
    void expect_freed(int index) {
        auto const &what = truth[index];
        if (what.is_open) close(index);
        Fields const is = word(index);
        require(!what.is_held && what.guards == 0, "the end: a call or a pin is left over");
        require(is.state == closed && is.pins == what.foreign_guards && !is.waiting, "the end: the word isn't closed");
        require(what.freed == what.opened - (what.foreign_guards ? 1 : 0),
                "the end: the storage wasn't freed, once for each arena");
        require(!what.is_alive || what.foreign_guards, "the end: the storage is still there");
    }

  private:
    template <class Answer> void end(char const *step, Answer answer) {
        now().action = Action::none;
        explorer().note(step, static_cast<Word>(answer));
    }
};

inline ModelStorage::ModelStorage(World &in, int index) noexcept : world(in), slot(index < 0 ? -1 - index : index) {
    if (index < 0) return;
    world.life[slot].make(1), world.bytes[slot].make(World::poison), world.draft[slot].make(0);
    world.truth[slot].is_alive = true;
}
inline ModelStorage::~ModelStorage() {
    auto &what = world.truth[slot];
    Explorer::instance().require(what.is_alive, "the storage is freed twice");
    Explorer::instance().require(!what.is_open && !what.is_held && what.guards == 0,
                                 "the storage is freed while it is used");
    world.life[slot].free(), world.bytes[slot].free(), world.draft[slot].free();
    what.is_alive = false, ++what.freed;
}

} // namespace explorer

#endif // UFORM_TESTS_EXPLORER_LEASE_WORLD_HPP
