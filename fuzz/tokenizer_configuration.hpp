/// The target of arbitrary tokenizer files: they are refused by name, or make a tokenizer that keeps its promises.
#ifndef UFORM_FUZZ_TOKENIZER_CONFIGURATION_HPP
#define UFORM_FUZZ_TOKENIZER_CONFIGURATION_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "invariants.hpp"
#include "tokenizer_promises.hpp"
#include "uform/text/sentencepiece_model.hpp"
#include "uform/text/tokenizer.hpp"
#include "uform/text/vocab_txt.hpp"

namespace fuzz {

/// An input is a digit that says which files follow, then those, each but the last ended by a byte 0xFF; of an empty
/// one there is none:
///
///     0  tokenizer.json
///     1  tokenizer_config.json, tokenizer.json
///     2  tokenizer_config.json, special_tokens_map.json, added_tokens.json, vocab.txt
///     3  tokenizer_config.json, special_tokens_map.json, added_tokens.json, vocab.json, merges.txt
///     4  tokenizer_config.json, special_tokens_map.json, added_tokens.json, sentencepiece.bpe.model
///
/// Its highest bit asks for texts to be lower-cased first.
inline void run_tokenizer_configuration(std::uint8_t const *data, std::size_t size) {
    static Folder folder;
    folder.clear();
    Input input(data, size);
    std::uint8_t const kind = input.byte();
    // What is read where it lies is read from a block of its own size too: a sanitizer sees what passes its end.
    auto const exact = [&] { return std::vector<char>(input.rest().begin(), input.rest().end()); };
    constexpr char const *config = "tokenizer_config.json", *map = "special_tokens_map.json";
    bool complete = true; // without a file, a folder may be refused as one that can't be read
    switch (kind & 7) {
    case 1: complete = folder.write_all(input, {config, "tokenizer.json"}); break;
    case 2: {
        complete = folder.write_all(input, {config, map, "added_tokens.json", "vocab.txt"});
        std::vector<char> const text = exact();
        for (bool const is_mpnet : {false, true})
            (void)uform::VocabTxt::read(folder.path(), {text.data(), text.size()}, "vocab.txt", is_mpnet);
        break;
    }
    case 3: complete = folder.write_all(input, {config, map, "added_tokens.json", "vocab.json", "merges.txt"}); break;
    case 4: {
        complete = folder.write_all(input, {config, map, "added_tokens.json", "sentencepiece.bpe.model"});
        std::vector<char> const bytes = exact();
        (void)uform::SentencePieceModel::read({bytes.data(), bytes.size()}, "sentencepiece.bpe.model");
        break;
    }
    default: complete = folder.write_all(input, {"tokenizer.json"});
    }
    auto const loaded = uform::Tokenizer::load(folder.path(), {.lowercase_first = (kind & 0x80) != 0});
    if (!loaded) {
        std::string_view const message = loaded.error().message();
        require(message.find(folder.path()) != message.npos, "an error of loading names the file");
        using uform::Status;
        Status const status = loaded.error().status();
        require(status == Status::corrupt || status == Status::unsupported || (status == Status::io && !complete),
                "a file that is there is refused as corrupt or unsupported");
        return;
    }
    TokenizerPromises promises(*loaded);
    std::vector<std::string> texts = {
        "Hello, worlds! It's 12 o'clock.",
        "  the \xC3\xA9\x63o\xCC\x81le \xE4\xB8\xAD\xE6\x96\x87\xEF\xAC\x81 [MASK]<mask>\t\r\n\xC2\xA0",
        std::string("\xFF\xC3 a\x80\0\xED\xA0\x80z", 10),
        "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xEF\xB8\x8F \xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8 "
        "\xE2\x96\x81\xC4\xA0\xC4\xB0\xC3\x9F",
        "\xCC\x81 a\xCC\xA7\xCC\x81",
        std::string(70, 'a') + "\xCC\x81\xCC\x81",
    };
    // A text of the file's own tokens.
    std::string own;
    for (std::uint32_t id = 0; id != 12; ++id) own.append(loaded->token(id).value_or("")).append(id % 3 ? "" : " ");
    texts.push_back(std::move(own));

    std::string_view before;
    std::size_t before_size = loaded->special_tokens_count();
    for (std::string const &text : texts) {
        Ids const ids = promises.check_text(text);
        for (std::size_t most : {std::size_t{0}, std::size_t{2}, std::size_t{3}, ids.size() - 1, ids.size()})
            promises.check_limit(text, ids, most);
        for (std::size_t most : {std::size_t{5}, std::size_t{SIZE_MAX}})
            promises.check_pair(before, before_size, text, ids.size(), most, uform::PairTruncation::longest_first);
        promises.check_pair(text, ids.size(), before, before_size, 6, uform::PairTruncation::only_first);
        (void)promises.check_decode(ids, true);
        (void)promises.check_decode(ids, false);
        before = text, before_size = ids.size();
    }
    auto const top = static_cast<std::uint32_t>(loaded->vocabulary_size());
    std::uint32_t const odd[] = {0, 1, 2, 3, 4, 5, 6, 7, top - 1, top, UINT32_MAX, 0};
    (void)promises.check_decode(odd, false);
    (void)promises.check_decode({}, true);
}

} // namespace fuzz

#endif // UFORM_FUZZ_TOKENIZER_CONFIGURATION_HPP
