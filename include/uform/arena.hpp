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
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/lease.hpp"
#include "uform/ram.hpp"
#include "uform/residency.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/view.hpp"

namespace uform {

template <AnyResidency R> class Executor;
template <AnyResidency R> class Arena;
template <class R> class Draft;
template <class R> class Writing;

/// Names an output's rows between `place` and `publish`. Plain data; means nothing to another draft.
template <RowScalar T> struct Place {
    void const *arena = nullptr;
    std::uint64_t draft = 0;
    std::uint32_t index = 0;
};
/// As `Place`, with offsets.
template <RowScalar T> struct RaggedPlace {
    void const *arena = nullptr;
    std::uint64_t draft = 0;
    std::uint32_t index = 0;
};

/// One output of a draft: its shape, and where it lies in the block.
struct Piece {
    std::size_t rows = 0, texts = 0, at = 0, offsets_at = 0;
    std::uint32_t columns = 0, stride_bytes = 0;
    Scalar scalar = Scalar::f32;
    bool is_ragged = false;
    std::byte *data = nullptr;        // these two from commit on, so that a pinned reader need not look at the block,
    std::uint32_t *offsets = nullptr; // which the next draft may be growing
};

/// What an arena's slot keeps beside the state word.
template <class R> struct ArenaStorage {
    typename R::Block block;
    Buffer<Piece> drafted, current; // swapped at commit, so that old results stay readable while drafting
    std::uint64_t draft = 0;        // that `current` is of, so that a place of another one is refused
    std::size_t used = 0;           // bytes of the current results
    std::optional<Error> fault;     // of the draft or the writing, answered by `commit` or `publish`
    std::atomic<std::size_t> limit{SIZE_MAX};
    std::atomic<std::size_t> capacity{0};

    void note_capacity() noexcept { capacity.store(block.capacity(), std::memory_order_relaxed); }
    template <class AnyPlace> [[nodiscard]] Piece *find(AnyPlace place, bool ragged) noexcept {
        if (place.draft != draft || place.index >= current.size()) return nullptr;
        return current[place.index].is_ragged == ragged ? &current[place.index] : nullptr;
    }
};

/// The outputs of a published call, by their places. Plain data: views made from it are checked as any other.
template <class R> class Published {
    Stamp stamp_;

    template <class View, class AnyPlace, class Fill>
    [[nodiscard]] View make(AnyPlace place, bool ragged, Fill fill_view) const noexcept {
        View view;
        if (place.arena != stamp_.slot) return view;
        auto const pin = stamp_.pin();      // the table of places is the next call's as soon as it commits
        if (!pin) return stamp(view), view; // reads of it say that it is stale
        auto &storage = stamp_.slot->template get<ArenaStorage<R>>();
        if (auto const *piece = storage.find(place, ragged)) fill_view(view, *piece);
        return view;
    }
    void stamp(Rows<R> &rows) const noexcept { rows.stamp_ = stamp_; }
    void stamp(RaggedRows<R> &rows) const noexcept { rows.flat_.stamp_ = stamp_; }
    void fill(Rows<R> &rows, Piece const &piece) const noexcept {
        rows.stamp_ = stamp_, rows.data_ = piece.data, rows.rows_ = piece.rows;
        rows.columns_ = piece.columns, rows.stride_bytes_ = piece.stride_bytes, rows.scalar_ = piece.scalar;
    }

  public:
    Published() noexcept = default;
    explicit Published(Stamp stamp) noexcept : stamp_(stamp) {}

    /// The rows of a place; a view that is never current where the place is another draft's.
    template <class T> [[nodiscard]] Rows<R> operator[](Place<T> place) const noexcept {
        return make<Rows<R>>(place, false, [this](Rows<R> &view, Piece const &piece) { fill(view, piece); });
    }
    template <class T> [[nodiscard]] RaggedRows<R> operator[](RaggedPlace<T> place) const noexcept {
        return make<RaggedRows<R>>(place, true, [this](RaggedRows<R> &view, Piece const &piece) {
            fill(view.flat_, piece);
            view.offsets_ = piece.offsets, view.texts_ = piece.texts;
        });
    }
};

/// A call that reserved an arena and says how large its outputs may be. Move-only; gone uncommitted, it refuses: the
/// previous results stay as they are. Until `commit` they can be read and pinned.
template <class R> class [[nodiscard]] Draft {
    Slot *slot_ = nullptr;
    std::size_t need_ = 0;

    friend class Arena<R>;
    explicit Draft(Slot *slot) noexcept : slot_(slot) {
        storage().drafted.clear(), storage().fault.reset();
        ++slot_->drafts; // so 0 is no draft's
    }
    [[nodiscard]] ArenaStorage<R> &storage() const noexcept { return slot_->template get<ArenaStorage<R>>(); }

    void refuse() noexcept {
        Slot *slot = std::exchange(slot_, nullptr);
        if (!slot) return;
        slot->template get<ArenaStorage<R>>().block.refuse();
        slot->template get<ArenaStorage<R>>().note_capacity();
        if (slot->lease.refuse()) Slots::instance().recycle(*slot);
    }
    [[nodiscard]] bool take(std::size_t bytes, std::size_t &at) noexcept {
        at = need_;
        if (bytes > SIZE_MAX - 63 - need_) return false;
        need_ += (bytes + 63) / 64 * 64;
        return true;
    }
    template <class AnyPlace>
    [[nodiscard]] AnyPlace add(Scalar scalar, std::size_t texts, std::size_t rows, std::size_t columns,
                               bool ragged) noexcept {
        if (!slot_) return {};
        auto &arena = storage();
        auto const fault = [&](Error error) {
            if (!arena.fault) arena.fault.emplace(std::move(error));
            return AnyPlace{};
        };
        if (columns > UINT32_MAX || row_bytes(scalar, columns) > UINT32_MAX)
            return fault(
                Error::of(Status::invalid_argument, columns, " columns: a row has at most 4,294,967,295 bytes"));
        if (ragged && (rows > UINT32_MAX || texts > UINT32_MAX))
            return fault(Error::of(Status::invalid_argument, rows, " rows of ", texts,
                                   " texts: offsets count at most 4,294,967,295 of either"));
        std::size_t const stride = row_bytes(scalar, columns);
        Piece piece{rows,   texts, 0, 0, static_cast<std::uint32_t>(columns), static_cast<std::uint32_t>(stride),
                    scalar, ragged};
        bool fits = stride == 0 || rows <= PTRDIFF_MAX / stride;
        fits = fits && take(rows * stride, piece.at) &&
               take(ragged ? (texts + 1) * sizeof(std::uint32_t) : 0, piece.offsets_at);
        if (!fits)
            return fault(
                Error::of(Status::out_of_memory, rows, " rows of ", stride, " bytes are more than can be addressed"));
        if (!arena.drafted.push_back(piece))
            return fault(Error::fixed(Status::out_of_memory, "no memory for the table of outputs"));
        return AnyPlace{slot_, slot_->drafts, static_cast<std::uint32_t>(arena.drafted.size() - 1)};
    }

  public:
    Draft(Draft &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)), need_(other.need_) {}
    Draft &operator=(Draft &&other) noexcept {
        if (this != &other) refuse(), slot_ = std::exchange(other.slot_, nullptr), need_ = other.need_;
        return *this;
    }
    ~Draft() { refuse(); }

    /// Room for `[rows, columns]` at most, 64-byte aligned. What can't be had is answered by `commit`.
    /// A place that no view is made of is scratch. Its bytes hold anything until they are written.
    template <RowScalar T> [[nodiscard]] Place<T> place(std::size_t rows, std::size_t columns) noexcept {
        return add<Place<T>>(scalar_of<T>, 0, rows, columns, false);
    }
    /// The same, parted into `texts` by offsets `[texts + 1]` that the caller writes; rows past the last offset aren't
    /// published.
    template <RowScalar T>
    [[nodiscard]] RaggedPlace<T> place_ragged(std::size_t texts, std::size_t rows, std::size_t columns) noexcept {
        return add<RaggedPlace<T>>(scalar_of<T>, texts, rows, columns, true);
    }

    /// Whether any of these bytes lies in the arena that this draft holds: such an input would be overwritten.
    [[nodiscard]] bool holds(void const *first, std::size_t bytes) const noexcept {
        return slot_ && storage().block.holds(first, bytes);
    }

    /// Moves the epoch on: old views die, the arena is rewound and the places can be written.
    ///
    /// Errors  `out_of_memory` (also over the limit), `contended` (a reader pinned the old rows since `begin`),
    ///         `invalid_argument` (a shape that can't be, or the arena was freed by this thread). After an error the
    ///         previous results are as they were.
    [[nodiscard]] Result<Writing<R>> commit() &&noexcept {
        Draft ends(std::move(*this)); // refuses on every way out but the last
        Slot *slot = ends.slot_;
        if (!slot) return Error::fixed(Status::invalid_argument, "the draft was moved from or committed before");
        auto &arena = ends.storage();
        if (arena.fault) return *arena.fault;
        std::size_t const limit = arena.limit.load(std::memory_order_relaxed);
        if (ends.need_ > limit)
            return Error::of(Status::out_of_memory, "the outputs take ", ends.need_,
                             " bytes, and the arena's limit is ", limit);
        if (!arena.block.prepare(ends.need_, limit))
            return Error::of(Status::out_of_memory, "no memory for ", ends.need_, " bytes of outputs");
        switch (slot->lease.commit()) {
        case LeaseStep::done: break;
        case LeaseStep::pinned: return Error::fixed(Status::contended, "a reader holds the arena's rows");
        default: return Error::fixed(Status::invalid_argument, "the arena was freed during the call");
        }
        arena.block.accept(), arena.note_capacity();
        arena.current.swap(arena.drafted);
        (void)arena.drafted.reserve(arena.current.size()); // so that a second call of a shape allocates nothing
        arena.draft = slot->drafts, arena.used = ends.need_;
        arena.block.poison_all();
        for (auto &piece : arena.current.span()) {
            piece.data = arena.block.data() + piece.at;
            arena.block.place(piece.at, piece.rows * piece.stride_bytes);
            if (!piece.is_ragged) continue;
            piece.offsets = reinterpret_cast<std::uint32_t *>(arena.block.host_data() + piece.offsets_at);
            arena.block.place(piece.offsets_at, (piece.texts + 1) * sizeof(std::uint32_t));
        }
        ends.slot_ = nullptr;
        return Writing<R>(slot);
    }
};

/// A call that writes its outputs. Move-only; gone unpublished, it fails: the rows are stale, and the arena is ready.
template <class R> class [[nodiscard]] Writing {
    Slot *slot_ = nullptr;

    friend class Draft<R>;
    explicit Writing(Slot *slot) noexcept : slot_(slot) {}
    [[nodiscard]] ArenaStorage<R> &storage() const noexcept { return slot_->template get<ArenaStorage<R>>(); }
    template <class AnyPlace> [[nodiscard]] Piece *find(AnyPlace place, bool ragged) const noexcept {
        return slot_ && place.arena == slot_ ? storage().find(place, ragged) : nullptr;
    }
    void fail() noexcept {
        Slot *slot = std::exchange(slot_, nullptr);
        if (!slot) return;
        auto &arena = slot->template get<ArenaStorage<R>>();
        arena.current.clear(), arena.used = 0;
        arena.block.poison_all();
        if (slot->lease.fail()) Slots::instance().recycle(*slot);
    }
    [[nodiscard]] std::optional<Error> check_offsets() noexcept {
        auto &arena = storage();
        if (arena.fault) return *arena.fault;
        for (auto &piece : arena.current.span()) {
            if (!piece.is_ragged) continue;
            std::uint32_t const *const offsets = piece.offsets;
            bool rises = offsets[0] == 0;
            for (std::size_t i = 0; i != piece.texts; ++i) rises = rises && offsets[i] <= offsets[i + 1];
            if (!rises)
                return Error::fixed(Status::invalid_argument, "the offsets of an output fall, or don't start at 0");
            if (offsets[piece.texts] > piece.rows)
                return Error::of(Status::invalid_argument, "the offsets of an output reach ", offsets[piece.texts],
                                 ", and its place has ", piece.rows, " rows");
            piece.rows = offsets[piece.texts];
        }
        return std::nullopt;
    }
    [[nodiscard]] Result<Stamp> end(bool pinned) noexcept {
        if (!slot_) return Error::fixed(Status::invalid_argument, "the writing was moved from or published before");
        if (auto fault = check_offsets()) return fail(), *fault;
        Slot *slot = std::exchange(slot_, nullptr);
        Stamp stamp{slot, 0};
        if (slot->lease.publish(pinned, stamp.epoch) == LeaseStep::done) return stamp;
        if (slot->lease.unpin()) Slots::instance().recycle(*slot);
        return Error::fixed(Status::invalid_argument, "the arena was freed during the call");
    }

  public:
    Writing(Writing &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
    Writing &operator=(Writing &&other) noexcept {
        if (this != &other) fail(), slot_ = std::exchange(other.slot_, nullptr);
        return *this;
    }
    ~Writing() { fail(); }

    /// The first row of a place, host or device; null for a place of another draft.
    template <class T> [[nodiscard]] T *data(Place<T> place) const noexcept {
        auto const *piece = find(place, false);
        return piece ? reinterpret_cast<T *>(piece->data) : nullptr;
    }
    template <class T> [[nodiscard]] T *data(RaggedPlace<T> place) const noexcept {
        auto const *piece = find(place, true);
        return piece ? reinterpret_cast<T *>(piece->data) : nullptr;
    }
    /// All rows of a place, tight; empty for a place of another draft.
    template <class T> [[nodiscard]] std::span<T> values(Place<T> place) const noexcept requires(R::host_accessible) {
        auto const *piece = find(place, false);
        return piece ? std::span<T>(data(place), piece->rows * (piece->stride_bytes / sizeof(T))) : std::span<T>();
    }
    template <class T>
    [[nodiscard]] std::span<T> values(RaggedPlace<T> place) const noexcept requires(R::host_accessible) {
        auto const *piece = find(place, true);
        return piece ? std::span<T>(data(place), piece->rows * (piece->stride_bytes / sizeof(T))) : std::span<T>();
    }
    /// The offsets `[texts + 1]` to write: from 0, rising, the last at most the place's rows. Host memory.
    template <class T> [[nodiscard]] std::span<std::uint32_t> offsets(RaggedPlace<T> place) const noexcept {
        auto const *piece = find(place, true);
        return piece ? std::span(piece->offsets, piece->texts + 1) : std::span<std::uint32_t>();
    }
    /// Publishes only the first `rows` of a place. More than it has: `publish` answers `invalid_argument`.
    template <class T> void keep(Place<T> place, std::size_t rows) noexcept {
        auto *piece = find(place, false);
        if (piece && rows <= piece->rows) piece->rows = rows;
        else if (slot_ && !storage().fault)
            storage().fault.emplace(Error::of(Status::invalid_argument, "can't keep ", rows, " rows of a place of ",
                                              piece ? piece->rows : 0));
    }
    /// The stream that device work must be ordered on; null for host pages.
    [[nodiscard]] void *stream() const noexcept { return nullptr; }

    /// Makes the outputs current and frees the arena for the next call.
    ///
    /// Errors  `invalid_argument`: offsets that fall or pass their place, `keep` of too many, or the arena was freed by
    ///         this thread. The call has then failed: its rows are stale.
    [[nodiscard]] Result<Published<R>> publish() &&noexcept {
        auto stamp = end(false);
        if (!stamp) return stamp.error();
        return Published<R>(*stamp);
    }
    /// The same, and a pin comes with it: no other call can rewind before the first read.
    [[nodiscard]] Result<Pinned<Published<R>>> publish_pinned() &&noexcept {
        auto stamp = end(true);
        if (!stamp) return stamp.error();
        return Pinned<Published<R>>(Published<R>(*stamp), Pin(stamp->slot));
    }
};

/// Where the outputs of calls land: one block of memory that each call rewinds. Movable (views follow), not copyable.
///
/// Threads  one call at a time: a second one answers `contended` at once and touches nothing. Destroying and moving
///          are changes of the arena itself: no other thread may be starting a call then.
/// Memory   nothing until a call writes; then as much as the largest call needed, until `trim` or the end. The end
///          waits for a call of another thread that writes, never for readers: pinned rows outlive the arena.
template <AnyResidency R> class Arena {
    Slot *slot_ = nullptr;
    bool moved_from_ = false;

    [[nodiscard]] static Slot *open() noexcept {
        Slot *slot = Slots::instance().take();
        if (slot) slot->construct<ArenaStorage<R>>();
        return slot;
    }
    [[nodiscard]] ArenaStorage<R> &storage() const noexcept { return slot_->template get<ArenaStorage<R>>(); }
    void close() noexcept {
        Slot *slot = std::exchange(slot_, nullptr);
        if (slot && slot->lease.close()) Slots::instance().recycle(*slot);
    }
    [[nodiscard]] std::optional<Error> reserve_lease(Readers readers) const noexcept {
        if (!slot_ && moved_from_) return Error::fixed(Status::invalid_argument, "the arena was moved from");
        if (!slot_) return Error::fixed(Status::out_of_memory, "no memory was left for the arena's slot");
        switch (slot_->lease.reserve(readers)) {
        case LeaseStep::done: return std::nullopt;
        case LeaseStep::busy: return Error::fixed(Status::contended, "the arena serves another call");
        case LeaseStep::pinned: return Error::fixed(Status::contended, "a reader holds the arena's rows");
        case LeaseStep::exhausted:
            return Error::fixed(Status::out_of_memory, "the arena's epochs are spent: make a new arena");
        case LeaseStep::closed: break;
        }
        return Error::fixed(Status::invalid_argument, "the arena was freed");
    }
    void refuse_lease() const noexcept {
        storage().note_capacity();
        if (slot_->lease.refuse()) Slots::instance().recycle(*slot_);
    }

  public:
    /// An arena of host pages. Takes a slot; where none can be had, the first call answers `out_of_memory`.
    Arena() noexcept requires std::same_as<R, Ram> : slot_(open()) {}
    /// An arena where `executor` computes. Host pages serve any `Ram` call, also after the executor has gone.
    explicit Arena(Executor<R> const &) noexcept requires std::same_as<R, Ram> : slot_(open()) {}
    Arena(Arena &&other) noexcept : slot_(std::exchange(other.slot_, nullptr)), moved_from_(other.moved_from_) {
        other.moved_from_ = true;
    }
    Arena &operator=(Arena &&other) noexcept {
        if (this == &other) return *this;
        close();
        slot_ = std::exchange(other.slot_, nullptr), moved_from_ = std::exchange(other.moved_from_, true);
        return *this;
    }
    ~Arena() { close(); }

    /// Where the outputs land. From any thread.
    [[nodiscard]] ArenaDescription describe() const noexcept {
        return {R::residency, slot_ ? storage().block.device() : std::nullopt};
    }
    /// Bytes of memory that the arena holds. From any thread.
    [[nodiscard]] std::size_t capacity() const noexcept {
        return slot_ ? storage().capacity.load(std::memory_order_relaxed) : 0;
    }
    /// The most bytes that it may hold; `SIZE_MAX` where none was set.
    [[nodiscard]] std::size_t limit() const noexcept {
        return slot_ ? storage().limit.load(std::memory_order_relaxed) : SIZE_MAX;
    }
    /// Sets the limit, in bytes. Acts at the next call: one that needs more answers `out_of_memory`, and old results
    /// stay. Memory that the arena has already is kept until `trim`.
    void limit(std::size_t bytes) noexcept {
        if (slot_) storage().limit.store(bytes, std::memory_order_relaxed);
    }

    /// Room for `bytes` of outputs before they are needed; current results stay readable.
    /// Errors: `contended` while a call has the arena, `out_of_memory`, also over the limit.
    [[nodiscard]] Result<void> reserve(std::size_t bytes) noexcept {
        if (auto refused = reserve_lease(Readers::allowed)) return *refused;
        std::size_t const most = limit();
        bool const over = bytes > most, fits = !over && storage().block.prepare(bytes, most);
        if (fits) storage().block.keep_successor();
        refuse_lease();
        if (over) return Error::of(Status::out_of_memory, bytes, " bytes are over the arena's limit of ", most);
        if (!fits) return Error::of(Status::out_of_memory, "no memory for ", bytes, " bytes of outputs");
        return {};
    }
    /// Gives back the memory that the current results don't use. Errors: `contended` while a call has the arena.
    [[nodiscard]] Result<void> trim() noexcept {
        if (auto refused = reserve_lease(Readers::allowed)) return *refused;
        storage().block.trim(storage().used);
        refuse_lease();
        return {};
    }

    /// Reserves the arena for a call of the caller's own. Old results stay readable and pinnable until `commit`.
    ///
    /// Errors  `contended`: another call has it, or a reader holds it; `invalid_argument`: it was moved from;
    ///         `out_of_memory`: no slot, or its epochs are spent. Nothing is touched then.
    /// Memory  allocates nothing but the table of places, once.
    [[nodiscard]] Result<Draft<R>> begin() &noexcept UFORM_LIFETIMEBOUND {
        if (auto refused = reserve_lease(Readers::refused)) return *refused;
        return Draft<R>(slot_);
    }
};

static_assert(sizeof(Rows<Ram>) <= 48 && std::is_trivially_copyable_v<Rows<Ram>>);
static_assert(sizeof(RaggedRows<Ram>) <= 64 && std::is_trivially_copyable_v<RaggedRows<Ram>>);

} // namespace uform

#endif // UFORM_ARENA_HPP
