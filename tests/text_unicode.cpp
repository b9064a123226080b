/// UTF-8 and its ill-formed parts, the Unicode tables' versions, the trie, and BERT's normaliser step by step.
#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>

#include "text_files.hpp"

using namespace std::string_literals;
namespace unicode = uform::unicode;
namespace utf8 = uform::utf8;

static std::string repaired(std::string_view text) {
    uform::Buffer<char> to;
    REQUIRE(utf8::repair(text, to));
    return std::string(to.begin(), to.size());
}

static std::string normalized(uform::BertNormalizer::Flags flags, std::string_view text) {
    uform::Buffer<char> to;
    uform::BertNormalizer::Scratch scratch;
    REQUIRE(uform::BertNormalizer(flags).normalize(text, to, scratch));
    return std::string(to.begin(), to.size());
}

TEST_CASE("each scalar value is written, read forwards and backwards, and valid") {
    for (char32_t c = 0; c != 0x110000; ++c) {
        if (c >= 0xD800 && c <= 0xDFFF) continue;
        char bytes[8];
        char const *const end = utf8::write(bytes, c), *at = bytes, *back = end;
        if (utf8::read(at) != c || at != end || utf8::read_back(back) != c || back != bytes ||
            utf8::valid_prefix({bytes, static_cast<std::size_t>(end - bytes)}) != static_cast<std::size_t>(end - bytes))
            FAIL("U+" << static_cast<unsigned>(c));
    }
}

TEST_CASE("each maximal ill-formed part becomes one U+FFFD") {
    std::string const r = "\xEF\xBF\xBD";
    struct Case {
        std::string_view bytes;
        std::string expected;
    };
    Case const cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"\xE2\x80", r},
        {"\xE2\x80x", r + "x"},
        {"ok\xED\xA0\x80"
         "bad",
         "ok" + r + r + r + "bad"}, // a surrogate
        {"\xC0\xAF", r + r},        // overlong
        {"\xE0\x80\xAF", r + r + r},
        {"\xE0\x9F\xBF", r + r + r},
        {"\xF0\x80\x80\xAF", r + r + r + r},
        {"\xF4\x90\x80\x80", r + r + r + r}, // above U+10FFFF
        {"\xF5\x80", r + r},
        {"\xFF\xFE", r + r},
        {"\x80", r},
        {"\xC2", r},
        {"\xF0\x9F\x98", r}, // cut at the end
        {"\xF0\x9F\x98\x80\xF0\x9F\x98", "\xF0\x9F\x98\x80" + r},
        {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
        {"\xED\x9F\xBF\xEE\x80\x80", "\xED\x9F\xBF\xEE\x80\x80"},
        // The Unicode Standard, 3.9, table 3-8.
        {"a\xF1\x80\x80\xE1\x80\xC2"
         "b\x80"
         "c\x80\xBF"
         "d",
         "a" + r + r + r + "b" + r + "c" + r + r + "d"},
        {"12345678\x80"
         "1234567\xC3\xA9"
         "12345678",
         "12345678" + r +
             "1234567\xC3\xA9"
             "12345678"},
    };
    for (Case const &one : cases) {
        INFO(one.expected);
        CHECK(repaired(one.bytes) == one.expected);
    }
}

TEST_CASE("nothing is read past the end of a text") {
    std::size_t const page = 4096;
    auto *const pages =
        static_cast<char *>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    REQUIRE(pages != MAP_FAILED);
    REQUIRE(::mprotect(pages + page, page, PROT_NONE) == 0);
    MadeFolder const folder(small_json({"a", "##b"}, bert(true, true, "null", true), added(3, "[X]", "lr")));
    uform::Tokenizer const tokenizer = load(folder.path());
    std::string const endings[] = {"",         "\xE2",         "\xE2\x80", "\xF0", "\xF0\x9F", "\xF0\x9F\x98", "\xC3",
                                   "\xED\xA0", "\xE3\x80\x80", "[X",       "[X]",  "[X] ",     "\xC3\x89",     "\x80"};
    for (std::string const &ending : endings)
        for (std::size_t before = 0; before != 20; ++before) {
            std::string const text = std::string(before, 'a') + ending;
            char *const at = pages + page - text.size();
            if (!text.empty()) std::memcpy(at, text.data(), text.size());
            CHECK(tokenizer.encode({at, text.size()}).has_value());
            CHECK(repaired({at, text.size()}) == repaired(text));
        }
    ::munmap(pages, 2 * page);
}

TEST_CASE("the tables have the reference's versions of Unicode") {
    auto const has = [](char32_t c, unicode::Properties kind) { return (unicode::properties(c) & kind) != 0; };
    CHECK(has(0x300, unicode::mark_k));
    CHECK_FALSE(has(0x1DF6, unicode::mark_k)); // a mark since 10.0
    CHECK(has(0xAD, unicode::removed_k));
    CHECK(has(0xE000, unicode::removed_k));
    CHECK(has(0x10FFFD, unicode::removed_k));
    CHECK_FALSE(has(0x8E2, unicode::removed_k)); // a format since 9.0
    CHECK_FALSE(has(0x378, unicode::removed_k));
    CHECK(has(0x0B, unicode::removed_k));
    CHECK(has(0x1C, unicode::removed_k));
    CHECK(has(0xFFFD, unicode::removed_k));
    for (char32_t c : {U'\t', U'\n', U'\r'}) CHECK_FALSE(has(c, unicode::removed_k));
    CHECK(has(0x85, unicode::whitespace_k));
    CHECK(has(0x3000, unicode::whitespace_k));
    CHECK_FALSE(has(0x200B, unicode::whitespace_k));
    CHECK(has(0x166D, unicode::punctuation_k));       // a symbol since 12.0
    CHECK(has(0x111C9, unicode::punctuation_k));      // a mark since 11.0
    CHECK_FALSE(has(0x2E45, unicode::punctuation_k)); // punctuation since 10.0
    for (char32_t c : {U'$', U'+', U'<', U'^', U'`', U'|', U'~'}) CHECK(has(c, unicode::punctuation_k));
    CHECK(has(0x2B81F, unicode::ideograph_k));
    CHECK_FALSE(has(0x2B820, unicode::ideograph_k));
    CHECK_FALSE(has(0x2B91F, unicode::ideograph_k));
    CHECK(has(0x2B920, unicode::ideograph_k));
    CHECK(unicode::properties(0x1DF6) >> unicode::combining_shift_k == 0);   // its class came with 10.0
    CHECK(unicode::properties(0x1DFB) >> unicode::combining_shift_k == 230); // and this one with 9.0
    CHECK(has(0x16EA0, unicode::lowers_k));                                  // Unicode 17
    CHECK(has(0xB2, unicode::word_k) == false);
    CHECK(has(0xAA, unicode::word_k));
    CHECK(has(0x200D, unicode::word_k));
    CHECK(has('_', unicode::word_k));
    CHECK_FALSE(has('-', unicode::word_k));
}

TEST_CASE("the steps of the normaliser") {
    using Flags = uform::BertNormalizer::Flags;
    Flags const clean{.clean_text = true}, spaced{.handle_chinese_chars = true}, strip{.strip_accents = true};
    Flags const lower{.lowercase = true}, all{false, true, true, true, true};

    CHECK(normalized(clean, "a\0b\xE2\x80\x8B\xC2\xAD\xC2\x85\xEE\x80\x80\xEF\xBF\xBD"
                            "c"s) == "abc");
    CHECK(normalized(clean, "\xC2\xA0\xE3\x80\x80\xE2\x80\xA8\t\n\r") == "      ");
    CHECK(normalized(clean, "\xCD\xB8") == "\xCD\xB8");
    CHECK(normalized(spaced, "a\xE4\xB8\xAD\xF0\xAB\xA0\xA0") == "a \xE4\xB8\xAD \xF0\xAB\xA0\xA0");
    CHECK(normalized(strip, "Kant\xC5\x8D l\xC7\x9Cshi Kanto\xCC\x84") == "Kanto lushi Kanto");
    CHECK(normalized(strip, "\xED\x95\x9C\xEA\xB0\x80") ==
          "\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB\xE1\x84\x80\xE1\x85\xA1");
    CHECK(normalized(lower, "\xC4\xB0\xCE\xA3\xE1\xBA\x9E\xC7\x85") == "i\xCC\x87\xCF\x83\xC3\x9F\xC7\x86");
    CHECK(normalized(all, "\xC4\xB0\xE4\xB8\xAD") == "i \xE4\xB8\xAD ");
    CHECK(normalized(Flags{.lowercase_first = true}, "\xC4\xB0X") == "i\xCC\x87x");
    CHECK(normalized(Flags{.lowercase_first = true, .strip_accents = true}, "\xC4\xB0X") == "ix");
    CHECK(normalized(all, "") == "");
}

TEST_CASE("marks that stay are put in canonical order") {
    // U+1D165 has class 216, U+302E 224, U+1D16D 226, and no mark of the three is Mn; U+0301 (230) is, and goes.
    std::string const low = "\xF0\x9D\x85\xA5", middle = "\xE3\x80\xAE", high = "\xF0\x9D\x85\xAD";
    uform::BertNormalizer::Flags const strip{.strip_accents = true},
        clean_strip{.clean_text = true, .strip_accents = true};
    CHECK(normalized(strip, "x" + high + middle + low + "y") == "x" + low + middle + high + "y");
    CHECK(normalized(strip, "x" + high + "\xCC\x81" + low) == "x" + low + high);
    CHECK(normalized(strip, high + low) == low + high);
    CHECK(normalized(strip, high + "y" + low) == high + "y" + low);
    CHECK(normalized(strip, high + "\x01" + low) == high + "\x01" + low);
    CHECK(normalized(clean_strip, high + "\x01" + low) == low + high); // what is cleaned away parts nothing
    CHECK(normalized(clean_strip, high + "\xE2\x80\x8B" + low) == low + high);
    CHECK(normalized(strip, high + "\xE0\xA4\xBE" + low) == high + "\xE0\xA4\xBE" + low); // a mark of class 0
    CHECK(normalized(strip, high + "\xE0\xA5\x81" + low) == high + low);                  // one that is stripped
    CHECK(normalized({}, high + low) == high + low);

    std::string const also_middle = "\xE3\x80\xAF"; // U+302F, 224 too: of one class the order stays
    for (std::size_t count : {1u, 10u, 20u, 1000u}) {
        std::string mixed, sorted;
        for (std::size_t i = 0; i != count; ++i) mixed += high + middle + also_middle + also_middle;
        for (std::size_t i = 0; i != count; ++i) sorted += middle + also_middle + also_middle;
        for (std::size_t i = 0; i != count; ++i) sorted += high;
        CHECK(normalized(strip, mixed) == sorted);
    }
    for (std::size_t count : {1u, 10u, 11u, 31u, 32u, 1000u}) { // both ways of sorting
        std::string mixed, sorted;
        for (std::size_t i = 0; i != count; ++i) mixed += high + low + middle;
        for (std::string const &mark : {low, middle, high})
            for (std::size_t i = 0; i != count; ++i) sorted += mark;
        CHECK(normalized(strip, "x" + mixed) == "x" + sorted);
    }
}

TEST_CASE("keys are sorted by their bytes, and equal ones stay in their order") {
    std::mt19937 random(8);
    std::string const common(100, 'c');
    for (std::size_t count : {0u, 1u, 2u, 3u, 50u, 255u, 256u, 400u, 3000u})
        for (std::size_t shared : {0u, 1u, 7u, 8u, 9u, 16u, 40u}) // bytes that most keys begin with
            for (bool once : {false, true}) {
                std::set<std::string> seen;
                std::vector<std::string> keys;
                while (keys.size() != count) {
                    std::string key = common.substr(0, random() % 8 ? shared : shared / 2);
                    for (std::size_t i = random() % 12; i != 0; --i) key += "a\xFF\0b\x01"[random() % 5];
                    if (!once || seen.insert(key).second) keys.push_back(key);
                    else if (random() % 2) keys.push_back(*seen.insert(key + std::to_string(keys.size())).first);
                }
                uform::List<uform::Trie::Entry> entries;
                for (std::size_t i = 0; i != count; ++i) entries.push_back({keys[i], static_cast<std::uint32_t>(i)});
                std::vector<std::size_t> order(count);
                for (std::size_t i = 0; i != count; ++i) order[i] = i;
                std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
                bool const distinct = std::set<std::string>(keys.begin(), keys.end()).size() == count;
                INFO(count << " keys, " << shared << " bytes shared");
                for (int pass = 0; pass != 2; ++pass) { // of what is sorted already too
                    CHECK(uform::Trie::sort(entries) == distinct);
                    REQUIRE(entries.size() == count);
                    for (std::size_t i = 0; i != count; ++i)
                        if (entries[i].value != order[i] || entries[i].key != keys[order[i]]) FAIL(i);
                }
            }
    std::vector<std::string> const longest = {std::string(1 << 20, 'x') + "b", std::string(1 << 20, 'x') + "a",
                                              std::string(1 << 20, 'x')};
    uform::List<uform::Trie::Entry> entries;
    for (std::string const &key : longest) entries.push_back({key, static_cast<std::uint32_t>(entries.size())});
    CHECK(uform::Trie::sort(entries));
    CHECK((entries[0].value == 2 && entries[1].value == 1 && entries[2].value == 0));
}

TEST_CASE("the trie finds the longest string that a text begins with") {
    std::mt19937 random(7);
    auto const word = [&](std::size_t most) {
        std::string text;
        for (std::size_t i = random() % (most + 1); i != 0; --i) text += static_cast<char>("ab\xFF\0"[random() % 4]);
        return text;
    };
    for (int round = 0; round != 50; ++round) {
        std::vector<std::string> keys(random() % 200);
        for (std::string &key : keys) key = word(8);
        uform::List<uform::Trie::Entry> entries;
        for (std::size_t i = 0; i != keys.size(); ++i) entries.push_back({keys[i], static_cast<std::uint32_t>(i)});
        uform::Trie trie;
        if (round % 2) uform::Trie::sort(entries);
        REQUIRE(trie.build(entries));
        for (int i = 0; i != 200; ++i) {
            std::string const text = word(12);
            std::size_t size = 0, value = 0;
            for (std::size_t j = keys.size(); j-- != 0;) // of equal keys the first counts
                if (!keys[j].empty() && text.starts_with(keys[j]) && keys[j].size() >= size)
                    size = keys[j].size(), value = j;
            auto const match = trie.longest(text);
            REQUIRE(match.size == size);
            if (size != 0) REQUIRE(match.value == value);
            std::size_t before = 0; // all that fit, the shortest first
            trie.each_prefix(text, [&](std::size_t at, std::uint32_t id) {
                REQUIRE(at > before);
                REQUIRE(keys[id] == text.substr(0, at));
                for (std::size_t j = before + 1; j != at; ++j)
                    REQUIRE(std::find(keys.begin(), keys.end(), text.substr(0, j)) == keys.end());
                before = at;
            });
            REQUIRE(before == size);
        }
    }
    uform::Trie wide; // every byte below every byte
    std::vector<std::string> keys;
    for (int a = 0; a != 256; ++a)
        for (int b = 0; b != 256; ++b) keys.push_back({static_cast<char>(a), static_cast<char>(b)});
    uform::List<uform::Trie::Entry> entries;
    for (std::size_t i = 0; i != keys.size(); ++i) entries.push_back({keys[i], static_cast<std::uint32_t>(i)});
    REQUIRE(wide.build(entries));
    for (std::size_t i = 0; i != keys.size(); ++i) {
        if (wide.longest(keys[i] + "x").value != i) FAIL(i);
        if (wide.longest(keys[i].substr(0, 1)).size != 0) FAIL(i);
    }
    REQUIRE(wide.build({}));
    CHECK(wide.longest("x").size == 0);
}
