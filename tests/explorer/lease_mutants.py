"""What is planted in lease.hpp: each memory order weakened, each rule dropped, each refusal swallowed."""

from mutant import Mutant, caught, equivalent

ACQUIRE, RELEASE, BOTH, RELAXED = (
    "std::memory_order_" + name for name in ("acquire", "release", "acq_rel", "relaxed"))


def weaker(name, before, order, weak, after="", verdict=None):
    """An order, between the text before it and the text after it, made weaker."""
    return Mutant(name, before + order + after, before + weak + after, verdict or caught)


RESERVE_EXCHANGE = "word_.compare_exchange_weak(now, now + reserved, "
COMMIT_EXCHANGE = "word_.compare_exchange_weak(now, now + one_epoch + (writing - reserved), "
PIN_EXCHANGE = "word_.compare_exchange_weak(now, now + one_pin, "
WAIT_EXCHANGE = "word_.compare_exchange_weak(now, now | waiting, "
CLOSE_EXCHANGE = "word_.compare_exchange_weak(now, next, "
END_EXCHANGE = "word_.compare_exchange_weak(before, before - state + more, "

MUTEX_OF_SLOTS = equivalent(
    "only the thread that took the slot off the list of free ones reopens it, and the list's mutex orders that after "
    "the last change of the word and after the end of the storage; as a read-modify-write it carries release sequences "
    "on whatever its order, and what the new arena writes is published by its first call")

ORDERS = [
    weaker("reserve: no acquire", RESERVE_EXCHANGE, ACQUIRE, RELAXED),
    weaker("commit: no acquire", COMMIT_EXCHANGE, ACQUIRE, RELAXED),
    weaker("pin: no acquire", PIN_EXCHANGE, ACQUIRE, RELAXED),
    weaker("unpin: no release", "word_.fetch_sub(one_pin, ", BOTH, ACQUIRE),
    weaker("unpin: no acquire", "word_.fetch_sub(one_pin, ", BOTH, RELEASE),
    weaker("unpin: relaxed", "word_.fetch_sub(one_pin, ", BOTH, RELAXED),
    weaker("peek: no acquire", "bool is_current(Word epoch) const noexcept {\n        Word const now = word_.load(",
           ACQUIRE, RELAXED),
    weaker("close: first look without acquire", "Word now = word_.load(", ACQUIRE, RELAXED,
           "); // so that `holder_` is no older"),
    weaker("close: waits without acquire", WAIT_EXCHANGE, ACQUIRE, RELAXED, verdict=equivalent(
        "after this exchange the closer sleeps, and then looks at the word again with acquire; nothing is read between")),
    weaker("close: waits, failed without acquire", WAIT_EXCHANGE + ACQUIRE + ", ", ACQUIRE, RELAXED, verdict=equivalent(
        "`close_from` has just read a `holder_` that isn't this thread's, and coherence gives it none that is older; a "
        "newer one that is would be this thread's own store. All else that closing needs it gets from its own exchange")),
    weaker("close: looks again without acquire", "ended_.wait(mutex_); // whoever ends the call takes the mutex before it "
           "notifies, so no wake-up is lost\n                now = word_.load(", ACQUIRE, RELAXED, verdict=equivalent(
        "as above for `holder_`; the ended call's change of the word comes before its notifier's lock, so the closer that "
        "holds the mutex after it sees that change whatever the order, and acquires by the exchange that closes")),
    weaker("try_close: looks without acquire", "LeaseStep try_close(bool &last) noexcept {\n"
           "        Word now = word_.load(", ACQUIRE, RELAXED),
    weaker("may_detach: looks without acquire", "LeaseStep may_detach() const noexcept {\n"
           "        Word const now = word_.load(", ACQUIRE, RELAXED),
    weaker("reopen: looks without acquire", "bool reopen() noexcept {\n        Word const now = word_.load(",
           ACQUIRE, RELAXED, verdict=MUTEX_OF_SLOTS),
    weaker("reopen: no release", "word_.fetch_add(one_epoch - closed, ", BOTH, ACQUIRE, verdict=MUTEX_OF_SLOTS),
    weaker("reopen: no acquire", "word_.fetch_add(one_epoch - closed, ", BOTH, RELEASE, verdict=MUTEX_OF_SLOTS),
    weaker("reopen: relaxed", "word_.fetch_add(one_epoch - closed, ", BOTH, RELAXED, verdict=MUTEX_OF_SLOTS),
    weaker("word: no acquire", "Word word() const noexcept { return word_.load(", ACQUIRE, RELAXED, verdict=equivalent(
        "no step looks at the word through it: it is for tests and descriptions")),
    weaker("close: no release", CLOSE_EXCHANGE, BOTH, ACQUIRE),
    weaker("close: no acquire", CLOSE_EXCHANGE, BOTH, RELEASE),
    weaker("close: relaxed", CLOSE_EXCHANGE, BOTH, RELAXED),
    weaker("close: failed without acquire", CLOSE_EXCHANGE + BOTH + ", ", ACQUIRE, RELAXED),
    weaker("refuse, publish, fail: no release", END_EXCHANGE, RELEASE, RELAXED),
]

RESERVE = [
    Mutant("reserve: closed not looked at",
           "do {\n            if (state_of(now) == closed) return LeaseStep::closed;\n            if (state_of(now) != idle",
           "do {\n            if (state_of(now) != idle"),
    Mutant("reserve: closed answered as busy",
           "return LeaseStep::closed;\n            if (state_of(now) != idle",
           "return LeaseStep::busy;\n            if (state_of(now) != idle"),
    Mutant("reserve: a busy arena too", "if (state_of(now) != idle || (now & waiting))", "if (now & waiting)"),
    Mutant("reserve: while a closer waits", "if (state_of(now) != idle || (now & waiting))", "if (state_of(now) != idle)"),
    Mutant("reserve: while readers hold pins",
           "            if (readers == Readers::refused && (now & pins_mask)) return LeaseStep::pinned;\n", ""),
    Mutant("reserve: pins are never allowed", "if (readers == Readers::refused && (now & pins_mask))", "if (now & pins_mask)"),
    Mutant("reserve: pins answered as done",
           "if (readers == Readers::refused && (now & pins_mask)) return LeaseStep::pinned;",
           "if (readers == Readers::refused && (now & pins_mask)) return LeaseStep::done;"),
    Mutant("reserve: no limit of epochs", "            if (epoch_of(now) > last_epoch - 3) return LeaseStep::exhausted;\n", ""),
    Mutant("reserve: two epochs are enough", "epoch_of(now) > last_epoch - 3", "epoch_of(now) > last_epoch - 2"),
    Mutant("reserve: four epochs are wanted", "epoch_of(now) > last_epoch - 3", "epoch_of(now) > last_epoch - 4"),
    Mutant("reserve: spent epochs answered as busy", "return LeaseStep::exhausted;", "return LeaseStep::busy;"),
    Mutant("reserve: straight to writing", RESERVE_EXCHANGE, "word_.compare_exchange_weak(now, now + writing, "),
    Mutant("reserve: a store for the exchange",
           "!" + RESERVE_EXCHANGE + ACQUIRE + ", " + RELAXED + ")", "(word_.store(now + reserved, " + RELEASE + "), false)"),
    Mutant("reserve: no holder",
           "        if (holder == Holder::this_thread) holder_.store(Platform::this_thread(), std::memory_order_relaxed);\n",
           "        (void)holder;\n"),
    Mutant("reserve: a deferred call's holder is its thread", "if (holder == Holder::this_thread) holder_", "(void)holder; holder_"),
    Mutant("reserve: the holder is written first",
           "Holder holder = Holder::this_thread) noexcept {\n        Word now",
           "Holder holder = Holder::this_thread) noexcept {\n"
           "        holder_.store(Platform::this_thread(), std::memory_order_relaxed);\n        Word now"),
]

REFUSE_COMMIT = [
    Mutant("refuse: takes an epoch", "!end(reserved, 0, before)", "!end(reserved, one_epoch, before)"),
    Mutant("refuse: from writing", "!end(reserved, 0, before)", "!end(writing, 0, before)"),
    Mutant("refuse: keeps its pin of a closed slot", "return !end(reserved, 0, before) && unpin();",
           "(void)end(reserved, 0, before);\n        return false;"),
    Mutant("refuse: always an unpin", "return !end(reserved, 0, before) && unpin();",
           "(void)end(reserved, 0, before);\n        return unpin();"),
    Mutant("commit: closed not looked at",
           "            if (state_of(now) == closed) return LeaseStep::closed;\n            if (now & pins_mask)",
           "            if (now & pins_mask)"),
    Mutant("commit: closed answered as done",
           "return LeaseStep::closed;\n            if (now & pins_mask)", "return LeaseStep::done;\n            if (now & pins_mask)"),
    Mutant("commit: pins looked at before closed",
           "            if (state_of(now) == closed) return LeaseStep::closed;\n"
           "            if (now & pins_mask) return LeaseStep::pinned;\n",
           "            if (now & pins_mask) return LeaseStep::pinned;\n"
           "            if (state_of(now) == closed) return LeaseStep::closed;\n"),
    Mutant("commit: pins not looked at again", "            if (now & pins_mask) return LeaseStep::pinned;\n", ""),
    Mutant("commit: pins answered as done", "if (now & pins_mask) return LeaseStep::pinned;",
           "if (now & pins_mask) return LeaseStep::done;"),
    Mutant("commit: no epoch", COMMIT_EXCHANGE, "word_.compare_exchange_weak(now, now + (writing - reserved), "),
    Mutant("commit: two epochs", COMMIT_EXCHANGE, "word_.compare_exchange_weak(now, now + 2 * one_epoch + (writing - reserved), "),
    Mutant("commit: stays reserved", COMMIT_EXCHANGE, "word_.compare_exchange_weak(now, now + one_epoch, "),
    Mutant("commit: a store for the exchange",
           "while (!" + COMMIT_EXCHANGE + ACQUIRE + ",\n                                              " + RELAXED + "));",
           "while ((word_.store(now + one_epoch + (writing - reserved), " + RELEASE + "), false));"),
]

PUBLISH_FAIL = [
    Mutant("publish: pinned without a pin", "end(writing, pinned ? one_pin : 0, before)", "end(writing, pinned ? 0 : 0, before)"),
    Mutant("publish: always a pin", "end(writing, pinned ? one_pin : 0, before)", "end(writing, pinned ? one_pin : one_pin, before)"),
    Mutant("publish: closed answered as done", "before)) return LeaseStep::closed;\n        epoch",
           "before)) return LeaseStep::done;\n        epoch"),
    Mutant("publish: closed is not told", "if (!end(writing, pinned ? one_pin : 0, before)) return LeaseStep::closed;",
           "(void)end(writing, pinned ? one_pin : 0, before);"),
    Mutant("publish: one more epoch", "end(writing, pinned ? one_pin : 0, before)",
           "end(writing, one_epoch + (pinned ? one_pin : 0), before)"),
    Mutant("publish: answers the next epoch", "epoch = epoch_of(before);", "epoch = epoch_of(before) + 1;"),
    Mutant("fail: no epoch", "!end(writing, one_epoch, before)", "!end(writing, 0, before)"),
    Mutant("fail: two epochs", "!end(writing, one_epoch, before)", "!end(writing, 2 * one_epoch, before)"),
    Mutant("fail: keeps its pin of a closed slot", "return !end(writing, one_epoch, before) && unpin();",
           "(void)end(writing, one_epoch, before);\n        return false;"),
    Mutant("fail: always an unpin", "return !end(writing, one_epoch, before) && unpin();",
           "(void)end(writing, one_epoch, before);\n        return unpin();"),
]

PIN_UNPIN_PEEK = [
    Mutant("pin: any epoch", "if (epoch_of(now) != epoch || state_of(now) > reserved)", "(void)epoch;\n            if (state_of(now) > reserved)"),
    Mutant("pin: an older epoch too", "if (epoch_of(now) != epoch ||", "if (epoch_of(now) < epoch ||"),
    Mutant("pin: in any state", "if (epoch_of(now) != epoch || state_of(now) > reserved)", "if (epoch_of(now) != epoch)"),
    Mutant("pin: while writing too", "state_of(now) > reserved)", "state_of(now) > writing)"),
    Mutant("pin: only while idle", "state_of(now) > reserved)", "state_of(now) > idle)"),
    Mutant("pin: a stale view answered as done", "if (epoch_of(now) != epoch || state_of(now) > reserved) return LeaseStep::closed;",
           "if (epoch_of(now) != epoch || state_of(now) > reserved) return LeaseStep::done;"),
    Mutant("pin: no limit of pins", "            if (pins_of(now) >= most_pins) return LeaseStep::pinned;\n", ""),
    Mutant("pin: one more than the limit", "pins_of(now) >= most_pins", "pins_of(now) > most_pins"),
    Mutant("pin: one fewer than the limit", "pins_of(now) >= most_pins", "pins_of(now) >= most_pins - 1"),
    Mutant("pin: the limit answered as done", "if (pins_of(now) >= most_pins) return LeaseStep::pinned;",
           "if (pins_of(now) >= most_pins) return LeaseStep::done;"),
    Mutant("pin: the holder's place is a reader's", "most_pins = 4094", "most_pins = 4095"),
    Mutant("pin: checked and counted in two steps",
           "while (\n            !" + PIN_EXCHANGE + ACQUIRE + ", " + RELAXED + ")",
           "while ((word_.fetch_add(one_pin, " + ACQUIRE + "), false)"),
    Mutant("pin: a store for the exchange",
           "!" + PIN_EXCHANGE + ACQUIRE + ", " + RELAXED + ")", "(word_.store(now + one_pin, " + RELEASE + "), false)"),
    Mutant("pin: two pins", PIN_EXCHANGE, "word_.compare_exchange_weak(now, now + 2 * one_pin, "),
    Mutant("unpin: last though not closed", "return state_of(before) == closed && pins_of(before) == 1;",
           "return pins_of(before) == 1;"),
    Mutant("unpin: last though others hold pins", "return state_of(before) == closed && pins_of(before) == 1;",
           "return state_of(before) == closed;"),
    Mutant("unpin: never last", "return state_of(before) == closed && pins_of(before) == 1;",
           "(void)before;\n        return false;"),
    Mutant("unpin: last is the one before", "pins_of(before) == 1;", "pins_of(before) == 2;"),
    Mutant("unpin: a load and a store for the update", "Word const before = word_.fetch_sub(one_pin, " + BOTH + ");",
           "Word const before = word_.load(" + ACQUIRE + ");\n        word_.store(before - one_pin, " + RELEASE + ");"),
    Mutant("peek: any epoch", "((now ^ epoch << 16) & ~(pins_mask", "(((void)epoch, now & 0xffff) & ~(pins_mask"),
    Mutant("peek: while writing too", "& ~(pins_mask | waiting | reserved", "& ~(pins_mask | waiting | writing | reserved"),
    Mutant("peek: not while reserved", "~(pins_mask | waiting | reserved |", "~(pins_mask | waiting |"),
    Mutant("peek: not while a closer waits", "~(pins_mask | waiting | reserved |", "~(pins_mask | reserved |"),
    Mutant("peek: not while pinned", "~(pins_mask | waiting | reserved |", "~(waiting | reserved |"),
    Mutant("peek: the spare bit is looked at", " | reserved | Word{8})", " | reserved)", equivalent(
        "no step sets the spare bit, so masking it out changes nothing; `World::check` holds that it stays clear")),
]

CLOSE = [
    Mutant("close: without the mutex", "        mutex_.lock();\n        Word now = word_.load(", "        Word now = word_.load("),
    Mutant("close: keeps the mutex", "        mutex_.unlock();\n        return last;", "        return last;"),
    Mutant("close: `waiting` is not set", "if ((now & waiting) ||\n                " + WAIT_EXCHANGE + ACQUIRE + ", " + ACQUIRE + "))",
           "if (true)"),
    Mutant("close: `waiting` is set again", "if ((now & waiting) ||\n                word_", "if (word_", equivalent(
        "where it is set already the exchange makes the word what it was, and the closer sleeps as before")),
    Mutant("close: `waiting` without an exchange",
           WAIT_EXCHANGE + ACQUIRE + ", " + ACQUIRE + ")", "(word_.store(now | waiting, " + RELEASE + "), true)"),
    Mutant("close: spins", "ended_.wait(mutex_);", ""),
    Mutant("close: doesn't look again", "now = word_.load(std::memory_order_acquire);\n            }", "}"),
    Mutant("close: gives up after a wake", "now = word_.load(std::memory_order_acquire);\n            }", "break;\n            }"),
    Mutant("close: closes after a wake, whatever the word", "now = word_.load(std::memory_order_acquire);\n            }",
           "now = word_.fetch_add(one_epoch + closed - (word_.load(std::memory_order_relaxed) & (state_mask | waiting)), "
           "std::memory_order_acq_rel);\n                last = (now & pins_mask) == 0;\n                break;\n            }"),
    Mutant("close: another thread's call isn't waited for", "if (state_of(now) != idle && !own) return false;", ""),
    Mutant("close: every call is one's own",
           "state_of(now) != idle && holder_.load(std::memory_order_relaxed) == Platform::this_thread();",
           "state_of(now) != idle;"),
    Mutant("close: one's own call is waited for",
           "state_of(now) != idle && holder_.load(std::memory_order_relaxed) == Platform::this_thread();", "false;"),
    Mutant("close: the holder is asked though idle",
           "state_of(now) != idle && holder_.load(std::memory_order_relaxed) == Platform::this_thread();",
           "holder_.load(std::memory_order_relaxed) == Platform::this_thread();", equivalent(
        "`holder_` is this thread's only while a call that it began has the slot: cleared before the word is idle again, "
        "and a thread that reads an idle word has acquired that, or cleared it itself")),
    Mutant("close: a deferred call is everybody's",
           "holder_.load(std::memory_order_relaxed) == Platform::this_thread();",
           "[this] {\n                    auto const holder = holder_.load(std::memory_order_relaxed);\n"
           "                    return holder == 0 || holder == Platform::this_thread();\n                }();"),
    Mutant("close: the own call isn't counted", "+ one_epoch + (own ? one_pin : 0);", "+ one_epoch;"),
    Mutant("close: every close leaves a pin", "+ one_epoch + (own ? one_pin : 0);", "+ one_epoch + one_pin;"),
    Mutant("close: no epoch", "& ~waiting) + one_epoch + (own", "& ~waiting) + (own"),
    Mutant("close: two epochs", "& ~waiting) + one_epoch + (own", "& ~waiting) + 2 * one_epoch + (own"),
    Mutant("close: `waiting` is kept", "((now | closed) & ~waiting)", "(now | closed)"),
    Mutant("close: not closed", "((now | closed) & ~waiting)", "(now & ~waiting)"),
    Mutant("try_close: `last` is set before the exchange", "Word const next = ((now | closed) & ~waiting) + one_epoch + (own ? one_pin : 0);",
           "Word const next = ((now | closed) & ~waiting) + one_epoch + (own ? one_pin : 0);\n            last = (next & pins_mask) == 0;"),
    Mutant("close: always last", "last = (next & pins_mask) == 0;", "last = true;"),
    Mutant("close: never last", "last = (next & pins_mask) == 0;", "last = false;"),
    Mutant("close: last by the pins before", "last = (next & pins_mask) == 0;", "last = (now & pins_mask) == 0;"),
    Mutant("close: a store for the exchange", "if (" + CLOSE_EXCHANGE + BOTH + ", " + ACQUIRE + "))",
           "if (word_.store(next, " + RELEASE + "), true)"),
    Mutant("try_close: always done", "return close_from(now, last) ? LeaseStep::done : LeaseStep::busy;",
           "return close_from(now, last), LeaseStep::done;"),
    Mutant("try_close: never done", "return close_from(now, last) ? LeaseStep::done : LeaseStep::busy;",
           "(void)now, (void)last;\n        return LeaseStep::busy;"),
    Mutant("may_detach: in any state", "return state_of(now) == idle && !(now & waiting) ?", "return !(now & waiting) ?"),
    Mutant("may_detach: while reserved", "return state_of(now) == idle && !(now & waiting) ?",
           "return state_of(now) <= reserved && !(now & waiting) ?"),
    Mutant("may_detach: while a closer waits", "return state_of(now) == idle && !(now & waiting) ?", "return state_of(now) == idle ?"),
    Mutant("may_detach: not while pinned", "return state_of(now) == idle && !(now & waiting) ?",
           "return state_of(now) == idle && !(now & (waiting | pins_mask)) ?"),
]

END = [
    Mutant("end: the holder isn't cleared", "        holder_.store(0, std::memory_order_relaxed);\n", ""),
    Mutant("end: the holder is cleared after the word", "        holder_.store(0, std::memory_order_relaxed);\n        before",
           "        before", more=[("        if (before & waiting) {\n", "        holder_.store(0, std::memory_order_relaxed);\n"
                                    "        if (before & waiting) {\n")]),
    Mutant("end: closed not looked at", "            if (state_of(before) == closed) return false;\n", ""),
    Mutant("end: closed answered as done", "if (state_of(before) == closed) return false;", "if (state_of(before) == closed) return true;"),
    Mutant("end: a store for the exchange",
           "while (!" + END_EXCHANGE + RELEASE + ",\n                                              " + RELAXED + "));",
           "while ((word_.store(before - state + more, " + RELEASE + "), false));"),
    Mutant("end: nobody is woken", "if (before & waiting) {", "if (false) {"),
    Mutant("end: woken though nobody waits", "if (before & waiting) {", "if (true) {", equivalent(
        "a notification that nobody waits for does nothing; the bit only saves the time")),
    Mutant("end: no notification", "            ended_.notify_all();", "            "),
    Mutant("end: notified without the mutex", "            mutex_.lock();\n            mutex_.unlock();\n            ended_",
           "            ended_"),
    Mutant("end: notified before the mutex", "            mutex_.lock();\n            mutex_.unlock();\n            ended_.notify_all();",
           "            ended_.notify_all();\n            mutex_.lock();\n            mutex_.unlock();"),
    Mutant("end: notified under the mutex", "            mutex_.unlock();\n            ended_.notify_all();",
           "            ended_.notify_all();\n            mutex_.unlock();", equivalent(
        "the closer falls asleep before the notifier has the mutex, or looks at the word after it; which of the two "
        "comes first after that, unlocking or notifying, only changes when it goes on")),
    Mutant("end: notified before the word changes", "        before = word_.load(std::memory_order_relaxed);\n        do {",
           "        before = word_.load(std::memory_order_relaxed);\n"
           "        if (before & waiting) mutex_.lock(), mutex_.unlock(), ended_.notify_all();\n        do {",
           more=[("            ended_.notify_all(); //", "            //")]),
]

SLOTS = [
    Mutant("reopen: no limit of epochs", "        if (epoch_of(now) > last_epoch - 4) return false;", "        (void)now;"),
    Mutant("reopen: three epochs are enough", "epoch_of(now) > last_epoch - 4", "epoch_of(now) > last_epoch - 3"),
    Mutant("reopen: five epochs are wanted", "epoch_of(now) > last_epoch - 4", "epoch_of(now) > last_epoch - 5"),
    Mutant("reopen: no epoch", "word_.fetch_add(one_epoch - closed,", "word_.fetch_add(0 - closed,"),
    Mutant("reopen: begins at epoch 1", "word_.fetch_add(one_epoch - closed, std::memory_order_acq_rel);",
           "word_.store(one_epoch, std::memory_order_release);"),
    Mutant("reopen: a spent slot answered as open", "> last_epoch - 4) return false;", "> last_epoch - 4) return true;"),
    Mutant("a new slot is idle", "Atomic<Word> word_{closed};", "Atomic<Word> word_{idle};"),
    Mutant("take: without the mutex", "        Guard const guard(mutex_);\n        for (;;) {", "        for (;;) {"),
    Mutant("take: spent slots too", "if (slot->lease.reopen()) return slot;", "(void)slot->lease.reopen();\n            return slot;"),
    Mutant("take: leaves the slot on the list", "            free_ = slot->next_free;\n", ""),
    Mutant("take: loses the list", "free_ = slot->next_free;", "free_ = nullptr;"),
    Mutant("take: a slab of unlinked slots", "slots[i].next_free = free_, free_ = slots + i;", "free_ = slots + i;"),
    Mutant("take: slabs aren't remembered", "                slots->older_slab = newest_slab_, newest_slab_ = slots;\n", "",
           equivalent("no code reads the chain of slabs: it is there so that leak checkers find slots that were retired")),
    Mutant("recycle: before the storage is gone",
           "        slot.destroy_storage(slot);\n        Guard const guard(mutex_);\n        slot.next_free = free_, free_ = &slot;\n",
           "        {\n            Guard const guard(mutex_);\n            slot.next_free = free_, free_ = &slot;\n        }\n"
           "        slot.destroy_storage(slot);\n"),
    Mutant("recycle: without the mutex", "        slot.destroy_storage(slot);\n        Guard const guard(mutex_);\n",
           "        slot.destroy_storage(slot);\n"),
    Mutant("recycle: keeps the storage", "        slot.destroy_storage(slot);\n        Guard", "        Guard"),
    Mutant("recycle: frees under the mutex", "        slot.destroy_storage(slot);\n        Guard const guard(mutex_);\n",
           "        Guard const guard(mutex_);\n        slot.destroy_storage(slot);\n", equivalent(
        "the storage is gone before the slot is on the list either way; outside of the mutex others needn't wait for it")),
    Mutant("recycle: loses the slot", "        slot.next_free = free_, free_ = &slot;\n", ""),
    Mutant("recycle: loses the list", "slot.next_free = free_, free_ = &slot;", "slot.next_free = nullptr, free_ = &slot;"),
]

MUTANTS = ORDERS + RESERVE + REFUSE_COMMIT + PUBLISH_FAIL + PIN_UNPIN_PEEK + CLOSE + END + SLOTS
