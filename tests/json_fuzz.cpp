/// JSON cut and flipped everywhere: every text is a document or an error, and nothing is read past its end.
#include <cstring>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "catch.hpp"
#include "uform/json.hpp"

namespace {

/// Walks a whole document, so that a bad place shows.
std::size_t walk(uform::JsonValue value) {
    std::size_t sum = value.string().value_or(std::string_view()).size() + (value.number() ? 1 : 0);
    for (std::size_t i = 0; i != value.size(); ++i) sum += value.key(i).size() + walk(value[i]) + 1;
    return sum;
}

constexpr std::string_view valid =
    R"({"a":[1,-2.5e-3,true,false,null,18446744073709551615],"é\ud83d\ude00\n":{"x":"€","":[]},"z":[[{}]]})";

} // namespace

TEST_CASE("every cut of a text is an error, and nothing past it is read") {
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void *const memory = ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    char *const end = static_cast<char *>(memory) + page; // what follows can't be touched
    REQUIRE(::mprotect(end, page, PROT_NONE) == 0);
    for (std::size_t size = 0; size <= valid.size(); ++size) {
        std::memcpy(end - size, valid.data(), size);
        auto const json = uform::Json::parse({end - size, size}, "cut");
        CHECK(json.has_value() == (size == valid.size()));
    }
    ::munmap(memory, 2 * page);
}

TEST_CASE("every flipped bit and swapped byte gives a document or an error") {
    std::size_t documents = 0, sum = 0;
    std::string text(valid);
    for (std::size_t at = 0; at != text.size(); ++at) {
        char const before = text[at];
        for (int byte = 0; byte != 256; ++byte) {
            text[at] = static_cast<char>(byte);
            if (auto const json = uform::Json::parse(text, "flipped")) ++documents, sum += walk(json->root());
        }
        text[at] = before;
    }
    CHECK(documents > text.size()); // each byte as it was, and letters in strings
    CHECK(sum > documents);
}

TEST_CASE("random tokens give a document or an error") {
    constexpr std::string_view tokens[] = {"{",      "}",    "[",    "]", ",",           ":",    "\"a\"", "1",
                                           "-1.5e3", "true", "null", " ", "\"\\u00e9\"", "\x80", "\""};
    unsigned state = 1;
    std::size_t documents = 0;
    for (int round = 0; round != 20'000; ++round) {
        std::string text;
        for (int i = 0; i != 8; ++i) {
            state = state * 1664525u + 1013904223u;
            text += tokens[(state >> 16) % std::size(tokens)];
        }
        if (auto const json = uform::Json::parse(text, "random")) ++documents, walk(json->root());
    }
    CHECK(documents > 0);
}
