/// A set of byte strings with a number each, which finds the longest of them that a text begins with.
#ifndef UFORM_TEXT_TRIE_HPP
#define UFORM_TEXT_TRIE_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "uform/list.hpp"
#include "uform/sort.hpp"

namespace uform {

/// A trie over bytes as a double array: a step is one table look-up. Read-only once built.
///
/// Memory  12 bytes a node, allocated by `build` only. Threads: any may read at the same time.
/// Limits  2^30 nodes.
/// Source  Aoe 1989, An Efficient Digital Search Algorithm by Using a Double-Array Structure; children lie at
///         `base ^ byte`, so that they share a block of 256 and no index can leave the array.
class Trie {
    struct Node {
        std::uint32_t base = 0;        // where the children lie; the highest bit: a string ends here
        std::uint32_t parent = free_k; // the node that this one is a child of
    };
    static constexpr std::uint32_t free_k = UINT32_MAX, root_parent_k = UINT32_MAX - 1, ends_k = 1u << 31;

    List<Node> nodes_;
    List<std::uint32_t> values_; // of the strings in `nodes_`, 0 elsewhere

  public:
    struct Entry {
        std::string_view key;
        std::uint32_t value;
    };
    struct Match {
        std::size_t size = 0; ///< bytes; 0: no string fits
        std::uint32_t value = 0;
    };

    Trie() { build({}); }

    /// Sorts by key; of equal keys the first stays before the others.
    static void sort(List<Entry> &entries) {
        bool is_sorted = true;
        for (std::size_t i = 1; is_sorted && i < entries.size(); ++i) is_sorted = entries[i - 1].key <= entries[i].key;
        if (is_sorted) return;
        // Most keys differ in their first 8 bytes, which compare as a number.
        struct Headed {
            std::uint64_t head;
            Entry entry;
        };
        List<Headed> headed(entries.size()), room(entries.size());
        for (std::size_t i = 0; i != entries.size(); ++i) {
            std::string_view const key = entries[i].key;
            std::uint64_t head = 0;
            for (std::size_t j = 0; j != 8; ++j)
                head = head << 8 | (j < key.size() ? static_cast<unsigned char>(key[j]) : 0);
            headed[i] = {head, entries[i]};
        }
        merge_sort(headed.data(), room.data(), headed.size(), [](Headed const &a, Headed const &b) noexcept {
            return a.head != b.head ? a.head < b.head : a.entry.key < b.entry.key;
        });
        for (std::size_t i = 0; i != entries.size(); ++i) entries[i] = headed[i].entry;
    }

    /// Replaces the content. Empty keys are left out; of equal keys the first counts.
    /// False: more nodes than it can number, and the trie is then empty.
    bool build(List<Entry> entries);

    /// The longest string that `text` begins with. Takes at most as many steps as that or the text has bytes.
    [[nodiscard]] Match longest(std::string_view text) const noexcept {
        Node const *const nodes = nodes_.data();
        std::uint32_t node = 0, last = 0;
        std::size_t size = 0;
        for (std::size_t i = 0; i != text.size(); ++i) {
            std::uint32_t const next = (nodes[node].base & ~ends_k) ^ static_cast<unsigned char>(text[i]);
            if (nodes[next].parent != node) break;
            node = next;
            if (nodes[node].base & ends_k) last = node, size = i + 1;
        }
        return {size, values_[last]};
    }

    /// Calls `take(size, value)` for each string that `text` begins with, the shortest first.
    template <class Take> void each_prefix(std::string_view text, Take &&take) const noexcept {
        Node const *const nodes = nodes_.data();
        std::uint32_t node = 0;
        for (std::size_t i = 0; i != text.size(); ++i) {
            std::uint32_t const next = (nodes[node].base & ~ends_k) ^ static_cast<unsigned char>(text[i]);
            if (nodes[next].parent != node) break;
            node = next;
            if (nodes[node].base & ends_k) take(i + 1, values_[node]);
        }
    }
};

inline bool Trie::build(List<Entry> entries) {
    sort(entries);
    std::size_t kept = 0;
    for (std::size_t i = 0; i != entries.size(); ++i)
        if (entries[i].key != (kept ? entries[kept - 1].key : std::string_view())) entries[kept++] = entries[i];
    entries.resize(kept);
    nodes_.assign(256, Node{}), values_.assign(256, 0);
    nodes_[0].parent = root_parent_k;
    if (entries.empty()) return true;

    struct Range { // the keys below a node, which begin alike up to `depth`
        std::size_t first, last, depth;
        std::uint32_t node;
    };
    List<Range> waiting{{0, entries.size(), 0, 0}};
    List<Range> children;
    List<unsigned char> labels;
    std::size_t cursor = 1; // nodes before it are taken for the most part
    std::size_t single = 1; // nodes before it are taken
    while (!waiting.empty()) {
        Range const range = waiting.back();
        waiting.pop_back();
        labels.clear(), children.clear();
        std::size_t first = range.first;
        if (entries[first].key.size() == range.depth) {
            nodes_[range.node].base |= ends_k;
            values_[range.node] = entries[first++].value;
        }
        while (first != range.last) {
            auto const label = static_cast<unsigned char>(entries[first].key[range.depth]);
            std::size_t last = first + 1;
            while (last != range.last && static_cast<unsigned char>(entries[last].key[range.depth]) == label) ++last;
            labels.push_back(label), children.push_back({first, last, range.depth + 1, 0});
            first = last;
        }
        if (labels.empty()) continue;

        // The first place where all children find room; a stretch that is nearly full is not looked at again.
        bool const alone = labels.size() == 1;
        std::size_t place = alone ? single : cursor, taken = 0, base = 0;
        for (;; ++place) {
            if (place == nodes_.size()) {
                if (place >= ends_k / 2) return build({}), false;
                nodes_.resize(place + 256), values_.resize(place + 256);
            }
            if (nodes_[place].parent != free_k) {
                ++taken;
                continue;
            }
            base = place ^ labels[0];
            bool fits = true;
            for (unsigned char label : labels) fits = fits && nodes_[base ^ label].parent == free_k;
            if (fits) break;
        }
        if (alone) single = place + 1;
        else if (place - cursor > 64 && taken * 16 > (place - cursor) * 15) cursor = place;
        nodes_[range.node].base |= static_cast<std::uint32_t>(base);
        for (std::size_t i = 0; i != labels.size(); ++i) {
            children[i].node = static_cast<std::uint32_t>(base ^ labels[i]);
            nodes_[children[i].node].parent = range.node;
        }
        for (Range const &child : children) waiting.push_back(child);
    }
    return true;
}

} // namespace uform

#endif // UFORM_TEXT_TRIE_HPP
