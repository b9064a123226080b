/// Ids of byte-level BPE, Unigram and cased WordPiece against the reference's, and inputs of a megabyte.
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sha256.hpp"
#include "text_codepoints.hpp"
#include "text_files.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/text/reference_number.hpp"

static std::vector<std::string> const kinds = {"roberta", "modernbert", "xlm-roberta", "bert-cased"};

static std::string folder_of(std::string const &kind) { return data_path("text/" + kind); }

static void take_list(Sha256 &sha, uform::Buffer<std::uint32_t> const &list) {
    sha.take_u32(static_cast<std::uint32_t>(list.size()));
    for (std::uint32_t number : list) sha.take_u32(number);
}

// A digest as eight numbers, the first bytes of each first.
static std::string hexadecimal(std::vector<std::uint32_t> const &numbers, std::size_t first) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = first; i != first + 8; ++i)
        for (int shift = 28; shift >= 0; shift -= 4) text += digits[numbers[i] >> shift & 15];
    return text;
}

TEST_CASE("random strings of four kinds of tokenizers") {
    auto const texts = read_texts(data_path("text/fuzz.jsonl"));
    REQUIRE(texts.size() == 2000);
    for (std::string const &kind : kinds) {
        INFO(kind);
        uform::Tokenizer const tokenizer = load(folder_of(kind));
        auto const expected = Golden(folder_of(kind) + "/golden.safetensors").ids();
        REQUIRE(expected.size() == texts.size());
        uform::Buffer<std::uint32_t> ids;
        uform::Buffer<uform::Token> tokens;
        uform::TokenizerScratch scratch;
        for (std::size_t i = 0; i != texts.size(); ++i) {
            ids.clear(), tokens.clear();
            REQUIRE(tokenizer.encode_into(texts[i], SIZE_MAX, ids, scratch));
            Ids const found(ids.begin(), ids.end());
            if (found != expected[i]) {
                INFO("text " << i << ": " << texts[i]);
                CHECK(found == expected[i]);
            }
            // The way that asks for bytes is another, and its ids are the same.
            REQUIRE(tokenizer.encode_tokens_into(texts[i], SIZE_MAX, tokens, scratch));
            Ids traced;
            for (uform::Token const &token : tokens) {
                traced.push_back(token.id);
                if (token.first > token.last || token.last > texts[i].size()) FAIL("text " << i);
            }
            if (traced != expected[i]) FAIL("text " << i << ": " << texts[i]);
            if (tokenizer.count(texts[i]).value() != expected[i].size()) FAIL("text " << i);
        }
    }
}

TEST_CASE("texts in many scripts of four kinds of tokenizers") {
    auto const texts = read_texts(data_path("text/texts.jsonl"));
    REQUIRE(texts.size() == 1100);
    for (std::string const &kind : kinds) {
        INFO(kind);
        uform::Tokenizer const tokenizer = load(folder_of(kind));
        auto const digests = Golden(folder_of(kind) + "/golden.safetensors").tensor("digests");
        REQUIRE(digests.size() == texts.size() / 20 * 8);
        uform::Buffer<std::uint32_t> ids;
        uform::TokenizerScratch scratch;
        for (std::size_t block = 0; block != texts.size() / 20; ++block) {
            Sha256 sha;
            for (std::size_t i = block * 20; i != block * 20 + 20; ++i) {
                ids.clear();
                REQUIRE(tokenizer.encode_into(texts[i], SIZE_MAX, ids, scratch));
                take_list(sha, ids);
            }
            INFO("texts from " << block * 20);
            CHECK(sha.hex() == hexadecimal(digests, block * 8));
        }
    }
}

TEST_CASE("pairs of texts, cut by each truncation to limits of 0 to 39") {
    auto const texts = read_texts(data_path("text/fuzz.jsonl"));
    uform::PairTruncation const truncations[] = {uform::PairTruncation::longest_first,
                                                 uform::PairTruncation::only_first, uform::PairTruncation::only_second};
    for (std::string const &kind : kinds) {
        INFO(kind);
        uform::Tokenizer const tokenizer = load(folder_of(kind));
        uform::Buffer<std::uint32_t> ids;
        uform::Buffer<std::uint8_t> segments;
        uform::TokenizerScratch scratch;
        Sha256 sha;
        for (std::size_t i = 0; i != texts.size(); ++i) {
            std::string const &first = texts[i], &second = texts[(i * 7 + 3) % texts.size()];
            ids.clear(), segments.clear();
            auto const cut =
                tokenizer.encode_pair_into(first, second, i * 13 % 40, truncations[i % 3], ids, &segments, scratch);
            if (!cut) {
                CHECK(cut.error().status() == uform::Status::invalid_argument);
                CHECK(ids.empty());
                CHECK(segments.empty());
                sha.take_u32(1), sha.take_u32(0xFFFFFFFF);
                continue;
            }
            take_list(sha, ids);
            REQUIRE(segments.size() == ids.size());
            sha.take_u32(static_cast<std::uint32_t>(segments.size()));
            for (std::uint8_t segment : segments) sha.take_u32(segment);
            std::size_t const whole = tokenizer.count(first).value() + tokenizer.count(second).value() -
                                      2 * tokenizer.special_tokens_count() + tokenizer.pair_special_tokens_count();
            if (ids.size() + cut->first + cut->second != whole) FAIL("pair " << i);
        }
        CHECK(sha.hex() == hexadecimal(Golden(folder_of(kind) + "/golden.safetensors").tensor("pairs"), 0));
    }
}

TEST_CASE("every Unicode scalar value of four kinds of tokenizers") {
    for (std::string const &kind : kinds) {
        INFO(kind);
        compare_codepoints(load(folder_of(kind)), folder_of(kind) + "/codepoints.json");
    }
}

TEST_CASE("words of a megabyte") {
    constexpr std::size_t megabyte = 1u << 20;
    std::string mixed;
    for (std::uint32_t state = 1; mixed.size() < megabyte; state = state * 1664525 + 1013904223)
        mixed += static_cast<char>('a' + (state >> 24) % 26);
    for (std::string const &kind : kinds) {
        INFO(kind);
        uform::Tokenizer const tokenizer = load(folder_of(kind));
        for (std::string const &text : {std::string(megabyte, 'a'), mixed, std::string(megabyte, ' '),
                                        std::string(megabyte, '!'), std::string(megabyte, '\xFF')}) {
            auto const ids = tokenizer.encode(text);
            REQUIRE(ids);
            CHECK(ids->size() >= 2);
            // What byte-level tokens stand for is the text.
            if ((kind == "roberta" || kind == "modernbert") && text[0] != '\xFF')
                CHECK(tokenizer.decode(*ids).value() == text);
        }
    }
}

TEST_CASE("scores are the numbers that the reference reads") {
    std::string const path = data_path("text/numbers.txt"), all = read_file(path); // a number and its bits a line
    std::string array = "[";
    uform::List<std::uint64_t> wanted;
    for (std::size_t at = 0; at != all.size();) {
        std::size_t const blank = all.find(' ', at), end = all.find('\n', blank);
        array += (at ? "," : "") + all.substr(at, blank - at);
        wanted.push_back(std::stoull(all.substr(blank + 1, end - blank - 1), nullptr, 16));
        at = end + 1;
    }
    auto const json = uform::Json::parse(array + "]", path);
    REQUIRE(json);
    REQUIRE(json->root().size() == wanted.size());
    std::size_t others = 0;
    for (std::size_t i = 0; i != wanted.size(); ++i) {
        uform::JsonValue const number = json->root()[i];
        INFO(number.number_text().value_or("an integer") << " = " << number.number().value());
        CHECK(std::bit_cast<std::uint64_t>(uform::reference_number(number).value()) == wanted[i]);
        others += std::bit_cast<std::uint64_t>(number.number().value()) != wanted[i];
    }
    CHECK(wanted.size() == 470);
    CHECK(others > 60); // which are not the nearest
}

TEST_CASE("bytes of tokens lead back to the text") {
    uform::Tokenizer const tokenizer = load(folder_of("bert-cased"));
    uform::Buffer<uform::Token> tokens;
    uform::TokenizerScratch scratch;
    std::string const text = "the\xFF the";
    REQUIRE(tokenizer.encode_tokens_into(text, SIZE_MAX, tokens, scratch));
    REQUIRE(tokens.size() == 4); // U+FFFD, which stands for the byte that is not UTF-8, is cleaned away
    CHECK(text.substr(tokens[1].first, tokens[1].last - tokens[1].first) == "the");
    CHECK(text.substr(tokens[2].first, tokens[2].last - tokens[2].first) == "the");
    CHECK(tokens[0].first == tokens[0].last);
    CHECK(tokenizer.token(tokens[1].id) == std::string_view("the"));
}
