/// Folders without tokenizer.json: vocab.json with merges.txt, sentencepiece models, and vocab.txt by the class of the
/// tokenizer, against the reference; and
/// what is refused of them.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "sha256.hpp"
#include "text_files.hpp"
#include "uform/text/sentencepiece_model.hpp"

using uform::Status;

namespace {

/// A folder of files by their names.
using Files = std::vector<std::pair<std::string, std::string>>;

void write(MadeFolder &folder, Files const &files) {
    for (auto const &[name, text] : files) folder.write(name, text);
}

std::string digest_of(std::vector<std::uint32_t> const &numbers, std::size_t first) {
    static constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (std::size_t i = first; i != first + 8; ++i)
        for (int shift = 28; shift >= 0; shift -= 4) text += digits[numbers[i] >> shift & 15];
    return text;
}
template <class List> void take_list(Sha256 &sha, List const &list) {
    sha.take_u32(static_cast<std::uint32_t>(list.size()));
    for (auto number : list) sha.take_u32(static_cast<std::uint32_t>(number));
}

// A JSON value as text: what a case says of a file.
std::string text_of(uform::JsonValue value) {
    std::string text;
    if (value.is(uform::JsonKind::null)) return "null";
    if (auto const flag = value.boolean()) return *flag ? "true" : "false";
    if (auto const number = value.natural()) return std::to_string(*number);
    if (auto const name = value.string()) return "\"" + std::string(*name) + "\"";
    bool const is_object = value.is(uform::JsonKind::object);
    REQUIRE((is_object || value.is(uform::JsonKind::array)));
    for (std::size_t i = 0; i != value.size(); ++i) {
        if (i != 0) text += ",";
        if (is_object) text += "\"" + std::string(value.key(i)) + "\":";
        text += text_of(value[i]);
    }
    return is_object ? "{" + text + "}" : "[" + text + "]";
}

std::string layouts() { return data_path("text/layouts/"); }

void refused(Files const &files, Status status, std::vector<std::string> const &words) {
    MadeFolder folder;
    write(folder, files);
    auto const tokenizer = uform::Tokenizer::load(folder.path());
    REQUIRE_FALSE(tokenizer);
    std::string const message(tokenizer.error().message());
    INFO(message);
    CHECK(uform::status_name(tokenizer.error().status()) == uform::status_name(status));
    CHECK(message.find(folder.path() + "/") == 0);
    for (std::string const &word : words) {
        INFO(word);
        CHECK(message.find(word) != message.npos);
    }
}

// Protocol buffers, written by hand.
std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value >= 128; value >>= 7) bytes += static_cast<char>(static_cast<unsigned char>(value | 128));
    return bytes += static_cast<char>(value);
}
std::string number(unsigned field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string text(unsigned field, std::string const &bytes) {
    return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string score(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    std::string bytes(1, static_cast<char>(2 << 3 | 5));
    for (int i = 0; i != 4; ++i) bytes += static_cast<char>(static_cast<unsigned char>(bits >> (8 * i)));
    return bytes;
}
std::string piece(std::string const &name, float value, unsigned type) {
    return text(1, text(1, name) + score(value) + number(3, type));
}
// <unk>, <s>, </s>, then three pieces; the specs.
std::string const first_pieces = piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3);
std::string const last_pieces = piece("\xE2\x96\x81", -2, 1) + piece("a", -3, 1) +
                                piece("\xE2\x96\x81"
                                      "ab",
                                      -1, 1);
std::string const trainer = text(2, number(3, 1)), normalizer = text(3, text(1, "identity"));
std::string const small_model = first_pieces + last_pieces + trainer + normalizer;

std::string class_named(std::string const &name) { return "{\"tokenizer_class\":\"" + name + "\"}"; }

Files pieces_of(std::string const &model, std::string const &name = "XLMRobertaTokenizer") {
    return {{"sentencepiece.bpe.model", model}, {"tokenizer_config.json", class_named(name)}};
}
Files merges_of(std::string const &vocabulary, std::string const &merges) {
    return {
        {"vocab.json", vocabulary}, {"merges.txt", merges}, {"tokenizer_config.json", class_named("RobertaTokenizer")}};
}
std::string const names = "{\"<s>\":0,\"<pad>\":1,\"</s>\":2,\"<unk>\":3,\"<mask>\":4,\"a\":5,\"b\":6,\"ab\":7";

} // namespace

TEST_CASE("layouts: ids, bytes, decoded texts and pairs of folders without tokenizer.json") {
    auto const texts = read_texts(data_path("text/texts.jsonl"));
    REQUIRE(texts.size() == 1100);
    Golden const golden(layouts() + "golden.safetensors");
    std::string const all = read_file(layouts() + "cases.jsonl");
    std::size_t cases = 0, with_ids = 0;
    for (std::string_view rest = all; !rest.empty(); ++cases) {
        std::size_t const end = rest.find('\n');
        auto const json = uform::Json::parse(rest.substr(0, end), "cases.jsonl");
        REQUIRE(json);
        rest.remove_prefix(end + 1);
        std::string const name(json->root().find("case").string().value());
        std::string const vocabulary(json->root().find("vocabulary").string().value());
        INFO(name);
        MadeFolder folder;
        for (std::string const file : {"vocab.json", "merges.txt", "sentencepiece.bpe.model", "vocab.txt"})
            if (std::string const path = layouts() + vocabulary + "/" + file; uform::file_exists(path))
                folder.write(file, read_file(path));
        uform::JsonValue const files = json->root().find("files");
        for (std::size_t i = 0; i != files.size(); ++i) folder.write(std::string(files.key(i)), text_of(files[i]));
        uform::Tokenizer const tokenizer = load(folder.path());

        auto const digests = golden.tensor("digests." + name);
        REQUIRE(digests.size() == texts.size() / 20 * 8);
        uform::Buffer<std::uint32_t> ids;
        uform::Buffer<std::uint8_t> segments;
        uform::Buffer<uform::Token> tokens;
        uform::TokenizerScratch scratch;
        Sha256 block, traced, decoded, pairs;
        std::vector<Ids> found;
        for (std::size_t i = 0; i != texts.size(); ++i) {
            ids.clear(), tokens.clear();
            REQUIRE(tokenizer.encode_into(texts[i], SIZE_MAX, ids, scratch));
            REQUIRE(tokenizer.encode_tokens_into(texts[i], SIZE_MAX, tokens, scratch));
            found.emplace_back(ids.begin(), ids.end());
            take_list(block, ids);
            if (i % 20 == 19) {
                INFO("texts up to " << i);
                CHECK(block.hex() == digest_of(digests, i / 20 * 8));
                block = Sha256();
            }
            std::vector<std::size_t> ends;
            for (uform::Token const &token : tokens) ends.push_back(token.first), ends.push_back(token.last);
            take_list(traced, ends);
            auto const back = tokenizer.decode(ids.span());
            REQUIRE(back);
            std::vector<unsigned char> const bytes(back->begin(), back->end());
            take_list(decoded, bytes);
        }
        for (std::size_t i = 0; 7 * i + 3 < texts.size(); ++i) {
            ids.clear(), segments.clear();
            REQUIRE(tokenizer.encode_pair_into(texts[7 * i], texts[7 * i + 3], SIZE_MAX,
                                               uform::PairTruncation::longest_first, ids, &segments, scratch));
            take_list(pairs, ids), take_list(pairs, segments);
        }
        CHECK(traced.hex() == digest_of(golden.tensor("traced." + name), 0));
        CHECK(decoded.hex() == digest_of(golden.tensor("decoded." + name), 0));
        CHECK(pairs.hex() == digest_of(golden.tensor("pairs." + name), 0));
        if (name != "roberta" && name != "xlm-roberta" && name != "camembert" && name != "mpnet") continue;
        auto const expected = golden.ids("." + name);
        REQUIRE(expected.size() == 220);
        ++with_ids;
        for (std::size_t i = 0; i != expected.size(); ++i) {
            INFO("text " << 5 * i << ": " << texts[5 * i]);
            CHECK(found[5 * i] == expected[i]);
        }
    }
    CHECK(cases == 18);
    CHECK(with_ids == 4);
}

TEST_CASE("layouts: which files are read") {
    Files const merges = merges_of(names + "}", "a b\n"), pieces = pieces_of(small_model);
    MadeFolder folder;
    write(folder, merges);
    uform::Tokenizer const roberta = load(folder.path());
    CHECK(ids_of(roberta, "abab") == Ids{0, 7, 7, 2});
    CHECK(ids_of(roberta, "a<mask>b") == Ids{0, 5, 4, 6, 2});
    CHECK(roberta.decode(ids_of(roberta, "aab")).value() == "aab");
    CHECK(roberta.warnings().empty());

    folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\n"); // the class decides, not the order of names
    CHECK(ids_of(load(folder.path()), "abab") == Ids{0, 7, 7, 2});
    folder.write("tokenizer_config.json", class_named("BertTokenizerFast"));
    CHECK(ids_of(load(folder.path()), "a") == Ids{1, 3, 2});
    folder.write("tokenizer_config.json", "{}").write("config.json", "{\"model_type\":\"roberta\"}");
    CHECK(ids_of(load(folder.path()), "ab") == Ids{0, 7, 2});
    folder.write("config.json", "{\"model_type\":\"bert\",\"tokenizer_class\":\"RobertaTokenizer\"}");
    CHECK(ids_of(load(folder.path()), "ab") == Ids{0, 7, 2});
    folder.write("tokenizer.json", small_json({"a", "b"}, "null"));
    CHECK(ids_of(load(folder.path()), "a b") == Ids{1, 2});

    MadeFolder other;
    write(other, pieces);
    uform::Tokenizer const unigram = load(other.path()); // <s> <pad> </s> <unk> ▁ a ▁ab <mask>
    CHECK(ids_of(unigram, "ab a c") == Ids{0, 6, 4, 5, 4, 3, 2});
    CHECK(ids_of(unigram, "<mask>") == Ids{0, 7, 2});
    CHECK(unigram.vocabulary_size() == 8);
    CHECK(unigram.decode(ids_of(unigram, "ab a")).value() == "ab a");
    other.write("tokenizer_config.json", class_named("CamembertTokenizerFast"));
    // <s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED <s> </s> ▁ a ▁ab <mask>
    CHECK(ids_of(load(other.path()), "ab a <mask>") == Ids{5, 9, 7, 8, 10, 6});
    // Another name goes before, as in the reference.
    other.write("tokenizer.model", first_pieces +
                                       piece("\xE2\x96\x81"
                                             "ab",
                                             -1, 1) +
                                       trainer + normalizer);
    CHECK(ids_of(load(other.path()), "ab") == Ids{5, 7, 6});
}

TEST_CASE("layouts: folders of other classes, or of none, are refused by name") {
    std::string const vocabulary = names + "}";
    refused({{"vocab.json", vocabulary}, {"merges.txt", ""}}, Status::unsupported, {"vocab.json", "class"});
    refused({{"sentencepiece.bpe.model", small_model}}, Status::unsupported, {"sentencepiece.bpe.model", "class"});
    for (std::string const file : {"vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model"})
        refused({{file, vocabulary}, {"tokenizer_config.json", class_named("T5TokenizerFast")}}, Status::unsupported,
                {file, "T5Tokenizer,", "XLMRobertaTokenizer"});
    // What stands in vocab.txt is another class's affair, whatever the model is.
    std::string const lines = "[UNK]\n[CLS]\n[SEP]\na\n<s>\n</s>\n";
    for (std::string const name : {"BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer", "EsmTokenizer",
                                   "FunnelTokenizer", "TokenizersBackend", "PreTrainedTokenizerFast", "bertTokenizer"})
        refused({{"vocab.txt", lines},
                 {"config.json", "{\"model_type\":\"bert\"}"},
                 {"tokenizer_config.json", class_named(name)}},
                Status::unsupported, {"vocab.txt", name == "PreTrainedTokenizerFast" ? "PreTrainedTokenizer" : name});
    for (std::string const name :
         {"", "BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer", "ElectraTokenizer", "MobileBertTokenizer",
          "ConvBertTokenizer", "SqueezeBertTokenizer", "LayoutLMTokenizer", "LxmertTokenizer",
          "DPRContextEncoderTokenizer", "DPRQuestionEncoderTokenizer"}) {
        MadeFolder folder;
        folder.write("vocab.txt", lines).write("tokenizer_config.json", name.empty() ? "{}" : class_named(name));
        CHECK(ids_of(load(folder.path()), "a") == Ids{1, 3, 2});
        folder.write("tokenizer_config.json", class_named("MPNetTokenizer"));
        CHECK(ids_of(load(folder.path()), "a") == Ids{4, 3, 5});
    }
    refused({{"spiece.model", small_model}, {"tokenizer_config.json", class_named("XLMRobertaTokenizer")}},
            Status::unsupported, {"spiece.model", "XLMRobertaTokenizer", "sentencepiece.bpe.model"});
    refused({{"tokenizer_config.json", class_named("CamembertTokenizer")}}, Status::io, {"sentencepiece.bpe.model"});
    refused({{"tokenizer_config.json", class_named("RobertaTokenizer")}}, Status::io, {"vocab.json"});
    refused({{"tokenizer_config.json", class_named("BertTokenizer")}}, Status::io, {"tokenizer.json"});
    refused({{"vocab.json", vocabulary}, {"tokenizer_config.json", "{\"tokenizer_class\":7}"}}, Status::corrupt,
            {"tokenizer_config.json", "tokenizer_class"});
    refused({{"vocab.json", vocabulary}, {"config.json", "["}}, Status::corrupt, {"config.json"});
}

TEST_CASE("layouts: damaged vocab.json and merges.txt are refused with the place") {
    std::string const whole = names + "}";
    refused({{"vocab.json", whole}, {"tokenizer_config.json", class_named("RobertaTokenizer")}}, Status::io,
            {"merges.txt"});
    refused(merges_of(whole, "#version: 0.2\na b\na c\n"), Status::corrupt, {"merges.txt", "line 3", "'c'"});
    refused(merges_of(whole, "b a\n"), Status::corrupt, {"merges.txt", "line 1", "'ba'"});
    refused(merges_of(whole, "a b\n\na b\n"), Status::corrupt, {"merges.txt", "line 2"});
    refused(merges_of(whole, "a b \n"), Status::corrupt, {"merges.txt", "line 1", "'a b '"});
    refused(merges_of(whole, "a\n"), Status::corrupt, {"merges.txt", "line 1", "'a'"});
    refused(merges_of(whole, "a b\n\xFF b\n"), Status::corrupt, {"merges.txt", "byte 4", "UTF-8"});
    refused(merges_of("{}", ""), Status::corrupt, {"vocab.json", "empty"});
    refused(merges_of("", ""), Status::corrupt, {"vocab.json", "byte 0"});
    refused(merges_of("[\"a\"]", ""), Status::corrupt, {"vocab.json", "no object"});
    refused(merges_of("{\"<s>\":0,\"</s>\":\"1\"}", ""), Status::corrupt, {"vocab.json", "'</s>'"});
    refused(merges_of("{\"<s>\":0,\"</s>\":-1}", ""), Status::corrupt, {"vocab.json", "'</s>'"});
    refused(merges_of("{\"<s>\":0,\"</s>\":1.5}", ""), Status::corrupt, {"vocab.json", "'</s>'"});
    refused(merges_of("{\"<s>\":0,\"</s>\":2147483648}", ""), Status::unsupported, {"vocab.json", "'</s>'"});
    refused(merges_of(names + ",\"c\":7}", ""), Status::corrupt, {"vocab.json", "'ab'", "'c'", "7"});
    refused(merges_of("{\"a\":0,\"</s>\":1}", ""), Status::corrupt, {"vocab.json", "cls_token", "'<s>'"});
    refused(merges_of("{\"a\":0,\"<s>\":1}", ""), Status::corrupt, {"vocab.json", "sep_token", "'</s>'"});
    for (std::string const value : {"7", "\"yes\""}) {
        Files files = merges_of(whole, "a b\n");
        files[2].second = "{\"tokenizer_class\":\"RobertaTokenizer\",\"add_prefix_space\":" + value + "}";
        refused(files, Status::corrupt, {"tokenizer_config.json", "add_prefix_space"});
    }

    // Ids may leave gaps, until a new token would get the id of another.
    Files gap = merges_of(names + ",\"c\":10}", "a b\r\n");
    gap.emplace_back("added_tokens.json", "{\"<x>\":9}");
    MadeFolder folder;
    write(folder, gap);
    uform::Tokenizer const tokenizer = load(folder.path());
    CHECK(ids_of(tokenizer, "abc<x>") == Ids{0, 7, 10, 9, 2});
    CHECK(tokenizer.vocabulary_size() == 11);
    gap.back().second = "{\"<x>\":9,\"<y>\":11}";
    refused(gap, Status::corrupt, {"added_tokens.json", "'<y>'", "10", "'c'"});
}

TEST_CASE("layouts: roles, and tokens that no role has") {
    MadeFolder folder;
    write(folder, merges_of("{\"<s>\":0,\"</s>\":1,\"<pad>\":2,\"<unk>\":3,\"a\":4}", ""));
    uform::Tokenizer const without = load(folder.path());
    CHECK(ids_of(without, "a<mask>a") == Ids{0, 4, 4, 4, 1}); // characters that no token has are left out
    REQUIRE(without.warnings().size() == 1);
    CHECK(without.warnings()[0].find("mask_token") != std::string::npos);
    CHECK(without.vocabulary_size() == 5);
    // The mask's id stays free, as the reference would give it.
    folder.write("special_tokens_map.json", "{\"additional_special_tokens\":[\"<x>\"]}");
    CHECK(ids_of(load(folder.path()), "<x>") == Ids{0, 6, 1});
    folder.write("special_tokens_map.json", "{\"additional_special_tokens\":[\"<x>\",\"<mask>\"]}");
    CHECK(ids_of(load(folder.path()), "<x><mask>") == Ids{0, 6, 5, 1});
    folder.write("special_tokens_map.json", "{\"additional_special_tokens\":7}");
    auto const bad = uform::Tokenizer::load(folder.path());
    REQUIRE_FALSE(bad);
    CHECK(std::string(bad.error().message()).find("additional_special_tokens") != std::string::npos);
}

TEST_CASE("layouts: damaged sentencepiece models are refused with the place") {
    refused(pieces_of(""), Status::corrupt, {"sentencepiece.bpe.model", "no pieces"});
    refused(pieces_of(trainer + normalizer), Status::corrupt, {"no pieces"});
    refused(pieces_of(first_pieces + last_pieces), Status::corrupt, {"trainer_spec"});
    refused(pieces_of(first_pieces + last_pieces + trainer), Status::corrupt, {"normalizer_spec"});
    std::string const at = "byte " + std::to_string(first_pieces.size());
    auto const behind = [](std::string const &bytes) { return pieces_of(first_pieces + bytes + trainer + normalizer); };
    refused(behind(text(1, "")), Status::corrupt, {"piece 3", "missing"});
    refused(behind(piece("", 0, 1)), Status::corrupt, {"piece 3", "missing"});
    refused(behind(piece("a\xFF", 0, 1)), Status::corrupt,
            {"piece 3", "UTF-8", "byte " + std::to_string(first_pieces.size() + 5)});
    refused(behind(text(1, text(1, "a") + score(0.0f / std::strtof("0", nullptr)))), Status::corrupt,
            {"piece 3", "score"});
    refused(behind(piece("a", 0, 7)), Status::corrupt, {"piece 3", "type"});
    refused(behind(piece("a", 0, 0)), Status::corrupt, {"piece 3", "type"});
    refused(behind(std::string(1, '\x02')), Status::corrupt, {at, "number of a field"});
    refused(behind(std::string(1, '\x0B')), Status::corrupt, {at, "kind of a field"});
    refused(behind(std::string(1, '\x0F')), Status::corrupt, {at, "kind of a field"});
    refused(behind(std::string(11, '\x80')), Status::corrupt, {at, "64 bits"});
    refused(behind(varint(std::uint64_t{1} << 35)), Status::corrupt, {at, "number of a field"});
    refused(behind("\x20" + std::string(9, '\xFF') + "\x02"), Status::corrupt, {"64 bits"});
    refused(behind(varint(9 << 3 | 2) + varint(UINT64_MAX)), Status::corrupt, {"cut"});
    refused(pieces_of(first_pieces + last_pieces + trainer + text(3, text(2, "abc"))), Status::corrupt,
            {"precompiled_charsmap"});
    refused(pieces_of(first_pieces + last_pieces + trainer + text(3, text(2, std::string("\x08\0\0\0\0\0\0\0", 8)))),
            Status::corrupt, {"precompiled_charsmap"});
    for (auto const &[type, name] : {std::pair(2u, "BPE"), {3u, "WORD"}, {4u, "CHAR"}, {9u, "unknown"}})
        for (std::string const of : {"XLMRobertaTokenizer", "CamembertTokenizer"})
            refused(pieces_of(first_pieces + last_pieces + text(2, number(3, type)) + normalizer, of),
                    Status::unsupported, {"sentencepiece.bpe.model", name, std::to_string(type)});
    Files files = pieces_of(small_model);
    files[1].second = "{\"tokenizer_class\":\"XLMRobertaTokenizer\",\"pad_token\":null}";
    refused(files, Status::unsupported, {"tokenizer_config.json", "pad_token"});
    files[1].second = "{\"tokenizer_class\":\"XLMRobertaTokenizer\",\"add_prefix_space\":1}";
    refused(files, Status::corrupt, {"tokenizer_config.json", "add_prefix_space"});

    // Fields that nobody asks for, in any order and of any kind, are passed over.
    MadeFolder folder;
    write(folder, pieces_of(number(200, UINT64_MAX) + varint(5 << 3 | 1) + "12345678" + normalizer + trainer +
                            first_pieces + last_pieces + varint(9 << 3 | 5) + "1234" + text(4, "abc")));
    CHECK(ids_of(load(folder.path()), "ab") == Ids{0, 6, 2});
}

TEST_CASE("layouts: a sentencepiece model that is cut anywhere, or with any byte changed") {
    std::string const bytes = read_file(layouts() + "sentencepiece/sentencepiece.bpe.model");
    std::size_t const pieces = uform::SentencePieceModel::read(bytes, "whole")->pieces.size();
    CHECK(pieces == 700);
    std::size_t cut = 0;
    for (std::size_t size = 0; size != bytes.size(); ++size) {
        std::string const part(bytes, 0, size); // its own block, so that a read past its end is seen
        auto const model = uform::SentencePieceModel::read(std::string_view(part.data(), size), "part");
        cut += !model;
        if (model) {
            CHECK(model->pieces.size() == pieces); // only what stands behind all that is needed
            continue;
        }
        if (model.error().status() != Status::corrupt) FAIL("size " << size);
        if (model.error().message().find("byte") == std::string_view::npos) FAIL("size " << size);
    }
    CHECK(cut + 64 > bytes.size());
    std::size_t refusals = 0;
    for (std::size_t at = 0; at != bytes.size(); ++at) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1u << at % 8));
        auto const model = uform::SentencePieceModel::read(changed, "changed");
        refusals += !model;
        if (!model && model.error().status() != Status::corrupt) FAIL("byte " << at);
    }
    CHECK(refusals > bytes.size() / 4);
}
