/// The driver's table, a machine without a driver, errors and contexts, and where pointers are placed.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "catch.hpp"
#include "child_process.hpp"
#include "cuda/fake/fixture.hpp"
#include "skip.hpp"
#include "uform/cuda/driver.hpp"
#include "uform/placement.hpp"

using fake_driver::StartedDevice, fake_driver::Fake, fake_driver::has, fake_driver::Registered;
using uform::classify, uform::Placement, uform::Status;
using uform::cuda::Code, uform::cuda::Context, uform::cuda::CurrentContext, uform::cuda::DevicePointer,
    uform::cuda::Driver, uform::cuda::error_of, uform::cuda::HostAllocationFlags, uform::cuda::open_driver,
    uform::cuda::PointerAttribute;

namespace {

/// Runs the program that is linked without a path to the fake.
Ended run_without_driver(std::string const &library_path) {
    return in_child([&] {
        if (library_path.empty()) unsetenv("LD_LIBRARY_PATH");
        else setenv("LD_LIBRARY_PATH", library_path.c_str(), 1);
        execl(UFORM_WITHOUT_DRIVER, UFORM_WITHOUT_DRIVER, static_cast<char *>(nullptr));
        return 99;
    });
}

} // namespace

TEST_CASE("the driver's table: opened once, whole, from any thread", "[cuda]") {
    Fake const fake;
    std::array<Driver const *, 8> found{};
    std::vector<std::thread> threads;
    for (auto &answer : found) threads.emplace_back([&answer] { answer = open_driver().value(); });
    for (auto &thread : threads) thread.join();
    for (auto const *answer : found) CHECK(answer == fake.driver);

    std::size_t functions = 0;
    CHECK(Driver::each([&](auto member, char const *symbol) {
        INFO(symbol);
        CHECK(fake.driver->*member != nullptr);
        return ++functions, true;
    }));
    CHECK(functions == 36);
    int version = 0;
    CHECK(fake.driver->driver_version(&version) == Code::success);
    CHECK(version == 13000);
}

TEST_CASE("the driver's table: each member calls the function of its symbol", "[cuda]") {
    Fake const fake;
    CHECK(Driver::each([&]<class... Arguments>(Code (*Driver::*member)(Arguments...), char const *symbol) {
        INFO(symbol);
        fake->fail_call(0, Code::not_supported, false, symbol);
        static_cast<void>((fake.driver->*member)(Arguments{}...)); // fails before it looks at them
        CHECK(fake->calls(symbol) == 1);
        CHECK(fake->failures() == 1);
        CHECK(std::string(fake->failed_function()) == symbol);
        return true;
    }));
    CHECK(fake->calls(nullptr) == 36);
}

TEST_CASE("no driver: unsupported, with what is missing, and every pointer is the host's", "[cuda]") {
    std::string const host = ": host 1 device 0 unknown 0 ordinal -1\n";
    auto const none = run_without_driver("");
    INFO(none.output);
    CHECK(none.by_itself);
    CHECK(has(none.output, "stack" + host));
    CHECK(has(none.output, "asked: 0\nasked after another load (1): 0\n"));
    if (has(none.output, "opened\n")) skip_part("this machine has a driver of its own");
    else {
        std::string const line = "unsupported: no CUDA driver: libcuda.so.1: ";
        auto const at = none.output.find(line);
        REQUIRE(at != std::string::npos);
        CHECK(none.output.find(line, at + 1) != std::string::npos); // the second call says the same
        CHECK(has(none.output, "asked at last: 0\nheap" + host));
    }
}

TEST_CASE("an old driver: unsupported, with the function that it lacks", "[cuda]") {
    auto const old = run_without_driver(UFORM_OLD_DRIVER_FOLDER);
    INFO(old.output);
    CHECK(old.by_itself);
    CHECK(has(old.output, "unsupported: the CUDA driver lacks cuMemPoolCreate: one of CUDA 12 or newer is needed\n"
                          "unsupported: the CUDA driver lacks cuMemPoolCreate"));
    // Loaded it is all the same, so it is asked; nobody has started it.
    CHECK(has(old.output, "asked: 0\n"));
    CHECK(has(old.output, "asked at last: 1\nheap: host 1 device 0 unknown 0"));
}

TEST_CASE("a file that is no driver: unsupported, with the loader's words", "[cuda]") {
    char folder[] = "/tmp/uform-cuda-XXXXXX";
    REQUIRE(mkdtemp(folder));
    std::string const path = std::string(folder) + "/libcuda.so.1";
    std::FILE *const file = std::fopen(path.c_str(), "wb");
    REQUIRE(file);
    std::fputs("not a library", file);
    std::fclose(file);
    auto const broken = run_without_driver(folder);
    unlink(path.c_str()), rmdir(folder);
    INFO(broken.output);
    CHECK(broken.by_itself);
    CHECK(has(broken.output, "unsupported: no CUDA driver: " + path + ": "));
}

TEST_CASE("an error has the driver's name of the code, and its status", "[cuda]") {
    Fake const fake;
    struct Case {
        Code code;
        Status status;
        char const *text;
    };
    for (auto const &[code, status, text] : {
             Case{Code::out_of_memory, Status::out_of_memory, "growing: CUDA_ERROR_OUT_OF_MEMORY (2)"},
             Case{Code::no_device, Status::unsupported, "growing: CUDA_ERROR_NO_DEVICE (100)"},
             Case{Code::stub_library, Status::unsupported, "growing: CUDA_ERROR_STUB_LIBRARY (34)"},
             Case{Code::not_supported, Status::unsupported, "growing: CUDA_ERROR_NOT_SUPPORTED (801)"},
             Case{Code::illegal_address, Status::device, "growing: CUDA_ERROR_ILLEGAL_ADDRESS (700)"},
             Case{Code::deinitialized, Status::device, "growing: CUDA_ERROR_DEINITIALIZED (4)"},
             Case{Code{4321}, Status::device, "growing: an error without a name (4321)"},
         }) {
        auto const error = error_of(*fake.driver, code, "growing");
        CHECK(error.status() == status);
        CHECK(std::string(error.message()) == text);
    }
    fake->fail_call(0, Code::stub_library, true, "cuGetErrorName"); // as the stub does
    CHECK(std::string(error_of(*fake.driver, Code::stub_library, "starting").message()) ==
          "starting: the toolkit's stub stands in for a driver (34)");
}

TEST_CASE("a context is current for a scope, and the thread's own comes back", "[cuda]") {
    Fake const fake;
    fake->set_devices(2);
    Driver const &driver = *fake.driver;
    REQUIRE(driver.init(0) == Code::success);
    Context one = nullptr, two = nullptr, current = nullptr;
    REQUIRE(driver.primary_retain(&one, 0) == Code::success);
    REQUIRE(driver.primary_retain(&two, 1) == Code::success);
    CHECK(one != two);
    auto const is_current = [&](Context context) {
        CHECK(driver.context_current(&current) == Code::success);
        return current == context;
    };
    CHECK(is_current(nullptr));
    {
        CurrentContext const outer(driver, one);
        CHECK(outer);
        CHECK(is_current(one));
        {
            CurrentContext const inner(driver, two);
            CHECK(inner.code() == Code::success);
            CHECK(is_current(two));
            std::thread([&] {
                Context elsewhere = one;
                CHECK(driver.context_current(&elsewhere) == Code::success);
                CHECK(elsewhere == nullptr);
            }).join();
        }
        CHECK(is_current(one));
        {
            fake->fail_call(0, Code::illegal_address, false, "cuCtxPushCurrent_v2");
            CurrentContext const failed(driver, two);
            CHECK(!failed);
            CHECK(failed.code() == Code::illegal_address);
            CHECK(is_current(one));
        }
        CHECK(is_current(one)); // nothing was popped for it
    }
    CHECK(is_current(nullptr));
    CHECK(fake->calls("cuCtxPushCurrent_v2") == 3);
    CHECK(fake->calls("cuCtxPopCurrent_v2") == 2);
    CHECK(driver.primary_release(0) == Code::success);
    CHECK(driver.primary_release(1) == Code::success);
    CHECK(fake.complaint() == "");
}

TEST_CASE("placement: who may use the bytes, and where their allocation lies", "[cuda][placement]") {
    Fake const fake;
    int local = 0;
    Placement const host;
    CHECK(classify(&local) == host); // loaded, not started
    CHECK(fake->calls("cuPointerGetAttributes") == 1);
    CHECK(classify(nullptr) == host);
    CHECK(fake->calls("cuPointerGetAttributes") == 1);

    fake->set_devices(2);
    StartedDevice const zero(fake);
    DevicePointer const device = zero.allocate(1000);
    void *pinned = nullptr;
    REQUIRE(zero.driver.host_allocate(&pinned, 100, HostAllocationFlags::portable) == Code::success);
    auto const on_heap = std::make_unique<std::array<char, 100>>();
    std::array<char, 64> registered{}, managed{};
    fake->register_host(registered.data(), registered.size(), Registered::pinned);
    fake->register_host(managed.data(), managed.size(), Registered::managed);
    auto const pointer = [](DevicePointer address) { return reinterpret_cast<void const *>(address); };
    auto const placed = [](void const *at, bool by_host, std::size_t bytes, int ordinal = 0) {
        Placement placement;
        placement.host_accessible = by_host, placement.device_accessible = true, placement.ordinal = ordinal;
        placement.first = reinterpret_cast<std::uintptr_t>(at), placement.allocation_bytes = bytes;
        return placement;
    };
    auto const all = [&] {
        CHECK(classify(&local) == host);
        CHECK(classify(on_heap->data()) == host);
        CHECK(classify(pointer(device)) == placed(pointer(device), false, 1000));
        CHECK(classify(pointer(device + 999)) == placed(pointer(device), false, 1000));
        CHECK(classify(pointer(device + 1000)) == host); // one past: the driver knows nothing of it
        CHECK(classify(static_cast<char *>(pinned) + 99) == placed(pinned, true, 100));
        CHECK(classify(registered.data() + 3) == placed(registered.data(), true, registered.size()));
        CHECK(classify(managed.data() + 63) == placed(managed.data(), true, managed.size()));
    };
    all();
    std::thread(all).join(); // no context is current there
    unsigned type = 0;       // managed memory says that it is the device's, so the other answer has to be read
    PointerAttribute which = PointerAttribute::memory_type;
    void *answer = &type;
    CHECK(zero.driver.pointer_attributes(1, &which, &answer, reinterpret_cast<DevicePointer>(managed.data())) ==
          Code::success);
    CHECK(type == 2);
    long const asked = fake->calls("cuPointerGetAttributes"), others = fake->calls(nullptr) - asked;
    all();
    CHECK(fake->calls("cuPointerGetAttributes") == asked + 8); // one question a pointer, and no other call
    CHECK(fake->calls(nullptr) == asked + 8 + others);

    {
        StartedDevice const one(fake, 1);
        DevicePointer const there = one.allocate(64);
        CHECK(classify(pointer(there)) == placed(pointer(there), false, 64, 1));
        one.free(there);
        CHECK(classify(pointer(there)) == host); // freed: nobody knows it any more
    }
    auto const answers = [&](Code code) {
        fake->fail_call(0, code, false, "cuPointerGetAttributes");
        return classify(pointer(device));
    };
    Placement unknown;
    unknown.unknown = true;
    CHECK(answers(Code::not_initialized) == host);
    CHECK(answers(Code::deinitialized) == host);
    CHECK(answers(Code::stub_library) == host);
    CHECK(answers(Code::illegal_address) == unknown);
    CHECK(answers(Code::invalid_context) == unknown);
    zero.free(device);
    CHECK(zero.driver.host_free(pinned) == Code::success);
    CHECK(fake.complaint() == "");
}
