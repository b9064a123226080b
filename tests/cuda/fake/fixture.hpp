/// What the tests of the fake driver and the table share: the fake as it is at first, a started device, pinned memory.
#ifndef UFORM_TESTS_CUDA_FAKE_FIXTURE_HPP
#define UFORM_TESTS_CUDA_FAKE_FIXTURE_HPP

#include <cstddef>
#include <string>

#include "catch.hpp"
#include "cuda/fake/fake_driver.hpp"
#include "cuda/fake/host_kernel.hpp"
#include "uform/cuda/driver.hpp"

namespace fake_driver {

using uform::cuda::Code, uform::cuda::Context, uform::cuda::DevicePointer, uform::cuda::Driver, uform::cuda::Event,
    uform::cuda::EventFlags, uform::cuda::EventWaitFlags, uform::cuda::HostAllocationFlags, uform::cuda::Pool,
    uform::cuda::PoolProperties, uform::cuda::Stream, uform::cuda::StreamFlags;

/// The fake as it is at first, and the table over it.
struct Fake {
    fake_driver::Controls const *controls = fake_driver::controls();
    Driver const *driver = nullptr;

    Fake() {
        INFO("the fake libcuda.so.1 must be found by its name");
        REQUIRE(controls);
        controls->reset();
        auto const opened = uform::cuda::open_driver();
        REQUIRE(opened);
        driver = *opened;
    }
    Fake(Fake const &) = delete;
    Fake &operator=(Fake const &) = delete;
    ~Fake() { controls->reset(); }
    fake_driver::Controls const *operator->() const { return controls; }

    std::string violations() const {
        std::string all;
        for (std::size_t i = 0; i < controls->violations(); ++i) {
            char text[256];
            controls->violation(i, text, sizeof text);
            all += (i ? "; " : "") + std::string(text);
        }
        return all;
    }
    /// What the fake complained of since the last question: the whole text, "" for nothing.
    std::string complaint() const {
        std::string const all = violations();
        controls->forget_violations();
        return all;
    }
};

/// A device that was started: a context, current in this scope, a pool and two streams.
struct StartedDevice {
    Driver const &driver;
    int device;
    Context context = nullptr;
    Pool pool = nullptr;
    Stream first = nullptr, second = nullptr;
    Event event = nullptr;

    explicit StartedDevice(Fake const &fake, int ordinal = 0) : driver(*fake.driver), device(ordinal) {
        REQUIRE(driver.init(0) == Code::success);
        REQUIRE(driver.primary_retain(&context, device) == Code::success);
        REQUIRE(driver.context_push(context) == Code::success);
        PoolProperties properties;
        properties.location = device;
        REQUIRE(driver.pool_create(&pool, &properties) == Code::success);
        REQUIRE(driver.stream_create(&first, StreamFlags::non_blocking, 0) == Code::success);
        REQUIRE(driver.stream_create(&second, StreamFlags::non_blocking, 0) == Code::success);
        REQUIRE(driver.event_create(&event, EventFlags::disable_timing) == Code::success);
    }
    StartedDevice(StartedDevice const &) = delete;
    StartedDevice &operator=(StartedDevice const &) = delete;
    ~StartedDevice() {
        CHECK(driver.event_destroy(event) == Code::success);
        CHECK(driver.stream_destroy(second) == Code::success);
        CHECK(driver.stream_destroy(first) == Code::success);
        CHECK(driver.pool_destroy(pool) == Code::success);
        Context popped = nullptr;
        CHECK(driver.context_pop(&popped) == Code::success);
        CHECK(popped == context);
        CHECK(driver.primary_release(device) == Code::success);
    }

    DevicePointer allocate(std::size_t bytes, Stream stream = nullptr) const {
        DevicePointer address = 0;
        REQUIRE(driver.allocate(&address, bytes, pool, stream ? stream : first) == Code::success);
        return address;
    }
    void free(DevicePointer address, Stream stream = nullptr) const {
        CHECK(driver.free(address, stream ? stream : first) == Code::success);
    }
    /// The second stream goes on behind what the first has.
    void join() const {
        CHECK(driver.event_record(event, first) == Code::success);
        CHECK(driver.stream_wait(second, event, EventWaitFlags::none) == Code::success);
    }
    void synchronize() const {
        CHECK(driver.stream_synchronize(first) == Code::success);
        CHECK(driver.stream_synchronize(second) == Code::success);
    }
    Code launch(HostKernel const &kernel, void **parameters, Stream stream) const {
        return driver.launch(kernel.handle(), 2, 1, 1, 64, 1, 1, 256, stream, parameters, nullptr);
    }
};

/// Pinned memory.
template <class T> struct Pinned {
    Driver const &driver;
    T *values = nullptr;
    Pinned(Driver const &table, std::size_t count) : driver(table) {
        void *memory = nullptr;
        REQUIRE(driver.host_allocate(&memory, count * sizeof(T), HostAllocationFlags::portable) == Code::success);
        values = static_cast<T *>(memory);
    }
    Pinned(Pinned const &) = delete;
    Pinned &operator=(Pinned const &) = delete;
    ~Pinned() {
        if (values) CHECK(driver.host_free(values) == Code::success);
    }
};

inline bool has(std::string const &text, std::string const &part) { return text.find(part) != std::string::npos; }

} // namespace fake_driver

#endif // UFORM_TESTS_CUDA_FAKE_FIXTURE_HPP
