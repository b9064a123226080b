/// Counts what a program allocates, `AllocationCounter counter; …; counter.count()`, and refuses it memory where a test
/// says so: `AllocationFaults`.
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
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "uform/config.hpp"
#if UFORM_X86
#include <mm_malloc.h> // Clang's declares posix_memalign, and must do so before it is replaced
#endif

/// Of the whole process, all threads together.
inline std::atomic<std::size_t> allocations_of_process{0};

/// Blocks that were had and not freed, and bytes that are mapped.
inline std::atomic<long> live_blocks_of_process{0};
inline std::atomic<std::int64_t> mapped_bytes_of_process{0};

/// While one lives, the process' requests for memory are counted from 0, and those from `first` on are refused: that
/// one alone, or all of them. One at a time.
class AllocationFaults {
    inline static std::atomic<long> first_{-1}, seen_{0}, refused_{0};
    inline static std::atomic<bool> all_{false};
    static constexpr long most_kinds = 256;
    inline static char kinds_[most_kinds];

  public:
    enum class Refuses { one, all_from_there_on };

    AllocationFaults(long first, Refuses refuses) noexcept {
        seen_ = 0, refused_ = 0, all_ = refuses == Refuses::all_from_there_on;
        first_ = first;
    }
    AllocationFaults(AllocationFaults const &) = delete;
    AllocationFaults &operator=(AllocationFaults const &) = delete;
    ~AllocationFaults() { first_ = -1; }

    /// Refuses nothing, and counts.
    static constexpr long none = INT32_MAX;

    [[nodiscard]] long requests() const noexcept { return seen_; }
    [[nodiscard]] long refused() const noexcept { return refused_; }
    /// A letter for each of the first requests: malloc `m`, calloc `c`, realloc `r`, aligned memory `a`, `mmap` `p`,
    /// `mremap` `s`, `mprotect` `w`. Static storage, until the next one of these is made.
    [[nodiscard]] std::string_view kinds() const noexcept {
        long const seen = seen_;
        return {kinds_, static_cast<std::size_t>(seen < most_kinds ? seen : most_kinds)};
    }

    /// For the functions that give memory: counts a request, and says whether it is granted.
    [[nodiscard]] static bool grants(char kind) noexcept {
        allocations_of_process.fetch_add(1, std::memory_order_relaxed);
        long const first = first_.load(std::memory_order_relaxed);
        if (first < 0) return true;
        long const number = seen_.fetch_add(1, std::memory_order_relaxed);
        if (number < most_kinds) kinds_[number] = kind;
        if (all_.load(std::memory_order_relaxed) ? number < first : number != first) return true;
        refused_.fetch_add(1, std::memory_order_relaxed);
        errno = ENOMEM;
        return false;
    }
};

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
void __libc_free(void *memory) noexcept;

/// Counts a block that was had.
inline void *counted_block(void *memory) noexcept {
    if (memory) live_blocks_of_process.fetch_add(1, std::memory_order_relaxed);
    return memory;
}

__attribute__((weak)) void *malloc(std::size_t size) noexcept {
    return AllocationFaults::grants('m') ? counted_block(__libc_malloc(size)) : nullptr;
}
__attribute__((weak)) void *calloc(std::size_t count, std::size_t size) noexcept {
    return AllocationFaults::grants('c') ? counted_block(__libc_calloc(count, size)) : nullptr;
}
__attribute__((weak)) void *realloc(void *old, std::size_t size) noexcept {
    if (!AllocationFaults::grants('r')) return nullptr;
    void *const memory = __libc_realloc(old, size);
    return old ? memory : counted_block(memory);
}
__attribute__((weak)) void free(void *memory) noexcept {
    if (memory) live_blocks_of_process.fetch_sub(1, std::memory_order_relaxed);
    __libc_free(memory);
}
__attribute__((weak)) void *aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    return AllocationFaults::grants('a') ? counted_block(__libc_memalign(alignment, size)) : nullptr;
}
__attribute__((weak)) void *memalign(std::size_t alignment, std::size_t size) noexcept {
    return AllocationFaults::grants('a') ? counted_block(__libc_memalign(alignment, size)) : nullptr;
}
__attribute__((weak)) int posix_memalign(void **to, std::size_t alignment, std::size_t size) noexcept {
    bool const granted = AllocationFaults::grants('a');
    if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
    void *const memory = granted ? counted_block(__libc_memalign(alignment, size)) : nullptr;
    if (!memory) return ENOMEM;
    *to = memory;
    return 0;
}
__attribute__((weak)) void *mmap(void *at, std::size_t size, int protection, int flags, int file,
                                 off_t offset) noexcept {
    if (!AllocationFaults::grants('p')) return MAP_FAILED;
    void *const pages = reinterpret_cast<void *>(syscall(SYS_mmap, at, size, protection, flags, file, offset));
    if (pages != MAP_FAILED)
        mapped_bytes_of_process.fetch_add(static_cast<std::int64_t>(size), std::memory_order_relaxed);
    return pages;
}
__attribute__((weak)) int munmap(void *at, std::size_t size) noexcept {
    int const failed = static_cast<int>(syscall(SYS_munmap, at, size));
    if (!failed) mapped_bytes_of_process.fetch_sub(static_cast<std::int64_t>(size), std::memory_order_relaxed);
    return failed;
}
__attribute__((weak)) void *mremap(void *old, std::size_t old_size, std::size_t size, int flags, ...) noexcept {
    if (!AllocationFaults::grants('s')) return MAP_FAILED;
    va_list arguments;
    va_start(arguments, flags);
    void *const to = flags & MREMAP_FIXED ? va_arg(arguments, void *) : nullptr;
    va_end(arguments);
    void *const pages = reinterpret_cast<void *>(syscall(SYS_mremap, old, old_size, size, flags, to));
    if (pages != MAP_FAILED)
        mapped_bytes_of_process.fetch_add(static_cast<std::int64_t>(size) - static_cast<std::int64_t>(old_size),
                                          std::memory_order_relaxed);
    return pages;
}
__attribute__((weak)) int mprotect(void *at, std::size_t size, int protection) noexcept {
    return AllocationFaults::grants('w') ? static_cast<int>(syscall(SYS_mprotect, at, size, protection)) : -1;
}
}

#endif
#endif // UFORM_TESTS_ALLOCATIONS_HPP
