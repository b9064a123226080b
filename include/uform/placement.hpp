/// Where the bytes behind a pointer can be used, asked of the CUDA driver if this process has loaded it.
#ifndef UFORM_PLACEMENT_HPP
#define UFORM_PLACEMENT_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <dlfcn.h>
#include <link.h> // dl_iterate_phdr
#include <sys/types.h>
#include <unistd.h>

namespace uform {

/// Who may use the bytes behind a pointer. Both may: pinned, registered and managed memory.
struct Placement {
    bool host_accessible = true;
    bool device_accessible = false;
    bool unknown = false;             ///< the driver couldn't tell; the bytes are taken for the host's
    std::int32_t ordinal = -1;        ///< of the device that may use them; −1 where none may
    std::uintptr_t first = 0;         ///< where the allocation around the pointer starts; 0 where the driver knows none
    std::size_t allocation_bytes = 0; ///< and its size, as it was asked for; 0 where the driver knows none

    bool operator==(Placement const &) const = default;
};

/// What placement asks the driver for, and what it can answer (`CUpointer_attribute`, `CUmemorytype`, `CUresult`).
struct PointerAnswers {
    static constexpr int memory_type = 2, is_managed = 8, device_ordinal = 9, range_start = 11, range_size = 12;
    static constexpr unsigned type_of_device = 2;
    static constexpr int success = 0;
    static constexpr int not_initialized = 3; ///< the driver is loaded, but nobody has started CUDA
    static constexpr int deinitialized = 4;   ///< the process is ending
    static constexpr int stub_library = 34;   ///< the toolkit's stand-in for a driver
};
/// `cuPointerGetAttributes`: how many, which, where each answer goes, the pointer.
using PointerQuery = int (*)(unsigned, int *, void **, std::uint64_t);

/// The driver's query, or null as long as nothing in this process has loaded the driver.
///
/// Looks again only after some library was loaded: asking the loader for one that isn't there searches the disk (20 µs
/// on a 2-core virtual machine), while its own count of loads costs 11 ns there; a forked child asks each time.
/// Threads: any.
[[nodiscard]] inline PointerQuery loaded_pointer_query() noexcept {
    static std::atomic<PointerQuery> found{nullptr};
    static std::atomic<unsigned long long> looked_at{0};
    static std::atomic<pid_t> process{0}; // that looked first
    if (PointerQuery const query = found.load(std::memory_order_acquire)) return query;
    pid_t const now = ::getpid();
    pid_t first = 0;
    bool const is_forked = !process.compare_exchange_strong(first, now, std::memory_order_relaxed) && first != now;
    unsigned long long loads = 0; // read before looking: a load in between is looked for next time
    if (!is_forked) {             // in a child the lock of the count may have been held by a thread that is gone
        ::dl_iterate_phdr(
            [](::dl_phdr_info *about, std::size_t, void *answer) {
                *static_cast<unsigned long long *>(answer) = about->dlpi_adds;
                return 1;
            },
            &loads);
        if (loads == looked_at.load(std::memory_order_relaxed)) return nullptr;
    }
    PointerQuery query = nullptr;
    if (void *const library = ::dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY)) { // kept: a driver is never unloaded
        query = reinterpret_cast<PointerQuery>(::dlsym(library, "cuPointerGetAttributes"));
        if (!query) ::dlclose(library);
    }
    if (query) found.store(query, std::memory_order_release);
    else if (!is_forked) looked_at.store(loads, std::memory_order_relaxed);
    return query;
}

/// Where the bytes behind a pointer can be used: one question to the driver, and none where no driver is loaded.
///
/// Never loads or starts CUDA: a process without it has no device pointers. A pointer that the driver doesn't know is
/// the host's, also one into device memory that was freed. Errors: none, see `Placement::unknown`.
/// Memory  allocates nothing of its own. Threads: any; no context need be current.
[[nodiscard]] inline Placement classify(void const *pointer) noexcept {
    Placement placement;
    PointerQuery const ask = loaded_pointer_query();
    if (!ask || !pointer) return placement;

    using Answers = PointerAnswers;
    unsigned type = 0, managed = 0; // the driver fills in one byte of `managed`
    std::int32_t ordinal = -1;
    std::uint64_t first = 0;
    std::size_t bytes = 0;
    int names[] = {Answers::memory_type, Answers::is_managed, Answers::device_ordinal, Answers::range_start,
                   Answers::range_size};
    void *values[] = {&type, &managed, &ordinal, &first, &bytes};
    switch (ask(5, names, values, reinterpret_cast<std::uintptr_t>(pointer))) {
    case Answers::success: break;
    case Answers::not_initialized:
    case Answers::deinitialized:
    case Answers::stub_library: return placement;
    default: placement.unknown = true; return placement;
    }
    if (type == 0) return placement;
    placement.device_accessible = true;
    placement.host_accessible = type != Answers::type_of_device || managed;
    placement.ordinal = ordinal;
    placement.first = static_cast<std::uintptr_t>(first);
    placement.allocation_bytes = bytes;
    return placement;
}

} // namespace uform

#endif // UFORM_PLACEMENT_HPP
