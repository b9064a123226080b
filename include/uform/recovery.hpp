/// Turns the exception of an allocation that failed into an error, where there are exceptions.
#ifndef UFORM_RECOVERY_HPP
#define UFORM_RECOVERY_HPP

#include <new>

#include "uform/config.hpp"
#include "uform/status.hpp"

namespace uform {

/// Answers what `body()` answers, a `Result`, or the `Error` that `refusal()` makes if it throws `std::bad_alloc`.
/// Other exceptions pass. Without exceptions a failed allocation ends the program, as the standard library has it.
///
/// Always inlined: a unit with exceptions and one without may meet in a program, and each keeps its own.
template <class Body, class Refusal>
[[nodiscard]] UFORM_ALWAYS_INLINE auto recover_memory(Body const &body, Refusal const &refusal) -> decltype(body()) {
#if UFORM_EXCEPTIONS
    try {
        return body();
    } catch (std::bad_alloc const &) {
        return refusal();
    }
#else
    (void)refusal;
    return body();
#endif
}

} // namespace uform

#endif // UFORM_RECOVERY_HPP
