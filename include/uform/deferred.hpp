/// A call that runs while its caller does something else: its handle, its result, and how both meet.
#ifndef UFORM_DEFERRED_HPP
#define UFORM_DEFERRED_HPP

#include <pthread.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

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
/// Counted: the handle and the run hold one reference each, and the last one puts it back where it came from, so that
/// a steady loop allocates nothing.
class DeferredState : public QueuedCall, public PooledState {
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t ended_; // by the monotonic clock
    std::atomic<std::uint32_t> references_{0};
    std::atomic<bool> ready_{false};
    bool is_settled_ = false;         // it is about to be ready, and it is decided who is told
    pid_t process_ = 0;               // in a forked child nobody ever runs it
    CallQueue *queue_ = nullptr;      // while it can be taken out of it
    ServingThread *waiter_ = nullptr; // an executor's own thread that waits
    void (*done_)(void *) noexcept = nullptr;
    void *context_ = nullptr;

    struct Guard {
        pthread_mutex_t &mutex;
        explicit Guard(pthread_mutex_t &m) noexcept : mutex(m) { pthread_mutex_lock(&mutex); }
        Guard(Guard const &) = delete;
        Guard &operator=(Guard const &) = delete;
        ~Guard() { pthread_mutex_unlock(&mutex); }
    };

  protected:
    DeferredState() noexcept {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&ended_, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    ~DeferredState() override { pthread_cond_destroy(&ended_); }

    /// Answers `cancelled` in the place of a run, and lets the arena go.
    virtual void abandon() noexcept = 0;
    /// Lets go what keeps the executor, and with it the queue, alive.
    virtual void let_go() noexcept = 0;

    /// Ready for a new call: with two references.
    void restart() noexcept {
        ready_.store(false, std::memory_order_relaxed);
        references_.store(2, std::memory_order_relaxed);
        queue_ = nullptr, waiter_ = nullptr, done_ = nullptr;
        is_settled_ = false, process_ = getpid();
    }
    /// The run begins: from here on it can't be cancelled.
    void begin_run() noexcept {
        Guard const guard(mutex_);
        queue_ = nullptr;
    }
    /// The result is there. Tells whoever waits, and drops the run's reference.
    void complete() noexcept {
        bool is_told = false;
        {
            Guard const guard(mutex_);
            is_settled_ = true;
            is_told = done_ != nullptr;
        }
        // A thread that waits may end the executor next, which joins this thread: so it must not be the other way
        // round. What is to be told may run the user's code here, and needs the executor until it is done.
        if (!is_told) let_go();
        void (*done)(void *) noexcept = nullptr;
        void *context = nullptr;
        {
            Guard const guard(mutex_);
            done = std::exchange(done_, nullptr), context = context_;
            ready_.store(true, std::memory_order_release);
            pthread_cond_broadcast(&ended_);
            if (waiter_) waiter_->wake();
        }
        if (done) done(context);
        if (is_told) let_go();
        release();
    }

  public:
    /// The call goes into the queue, from which it may be cancelled.
    void enqueue(CallQueue &queue) noexcept {
        queue_ = &queue;
        queue.push(*this);
    }
    void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) put_back();
    }
    [[nodiscard]] bool ready() const noexcept { return ready_.load(std::memory_order_acquire); }
    [[nodiscard]] bool is_forked() const noexcept { return process_ != getpid(); }

    /// Waits until the call is done, at most until a point of the monotonic clock. On an executor's own thread its
    /// queued calls are run meanwhile, this one first.
    [[nodiscard]] bool wait(timespec const *until) noexcept {
        if (ready()) return true;
        if (is_forked()) return false;
        if (auto *serving = ServingThread::current()) {
            {
                Guard const guard(mutex_);
                waiter_ = serving;
            }
            auto const is_over = [&] {
                if (ready() || !until) return ready();
                timespec now;
                clock_gettime(CLOCK_MONOTONIC, &now);
                return now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
            };
            serving->serve_until(is_over, static_cast<QueuedCall *>(this));
            Guard const guard(mutex_);
            waiter_ = nullptr;
            return ready();
        }
        Guard const guard(mutex_);
        while (!ready()) {
            if (!until) pthread_cond_wait(&ended_, &mutex_);
            else if (pthread_cond_timedwait(&ended_, &mutex_, until) != 0) break;
        }
        return ready();
    }
    [[nodiscard]] bool cancel() noexcept {
        if (is_forked()) return false;
        {
            Guard const guard(mutex_);
            if (!queue_ || !queue_->remove(*this)) return false;
            queue_ = nullptr;
        }
        abandon();
        return true;
    }
    /// Answers `false` where the call is done already: nothing will be told then.
    [[nodiscard]] bool tell(void (*done)(void *) noexcept, void *context) noexcept {
        if (is_forked()) return true;
        Guard const guard(mutex_);
        while (is_settled_ && !ready()) pthread_cond_wait(&ended_, &mutex_);
        if (ready()) return false;
        done_ = done, context_ = context;
        return true;
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
        if (state->wait(nullptr)) state->discard();
        state->release();
    }

  public:
    /// Takes over one of the state's references.
    explicit Deferred(DeferredResult<T> *state) noexcept : state_(state) {}
    Deferred(Deferred &&other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
    Deferred &operator=(Deferred &&other) noexcept {
        if (this != &other) drop(), state_ = std::exchange(other.state_, nullptr);
        return *this;
    }
    ~Deferred() { drop(); }

    /// Whether `wait` would answer at once. Costs a nanosecond.
    [[nodiscard]] bool ready() const noexcept { return !state_ || state_->ready(); }
    /// Waits at most so long, and answers whether the result is there. A span below zero is none; of one that is longer
    /// than a century, a century is waited.
    template <TimeSpan Duration> bool wait_for(Duration span) noexcept {
        if (!state_) return true;
        double const seconds = static_cast<double>(span.count()) * static_cast<double>(Duration::period::num) /
                               static_cast<double>(Duration::period::den);
        if (!(seconds > 0)) return state_->ready();
        double const capped = seconds < 3e9 ? seconds : 3e9;
        timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        auto const whole = static_cast<std::int64_t>(capped);
        until.tv_sec += whole;
        until.tv_nsec += static_cast<long>((capped - static_cast<double>(whole)) * 1e9);
        if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
        return state_->wait(&until);
    }
    /// The result, once. On an executor's own thread its queued calls are run meanwhile, this one first.
    ///
    /// Errors  those of the verb; `cancelled`; `invalid_argument` where it was taken before, or the handle was moved
    /// from.
    [[nodiscard]] Result<Pinned<T>> wait() noexcept {
        if (!state_) return Error::fixed(Status::invalid_argument, "the deferred call was moved from");
        (void)state_->wait(nullptr);
        return state_->take();
    }
    /// Takes the call back: `true` if it never ran, and `wait` then answers `cancelled`. The arena's previous results
    /// are as they were.
    bool cancel() noexcept { return state_ && state_->cancel(); }
    /// Calls `done(context)` once, when the result is there: at once on this thread if it is, otherwise on the
    /// executor's own thread, or on that which cancels. It may do anything, ending this handle, the arena and the
    /// executor too. One at a time: a later call takes the place of an earlier one. Of a handle that was moved from:
    /// nothing.
    void on_ready(void (*done)(void *) noexcept, void *context) noexcept {
        if (!state_) return;
        auto *const state = state_; // the handle may go before `tell` has returned
        state->retain();
        if (!state->tell(done, context)) done(context);
        state->release();
    }

    /// `co_await` answers what `wait` answers, and resumes on the executor's own thread.
    [[nodiscard]] DeferredAwaiter<T> operator co_await() noexcept UFORM_LIFETIMEBOUND;
    /// To be awaited: resumes where `schedule(coroutine, context)` runs it, which is called on the executor's own
    /// thread.
    [[nodiscard]] DeferredAwaiter<T> resume_on(Schedule schedule, void *context) noexcept UFORM_LIFETIMEBOUND;
};

/// What a coroutine waits with. A type of its own, as GCC 12 doesn't take these functions from a move-only class.
template <class T> class DeferredAwaiter {
    Deferred<T> *call_ = nullptr;
    std::optional<Error> refused_; // what the submit answered
    Schedule schedule_ = nullptr;
    void *context_ = nullptr;
    std::coroutine_handle<> coroutine_;

  public:
    DeferredAwaiter(Deferred<T> &call, Schedule schedule, void *context) noexcept
        : call_(&call), schedule_(schedule), context_(context) {}
    explicit DeferredAwaiter(Error refused) noexcept : refused_(std::move(refused)) {}

    [[nodiscard]] bool await_ready() const noexcept { return !call_ || call_->ready(); }
    /// Answers `false`, to go on at once, where the result came meanwhile.
    [[nodiscard]] bool await_suspend(std::coroutine_handle<> coroutine) noexcept {
        coroutine_ = coroutine;
        auto *const state = call_->state_; // this awaiter may go before `tell` has returned
        state->retain();
        auto const resume = [](void *given) noexcept {
            auto &self = *static_cast<DeferredAwaiter *>(given);
            if (self.schedule_) self.schedule_(self.coroutine_, self.context_);
            else self.coroutine_.resume();
        };
        bool const suspended = state->tell(resume, this);
        state->release();
        return suspended;
    }
    [[nodiscard]] Result<Pinned<T>> await_resume() noexcept {
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
