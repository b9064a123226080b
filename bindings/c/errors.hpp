/// How the C interface says what went wrong: a status, and a text of the calling thread.
#ifndef UFORM_BINDINGS_C_ERRORS_HPP
#define UFORM_BINDINGS_C_ERRORS_HPP

#include "uform.h"

#include <pthread.h>

#include <cstddef>
#include <new>
#include <stdexcept> // std::length_error
#include <utility>

#include "uform/config.hpp"
#include "uform/status.hpp"

namespace uform::c_abi {

/// The error whose text the thread may still read. Its end is a key's and not `thread_local`'s own, whose first use
/// aborts the process where memory has run out.
class LastError {
    struct Kept {
        alignas(Error) std::byte bytes[sizeof(Error)];
        bool is_there;

        void drop() noexcept {
            if (std::exchange(is_there, false)) std::launder(reinterpret_cast<Error *>(bytes))->~Error();
        }
    };
    struct Key {
        pthread_key_t key{};
        bool is_there = false;

        Key() noexcept {
            is_there = pthread_key_create(&key, [](void *kept) { static_cast<Kept *>(kept)->drop(); }) == 0;
        }
        ~Key() {
            if (is_there) pthread_key_delete(key);
        }
    };

  public:
    /// Keeps a copy to the thread's next error, and answers its text.
    [[nodiscard]] static char const *keep(Error const &error) noexcept {
        static Key const key;
        static thread_local constinit Kept kept{};
        kept.drop();
        Error const *const copy = ::new (static_cast<void *>(kept.bytes)) Error(error);
        kept.is_there = true;
        if (key.is_there) (void)pthread_setspecific(key.key, &kept);
        return copy->what();
    }
};

inline uform_status_t refuse(Error const &error, char const **message) noexcept {
    // Texts of `contended` are literals: nothing to keep.
    if (message) *message = error.status() == Status::contended ? error.what() : LastError::keep(error);
    return static_cast<uform_status_t>(error.status());
}
/// With a text of static storage.
inline uform_status_t refuse(Status status, char const *text, char const **message) noexcept {
    if (message) *message = text;
    return static_cast<uform_status_t>(status);
}
inline uform_status_t bad(char const *text, char const **message) noexcept {
    return refuse(Status::invalid_argument, text, message);
}
inline uform_status_t no_memory(char const **message) noexcept {
    return refuse(Status::out_of_memory, "no memory for a handle", message);
}
inline uform_status_t succeed(char const **message) noexcept {
    if (message) *message = nullptr;
    return uform_status_success_k;
}
template <class T> uform_status_t answer(Result<T> const &result, char const **message) noexcept {
    return result ? succeed(message) : refuse(result.error(), message);
}

/// Calls what may throw.
template <class Call> uform_status_t guarded(char const **message, Call const &call) noexcept {
#if UFORM_EXCEPTIONS
    try {
        return call();
    } catch (std::bad_alloc const &) {
        return refuse(Status::out_of_memory, "no memory was left", message);
    } catch (std::length_error const &) {
        return refuse(Status::out_of_memory, "a size is more than can be addressed", message);
    } catch (...) {
        return refuse(Status::unsupported, "an exception that the library doesn't know", message);
    }
#else
    (void)message;
    return call();
#endif
}

} // namespace uform::c_abi

#endif // UFORM_BINDINGS_C_ERRORS_HPP
