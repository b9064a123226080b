/// Counts what the program's own code allocates, the library's headers with it, or refuses it: not what the fake driver
/// or the C++ library in the same process allocate. `OwnAllocations own; …; own.count()`.
///
/// Takes the place of the C library's allocation functions and of `operator new`, and asks where it was called from.
/// In place of allocations.hpp; any number of units may include it. Not under sanitizers, nor on another C library than
/// glibc: ask `OwnAllocations::works` first.
#ifndef UFORM_TESTS_CUDA_OWN_ALLOCATIONS_HPP
#define UFORM_TESTS_CUDA_OWN_ALLOCATIONS_HPP

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "uform/config.hpp"

/// Of the whole process, all threads together.
inline std::atomic<long> own_allocations{0};
/// How many more are granted on this thread; negative: as many as it likes.
inline thread_local long own_allocations_left = -1;
/// Whether those after the first refused one are refused too.
inline thread_local bool own_allocations_end = false;

class OwnAllocations {
    long before_ = own_allocations.load(std::memory_order_relaxed);

  public:
#if defined(__GLIBC__) && !UFORM_ADDRESS_SANITIZER && !UFORM_THREAD_SANITIZER
    static constexpr bool works = true;
#else
    static constexpr bool works = false;
#endif
    [[nodiscard]] long count() const noexcept { return own_allocations.load(std::memory_order_relaxed) - before_; }

    /// Runs `call` with so many blocks, then one is refused, or all from there on. Answers whether any was.
    template <class Call> static bool refuse_after(long blocks, bool all, Call call) {
        own_allocations_end = all, own_allocations_left = blocks;
        call();
        bool const refused = all ? own_allocations_left == 0 : own_allocations_left < 0;
        own_allocations_left = -1;
        return refused;
    }
};

#if defined(__GLIBC__) && !UFORM_ADDRESS_SANITIZER && !UFORM_THREAD_SANITIZER

extern "C" {
extern char const __executable_start, etext;
void *__libc_malloc(std::size_t size) noexcept;
void *__libc_calloc(std::size_t count, std::size_t size) noexcept;
void *__libc_memalign(std::size_t alignment, std::size_t size) noexcept;
}

// Weak, so that several units may define the replacements; not inlined, so that each knows its caller.

/// Whether the caller's allocation is granted.
inline bool is_granted(void const *caller) noexcept {
    if (caller < &__executable_start || caller >= &etext) return true;
    own_allocations.fetch_add(1, std::memory_order_relaxed);
    if (own_allocations_left < 0) return true;
    if (own_allocations_left > 0) return --own_allocations_left, true;
    if (!own_allocations_end) own_allocations_left = -1;
    return false;
}

extern "C" {
__attribute__((weak, noinline)) void *malloc(std::size_t size) noexcept {
    if (is_granted(__builtin_return_address(0))) return __libc_malloc(size);
    return errno = ENOMEM, nullptr;
}
__attribute__((weak, noinline)) void *calloc(std::size_t count, std::size_t size) noexcept {
    if (is_granted(__builtin_return_address(0))) return __libc_calloc(count, size);
    return errno = ENOMEM, nullptr;
}
__attribute__((weak, noinline)) void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    if (is_granted(__builtin_return_address(0))) return __libc_memalign(alignment, size);
    return errno = ENOMEM, nullptr;
}
__attribute__((weak, noinline)) void *mmap(void *at, std::size_t size, int protection, int flags, int file,
                                           off_t offset) noexcept {
    if (is_granted(__builtin_return_address(0)))
        return reinterpret_cast<void *>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
    return errno = ENOMEM, MAP_FAILED;
}
__attribute__((weak, noinline)) int mprotect(void *at, std::size_t size, int protection) noexcept {
    if (is_granted(__builtin_return_address(0))) return static_cast<int>(syscall(SYS_mprotect, at, size, protection));
    return errno = ENOMEM, -1;
}
}
__attribute__((weak, noinline)) void *operator new(std::size_t size) {
    void *const memory = is_granted(__builtin_return_address(0)) ? __libc_malloc(size ? size : 1) : nullptr;
    if (!memory) throw std::bad_alloc();
    return memory;
}
__attribute__((weak, noinline)) void *operator new(std::size_t size, std::nothrow_t const &) noexcept {
    return is_granted(__builtin_return_address(0)) ? __libc_malloc(size ? size : 1) : nullptr;
}
__attribute__((weak, noinline)) void operator delete(void *memory) noexcept { std::free(memory); }
__attribute__((weak, noinline)) void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

#endif
#endif // UFORM_TESTS_CUDA_OWN_ALLOCATIONS_HPP
