/// Compares the ids of every Unicode scalar value with digests of the reference's.
#ifndef UFORM_TESTS_TEXT_CODEPOINTS_HPP
#define UFORM_TESTS_TEXT_CODEPOINTS_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "catch.hpp"
#include "sha256.hpp"
#include "text_files.hpp"
#include "uform/text/utf8.hpp"

/// `path` is a file that tools/oracle/codepoints.py made.
inline void compare_codepoints(uform::Tokenizer const &tokenizer, std::string const &path) {
    auto const text = read_file(path);
    auto const table = uform::Json::parse(text, "codepoints.json");
    REQUIRE(table);
    uform::JsonValue const blocks = table->root().find("blocks"), templates = table->root().find("templates");
    REQUIRE(blocks.size() == 272);
    uform::Buffer<std::uint32_t> ids;
    uform::TokenizerScratch scratch;
    for (std::size_t block = 0; block != blocks.size(); ++block) {
        Sha256 sha;
        for (std::size_t i = 0; i != 4096; ++i) {
            auto const c = static_cast<char32_t>(block * 4096 + i);
            if (c >= 0xD800 && c <= 0xDFFF) continue;
            char bytes[4];
            std::string_view const character(bytes, static_cast<std::size_t>(uform::utf8::write(bytes, c) - bytes));
            for (std::size_t j = 0; j != templates.size(); ++j) {
                std::string input(templates[j].string().value());
                input.replace(input.find("{c}"), 3, character);
                ids.clear();
                auto const cut = tokenizer.encode_into(input, SIZE_MAX, ids, scratch);
                if (!cut) FAIL(cut.error().what());
                sha.take_u32(static_cast<std::uint32_t>(ids.size()));
                for (std::uint32_t id : ids) sha.take_u32(id);
            }
        }
        INFO("block " << block);
        CHECK(sha.hex() == blocks[block].string().value());
    }
}

#endif // UFORM_TESTS_TEXT_CODEPOINTS_HPP
