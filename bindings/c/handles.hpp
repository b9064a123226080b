/// What the handles of the C interface stand for, and where those come from that are used again.
#ifndef UFORM_BINDINGS_C_HANDLES_HPP
#define UFORM_BINDINGS_C_HANDLES_HPP

#include "uform.h"

#include <pthread.h>

#include <atomic>
#include <new>
#include <optional>
#include <variant>

#include "errors.hpp"
#include "uform/cuda.hpp"
#include "uform/uform.hpp"

struct uform_executor_s {
    std::variant<uform::Executor<uform::Ram>, uform::Executor<uform::Vram>> executor;
};
struct uform_model_s {
    uform::Model model;
};
struct uform_tokenizer_s {
    uform::Tokenizer tokenizer;
};
struct uform_cancellation_s {
    std::atomic<bool> is_requested{false};
};
struct uform_detached_s {
    std::variant<std::monostate, uform::Detached<uform::Ram>, uform::Detached<uform::Vram>> detached;
};
struct uform_arena_s {
    uform_arena_s *next_free = nullptr;
    std::atomic<bool> is_live{false};
    std::variant<std::monostate, uform::Arena<uform::Ram>, uform::Arena<uform::Vram>> arena;
};
struct uform_deferred_s {
    uform_deferred_s *next_free = nullptr;
    std::optional<uform::Deferred<uform::Encoded<uform::Ram>>> call;
    bool has_notification = false;
};

namespace uform::c_abi {

/// What is to be called when a deferred call is done. Not in its handle, which may be freed before.
struct Notification {
    Notification *next_free = nullptr;
    void (*done)(void *) = nullptr;
    void *context = nullptr;
};

/// Objects that are used again and never given back to the system: so a freed arena's handle can be asked, and a loop
/// of deferred calls allocates none. In a forked child too.
template <class T> class Pool {
    static inline PosixPlatform::Mutex mutex;
    static inline T *first_free = nullptr;
    static inline pthread_once_t once = PTHREAD_ONCE_INIT;

  public:
    /// Null where there is no memory.
    [[nodiscard]] static T *take() noexcept {
        pthread_once(
            &once, [] { (void)pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); }); });
        mutex.lock();
        T *const taken = first_free;
        if (taken) first_free = taken->next_free;
        mutex.unlock();
        return taken ? taken : new (std::nothrow) T;
    }
    static void give(T *back) noexcept {
        mutex.lock();
        back->next_free = first_free, first_free = back;
        mutex.unlock();
    }
};

inline uform_status_t check_arena(uform_arena_t arena, char const **message) noexcept {
    if (!arena) return bad("arena: NULL", message);
    if (!arena->is_live.load(std::memory_order_acquire)) return bad("arena: it was freed", message);
    return uform_status_success_k;
}
/// Calls `call` with what is held, an `Of<Vram>` or else an `Of<Ram>`.
template <template <class> class Of, class Held, class Call> auto on_residency(Held &held, Call const &call) noexcept {
    if (auto *const vram = std::get_if<Of<Vram>>(&held)) return call(*vram);
    return call(*std::get_if<Of<Ram>>(&held));
}
/// Calls `call` with the arena of either residency.
template <class Call> auto on_arena(uform_arena_t arena, Call const &call) noexcept {
    return on_residency<Arena>(arena->arena, call);
}

} // namespace uform::c_abi

#endif // UFORM_BINDINGS_C_HANDLES_HPP
