/// libFuzzer's way into the target of arbitrary texts.
#include <cstddef>
#include <cstdint>

#include "texts.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    fuzz::run_texts(data, size);
    return 0;
}
