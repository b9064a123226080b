/// What a tokenizer is loaded from, and what is refused: by name, with the file.
#include <string>
#include <string_view>
#include <vector>

#include "text_files.hpp"

using uform::Status;

static void refused(std::string const &folder, Status status, std::vector<std::string> const &words) {
    auto const tokenizer = uform::Tokenizer::load(folder);
    REQUIRE_FALSE(tokenizer);
    std::string const message(tokenizer.error().message());
    INFO(message);
    CHECK(uform::status_name(tokenizer.error().status()) == uform::status_name(status));
    for (std::string const &word : words) {
        INFO(word);
        CHECK(message.find(word) != message.npos);
    }
}

// Replaces one part of a tokenizer.json that loads.
static std::string changed(std::string const &from, std::string const &to) {
    std::string json = small_json({"a", "b"}, "null", added(3, "[X]", "s"));
    std::size_t const at = json.find(from);
    INFO(from);
    REQUIRE(at != json.npos);
    return json.replace(at, from.size(), to);
}

TEST_CASE("other components are refused by name") {
    struct Case {
        std::string from, to;
        Status status;
        std::vector<std::string> words;
    };
    Case const cases[] = {
        {"\"normalizer\":null", "\"normalizer\":{\"type\":\"Fancy\"}", Status::unsupported, {"normalizer", "Fancy"}},
        {"\"normalizer\":null",
         "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Lowercase\"},{\"type\":\"Strip\"}]}",
         Status::corrupt,
         {"strip_left"}},
        {"\"normalizer\":null", "\"normalizer\":{\"type\":\"BertNormalizer\"}", Status::corrupt, {"clean_text"}},
        {"BertPreTokenizer", "UnicodeScripts", Status::unsupported, {"pre_tokenizer", "UnicodeScripts"}},
        {"BertPreTokenizer", "ByteLevel", Status::corrupt, {"add_prefix_space"}},
        {"\"post_processor\":null",
         "\"post_processor\":{\"type\":\"RobertaProcessing\"}",
         Status::corrupt,
         {"trim_offsets"}},
        {"\"post_processor\":null",
         "\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"[CLS]\",9],\"sep\":[\"b\",2]}",
         Status::corrupt,
         {"9"}},
        {"\"post_processor\":null", "\"post_processor\":{\"type\":\"BertProcessing\"}", Status::corrupt, {"cls"}},
        {"\"post_processor\":null",
         "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"Q\",\"type_id\":"
         "0}}],"
         "\"special_tokens\":{}}",
         Status::corrupt,
         {"Q"}},
        {"\"post_processor\":null",
         "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[],\"special_tokens\":{}}",
         Status::unsupported,
         {"$A"}},
        {"\"post_processor\":null",
         "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"B\",\"type_id\":0}}],"
         "\"special_tokens\":{}}",
         Status::unsupported,
         {"$A"}},
        {"\"type\":\"WordPiece\"", "\"type\":\"Neural\"", Status::unsupported, {"model", "Neural"}},
        {"\"type\":\"WordPiece\"", "\"type\":\"BPE\"", Status::corrupt, {"merges"}},
        {"\"type\":\"WordPiece\"", "\"type\":7", Status::corrupt, {"type"}},
        {"\"unk_token\":\"[UNK]\",", "", Status::corrupt, {"unk_token"}},
        {"\"unk_token\":\"[UNK]\"", "\"unk_token\":\"<unk>\"", Status::corrupt, {"<unk>"}},
        {"\"max_input_chars_per_word\":100",
         "\"max_input_chars_per_word\":-1",
         Status::corrupt,
         {"max_input_chars_per_word"}},
        {"\"a\":1", "\"a\":2", Status::corrupt, {"'a'", "'b'", "2"}},
        {"\"a\":1", "\"a\":-1", Status::corrupt, {"'a'"}},
        {"\"a\":1", "\"a\":1.5", Status::corrupt, {"'a'"}},
        {"\"a\":1", "\"a\":2147483648", Status::unsupported, {"'a'", "2147483648"}},
        {"\"a\":1", "\"a\":3", Status::corrupt, {"[X]", "3", "'a'"}}, // the new token would get a's id
        {"\"lstrip\":false,", "", Status::corrupt, {"lstrip"}},
        {"\"version\":\"1.0\"", "\"version\":\"2.0\"", Status::unsupported, {"version"}},
        {"\"vocab\":{", "\"vocab\":[],\"other\":{", Status::corrupt, {"vocab"}},
        {"{\"version\"", "{{\"version\"", Status::corrupt, {}},
    };
    for (Case const &one : cases) {
        INFO(one.to);
        MadeFolder const folder(changed(one.from, one.to));
        auto words = one.words;
        words.push_back(folder.path() + "/tokenizer.json");
        refused(folder.path(), one.status, words);
    }
    refused("/nonexistent/folder", Status::io, {"/nonexistent/folder/tokenizer.json"});
    // An added token of which the normaliser leaves nothing would fit between any two bytes.
    MadeFolder const empty(small_json({"a"}, bert(true, true, "null", true), added(2, "\xCC\x81", "n")));
    refused(empty.path(), Status::unsupported, {"tokenizer.json", "\xCC\x81"});
}

TEST_CASE("what is no matter to ids is not looked at, and old spellings are read") {
    for (std::string const to :
         {"\"decoder\":{\"type\":\"Fancy\"},\"normalizer\":null", "\"truncation\":5,\"padding\":[],\"normalizer\":null",
          "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[]}"}) {
        MadeFolder const folder(changed("\"normalizer\":null", to));
        CHECK(ids_of(load(folder.path()), "a[X]b") == Ids{1, 3, 2});
    }
    MadeFolder const untyped(changed("\"type\":\"WordPiece\",", ""));
    CHECK(ids_of(load(untyped.path()), "a b") == Ids{1, 2});
    MadeFolder const bert_processing(changed("\"post_processor\":null",
                                             "\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":"
                                             "\"BertProcessing\",\"cls\":[\"a\",1],\"sep\":[\"b\",2]}]}"));
    CHECK(ids_of(load(bert_processing.path()), "b") == Ids{1, 2, 2});
    MadeFolder const twice(changed("\"a\":1", "\"a\":7,\"a\":1")); // of equal names the last counts
    CHECK(ids_of(load(twice.path()), "a") == Ids{1});
}

TEST_CASE("Lowercase on either side of BERT's normaliser") {
    std::vector<std::string> const tokens = {"i\xCC\x87x", "ix", "\xC4\xB0x", "Ix"};
    auto const ids = [&](std::string const &steps, uform::TokenizerOptions options = {}) {
        MadeFolder const folder(small_json(tokens, "{\"type\":\"Sequence\",\"normalizers\":[" + steps + "]}"));
        return ids_of(load(folder.path(), options), "\xC4\xB0X");
    };
    std::string const lower = "{\"type\":\"Lowercase\"}";
    CHECK(ids(lower) == Ids{1});
    CHECK(ids(lower + "," + bert(true, true, "null", false)) == Ids{1});
    CHECK(ids(lower + "," + bert(true, true, "true", false)) == Ids{2});
    CHECK(ids(bert(true, true, "true", false) + "," + lower) == Ids{2});
    CHECK(ids(bert(true, true, "false", false) + "," + lower) == Ids{1});
    CHECK(ids(bert(true, true, "false", false), {.lowercase_first = true}) == Ids{1});
    CHECK(ids(bert(true, true, "true", false), {.lowercase_first = true}) == Ids{2});
}

TEST_CASE("lower-casing first spares the tokens of the raw text, not the normalised ones") {
    MadeFolder const folder(
        small_json({"a", "b"}, bert(true, true, "false", false), added(3, "[X]", "s") + "," + added(4, "YY", "n")));
    CHECK(ids_of(load(folder.path()), "A [X] [x] YY yy") == Ids{0, 3, 0, 0, 0, 4, 0});
    CHECK(ids_of(load(folder.path(), {.lowercase_first = true}), "A [X] [x] YY yy") == Ids{1, 3, 0, 0, 0, 4, 4});
}

TEST_CASE("a warning where the files disagree") {
    MadeFolder folder(small_json({"a", "b"}, bert(true, true, "null", true), added(50, "[X]", "s")));
    uform::Tokenizer const alone = load(folder.path());
    REQUIRE(alone.warnings().size() == 1); // the id that the file names is not the one the token gets
    CHECK(alone.warnings()[0].find("[X]") != std::string::npos);
    CHECK(ids_of(alone, "[X]") == Ids{3});
    folder.write("tokenizer_config.json", "{\"do_lower_case\":true,\"strip_accents\":null}");
    CHECK(load(folder.path()).warnings().size() == 1);
    folder.write("tokenizer_config.json", "{\"do_lower_case\":false}");
    uform::Tokenizer const other = load(folder.path());
    REQUIRE(other.warnings().size() == 3); // and strip_accents, which follows
    CHECK(other.warnings()[1].find("do_lower_case") != std::string::npos);
    CHECK(ids_of(other, "A") == Ids{1}); // tokenizer.json is followed
    folder.write("tokenizer_config.json", "{\"do_lower_case\":7}");
    refused(folder.path(), Status::corrupt, {"tokenizer_config.json", "do_lower_case"});
}

// Expectations asked of transformers 5.24 over the same files.
TEST_CASE("vocab.txt: a token a line, and the files beside it") {
    std::string const vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\na\n c \nhello\n";
    MadeFolder folder;
    folder.write("vocab.txt", vocabulary);
    CHECK(ids_of(load(folder.path()), "A b abb Hello") == Ids{2, 8, 6, 8, 7, 7, 10, 3}); // of two lines the last counts
    CHECK(load(folder.path()).vocabulary_size() == 11);
    CHECK(ids_of(load(folder.path()), "a[MASK]b [mask]") == Ids{2, 8, 4, 6, 1, 1, 1, 3});

    std::string windows;
    for (char c : vocabulary) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
    MadeFolder crlf;
    crlf.write("vocab.txt", windows.substr(0, windows.size() - 2));
    CHECK(ids_of(load(crlf.path()), "A b abb Hello") == Ids{2, 8, 6, 8, 7, 7, 10, 3});

    folder.write("tokenizer_config.json",
                 "{\"do_lower_case\":false,\"strip_accents\":true,\"tokenize_chinese_chars\":false,"
                 "\"cls_token\":\"a\",\"sep_token\":\"b\"}");
    CHECK(ids_of(load(folder.path()), "A b abb Hello") ==
          Ids{8, 1, 6, 8, 6, 6, 1, 6}); // special tokens are found in words
    folder.write("tokenizer_config.json", "{\"cls_token\":\"a\"}")
        .write("special_tokens_map.json", "{\"cls_token\":\"b\"}");
    CHECK(ids_of(load(folder.path()), "A b abb Hello") == Ids{6, 8, 6, 8, 6, 6, 10, 3});
    folder
        .write("special_tokens_map.json",
               "{\"cls_token\":\"b\",\"mask_token\":{\"content\":\"hello\",\"lstrip\":true,\"rstrip\":false,"
               "\"normalized\":false,\"single_word\":false},\"additional_special_tokens\":[\"a\"]}")
        .write("tokenizer_config.json", "{}");
    CHECK(ids_of(load(folder.path()), "A b abb Hello") == Ids{6, 8, 6, 8, 6, 6, 10, 3});
}

TEST_CASE("vocab.txt: one token in two roles has the later role's flags") {
    MadeFolder folder;
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n").write("tokenizer_config.json", "{}");
    std::string const single = "\",\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"single_word\":true}}";
    folder.write("special_tokens_map.json", "{\"cls_token\":{\"content\":\"[MASK]" + single); // the mask comes after it
    CHECK(ids_of(load(folder.path()), "a[MASK]a") == Ids{4, 5, 4, 5, 3});
    folder.write("special_tokens_map.json", "{\"cls_token\":{\"content\":\"[PAD]" + single); // the padding before it
    CHECK(ids_of(load(folder.path()), "a[PAD]a [PAD]") == Ids{0, 5, 1, 1, 1, 5, 0, 3});
}

TEST_CASE("vocab.txt: added tokens") {
    MadeFolder folder;
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
    std::string const token = "{\"content\":\"NEW\",\"lstrip\":true,\"rstrip\":false,\"normalized\":true,\"single_"
                              "word\":false,\"special\":false}";
    folder.write("tokenizer_config.json", "{\"added_tokens_decoder\":{\"7\":" + token + "}}")
        .write("special_tokens_map.json", "{\"cls_token\":\"b\"}");
    uform::Tokenizer const listed = load(folder.path());
    CHECK(ids_of(listed, "a  new b") == Ids{2, 5, 7, 6, 3}); // the map is not read beside a list
    CHECK(listed.vocabulary_size() == 8);
    CHECK(listed.warnings().empty());
    folder.write("tokenizer_config.json", "{}")
        .write("special_tokens_map.json", "{}")
        .write("added_tokens.json", "{\"NEW\":7}");
    CHECK(ids_of(load(folder.path()), "anewb") == Ids{2, 5, 7, 6, 3});
}

TEST_CASE("vocab.txt: listed tokens get their ids in the order of the file's ids") {
    MadeFolder folder;
    folder.write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n");
    folder.write("tokenizer_config.json",
                 "{\"added_tokens_decoder\":{\"8\":{\"content\":\"Q\"},\"7\":{\"content\":\"P\"},"
                 "\"9\":{\"content\":\"R\"}}}");
    CHECK(ids_of(load(folder.path()), "P Q R") == Ids{2, 7, 8, 9, 3});
    CHECK(load(folder.path()).warnings().empty());
}

TEST_CASE("vocab.txt: what is refused") {
    MadeFolder folder;
    folder.write("vocab.txt", "[UNK]\n[SEP]\na\n");
    refused(folder.path(), Status::corrupt, {"vocab.txt", "cls_token", "[CLS]"});
    folder.write("vocab.txt", "[UNK]\n[CLS]\na\n");
    refused(folder.path(), Status::corrupt, {"vocab.txt", "sep_token", "[SEP]"});
    folder.write("vocab.txt", "[SEP]\n[CLS]\na\n");
    refused(folder.path(), Status::corrupt, {"vocab.txt", "[UNK]"});
    folder.write("vocab.txt", "[UNK]\n[SEP]\n[CLS]\n\xFF\n");
    refused(folder.path(), Status::corrupt, {"vocab.txt", "UTF-8"});
    folder.write("vocab.txt", "");
    refused(folder.path(), Status::corrupt, {"vocab.txt"});
    folder.write("vocab.txt", "[UNK]\n[SEP]\n[CLS]\na");
    CHECK(ids_of(load(folder.path()), "a [MASK]") == Ids{2, 3, 0, 0, 0, 1}); // no [MASK] here: its text is text
    CHECK(load(folder.path()).warnings().size() == 2);                       // [PAD] and [MASK]
    folder.write("tokenizer_config.json", "{\"never_split\":[\"a\"]}");
    refused(folder.path(), Status::unsupported, {"tokenizer_config.json", "never_split"});
    folder.write("tokenizer_config.json", "[]");
    refused(folder.path(), Status::corrupt, {"tokenizer_config.json"});
    folder.write("tokenizer_config.json", "{\"cls_token\":5}");
    refused(folder.path(), Status::corrupt, {"tokenizer_config.json", "cls_token"});
}
