/// Device memory: a block that is allocated, filled and freed in the order of its executor's first stream.
#ifndef UFORM_CUDA_VRAM_HPP
#define UFORM_CUDA_VRAM_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "uform/arena_storage.hpp"
#include "uform/cuda/driver.hpp"
#include "uform/cuda/executor_core.hpp"
#include "uform/lease.hpp"
#include "uform/list.hpp"
#include "uform/ram.hpp"
#include "uform/residency.hpp"
#include "uform/status.hpp"

namespace uform {
namespace cuda {

/// The memory of a `Vram` arena, with host pages beside it for offsets, counts and ids.
///
/// It can't grow in place: `prepare` allocates a successor beside it, `accept` lets that take over and queues the free
/// of the old one behind everything on the first stream, so old rows stay readable until then. Keeps the executor's
/// core alive.
/// Threads: one at a time, as the arena's lease sees to; `leave_event` from any, while its caller holds a pin.
/// Device: has not run on one yet; held by tests against a fake driver.
class VramBlock {
  public:
    /// What a block is made from, and the only executor whose calls it serves.
    struct Origin {
        CoreReference core;
        bool operator==(Origin const &) const = default;
    };

  private:
    CoreReference core_;
    HostBlock host_{HostBlock::Origin()};
    DeviceAllocation *current_ = nullptr, *successor_ = nullptr;
    EventNode *done_ = nullptr;     // had before the first commit, so that the end of a call needs no memory
    NodeList<EventNode> readers_;   // what foreign streams may still read; under the core's lock
    bool keep_successor_ = false;   // it was asked for by `reserve`, so a refused call leaves it
    bool shrink_ = false;           // `trim` waits for the next call
    bool pool_has_trimmed_ = false; // memory that `trim` let go lies in the pool, once the first stream got there

    static constexpr std::size_t grain = 4096;
    [[nodiscard]] static std::size_t rounded(std::size_t bytes) noexcept {
        return bytes > SIZE_MAX - grain ? bytes : (bytes + grain - 1) / grain * grain;
    }
    void retire(DeviceAllocation *&block) noexcept {
        if (!block) return;
        NodeList<DeviceAllocation> one;
        one.push(std::exchange(block, nullptr));
        core_->retire(one, {});
    }
    [[nodiscard]] NodeList<EventNode> take_readers() noexcept {
        ExecutorCore::Lock const lock(*core_);
        return readers_.take();
    }
    [[nodiscard]] Result<void> grow(Extent need, std::size_t limit) noexcept;

  public:
    explicit VramBlock(Origin origin) noexcept : core_(std::move(origin.core)) {}
    VramBlock(VramBlock const &) = delete;
    VramBlock &operator=(VramBlock const &) = delete;
    /// Queues the free behind all work and all readers, and waits for neither. On whatever thread; also where the
    /// driver is gone or answers nothing but errors.
    ~VramBlock() {
        if (!core_->is_of_this_process()) return;
        NodeList<DeviceAllocation> blocks;
        for (auto *block : {current_, successor_})
            if (block) blocks.push(block);
        core_->retire(blocks, take_readers());
        if (done_) core_->give_event(done_);
    }

    [[nodiscard]] Origin origin() const noexcept { return {core_}; }
    [[nodiscard]] ExecutorCore &core() const noexcept { return *core_; }

    /// Room for `need`, below `limit`; what is current stays as it is, also after an error.
    /// Errors: `out_of_memory`, `device`.
    [[nodiscard]] Result<void> prepare(Extent need, std::size_t limit) noexcept {
        if (!core_->is_of_this_process()) return Error::fixed(Status::device, "CUDA doesn't work in a forked child");
        if (auto grown = grow(need, limit); !grown) return grown;
        return host_.prepare({need.host_bytes, 0}, limit); // what was made above is the refusal's to give back
    }
    /// The call writes from here on, behind what foreign streams still read: a successor takes over, and the old
    /// block's free is queued. Waits for nothing.
    /// Errors: `device`. Nothing has changed then: the old block and a successor stay for the next call.
    [[nodiscard]] Result<void> accept() noexcept {
        if (auto readers = take_readers(); !readers.empty()) {
            CoreEntry const entry(*core_);
            auto done = entry ? core_->queue_behind(readers) : Result<void>(entry.error(*core_));
            ExecutorCore::Lock const lock(*core_);
            readers_.append(readers); // those that are still to be waited for
            if (!done) return done;
        }
        if (successor_) {
            pool_has_trimmed_ = pool_has_trimmed_ || shrink_;
            retire(current_);
            current_ = std::exchange(successor_, nullptr);
        }
        keep_successor_ = shrink_ = false;
        return host_.accept();
    }
    /// Returns once all that was queued on the first stream is seen done. Errors: `device`.
    [[nodiscard]] Result<void> finish() noexcept {
        CoreEntry const entry(*core_);
        if (!entry) return entry.error(*core_);
        auto done = core_->wait_for_first_stream(*done_);
        if (done && std::exchange(pool_has_trimmed_, false)) core_->trim_pool(false);
        return done;
    }
    /// The executor's first stream.
    [[nodiscard]] void *stream() const noexcept { return core_->first_stream(); }
    /// The call was refused.
    void refuse() noexcept {
        host_.refuse();
        if (!keep_successor_) retire(successor_);
    }
    /// A successor that `prepare` made is kept for the next call, also if calls are refused before it.
    void keep_successor() noexcept { host_.keep_successor(), keep_successor_ = successor_ != nullptr; }

    /// Gives back what the current results don't use: all of it at once, a part at the next call. Waits for the first
    /// stream where device memory is freed at once.
    void trim(Extent used) noexcept {
        host_.trim({used.host_bytes, 0});
        if (!core_->is_of_this_process()) return;
        bool const frees = successor_ || (current_ && !used.bytes);
        keep_successor_ = false;
        retire(successor_);
        if (!used.bytes && current_) {
            NodeList<DeviceAllocation> one;
            one.push(std::exchange(current_, nullptr));
            core_->retire(one, take_readers());
            shrink_ = false;
        } else if (current_ && rounded(used.bytes) < current_->bytes) {
            shrink_ = true;
        }
        core_->trim_pool(frees);
    }

    /// A device address.
    [[nodiscard]] std::byte *data() const noexcept {
        return current_ ? reinterpret_cast<std::byte *>(static_cast<std::uintptr_t>(current_->first)) : nullptr;
    }
    /// Where offsets, counts and ids land.
    [[nodiscard]] std::byte *host_data() const noexcept { return host_.data(); }
    /// Of device and host, together.
    [[nodiscard]] std::size_t capacity() const noexcept {
        return (current_ ? current_->bytes : 0) + (successor_ ? successor_->bytes : 0) + host_.capacity();
    }
    /// Whether any of these host or device bytes is this block's.
    [[nodiscard]] bool holds(void const *first, std::size_t bytes) const noexcept {
        auto const at = static_cast<DevicePointer>(reinterpret_cast<std::uintptr_t>(first));
        if (!bytes || host_.holds(first, bytes)) return bytes;
        if (!current_) return false;
        return at < current_->first ? current_->first - at < bytes : at - current_->first < current_->bytes;
    }
    [[nodiscard]] std::optional<std::uint32_t> device() const noexcept { return core_->ordinal(); }

    /// The host's bytes only: a host access of device bytes traps by itself.
    void poison_all() const noexcept { host_.poison_all(); }
    void place(std::size_t, std::size_t) const noexcept {}
    void place_host(std::size_t at, std::size_t bytes) const noexcept { host_.place_host(at, bytes); }

    /// The next call, and the free, come after what is queued on a foreign stream so far.
    /// Errors: `out_of_memory`, `device`. From any thread that holds a pin. Events are used again.
    [[nodiscard]] Result<void> leave_event(Stream stream) noexcept;
};

inline Result<void> VramBlock::grow(Extent need, std::size_t limit) noexcept {
    std::size_t const bytes = need.bytes, have = current_ ? current_->bytes : 0;
    bool const fits = bytes <= have, has_successor = successor_ && bytes <= successor_->bytes;
    bool const shrinks = fits && shrink_ && bytes && rounded(bytes) < have;
    if (done_ && !has_successor && fits && !shrinks) { // a steady loop ends here
        keep_successor_ = false;
        retire(successor_); // too small to take over
        return {};
    }
    CoreEntry const entry(*core_);
    if (!entry) return entry.error(*core_);
    if (!done_) {
        auto event = core_->take_event();
        if (!event) return event.error();
        done_ = *event;
    }
    if (has_successor || (fits && !shrinks)) return {};

    // By a half more than before, so that a slowly growing need doesn't allocate at each call.
    std::size_t const room = limit > need.host_bytes ? limit - need.host_bytes : 0;
    std::size_t wish = rounded(fits || bytes > have + have / 2 ? bytes : have + have / 2);
    if (wish > room) wish = bytes;
    auto made = core_->allocate(wish);
    if (!made && made.error().status() == Status::out_of_memory && wish > bytes) made = core_->allocate(bytes);
    if (!made) return fits ? Result<void>() : Result<void>(made.error());
    retire(successor_);
    successor_ = *made;
    return {};
}

inline Result<void> VramBlock::leave_event(Stream stream) noexcept {
    CoreEntry const entry(*core_);
    if (!entry) return entry.error(*core_);
    EventNode *event = nullptr;
    {
        // Where no call comes in between, the list would grow for ever: so each reader looks at two of the oldest.
        ExecutorCore::Lock const lock(*core_);
        for (int looked = 0; looked != 2; ++looked) {
            auto *const oldest = readers_.pop();
            if (!oldest) break;
            if (core_->driver().event_query(oldest->event) != Code::success) readers_.push(oldest);
            else if (!event) event = oldest;
            else oldest->next = event, event = oldest;
        }
    }
    if (event && event->next) core_->give_event(std::exchange(event->next, nullptr));
    if (!event) {
        auto taken = core_->take_event();
        if (!taken) return taken.error();
        event = *taken;
    }
    Code const code = core_->driver().event_record(event->event, stream);
    if (code != Code::success) {
        core_->give_event(event);
        return work_error(core_->driver(), code, "marking what a reader's stream has queued");
    }
    ExecutorCore::Lock const lock(*core_);
    readers_.push(event);
    return {};
}

} // namespace cuda

/// The memory of one GPU. Its rows can't be read on the host but through `copy_to`; `data()` is a device address.
struct Vram {
    static constexpr bool host_accessible = false;
    static constexpr Residency residency = Residency::vram;
    using Block = cuda::VramBlock;

    /// What an executor's arenas are made from.
    [[nodiscard]] static Block::Origin origin(auto const &executor) noexcept { return executor.origin(); }

    // What `Rows` and `Pinned` do, for callers that hold a pin of the slot.

    [[nodiscard]] static Result<void> copy_to_host(Slot &slot, void *to, void const *from, std::size_t bytes) noexcept {
        return block_of(slot).core().copy_to_host(to, from, bytes);
    }
    [[nodiscard]] static Result<void> stream_wait(Slot &slot, void *stream) noexcept {
        return block_of(slot).core().order_after_first(static_cast<cuda::Stream>(stream));
    }
    [[nodiscard]] static Result<void> release_on(Slot &slot, void *stream) noexcept {
        return block_of(slot).leave_event(static_cast<cuda::Stream>(stream));
    }

  private:
    [[nodiscard]] static Block &block_of(Slot &slot) noexcept { return slot.get<ArenaStorage<Vram>>().block; }
};
static_assert(AnyResidency<Vram>);

} // namespace uform

#endif // UFORM_CUDA_VRAM_HPP
