/// Deferred calls in their order, and the thread that serves them.
#ifndef UFORM_CALL_QUEUE_HPP
#define UFORM_CALL_QUEUE_HPP

#include <pthread.h>

#include <utility>

#include "uform/monotonic.hpp"
#include "uform/serving_thread.hpp"
#include "uform/status.hpp"

namespace uform {

class CallQueue;

/// A call that waits for its turn.
class QueuedCall {
    QueuedCall *next_ = nullptr;

    friend class CallQueue;

  public:
    QueuedCall() noexcept = default;
    QueuedCall(QueuedCall const &) = delete;
    QueuedCall &operator=(QueuedCall const &) = delete;

    /// On the serving thread, once, after it was taken from the queue. Both the call and the queue may be gone
    /// afterwards.
    virtual void run() noexcept = 0;
    /// Whether it is what somebody waits for: a slot that it fills.
    [[nodiscard]] virtual bool fills(void const *slot) const noexcept = 0;

  protected:
    ~QueuedCall() = default;
};

/// Calls that are run one after the other by a thread of their own, which the first call starts.
///
/// While that thread waits for anything of the library's, it runs the queued calls, so it never waits for itself.
/// Whoever owns the queue may go on that thread too: `stop` then lets the thread end by itself. Calls keep their queue
/// alive, so none is left when it stops.
class CallQueue final : ServingThread {
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    MonotonicCondition changed_;
    QueuedCall *first_ = nullptr, *last_ = nullptr;
    pthread_t thread_{};
    bool started_ = false, stopping_ = false;
    bool woken_ = false;   // since `serve` last asked its question
    bool *gone_ = nullptr; // on the stack of the thread: the queue was destroyed under it

    /// Under the mutex: the awaited call if it is queued, or the first; null where there is none.
    [[nodiscard]] QueuedCall *take(void const *awaited) noexcept {
        QueuedCall *before = nullptr;
        for (QueuedCall *call = first_; awaited && call; before = call, call = call->next_)
            if (call == awaited || call->fills(awaited)) return unlink(before, call);
        return first_ ? unlink(nullptr, first_) : nullptr;
    }
    QueuedCall *unlink(QueuedCall *before, QueuedCall *call) noexcept {
        (before ? before->next_ : first_) = call->next_;
        if (last_ == call) last_ = before;
        call->next_ = nullptr;
        return call;
    }
    void loop() noexcept {
        bool gone = false;
        gone_ = &gone;
        current_ = this;
        for (;;) {
            QueuedCall *call = nullptr;
            {
                MutexGuard const guard(mutex_);
                while (!first_ && !stopping_) changed_.wait(mutex_);
                call = take(nullptr);
            }
            if (!call) return;
            call->run();
            if (gone) return;
        }
    }
    void serve(Question question, void *context, void const *awaited) noexcept override {
        while (!question(context)) {
            QueuedCall *call = nullptr;
            {
                MutexGuard const guard(mutex_);
                call = take(awaited);
                // A call wakes its waiter; the end of another thread's writing doesn't, so it is looked for.
                if (!call && !woken_) {
                    (void)changed_.wait_until(mutex_, monotonic_after(0, 1'000'000));
                }
                woken_ = false;
            }
            if (call) call->run();
        }
    }

  public:
    CallQueue() noexcept = default;
    CallQueue(CallQueue const &) = delete;
    CallQueue &operator=(CallQueue const &) = delete;

    /// Starts the serving thread where there is none yet. Threads: any.
    /// Errors: `out_of_memory` where the system gives no thread; `unsupported` in a forked child, which has none.
    [[nodiscard]] Result<void> start() noexcept {
        if (is_forked())
            return Error::fixed(Status::unsupported,
                                "a forked child has no threads of its parent's executor: make one after the fork");
        MutexGuard const guard(mutex_);
        if (started_) return {};
        auto const body = [](void *queue) -> void * {
            static_cast<CallQueue *>(queue)->loop();
            return nullptr;
        };
        if (pthread_create(&thread_, nullptr, body, this) != 0)
            return Error::fixed(Status::out_of_memory, "the system gives no thread for deferred calls");
        started_ = true;
        return {};
    }
    /// Puts a call at the end, after `start`. Threads: any.
    void push(QueuedCall &call) noexcept {
        MutexGuard const guard(mutex_);
        (last_ ? last_->next_ : first_) = &call;
        last_ = &call;
        changed_.notify_one();
    }
    /// Takes a call out; `false` where it is being run, or was.
    [[nodiscard]] bool remove(QueuedCall &call) noexcept {
        MutexGuard const guard(mutex_);
        for (QueuedCall *before = nullptr, *at = first_; at; before = at, at = at->next_)
            if (at == &call) return unlink(before, at), true;
        return false;
    }
    void wake() noexcept override {
        MutexGuard const guard(mutex_);
        woken_ = true;
        changed_.notify_one();
    }
    /// Whether this is a forked child, in which nobody serves.
    using ServingThread::is_forked;

    /// Ends the thread, and waits for it unless it is the caller. No call is queued any more.
    void stop() noexcept {
        if (!started_ || is_forked()) return;
        if (pthread_equal(thread_, pthread_self())) {
            current_ = nullptr;
            *gone_ = true;
            pthread_detach(thread_);
            return;
        }
        {
            MutexGuard const guard(mutex_);
            stopping_ = true;
            changed_.notify_one();
        }
        pthread_join(thread_, nullptr);
    }
};

} // namespace uform

#endif // UFORM_CALL_QUEUE_HPP
