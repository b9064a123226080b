/// Ids against the reference's: every golden of tests/data, and every Unicode scalar value.
#include <string>
#include <vector>

#include "sha256.hpp"
#include "skip.hpp"
#include "text_codepoints.hpp"
#include "text_files.hpp"

static void compare(uform::Tokenizer const &tokenizer, std::vector<std::string> const &texts,
                    std::vector<Ids> const &expected) {
    REQUIRE(texts.size() == expected.size());
    for (std::size_t i = 0; i != texts.size(); ++i) {
        INFO("text " << i << ": " << texts[i].substr(0, 200));
        Ids const ids = ids_of(tokenizer, texts[i]);
        CHECK(ids == expected[i]);
        CHECK(tokenizer.count(texts[i]).value() == expected[i].size());
    }
}

// Published folders cut at a limit; `cut` says by how much.
static void compare_cut(uform::Tokenizer const &tokenizer, std::vector<std::string> const &texts,
                        Golden const &golden) {
    auto const expected = golden.ids();
    auto const cut = golden.tensor("cut");
    REQUIRE(texts.size() == expected.size());
    REQUIRE(texts.size() == cut.size());
    uform::Buffer<std::uint32_t> ids;
    uform::TokenizerScratch scratch;
    std::size_t longest = 0;
    for (Ids const &list : expected) longest = std::max(longest, list.size());
    for (std::size_t i = 0; i != texts.size(); ++i) {
        INFO("text " << i << ": " << texts[i].substr(0, 200));
        ids.clear();
        auto const answer = tokenizer.encode_into(texts[i], longest, ids, scratch);
        REQUIRE(answer);
        CHECK(*answer == cut[i]);
        CHECK(Ids(ids.begin(), ids.end()) == expected[i]);
        CHECK(tokenizer.count(texts[i]).value() == expected[i].size() + cut[i]);
    }
}

TEST_CASE("SHA-256 of the standard's examples") {
    auto const digest = [](std::string const &text) {
        Sha256 sha;
        sha.take(text);
        return sha.hex();
    };
    CHECK(digest("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK(digest(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("WordPiece goldens: each flag of the normaliser, added tokens, another prefix, short words") {
    Golden const golden(data_path("wordpiece/golden.safetensors"));
    auto const cases_text = read_file(data_path("wordpiece/cases.json"));
    auto const cases = uform::Json::parse(cases_text, "cases.json");
    REQUIRE(cases);
    REQUIRE(cases->root().size() >= 40);
    for (std::size_t i = 0; i != cases->root().size(); ++i) {
        uform::JsonValue const one = cases->root()[i], normalizer = one.find("normalizer");
        std::string const name(one.find("case").string().value());
        INFO(name);
        // The normaliser stands in a line of its own, which the case replaces.
        std::string json = read_file(data_path("wordpiece/" + std::string(one.find("tokenizer").string().value())));
        std::size_t const first = json.find("\"normalizer\":"), last = json.find('\n', first);
        REQUIRE(first != json.npos);
        uform::JsonValue const strip = normalizer.find("strip_accents");
        std::string const strip_text = strip.boolean() ? *strip.boolean() ? "true" : "false" : "null";
        json.replace(first, last - first,
                     "\"normalizer\": " +
                         bert(normalizer.find("clean_text").boolean().value(),
                              normalizer.find("handle_chinese_chars").boolean().value(), strip_text,
                              normalizer.find("lowercase").boolean().value()) +
                         ",");
        MadeFolder const folder(json);
        compare(load(folder.path()),
                read_texts(data_path("wordpiece/" + std::string(one.find("texts").string().value()))),
                golden.ids("." + name));
    }
}

TEST_CASE("ids of the tiny checkpoints, cut at their limits") {
    for (std::string const name : {"tiny", "tiny-cased"}) {
        INFO(name);
        Golden const golden(data_path(name + "/golden.safetensors"));
        compare_cut(load(data_path(name)), read_texts(data_path(name + "/texts.jsonl")), golden);
    }
}

TEST_CASE("the same ids from vocab.txt and tokenizer_config.json") {
    for (std::string const name : {"tiny", "tiny-cased"}) {
        INFO(name);
        MadeFolder folder;
        for (std::string const file : {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json"})
            if (uform::file_exists(data_path(name + "/" + file)))
                folder.write(file, read_file(data_path(name + "/" + file)));
        Golden const golden(data_path(name + "/golden.safetensors"));
        compare_cut(load(folder.path()), read_texts(data_path(name + "/texts.jsonl")), golden);
    }
}

TEST_CASE("lower-casing before everything, as sentence_bert_config.json asks") {
    Golden const golden(data_path("tiny-cased/golden.safetensors"));
    uform::Tokenizer const tokenizer = load(data_path("tiny-cased"), {.lowercase_first = true});
    auto const texts = read_texts(data_path("tiny-cased/texts.jsonl"));
    auto const expected = golden.ids(".do_lower_case");
    REQUIRE(texts.size() == expected.size());
    std::size_t longest = 0;
    for (Ids const &list : expected) longest = std::max(longest, list.size());
    uform::Buffer<std::uint32_t> ids;
    uform::TokenizerScratch scratch;
    for (std::size_t i = 0; i != texts.size(); ++i) {
        INFO("text " << i << ": " << texts[i].substr(0, 200));
        ids.clear();
        REQUIRE(tokenizer.encode_into(texts[i], longest, ids, scratch));
        CHECK(Ids(ids.begin(), ids.end()) == expected[i]);
    }
}

TEST_CASE("ids of all-MiniLM-L6-v2") {
    if (model_folder().empty()) return skip_test("all-MiniLM-L6-v2 is not there; tools/fetch_model.py brings it");
    Golden const golden(data_path("minilm/golden.safetensors"));
    compare_cut(load(model_folder()), read_texts(data_path("minilm/texts.jsonl")), golden);
}

TEST_CASE("every Unicode scalar value, alone and between two letters") {
    if (model_folder().empty()) return skip_test("all-MiniLM-L6-v2 is not there; tools/fetch_model.py brings it");
    uform::Tokenizer const tokenizer = load(model_folder());
    compare_codepoints(tokenizer, data_path("minilm/codepoints.json"));
}
