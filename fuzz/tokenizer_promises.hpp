/// What every tokenizer promises of every text, checked.
#ifndef UFORM_FUZZ_TOKENIZER_PROMISES_HPP
#define UFORM_FUZZ_TOKENIZER_PROMISES_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "invariants.hpp"
#include "uform/text/tokenizer.hpp"
#include "uform/text/utf8.hpp"

namespace fuzz {

using Ids = std::vector<std::uint32_t>;

/// Checks one tokenizer, call by call, with a scratch that each call leaves as it was used.
class TokenizerPromises {
    uform::Tokenizer const &tokenizer_;
    uform::TokenizerScratch scratch_;
    Ids specials_; // the ids of an empty text

    static Ids ids_in(uform::Buffer<std::uint32_t> const &buffer, std::size_t first) {
        return {buffer.begin() + first, buffer.end()};
    }
    // Whether `part` is `whole` without `cut` tokens before the special tokens at its end.
    bool is_cut(Ids const &part, Ids const &whole, std::size_t cut) const {
        if (part.size() + cut != whole.size() || part.size() < specials_.size()) return false;
        for (std::size_t last = 0; last <= specials_.size(); ++last) { // how many of them stand at the end
            auto const kept = static_cast<std::ptrdiff_t>(part.size() - last),
                       behind = static_cast<std::ptrdiff_t>(last);
            if (std::equal(specials_.end() - behind, specials_.end(), whole.end() - behind) &&
                std::equal(part.begin(), part.begin() + kept, whole.begin()) &&
                std::equal(part.begin() + kept, part.end(), whole.end() - behind))
                return true;
        }
        return false;
    }

  public:
    /// The tokenizer must outlive this object.
    explicit TokenizerPromises(uform::Tokenizer const &tokenizer) : tokenizer_(tokenizer) {
        auto const empty = tokenizer_.encode("");
        require(empty.has_value(), "an empty text is encoded");
        specials_ = *empty;
        require(specials_.size() == tokenizer_.special_tokens_count(), "an empty text has the special tokens alone");
    }
    uform::Tokenizer const &tokenizer() const { return tokenizer_; }

    /// The ids of a text, as a scratch of its own makes them; counted, traced and named alike.
    Ids check_text(std::string_view text) {
        auto const encoded = tokenizer_.encode(text);
        require(encoded.has_value(), "a text is encoded");
        Ids const &ids = *encoded;
        auto const count = tokenizer_.count(text);
        require(count && *count == ids.size(), "count is the number of ids");
        for (std::uint32_t id : ids) {
            require(id < tokenizer_.vocabulary_size(), "ids are below the vocabulary's size");
            require(tokenizer_.token(id).has_value(), "each id has a token");
        }

        uform::Buffer<std::uint32_t> buffer;
        require(buffer.push_back(7), "there is memory");
        auto const cut = tokenizer_.encode_into(text, SIZE_MAX, buffer, scratch_);
        require(cut && *cut == 0 && buffer[0] == 7 && ids_in(buffer, 1) == ids, "a used scratch makes the same ids");

        uform::Buffer<uform::Token> tokens;
        auto const traced = tokenizer_.encode_tokens_into(text, SIZE_MAX, tokens, scratch_);
        require(traced && *traced == 0 && tokens.size() == ids.size(), "there are as many tokens as ids");
        for (std::size_t i = 0; i != tokens.size(); ++i) {
            require(tokens[i].id == ids[i], "tokens have the ids");
            require(tokens[i].first <= tokens[i].last && tokens[i].last <= text.size(),
                    "bytes of tokens are the text's");
        }
        return ids;
    }

    /// At most `most` tokens: what is cut is told, and the special tokens stay.
    void check_limit(std::string_view text, Ids const &ids, std::size_t most) {
        uform::Buffer<std::uint32_t> buffer;
        uform::Buffer<uform::Token> tokens;
        require(buffer.push_back(7), "there is memory");
        auto const cut = tokenizer_.encode_into(text, most, buffer, scratch_);
        auto const traced = tokenizer_.encode_tokens_into(text, most, tokens, scratch_);
        require(cut.has_value() == traced.has_value(), "a limit is refused for ids and for tokens alike");
        require(cut.has_value() == (most >= specials_.size()), "a limit is refused below the special tokens");
        if (!cut) {
            require(cut.error().status() == uform::Status::invalid_argument, "a refused limit is an invalid argument");
            require(buffer.size() == 1 && tokens.empty(), "a refused call appends nothing");
            return;
        }
        Ids const kept = ids_in(buffer, 1);
        require(kept.size() == std::min(most, ids.size()) && *cut == *traced, "as many tokens are kept as may be");
        require(is_cut(kept, ids, *cut), "what is cut is the end of the text");
        require(tokens.size() == kept.size(), "tokens are cut as ids are");
        for (std::size_t i = 0; i != kept.size(); ++i) require(tokens[i].id == kept[i], "tokens are cut as ids are");
    }

    /// Two texts of so many ids each, special ones included.
    void check_pair(std::string_view first, std::size_t first_ids, std::string_view second, std::size_t second_ids,
                    std::size_t most, uform::PairTruncation truncation) {
        uform::Buffer<std::uint32_t> ids;
        uform::Buffer<std::uint8_t> segments;
        require(ids.push_back(7) && segments.push_back(7), "there is memory");
        auto const cut = tokenizer_.encode_pair_into(first, second, most, truncation, ids, &segments, scratch_);
        std::size_t const specials = tokenizer_.pair_special_tokens_count();
        if (!cut) {
            auto const status = cut.error().status();
            require(status == uform::Status::unsupported || status == uform::Status::invalid_argument,
                    "a pair is refused as unsupported or as an invalid argument");
            require(status == uform::Status::unsupported || most != SIZE_MAX,
                    "a pair without limit isn't refused for it");
            require(ids.size() == 1 && segments.size() == 1, "a refused pair appends nothing");
            return;
        }
        std::size_t const whole = first_ids + second_ids - 2 * specials_.size() + specials;
        std::size_t const kept = ids.size() - 1;
        require(segments.size() == ids.size() && ids[0] == 7 && segments[0] == 7, "ids have a segment each");
        require(kept <= most && kept + cut->first + cut->second == whole, "what is kept and what is cut is the pair");
        require(most < whole || kept == whole, "a pair that fits isn't cut");
        for (std::size_t i = 1; i != ids.size(); ++i)
            require(ids[i] < tokenizer_.vocabulary_size(), "ids of pairs are below the vocabulary's size");
    }

    /// The text of ids, or nothing where the file's decoder isn't served.
    std::string check_decode(std::span<std::uint32_t const> ids, bool skip_special) const {
        auto const text = tokenizer_.decode(ids, skip_special);
        require(text || text.error().status() == uform::Status::unsupported, "a decoder is served or it isn't");
        if (!text) return {};
        require(uform::utf8::valid_prefix(*text) == text->size(), "what is decoded is UTF-8");
        return *text;
    }
};

} // namespace fuzz

#endif // UFORM_FUZZ_TOKENIZER_PROMISES_HPP
