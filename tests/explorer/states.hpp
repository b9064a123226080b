/// The states that a search has been in, by their hash.
#ifndef UFORM_TESTS_EXPLORER_STATES_HPP
#define UFORM_TESTS_EXPLORER_STATES_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace explorer {

/// Two lanes, so that two states among millions don't share one by chance.
struct Hash {
    std::uint64_t first = 0x243f'6a88'85a3'08d3, second = 0x1319'8a2e'0370'7344;

    void add(std::uint64_t value) noexcept {
        first = (first ^ value) * 0x9e37'79b9'7f4a'7c15, first ^= first >> 29;
        second = (second + value) * 0xd6e8'feb8'6659'fd93, second ^= second >> 32;
    }
    void add(Hash const &other) noexcept { add(other.first), add(other.second); }
    bool operator==(Hash const &) const noexcept = default;
};

/// A set of states: open addressing, grown at three quarters.
class States {
    std::vector<Hash> slots_;
    std::size_t count_ = 0;

    static bool is_free(Hash const &hash) noexcept { return hash.first == 0 && hash.second == 0; }
    [[nodiscard]] static Hash &find(std::vector<Hash> &slots, Hash const &hash) noexcept {
        std::size_t at = hash.first & (slots.size() - 1);
        while (!is_free(slots[at]) && !(slots[at] == hash)) at = (at + 1) & (slots.size() - 1);
        return slots[at];
    }

  public:
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    void clear() noexcept { slots_.assign(1024, Hash{0, 0}), count_ = 0; }
    /// Whether it is new.
    [[nodiscard]] bool insert(Hash const &hash) {
        Hash &slot = find(slots_, hash);
        if (!is_free(slot)) return false;
        slot = hash;
        if (++count_ < slots_.size() / 4 * 3) return true;
        std::vector<Hash> larger(slots_.size() * 2, Hash{0, 0});
        for (Hash const &old : slots_)
            if (!is_free(old)) find(larger, old) = old;
        slots_.swap(larger);
        return true;
    }
};

} // namespace explorer

#endif // UFORM_TESTS_EXPLORER_STATES_HPP
