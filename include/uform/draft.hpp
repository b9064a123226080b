/// The protocol by which a verb fills an arena: a draft says what is to come, a writing fills it, and then it is
/// published.
#ifndef UFORM_DRAFT_HPP
#define UFORM_DRAFT_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "uform/arena_storage.hpp"
#include "uform/config.hpp"
#include "uform/lease.hpp"
#include "uform/ram.hpp" // what is in host memory, of any residency's arena
#include "uform/residency.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/view.hpp"

namespace uform {

template <AnyResidency R> class Arena;
template <class R> class Draft;
template <class R> class Writing;

/// The outputs of a published call, by their places. Plain data: views made from it are checked as any other.
///
/// Views are best made by the thread that published, before the next call. Of a place of another draft the view is
/// empty, and of a later call's time it is stale: reads say so. While 4,094 pins are held it can't look, and views are
/// empty: `publish_pinned` has a pin already.
template <class R> class Published {
    Stamp stamp_;

    friend class PinnedAccessors<Published<R>>;

    template <class Where> static void mark(Rows<Where> &rows, Stamp stamp) noexcept { rows.stamp_ = stamp; }
    static void mark(RaggedRows<R> &rows, Stamp stamp) noexcept { rows.flat_.stamp_ = stamp; }
    template <class Where> static void fill(Rows<Where> &rows, Piece const &piece) noexcept {
        rows.data_ = piece.data, rows.rows_ = piece.rows;
        rows.columns_ = piece.columns, rows.stride_bytes_ = piece.stride_bytes, rows.scalar_ = piece.scalar;
    }
    static void fill(RaggedRows<R> &view, Piece const &piece) noexcept {
        fill(view.flat_, piece);
        view.offsets_ = piece.offsets, view.texts_ = piece.texts;
    }
    /// For a caller that holds a pin, or the lease: the table of places is the next call's as soon as it commits.
    template <class View> [[nodiscard]] View held(PlaceKey const &place, PieceKind kind) const noexcept {
        View view;
        if (!stamp_.slot || place.arena != stamp_.slot) return view;
        auto const *piece = stamp_.slot->template get<ArenaStorage<R>>().find(place, kind);
        if (piece) fill(view, *piece), mark(view, stamp_);
        return view;
    }
    template <class View> [[nodiscard]] View make(PlaceKey const &place, PieceKind kind) const noexcept {
        if (auto const pin = stamp_.pin()) return held<View>(place, kind);
        View stale;
        if (place.arena == stamp_.slot && !stamp_.is_current()) mark(stale, stamp_);
        return stale;
    }

  public:
    using Memory = R;

    Published() noexcept = default;
    explicit Published(Stamp stamp) noexcept : stamp_(stamp) {}
    Published(Pinned<Published> &&) = delete;            // the pin would be sliced away
    Published &operator=(Pinned<Published> &&) = delete; // the pin would be sliced away

    /// The rows of a place.
    template <class T> [[nodiscard]] Rows<R> operator[](Place<T> place) const noexcept {
        return make<Rows<R>>(place, PieceKind::rows);
    }
    template <class T> [[nodiscard]] RaggedRows<R> operator[](RaggedPlace<T> place) const noexcept {
        return make<RaggedRows<R>>(place, PieceKind::ragged);
    }
    /// The rows of a place in host memory, of any residency's arena.
    template <class T> [[nodiscard]] Rows<Ram> operator[](HostPlace<T> place) const noexcept {
        return make<Rows<Ram>>(place, PieceKind::host_rows);
    }
    /// Where they were published; for views of a residency's own.
    [[nodiscard]] Stamp stamp() const noexcept { return stamp_; }
};

/// The views of a pinned result need no pin of their own to be made. Of a guard that was moved from they are stale.
template <class R> class PinnedAccessors<Published<R>> : public PinnedView<Published<R>> {
    template <class View>
    [[nodiscard]] UFORM_NEVER_INLINE View look_up(PlaceKey const &place, PieceKind kind) const noexcept { // nine a call
        if (this->pin_.slot()) return this->template held<View>(place, kind);
        return this->template make<View>(place, kind);
    }

  public:
    using PinnedView<Published<R>>::PinnedView;
    template <class T> [[nodiscard]] Rows<R> operator[](Place<T> place) const noexcept UFORM_LIFETIMEBOUND {
        return look_up<Rows<R>>(place, PieceKind::rows);
    }
    template <class T> [[nodiscard]] RaggedRows<R> operator[](RaggedPlace<T> place) const noexcept UFORM_LIFETIMEBOUND {
        return look_up<RaggedRows<R>>(place, PieceKind::ragged);
    }
    template <class T> [[nodiscard]] Rows<Ram> operator[](HostPlace<T> place) const noexcept UFORM_LIFETIMEBOUND {
        return look_up<Rows<Ram>>(place, PieceKind::host_rows);
    }
};

/// A call that reserved an arena and says how large its outputs may be. Move-only; gone uncommitted, it refuses: the
/// previous results stay as they are. Until `commit` they can be read and pinned.
template <class R> class [[nodiscard]] Draft {
    Slot *slot_ = nullptr;
    Extent need_;

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
    /// Host pages hold both kinds of bytes in one block.
    [[nodiscard]] std::size_t &need_of(bool host) noexcept {
        return host && !R::host_accessible ? need_.host_bytes : need_.bytes;
    }
    [[nodiscard]] static bool take(std::size_t &need, std::size_t bytes, std::size_t &at) noexcept {
        at = need;
        if (bytes > SIZE_MAX - 63 - need) return false;
        need += (bytes + 63) / 64 * 64;
        return true;
    }
    [[nodiscard]] UFORM_NEVER_INLINE PlaceKey add(Scalar scalar, std::size_t texts, std::size_t rows,
                                                  std::size_t columns, PieceKind kind) noexcept {
        if (!slot_) return {};
        auto &arena = storage();
        auto const fault = [&](Error error) {
            if (!arena.fault) arena.fault.emplace(std::move(error));
            return PlaceKey{};
        };
        bool const ragged = kind == PieceKind::ragged;
        if (scalar_bits(scalar) == 0)
            return fault(Error::fixed(Status::invalid_argument, "a place of a scalar that has no size"));
        if (columns > UINT32_MAX || row_bytes(scalar, columns) > UINT32_MAX)
            return fault(
                Error::of(Status::invalid_argument, columns, " columns: a row has at most 4,294,967,295 bytes"));
        if (ragged && (rows > UINT32_MAX || texts > UINT32_MAX))
            return fault(Error::of(Status::invalid_argument, rows, " rows of ", texts,
                                   " texts: offsets count at most 4,294,967,295 of either"));
        std::size_t const stride = row_bytes(scalar, columns);
        std::size_t bytes = 0, at = 0, offsets_at = 0;
        bool const fits = !__builtin_mul_overflow(rows, stride, &bytes) && bytes <= PTRDIFF_MAX &&
                          take(need_of(true), ragged ? (texts + 1) * sizeof(std::uint32_t) : 0, offsets_at) &&
                          take(need_of(kind == PieceKind::host_rows), bytes, at); // last: `trim` cuts what isn't kept
        if (!fits)
            return fault(
                Error::of(Status::out_of_memory, rows, " rows of ", stride, " bytes are more than can be addressed"));
        Piece *const piece = arena.drafted.push_blank();
        if (!piece) return fault(Error::fixed(Status::out_of_memory, "no memory for the table of outputs"));
        piece->rows = rows, piece->texts = texts, piece->at = at, piece->offsets_at = offsets_at;
        piece->columns = static_cast<std::uint32_t>(columns), piece->stride_bytes = static_cast<std::uint32_t>(stride);
        piece->scalar = scalar, piece->kind = kind, piece->data = nullptr, piece->offsets = nullptr;
        return {slot_, slot_->drafts, static_cast<std::uint32_t>(arena.drafted.size() - 1)};
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
        return {add(scalar_of<T>, 0, rows, columns, PieceKind::rows)};
    }
    /// The same, parted into `texts` by offsets `[texts + 1]` that the caller writes; rows past the last offset aren't
    /// published.
    template <RowScalar T>
    [[nodiscard]] RaggedPlace<T> place_ragged(std::size_t texts, std::size_t rows, std::size_t columns) noexcept {
        return {add(scalar_of<T>, texts, rows, columns, PieceKind::ragged)};
    }
    /// The same two for a scalar that is known when the program runs only: the writing hands out bytes.
    [[nodiscard]] Place<std::byte> place(Scalar scalar, std::size_t rows, std::size_t columns) noexcept {
        return {add(scalar, 0, rows, columns, PieceKind::rows)};
    }
    [[nodiscard]] RaggedPlace<std::byte> place_ragged(Scalar scalar, std::size_t texts, std::size_t rows,
                                                      std::size_t columns) noexcept {
        return {add(scalar, texts, rows, columns, PieceKind::ragged)};
    }
    /// The same as `place`, in host memory for every residency.
    template <RowScalar T> [[nodiscard]] HostPlace<T> place_host(std::size_t rows, std::size_t columns) noexcept {
        return {add(scalar_of<T>, 0, rows, columns, PieceKind::host_rows)};
    }

    /// Whose arena it is; null once it was committed or moved from.
    [[nodiscard]] void const *slot() const noexcept { return slot_; }
    /// Whether any of these bytes lies in the arena that this draft holds: such an input would be overwritten.
    [[nodiscard]] bool holds(void const *first, std::size_t bytes) const noexcept {
        return slot_ && storage().block.holds(first, bytes);
    }

    /// Moves the epoch on: old views die, the arena is rewound and the places can be written.
    ///
    /// Errors  `out_of_memory` (also over the limit), `contended` (a reader pinned the old rows since `begin`),
    ///         `invalid_argument` (a shape that can't be, or the arena was freed by this thread), `device`. After an
    ///         error the previous results are as they were, but for a device that failed in this very step.
    [[nodiscard]] Result<Writing<R>> commit() &&noexcept {
        Draft ends(std::move(*this)); // refuses on every way out but the last
        Slot *slot = ends.slot_;
        if (!slot) return Error::fixed(Status::invalid_argument, "the draft was moved from or committed before");
        auto &arena = ends.storage();
        auto const refusal = [slot](Error error) { // of the arguments; a reader comes first
            return slot->lease.has_readers() ? Error::fixed(Status::contended, "a reader holds the arena's rows")
                                             : std::move(error);
        };
        if (arena.fault) return refusal(*arena.fault);
        std::size_t const limit = arena.limit.load(std::memory_order_relaxed), need = ends.need_.total();
        if (need > limit)
            return refusal(Error::of(Status::out_of_memory, "the outputs take ", need,
                                     " bytes, and the arena's limit is ", limit));
        if (auto prepared = arena.block.prepare(ends.need_, limit); !prepared) return prepared.error();
        switch (slot->lease.commit()) {
        case LeaseStep::done: break;
        case LeaseStep::pinned: return Error::fixed(Status::contended, "a reader holds the arena's rows");
        default: return Error::fixed(Status::invalid_argument, "the arena was freed during the call");
        }
        ends.slot_ = nullptr;
        Writing<R> writing(slot); // fails on the way out from here on
        auto accepted = arena.block.accept();
        arena.note_capacity();
        arena.current.swap(arena.drafted);
        (void)arena.drafted.reserve(arena.current.size()); // so that a second call of a shape allocates nothing
        arena.draft = slot->drafts, arena.used = ends.need_;
        arena.block.poison_all();
        if (!accepted) return accepted.error();
        for (auto &piece : arena.current) {
            std::size_t const bytes = piece.rows * piece.stride_bytes;
            if (piece.kind == PieceKind::host_rows) {
                piece.data = arena.block.host_data() + piece.at;
                arena.block.place_host(piece.at, bytes);
            } else {
                piece.data = arena.block.data() + piece.at;
                arena.block.place(piece.at, bytes);
            }
            if (piece.kind != PieceKind::ragged) continue;
            piece.offsets = reinterpret_cast<std::uint32_t *>(arena.block.host_data() + piece.offsets_at);
            arena.block.place_host(piece.offsets_at, (piece.texts + 1) * sizeof(std::uint32_t));
        }
        return writing;
    }
};

/// A call that writes its outputs. Move-only; gone unpublished, it fails: the rows are stale, and the arena is ready.
template <class R> class [[nodiscard]] Writing {
    Slot *slot_ = nullptr;

    friend class Draft<R>;
    explicit Writing(Slot *slot) noexcept : slot_(slot) {}
    [[nodiscard]] ArenaStorage<R> &storage() const noexcept { return slot_->template get<ArenaStorage<R>>(); }
    [[nodiscard]] Piece *find(PlaceKey const &place, PieceKind kind) const noexcept {
        return slot_ && place.arena == slot_ ? storage().find(place, kind) : nullptr;
    }
    void fail() noexcept {
        Slot *slot = std::exchange(slot_, nullptr);
        if (!slot) return;
        auto &arena = slot->template get<ArenaStorage<R>>();
        arena.current.clear(), arena.used = {};
        arena.block.poison_all();
        if (slot->lease.fail()) Slots::instance().recycle(*slot);
    }
    [[nodiscard]] std::optional<Error> check_offsets() noexcept {
        auto &arena = storage();
        if (arena.fault) return *arena.fault;
        for (auto &piece : arena.current) {
            if (piece.kind != PieceKind::ragged) continue;
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
    /// What `trim` must leave: up to the last row that is published.
    void note_used() noexcept {
        auto &arena = storage();
        arena.used = {};
        auto const reach = [](std::size_t &used, std::size_t end) { used = end < used ? used : end; };
        for (auto const &piece : arena.current) {
            bool const host = piece.kind == PieceKind::host_rows && !R::host_accessible;
            reach(host ? arena.used.host_bytes : arena.used.bytes, piece.at + piece.rows * piece.stride_bytes);
            if (piece.kind == PieceKind::ragged)
                reach(R::host_accessible ? arena.used.bytes : arena.used.host_bytes,
                      piece.offsets_at + (piece.texts + 1) * sizeof(std::uint32_t));
        }
    }
    [[nodiscard]] Result<Stamp> end(bool pinned) noexcept {
        if (!slot_) return Error::fixed(Status::invalid_argument, "the writing was moved from or published before");
        if (auto fault = check_offsets()) return fail(), *fault;
        if (auto finished = storage().block.finish(); !finished) return fail(), finished.error();
        note_used();
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
        auto const *piece = find(place, PieceKind::rows);
        return piece ? reinterpret_cast<T *>(piece->data) : nullptr;
    }
    template <class T> [[nodiscard]] T *data(RaggedPlace<T> place) const noexcept {
        auto const *piece = find(place, PieceKind::ragged);
        return piece ? reinterpret_cast<T *>(piece->data) : nullptr;
    }
    /// All rows of a place, tight; empty for a place of another draft.
    template <class T> [[nodiscard]] std::span<T> values(Place<T> place) const noexcept requires(R::host_accessible) {
        auto const *piece = find(place, PieceKind::rows);
        return piece ? std::span<T>(data(place), piece->rows * (piece->stride_bytes / sizeof(T))) : std::span<T>();
    }
    template <class T>
    [[nodiscard]] std::span<T> values(RaggedPlace<T> place) const noexcept requires(R::host_accessible) {
        auto const *piece = find(place, PieceKind::ragged);
        return piece ? std::span<T>(data(place), piece->rows * (piece->stride_bytes / sizeof(T))) : std::span<T>();
    }
    /// All rows of a place in host memory, tight; empty for a place of another draft.
    template <class T> [[nodiscard]] std::span<T> values(HostPlace<T> place) const noexcept {
        auto const *piece = find(place, PieceKind::host_rows);
        return piece ? std::span<T>(reinterpret_cast<T *>(piece->data), piece->rows * (piece->stride_bytes / sizeof(T)))
                     : std::span<T>();
    }
    /// The offsets `[texts + 1]` to write: from 0, rising, the last at most the place's rows. Host memory.
    template <class T> [[nodiscard]] std::span<std::uint32_t> offsets(RaggedPlace<T> place) const noexcept {
        auto const *piece = find(place, PieceKind::ragged);
        return piece ? std::span(piece->offsets, piece->texts + 1) : std::span<std::uint32_t>();
    }
    /// Publishes only the first `rows` of a place. More than it has: `publish` answers `invalid_argument`.
    template <class T> void keep(Place<T> place, std::size_t rows) noexcept {
        auto *piece = find(place, PieceKind::rows);
        if (piece && rows <= piece->rows) piece->rows = rows;
        else if (slot_ && !storage().fault)
            storage().fault.emplace(Error::of(Status::invalid_argument, "can't keep ", rows, " rows of a place of ",
                                              piece ? piece->rows : 0));
    }
    /// The stream that device work must be ordered on; null for host pages.
    [[nodiscard]] void *stream() const noexcept { return slot_ ? storage().block.stream() : nullptr; }

    /// Makes the outputs current and frees the arena for the next call. Of a device it returns when all work that was
    /// queued on `stream()` is done.
    ///
    /// Errors  `invalid_argument`: offsets that fall or pass their place, `keep` of too many, or the arena was freed by
    ///         this thread; `device`: the work failed. The call has then failed: its rows are stale.
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

} // namespace uform

#endif // UFORM_DRAFT_HPP
