/// Waiting by the monotonic clock: a condition, the guard of its mutex, and points of time.
#ifndef UFORM_MONOTONIC_HPP
#define UFORM_MONOTONIC_HPP

#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace uform {

/// Holds a mutex for a scope.
class MutexGuard {
    pthread_mutex_t &mutex_;

  public:
    explicit MutexGuard(pthread_mutex_t &mutex) noexcept : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
    MutexGuard(MutexGuard const &) = delete;
    MutexGuard &operator=(MutexGuard const &) = delete;
    ~MutexGuard() { pthread_mutex_unlock(&mutex_); }
};

/// Now, by the clock that nobody sets.
[[nodiscard]] inline timespec monotonic_now() noexcept {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
}
/// So much later; `nanoseconds` below a second.
[[nodiscard]] inline timespec monotonic_after(std::int64_t seconds, long nanoseconds) noexcept {
    timespec until = monotonic_now();
    until.tv_sec += seconds, until.tv_nsec += nanoseconds;
    if (until.tv_nsec >= 1'000'000'000) ++until.tv_sec, until.tv_nsec -= 1'000'000'000;
    return until;
}

/// A condition whose points of time are the monotonic clock's. It is never destroyed: glibc holds nothing for it, and
/// in a forked child the end would wait for the parent's waiters.
class MonotonicCondition {
    pthread_cond_t condition_;

  public:
    MonotonicCondition() noexcept {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&condition_, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    MonotonicCondition(MonotonicCondition const &) = delete;
    MonotonicCondition &operator=(MonotonicCondition const &) = delete;
    ~MonotonicCondition() = default;

    void wait(pthread_mutex_t &mutex) noexcept { pthread_cond_wait(&condition_, &mutex); }
    /// `false` at the point of time.
    bool wait_until(pthread_mutex_t &mutex, timespec const &until) noexcept {
        return pthread_cond_timedwait(&condition_, &mutex, &until) == 0;
    }
    void notify_one() noexcept { pthread_cond_signal(&condition_); }
    void notify_all() noexcept { pthread_cond_broadcast(&condition_); }
};

} // namespace uform

#endif // UFORM_MONOTONIC_HPP
