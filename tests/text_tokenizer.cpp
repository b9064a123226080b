/// The tokenizer's rules on small vocabularies, its limits, its memory, and inputs of a megabyte.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "skip.hpp"
#include "text_files.hpp"

static thread_local std::size_t allocations = 0;
// Not inlined: GCC would pair one's body with the other's call, and warn.
UFORM_NEVER_INLINE void *operator new(std::size_t size) {
    ++allocations;
    void *const memory = std::malloc(size ? size : 1);
    if (!memory) std::abort();
    return memory;
}
UFORM_NEVER_INLINE void *operator new(std::size_t size, std::nothrow_t const &) noexcept {
    return operator new(size);
} // std::stable_sort
UFORM_NEVER_INLINE void operator delete(void *memory) noexcept { std::free(memory); }
UFORM_NEVER_INLINE void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

static constexpr std::size_t megabyte = 1u << 20;

static std::string repeat(std::string_view piece, std::size_t times) {
    std::string text;
    text.reserve(piece.size() * times);
    for (std::size_t i = 0; i != times; ++i) text += piece;
    return text;
}

static Ids ids_with(std::vector<std::string> const &tokens, std::string const &normalizer, std::string_view text) {
    MadeFolder const folder(small_json(tokens, normalizer));
    return ids_of(load(folder.path()), text);
}

TEST_CASE("accents go and their letters stay, composed or not") {
    std::string const uncased = bert(true, true, "null", true);
    std::vector<std::string> const tokens = {"kanto", "lush", "##i"};
    CHECK(ids_with(tokens, uncased, "Kant\xC5\x8D") == Ids{1});
    CHECK(ids_with(tokens, uncased, "Kanto\xCC\x84") == Ids{1});
    CHECK(ids_with(tokens, uncased, "l\xC7\x9Cshi") == Ids{2, 3});
    CHECK(ids_with(tokens, uncased, "lu\xCC\x88\xCC\x80shi") == Ids{2, 3});
}

TEST_CASE("lowercase and strip_accents in each combination") {
    std::vector<std::string> const tokens = {"sch\xC3\xB6n", "schon", "Sch\xC3\xB6n", "Schon"};
    std::string const text = "Sch\xC3\xB6n";
    CHECK(ids_with(tokens, bert(true, true, "false", false), text) == Ids{3});
    CHECK(ids_with(tokens, bert(true, true, "null", false), text) == Ids{3});
    CHECK(ids_with(tokens, bert(true, true, "true", false), text) == Ids{4});
    CHECK(ids_with(tokens, bert(true, true, "false", true), text) == Ids{1});
    CHECK(ids_with(tokens, bert(true, true, "null", true), text) == Ids{2});
    CHECK(ids_with(tokens, bert(true, true, "true", true), text) == Ids{2});
}

TEST_CASE("nothing composes, and no sigma is final") {
    std::vector<std::string> const tokens = {"caf\xC3\xA9", "cafe\xCC\x81", "\xCF\x83",
                                             "\xCF\x82",    "##\xCF\x83",   "##\xCF\x82"};
    CHECK(ids_with(tokens, bert(true, true, "false", true), "cafe\xCC\x81 caf\xC3\xA9") == Ids{2, 1});
    CHECK(ids_with(tokens, bert(true, true, "null", true), "\xCE\xA3\xCE\xA3") == Ids{3, 5});
}

TEST_CASE("each punctuation mark is a word") {
    std::vector<std::string> const tokens = {"a", "b", "\xE2\x80\x93", "\xE2\x80\xA6", "\xE2\x80\x99", "\xE3\x80\x8C",
                                             "^", "$"};
    for (bool clean : {false, true}) {
        std::string const cased = bert(clean, clean, "null", false);
        for (std::size_t i = 2; i != tokens.size(); ++i)
            CHECK(ids_with(tokens, cased, "a" + tokens[i] + tokens[i] + "b") ==
                  Ids{1, static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(i + 1), 2});
    }
}

TEST_CASE("cleaning removes, makes spaces, or keeps; without it U+0085 splits") {
    std::vector<std::string> const tokens = {"ab", "a", "b"};
    std::string const on = bert(true, true, "false", false), off = bert(false, false, "false", false);
    for (std::string const &gone :
         {std::string(1, '\0'), std::string("\xE2\x80\x8B"), std::string("\xC2\xAD"), std::string("\xC2\x85"),
          std::string("\xEE\x80\x80"), std::string("\xEF\xBF\xBD"), std::string("\v"), std::string("\f"),
          std::string("\x1C"), std::string("\x1F"), std::string("\xFF"), std::string("\xE2\x80")})
        CHECK(ids_with(tokens, on, "a" + gone + "b") == Ids{1});
    for (std::string const space : {"\xC2\xA0", "\xE3\x80\x80", "\xE2\x80\xA8", "\t", "\n", "\r", "\r\n"})
        CHECK(ids_with(tokens, on, "a" + space + "b") == Ids{2, 3});
    CHECK(ids_with(tokens, on,
                   "a\xCD\xB8"
                   "b") == Ids{0});
    for (std::string const space : {"\xC2\x85", "\v", "\f", "\xC2\xA0"})
        CHECK(ids_with(tokens, off, "a" + space + "b") == Ids{2, 3});
    for (std::string const kept : {"\x1C", "\xE2\x80\x8B", "\xEF\xBF\xBD", "\xFF"})
        CHECK(ids_with(tokens, off, "a" + kept + "b") == Ids{0});
}

TEST_CASE("the longest piece wins, and a word with any piece missing is unknown") {
    std::string const none = "null";
    CHECK(ids_with({"gp", "g", "##t", "##pt"}, none, "gpt") == Ids{1, 3});
    CHECK(ids_with({"gp", "g", "##pt"}, none, "gpt") == Ids{0}); // greedy: no way back to g ##pt
    CHECK(ids_with({"a", "##b"}, none, "abc ab b abbb") == Ids{0, 1, 2, 0, 1, 2, 2, 2});
    CHECK(ids_with({"##", "", "a"}, none, "a aa") == Ids{3, 0});
    MadeFolder const other(
        small_json({"a", "_@b", "b"}, none, "", "\"continuing_subword_prefix\":\"_@\",\"max_input_chars_per_word\":3"));
    CHECK(ids_of(load(other.path()), "abb abbb b") == Ids{1, 2, 2, 0, 3});
    MadeFolder const bare(
        small_json({"a", "aa", "b"}, none, "", "\"continuing_subword_prefix\":\"\",\"max_input_chars_per_word\":9"));
    CHECK(ids_of(load(bare.path()), "aaab") == Ids{2, 1, 3});
}

TEST_CASE("a word of more code points than the limit is one unknown token") {
    std::vector<std::string> const tokens = {"a", "##a", "\xC3\xA9", "##\xC3\xA9"};
    CHECK(ids_with(tokens, "null", repeat("a", 100)).size() == 100);
    CHECK(ids_with(tokens, "null", repeat("a", 101)) == Ids{0});
    CHECK(ids_with(tokens, "null", repeat("\xC3\xA9", 100)).size() == 100);
    CHECK(ids_with(tokens, "null", repeat("\xC3\xA9", 101)) == Ids{0});
}

TEST_CASE("added tokens are found first, the longest of those that begin there") {
    std::vector<std::string> const tokens = {"a", "b", "x", "##b", "q"};
    auto const ids = [&](std::string const &list, std::string_view text,
                         std::string const &normalizer = bert(true, true, "null", true)) {
        MadeFolder const folder(small_json(tokens, normalizer, list));
        return ids_of(load(folder.path()), text);
    };
    // Ids of new tokens follow the vocabulary, which has 6.
    CHECK(ids(added(6, "[X]", "s"), "a[X]b [x]") == Ids{1, 6, 2, 0, 3, 0});
    CHECK(ids(added(6, "ab", "") + "," + added(7, "abb", ""), "abbb abx") == Ids{7, 2, 6, 3});
    CHECK(ids(added(6, "ab", "") + "," + added(7, "bbb", ""), "abbb") == Ids{6, 2, 4});
    CHECK(ids(added(5, "q", "") + "," + added(6, "N", ""), "aqb N") == Ids{1, 5, 2, 6});
    // Normalised tokens are sought in the normalised text, in their normalised form.
    CHECK(ids(added(6, "\xC3\x89 X", "n"), "a\xC3\xA9 xb") == Ids{1, 6, 2});
    CHECK(ids(added(6, "\xC3\x89 X", ""), "\xC3\xA9 x \xC3\x89 X") == Ids{0, 3, 6});
    CHECK(ids(added(6, "FOO", "n") + "," + added(7, "foo", "n"), "Foo") == Ids{6});
    CHECK(ids(added(6, "FOO", "n") + "," + added(6, "FOO", ""), "Foo FOO") == Ids{0, 6}); // the last flags count
    // Whitespace around.
    CHECK(ids(added(6, "[X]", "l"), "a\xE3\x80\x80 \t[X]  b") == Ids{1, 6, 2});
    CHECK(ids(added(6, " x", "r") + "," + added(7, "[X]", "l"), "a x  [X]") == Ids{1, 6, 7});
    CHECK(ids(added(6, "A", "r") + "," + added(7, " B", ""), "A B") == Ids{6, 7}); // the space counts twice
    CHECK(ids(added(6, "A", "r") + "," + added(7, " B", ""), "A   Ba") == Ids{6, 7, 1});
    // Single words.
    CHECK(ids(added(6, "A", "w"), "A A- bA A_ A\xC2\xB2") == Ids{6, 6, 0, 0, 1, 0, 6, 0});
    CHECK(ids(added(6, "abx", "w") + "," + added(7, "ab", ""), "abxq abx") == Ids{0, 6}); // no way back to ab
    // Bad bytes count as U+FFFD for them too.
    CHECK(ids(added(6, "a\xEF\xBF\xBD", ""), "a\xFF"
                                             "b") == Ids{6, 2});
    // Marks on either side of one don't meet.
    CHECK(ids(added(6, "[X]", ""), "a\xCC\x81[X]\xCC\x81"
                                   "b") == Ids{1, 6, 2});
}

static std::string const bracketed =
    "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\",\"type_id\":0}"
    "},"
    "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{\"id\":\"[SEP]\",\"type_id\":0}}],\"pair\":[],"
    "\"special_tokens\":{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[1],\"tokens\":[\"[CLS]\"]},\"[SEP]\":{\"id\":\"[SEP]\","
    "\"ids\":[2],\"tokens\":[\"[SEP]\"]}}},\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
    "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":{\"[UNK]\":0,\"[CLS]\":1,\"[SEP]"
    "\":2,"
    "\"a\":3,\"b\":4,\"##b\":5,\"c\":9}}}";

TEST_CASE("a cut keeps the special tokens and says how much went") {
    MadeFolder const folder(bracketed);
    uform::Tokenizer const tokenizer = load(folder.path());
    CHECK(tokenizer.special_tokens_count() == 2);
    CHECK(tokenizer.vocabulary_size() == 10);
    CHECK(ids_of(tokenizer, "") == Ids{1, 2});
    CHECK(ids_of(tokenizer, "ab c") == Ids{1, 3, 5, 9, 2});
    CHECK(tokenizer.count("ab c").value() == 5);
    CHECK(tokenizer.count("").value() == 2);

    uform::Buffer<std::uint32_t> ids;
    uform::TokenizerScratch scratch;
    REQUIRE(ids.push_back(77)); // what was there stays
    auto const all = [&] { return Ids(ids.begin(), ids.end()); };
    CHECK(tokenizer.encode_into("ab c", 5, ids, scratch).value() == 0);
    CHECK(all() == Ids{77, 1, 3, 5, 9, 2});
    ids.truncate(1);
    CHECK(tokenizer.encode_into("ab c", 4, ids, scratch).value() == 1);
    CHECK(all() == Ids{77, 1, 3, 5, 2});
    ids.truncate(1);
    CHECK(tokenizer.encode_into("ab c", 3, ids, scratch).value() == 2);
    CHECK(all() == Ids{77, 1, 3, 2});
    ids.truncate(1);
    CHECK(tokenizer.encode_into("ab c", 2, ids, scratch).value() == 3);
    CHECK(all() == Ids{77, 1, 2});
    ids.truncate(1);
    // An unknown word whose pieces were taken back, on either side of the limit.
    CHECK(tokenizer.encode_into("a abbx c", 5, ids, scratch).value() == 0);
    CHECK(all() == Ids{77, 1, 3, 0, 9, 2});
    ids.truncate(1);
    CHECK(tokenizer.encode_into("a abbx c", 4, ids, scratch).value() == 1);
    CHECK(all() == Ids{77, 1, 3, 0, 2});
    ids.truncate(1);
    CHECK(tokenizer.encode_into("a abbx c", 3, ids, scratch).value() == 2);
    CHECK(all() == Ids{77, 1, 3, 2});
    ids.truncate(1);
    for (std::size_t most : {0u, 1u}) {
        auto const refused = tokenizer.encode_into("ab c", most, ids, scratch);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().status() == uform::Status::invalid_argument);
        CHECK(all() == Ids{77});
    }
}

TEST_CASE("the second call of a size allocates nothing") {
    MadeFolder const folder(small_json({"a", "##b", "x"}, bert(true, true, "null", true),
                                       added(4, "[X]", "lr") + "," + added(5, "Y", "n")));
    uform::Tokenizer const tokenizer = load(folder.path());
    std::string text = repeat("ab [X] \xC3\x89x y\xE4\xB8\xAD\xFF", 500);
    for (int i = 0; i != 100; ++i) text += "\xF0\x9D\x85\xAD\xF0\x9D\x85\xA5"; // marks to sort
    uform::Buffer<std::uint32_t> ids;
    uform::TokenizerScratch scratch;
    REQUIRE(tokenizer.encode_into(text, SIZE_MAX, ids, scratch));
    auto const place_of_text = [&] { return scratch.normalizer.texts[0].bytes.data(); };
    void const *const places[] = {ids.data(), scratch.input.bytes.data(), place_of_text(),
                                  scratch.normalizer.bert.pending.data()};
    Ids const first(ids.begin(), ids.end());
    std::size_t const before = allocations;
    bool same = true;
    for (int i = 0; i != 10; ++i) {
        ids.clear();
        same = same && tokenizer.encode_into(text, SIZE_MAX, ids, scratch).has_value();
        same = same && ids.data() == places[0] && scratch.input.bytes.data() == places[1] &&
               place_of_text() == places[2] && scratch.normalizer.bert.pending.data() == places[3];
    }
    std::size_t const after = allocations;
    CHECK(after == before);
    CHECK(same);
    CHECK(Ids(ids.begin(), ids.end()) == first);
}

TEST_CASE("no memory grows with what was seen, whatever the model") {
    std::string largest;
    for (int i = 0; i != 400; ++i)
        largest +=
            "the caf\xC3\xA9 e\xCC\x81 \xE4\xB8\xAD\xEF\xAC\x81 don't 123 <mask> [MASK]\xFF " + std::to_string(i);
    largest += std::string(5000, 'a') + repeat("\xCC\x81", 500);
    for (std::string const kind : {"roberta", "modernbert", "xlm-roberta", "bert-cased"}) {
        INFO(kind);
        uform::Tokenizer const tokenizer = load(data_path("text/" + kind));
        uform::Buffer<std::uint32_t> ids;
        uform::Buffer<uform::Token> tokens;
        uform::TokenizerScratch scratch;
        auto const capacities = [&] {
            auto const &[texts, bert, form] = scratch.normalizer;
            std::size_t const first[] = {texts[0].bytes.capacity(), texts[0].origins.capacity(),
                                         texts[1].bytes.capacity(), texts[1].origins.capacity()};
            std::vector<std::size_t> all(std::begin(first), std::end(first));
            all.insert(all.end(),
                       {bert.pending.capacity(), form.pending.capacity(), form.sorted.capacity(),
                        form.behind.capacity(), scratch.input.bytes.capacity(), scratch.input.origins.capacity(),
                        scratch.model.bpe.symbols.capacity(), scratch.model.bpe.candidates.capacity(),
                        scratch.model.unigram.ends.capacity(), ids.capacity(), tokens.capacity()});
            for (uform::TracedText const &text : scratch.pre_tokenizer.texts)
                all.insert(all.end(), {text.bytes.capacity(), text.origins.capacity()});
            return all;
        };
        REQUIRE(tokenizer.encode_into(largest, SIZE_MAX, ids, scratch));
        REQUIRE(tokenizer.encode_tokens_into(largest, SIZE_MAX, tokens, scratch));
        auto const before = capacities();
        std::size_t const allocated = allocations;
        bool same = true;
        for (std::size_t i = 0; i != 200; ++i) {
            std::string_view const text = std::string_view(largest).substr(i * 37, 10 + i * 20);
            ids.clear(), tokens.clear();
            same = same && tokenizer.encode_into(text, SIZE_MAX, ids, scratch).has_value() &&
                   tokenizer.encode_tokens_into(text, SIZE_MAX, tokens, scratch).has_value();
        }
        std::size_t const after = allocations;
        CHECK(same);
        CHECK(after == allocated);
        CHECK(capacities() == before);
    }
}

TEST_CASE("without memory a call says so and leaves the ids as they were") {
#if UFORM_ADDRESS_SANITIZER || UFORM_THREAD_SANITIZER
    return skip_part("a sanitizer needs the address space that this test takes away");
#else
    MadeFolder const folder(bracketed);
    uform::Tokenizer const tokenizer = load(folder.path());
    std::string const marks = repeat("!", 64 * megabyte), bad = marks + "\xFF";
    std::FILE *const status = std::fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    bool const known = status && std::fscanf(status, "%lu", &pages) == 1;
    if (status) std::fclose(status);
    if (!known) return skip_part("/proc is not there");
    struct rlimit old;
    REQUIRE(::getrlimit(RLIMIT_AS, &old) == 0);
    struct rlimit const low{pages * static_cast<unsigned long>(::sysconf(_SC_PAGESIZE)) + 32 * megabyte, old.rlim_max};
    uform::Buffer<std::uint32_t> ids;
    REQUIRE(ids.push_back(77));
    for (std::string const *text : {&marks, &bad}) { // the ids don't fit; the repaired text doesn't
        uform::TokenizerScratch scratch;
        REQUIRE(::setrlimit(RLIMIT_AS, &low) == 0);
        auto const answer = tokenizer.encode_into(*text, SIZE_MAX, ids, scratch);
        ::setrlimit(RLIMIT_AS, &old);
        REQUIRE_FALSE(answer);
        CHECK(answer.error().status() == uform::Status::out_of_memory);
        REQUIRE(ids.size() == 1);
        CHECK(ids[0] == 77);
    }
#endif
}

TEST_CASE("a megabyte of anything takes linear time") {
    // Quadratic time would be 10^12 steps here: the test would not end.
    std::vector<std::string> const tokens = {"a", "##a", "x", "##aa"};
    std::string const list =
        added(5, "[CLS]", "s") + "," + added(6, "[[[[[", "") + "," + added(7, " ", "lrn") + "," + added(8, "X", "lrw");
    MadeFolder const folder(small_json(tokens, bert(true, true, "null", true), list));
    MadeFolder const long_words(
        small_json(tokens, bert(true, true, "null", true), "",
                   "\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":1000000000"));
    uform::Tokenizer const tokenizer = load(folder.path()), unlimited = load(long_words.path());
    CHECK(ids_of(tokenizer, repeat("a", megabyte)) == Ids{0});
    CHECK(ids_of(unlimited, repeat("a", megabyte)).size() == megabyte / 2 + 1); // a ##aa ##aa … ##a
    CHECK(ids_of(unlimited, repeat("a", megabyte) + "?") == [] {
        Ids ids(megabyte / 2 + 1, 4);
        ids[0] = 1;
        ids.back() = 2;
        ids.push_back(0);
        return ids;
    }());
    CHECK(ids_of(unlimited, repeat("a", megabyte) + "z") == Ids{0});
    CHECK(ids_of(tokenizer, repeat("\xCC\x81", megabyte / 2)) == Ids{}); // stripped
    CHECK(ids_of(tokenizer, "x" + repeat("\xCC\x81\xCC\xA7", megabyte / 4)) == Ids{3});
    CHECK(ids_of(tokenizer, repeat("\xF0\x9D\x85\xAD\xF0\x9D\x85\xA5", megabyte / 8)) == Ids{0}); // sorted and kept
    CHECK(ids_of(tokenizer, repeat("!", megabyte)) == Ids(megabyte, 0));
    CHECK(ids_of(tokenizer, repeat("[CLS]", megabyte / 5)) == Ids(megabyte / 5, 5));
    CHECK(ids_of(tokenizer, repeat("[", megabyte)).size() == megabyte / 5 + megabyte % 5);
    CHECK(ids_of(tokenizer, repeat("[CL", megabyte / 3)).size() == megabyte / 3 * 2);
    CHECK(ids_of(tokenizer, repeat(" ", megabyte)).size() == 1); // one token takes them all
    CHECK(ids_of(tokenizer, repeat(" \t", megabyte / 2) + "X" + repeat("\xE3\x80\x80", megabyte / 3)) == Ids{8});
    CHECK(ids_of(tokenizer, repeat("aX", megabyte / 2)).size() == 1);
    CHECK(ids_of(tokenizer, repeat("\xE4\xB8\xAD", megabyte / 3)).size() > megabyte / 3);
    CHECK(ids_of(tokenizer, repeat("\xFF", megabyte)) == Ids{});
    CHECK(ids_of(tokenizer, repeat("\xF0\x9F\x98", megabyte / 3)) == Ids{});
    CHECK(ids_of(tokenizer, std::string(megabyte, '\0')) == Ids{});
    CHECK(ids_of(tokenizer, repeat("\xED\x95\x9C", megabyte / 3)) == Ids{0});
    CHECK(tokenizer.count(repeat("!", megabyte)).value() == megabyte);
}

TEST_CASE("copies share, and many threads may use one") {
    MadeFolder const folder(small_json({"a", "##b", "x"}, bert(true, true, "null", true), added(4, "[X]", "lr")));
    uform::Tokenizer const tokenizer = load(folder.path()), copy = tokenizer;
    std::string const text = repeat("Ab [X] x \xC3\x89 ", 200);
    Ids const expected = ids_of(tokenizer, text);
    std::vector<int> right(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i != right.size(); ++i)
        threads.emplace_back([&, i] {
            for (int round = 0; round != 50; ++round) {
                auto const ids = copy.encode(text);
                right[i] += ids && *ids == expected;
            }
        });
    for (std::thread &thread : threads) thread.join();
    CHECK(right == std::vector<int>(4, 50));
}

// Source: tokenizers 0.23.3 on these files, `decode([4, 50], skip_special_tokens=True)`.
TEST_CASE("a special token is left out of decoded text while its name is a special one's") {
    std::string const plain = read_file(data_path("tiny/tokenizer.json"));
    std::string const mask =
        R"({"id": 4, "content": "[MASK]", "single_word": false, "lstrip": false, "rstrip": false, )";
    auto const changed = [&](std::string_view from, std::string_view to) {
        std::string text = plain;
        auto const at = text.find(from);
        REQUIRE(at != text.npos);
        return text.replace(at, from.size(), to);
    };
    std::string const special = mask + R"("normalized": false, "special": true})";
    std::uint32_t const ids[] = {4, 50};
    auto const decoded = [&](std::string_view to) {
        MadeFolder const folder(changed(special, to));
        return load(folder.path()).decode(ids).value();
    };
    CHECK(decoded(special) == "b");
    CHECK(decoded(mask + R"("normalized": true, "special": true})") == "[mask] b"); // is named as normalised
    CHECK(decoded(special + ", " + mask + R"("normalized": false, "special": false})") == "b"); // once special, always
    CHECK(decoded(mask + R"("normalized": false, "special": false}, )" + special) == "b");
    CHECK(decoded(mask + R"("normalized": false, "special": false})") == "[MASK] b");
}
