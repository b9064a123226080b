/// Which process made something: in a forked child no thread of its parent's goes on, and no lock is given back.
#ifndef UFORM_PROCESS_MARK_HPP
#define UFORM_PROCESS_MARK_HPP

#include <sys/types.h>
#include <unistd.h>

namespace uform {

/// Remembers the process that made it. Plain data: a copy remembers the same.
class ProcessMark {
    pid_t made_in_;

  public:
    ProcessMark() noexcept : made_in_(getpid()) {}
    /// Whether this is another process: a child that was forked since. Costs a system call.
    [[nodiscard]] bool is_forked() const noexcept { return made_in_ != getpid(); }
};

} // namespace uform

#endif // UFORM_PROCESS_MARK_HPP
