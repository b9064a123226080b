/// The BPE model: a word begins as its characters, and pairs merge by rank until none is left.
#ifndef UFORM_TEXT_BPE_HPP
#define UFORM_TEXT_BPE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/list.hpp"
#include "uform/sort.hpp"
#include "uform/text/merge_table.hpp"
#include "uform/text/token_table.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// What the BPE of a file says beside its tokens and merges.
struct BpeOptions {
    bool bytes = false;         ///< tokens are of bytes, and a word begins as its bytes
    bool ignore_merges = false; ///< a word that is a token is that token
    bool byte_fallback = false; ///< an unknown character becomes the tokens <0x00> to <0xFF> of its bytes
    bool fuse_unknown = false;  ///< unknown characters in a row are one token
    std::uint32_t unknown = TokenTable::none_k;
    std::string prefix, suffix; ///< of characters that don't begin a word, and of the one that ends it
};

/// Merges pairs of the lowest rank first, of equal ranks the leftmost.
///
/// Memory  allocated by `build` only, and the caller's scratch. Threads: any may use one at the same time, with a
///         `Scratch` each.
/// Source  Sennrich et al. 2016; Hugging Face tokenizers 0.23.3, `BPE`.
class Bpe {
    struct Symbol {
        std::uint32_t id;
        std::uint32_t size; // bytes; 0: merged into another
        std::uint32_t before, after;
    };
    static constexpr std::uint32_t end_k = UINT32_MAX;
    static constexpr std::size_t few_k = 48; // symbols up to which looking at all pairs is quicker than a heap

    TokenTable tokens_; // marked where the merges make a token of its own text
    MergeTable merges_;
    List<std::uint32_t> made_; // by rank, the token that a merge makes
    BpeOptions options_;
    std::array<std::uint32_t, 256> bytes_{};    // tokens of one byte, where those are the characters
    std::array<std::uint32_t, 256> fallback_{}; // tokens of an unknown character's bytes

  public:
    /// Memory of a call, kept by the caller.
    struct Scratch {
        Buffer<Symbol> symbols;
        Buffer<std::uint64_t> candidates; ///< the rank of each, and below it the place of its left symbol
        Buffer<std::uint64_t> room;       ///< to sort them in
        Buffer<char> spelling;            ///< a character with prefix and suffix
    };

    /// `tokens` has every token once, as bytes where `options.bytes`; merges have the ranks from 0 on, once each.
    /// False: too large.
    [[nodiscard]] bool build(List<Trie::Entry> const &tokens, List<MergeTable::Merge> const &merges,
                             BpeOptions options) {
        options_ = std::move(options);
        if (!tokens_.build(tokens)) return false;
        merges_.build(merges);
        made_.assign(merges.size(), 0);
        for (MergeTable::Merge const &merge : merges) made_[merge.rank] = merge.id;
        bytes_.fill(TokenTable::none_k), fallback_.fill(TokenTable::none_k);
        static constexpr char digits[] = "0123456789ABCDEF";
        for (std::size_t i = 0; i != 256; ++i) {
            char const byte = static_cast<char>(static_cast<unsigned char>(i));
            if (options_.bytes) bytes_[i] = tokens_.find({&byte, 1});
            char const spelled[] = {'<', '0', 'x', digits[i / 16], digits[i % 16], '>'};
            if (options_.byte_fallback) fallback_[i] = tokens_.find({spelled, sizeof spelled});
        }
        Scratch scratch;
        for (Trie::Entry const &entry : tokens) {
            if (entry.key.empty() || entry.key.size() > 64) continue;    // rare as a word
            if (!begin(entry.key, scratch) || !merge(scratch)) continue; // no memory to see it: the long way serves
            Buffer<Symbol> const &made = scratch.symbols;
            if (made.size() == 1 && made[0].id == entry.value && made[0].size == entry.key.size())
                tokens_.mark(entry.key);
        }
        return true;
    }
    /// Whether every byte is a token, so that no text has an unknown character.
    [[nodiscard]] bool knows_all_bytes() const noexcept {
        for (std::uint32_t id : bytes_)
            if (id == TokenTable::none_k) return false;
        return true;
    }

    /// Hands the tokens of a word to `sink.take(id, first, last)`, with the bytes that each stands for.
    ///
    /// Errors  false: no memory. Takes time linear in the word, but for a logarithm of a long one's length.
    template <class Sink>
    [[nodiscard]] bool append(std::string_view word, Sink &sink, Scratch &scratch) const noexcept {
        TokenTable::Found const found = tokens_.find_marked(word);
        if (found.id != TokenTable::none_k && (options_.ignore_merges || found.marked))
            return sink.take(found.id, 0, word.size());
        if (!begin(word, scratch) || !merge(scratch)) return false;
        std::size_t at = 0;
        for (Symbol const &symbol : scratch.symbols) {
            if (symbol.size == 0) continue;
            if (!sink.take(symbol.id, at, at + symbol.size)) return false;
            at += symbol.size;
        }
        return true;
    }

  private:
    // The tokens of a word's characters.
    [[nodiscard]] bool begin(std::string_view word, Scratch &scratch) const noexcept {
        scratch.symbols.clear();
        if (word.size() >= end_k) return false;
        auto const add = [&](std::uint32_t id, std::size_t size) {
            auto const place = static_cast<std::uint32_t>(scratch.symbols.size());
            return scratch.symbols.push_back(
                {id, static_cast<std::uint32_t>(size), place == 0 ? end_k : place - 1, place + 1});
        };
        std::size_t unknown = 0; // bytes of an unknown token that waits
        bool fits = scratch.symbols.reserve(word.size());
        for (char const *at = word.data(), *const end = at + word.size(); fits && at != end;) {
            char const *const first = at;
            std::uint32_t id;
            std::string_view spelled;
            if (options_.bytes) {
                id = bytes_[static_cast<unsigned char>(*at++)];
                spelled = {first, 1};
            } else {
                utf8::skip(at);
                spelled = {first, static_cast<std::size_t>(at - first)};
                bool const prefix = first != word.data() && !options_.prefix.empty();
                bool const suffix = at == end && !options_.suffix.empty();
                if (prefix || suffix) {
                    scratch.spelling.clear();
                    if (prefix) fits = scratch.spelling.append(options_.prefix.data(), options_.prefix.size());
                    fits = fits && scratch.spelling.append(spelled.data(), spelled.size());
                    if (suffix) fits = fits && scratch.spelling.append(options_.suffix.data(), options_.suffix.size());
                    spelled = {scratch.spelling.data(), scratch.spelling.size()};
                }
                id = tokens_.find(spelled);
            }
            auto const size = static_cast<std::size_t>(at - first);
            if (id != TokenTable::none_k) {
                if (unknown != 0) fits = fits && add(options_.unknown, unknown), unknown = 0;
                fits = fits && add(id, size);
                continue;
            }
            bool falls_back = options_.byte_fallback;
            for (char byte : spelled)
                falls_back = falls_back && fallback_[static_cast<unsigned char>(byte)] != TokenTable::none_k;
            if (falls_back) { // in front of an unknown token that waits, as in the reference
                for (char byte : spelled) fits = fits && add(fallback_[static_cast<unsigned char>(byte)], 1);
            } else if (options_.unknown != TokenTable::none_k) {
                if (unknown != 0 && !options_.fuse_unknown) fits = fits && add(options_.unknown, unknown), unknown = 0;
                unknown += size;
            }
        }
        if (unknown != 0) fits = fits && add(options_.unknown, unknown);
        if (fits && !scratch.symbols.empty()) scratch.symbols.back().after = end_k;
        return fits;
    }
    [[nodiscard]] bool merge(Scratch &scratch) const noexcept {
        if (scratch.symbols.size() <= few_k) {
            merge_few(scratch.symbols);
            return true;
        }
        return merge_many(scratch);
    }
    // Looks at all pairs for each merge.
    void merge_few(Buffer<Symbol> &symbols) const noexcept {
        std::size_t count = symbols.size();
        if (count < 2) return;
        MergeTable::Merge const *pairs[few_k];
        for (std::size_t i = 0; i + 1 != count; ++i) pairs[i] = &merges_.find(symbols[i].id, symbols[i + 1].id);
        while (count > 1) {
            std::size_t best = 0;
            std::uint32_t rank = pairs[0]->rank;
            for (std::size_t i = 1; i + 1 < count; ++i)
                if (pairs[i]->rank < rank) best = i, rank = pairs[i]->rank;
            if (rank == MergeTable::none_k) break;
            symbols[best].id = pairs[best]->id, symbols[best].size += symbols[best + 1].size;
            --count;
            for (std::size_t i = best + 1; i < count; ++i) symbols[i] = symbols[i + 1];
            for (std::size_t i = best + 1; i + 1 < count; ++i) pairs[i] = pairs[i + 1];
            if (best + 1 < count) pairs[best] = &merges_.find(symbols[best].id, symbols[best + 1].id);
            if (best != 0) pairs[best - 1] = &merges_.find(symbols[best - 1].id, symbols[best].id);
        }
        symbols.truncate(count);
    }
    // Takes pairs by rank, of equal ranks the leftmost. Those of the word are sorted once, and those that merges make
    // wait in a heap of their own, which is smaller: most of the time goes there.
    [[nodiscard]] bool merge_many(Scratch &scratch) const noexcept {
        Buffer<Symbol> &symbols = scratch.symbols;
        Buffer<std::uint64_t> &pairs = scratch.candidates;
        pairs.clear();
        auto const add = [&](std::uint32_t place) {
            std::uint64_t const rank = merges_.find(symbols[place].id, symbols[symbols[place].after].id).rank;
            return rank == MergeTable::none_k || pairs.push_back(rank << 32 | place);
        };
        auto const earlier = [](std::uint64_t a, std::uint64_t b) noexcept { return a < b; };
        auto const later = [](std::uint64_t a, std::uint64_t b) noexcept { return a > b; };
        for (std::uint32_t i = 0; i + 1 < symbols.size(); ++i)
            if (!add(i)) return false;
        if (!scratch.room.resize(pairs.size())) return false;
        merge_sort(pairs.data(), scratch.room.data(), pairs.size(), earlier);
        std::size_t const sorted = pairs.size(); // where the heap begins
        auto const add_made = [&](std::uint32_t place) {
            std::size_t const before = pairs.size();
            if (!add(place)) return false;
            if (pairs.size() != before) heap_push(pairs.data() + sorted, pairs.size() - sorted, later);
            return true;
        };
        for (std::size_t next = 0; next != sorted || pairs.size() != sorted;) {
            std::uint64_t pair;
            if (pairs.size() == sorted || (next != sorted && pairs[next] < pairs[sorted])) {
                pair = pairs[next++];
            } else {
                heap_pop(pairs.data() + sorted, pairs.size() - sorted, later);
                pair = pairs.back();
                pairs.truncate(pairs.size() - 1);
            }
            auto const place = static_cast<std::uint32_t>(pair);
            Symbol &left = symbols[place];
            if (left.size == 0 || left.after == end_k) continue;
            Symbol &right = symbols[left.after];
            // It may be another pair by now, which counts only where it becomes the same token, as in the reference.
            MergeTable::Merge const &found = merges_.find(left.id, right.id);
            if (found.rank == MergeTable::none_k || found.id != made_[pair >> 32]) continue;
            left.id = found.id, left.size += right.size, left.after = right.after, right.size = 0;
            if (left.after != end_k) symbols[left.after].before = place;
            if (left.before != end_k && !add_made(left.before)) return false;
            if (left.after != end_k && !add_made(place)) return false;
        }
        std::size_t count = 0;
        for (Symbol const &symbol : symbols)
            if (symbol.size != 0) symbols[count++] = symbol;
        symbols.truncate(count);
        return true;
    }
};

} // namespace uform

#endif // UFORM_TEXT_BPE_HPP
