/// Faults that users reported against other engines' tokenizers, each as a kind with siblings; and bad tokenizer files.
///
/// Expected ids are those of `tokenizers`, which was asked for every one of them.
#include <cctype>
#include <cstdint>
#include <cstring>
#include <iterator> // std::size
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/mman.h>

#include "text_files.hpp"

using uform::Status;

namespace {

using Tokens = std::vector<std::string>;

/// Requires the reference's ids of a text.
void check_ids(std::string const &json, std::string_view text, Ids const &expected) {
    MadeFolder const folder(json);
    INFO(text << " of " << json);
    CHECK(ids_of(load(folder.path()), text) == expected);
}

/// A text of one code point.
std::string utf8(std::uint32_t point) {
    auto const tail = [](std::uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
    if (point < 0x80) return {static_cast<char>(point)};
    if (point < 0x800) return {static_cast<char>(0xC0 | point >> 6), tail(point)};
    if (point < 0x10000) return {static_cast<char>(0xE0 | point >> 12), tail(point >> 6), tail(point)};
    return {static_cast<char>(0xF0 | point >> 18), tail(point >> 12), tail(point >> 6), tail(point)};
}
std::string utf8(std::vector<std::uint32_t> const &points) {
    std::string text;
    for (auto const point : points) text += utf8(point);
    return text;
}
std::string repeat(std::string_view piece, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i != times; ++i) text += piece;
    return text;
}

/// A character as JSON spells it inside quotes.
std::string escaped(std::string const &text) { return text == "\"" || text == "\\" ? "\\" + text : text; }

/// A folder's tokenizer must be refused, its file and each word named.
void refused(std::string const &json, Status status, std::vector<std::string> words) {
    MadeFolder const folder(json);
    INFO(json.substr(0, 2000));
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

/// A tokenizer.json of a model, with a normalizer and a pre_tokenizer.
std::string file_of(std::string const &model, std::string const &normalizer = "null",
                    std::string const &pre_tokenizer = "null", std::string const &processor = "null",
                    std::string const &more = "") {
    return R"({"version":"1.0","added_tokens":[)" + more + R"(],"normalizer":)" + normalizer + R"(,"pre_tokenizer":)" +
           pre_tokenizer + R"(,"post_processor":)" + processor + R"(,"decoder":null,"model":)" + model + "}";
}
std::string word_piece(std::string const &vocabulary) {
    return R"({"type":"WordPiece","unk_token":"u","continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":{)" +
           vocabulary + "}}";
}
std::string word_level(std::string const &vocabulary) {
    return R"({"type":"WordLevel","unk_token":"u","vocab":{)" + vocabulary + "}}";
}
std::string bpe(std::string const &vocabulary, std::string const &merges) {
    return R"({"type":"BPE","unk_token":"u","vocab":{)" + vocabulary + R"(},"merges":[)" + merges + "]}";
}
std::string unigram(std::string const &pieces) { return R"({"type":"Unigram","unk_id":0,"vocab":[)" + pieces + "]}"; }

/// The kinds of tokenizers whose files lie in tests/data/text.
constexpr char const *kinds[] = {"bert-cased", "roberta", "modernbert", "xlm-roberta"};

} // namespace

TEST_CASE("kind: an accent goes and its letter stays, in every script, composed or not") {
    struct Case {
        Tokens pieces;
        Ids ids;
        std::vector<std::string> spellings;
    };
    Case const cases[] = {
        {{"kanto"}, {1}, {"Kantō", "Kanto\u0304", "KANTŌ"}},
        {{"lush", "##i"}, {1, 2}, {"lǜshi", "lu\u0308\u0300shi", "lü\u0300shi", "LǛSHI"}},
        {{"zur", "##ich"}, {1, 2}, {"Zürich", "Zu\u0308rich"}},
        {{"viet"}, {1}, {"Việt", "Vie\u0323\u0302t", "Vie\u0302\u0323t", "Viẹ\u0302t"}},
        {{"angstrom"}, {1}, {"Ångström", "A\u030Angstro\u0308m", "\u212Bngström"}},
        {{"izmir"}, {1}, {"İzmir", "I\u0307zmir"}},
        {{"и"}, {1}, {"й", "и\u0306", "Й", "ѝ"}},
        {{"алена"}, {1}, {"Алёна", "Але\u0308на"}},
        {{"αλφα"}, {1}, {"Άλφα", "Α\u0301λφα", "ἄλφα", "ᾄλφα"}},
        {{"υ"}, {1}, {"\u03B0", "υ\u0308\u0301"}},
        {{"שלום"}, {1}, {"ש\u05C1\u05B8לו\u05B9ם", "\uFB2A\u05B8ל\uFB4Bם"}},
        {{"محمد"}, {1}, {"م\u064Fح\u064Eم\u0651\u064Eد"}},
        {{"क"}, {1}, {"\u0958", "क\u093C", "क\u094D"}},
        {{"か"}, {1}, {"が", "か\u3099"}},
        {{"は"}, {1}, {"ぱ", "は\u309A", "ば"}},
        {{"\u1112\u1161\u11AB"}, {1}, {"한", "\u1112\u1161\u11AB"}},
        {{"ﬁ"}, {1}, {"ﬁ", "ﬁ\u0301"}},
        {{"x"}, {1}, {"x\u0301\u0302\u0303\u0304\u0305", "\u0301x", "X\u20D7"}},
    };
    for (auto const &one : cases)
        for (auto const &spelling : one.spellings) {
            check_ids(small_json(one.pieces, bert(true, true, "null", true)), spelling, one.ids);
            check_ids(small_json(one.pieces, bert(false, false, "true", true)), spelling, one.ids);
        }
}

TEST_CASE("kind: each flag of the normaliser decides alone") {
    // A word as it is, without marks, in lower case, and both.
    std::vector<std::string> const words[] = {
        {"École", "Ecole", "école", "ecole"},
        {"schön", "schon", "schön", "schon"},
        {"İzmir", "Izmir", "i\u0307zmir", "izmir"},
        {"ΣΊΣΥΦΟΣ", "ΣΙΣΥΦΟΣ", "σίσυφοσ", "σισυφοσ"},
        {"Йод", "Иод", "йод", "иод"},
        {"ЁЛКА", "ЕЛКА", "ёлка", "елка"},
        {"Ÿ", "Y", "ÿ", "y"},
        {"STRASSE", "STRASSE", "strasse", "strasse"},
        {"Ǆ", "Ǆ", "ǆ", "ǆ"},
        {"ẞ", "ẞ", "ß", "ß"},
    };
    for (auto const &word : words) {
        Tokens pieces;
        std::vector<std::uint32_t> id;
        for (auto const &form : word) {
            std::size_t at = 0;
            while (at != pieces.size() && pieces[at] != form) ++at;
            if (at == pieces.size()) pieces.push_back(form);
            id.push_back(static_cast<std::uint32_t>(at + 1));
        }
        for (bool const lower : {false, true})
            for (std::string const strip : {"false", "null", "true"})
                for (bool const other : {false, true}) {
                    bool const strips = strip == "true" || (strip == "null" && lower);
                    check_ids(small_json(pieces, bert(other, other, strip, lower)), word[0],
                              {id[(strips ? 1u : 0u) + (lower ? 2u : 0u)]});
                }
    }
    for (bool const other : {false, true}) {
        check_ids(small_json({"ab", "a\u200Bb"}, bert(true, other, "null", other)), "a\u200Bb", {1});
        check_ids(small_json({"ab", "a\u200Bb"}, bert(false, other, "null", other)), "a\u200Bb", {2});
        check_ids(small_json({"漢", "字", "漢字"}, bert(other, true, "null", other)), "漢字", {1, 2});
        check_ids(small_json({"漢", "字", "漢字"}, bert(other, false, "null", other)), "漢字", {3});
    }
}

TEST_CASE("kind: what isn't stripped isn't composed, decomposed or made compatible either") {
    Tokens const spellings[] = {
        {"café", "cafe\u0301"},
        {"å", "a\u030A"},
        {"한", "\u1112\u1161\u11AB"},
        {"ệ", "e\u0323\u0302", "e\u0302\u0323", "ẹ\u0302", "ê\u0323"},
        {"ﬁ", "fi"},
        {"①", "1"},
        {"ｱ", "ア"},
        {"が", "か\u3099"},
        {"\u0958", "क\u093C"},
        {"й", "и\u0306"},
        {"\u2126x", "Ωx"},
        {"\u212Bx", "Åx"},
        {"\u212Ax", "Kx"},
    };
    for (auto const &some : spellings)
        for (std::size_t i = 0; i != some.size(); ++i)
            for (std::string const strip : {"false", "null"})
                check_ids(small_json(some, bert(true, false, strip, false)), some[i],
                          {static_cast<std::uint32_t>(i + 1)});
    // Letters that stand for others have those in lower case.
    Tokens const lower = {"ω", "å", "k", "\u2126", "\u212B", "\u212A"};
    check_ids(small_json(lower, bert(true, true, "false", true)), "\u2126 \u212B \u212A", {1, 2, 3});
    check_ids(small_json(lower, bert(true, true, "false", false)), "\u2126 \u212B \u212A", {4, 5, 6});
}

TEST_CASE("kind: every punctuation mark splits, and symbols that aren't ASCII don't") {
    Tokens marks = {"–",  "—",  "‒",  "―",  "…",  "’",  "‘",  "“",  "”",  "„",  "‹", "›",      "«",
                    "»",  "「", "」", "『", "』", "。", "、", "・", "！", "？", "،", "؟",      "؛",
                    "‽",  "§",  "¶",  "·",  "¿",  "¡",  "·",  "‐",  "‑",  "•",  "‰", "′",      "※",
                    "〈", "〉", "〜", "（", "）", "।",  "॥",  "۔",  "჻",  "።",  "״", "\u166D", utf8(0x111C9)};
    for (char mark = '!'; mark != 0x7F; ++mark)
        if (!std::isalnum(static_cast<unsigned char>(mark))) marks.emplace_back(1, mark);
    Tokens const symbols = {"€", "£",  "¥",  "¢", "¬", "¨", "¯", "´",          "¸",          "×",
                            "÷", "°",  "±",  "©", "®", "™", "→", "∑",          "√",          "♥",
                            "😀", "＋", "＄", "˜", "ˈ", "²", "½", utf8(0x2E43), utf8(0x1F3FB)};
    for (bool const clean : {false, true})
        for (bool const lower : {false, true}) {
            std::string const normalizer = bert(clean, clean, "false", lower);
            for (auto const &mark : marks) {
                Tokens const pieces = {"a", "b", escaped(mark), "a" + escaped(mark) + "b"};
                check_ids(small_json(pieces, normalizer), "a" + mark + "b", {1, 3, 2});
                check_ids(small_json(pieces, normalizer), mark + mark + "a" + mark, {3, 3, 1, 3});
            }
            for (auto const &symbol : symbols)
                check_ids(small_json({"a", "b", symbol, "a" + symbol + "b"}, normalizer), "a" + symbol + "b", {4});
        }
}

TEST_CASE("kind: the longest piece is taken, without a way back") {
    std::string const none = "null";
    check_ids(small_json({"gp", "g", "##t", "##pt"}, none), "gpt", {1, 3});
    check_ids(small_json({"gp", "g", "##pt"}, none), "gpt", {0});
    check_ids(small_json({"un", "una", "##aff", "##ffable", "##able"}, none), "unaffable", {2, 4});
    check_ids(small_json({"un", "una", "##aff", "##able", "##ffabl"}, none), "unaffable", {0});
    check_ids(small_json({"a", "aa", "aaaa", "##a", "##aaa"}, none), "aaaaaaa", {3, 5});
    check_ids(small_json({"a", "aa", "aaaa", "##a", "##aaa"}, none), "aaaaaaaaa", {3, 5, 4, 4});
    check_ids(small_json({"abc", "ab", "##c", "##cd"}, none), "abcd", {0});
    check_ids(small_json({"ab", "##c", "##cd"}, none), "abcd abc ab a", {1, 3, 1, 2, 1, 0});
    check_ids(small_json({"é", "éc", "##ole", "##cole", "##o"}, none), "école éco é", {2, 3, 2, 5, 1});
    check_ids(small_json({"日", "日本", "##本", "##本語", "##語"}, none), "日本語 日本本語", {2, 5, 2, 4});
    check_ids(small_json({"😀", "😀😀", "##😀"}, none), "😀😀😀 😀", {2, 3, 1});
    check_ids(small_json({"##a", "a"}, none), "##a a aa", {0, 0, 2, 2, 2, 1});
    check_ids(small_json({"e", "e\u0301", "##\u0301", "##\u0302"}, none), "e\u0301 e\u0302", {2, 1, 4});
}

TEST_CASE("kind: a long word is split up to the limit in code points, and one unknown token above") {
    for (std::string const letter : {"a", "é", "ж", "か", "😀"}) {
        Tokens const pieces = {letter, "##" + letter};
        std::string const normalizer = bert(true, false, "false", false);
        for (std::size_t const limit : {1u, 7u, 100u}) {
            std::string const model =
                R"("continuing_subword_prefix":"##","max_input_chars_per_word":)" + std::to_string(limit);
            for (std::size_t const length : {limit - 1, limit, limit + 1, limit + 100, 10 * limit}) {
                Ids expected(length <= limit ? length : 1, 2);
                if (length > limit) expected[0] = 0;
                else if (length) expected[0] = 1;
                check_ids(small_json(pieces, normalizer, "", model), repeat(letter, length), expected);
            }
        }
    }
    // What is counted is the normalised word, and what splits it makes shorter ones.
    std::string const strips = bert(true, true, "null", true);
    Ids hundred(100, 2);
    hundred[0] = 1;
    check_ids(small_json({"e", "##e"}, strips), repeat("e\u0301", 100), hundred);
    check_ids(small_json({"e", "##e"}, strips), repeat("É", 101), {0});
    check_ids(small_json({"e", "##e"}, bert(true, true, "false", true)), repeat("e\u0301", 51), {0});
    auto two = hundred;
    two.push_back(3), two.insert(two.end(), hundred.begin(), hundred.end());
    check_ids(small_json({"e", "##e", "-"}, strips), repeat("e", 100) + "-" + repeat("e", 100), two);
    check_ids(small_json({"e", "##e", "-"}, strips), repeat("e", 101) + "-" + repeat("e\u200B", 101), {0, 3, 0});
    check_ids(small_json({"e", "##e"}, strips), repeat("e", 1 << 20), {0});
    check_ids(small_json({"漢"}, strips), repeat("漢", 300), Ids(300, 1));
}

TEST_CASE("kind: bytes that aren't UTF-8 are U+FFFD, one each longest part of a character") {
    std::string const r = "\uFFFD";
    std::pair<std::string, std::string> const cases[] = {
        {"\xE2\x80", r},
        {"a\xE2\x80z", "a" + r + "z"},
        {"ok\xED\xA0\x80"
         "bad",
         "ok" + r + r + r + "bad"},
        {"\xED\xBF\xBF", r + r + r},
        {"\xED\xA0\xBD\xED\xB8\x80", r + r + r + r + r + r}, // surrogates of one character
        {"\xC0\x80", r + r},
        {"a\xC1\xBFz", "a" + r + r + "z"},
        {"\xE0\x80\x80", r + r + r},
        {"\xF0\x8F\xBF\xBF", r + r + r + r},
        {"\xF4\x90\x80\x80", r + r + r + r},
        {"\xF8\x88\x80\x80\x80", r + r + r + r + r},
        {"\xFE\xFF", r + r},
        {"\xC3", r},
        {"\xC3\xC3\xA9", r + "é"},
        {"\xE6\xBC", r},
        {"漢\xE6\xBC", "漢" + r},
        {"\xF0\x9F\x98", r},
        {"\xF0\x9F\x98\xF0\x9F\x98\x80", r + "😀"},
        {"\xF0\x9F", r},
        {"\xF0", r},
        {"\x80\xBF", r + r},
        {"caf\xE9 au lait", "caf" + r + " au lait"}, // Latin-1
        {"e\xCC", "e" + r},
        {"[MASK\xC2]", "[MASK" + r + "]"},
        {"<mask>\xE2\x96 x", "<mask>" + r + " x"},
    };
    std::size_t const page = 4096;
    auto *const pages =
        static_cast<char *>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages != MAP_FAILED);
    REQUIRE(::mprotect(pages + page, page, PROT_NONE) == 0);
    for (std::string const kind : kinds) {
        auto const tokenizer = load(data_path("text/" + kind));
        std::size_t differs = 0;
        for (auto const &[bytes, repaired] : cases)
            for (std::size_t before = 0; before != 18; ++before) {
                INFO(kind << ", " << repaired << " after " << before);
                // The text ends where the next byte can't be read.
                std::string const lead(before, before % 3 ? 'a' : ' ');
                char *const at = pages + page - lead.size() - bytes.size();
                std::memcpy(at, (lead + bytes).data(), lead.size() + bytes.size());
                std::string_view const text(at, lead.size() + bytes.size());
                auto const expected = ids_of(tokenizer, lead + repaired);
                CHECK(ids_of(tokenizer, text) == expected);
                CHECK(tokenizer.count(text).value() == expected.size());
                uform::Buffer<std::uint32_t> ids;
                uform::Buffer<uform::Token> tokens;
                uform::TokenizerScratch scratch;
                REQUIRE(tokenizer.encode_tokens_into(text, SIZE_MAX, tokens, scratch));
                REQUIRE(tokens.size() == expected.size());
                for (std::size_t i = 0; i != tokens.size(); ++i) {
                    CHECK(tokens[i].id == expected[i]);
                    CHECK(tokens[i].last <= text.size());
                    CHECK(tokens[i].first <= tokens[i].last);
                }
                REQUIRE(tokenizer.encode_pair_into(text, text, 999, uform::PairTruncation::longest_first, ids, nullptr,
                                                   scratch));
                differs += ids_of(tokenizer, lead) != expected;
            }
        if (kind == "roberta" || kind == "modernbert")
            CHECK(differs == std::size(cases) * 18); // the others clean it away
    }
    ::munmap(pages, 2 * page);
    // For the reference's ids of the repaired texts: a piece of its own where nothing is cleaned.
    for (auto const &[bytes, repaired] : cases) {
        if (repaired.find_first_not_of("\xEF\xBF\xBD") != repaired.npos) continue;
        Tokens const pieces = {r, "##" + r};
        Ids expected(repaired.size() / 3, 2);
        expected[0] = 1;
        check_ids(small_json(pieces, bert(false, false, "false", false)), repaired, expected);
        check_ids(small_json({"ab"}, bert(true, true, "null", true)), "a" + repaired + "b", {1});
    }
}

TEST_CASE("kind: cleaning removes, makes a space or keeps, by the age of its tables") {
    std::vector<std::uint32_t> removed = {0xAD,    0x600,   0x605,   0x61C,   0x6DD,   0x70F,  0x180E,  0x200B,
                                          0x200D,  0x200E,  0x202A,  0x202E,  0x2060,  0x2064, 0x2066,  0x206F,
                                          0xFEFF,  0xFFF9,  0xFFFB,  0xFFFD,  0xE000,  0xF8FF, 0x110BD, 0x1BCA0,
                                          0x1D173, 0xE0001, 0xE007F, 0xF0000, 0x10FFFD};
    for (std::uint32_t control = 0; control != 0x20; ++control)
        if (control != '\t' && control != '\n' && control != '\r') removed.push_back(control);
    for (std::uint32_t control = 0x7F; control != 0xA0; ++control) removed.push_back(control);
    std::vector<std::uint32_t> spaces = {' ', '\t', '\n', '\r', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000};
    for (std::uint32_t space = 0x2000; space != 0x200B; ++space) spaces.push_back(space);
    // Not assigned, not characters, or formats only since a later version.
    std::uint32_t const kept[] = {0x378,   0x2065,  0xFFF0,  0xFDD0,  0xFFFE, 0x8E2,
                                  0x110CD, 0x13430, 0xE0100, 0x1FFFE, 0x61D};
    for (bool const lower : {false, true}) {
        std::string const json = small_json({"ab", "a", "b"}, bert(true, true, "false", lower));
        for (auto const point : removed) check_ids(json, "a" + utf8(point) + "b", {1});
        for (auto const point : spaces) check_ids(json, "a" + utf8(point) + "b", {2, 3});
        for (auto const point : kept) check_ids(json, "a" + utf8(point) + "b", {0});
    }
    // Whatever stands beside them.
    std::string const json = small_json({"ab", "a", "b"}, bert(true, true, "null", true));
    check_ids(json, utf8({0xFEFF, 'a', 0, 0x200B, 0xAD, 'b', 0xFFFD, 0xE000}), {1});
    check_ids(json, utf8({0xA0, 0x3000, 'a', 0x2028, '\t', '\n', '\r', 'b', 0x2029}), {2, 3});
    check_ids(json, utf8({'a', 0x200B, ' ', 0xAD, 'b'}), {2, 3});
    check_ids(json, utf8({0x200B, 0xAD, 0, ' ', 0xE000}), {});
}

TEST_CASE("kind: pairs have the segments and separators of their post-processor") {
    std::string const vocabulary = R"("u":0,"[CLS]":1,"[SEP]":2,"a":3,"b":4,"c":5)",
                      white = R"({"type":"WhitespaceSplit"})";
    auto const piece = [](std::string const &kind, std::string const &id, std::string const &segment) {
        return "{\"" + kind + R"(":{"id":")" + id + R"(","type_id":)" + segment + "}}";
    };
    auto const framed = [&](std::string const &single, std::string const &pair) {
        return R"({"type":"TemplateProcessing","single":[)" + single + R"(],"pair":[)" + pair +
               R"(],"special_tokens":{"[CLS]":{"id":"[CLS]","ids":[1],"tokens":["[CLS]"]},"[SEP]":{"id":"[SEP]","ids":[2],"tokens":["[SEP]"]}}})";
    };
    auto const special = [&](std::string const &id, std::string const &segment) {
        return piece("SpecialToken", id, segment);
    };
    auto const text = [&](std::string const &id, std::string const &segment) { return piece("Sequence", id, segment); };
    struct Case {
        std::string processor;
        Ids ids, segments;
    };
    std::string const one = special("[CLS]", "0") + "," + text("A", "0") + "," + special("[SEP]", "0");
    Case const cases[] = {
        {framed(one, one + "," + text("B", "1") + "," + special("[SEP]", "1")),
         {1, 3, 4, 2, 5, 3, 2},
         {0, 0, 0, 0, 1, 1, 1}},
        {framed(one, one + "," + special("[SEP]", "0") + "," + text("B", "0") + "," + special("[SEP]", "0")),
         {1, 3, 4, 2, 2, 5, 3, 2},
         {0, 0, 0, 0, 0, 0, 0, 0}},
        {framed(one, text("A", "0") + "," + special("[SEP]", "0") + "," + text("B", "1") + "," + special("[SEP]", "1") +
                         "," + special("[CLS]", "2")), // XLNet's
         {3, 4, 2, 5, 3, 2, 1},
         {0, 0, 0, 1, 1, 1, 2}},
        {framed(one, special("[CLS]", "1") + "," + text("B", "1") + "," + special("[SEP]", "1") + "," + text("A", "0")),
         {1, 5, 3, 2, 3, 4},
         {1, 1, 1, 1, 0, 0}},
        {framed(one, text("A", "3") + "," + text("B", "5")), {3, 4, 5, 3}, {3, 3, 5, 5}},
        {R"({"type":"BertProcessing","sep":["[SEP]",2],"cls":["[CLS]",1]})",
         {1, 3, 4, 2, 5, 3, 2},
         {0, 0, 0, 0, 1, 1, 1}},
        {R"({"type":"RobertaProcessing","sep":["[SEP]",2],"cls":["[CLS]",1],"trim_offsets":true,"add_prefix_space":true})",
         {1, 3, 4, 2, 2, 5, 3, 2},
         {0, 0, 0, 0, 0, 0, 0, 0}},
        {"null", {3, 4, 5, 3}, {0, 0, 1, 1}},
    };
    for (auto const &[processor, expected, segments_expected] : cases) {
        std::string const json = file_of(word_level(vocabulary), "null", white, processor);
        MadeFolder const folder(json);
        INFO(json);
        auto const tokenizer = load(folder.path());
        uform::Buffer<std::uint32_t> ids;
        uform::Buffer<std::uint8_t> segments;
        uform::TokenizerScratch scratch;
        REQUIRE(tokenizer.encode_pair_into("a b", "c a", 99, uform::PairTruncation::longest_first, ids, &segments,
                                           scratch));
        CHECK(Ids(ids.begin(), ids.end()) == expected);
        CHECK(Ids(segments.begin(), segments.end()) == segments_expected);
        // Cut to a token of each: "longest first" takes from the longer, of equals from the second.
        std::size_t const fewest = tokenizer.pair_special_tokens_count() + 2;
        ids.clear(), segments.clear();
        REQUIRE(tokenizer.encode_pair_into("a b", "c a", fewest, uform::PairTruncation::longest_first, ids, &segments,
                                           scratch));
        CHECK(ids.size() == fewest);
        CHECK(segments.size() == fewest);
    }
}

TEST_CASE("bad input: a tokenizer.json that is cut or no JSON is corrupt, and named") {
    std::string const files[] = {
        file_of(word_piece(R"("u":0,"a":1)"), bert(true, true, "null", true), R"({"type":"BertPreTokenizer"})"),
        file_of(word_level(R"("u":0,"a":1)"), R"({"type":"NFC"})", R"({"type":"Whitespace"})"),
        file_of(bpe(R"("u":0,"a":1,"b":2,"ab":3)", R"(["a","b"])")),
        file_of(unigram(R"(["u",0.0],["a",-1.5])")),
    };
    for (auto const &file : files) {
        MadeFolder folder(file);
        CHECK(uform::Tokenizer::load(folder.path()));
        for (std::size_t size = 0; size != file.size(); ++size) {
            folder.write("tokenizer.json", file.substr(0, size));
            auto const tokenizer = uform::Tokenizer::load(folder.path());
            INFO(file.substr(0, size));
            REQUIRE_FALSE(tokenizer);
            CHECK(tokenizer.error().status() == Status::corrupt);
            CHECK(tokenizer.error().message().find(folder.path() + "/tokenizer.json") != std::string_view::npos);
        }
        for (std::string const after : {"}", "x", ",", "{}", "\\0"}) refused(file + after, Status::corrupt, {"byte"});
    }
    for (std::string const content :
         {"", "null", "[]", "3", "\"model\"", "{",
          "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", "<html>404</html>", "\xEF\xBB\xBF{}",
          "{'model':{}}", "{\"model\":{},}", "\x80\x04\x95", "{}"})
        refused(content, Status::corrupt, {});
}

TEST_CASE("bad input: an id twice, and a token twice, are corrupt in every model, with both named") {
    for (auto const &model : {word_piece, word_level}) {
        refused(file_of(model(R"("u":0,"a":1,"b":1)")), Status::corrupt, {"'a'", "'b'", "1"});
        refused(file_of(model(R"("u":0,"a":0)")), Status::corrupt, {"'u'", "'a'", "0"});
        refused(file_of(model(R"("u":7,"x":9,"a":1,"b":9,"c":2)")), Status::corrupt, {"'x'", "'b'", "9"});
    }
    refused(file_of(bpe(R"("u":0,"a":1,"b":1)", "")), Status::corrupt, {"'a'", "'b'", "1"});
    refused(file_of(bpe(R"("u":5,"a":5)", "")), Status::corrupt, {"'u'", "'a'", "5"});
    // A new added token has the id after the vocabulary's, whatever the file says, as in the reference; a warning
    // tells.
    for (std::string const &model : {word_piece(R"("u":0,"a":1)"), word_level(R"("u":0,"a":1)"),
                                     bpe(R"("u":0,"a":1)", ""), unigram(R"(["u",0.0],["a",-1.5])")})
        for (unsigned const said : {0u, 1u, 7u}) {
            std::string const json = file_of(model, "null", "null", "null", added(said, "[X]", "s"));
            check_ids(json, "[X]a", {2, 1});
            MadeFolder const folder(json);
            auto const tokenizer = load(folder.path());
            REQUIRE(tokenizer.warnings().size() == 1);
            CHECK(tokenizer.warnings()[0].find("'[X]' has the id 2, not " + std::to_string(said)) != std::string::npos);
        }
}

TEST_CASE("bad input: a merge of pieces that aren't there is corrupt, with its place and piece") {
    std::string const letters = R"("u":0,"a":1,"b":2,"ab":3,"é":4)";
    for (std::string const pair : {"xa", "ax", "ba", "éa", "aé"}) {
        std::string const first(pair.starts_with("é") ? "é" : pair.substr(0, 1)), second = pair.substr(first.size());
        std::string const missing = first == "x" || second == "x" ? "'x'" : "'" + pair + "'";
        for (std::string const &merge :
             {"\"" + first + " " + second + "\"", "[\"" + first + "\",\"" + second + "\"]"}) {
            refused(file_of(bpe(letters, merge)), Status::corrupt, {"merge 0", missing});
            refused(file_of(bpe(letters, "\"a b\"," + merge)), Status::corrupt, {"merge 1", missing});
            refused(file_of(bpe(letters, "[\"a\",\"b\"],[\"a\",\"b\"]," + merge)), Status::corrupt,
                    {"merge 2", missing});
        }
    }
    for (std::string const merge : {"\"ab\"", "\"a\"", "\"\"", "\" \"", "\"a \"", "\" b\"", "\"a b ab\"", "[]",
                                    "[\"a\"]", "[\"a\",\"b\",\"ab\"]", "[\"a\",2]", "{}", "null", "1"})
        refused(file_of(bpe(letters, "\"a b\"," + merge)), Status::corrupt, {"merge 1"});
}

TEST_CASE("bad input: a vocabulary of no entries is corrupt in every model, and named") {
    for (std::string const &model : {word_piece(""), word_level(""), bpe("", ""), unigram("")}) {
        refused(file_of(model), Status::corrupt, {"vocab"});
        refused(file_of(model, "null", "null", "null", added(0, "[X]", "s")), Status::corrupt, {"vocab"});
        auto without = model; // none at all
        without.replace(without.find("\"vocab\""), 7, "\"other\"");
        refused(file_of(without), Status::corrupt, {"vocab"});
    }
}

TEST_CASE("bad input: a damaged character map is corrupt, or maps otherwise; nothing is read past its end") {
    auto const of = [](std::string const &map) {
        return file_of(unigram(R"(["u",0.0],["a",-1.5],["x",-2.0])"),
                       R"({"type":"Precompiled","precompiled_charsmap":)" + map + "}");
    };
    // Base64: of no length that can be, of other signs, of a table that is larger than what is there, of odd bytes.
    for (std::string const map : {"\"\"", "\"A\"", "\"AA\"", "\"AAA\"", "\"AAAA\"", "\"AA==\"", "\"====\"",
                                  "\"AAA=AAAA\"", "\"A AA\"", "\"@@@@\"", "\"/////w==\"", "\"BAAAAA==\"",
                                  "\"BQAAAAAAAAA=\"", "\"AQAAAAA=\"", "\"AAAAAA==\"", "null", "7", "[]", "{}"})
        refused(of(map), Status::corrupt, {"precompiled_charsmap"});
    // A published one, cut at many places and with wrong bytes at many others.
    std::string const whole = read_file(data_path("text/xlm-roberta/tokenizer.json"));
    auto const key = whole.find("\"precompiled_charsmap\"");
    REQUIRE(key != whole.npos);
    auto const first = whole.find('"', whole.find(':', key)) + 1, end = whole.find('"', first);
    std::string const map = whole.substr(first, end - first);
    REQUIRE(map.size() > 1000);
    std::string const text = "ﬁ ① ｱﾞ é e\u0301 \u1112\u1161\u11AB Å \u212B ㍿ 漢 \xFF";
    std::size_t corrupt = 0;
    auto const encodes_or_names_it = [&](uform::Result<uform::Tokenizer> const &tokenizer) {
        if (tokenizer) {
            CHECK(tokenizer->encode(text));
            return;
        }
        CHECK(tokenizer.error().status() == Status::corrupt);
        CHECK(tokenizer.error().message().find("precompiled_charsmap") != std::string_view::npos);
        ++corrupt;
    };
    for (std::size_t i = 0; i != 60; ++i) {
        std::size_t const at = i * i * 7 % map.size() / 4 * 4;
        MadeFolder const cut(of("\"" + map.substr(0, at) + "\""));
        encodes_or_names_it(uform::Tokenizer::load(cut.path()));
        auto changed = map;
        for (std::size_t j = 0; j != 4; ++j) changed[(at + 97 * j) % (map.size() - 4)] = "A/9z+q"[(i + j) % 6];
        MadeFolder const wrong(of("\"" + changed + "\""));
        encodes_or_names_it(uform::Tokenizer::load(wrong.path()));
    }
    CHECK(corrupt > 0);
    MadeFolder const sound(of("\"" + map + "\""));
    CHECK(uform::Tokenizer::load(sound.path()));
}

TEST_CASE("bad input: a regular expression that isn't among the published ones is unsupported, and shown") {
    std::string const letters = R"("u":0,"a":1)";
    // GPT-2's own, and what is one sign away from it.
    std::string const published =
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+)";
    std::vector<std::string> patterns = {
        "[a-z]+", ".", "(", "\\\\d+", "\\\\w+|[^\\\\w\\\\s]+x", "\\\\p{Han}", "a|b", "^", "(?i:" + published + ")"};
    for (std::size_t at = 0; at < published.size(); at += 5) {
        auto changed = published;
        if (changed[at] == '\\' || (at && changed[at - 1] == '\\')) continue;
        changed[at] = changed[at] == '?' ? '*' : '?';
        patterns.push_back(changed);
    }
    for (auto const &pattern : patterns) {
        std::string const split =
            R"({"type":"Split","pattern":{"Regex":")" + pattern + R"("},"behavior":"Isolated","invert":false})";
        std::string shown = pattern.substr(0, 8);
        if (auto const slash = shown.find('\\'); slash != shown.npos) shown.resize(slash);
        refused(file_of(bpe(letters, ""), "null", split), Status::unsupported, {"Split", shown});
        refused(file_of(bpe(letters, ""), "null", R"({"type":"Sequence","pretokenizers":[)" + split + "]}"),
                Status::unsupported, {"Split", shown});
        refused(
            file_of(bpe(letters, ""), R"({"type":"Replace","pattern":{"Regex":")" + pattern + R"("},"content":"x"})"),
            Status::unsupported, {"Replace", shown});
    }
}
