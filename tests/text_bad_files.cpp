/// Damaged and unserved files of BPE, Unigram and WordLevel tokenizers: refused by name, with the place.
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "text_files.hpp"

using uform::Status;

namespace {

/// The parts of a tokenizer.json.
struct Parts {
    std::string normalizer = "null", pre_tokenizer = "null", post_processor = "null", added, model;
    std::string json() const {
        return "{\"version\":\"1.0\",\"added_tokens\":[" + added + "],\"normalizer\":" + normalizer +
               ",\"pre_tokenizer\":" + pre_tokenizer + ",\"post_processor\":" + post_processor + ",\"model\":" + model +
               "}";
    }
};

std::string bpe(std::string const &vocabulary, std::string const &merges, std::string const &more = "") {
    return "{\"type\":\"BPE\"," + more + "\"vocab\":{" + vocabulary + "},\"merges\":[" + merges + "]}";
}
std::string unigram(std::string const &vocabulary, std::string const &unknown) {
    return "{\"type\":\"Unigram\",\"unk_id\":" + unknown + ",\"vocab\":[" + vocabulary + "]}";
}

void refused(Parts const &parts, Status status, std::vector<std::string> words) {
    MadeFolder const folder(parts.json());
    INFO(parts.json());
    auto const tokenizer = uform::Tokenizer::load(folder.path());
    REQUIRE_FALSE(tokenizer);
    std::string const message(tokenizer.error().message());
    INFO(message);
    CHECK(uform::status_name(tokenizer.error().status()) == uform::status_name(status));
    words.push_back(folder.path() + "/tokenizer.json");
    for (std::string const &word : words) {
        INFO(word);
        CHECK(message.find(word) != message.npos);
    }
}

std::string const letters = "\"a\":0,\"b\":1,\"ab\":2";

} // namespace

TEST_CASE("damaged models are refused with the place") {
    auto const model = [](std::string text) {
        Parts parts;
        parts.model = std::move(text);
        return parts;
    };
    refused(model(bpe("", "")), Status::corrupt, {"vocab", "empty"});
    refused(model(bpe("\"a\":0,\"b\":0", "")), Status::corrupt, {"'a'", "'b'", "0"});
    refused(model(bpe(letters, "[\"a\",\"x\"]")), Status::corrupt, {"merge 0", "'x'"});
    refused(model(bpe(letters, "\"a b\",\"b a\"")), Status::corrupt, {"merge 1", "'ba'"});
    refused(model(bpe(letters, "\"a\"")), Status::corrupt, {"merge 0"});
    refused(model(bpe(letters, "\"a  b\"")), Status::corrupt, {"merge 0"});
    refused(model(bpe(letters, "[\"a\"]")), Status::corrupt, {"merge 0"});
    refused(model(bpe(letters, "7")), Status::corrupt, {"merge 0"});
    refused(model(bpe(letters, "\"a b\"", "\"continuing_subword_prefix\":\"##\",")), Status::corrupt, {"merge 0"});
    refused(model(bpe(letters, "", "\"dropout\":0.1,")), Status::unsupported, {"dropout"});
    refused(model(bpe(letters, "", "\"unk_token\":\"<unk>\",")), Status::corrupt, {"<unk>"});
    refused(model(bpe(letters, "", "\"fuse_unk\":1,")), Status::corrupt, {"fuse_unk"});
    refused(model("{\"type\":\"BPE\",\"vocab\":{\"a\":0}}"), Status::corrupt, {"merges"});
    refused(model("{\"type\":\"BPE\",\"vocab\":[],\"merges\":[]}"), Status::corrupt, {"vocab"});
    refused(model(unigram("", "0")), Status::corrupt, {"vocab", "empty"});
    refused(model(unigram("[\"a\",0]", "1")), Status::corrupt, {"unk_id", "1"});
    refused(model(unigram("[\"a\",0]", "null")), Status::unsupported, {"unk_id"});
    refused(model(unigram("[\"a\",0],[\"b\"]", "0")), Status::corrupt, {"piece 1"});
    refused(model(unigram("[\"a\",0],[2,\"b\"]", "0")), Status::corrupt, {"piece 1"});
    refused(model("{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":{}}"), Status::corrupt, {"vocab"});
    refused(model("{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"x\"}"), Status::corrupt, {"'x'"});
    refused(model("null"), Status::corrupt, {"model"});
}

TEST_CASE("components that are not served are refused by name, damaged ones with the place") {
    auto const check = [](std::string Parts::*part, std::string text, Status status, std::vector<std::string> words) {
        Parts parts;
        parts.model = bpe(letters, "\"a b\"");
        parts.*part = std::move(text);
        refused(parts, status, std::move(words));
    };
    auto const split = [](std::string const &pattern) {
        return "{\"type\":\"Split\",\"pattern\":" + pattern + ",\"behavior\":\"Isolated\",\"invert\":false}";
    };
    check(&Parts::pre_tokenizer, split("{\"Regex\":\"[a-z]+\"}"), Status::unsupported, {"[a-z]+", "Split"});
    check(&Parts::pre_tokenizer, split("{\"String\":\"\"}"), Status::unsupported, {"empty", "Split"});
    check(&Parts::pre_tokenizer, split("7"), Status::corrupt, {"Split"});
    check(&Parts::pre_tokenizer, "{\"type\":\"FixedLength\",\"length\":5}", Status::unsupported, {"FixedLength"});
    check(&Parts::pre_tokenizer, "{\"type\":\"Punctuation\",\"behavior\":\"Odd\"}", Status::unsupported, {"Odd"});
    check(&Parts::pre_tokenizer, "{\"type\":\"Digits\"}", Status::corrupt, {"individual_digits"});
    check(&Parts::pre_tokenizer, "{\"type\":\"CharDelimiterSplit\",\"delimiter\":\"ab\"}", Status::corrupt,
          {"delimiter"});
    check(&Parts::pre_tokenizer, "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"add_prefix_space\":false}",
          Status::corrupt, {"Metaspace"});
    check(&Parts::pre_tokenizer, "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"odd\"}",
          Status::unsupported, {"odd"});
    check(&Parts::pre_tokenizer, "{\"type\":\"Sequence\"}", Status::corrupt, {"pretokenizers"});
    check(&Parts::pre_tokenizer, "{}", Status::corrupt, {"type"});
    std::string many = "{\"type\":\"Sequence\",\"pretokenizers\":[";
    for (int i = 0; i != 9; ++i)
        many += std::string(i ? "," : "") +
                "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false}";
    check(&Parts::pre_tokenizer, many + "]}", Status::unsupported, {"8"});
    check(&Parts::normalizer, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"?\"}", Status::corrupt,
          {"precompiled_charsmap"});
    check(&Parts::normalizer, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"/////w==\"}", Status::corrupt,
          {"precompiled_charsmap"});
    check(&Parts::normalizer, "{\"type\":\"Precompiled\"}", Status::corrupt, {"precompiled_charsmap"});
    check(&Parts::normalizer, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"a+\"},\"content\":\"b\"}",
          Status::unsupported, {"a+", "Replace"});
    check(&Parts::normalizer, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\s+\"},\"content\":\"$0\"}",
          Status::unsupported, {"Replace"});
    // Steps that could make a text of a few bytes take all memory; the same number of others is served.
    std::string const twice = R"({"type":"Replace","pattern":{"String":"a"},"content":"aa"})";
    std::string const as_long = R"({"type":"Replace","pattern":{"String":"ab"},"content":"ba"})";
    std::string const bytes = R"({"type":"ByteLevel"})", form = R"({"type":"NFKD"})", canonical = R"({"type":"NFD"})";
    auto const times = [](std::size_t count, std::string const &step) {
        std::string steps = R"({"type":"Sequence","normalizers":[)";
        for (std::size_t i = 0; i != count; ++i) steps += (i ? "," : "") + step;
        return steps + "]}";
    };
    struct Limit {
        std::string const &step;
        std::size_t most; // the greatest power of its growth that isn't above 100,000
    };
    for (auto const &[step, most] : {Limit{twice, 16}, {bytes, 16}, {form, 4}, {canonical, 10}, {as_long, 1000}}) {
        Parts served;
        served.model = bpe(letters, "\"a b\""), served.normalizer = times(most, step);
        MadeFolder const folder(served.json());
        CHECK(uform::Tokenizer::load(folder.path()));
        check(&Parts::normalizer, times(most + 1, step), Status::unsupported, {most == 1000 ? "1000" : "100000 times"});
    }
    check(&Parts::normalizer,
          R"({"type":"Replace","pattern":{"String":"abc"},"content":")" + std::string(300'001, 'x') + "\"}",
          Status::unsupported, {"100000 times"});
    check(&Parts::normalizer, "{\"type\":\"Unicode\"}", Status::unsupported, {"Unicode"});
    check(&Parts::post_processor, "{\"type\":\"Odd\"}", Status::unsupported, {"Odd"});
    std::string const roberta = "{\"type\":\"RobertaProcessing\",\"sep\":[\"b\",1],\"cls\":[\"a\",9],"
                                "\"trim_offsets\":true,\"add_prefix_space\":true}";
    check(&Parts::post_processor, roberta, Status::corrupt, {"9"});
    check(&Parts::post_processor, "{\"type\":\"Sequence\",\"processors\":[" + roberta + "," + roberta + "]}",
          Status::unsupported, {"post_processors"});
}

TEST_CASE("a decoder that is not served is no matter until it is asked") {
    Parts parts;
    parts.model = bpe(letters, "\"a b\"") + ",\"decoder\":{\"type\":\"CTC\"}";
    MadeFolder const folder(parts.json());
    uform::Tokenizer const tokenizer = load(folder.path());
    CHECK(ids_of(tokenizer, "abba") == Ids{2, 1, 0});
    auto const text = tokenizer.decode(ids_of(tokenizer, "ab"));
    REQUIRE_FALSE(text);
    CHECK(text.error().status() == Status::unsupported);
    CHECK(std::string(text.error().message()).find("CTC") != std::string::npos);
}

TEST_CASE("a template without a pair serves single texts") {
    Parts parts;
    parts.model = bpe(letters, "\"a b\"");
    parts.post_processor = "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
                           "\"pair\":[],\"special_tokens\":{}}";
    MadeFolder const folder(parts.json());
    uform::Tokenizer const tokenizer = load(folder.path());
    CHECK(ids_of(tokenizer, "ab") == Ids{2});
    uform::Buffer<std::uint32_t> ids;
    uform::TokenizerScratch scratch;
    auto const pair =
        tokenizer.encode_pair_into("a", "b", 9, uform::PairTruncation::longest_first, ids, nullptr, scratch);
    REQUIRE_FALSE(pair);
    CHECK(pair.error().status() == Status::unsupported);
}

TEST_CASE("folders of older files only are refused by name") {
    for (std::string const name : {"vocab.json", "sentencepiece.bpe.model", "spiece.model", "tokenizer.model"}) {
        MadeFolder folder;
        folder.write(name, "{}");
        auto const tokenizer = uform::Tokenizer::load(folder.path());
        REQUIRE_FALSE(tokenizer);
        CHECK(tokenizer.error().status() == Status::unsupported);
        CHECK(std::string(tokenizer.error().message()).find(name) != std::string::npos);
    }
}

TEST_CASE("files that are cut short, and files with a changed byte, end in an error or in a tokenizer") {
    for (std::string const kind : {"roberta", "xlm-roberta"}) {
        std::string const whole = read_file(data_path("text/" + kind + "/tokenizer.json"));
        std::mt19937 random(5);
        MadeFolder folder;
        for (int i = 0; i != 60; ++i) {
            folder.write("tokenizer.json", whole.substr(0, random() % whole.size()));
            auto const tokenizer = uform::Tokenizer::load(folder.path());
            REQUIRE_FALSE(tokenizer);
            CHECK(tokenizer.error().status() == Status::corrupt);
        }
        std::string const text = "the \xC3\xA9 \xE4\xB8\xAD\xEF\xAC\x81 [x] 12\xCC\x81 a\xE2\x80\x8B b";
        for (int i = 0; i != 60; ++i) {
            std::string changed = whole;
            for (int j = 0; j != 3; ++j) changed[random() % changed.size()] = static_cast<char>(random() % 256);
            folder.write("tokenizer.json", changed);
            auto const tokenizer = uform::Tokenizer::load(folder.path());
            if (!tokenizer) continue;
            auto const ids = tokenizer->encode(text);
            REQUIRE(ids);
            CHECK(ids->size() >= tokenizer->special_tokens_count());
        }
    }
}
