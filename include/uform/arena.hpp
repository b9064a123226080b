/// The arena: where the outputs of a call land, and the protocol by which a verb fills it.
///
/// Usable alone, without any model: `begin` → `place` → `commit` → write → `publish`.
///
///     auto draft = arena.begin();                               // contended: another call has it
///     if (!draft) return draft.error();
///     auto place = draft->place<float>(rows, columns);          // at most so many
///     auto writing = std::move(*draft).commit();                // from here on the old results are stale
///     if (!writing) return writing.error();
///     fill(writing->values(place));
///     auto published = std::move(*writing).publish();           // and now these are current
///     if (!published) return published.error();
///     return (*published)[place];                               // a view, until the next call
#ifndef UFORM_ARENA_HPP
#define UFORM_ARENA_HPP

#include "uform/config.hpp" // first: it refuses older standards by name

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "uform/arena_storage.hpp"
#include "uform/draft.hpp"
#include "uform/lease.hpp"
#include "uform/process_mark.hpp"
#include "uform/ram.hpp"
#include "uform/residency.hpp"
#include "uform/serving_thread.hpp"
#include "uform/status.hpp"
#include "uform/view.hpp"

namespace uform {

template <AnyResidency R> class Executor;

/// The slot of an arena: opened with its storage, closed at the end. Move-only.
template <AnyResidency R> class OwnedSlot {
    Slot *slot_ = nullptr;
    ProcessMark process_; // that opened it: a forked child has no thread that ends a call which was under way

  public:
    OwnedSlot() noexcept = default; // of no slot
    explicit OwnedSlot(typename R::Block::Origin origin) noexcept : slot_(Slots::instance().take()) {
        if (slot_) slot_->construct<ArenaStorage<R>>(origin);
    }
    OwnedSlot(OwnedSlot &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)), process_(other.process_) {}
    OwnedSlot &operator=(OwnedSlot &&other) noexcept {
        if (this != &other) close(), slot_ = std::exchange(other.slot_, nullptr), process_ = other.process_;
        return *this;
    }
    ~OwnedSlot() { close(); }

    /// Waits for a call that writes, but one of this thread's own. On an executor's own thread its queued calls are run
    /// meanwhile, the one that has the slot first. In a forked child a slot that a call had at the fork is left as it
    /// is.
    void close() noexcept {
        Slot *const slot = std::exchange(slot_, nullptr);
        if (!slot) return;
        bool last = false;
        auto const try_close = [&] { return slot->lease.try_close(last) == LeaseStep::done; };
        if (process_.is_forked()) {
            if (!try_close()) return;
        } else if (auto *serving = ServingThread::current()) {
            serving->serve_until(try_close, slot);
        } else {
            last = slot->lease.close();
        }
        if (last) Slots::instance().recycle(*slot);
    }
    [[nodiscard]] Slot *get() const noexcept { return slot_; }
    /// Only where there is one.
    [[nodiscard]] ArenaStorage<R> &storage() const noexcept { return slot_->template get<ArenaStorage<R>>(); }

    [[nodiscard]] ArenaDescription describe() const noexcept {
        return {R::residency, slot_ ? storage().block.device() : std::nullopt};
    }
    [[nodiscard]] std::size_t capacity() const noexcept {
        return slot_ ? storage().capacity.load(std::memory_order_relaxed) : 0;
    }
};

/// An arena's storage, given away with the views over it: they stay current until this ends, and no call can rewind it.
/// Movable, not copyable. Ending it never waits: rows that are pinned outlive it.
template <AnyResidency R> class Detached {
    OwnedSlot<R> slot_;

    friend class Arena<R>;
    explicit Detached(OwnedSlot<R> slot) noexcept : slot_(std::move(slot)) {}

  public:
    /// Where the results lie. From any thread.
    [[nodiscard]] ArenaDescription describe() const noexcept { return slot_.describe(); }
    /// Bytes of memory that it holds.
    [[nodiscard]] std::size_t capacity() const noexcept { return slot_.capacity(); }
};

/// Where the outputs of calls land: one block of memory that each call rewinds. Movable (views follow), not copyable.
///
/// Threads  one call at a time: a second one answers `contended` at once and touches nothing. Destroying, moving and
///          `detach` are changes of the arena itself: no other thread may be starting a call then.
/// Memory   nothing until a call writes; then as much as the largest call needed, until `trim` or the end. The end
///          waits for a call of another thread that writes, never for readers: pinned rows outlive the arena.
template <AnyResidency R> class Arena {
    using Origin = typename R::Block::Origin;

    OwnedSlot<R> slot_;
    bool moved_from_ = false;

    [[nodiscard]] ArenaStorage<R> &storage() const noexcept { return slot_.storage(); }
    [[nodiscard]] std::optional<Error> check_slot() const noexcept {
        if (moved_from_) return Error::fixed(Status::invalid_argument, "the arena was moved from");
        if (!slot_.get()) return Error::fixed(Status::out_of_memory, "no memory was left for the arena's slot");
        return std::nullopt;
    }
    [[nodiscard]] std::optional<Error> reserve_lease(Readers readers, Holder holder) const noexcept {
        if (auto refused = check_slot()) return refused;
        switch (slot_.get()->lease.reserve(readers, holder)) {
        case LeaseStep::done: return std::nullopt;
        case LeaseStep::busy: return Error::fixed(Status::contended, "the arena serves another call");
        case LeaseStep::pinned: return Error::fixed(Status::contended, "a reader holds the arena's rows");
        case LeaseStep::exhausted:
            return Error::fixed(Status::out_of_memory,
                                "the arena's epochs are spent: make a new arena, or detach this one's results");
        case LeaseStep::closed: break;
        }
        return Error::fixed(Status::invalid_argument, "the arena was freed");
    }
    void refuse_lease() const noexcept {
        storage().note_capacity();
        if (slot_.get()->lease.refuse()) Slots::instance().recycle(*slot_.get());
    }

  public:
    /// An arena of host pages. Takes a slot; where none can be had, the first call answers `out_of_memory`.
    Arena() noexcept requires std::same_as<R, Ram> : slot_(Origin()) {}
    /// An arena where `executor` computes. Host pages serve any `Ram` call, also after the executor has gone; a
    /// device's memory serves only this executor, and keeps it alive.
    explicit Arena(Executor<R> const &executor) noexcept : slot_(R::origin(executor)) {}
    /// Views follow; `other` answers `invalid_argument` from here on, until it is assigned to.
    Arena(Arena &&other) noexcept
        : slot_(std::move(other.slot_)), moved_from_(std::exchange(other.moved_from_, true)) {}
    Arena &operator=(Arena &&other) noexcept {
        if (this == &other) return *this;
        slot_ = std::move(other.slot_), moved_from_ = std::exchange(other.moved_from_, true);
        return *this;
    }
    ~Arena() = default;

    /// Where the outputs land. From any thread.
    [[nodiscard]] ArenaDescription describe() const noexcept { return slot_.describe(); }
    /// Bytes of memory that the arena holds. From any thread.
    [[nodiscard]] std::size_t capacity() const noexcept { return slot_.capacity(); }
    /// The most bytes that a call's outputs may take, each rounded to 64; `SIZE_MAX` where none was set. `capacity()`
    /// is in whole pages, and a block that can't grow in place lives beside its successor until the next call.
    [[nodiscard]] std::size_t limit() const noexcept {
        return slot_.get() ? storage().limit.load(std::memory_order_relaxed) : SIZE_MAX;
    }
    /// Sets the limit, in bytes. Acts at the next call: one that needs more answers `out_of_memory`, and old results
    /// stay. Memory that the arena has already is kept until `trim`.
    void limit(std::size_t bytes) noexcept {
        if (slot_.get()) storage().limit.store(bytes, std::memory_order_relaxed);
    }

    /// Room for `bytes` of outputs before they are needed; current results stay readable.
    /// Errors: `contended` while a call has the arena; `out_of_memory`, also over the limit; `device`.
    [[nodiscard]] Result<void> reserve(std::size_t bytes) noexcept {
        if (auto refused = reserve_lease(Readers::allowed, Holder::this_thread)) return *refused;
        std::size_t const most = limit();
        auto done =
            bytes > most
                ? Result<void>(Error::of(Status::out_of_memory, bytes, " bytes are over the arena's limit of ", most))
                : storage().block.prepare({bytes, 0}, most);
        if (done) storage().block.keep_successor();
        refuse_lease();
        return done;
    }
    /// Gives back the memory that the current results don't use; what can't shrink in place does so at the next call.
    /// Of a device it waits for the first stream where it frees at once. Errors: `contended` while a call has the
    /// arena.
    [[nodiscard]] Result<void> trim() noexcept {
        if (auto refused = reserve_lease(Readers::allowed, Holder::this_thread)) return *refused;
        storage().block.trim(storage().used);
        refuse_lease();
        return {};
    }
    /// Gives the storage away with its results, which stay current for as long as the answer lives; nothing is copied.
    /// The arena starts afresh, with the same limit.
    ///
    /// Errors  `contended`: a call has the arena; `out_of_memory`; `invalid_argument`: it was moved from. Nothing has
    ///         changed then. Pins are no hindrance.
    [[nodiscard]] Result<Detached<R>> detach() noexcept {
        if (auto refused = check_slot()) return *refused;
        OwnedSlot<R> fresh(storage().block.origin());
        if (!fresh.get()) return Error::fixed(Status::out_of_memory, "no memory for another arena's slot");
        if (slot_.get()->lease.may_detach() != LeaseStep::done)
            return Error::fixed(Status::contended, "the arena serves another call");
        fresh.storage().limit.store(limit(), std::memory_order_relaxed);
        std::swap(slot_, fresh);
        return Detached<R>(std::move(fresh));
    }

    /// Reserves the arena for a call of the caller's own. Old results stay readable and pinnable until `commit`.
    ///
    /// `holder`: with `Holder::none` the guards may go to another thread, and ending the arena waits for them there: a
    ///         thread that has such a guard itself must not end the arena. Without it the guards should stay on this
    ///         thread: ending the arena here doesn't wait for one elsewhere, nor for a call that follows it; nothing
    ///         dangles.
    /// Errors  `contended`: another call has it, or a reader holds it; `invalid_argument`: it was moved from;
    ///         `out_of_memory`: no slot, or its epochs are spent. Nothing is touched then.
    /// Memory  allocates nothing but the table of places, once.
    [[nodiscard]] Result<Draft<R>> begin(Holder holder = Holder::this_thread) &noexcept UFORM_LIFETIMEBOUND {
        if (auto refused = reserve_lease(Readers::refused, holder)) return *refused;
        return Draft<R>(slot_.get());
    }
    Result<Draft<R>> begin(Holder = Holder::this_thread) && = delete; // the arena ends with the expression: name it
    /// The same for a verb that computes on `executor`. Errors: also `invalid_argument`, for an arena of a device that
    /// another executor made.
    [[nodiscard]] Result<Draft<R>> begin(Executor<R> const &executor,
                                         Holder holder = Holder::this_thread) &noexcept UFORM_LIFETIMEBOUND {
        auto draft = begin(holder);
        if (draft && !(storage().block.origin() == R::origin(executor)))
            return Error::fixed(Status::invalid_argument, "the arena was made by another executor");
        return draft;
    }
};

static_assert(sizeof(Rows<Ram>) <= 48 && std::is_trivially_copyable_v<Rows<Ram>>);
static_assert(std::is_trivially_copyable_v<Published<Ram>>);
static_assert(sizeof(RaggedRows<Ram>) <= 64 && std::is_trivially_copyable_v<RaggedRows<Ram>>);

} // namespace uform

#endif // UFORM_ARENA_HPP
