/// Counts what a program allocates: `AllocationCounter counter; …; counter.count()`.
///
/// Takes the place of the allocation functions of the C library, which `operator new` calls too, and of the system
/// calls that get memory. Any number of units may include it. Not under sanitizers, which have functions of their own,
/// nor on another C library than glibc: ask `AllocationCounter::works` first, and print `SKIPPED: …`.
#ifndef UFORM_TESTS_ALLOCATIONS_HPP
#define UFORM_TESTS_ALLOCATIONS_HPP

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdlib>

#include "uform/config.hpp"

/// Of the whole process, all threads together.
inline std::atomic<std::size_t> allocations_of_process{0};

/// How often the process, on whichever thread, asked for memory since this was made.
class AllocationCounter {
    std::size_t before_ = allocations_of_process.load(std::memory_order_relaxed);

  public:
#if defined(__GLIBC__) && !UFORM_ADDRESS_SANITIZER && !UFORM_THREAD_SANITIZER
    static constexpr bool works = true;
#else
    static constexpr bool works = false;
#endif
    [[nodiscard]] std::size_t count() const noexcept {
        return allocations_of_process.load(std::memory_order_relaxed) - before_;
    }
};

#if defined(__GLIBC__) && !UFORM_ADDRESS_SANITIZER && !UFORM_THREAD_SANITIZER

// glibc's own functions under their other names. Weak, so that several units may define the replacements.
extern "C" {
void *__libc_malloc(std::size_t size) noexcept;
void *__libc_calloc(std::size_t count, std::size_t size) noexcept;
void *__libc_realloc(void *old, std::size_t size) noexcept;
void *__libc_memalign(std::size_t alignment, std::size_t size) noexcept;

__attribute__((weak)) void *malloc(std::size_t size) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    return __libc_malloc(size);
}
__attribute__((weak)) void *calloc(std::size_t count, std::size_t size) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    return __libc_calloc(count, size);
}
__attribute__((weak)) void *realloc(void *old, std::size_t size) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    return __libc_realloc(old, size);
}
__attribute__((weak)) void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    return __libc_memalign(alignment, size);
}
__attribute__((weak)) void *memalign(std::size_t alignment, std::size_t size) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    return __libc_memalign(alignment, size);
}
__attribute__((weak)) int posix_memalign(void **to, std::size_t alignment, std::size_t size) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *const memory = __libc_memalign(alignment, size);
    if (!memory) return ENOMEM;
    *to = memory;
    return 0;
}
__attribute__((weak)) void *mmap(void *at, std::size_t size, int protection, int flags, int file,
                                 off_t offset) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    return reinterpret_cast<void *>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
}
__attribute__((weak)) void *mremap(void *old, std::size_t old_size, std::size_t size, int flags, ...) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    va_list arguments;
    va_start(arguments, flags);
    void *const to = flags & MREMAP_FIXED ? va_arg(arguments, void *) : nullptr;
    va_end(arguments);
    return reinterpret_cast<void *>(syscall(SYS_mremap, old, old_size, size, flags, to));
}
__attribute__((weak)) int mprotect(void *at, std::size_t size, int protection) noexcept {
    allocations_of_process.fetch_add(1, std::memory_order_relaxed);
    return static_cast<int>(syscall(SYS_mprotect, at, size, protection));
}
}

#endif
#endif // UFORM_TESTS_ALLOCATIONS_HPP
