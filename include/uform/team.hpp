/// The threads that serve one call, and what they keep between calls.
#ifndef UFORM_TEAM_HPP
#define UFORM_TEAM_HPP

#include <cstddef>
#include <memory>

namespace uform {

/// Something that an executor keeps between calls, such as a workspace. Made by the first call that needs it.
struct KeptState {
    KeptState() noexcept = default;
    KeptState(KeptState const &) = delete;
    virtual ~KeptState() = default;
};

/// One call at work: it may run tasks on the threads of its team, and use what the team keeps. Not copyable.
class Team {
  public:
    /// A task's body: task numbers rise from 0, workers are numbered below `threads()`, the caller is worker 0.
    using Task = void (*)(void *context, std::size_t task, std::size_t worker) noexcept;

    Team(Team const &) = delete;
    Team &operator=(Team const &) = delete;

    [[nodiscard]] virtual std::size_t threads() const noexcept = 0;
    /// Runs `count` tasks, each once, and returns when all are done. The order and the worker of a task may differ from
    /// call to call. What the caller wrote before is seen by the tasks, and what they wrote is seen by the caller.
    virtual void run(std::size_t count, Task task, void *context) noexcept = 0;
    /// The state that is kept between calls; null until a call made one.
    [[nodiscard]] virtual std::unique_ptr<KeptState> &kept() noexcept = 0;

  protected:
    Team() noexcept = default;
    ~Team() = default;
};

/// The calling thread alone, with state that lives elsewhere.
class CallerTeam final : public Team {
    std::unique_ptr<KeptState> &kept_;

  public:
    explicit CallerTeam(std::unique_ptr<KeptState> &kept) noexcept : kept_(kept) {}
    [[nodiscard]] std::size_t threads() const noexcept override { return 1; }
    void run(std::size_t count, Task task, void *context) noexcept override {
        for (std::size_t i = 0; i != count; ++i) task(context, i, 0);
    }
    [[nodiscard]] std::unique_ptr<KeptState> &kept() noexcept override { return kept_; }
};

} // namespace uform

#endif // UFORM_TEAM_HPP
