/// The merges of byte-pair encoding: which two tokens become one, and how early.
#ifndef UFORM_TEXT_MERGE_TABLE_HPP
#define UFORM_TEXT_MERGE_TABLE_HPP

#include <cstddef>
#include <cstdint>

#include "uform/list.hpp"

namespace uform {

/// A table from pairs of ids to ranks and ids. Read-only once built.
///
/// Memory  32 to 64 bytes a merge, allocated by `build` only. Threads: any may read at the same time.
class MergeTable {
  public:
    struct Merge {
        std::uint32_t left, right, rank, id;
    };
    static constexpr std::uint32_t none_k = UINT32_MAX;

    /// Replaces the content; of equal pairs the last counts.
    void build(List<Merge> const &merges) {
        std::size_t places = 16;
        while (places < 2 * merges.size()) places *= 2;
        places_.assign(places, Merge{none_k, none_k, none_k, none_k});
        for (Merge const &merge : merges) places_[place_of(merge.left, merge.right)] = merge;
    }
    /// The merge of a pair; its rank is `none_k` where there is none.
    [[nodiscard]] Merge const &find(std::uint32_t left, std::uint32_t right) const noexcept {
        return places_[place_of(left, right)];
    }

  private:
    List<Merge> places_{Merge{none_k, none_k, none_k, none_k}};

    [[nodiscard]] std::size_t place_of(std::uint32_t left, std::uint32_t right) const noexcept {
        std::uint64_t hash = (static_cast<std::uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
        std::size_t place = static_cast<std::size_t>(hash) & (places_.size() - 1);
        while (places_[place].rank != none_k && (places_[place].left != left || places_[place].right != right))
            place = (place + 1) & (places_.size() - 1);
        return place;
    }
};

} // namespace uform

#endif // UFORM_TEXT_MERGE_TABLE_HPP
