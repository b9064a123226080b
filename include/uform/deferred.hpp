/// A call that runs while its caller does something else: its handle, its result, and how both meet.
#ifndef UFORM_DEFERRED_HPP
#define UFORM_DEFERRED_HPP

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "uform/call_queue.hpp"
#include "uform/config.hpp"
#include "uform/monotonic.hpp"
#include "uform/process_mark.hpp"
#include "uform/serving_thread.hpp"
#include "uform/state_pool.hpp"
#include "uform/status.hpp"
#include "uform/view.hpp"

namespace uform {

/// A span of time, such as a `std::chrono::duration`, whose header costs more to compile than this one.
template <class Duration> concept TimeSpan = requires(Duration span) {
    span.count();
    Duration::period::num;
    Duration::period::den;
};

/// The state of a deferred call that its handle and its run share: whether it is done, and who is to be told.
///
/// The run's until it is announced, and the handle's then, which puts it back where it came from. So a loop of calls
/// never needs more of them than it has handles, and a steady one allocates nothing.
class DeferredState : public QueuedCall, public PooledState {
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    MonotonicCondition ended_;
    std::atomic<bool> ready_{false};
    bool is_settled_ = false;         // it is about to be ready, and it is decided who is told
    ProcessMark process_;             // in a forked child nobody ever runs it
    CallQueue *queue_ = nullptr;      // while it can be taken out of it
    ServingThread *waiter_ = nullptr; // an executor's own thread that waits
    void (*done_)(void *) noexcept = nullptr;
    void *context_ = nullptr;

  protected:
    DeferredState() noexcept = default;
    ~DeferredState() override = default;

    /// Answers `cancelled` in the place of a run, and lets the arena go.
    virtual void abandon() noexcept = 0;
    /// Calls `announce`, and lets go what keeps the executor, and with it the queue, alive: before that, or if
    /// `is_told`, after.
    ///
    /// A thread that waits may end the executor next, and so join this one: then all has been let go. But what is to
    /// be told is the user's code, which runs here and needs the executor until it is done.
    virtual void finish(bool is_told) noexcept = 0;

    /// Ready for a new call.
    void restart() noexcept {
        ready_.store(false, std::memory_order_relaxed);
        queue_ = nullptr, waiter_ = nullptr, done_ = nullptr;
        is_settled_ = false, process_ = ProcessMark();
    }
    /// The run begins: from here on it can't be cancelled.
    void begin_run() noexcept {
        MutexGuard const guard(mutex_);
        queue_ = nullptr;
    }
    /// The result is there.
    void complete() noexcept {
        bool is_told = false;
        {
            MutexGuard const guard(mutex_);
            is_settled_ = true;
            is_told = done_ != nullptr;
        }
        finish(is_told);
    }
    /// Tells whoever waits. The state is the handle's from here on: it may be another call's, or deleted.
    void announce() noexcept {
        void (*done)(void *) noexcept = nullptr;
        void *context = nullptr;
        {
            MutexGuard const guard(mutex_); // which the handle passes before it puts the state back
            done = std::exchange(done_, nullptr), context = context_;
            ready_.store(true, std::memory_order_release);
            ended_.notify_all();
            if (waiter_) waiter_->wake();
        }
        if (done) done(context);
    }

  public:
    /// The call goes into the queue, from which it may be cancelled.
    void enqueue(CallQueue &queue) noexcept {
        queue_ = &queue;
        queue.push(*this);
    }
    /// The handle goes, after `wait`.
    void release() noexcept {
        if (is_forked()) return; // whoever had a mutex at the fork never gives it back
        { MutexGuard const guard(mutex_); }
        put_back();
    }
    [[nodiscard]] bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
    [[nodiscard]] bool is_forked() const noexcept { return process_.is_forked(); }
    /// Whether nothing more is to come. In a forked child nobody runs it.
    [[nodiscard]] bool is_over() const noexcept { return ready() || is_forked(); }

    /// Waits until the call is over, at most until a point of the monotonic clock. On an executor's own thread its
    /// queued calls are run meanwhile, this one first, and one at least, however near the point is.
    bool wait(timespec const *until) noexcept {
        if (is_over()) return true;
        if (auto *serving = ServingThread::current()) {
            ServingThread *outer = nullptr; // a wait for this very call, below on this stack
            {
                MutexGuard const guard(mutex_);
                outer = std::exchange(waiter_, serving);
            }
            bool is_first = true;
            auto const is_enough = [&] {
                if (ready() || !until) return ready();
                if (std::exchange(is_first, false)) return false; // so a loop of short waits gets on
                timespec const now = monotonic_now();
                return now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
            };
            if (until) serving->wake(); // the first look doesn't sleep where there is nothing to run
            serving->serve_until(is_enough, static_cast<QueuedCall *>(this));
            MutexGuard const guard(mutex_);
            waiter_ = outer;
            return ready();
        }
        MutexGuard const guard(mutex_);
        while (!ready()) {
            if (!until) ended_.wait(mutex_);
            else if (!ended_.wait_until(mutex_, *until)) break;
        }
        return ready();
    }
    [[nodiscard]] bool cancel() noexcept {
        if (is_forked()) return false;
        {
            MutexGuard const guard(mutex_);
            if (!queue_ || !queue_->remove(*this)) return false;
            queue_ = nullptr;
        }
        abandon();
        return true;
    }
    /// Answers `false` where the call is over already: nothing will be told then.
    [[nodiscard]] bool tell(void (*done)(void *) noexcept, void *context) noexcept {
        if (is_forked()) return false;
        MutexGuard const guard(mutex_);
        while (is_settled_ && !ready()) ended_.wait(mutex_);
        if (ready()) return false;
        done_ = done, context_ = context;
        return true;
    }
    /// Takes back what `tell` was given with this context, unless it is being told.
    void untell(void const *context) noexcept {
        if (is_forked()) return;
        MutexGuard const guard(mutex_);
        if (context_ == context) done_ = nullptr;
    }
};

/// A deferred state with its result.
template <class T> class DeferredResult : public DeferredState {
    std::optional<Result<Pinned<T>>> result_;

  protected:
    ~DeferredResult() override = default;
    void restart() noexcept {
        result_.reset();
        DeferredState::restart();
    }
    void complete(Result<Pinned<T>> result) noexcept {
        result_.emplace(std::move(result));
        DeferredState::complete();
    }

  public:
    /// Once it is ready, and once.
    [[nodiscard]] Result<Pinned<T>> take() noexcept {
        if (!this->ready())
            return Error::fixed(Status::unsupported, "the call was submitted before the fork: it runs in the parent");
        if (!result_) return Error::fixed(Status::invalid_argument, "the call's result was taken before");
        Result<Pinned<T>> result = *std::move(result_);
        result_.reset();
        return result;
    }
    /// Lets a result go that nobody took, with its pin.
    void discard() noexcept { result_.reset(); }
};

/// Runs a coroutine on where a schedule of the user's says; see `Deferred::resume_on`.
using Schedule = void (*)(std::coroutine_handle<> coroutine, void *context) noexcept;

template <class T> class DeferredAwaiter;

/// A call that was submitted. Move-only; its destructor waits. Its inputs were consumed at submit; its arena answers
/// `contended` until the result has gone too, which is pinned.
///
/// Leaking one (never destroying it) leaks its memory and leaves the arena `contended`, but nothing dangles, and no
/// destructor hangs.
/// Threads  a handle is one thread's at a time.
template <class T> class [[nodiscard]] Deferred {
    DeferredResult<T> *state_ = nullptr;

    friend class DeferredAwaiter<T>;

    void drop() noexcept {
        auto *state = std::exchange(state_, nullptr);
        if (!state) return;
        state->wait(nullptr);
        if (state->ready()) state->discard();
        state->release();
    }

  public:
    /// Takes the state over.
    explicit Deferred(DeferredResult<T> *state) noexcept : state_(state) {}
    Deferred(Deferred &&other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Deferred &operator=(Deferred &&other) noexcept {
        if (this != &other) drop(), state_ = std::exchange(other.state_, nullptr);
        return *this;
    }
    ~Deferred() { drop(); }

    /// Whether `wait` would answer at once. Costs a nanosecond once it is. It runs nothing: on an executor's own
    /// thread, where nobody else runs what is queued, poll with `wait_for`.
    [[nodiscard]] bool ready() const noexcept { return !state_ || state_->is_over(); }
    /// Waits at most so long, and answers whether `wait` would answer at once. A span below zero is none, and so is one
    /// that isn't a number; of one that is longer than 95 years, 95 are waited. On an executor's own thread its queued
    /// calls are run meanwhile, this one first, and one at least, which may take longer.
    template <TimeSpan Duration> bool wait_for(Duration span) noexcept {
        if (!state_) return true;
        double const seconds = static_cast<double>(span.count()) * static_cast<double>(Duration::period::num) /
                               static_cast<double>(Duration::period::den);
        if (!(seconds > 0) && !ServingThread::current()) return state_->is_over();
        double const capped = !(seconds > 0) ? 0 : seconds < 3e9 ? seconds : 3e9;
        auto const whole = static_cast<std::int64_t>(capped);
        timespec const until = monotonic_after(whole, static_cast<long>((capped - static_cast<double>(whole)) * 1e9));
        return state_->wait(&until);
    }
    /// The result, once. On an executor's own thread its queued calls are run meanwhile, this one first.
    ///
    /// Errors  those of the verb; `cancelled`; `invalid_argument` where it was taken before, or the handle was moved
    ///         from; `unsupported` in a child that was forked before the call was done.
    [[nodiscard]] Result<Pinned<T>> wait() noexcept {
        if (!state_) return Error::fixed(Status::invalid_argument, "the deferred call was moved from");
        state_->wait(nullptr);
        return state_->take();
    }
    /// Takes the call back: `true` if it never ran, and `wait` then answers `cancelled`. The arena's previous results
    /// are as they were.
    bool cancel() noexcept { return state_ && state_->cancel(); }
    /// Calls `done(context)` once, when the result is there: at once on this thread if it is, otherwise on the
    /// executor's own thread, or on that which cancels. It may do anything, ending this handle, the arena and the
    /// executor too. One at a time: a later call takes the place of an earlier one, and null of any. Waiting and ending
    /// the handle don't wait for it: the context must live until it was called. Of a handle that was moved from:
    /// nothing.
    void on_ready(void (*done)(void *) noexcept, void *context) noexcept {
        if (state_ && !state_->tell(done, context) && done) done(context);
    }

    /// `co_await` answers what `wait` answers, and resumes on the executor's own thread, or on that which cancels.
    /// A coroutine may be destroyed while it waits, by whoever knows that nothing resumes it at the same time, such as
    /// the executor's own thread; as the handle goes with it, that waits for the call.
    [[nodiscard]] DeferredAwaiter<T> operator co_await() noexcept UFORM_LIFETIMEBOUND;
    /// To be awaited: resumes where `schedule(coroutine, context)` runs it, which is called where `co_await` alone
    /// would resume.
    [[nodiscard]] DeferredAwaiter<T> resume_on(Schedule schedule, void *context) noexcept UFORM_LIFETIMEBOUND;
};

/// What a coroutine waits with. A type of its own, as GCC 12 doesn't take these functions from a move-only class.
template <class T> class DeferredAwaiter {
    Deferred<T> *call_ = nullptr;
    std::optional<Error> refused_; // what the submit answered
    Schedule schedule_ = nullptr;
    void *context_ = nullptr;
    std::coroutine_handle<> coroutine_;
    DeferredState *suspended_on_ = nullptr;

  public:
    DeferredAwaiter(Deferred<T> &call, Schedule schedule, void *context) noexcept
        : call_(&call), schedule_(schedule), context_(context) {}
    explicit DeferredAwaiter(Error refused) noexcept : refused_(std::move(refused)) {}
    DeferredAwaiter(DeferredAwaiter const &) = delete;
    DeferredAwaiter &operator=(DeferredAwaiter const &) = delete;
    /// Of a coroutine that is destroyed while it waits: it isn't resumed any more.
    ~DeferredAwaiter() {
        if (suspended_on_) suspended_on_->untell(this);
    }

    [[nodiscard]] bool await_ready() const noexcept { return !call_ || call_->ready(); }
    /// Answers `false`, to go on at once, where the result came meanwhile. Never inlined: nothing of it may lie in the
    /// coroutine's frame, which another thread may have ended before this returns.
    [[nodiscard]] UFORM_NEVER_INLINE bool await_suspend(std::coroutine_handle<> coroutine) noexcept {
        coroutine_ = coroutine, suspended_on_ = call_->state_;
        auto const resume = [](void *given) noexcept {
            auto &self = *static_cast<DeferredAwaiter *>(given);
            self.suspended_on_ = nullptr; // the handle may go before a scheduled coroutine does
            if (self.schedule_) self.schedule_(self.coroutine_, self.context_);
            else self.coroutine_.resume();
        };
        return suspended_on_->tell(resume, this);
    }
    [[nodiscard]] Result<Pinned<T>> await_resume() noexcept {
        suspended_on_ = nullptr;
        if (refused_) return *std::move(refused_);
        return call_->wait();
    }
};

template <class T> DeferredAwaiter<T> Deferred<T>::operator co_await() noexcept { return {*this, nullptr, nullptr}; }
template <class T> DeferredAwaiter<T> Deferred<T>::resume_on(Schedule schedule, void *context) noexcept {
    return {*this, schedule, context};
}

/// A submit can be awaited as it is: a refusal comes the same way as the call's errors.
template <class T>
[[nodiscard]] DeferredAwaiter<T> operator co_await(Result<Deferred<T>> &call UFORM_LIFETIMEBOUND) noexcept {
    return call ? DeferredAwaiter<T>(*call, nullptr, nullptr) : DeferredAwaiter<T>(call.error());
}
template <class T>
[[nodiscard]] DeferredAwaiter<T> operator co_await(Result<Deferred<T>> &&call UFORM_LIFETIMEBOUND) noexcept {
    Result<Deferred<T>> &kept = call; // lives until the coroutine has gone on
    return call ? DeferredAwaiter<T>(*kept, nullptr, nullptr) : DeferredAwaiter<T>(kept.error());
}

} // namespace uform

#endif // UFORM_DEFERRED_HPP
