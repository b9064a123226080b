/// What stands where the driver's kernel handle would in tests: a host function that runs in a stream's order.
#ifndef UFORM_TESTS_CUDA_FAKE_HOST_KERNEL_HPP
#define UFORM_TESTS_CUDA_FAKE_HOST_KERNEL_HPP

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "uform/cuda/driver.hpp"

namespace fake_driver {

/// What a kernel does through a parameter. A pointer inside a structure (a `value`) counts as written through.
enum class ParameterKind : std::uint8_t { value, reads, writes };

/// How a launch was asked for.
struct LaunchShape {
    unsigned grid[3], block[3], shared_bytes;
};

/// A kernel of the host's. The fake's `cuLaunchKernel` takes the address of one; it has to outlive the launch.
///
/// As the driver does, a launch copies the parameters. Each aligned word in them that is an address of device memory is
/// moved to the fake's writable mapping of the same bytes, so pointers travel as parameters only: an address that a
/// kernel reads out of memory would trap. `run` is called once a launch, on the stream's own thread; it may call no
/// function of the driver's. What a pointer is used for is known from its kind, how far from nothing: to the end of its
/// allocation.
struct HostKernel {
    static constexpr std::uint64_t right_mark = 0x4c454e52454b5455;
    std::uint64_t mark = right_mark;
    char const *name;
    unsigned parameter_count;
    std::uint32_t const *parameter_bytes;
    ParameterKind const *parameter_kinds;
    void (*run)(HostKernel const *, LaunchShape const &, void **parameters);

    /// What `Driver::launch` takes.
    [[nodiscard]] uform::cuda::Function handle() const noexcept {
        return reinterpret_cast<uform::cuda::Function>(const_cast<HostKernel *>(this));
    }
};

template <class T>
inline constexpr ParameterKind kind_of = !std::is_pointer_v<T>                       ? ParameterKind::value
                                         : std::is_const_v<std::remove_pointer_t<T>> ? ParameterKind::reads
                                                                                     : ParameterKind::writes;

/// The kernel that a function is: `HostKernelOf<&scale>::named("scale")` of
/// `void scale(LaunchShape const &, float const *from, float *to, unsigned count)`. Parameters as a launch passes them.
template <auto function> struct HostKernelOf;
template <class... Parameters, void (*function)(LaunchShape const &, Parameters...)> struct HostKernelOf<function> {
    static constexpr std::uint32_t bytes[] = {sizeof(Parameters)..., 0};
    static constexpr ParameterKind kinds[] = {kind_of<Parameters>..., ParameterKind::value};

    template <std::size_t... index>
    static void call(LaunchShape const &shape, void **parameters, std::index_sequence<index...>) {
        function(shape, *static_cast<Parameters *>(parameters[index])...);
    }
    static void run(HostKernel const *, LaunchShape const &shape, void **parameters) {
        call(shape, parameters, std::index_sequence_for<Parameters...>());
    }
    [[nodiscard]] static constexpr HostKernel named(char const *name) noexcept {
        return {HostKernel::right_mark, name, sizeof...(Parameters), bytes, kinds, &run};
    }
};

} // namespace fake_driver

#endif // UFORM_TESTS_CUDA_FAKE_HOST_KERNEL_HPP
