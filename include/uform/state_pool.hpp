/// States of calls that are kept for the next ones, so that a steady loop of calls in flight allocates nothing.
#ifndef UFORM_STATE_POOL_HPP
#define UFORM_STATE_POOL_HPP

#include <pthread.h>

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

namespace uform {

class StatePool;

/// What a pool lends. The pool lives at least as long as what it has lent.
class PooledState {
    PooledState *next_ = nullptr;
    StatePool *pool_ = nullptr;
    void const *kind_ = nullptr;

    friend class StatePool;

  public:
    PooledState() noexcept = default;
    PooledState(PooledState const &) = delete;
    PooledState &operator=(PooledState const &) = delete;
    virtual ~PooledState() = default;

    /// Back to the pool, or deleted where its owner has gone. Threads: any, once a loan.
    inline void put_back() noexcept;
};

/// Lends states of several kinds. Counted: by its owner, and by every state that is lent.
class StatePool {
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    PooledState *idle_ = nullptr; // the last one put back first: its buffers are in the cache
    bool has_owner_ = true;
    std::atomic<std::size_t> references_{1};
    std::atomic<std::size_t> most_bytes_{0}, most_texts_{0};

    friend class PooledState;

    template <class State> inline static char const kind = 0;

    ~StatePool() = default;
    static void raise(std::atomic<std::size_t> &most, std::size_t size) noexcept {
        std::size_t now = most.load(std::memory_order_relaxed);
        while (now < size && !most.compare_exchange_weak(now, size, std::memory_order_relaxed)) {
        }
    }
    void release() noexcept {
        if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }

  public:
    StatePool() noexcept = default;
    StatePool(StatePool const &) = delete;
    StatePool &operator=(StatePool const &) = delete;

    /// A state that was put back, or a new one; null where there is no memory. Threads: any.
    template <class State> [[nodiscard]] State *lend() noexcept {
        PooledState *state = nullptr;
        pthread_mutex_lock(&mutex_);
        for (PooledState **at = &idle_; *at; at = &(*at)->next_) {
            if ((*at)->kind_ != &kind<State>) continue;
            state = std::exchange(*at, (*at)->next_);
            break;
        }
        pthread_mutex_unlock(&mutex_);
        if (!state) {
            state = new (std::nothrow) State;
            if (!state) return nullptr;
            state->pool_ = this, state->kind_ = &kind<State>;
        }
        references_.fetch_add(1, std::memory_order_relaxed);
        return static_cast<State *>(state);
    }
    /// The largest inputs that any state has held: each makes room for as much, so that a later call allocates nothing,
    /// whichever it gets. Threads: any.
    [[nodiscard]] std::size_t most_bytes() const noexcept { return most_bytes_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::size_t most_texts() const noexcept { return most_texts_.load(std::memory_order_relaxed); }
    void note_held(std::size_t bytes, std::size_t texts) noexcept {
        raise(most_bytes_, bytes), raise(most_texts_, texts);
    }
    /// The owner goes: what is idle is deleted, and what comes back too. Not in a forked child: a thread of the
    /// parent's may have had the mutex.
    void end() noexcept {
        pthread_mutex_lock(&mutex_);
        PooledState *state = std::exchange(idle_, nullptr);
        has_owner_ = false;
        pthread_mutex_unlock(&mutex_);
        while (state) delete std::exchange(state, state->next_);
        release();
    }
};

inline void PooledState::put_back() noexcept {
    StatePool &pool = *pool_;
    pthread_mutex_lock(&pool.mutex_);
    bool const kept = pool.has_owner_;
    if (kept) next_ = pool.idle_, pool.idle_ = this;
    pthread_mutex_unlock(&pool.mutex_);
    if (!kept) delete this;
    pool.release();
}

} // namespace uform

#endif // UFORM_STATE_POOL_HPP
