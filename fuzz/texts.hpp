/// The target of arbitrary texts: every tokenizer keeps its promises of them.
#ifndef UFORM_FUZZ_TEXTS_HPP
#define UFORM_FUZZ_TEXTS_HPP

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "invariants.hpp"
#include "tokenizer_promises.hpp"
#include "uform/buffer.hpp"
#include "uform/tape.hpp"
#include "uform/text/tokenizer.hpp"
#include "uform/text/utf8.hpp"

namespace fuzz {

/// A tokenizer of the test data, loaded once.
struct LoadedTokenizer {
    char const *name;
    bool lowercase_first;
    bool gives_back; ///< texts without added tokens decode to themselves: byte-level tokens, and no normaliser
    uform::Tokenizer tokenizer;
};

inline LoadedTokenizer load_tokenizer(char const *name, bool lowercase_first, bool gives_back) {
    auto loaded = uform::Tokenizer::load(std::string(UFORM_SOURCE_ROOT "/tests/data/") + name,
                                         {.lowercase_first = lowercase_first});
    require(loaded.has_value(), "a tokenizer of the test data is loaded");
    return {name, lowercase_first, gives_back, *std::move(loaded)};
}

/// An input is a byte that chooses the tokenizer, a limit, a way to cut pairs, a byte that ends a text, and texts.
inline void run_texts(std::uint8_t const *data, std::size_t size) {
    static LoadedTokenizer const tokenizers[] = {
        load_tokenizer("tiny", false, false),
        load_tokenizer("text/bert-cased", false, false),
        load_tokenizer("text/roberta", false, true),
        load_tokenizer("text/modernbert", false, false),
        load_tokenizer("text/xlm-roberta", false, false),
        load_tokenizer("tiny-cased", true, false),
    };
    Input input(data, size);
    LoadedTokenizer const &chosen = tokenizers[input.byte() % std::size(tokenizers)];
    std::size_t const most = input.byte();
    auto const truncation = static_cast<uform::PairTruncation>(input.byte() % 3);
    auto const separator = static_cast<char>(input.byte());
    std::vector<std::string> texts; // each in a block of its own, past whose end nothing may be read
    while (!input.rest().empty() && texts.size() != 64) {
        texts.emplace_back(input.part(separator));
        texts.back().shrink_to_fit();
    }
    uform::Tokenizer const &tokenizer = chosen.tokenizer;
    TokenizerPromises promises(tokenizer);

    std::vector<Ids> all;
    for (std::size_t i = 0; i != texts.size(); ++i) {
        Ids const ids = promises.check_text(texts[i]);
        promises.check_limit(texts[i], ids, most);
        if (i != 0) promises.check_pair(texts[i - 1], all[i - 1].size(), texts[i], ids.size(), most, truncation);
        promises.check_pair(texts[i], ids.size(), texts[0], i == 0 ? ids.size() : all[0].size(), SIZE_MAX, truncation);
        (void)promises.check_decode(ids, true);
        std::string const decoded = promises.check_decode(ids, false);
        if (chosen.gives_back) {
            // The special tokens are one at the beginning and one at the end.
            bool plain = true;
            for (std::size_t j = 1; j + 1 < ids.size(); ++j) plain = plain && tokenizer.token(ids[j])->front() != '<';
            uform::Buffer<char> wanted;
            require(uform::utf8::repair(texts[i], wanted), "there is memory");
            if (plain)
                require(decoded == "<s>" + std::string(wanted.begin(), wanted.end()) + "</s>",
                        "byte-level tokens decode to their text");
        }
        all.push_back(ids);
    }

    // The texts of a tape, one behind the other in one buffer, have the ids that each has alone.
    auto const tape = uform::Tape::from(texts);
    require(tape.has_value(), "there is memory");
    uform::TapeView const view = *tape;
    uform::Buffer<std::uint32_t> together;
    uform::TokenizerScratch scratch;
    for (std::size_t i = 0; i != view.size(); ++i) {
        std::size_t const first = together.size();
        auto const cut = tokenizer.encode_into(view[i], SIZE_MAX, together, scratch);
        require(cut && Ids(together.begin() + first, together.end()) == all[i],
                "a text in a tape has the ids it has alone");
    }
}

} // namespace fuzz

#endif // UFORM_FUZZ_TEXTS_HPP
