/// Where calls on one device compute: a shared handle of its context, its pool of memory and its first stream.
#ifndef UFORM_CUDA_EXECUTOR_HPP
#define UFORM_CUDA_EXECUTOR_HPP

#include <cstdint>
#include <utility>

#include "uform/cuda/executor_core.hpp"
#include "uform/cuda/vram.hpp"
#include "uform/residency.hpp"
#include "uform/status.hpp"

namespace uform {

template <AnyResidency R> class Executor;

/// A device on which `Vram` calls compute. A shared handle: copies are the same executor, and its arenas keep it alive.
/// One that was moved from may only be assigned to or destroyed.
///
/// Threads  usable from many. Work of all its arenas is queued on one stream, the first.
/// Memory   a pool of its own: what an arena frees or outgrows stays for the executor's other arenas, until `trim` of
///          one of them, or the end. Retains the device's primary context, which CUDA's runtime uses too. Never changes
///          the caller's device or context.
/// Device   has not run on one yet; held by tests against a fake driver.
template <> class Executor<Vram> {
    cuda::CoreReference core_;

    explicit Executor(cuda::CoreReference core) noexcept : core_(std::move(core)) {}

  public:
    /// An executor on the device of that ordinal, as the CUDA driver counts them. Each one has a stream of its own.
    ///
    /// Errors  `unsupported`, with the reason: no driver, no such device, or one without stream-ordered memory pools;
    ///         `out_of_memory`; `device`.
    [[nodiscard]] static Result<Executor> for_device(std::uint32_t ordinal) noexcept {
        auto core = cuda::ExecutorCore::open(ordinal);
        if (!core) return core.error();
        return Executor(*std::move(core));
    }

    /// The device's ordinal.
    [[nodiscard]] std::uint32_t device() const noexcept { return core_->ordinal(); }
    /// The first stream (`cudaStream_t`), on which all calls are queued. Input that is queued on it before a call is
    /// there for the call. Valid while the executor, or an arena of it, lives.
    [[nodiscard]] void *stream() const noexcept { return core_->first_stream(); }
    /// What its arenas are made from.
    [[nodiscard]] Vram::Block::Origin origin() const noexcept { return {core_}; }
};

} // namespace uform

#endif // UFORM_CUDA_EXECUTOR_HPP
