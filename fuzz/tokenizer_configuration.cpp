/// libFuzzer's way into the target of arbitrary tokenizer files.
#include <cstddef>
#include <cstdint>

#include "json_hooks.hpp"
#include "tokenizer_configuration.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    fuzz::run_tokenizer_configuration(data, size);
    return 0;
}
