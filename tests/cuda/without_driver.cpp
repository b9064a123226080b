/// Says what opening the driver and placing a pointer come to, for `tests/cuda_driver.cpp`, which runs it as a child
/// without a driver, or with another one than its own. It is linked without a path to the fake driver.
#include <cstdio>
#include <memory>

#include <dlfcn.h>

#include "uform/cuda/driver.hpp"
#include "uform/placement.hpp"

namespace {

void print(char const *name, uform::Placement const &placement) {
    std::printf("%s: host %d device %d unknown %d ordinal %d\n", name, placement.host_accessible,
                placement.device_accessible, placement.unknown, static_cast<int>(placement.ordinal));
}

} // namespace

int main() {
    int local = 0;
    auto const heap = std::make_unique<int>(0);
    print("stack", uform::classify(&local));
    std::printf("asked: %d\n", uform::loaded_pointer_query() != nullptr);
    void *const other = dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL); // so the loader's count of loads moves
    std::printf("asked after another load (%d): %d\n", other != nullptr, uform::loaded_pointer_query() != nullptr);
    for (int i = 0; i < 2; ++i) { // the answer stays
        auto const driver = uform::cuda::open_driver();
        if (driver) std::printf("opened\n");
        else std::printf("%s: %s\n", uform::status_name(driver.error().status()).data(), driver.error().what());
    }
    std::printf("asked at last: %d\n", uform::loaded_pointer_query() != nullptr);
    print("heap", uform::classify(heap.get()));
}
