/// libFuzzer's way into the target of arbitrary weights and configurations.
#include <cstddef>
#include <cstdint>

#include "json_hooks.hpp"
#include "safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    fuzz::run_safetensors(data, size);
    return 0;
}
