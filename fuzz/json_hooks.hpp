/// What libFuzzer asks a target whose inputs hold JSON, to change them by whole values. One unit of a program has it.
#ifndef UFORM_FUZZ_JSON_HOOKS_HPP
#define UFORM_FUZZ_JSON_HOOKS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "json_mutator.hpp"

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

#endif // UFORM_FUZZ_JSON_HOOKS_HPP
