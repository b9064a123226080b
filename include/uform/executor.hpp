/// Where calls compute: a set of threads, the caller's among them.
#ifndef UFORM_EXECUTOR_HPP
#define UFORM_EXECUTOR_HPP

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/call_queue.hpp"
#include "uform/config.hpp"
#include "uform/ram.hpp"
#include "uform/recovery.hpp"
#include "uform/residency.hpp"
#include "uform/state_pool.hpp"
#include "uform/status.hpp"
#include "uform/team.hpp"

namespace uform {

template <AnyResidency R> class Executor;

/// Threads on which `Ram` calls compute. A shared handle: copies are the same executor. One that was moved from may
/// only be assigned to or destroyed. In a forked child calls run on their own thread.
///
/// Threads  usable from many; calls on it queue, one at a time. The calling thread works too, so an executor of one
///          thread has no thread of its own, until its first deferred call starts one that serves these. The last
///          handle may go on any thread, that one too.
/// Memory   keeps the workspace of its calls, grown to the largest, until the last handle goes.
template <> class Executor<Ram> {
    /// The workers, and the one call that they serve.
    class Threads final : public Team {
        struct Worker {
            Threads *team;
            pthread_t thread;
            std::size_t number;
        };
        pthread_mutex_t calls_ = PTHREAD_MUTEX_INITIALIZER; // held by the call at work
        pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t started_ = PTHREAD_COND_INITIALIZER, finished_ = PTHREAD_COND_INITIALIZER;
        std::atomic<std::uint64_t> round_{0}; // moves when workers have something to do
        std::atomic<std::size_t> next_{0};    // the next task to take
        std::atomic<std::size_t> working_{0}; // workers that have not finished this round
        bool stop_ = false;
        std::size_t count_ = 0;
        Task task_ = nullptr;
        void *context_ = nullptr;
        Buffer<Worker> workers_;
        std::unique_ptr<KeptState> kept_;
        CallQueue queue_;
        StatePool *const states_;

        // Waking a sleeper takes tens of microseconds, so both sides look for a while first; a core that was taken away
        // makes longer spinning a loss.
        static constexpr int spins = 4000;
        template <class Condition> [[nodiscard]] static bool spin_until(Condition condition) noexcept {
            for (int i = 0; i != spins; ++i) {
                if (condition()) return true;
#if UFORM_X86
                __builtin_ia32_pause();
#endif
            }
            return condition();
        }
        void take_tasks(std::size_t worker) noexcept {
            for (std::size_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;)
                task_(context_, i, worker);
        }
        void work(std::size_t number) noexcept {
            for (std::uint64_t seen = 0;;) {
                if (!spin_until([&] { return round_.load(std::memory_order_acquire) != seen; })) {
                    pthread_mutex_lock(&mutex_);
                    while (round_.load(std::memory_order_acquire) == seen) pthread_cond_wait(&started_, &mutex_);
                    pthread_mutex_unlock(&mutex_);
                }
                seen = round_.load(std::memory_order_acquire);
                if (stop_) return;
                take_tasks(number);
                if (working_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
                    pthread_mutex_lock(&mutex_);
                    pthread_cond_signal(&finished_);
                    pthread_mutex_unlock(&mutex_);
                }
            }
        }
        void start_round() noexcept {
            pthread_mutex_lock(&mutex_);
            round_.fetch_add(1, std::memory_order_release);
            pthread_cond_broadcast(&started_);
            pthread_mutex_unlock(&mutex_);
        }

      public:
        explicit Threads(StatePool *states) noexcept : states_(states) {}
        ~Threads() {
            if (is_forked()) return; // a child has no threads to wait for, and a lock may have been held at the fork
            queue_.stop();
            states_->end();
            stop_ = true;
            start_round();
            for (auto const &worker : workers_) pthread_join(worker.thread, nullptr);
        }
        [[nodiscard]] Result<void> start(std::size_t threads) noexcept {
            if (threads > 65536 || !workers_.reserve(threads))
                return Error::of(Status::out_of_memory, "an executor of ", threads, " threads; the most is 65,536");
            for (std::size_t number = 1; number != threads; ++number) {
                Worker &worker = workers_.data()[number - 1];
                worker.team = this, worker.number = number;
                auto const body = [](void *given) -> void * {
                    auto const *self = static_cast<Worker *>(given);
                    self->team->work(self->number);
                    return nullptr;
                };
                if (pthread_create(&worker.thread, nullptr, body, &worker) != 0)
                    return Error::of(Status::out_of_memory, "the system gives only ", number, " of ", threads,
                                     " threads");
                (void)workers_.resize(number);
            }
            return {};
        }

        [[nodiscard]] std::size_t threads() const noexcept override { return workers_.size() + 1; }
        void run(std::size_t count, Task task, void *context) noexcept override {
            if (count == 0) return;
            if (count == 1 || workers_.empty()) {
                for (std::size_t i = 0; i != count; ++i) task(context, i, 0);
                return;
            }
            count_ = count, task_ = task, context_ = context;
            next_.store(0, std::memory_order_relaxed);
            working_.store(workers_.size(), std::memory_order_relaxed);
            start_round();
            take_tasks(0);
            auto const done = [&] { return working_.load(std::memory_order_acquire) == 0; };
            if (spin_until(done)) return;
            pthread_mutex_lock(&mutex_);
            while (!done()) pthread_cond_wait(&finished_, &mutex_);
            pthread_mutex_unlock(&mutex_);
        }
        [[nodiscard]] std::unique_ptr<KeptState> &kept() noexcept override { return kept_; }
        [[nodiscard]] CallQueue &queue() noexcept { return queue_; }
        [[nodiscard]] StatePool &states() noexcept { return *states_; }

        [[nodiscard]] bool is_forked() const noexcept { return queue_.is_forked(); }

        void lock() noexcept { pthread_mutex_lock(&calls_); }
        void unlock() noexcept { pthread_mutex_unlock(&calls_); }
    };
    std::shared_ptr<Threads> threads_;

    explicit Executor(std::shared_ptr<Threads> threads) noexcept : threads_(std::move(threads)) {}

    [[nodiscard]] static Error no_memory() noexcept {
        return Error::fixed(Status::out_of_memory, "no memory for an executor");
    }

  public:
    /// An executor with that many threads at work, the caller's among them; 0: as many as the process may use.
    /// Errors: `out_of_memory`, also where the system gives no more threads.
    [[nodiscard]] static Result<Executor> with_threads(std::size_t threads) noexcept {
        if (threads == 0) {
            cpu_set_t may_use;
            long const online = sysconf(_SC_NPROCESSORS_ONLN); // where there are more than a cpu_set_t can name
            threads = sched_getaffinity(0, sizeof may_use, &may_use) == 0
                          ? static_cast<std::size_t>(CPU_COUNT(&may_use))
                      : online > 0 ? static_cast<std::size_t>(online)
                                   : 1;
        }
        auto *const states = new (std::nothrow) StatePool;
        auto *const team = states ? new (std::nothrow) Threads(states) : nullptr;
        if (!team) {
            if (states) states->end();
            return no_memory();
        }
        std::shared_ptr<Threads> shared;
        auto const held = recover_memory(
            [&]() -> Result<void> {
                shared.reset(team); // deletes the team where it throws
                return {};
            },
            no_memory);
        if (!held) return held.error();
        if (auto done = shared->start(threads); !done) return done.error();
        return Executor(std::move(shared));
    }

    /// Threads at work in a call, the caller's among them.
    [[nodiscard]] std::size_t threads() const noexcept { return threads_->threads(); }

    /// The calls that wait for its serving thread, which starts with the first.
    [[nodiscard]] CallQueue &queue() const noexcept { return threads_->queue(); }

    /// The states of deferred calls that it keeps.
    [[nodiscard]] StatePool &states() const noexcept { return threads_->states(); }

    /// Waits for its turn, then lends the threads to one call until it ends. Not to be nested on one executor. In a
    /// forked child it lends the calling thread, with nothing that is kept: a call may have been at work at the fork.
    class Session {
        std::shared_ptr<Threads> threads_;
        std::unique_ptr<KeptState> own_;
        mutable CallerTeam caller_{own_};
        bool const is_forked_;

      public:
        explicit Session(Executor const &executor) noexcept
            : threads_(executor.threads_), is_forked_(threads_->is_forked()) {
            if (!is_forked_) threads_->lock();
        }
        Session(Session const &) = delete;
        Session &operator=(Session const &) = delete;
        ~Session() {
            if (!is_forked_) threads_->unlock();
        }
        /// Never null.
        [[nodiscard]] Team *team() const noexcept {
            if (is_forked_) return &caller_;
            return threads_.get();
        }
    };
};

} // namespace uform

#endif // UFORM_EXECUTOR_HPP
