/// What a thread that serves queued calls does while it waits: it goes on serving them, so that it never waits for
/// itself.
#ifndef UFORM_SERVING_THREAD_HPP
#define UFORM_SERVING_THREAD_HPP

#include <memory> // std::addressof

#include "uform/process_mark.hpp"

namespace uform {

/// The calling thread, where it is an executor's own. Whatever waits in the library asks for it first.
class ServingThread {
  public:
    using Question = bool (*)(void *context) noexcept;

    ServingThread() noexcept = default;
    ServingThread(ServingThread const &) = delete;
    ServingThread &operator=(ServingThread const &) = delete;

    /// Null on every thread that isn't an executor's, and in a forked child, where the queue is the parent's.
    [[nodiscard]] static ServingThread *current() noexcept {
        return current_ && !current_->is_forked() ? current_ : nullptr;
    }

    /// Runs queued calls until the question is answered with yes. `awaited` says what for: a call of the queue that is
    /// it, or that fills it, is run first. The question may be asked at any time, but on this thread alone.
    template <class Condition> void serve_until(Condition condition, void const *awaited) noexcept {
        serve([](void *given) noexcept { return (*static_cast<Condition *>(given))(); }, std::addressof(condition),
              awaited);
    }

    [[nodiscard]] bool is_forked() const noexcept { return process_.is_forked(); }
    /// Makes it ask its question again. From any thread, while it waits.
    virtual void wake() noexcept = 0;

  private:
    ProcessMark const process_;

  protected:
    ~ServingThread() = default;
    virtual void serve(Question question, void *context, void const *awaited) noexcept = 0;

    inline static thread_local ServingThread *current_ = nullptr;
};

} // namespace uform

#endif // UFORM_SERVING_THREAD_HPP
