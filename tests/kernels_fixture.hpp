/// What the tests of kernels share: guarded memory, numbers by formula, and loops over the machine's instruction sets.
#ifndef UFORM_TESTS_KERNELS_FIXTURE_HPP
#define UFORM_TESTS_KERNELS_FIXTURE_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "catch.hpp"
#include "skip.hpp"
#include "uform/kernels/kernels.hpp"

namespace uform::test {

/// Floats between two guards that must keep their bits, shifted off any alignment by `shift` floats.
class Guarded {
    static constexpr std::size_t guard = 80;
    static constexpr std::uint32_t mark = 0x7fc0beefu; // a NaN: it shows in results if it is ever read as a number
    std::vector<float> storage_;
    std::size_t begin_, size_;

  public:
    explicit Guarded(std::size_t size, std::size_t shift = 0)
        : storage_(size + 2 * guard + 16 + shift, std::bit_cast<float>(mark)), begin_(0), size_(size) {
        auto const address = reinterpret_cast<std::uintptr_t>(storage_.data() + guard);
        begin_ = guard + (64 - address % 64) % 64 / sizeof(float) + shift;
    }
    explicit Guarded(std::vector<float> const &values, std::size_t shift = 0) : Guarded(values.size(), shift) {
        if (size_) std::memcpy(data(), values.data(), size_ * sizeof(float));
    }
    float *data() { return storage_.data() + begin_; }
    float const *data() const { return storage_.data() + begin_; }
    std::size_t size() const { return size_; }
    float &operator[](std::size_t i) { return data()[i]; }
    bool intact() const {
        for (std::size_t i = 0; i < storage_.size(); ++i)
            if ((i < begin_ || i >= begin_ + size_) && std::bit_cast<std::uint32_t>(storage_[i]) != mark) return false;
        return true;
    }
};

/// Whether two runs of floats are the same bits.
inline bool same_bits(float const *a, float const *b, std::size_t count) {
    return count == 0 || std::memcmp(a, b, count * sizeof(float)) == 0;
}

/// Raises `worst` to `error`; once it is NaN it stays so, and no bound holds it.
inline void keep_worst(double &worst, double error) {
    if (worst == worst && !(error <= worst)) worst = error;
}

/// `count` numbers of [-scale, scale), the same in every run.
inline std::vector<float> random_floats(std::size_t count, float scale, std::uint32_t seed) {
    std::minstd_rand engine(seed + 1);
    std::vector<float> values(count);
    for (float &value : values) value = (static_cast<float>(engine() % 16777216u) / 8388608.0f - 1.0f) * scale;
    return values;
}

/// Runs `test(kernels)` for every instruction set that this machine has, and says which it ran and which it skipped.
template <class Test> void for_each_set(Test &&test) {
    for (InstructionSet set : instruction_sets) {
        std::string const name(instruction_set_name(set));
        if (!supports(set)) {
            skip_part("this machine lacks " + name);
            continue;
        }
        INFO("instruction set " << name);
        Kernels const &kernels = kernels_for(set);
        if (kernels.set != set) {
            skip_part("this build has no kernels of its own for " + name);
            continue;
        }
        test(kernels);
    }
}

} // namespace uform::test

#endif // UFORM_TESTS_KERNELS_FIXTURE_HPP
