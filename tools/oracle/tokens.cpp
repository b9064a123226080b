/// Answers what a tokenizer makes of texts, for fuzz_tokenizers.py: a line of answers for each line of input.
///
///     tokens FOLDER [ids | offsets | decode | decode_all | pairs] < LINES
///
/// A line is a text in hexadecimal. For `pairs` it is a limit, a truncation's name and two texts, with blanks between.
/// Exit status 1: the folder can't be loaded; 2: a text can't be encoded.
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include "uform/buffer.hpp"
#include "uform/text/tokenizer.hpp"

static std::string text_of(std::string_view hexadecimal) {
    std::string text;
    for (std::size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
        text += static_cast<char>(std::stoi(std::string(hexadecimal.substr(i, 2)), nullptr, 16));
    return text;
}

namespace {

/// A tokenizer and the memory of its calls.
class Answers {
    uform::Tokenizer tokenizer_;
    uform::TokenizerScratch scratch_;
    uform::Buffer<std::uint32_t> ids_;
    uform::Buffer<std::uint8_t> segments_;
    uform::Buffer<uform::Token> tokens_;

  public:
    explicit Answers(uform::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {}

    bool ids(std::string const &text, std::string &out) {
        ids_.clear();
        if (!tokenizer_.encode_into(text, SIZE_MAX, ids_, scratch_)) return false;
        for (std::uint32_t id : ids_) out += std::to_string(id) + ' ';
        return true;
    }
    bool offsets(std::string const &text, std::string &out) {
        tokens_.clear();
        if (!tokenizer_.encode_tokens_into(text, SIZE_MAX, tokens_, scratch_)) return false;
        for (uform::Token const &token : tokens_)
            out += std::to_string(token.id) + ':' + std::to_string(token.first) + '-' + std::to_string(token.last) +
                   ':' + std::to_string(token.segment) + ' ';
        return true;
    }
    bool decoded(std::string const &text, bool skip_special, std::string &out) {
        ids_.clear();
        if (!tokenizer_.encode_into(text, SIZE_MAX, ids_, scratch_)) return false;
        auto const back = tokenizer_.decode(ids_.span(), skip_special);
        if (!back) return false;
        static constexpr char digits[] = "0123456789abcdef";
        for (char byte : *back) {
            auto const value = static_cast<unsigned char>(byte);
            out += digits[value >> 4], out += digits[value & 15];
        }
        return true;
    }
    bool pair(std::string const &line, std::string &out) {
        std::istringstream words(line);
        std::size_t limit = 0;
        std::string name, first, second;
        words >> limit >> name;
        words.get();
        std::getline(words, first, ' '), std::getline(words, second);
        auto const truncation = name == "only_first"    ? uform::PairTruncation::only_first
                                : name == "only_second" ? uform::PairTruncation::only_second
                                                        : uform::PairTruncation::longest_first;
        ids_.clear(), segments_.clear();
        auto const cut =
            tokenizer_.encode_pair_into(text_of(first), text_of(second), limit, truncation, ids_, &segments_, scratch_);
        if (!cut) out += "ERR ";
        for (std::size_t i = 0; i != ids_.size(); ++i)
            out += std::to_string(ids_[i]) + ':' + std::to_string(segments_[i]) + ' ';
        return true;
    }
};

} // namespace

int main(int count, char *arguments[]) {
    std::string const mode = count > 2 ? arguments[2] : "ids";
    auto tokenizer = uform::Tokenizer::load(count > 1 ? arguments[1] : ".");
    if (!tokenizer) {
        std::fprintf(stderr, "%s\n", tokenizer.error().what());
        return 1;
    }
    Answers answers(*tokenizer);
    std::string line, out;
    while (std::getline(std::cin, line)) {
        bool const answered = mode == "pairs"     ? answers.pair(line, out)
                              : mode == "offsets" ? answers.offsets(text_of(line), out)
                              : mode == "ids"     ? answers.ids(text_of(line), out)
                                                  : answers.decoded(text_of(line), mode == "decode", out);
        if (!answered) return 2;
        out += '\n';
        std::fwrite(out.data(), 1, out.size(), stdout);
        out.clear();
    }
    return 0;
}
