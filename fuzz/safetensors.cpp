/// libFuzzer's way into the target of arbitrary weights and configurations.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "json_mutator.hpp"
#include "safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    fuzz::run_safetensors(data, size);
    return 0;
}

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t *data, std::size_t size, std::size_t most, unsigned seed) {
    return fuzz::JsonMutator(seed).mutate(data, size, most);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(std::uint8_t const *data, std::size_t size, std::uint8_t const *other,
                                                 std::size_t other_size, std::uint8_t *made, std::size_t most,
                                                 unsigned seed) {
    auto const text = [](std::uint8_t const *bytes, std::size_t count) {
        return std::string_view(reinterpret_cast<char const *>(bytes), count);
    };
    return fuzz::JsonMutator::store(fuzz::JsonMutator(seed).exchange(text(data, size), text(other, other_size)), made,
                                    most);
}
