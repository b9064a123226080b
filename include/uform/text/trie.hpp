/// A set of byte strings with a number each, which finds the longest of them that a text begins with.
#ifndef UFORM_TEXT_TRIE_HPP
#define UFORM_TEXT_TRIE_HPP

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "uform/list.hpp"
#include "uform/sort.hpp"

namespace uform {

/// A trie over bytes as a double array: a step is one table look-up. Read-only once built.
///
/// Memory  12 bytes a node, allocated by `build` only. Threads: any may read at the same time.
/// Limits  2^30 nodes, 2^32 strings.
/// Source  Aoe 1989, An Efficient Digital Search Algorithm by Using a Double-Array Structure; children lie at
///         `base ^ byte`, so that they share a block of 256 and no index can leave the array.
class Trie {
    struct Node {
        std::uint32_t base = 0;        // where the children lie; the highest bit: a string ends here
        std::uint32_t parent = free_k; // the node that this one is a child of
    };
    static constexpr std::uint32_t free_k = UINT32_MAX, root_parent_k = UINT32_MAX - 1, ends_k = 1u << 31;

    class Builder;

    List<Node> nodes_;
    List<std::uint32_t> values_; // of the strings in `nodes_`, 0 elsewhere

    // The 8 bytes of a key from `first`, at most its size, on as a number; past the end they are 0.
    [[nodiscard]] static std::uint64_t head_of(std::string_view key, std::size_t first) noexcept;

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

    /// Has the key that is wanted soon after the one at `i` brought: those of a vocabulary lie about in its file.
    static void fetch_ahead(List<Entry> const &entries, std::size_t i) noexcept {
        if (i + 16 < entries.size()) __builtin_prefetch(entries[i + 16].key.data());
    }
    /// Sorts by key; of equal keys the first stays before the others. Answers whether no two are equal.
    static bool sort(List<Entry> &entries);

    /// Replaces the content. Empty keys are left out; of equal keys the first counts.
    /// False: more nodes than it can number, and the trie is then empty.
    bool build(List<Entry> const &entries);

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

inline std::uint64_t Trie::head_of(std::string_view key, std::size_t first) noexcept {
    std::uint64_t head = 0;
    if (key.size() >= 8) {
        std::size_t const rest = key.size() - first < 8 ? key.size() - first : 8;
        std::memcpy(&head, key.data() + first + rest - 8, 8);
        if (std::endian::native == std::endian::little) head = __builtin_bswap64(head);
        return rest ? head << 8 * (8 - rest) : 0;
    }
    for (std::size_t i = 0; i != 8; ++i)
        head = head << 8 | (first + i < key.size() ? static_cast<unsigned char>(key[first + i]) : 0);
    return head;
}

inline bool Trie::sort(List<Entry> &entries) {
    std::size_t const count = entries.size();
    bool is_sorted = true, is_distinct = true;
    for (std::size_t i = 1; is_sorted && i < count; ++i) {
        auto const order = entries[i - 1].key <=> entries[i].key;
        is_sorted = order <= 0, is_distinct = is_distinct && order != 0;
    }
    if (is_sorted) return is_distinct;
    // Eight bytes of each key are a number, and those whose numbers are equal wait for their next eight.
    struct Headed {
        std::uint64_t head;
        std::uint32_t place; // in `entries`
        std::uint32_t size;  // of what is left of the key, at most 9
    };
    struct Range {
        std::size_t first, last, depth;
    };
    List<Headed> headed(count), room(count);
    for (std::size_t i = 0; i != count; ++i) headed[i].place = static_cast<std::uint32_t>(i);
    List<Range> waiting{{0, count, 0}};
    is_distinct = true;
    while (!waiting.empty()) {
        auto const [begin, end, depth] = waiting.back();
        waiting.pop_back();
        for (std::size_t i = begin; i != end; ++i) {
            std::string_view const key = entries[headed[i].place].key;
            headed[i].head = head_of(key, depth);
            headed[i].size = static_cast<std::uint32_t>(key.size() - depth < 9 ? key.size() - depth : 9);
        }
        radix_sort(headed.data() + begin, room.data(), end - begin);
        for (std::size_t first = begin, last; first != end; first = last) {
            for (last = first + 1; last != end && headed[last].head == headed[first].head;) ++last;
            if (last - first == 1) continue;
            // Those that end here differ in the zeros that they end with, and come before the others.
            merge_sort(headed.data() + first, room.data(), last - first,
                       [](Headed const &a, Headed const &b) noexcept { return a.size < b.size; });
            std::size_t longer = first;
            for (; longer != last && headed[longer].size != 9; ++longer)
                is_distinct = is_distinct && (longer == first || headed[longer].size != headed[longer - 1].size);
            if (last - longer > 1) waiting.push_back({longer, last, depth + 8});
        }
    }
    List<Entry> sorted;
    sorted.reserve(count);
    for (Headed const &one : headed) sorted.push_back(entries[one.place]);
    entries = std::move(sorted);
    return is_distinct;
}

/// Lays the keys end to end, and gives each node a place.
class Trie::Builder {
    Trie &trie_;
    std::string bytes_;
    List<std::uint32_t> firsts_, values_; // of each key its place in `bytes_`, and then that behind the last
    std::size_t cursor_ = 1;              // places of nodes before it are taken for the most part
    std::size_t single_ = 1;              // places of nodes before it are taken

    struct Range { // the keys below a node, which begin alike up to `depth`
        std::size_t first, last, depth;
        std::uint32_t node;
    };
    struct Children { // each with its first key, and then the key behind them
        std::size_t count = 0, firsts[257];
        unsigned char labels[256];
    };

    [[nodiscard]] bool is_free(std::size_t place) const noexcept { return trie_.nodes_[place].parent == free_k; }
    [[nodiscard]] std::size_t size_of(std::size_t key) const noexcept { return firsts_[key + 1] - firsts_[key]; }
    [[nodiscard]] unsigned char label_of(std::size_t key, std::size_t depth) const noexcept {
        return static_cast<unsigned char>(bytes_.data()[firsts_[key] + depth]);
    }
    // Whether the place can be had; there are nodes for it then.
    [[nodiscard]] bool reach(std::size_t place) {
        if (place < trie_.nodes_.size()) return true;
        if (place >= ends_k / 2) return false;
        trie_.nodes_.resize(place + 256), trie_.values_.resize(place + 256);
        return true;
    }
    [[nodiscard]] std::string_view key_at(std::size_t key) const noexcept {
        return {bytes_.data() + firsts_[key], size_of(key)};
    }
    void end(std::uint32_t node, std::size_t key) noexcept {
        trie_.nodes_[node].base |= ends_k, trie_.values_[node] = values_[key];
    }
    // How many bytes two keys have in common, of which the first `depth` are.
    [[nodiscard]] static std::size_t shared(std::string_view key, std::string_view other, std::size_t depth) noexcept {
        std::size_t const most = key.size() < other.size() ? key.size() : other.size();
        while (depth != most && key[depth] == other[depth]) ++depth;
        return depth;
    }
    // Makes a chain of the bytes of a key from `depth` to `end`, and answers its last node.
    [[nodiscard]] bool follow(std::size_t key, std::size_t depth, std::size_t end, std::uint32_t &node) {
        for (; depth != end; ++depth) {
            do
                if (!reach(single_)) return false;
            while (!is_free(single_++));
            auto const next = static_cast<std::uint32_t>(single_ - 1);
            trie_.nodes_[node].base |= next ^ label_of(key, depth);
            trie_.nodes_[next].parent = node;
            node = next;
        }
        return true;
    }
    // Finds the children of a range whose first key is longer than `depth`.
    void list(std::size_t first, std::size_t last, std::size_t depth, Children &children) const noexcept {
        children.count = 0;
        while (first != last) {
            unsigned char const label = label_of(first, depth);
            children.labels[children.count] = label, children.firsts[children.count++] = first;
            std::size_t step = 1; // to its last key: with steps that double, and then halve
            for (; last - first > step && label_of(first + step, depth) == label; step *= 2) first += step;
            while ((step /= 2) != 0)
                if (last - first > step && label_of(first + step, depth) == label) first += step;
            ++first;
        }
        children.firsts[children.count] = last;
    }
    // The base of the first place where all children find room; a stretch that is nearly full is not looked at again.
    [[nodiscard]] bool find_room(Children const &children, std::size_t &base) {
        std::size_t place = cursor_, taken = 0;
        for (;; ++place) {
            Node const *const nodes = trie_.nodes_.data();
            for (std::size_t const size = trie_.nodes_.size(); place < size && nodes[place].parent != free_k; ++place)
                ++taken;
            if (!reach(place)) return false;
            base = place ^ children.labels[0];
            std::size_t i = 1;
            while (i != children.count && is_free(base ^ children.labels[i])) ++i;
            if (i == children.count) break;
        }
        if (place - cursor_ > 64 && taken * 16 > (place - cursor_) * 15) cursor_ = place;
        return true;
    }

  public:
    explicit Builder(Trie &trie) noexcept : trie_(trie) {}

    enum class Taken : std::uint8_t { all, unsorted, too_large };
    /// Takes keys that are sorted, each once; an empty one is left out.
    [[nodiscard]] Taken take(List<Entry> const &entries) {
        std::size_t const count = entries.size();
        std::size_t size = 0, kept = 0, nodes = 1;
        for (Entry const &entry : entries) size += entry.key.size();
        if (size > UINT32_MAX) return Taken::too_large;
        bytes_.clear(), bytes_.reserve(size);
        firsts_.resize(count + 1), values_.resize(count);
        std::string_view before;
        for (std::size_t i = 0; i != count; ++i) {
            auto const &[key, value] = entries[i];
            fetch_ahead(entries, i);
            if (key.empty()) continue;
            std::size_t const common = shared(key, before, 0);
            if (common == key.size() ||
                (common != before.size() && std::char_traits<char>::lt(key[common], before[common])))
                return Taken::unsorted;
            nodes += key.size() - common;
            firsts_[kept] = static_cast<std::uint32_t>(bytes_.size()), values_[kept++] = value;
            bytes_ += key;
            before = std::string_view(bytes_).substr(firsts_[kept - 1]);
        }
        firsts_[kept] = static_cast<std::uint32_t>(size);
        values_.resize(kept);
        nodes += nodes / 16 + 512; // most that stay free
        trie_.nodes_.reserve(nodes), trie_.values_.reserve(nodes);
        return Taken::all;
    }
    /// Makes the nodes. False: too many.
    [[nodiscard]] bool build() {
        if (values_.empty()) return true;
        List<Range> waiting{{0, values_.size(), 0, 0}};
        Children children;
        while (!waiting.empty()) {
            auto [first, last, depth, node] = waiting.back();
            waiting.pop_back();
            while (first != last) { // what all keys share, as the first and the last do
                if (size_of(first) == depth) {
                    end(node, first++);
                    continue;
                }
                std::size_t const next = shared(key_at(first), key_at(last - 1), depth);
                if (next == depth) break;
                if (!follow(first, depth, next, node)) return false;
                depth = next;
            }
            if (first == last) continue;
            list(first, last, depth, children);
            std::size_t base = 0;
            if (!find_room(children, base)) return false;
            trie_.nodes_[node].base |= static_cast<std::uint32_t>(base);
            for (std::size_t i = 0; i != children.count; ++i) {
                auto const child = static_cast<std::uint32_t>(base ^ children.labels[i]);
                trie_.nodes_[child].parent = node;
                waiting.push_back({children.firsts[i], children.firsts[i + 1], depth + 1, child});
            }
        }
        return true;
    }
};

inline bool Trie::build(List<Entry> const &entries) {
    nodes_.assign(256, Node{}), values_.assign(256, 0);
    nodes_[0].parent = root_parent_k;
    Builder builder(*this);
    auto taken = builder.take(entries);
    if (taken == Builder::Taken::unsorted) {
        List<Entry> sorted = entries;
        std::size_t kept = 0;
        if (!sort(sorted)) {
            for (Entry const &entry : sorted)
                if (kept == 0 || entry.key != sorted[kept - 1].key) sorted[kept++] = entry;
            sorted.resize(kept);
        }
        taken = builder.take(sorted);
    }
    if (taken == Builder::Taken::all && builder.build()) return true;
    return build({}), false;
}

} // namespace uform

#endif // UFORM_TEXT_TRIE_HPP
