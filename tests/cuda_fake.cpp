/// The fake driver's own behaviour, and each of its checks seen to fire.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "catch.hpp"
#include "child_process.hpp"
#include "cuda/fake/fixture.hpp"
#include "skip.hpp"
#include "uform/config.hpp"
#include "uform/cuda/driver.hpp"
#include "uform/placement.hpp"

using fake_driver::StartedDevice, fake_driver::Fake, fake_driver::has, fake_driver::HostKernel,
    fake_driver::HostKernelOf, fake_driver::LaunchShape, fake_driver::Live, fake_driver::Mode, fake_driver::Pinned,
    fake_driver::Registered;
using uform::classify, uform::Placement;
using uform::cuda::Code, uform::cuda::Context, uform::cuda::CurrentContext, uform::cuda::Device,
    uform::cuda::DeviceAttribute, uform::cuda::DevicePointer, uform::cuda::Driver, uform::cuda::Event,
    uform::cuda::EventFlags, uform::cuda::EventWaitFlags, uform::cuda::FunctionAttribute,
    uform::cuda::HostAllocationFlags, uform::cuda::Pool, uform::cuda::PoolAttribute, uform::cuda::PoolProperties,
    uform::cuda::Stream, uform::cuda::StreamFlags;

namespace {

struct Factors {
    float by, plus;
};
void scale(LaunchShape const &shape, float const *from, float *to, unsigned count, Factors factors) {
    for (unsigned i = 0; i < count; ++i) to[i] = from[i] * factors.by + factors.plus + float(shape.grid[0]);
}
void read_one(LaunchShape const &, float const *from) { static_cast<void>(*static_cast<float const volatile *>(from)); }
void write_one(LaunchShape const &, float *to) { *to = 1; }
void write_at(LaunchShape const &, unsigned char *to, std::uint64_t index) { to[index] = 1; }
struct Inside {
    std::uint32_t count;
    float *to;
};
void write_inside(LaunchShape const &, Inside where) {
    for (std::uint32_t i = 0; i < where.count; ++i) where.to[i] = float(i);
}
Driver const *called_from_kernel = nullptr;
void call_the_driver(LaunchShape const &) {
    int count = 0;
    static_cast<void>(called_from_kernel->device_count(&count));
}
HostKernel const scale_kernel = HostKernelOf<&scale>::named("scale");
HostKernel const read_kernel = HostKernelOf<&read_one>::named("read_one");
HostKernel const write_kernel = HostKernelOf<&write_one>::named("write_one");
HostKernel const write_at_kernel = HostKernelOf<&write_at>::named("write_at");
HostKernel const write_inside_kernel = HostKernelOf<&write_inside>::named("write_inside");
HostKernel const calling_kernel = HostKernelOf<&call_the_driver>::named("call_the_driver");

void *expected_fault = nullptr;
/// Where `touch` faults in a child: "here" if at `at`, "elsewhere", or "" if it doesn't.
template <class Touch> std::string fault_of(void *at, Touch touch) {
    return in_child([&] {
               expected_fault = at;
               struct sigaction action = {};
               action.sa_flags = SA_SIGINFO;
               action.sa_sigaction = [](int, siginfo_t *about, void *) {
                   bool const here = about->si_addr == expected_fault;
                   _exit(write(1, here ? "here" : "elsewhere", here ? 4 : 9) < 0);
               };
               sigaction(SIGSEGV, &action, nullptr);
               touch();
               return 0;
           })
        .output;
}

} // namespace

TEST_CASE("the fake: the host's read or write of device memory faults at the byte", "[cuda][fake]") {
    Fake const fake;
    StartedDevice const device(fake);
    DevicePointer const address = device.allocate(100);
    device.synchronize();
    auto *const at = reinterpret_cast<unsigned char *>(address);
    CHECK(fault_of(at + 17, [&] { static_cast<void>(static_cast<unsigned char volatile *>(at)[17]); }) == "here");
    CHECK(fault_of(at + 99, [&] { static_cast<unsigned char volatile *>(at)[99] = 1; }) == "here");
    CHECK(fault_of(at + 17, [&] { static_cast<unsigned char volatile *>(at)[18] = 1; }) == "elsewhere");
    CHECK(fault_of(at, [&] { static_cast<unsigned char volatile *>(fake->look(address))[17] = 1; }) == "");
    device.free(address);
}

TEST_CASE("the fake: copies, fills and kernels run in their stream's order, in every mode", "[cuda][fake]") {
    Fake const fake;
    for (Mode const mode : {Mode::eager, Mode::slow, Mode::lazy}) {
        fake->set_mode(mode, 200);
        StartedDevice const device(fake);
        Driver const &driver = device.driver;
        constexpr unsigned count = 1000;
        Pinned<float> in(driver, count), out(driver, count);
        for (unsigned i = 0; i < count; ++i) in.values[i] = float(i);
        DevicePointer const a = device.allocate(count * 4), b = device.allocate(count * 4),
                            c = device.allocate(count * 4);
        CHECK(driver.copy_in(a, in.values, count * 4, device.first) == Code::success);
        device.join();
        unsigned n = count;
        Factors factors{2, 0.5f};
        DevicePointer from = a, to = b;
        void *parameters[] = {&from, &to, &n, &factors};
        CHECK(device.launch(scale_kernel, parameters, device.second) == Code::success);
        from = to = 0, n = 0, factors = {}; // the launch has its copy
        CHECK(driver.copy_within(c, b, count * 4, device.second) == Code::success);
        CHECK(driver.fill(c + 4, 0, 8, device.second) == Code::success);
        CHECK(driver.copy_out(out.values, c, count * 4, device.second) == Code::success);
        if (mode == Mode::lazy) {
            std::this_thread::yield();
            CHECK(out.values[0] != 2.5f); // nothing has run yet
        }
        CHECK(driver.event_record(device.event, device.second) == Code::success);
        if (mode == Mode::slow) CHECK(driver.event_query(device.event) == Code::not_ready);
        CHECK(driver.event_synchronize(device.event) == Code::success);
        CHECK(driver.event_query(device.event) == Code::success);
        unsigned wrong = 0;
        for (unsigned i = 0; i < count; ++i)
            wrong += out.values[i] != (i == 1 || i == 2 ? 0.0f : float(i) * 2 + 0.5f + 2);
        CHECK(wrong == 0);
        Inside inside{3, reinterpret_cast<float *>(a)};
        void *structure[] = {&inside};
        CHECK(device.launch(write_inside_kernel, structure, device.first) == Code::success);
        device.synchronize();
        CHECK(static_cast<float *>(fake->look(a))[2] == 2.0f);
        device.free(a), device.free(b), device.free(c);
        device.synchronize();
    }
    CHECK(fake.complaint() == "");
    CHECK(fake->live() == Live{});
}

TEST_CASE("the fake: lazy work runs when an event is asked for", "[cuda][fake]") {
    Fake const fake;
    fake->set_mode(Mode::lazy, 0);
    StartedDevice const device(fake);
    DevicePointer const address = device.allocate(16);
    CHECK(device.driver.fill(address, 7, 16, device.first) == Code::success);
    CHECK(device.driver.event_record(device.event, device.first) == Code::success);
    CHECK(static_cast<unsigned char *>(fake->look(address))[15] != 7);
    while (device.driver.event_query(device.event) == Code::not_ready) std::this_thread::yield();
    CHECK(static_cast<unsigned char *>(fake->look(address))[15] == 7);
    device.free(address);
    CHECK(fake.complaint() == "");
}

TEST_CASE("the fake: fresh and freed memory is 0xFF, reused at once where that is ordered", "[cuda][fake]") {
    Fake const fake;
    StartedDevice const device(fake);
    auto const all_are = [&](DevicePointer address, std::size_t bytes, unsigned char value) {
        auto const *const at = static_cast<unsigned char const *>(fake->look(address));
        REQUIRE(at);
        for (std::size_t i = 0; i < bytes; ++i)
            if (at[i] != value) return false;
        return true;
    };
    DevicePointer const one = device.allocate(5000);
    device.synchronize();
    CHECK(all_are(one, 5000, 0xFF));
    CHECK(device.driver.fill(one, 0, 5000, device.first) == Code::success);
    device.synchronize();
    CHECK(all_are(one, 5000, 0));
    device.free(one);
    CHECK(fake->look(one) == nullptr);
    DevicePointer const elsewhere = device.allocate(5000, device.second);
    CHECK(elsewhere != one); // the second stream isn't ordered after the free
    DevicePointer const again = device.allocate(4000);
    CHECK(again == one);
    device.synchronize();
    CHECK(all_are(again, 4000, 0xFF));
    device.free(again), device.free(elsewhere, device.second);
    device.join();
    DevicePointer const ordered = device.allocate(4000, device.second);
    CHECK(ordered == one);
#if !UFORM_ADDRESS_SANITIZER // there a look at freed memory ends the program
    auto const *const stale = static_cast<unsigned char const *>(fake->look(ordered));
    CHECK(device.driver.fill(ordered, 0, 4000, device.second) == Code::success);
    device.synchronize();
    CHECK(stale[3999] == 0);
    device.free(ordered, device.second);
    device.synchronize();
    CHECK(stale[0] == 0xFF);
    CHECK(stale[3999] == 0xFF);
#else
    device.free(ordered, device.second);
#endif
    CHECK(fake.complaint() == "");

    fake->set_memory_limit(10000);
    DevicePointer const most = device.allocate(10000);
    DevicePointer none = 1;
    CHECK(device.driver.allocate(&none, 1, device.pool, device.first) == Code::out_of_memory);
    CHECK(device.driver.allocate(&none, 0, device.pool, device.first) == Code::invalid_value);
    CHECK(none == 1);
    device.free(most);
    device.free(device.allocate(10000));
}

TEST_CASE("the fake: what is alive is counted", "[cuda][fake]") {
    Fake const fake;
    CHECK(fake->live() == Live{});
    {
        StartedDevice const device(fake);
        Pinned<char> const pinned(device.driver, 77);
        DevicePointer const one = device.allocate(10), two = device.allocate(20);
        Live live{};
        live.allocations = 2, live.bytes = 30, live.host_allocations = 1, live.host_bytes = 77;
        live.streams = 2, live.events = 1, live.pools = 1, live.contexts = 1;
        CHECK(fake->live() == live);
        device.free(one), device.free(two);
    }
    CHECK(fake->live() == Live{});
    CHECK(fake->calls("cuMemAllocFromPoolAsync") == 2);
    CHECK(fake->calls("cuMemFreeAsync") == 2);
    CHECK(fake->calls("cuMemHostAlloc") == 1);
    CHECK(fake.complaint() == "");
    fake->calls("cuMemAlloc"); // a test that asks for what isn't there is told
    CHECK(has(fake.complaint(), "cuMemAlloc, which isn't in the table"));
}

TEST_CASE("the fake: uses out of order are violations, those in order aren't", "[cuda][fake]") {
    Fake const fake;
    for (Mode const mode : {Mode::eager, Mode::lazy}) {
        fake->set_mode(mode, 0);
        StartedDevice const device(fake);
        Driver const &driver = device.driver;
        Pinned<float> to(driver, 16);
        DevicePointer address = device.allocate(64);
        void *parameters[] = {&address};
        auto const read_on = [&](Stream stream) {
            CHECK(device.launch(read_kernel, parameters, stream) == Code::success);
        };
        auto const write_on = [&](Stream stream) {
            CHECK(device.launch(write_kernel, parameters, stream) == Code::success);
        };

        CHECK(driver.fill(address, 0, 64, device.first) == Code::success);
        CHECK(fake.complaint() == "");
        read_on(device.second);
        CHECK(fake.complaint() == "read_one: on a stream that isn't ordered after the allocation; "
                                  "read_one: not ordered after a write on another stream");
        device.join();
        read_on(device.second);
        CHECK(fake.complaint() == "");

        write_on(device.first); // while the second stream may still read
        CHECK(fake.complaint() == "write_one: overwrites what another stream may still read");
        device.synchronize(); // the host saw all of it
        write_on(device.second);
        CHECK(fake.complaint() == "");
        read_on(device.first);
        CHECK(fake.complaint() == "read_one: not ordered after a write on another stream");
        CHECK(driver.copy_out(to.values, address, 64, device.first) == Code::success);
        CHECK(fake.complaint() == "cuMemcpyDtoHAsync_v2: not ordered after a write on another stream");
        CHECK(driver.event_record(device.event, device.second) == Code::success);
        CHECK(driver.event_synchronize(device.event) == Code::success); // the host's knowledge orders too
        read_on(device.first);
        CHECK(fake.complaint() == "");

        // Disjoint bytes don't meet.
        CHECK(driver.fill(address, 1, 32, device.first) == Code::success);
        CHECK(driver.fill(address + 32, 1, 32, device.second) == Code::success);
        CHECK(fake.complaint() == "cuMemsetD8Async: overwrites what another stream may still read"); // read_on(first)
        CHECK(driver.fill(address + 31, 1, 32, device.second) == Code::success);
        CHECK(has(fake.complaint(), "cuMemsetD8Async: not ordered after a write on another stream"));

        // What is out of order is not done.
        device.synchronize();
        CHECK(driver.fill(address, 8, 64, device.first) == Code::success);
        CHECK(driver.fill(address, 9, 64, device.second) == Code::success);
        CHECK(fake.complaint() == "cuMemsetD8Async: not ordered after a write on another stream");
        device.synchronize();
        CHECK(static_cast<unsigned char *>(fake->look(address))[63] == 8);

        // Waiting for an event that stands before the use is no order.
        device.synchronize();
        device.join();
        write_on(device.first);
        CHECK(driver.stream_wait(device.second, device.event, EventWaitFlags::none) == Code::success);
        read_on(device.second);
        CHECK(fake.complaint() == "read_one: not ordered after a write on another stream");

        device.synchronize();
        read_on(device.second);
        device.free(address);
        CHECK(fake.complaint() == "cuMemFreeAsync: overwrites what another stream may still read");
        read_on(device.first);
        CHECK(fake.complaint() == "read_one: a device address that isn't allocated, or was freed");
        CHECK(driver.fill(address, 0, 64, device.first) == Code::success);
        CHECK(fake.complaint() == "cuMemsetD8Async: a device address that isn't allocated, or was freed");
        CHECK(driver.free(address, device.first) == Code::invalid_value);
        CHECK(fake.complaint() == "cuMemFreeAsync: not the start of an allocation, or freed twice");
        device.synchronize();
    }
}

TEST_CASE("the fake: a use past the end of an allocation is a violation", "[cuda][fake]") {
    Fake const fake;
    StartedDevice const device(fake);
    Driver const &driver = device.driver;
    Pinned<char> pinned(driver, 100);
    DevicePointer address = device.allocate(100), other = device.allocate(200);
    CHECK(driver.fill(address, 0xFF, 101, device.first) == Code::success);
    CHECK(fake.complaint() == "cuMemsetD8Async: past the end of an allocation");
    CHECK(driver.copy_within(address + 60, other, 41, device.first) == Code::success);
    CHECK(fake.complaint() == "cuMemcpyDtoDAsync_v2: past the end of an allocation");
    CHECK(driver.copy_out(pinned.values + 60, other, 41, device.first) == Code::success);
    CHECK(fake.complaint() == "cuMemcpyDtoHAsync_v2: past the end of pinned memory");
    device.synchronize();
#if !UFORM_ADDRESS_SANITIZER
    // A kernel's own accesses can't be seen, but the page behind the allocation shows what it wrote.
    for (std::uint64_t index : {std::uint64_t{99}, std::uint64_t{100}, std::uint64_t{4096 + 4095}}) {
        void *parameters[] = {&address, &index};
        CHECK(device.launch(write_at_kernel, parameters, device.first) == Code::success);
        device.free(address);
        device.synchronize();
        CHECK(fake.complaint() ==
              (index == 99 ? "" : "cuMemFreeAsync: something wrote past the end of the allocation"));
        CHECK(device.allocate(100) == address);
    }
#else
    // The kernel runs on a thread that a forked child doesn't have, so the look stands in for it.
    device.synchronize();
    auto *const bytes = static_cast<unsigned char volatile *>(fake->look(address));
    CHECK(in_child([&] { return bytes[99] = 1, 0; }).by_itself);
    auto const over = in_child([&] { return bytes[100] = 1, 0; });
    CHECK(has(over.output, "AddressSanitizer: use-after-poison"));
    skip_part("AddressSanitizer ends what the guard behind an allocation would catch");
#endif
    device.free(address), device.free(other);
}

TEST_CASE("the fake: host memory of copies and kernels is pinned, kept and unchanged until they ran", "[cuda][fake]") {
    Fake const fake;
    StartedDevice const device(fake);
    Driver const &driver = device.driver;
    DevicePointer const address = device.allocate(64);
    std::array<char, 64> pageable{};
    pageable[3] = 9;
    CHECK(driver.copy_in(address, pageable.data(), 64, device.first) == Code::success);
    pageable[3] = 1; // read by then
    CHECK(fake.complaint() == "cuMemcpyHtoDAsync_v2: the source isn't pinned, so the call is not asynchronous");
    CHECK(driver.copy_out(pageable.data(), address, 64, device.first) == Code::success);
    CHECK(pageable[3] == 9);
    CHECK(fake.complaint() == "cuMemcpyDtoHAsync_v2: the target isn't pinned, so the call is not asynchronous");
    fake->register_host(pageable.data(), pageable.size(), Registered::pinned);
    CHECK(driver.copy_out(pageable.data(), address, 64, device.first) == Code::success);
    device.synchronize();
    CHECK(fake.complaint() == "");

    fake->set_mode(Mode::lazy, 0);
    Pinned<char> pinned(driver, 64);
    std::memset(pinned.values, 1, 64);
    CHECK(driver.copy_in(address, pinned.values, 64, device.first) == Code::success);
    pinned.values[63] = 2; // before the copy ran
    device.synchronize();
    CHECK(fake.complaint() == "cuMemcpyHtoDAsync_v2: the source was changed before the copy ran");
    CHECK(static_cast<char *>(fake->look(address))[63] == 2); // and shows in the result
    pinned.values[63] = 3;                                    // after it
    device.synchronize();
    CHECK(fake.complaint() == "");

    // Out and in again through the same bytes is the streams' own business.
    CHECK(driver.fill(address, 5, 64, device.first) == Code::success);
    CHECK(driver.copy_out(pinned.values, address, 64, device.first) == Code::success);
    CHECK(driver.copy_in(address, pinned.values, 64, device.first) == Code::success);
    device.synchronize();
    CHECK(fake.complaint() == "");
    CHECK(driver.copy_out(pinned.values, address, 64, device.first) == Code::success);
    CHECK(driver.copy_in(address, pinned.values, 64, device.second) == Code::success);
    CHECK(has(fake.complaint(), "cuMemcpyHtoDAsync_v2: not ordered after a write on another stream"));
    device.synchronize();

    CHECK(driver.copy_in(address, pinned.values, 64, device.first) == Code::success);
    CHECK(driver.host_free(pinned.values) == Code::success);
    CHECK(fake.complaint() == "cuMemFreeHost: a copy from or to it may still run");
    CHECK(driver.host_free(pinned.values) == Code::invalid_value);
    CHECK(fake.complaint() == "cuMemFreeHost: not the start of pinned memory, or freed twice");
    pinned.values = nullptr;

    float plain = 0;
    float *at = &plain;
    void *parameters[] = {&at};
    CHECK(device.launch(write_kernel, parameters, device.first) == Code::success);
    CHECK(fake.complaint() == "write_one: parameter 0 points to host memory that isn't pinned");
    Pinned<float> mapped(driver, 1);
    at = mapped.values;
    CHECK(device.launch(write_kernel, parameters, device.first) == Code::success);
    device.synchronize();
    CHECK(mapped.values[0] == 1.0f);
    CHECK(fake.complaint() == "");

    auto const host_address = reinterpret_cast<DevicePointer>(mapped.values);
    CHECK(driver.copy_in(host_address, mapped.values, 4, device.first) == Code::invalid_value);
    CHECK(fake.complaint() == "cuMemcpyHtoDAsync_v2: the target isn't a device address");
    CHECK(driver.copy_out(mapped.values, host_address, 4, device.first) == Code::invalid_value);
    CHECK(fake.complaint() == "cuMemcpyDtoHAsync_v2: the source isn't a device address");
    CHECK(driver.copy_within(address, host_address, 4, device.first) == Code::invalid_value);
    CHECK(fake.complaint() == "cuMemcpyDtoDAsync_v2: one end isn't a device address");
    CHECK(driver.fill(host_address, 0, 4, device.first) == Code::invalid_value);
    CHECK(fake.complaint() == "cuMemsetD8Async: the target isn't a device address");
    device.free(address);
}

TEST_CASE("the fake: contexts, streams and handles are held to their rules", "[cuda][fake]") {
    Fake const fake;
    fake->set_devices(2);
    Driver const &driver = *fake.driver;
    int count = 0, value = 0;
    Context context = nullptr;
    CHECK(driver.device_count(&count) == Code::not_initialized);
    {
        StartedDevice const zero(fake);
        DevicePointer const address = zero.allocate(64);
        std::thread([&] {
            CHECK(driver.stream_synchronize(zero.first) == Code::invalid_context);
            CHECK(fake.complaint() == "cuStreamSynchronize: called without a current context");
            CHECK(driver.free(address, zero.first) == Code::invalid_context); // and nothing is freed
            CHECK(fake.complaint() == "cuMemFreeAsync: called without a current context");
            CHECK(driver.context_pop(&context) == Code::invalid_context);
            CHECK(fake.complaint() == "cuCtxPopCurrent_v2: called without a current context");
        }).join();
        CHECK(fake->look(address));
        {
            StartedDevice const one(fake, 1);
            CHECK(driver.stream_synchronize(zero.first) == Code::invalid_handle);
            CHECK(fake.complaint() == "cuStreamSynchronize: the stream is another device's");
            DevicePointer there = one.allocate(64);
            one.free(there);
            DevicePointer foreign = address;
            void *parameters[] = {&foreign};
            CHECK(one.launch(read_kernel, parameters, one.first) == Code::success);
            CHECK(has(fake.complaint(), "read_one: memory of another device"));
            CHECK(driver.stream_synchronize(one.first) == Code::success);
        }
        called_from_kernel = &driver;
        CHECK(zero.launch(calling_kernel, nullptr, zero.first) == Code::success);
        zero.synchronize();
        CHECK(fake.complaint() == "cuDeviceGetCount: called from a stream's own thread");

        CHECK(driver.stream_synchronize(nullptr) == Code::invalid_handle);
        CHECK(fake.complaint() == "cuStreamSynchronize: the stream is null");
        CHECK(driver.event_query(reinterpret_cast<Event>(&value)) == Code::invalid_handle);
        CHECK(fake.complaint() == "cuEventQuery: the event is unknown");
        Event event = nullptr;
        CHECK(driver.event_create(&event, EventFlags::disable_timing) == Code::success);
        CHECK(driver.event_query(event) == Code::success); // never recorded
        CHECK(driver.event_destroy(event) == Code::success);
        CHECK(driver.event_record(event, zero.first) == Code::invalid_handle);
        CHECK(fake.complaint() == "cuEventRecord: the event is destroyed");
        Stream blocking = nullptr;
        CHECK(driver.stream_create(&blocking, StreamFlags{}, 0) == Code::success);
        CHECK(fake.complaint() == "cuStreamCreateWithPriority: a stream that waits for the default one");
        CHECK(driver.stream_destroy(blocking) == Code::success);
        CHECK(driver.fill(address, 0, 64, blocking) == Code::invalid_handle);
        CHECK(fake.complaint() == "cuMemsetD8Async: the stream is destroyed");
        PoolProperties properties;
        properties.location = 2;
        Pool pool = nullptr;
        CHECK(driver.pool_create(&pool, &properties) == Code::invalid_value);
        std::uint64_t keep = ~std::uint64_t{0};
        CHECK(driver.pool_set(zero.pool, PoolAttribute::release_threshold, &keep) == Code::success);
        CHECK(driver.pool_trim(zero.pool, 0) == Code::success);

        CHECK(driver.launch(scale_kernel.handle(), 1, 1, 1, 1025, 1, 1, 0, zero.first, nullptr, nullptr) ==
              Code::invalid_value);
        CHECK(driver.launch(scale_kernel.handle(), 1, 1, 1, 32, 32, 2, 0, zero.first, nullptr, nullptr) ==
              Code::invalid_value);
        CHECK(driver.launch(scale_kernel.handle(), 1, 65536, 1, 32, 1, 1, 0, zero.first, nullptr, nullptr) ==
              Code::invalid_value);
        CHECK(driver.launch(scale_kernel.handle(), 0, 1, 1, 32, 1, 1, 0, zero.first, nullptr, nullptr) ==
              Code::invalid_value);
        CHECK(driver.launch(scale_kernel.handle(), 1, 1, 1, 32, 1, 1, 227 * 1024 + 1, zero.first, nullptr, nullptr) ==
              Code::invalid_value);
        HostKernel not_one = scale_kernel;
        not_one.mark = 0;
        CHECK(driver.launch(not_one.handle(), 1, 1, 1, 32, 1, 1, 0, zero.first, nullptr, nullptr) ==
              Code::invalid_handle);
        CHECK(fake.complaint() == "cuLaunchKernel: not a kernel");
        CHECK(driver.kernel_set(FunctionAttribute::dynamic_shared_bytes, 100 * 1024, scale_kernel.handle(), 0) ==
              Code::success);
        CHECK(driver.kernel_set(FunctionAttribute::dynamic_shared_bytes, 228 * 1024, scale_kernel.handle(), 0) ==
              Code::invalid_value);
        CHECK(fake.complaint() == "");
        // The scope's end gives the context up with the allocation left in it.
    }
    CHECK(fake.complaint() == "cuDevicePrimaryCtxRelease_v2: 1 things are left in the context");
    CHECK(driver.primary_release(0) == Code::invalid_context);
    CHECK(fake.complaint() == "cuDevicePrimaryCtxRelease_v2: the context isn't retained");
    CHECK(driver.primary_retain(&context, 1) == Code::success);
    unsigned flags = 1;
    CHECK(driver.primary_state(1, &flags, &value) == Code::success);
    CHECK(value == 1);
    CHECK(driver.primary_release(1) == Code::success);
    CHECK(driver.primary_state(1, &flags, &value) == Code::success);
    CHECK(value == 0);
    CHECK(driver.context_push(context) == Code::invalid_context);
    CHECK(fake.complaint() == "cuCtxPushCurrent_v2: the context isn't retained");
}

TEST_CASE("the fake: devices and their attributes are what the test says", "[cuda][fake]") {
    Fake const fake;
    Driver const &driver = *fake.driver;
    fake->set_devices(0);
    CHECK(driver.init(0) == Code::no_device);
    fake->set_devices(3);
    CHECK(driver.init(0) == Code::success);
    int count = 0, value = -1;
    Device device = -1;
    CHECK(driver.device_count(&count) == Code::success);
    CHECK(count == 3);
    CHECK(driver.device_get(&device, 2) == Code::success);
    CHECK(driver.device_get(&device, 3) == Code::invalid_device);
    CHECK(driver.device_get(&device, -1) == Code::invalid_device);
    CHECK(driver.device_attribute(&value, DeviceAttribute::memory_pools, 2) == Code::success);
    CHECK(value == 1);
    fake->set_attribute(DeviceAttribute::memory_pools, 0);
    CHECK(driver.device_attribute(&value, DeviceAttribute::memory_pools, 2) == Code::success);
    CHECK(value == 0);
    CHECK(driver.device_attribute(&value, DeviceAttribute::compute_major, 3) == Code::invalid_device);
}

TEST_CASE("the fake: calls fail when they are told to, once or from then on", "[cuda][fake]") {
    Fake const fake;
    StartedDevice const device(fake);
    Driver const &driver = device.driver;
    int count = 0;
    fake->fail_call(2, Code::launch_failed, false, nullptr);
    for (int call = 0; call < 5; ++call)
        CHECK(driver.device_count(&count) == (call == 2 ? Code::launch_failed : Code::success));
    CHECK(fake->failures() == 1);
    fake->fail_call(1, Code::launch_failed, true, nullptr);
    for (int call = 0; call < 5; ++call)
        CHECK(driver.device_count(&count) == (call >= 1 ? Code::launch_failed : Code::success));
    CHECK(fake->failures() == 4);
    char const *name = nullptr;
    CHECK(driver.error_name(Code::launch_failed, &name) == Code::success); // it fails only by its name
    CHECK(std::string(name) == "CUDA_ERROR_LAUNCH_FAILED");
    fake->fail_call(0, Code::out_of_memory, false, "cuMemAllocFromPoolAsync");
    CHECK(driver.device_count(&count) == Code::success);
    DevicePointer address = 0;
    CHECK(driver.allocate(&address, 64, device.pool, device.first) == Code::out_of_memory);
    CHECK(address == 0);
    CHECK(std::string(fake->failed_function()) == "cuMemAllocFromPoolAsync");
    CHECK(fake->live().allocations == 0);
    address = device.allocate(64);

    // What gives something back has done so.
    fake->fail_call(0, Code::launch_failed, false, "cuMemFreeAsync");
    CHECK(driver.free(address, device.first) == Code::launch_failed);
    CHECK(fake->live().allocations == 0);
    Event event = nullptr;
    CHECK(driver.event_create(&event, EventFlags::disable_timing) == Code::success);
    fake->fail_call(0, Code::launch_failed, false, "cuEventDestroy_v2");
    CHECK(driver.event_destroy(event) == Code::launch_failed);
    CHECK(fake->live().events == 1);
    CHECK(fake.complaint() == "");
    fake->fail_call(0, Code::launch_failed, true, nullptr);
    fake->fail_none();
    CHECK(driver.device_count(&count) == Code::success);
}

TEST_CASE("the fake: a kernel that faults is every later call's error", "[cuda][fake]") {
    Fake const fake;
    {
        StartedDevice const device(fake);
        Driver const &driver = device.driver;
        DevicePointer address = device.allocate(64);
        CHECK(driver.fill(address, 0, 64, device.first) == Code::success);
        void *parameters[] = {&address};
        fake->fail_kernel(1);
        CHECK(device.launch(read_kernel, parameters, device.first) == Code::success);
        device.synchronize();
        fake->set_mode(Mode::lazy, 0);
        CHECK(device.launch(write_kernel, parameters, device.first) == Code::success); // the launch itself is fine
        CHECK(driver.fill(address, 3, 64, device.first) == Code::success);
        CHECK(driver.stream_synchronize(device.first) == Code::illegal_address);
        CHECK(driver.event_query(device.event) == Code::illegal_address);
        int count = 0;
        CHECK(driver.device_count(&count) == Code::illegal_address);
        char const *name = nullptr;
        CHECK(driver.error_name(Code::illegal_address, &name) == Code::success);
        auto const placement = classify(reinterpret_cast<void const *>(address));
        CHECK(placement.unknown);
        CHECK(static_cast<unsigned char *>(fake->look(address))[63] == 0); // neither the kernel nor the fill ran
        CHECK(driver.free(address, device.first) == Code::illegal_address);
        CHECK(fake->live().allocations == 0);
        fake->set_sticky(Code::success); // for the scope's end
    }
    fake->set_sticky(Code::deinitialized);
    int count = 0;
    CHECK(fake.driver->device_count(&count) == Code::deinitialized);
    CHECK(classify(&count) == Placement{});
    CHECK(fake.complaint() == "");
}

TEST_CASE("the fake: many threads, each with its stream", "[cuda][fake]") {
    Fake const fake;
    fake->set_mode(Mode::slow, 20);
    StartedDevice const device(fake);
    Driver const &driver = device.driver;
    std::vector<std::thread> threads;
    std::array<int, 4> wrong{};
    for (unsigned who = 0; who < 4; ++who)
        threads.emplace_back([&, who] {
            CurrentContext const current(driver, device.context);
            Stream stream = nullptr;
            bool good = driver.stream_create(&stream, StreamFlags::non_blocking, 0) == Code::success;
            void *memory = nullptr;
            good = good && driver.host_allocate(&memory, 256, HostAllocationFlags::portable) == Code::success;
            auto *const bytes = static_cast<unsigned char *>(memory);
            for (unsigned round = 0; good && round < 20; ++round) {
                DevicePointer address = 0;
                auto const value = static_cast<unsigned char>(who * 20 + round);
                good = driver.allocate(&address, 256, device.pool, stream) == Code::success &&
                       driver.fill(address, value, 256, stream) == Code::success &&
                       driver.copy_out(bytes, address, 256, stream) == Code::success &&
                       driver.free(address, stream) == Code::success &&
                       driver.stream_synchronize(stream) == Code::success && bytes[0] == value && bytes[255] == value;
            }
            good = good && driver.host_free(memory) == Code::success;
            wrong[who] = !(good && driver.stream_destroy(stream) == Code::success);
        });
    for (auto &thread : threads) thread.join();
    CHECK(wrong == std::array<int, 4>{});
    CHECK(fake.complaint() == "");
}
