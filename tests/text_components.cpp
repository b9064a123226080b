/// Every component of tokenizer.json with its options: ids, segments, offsets, pairs and decoded texts.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sha256.hpp"
#include "text_files.hpp"

namespace {

struct Digests {
    std::string ids, segments, offsets, pairs, decoded;
};

void take_all(Sha256 &sha, std::vector<std::uint32_t> const &list) {
    sha.take_u32(static_cast<std::uint32_t>(list.size()));
    for (std::uint32_t number : list) sha.take_u32(number);
}

Digests digests_of(uform::Tokenizer const &tokenizer, std::vector<std::string> const &texts) {
    Sha256 ids, segments, offsets, pairs, decoded;
    uform::Buffer<uform::Token> tokens;
    uform::Buffer<std::uint32_t> list;
    uform::Buffer<std::uint8_t> kinds;
    uform::TokenizerScratch scratch;
    for (std::string const &text : texts) {
        list.clear(), tokens.clear();
        REQUIRE(tokenizer.encode_into(text, SIZE_MAX, list, scratch));
        REQUIRE(tokenizer.encode_tokens_into(text, SIZE_MAX, tokens, scratch));
        take_all(ids, Ids(list.begin(), list.end()));
        Ids traced, kept, places;
        for (uform::Token const &token : tokens) {
            traced.push_back(token.id), kept.push_back(token.segment);
            places.push_back(static_cast<std::uint32_t>(token.first));
            places.push_back(static_cast<std::uint32_t>(token.last));
        }
        CHECK(traced == Ids(list.begin(), list.end()));
        take_all(segments, kept), take_all(offsets, places);
        auto const back = tokenizer.decode(list.span(), false);
        REQUIRE(back);
        Ids bytes;
        for (char byte : *back) bytes.push_back(static_cast<unsigned char>(byte));
        take_all(decoded, bytes);
    }
    for (std::size_t i = 0; 7 * i < texts.size() && 7 * i + 3 < texts.size(); ++i) {
        list.clear(), kinds.clear();
        REQUIRE(tokenizer.encode_pair_into(texts[7 * i], texts[7 * i + 3], SIZE_MAX,
                                           uform::PairTruncation::longest_first, list, &kinds, scratch));
        take_all(pairs, Ids(list.begin(), list.end())), take_all(pairs, Ids(kinds.begin(), kinds.end()));
    }
    return {ids.hex(), segments.hex(), offsets.hex(), pairs.hex(), decoded.hex()};
}

} // namespace

TEST_CASE("every component and option, on texts in many scripts") {
    auto const texts = read_texts(data_path("text/texts.jsonl"));
    std::string const all = read_file(data_path("text/cases.jsonl")), added = read_file(data_path("text/added.json"));
    std::string_view rest = all;
    auto const next = [&] {
        std::size_t const end = rest.find('\n');
        auto json = uform::Json::parse(rest.substr(0, end), "cases.jsonl");
        REQUIRE(json);
        rest.remove_prefix(end + 1);
        return std::move(*json);
    };
    uform::Json const first = next();
    uform::JsonValue const models = first.root().find("models");
    std::size_t count = 0;
    for (; !rest.empty(); ++count) {
        uform::Json const line = next();
        auto const text_of = [&](std::string_view key) { return std::string(line.root().find(key).string().value()); };
        INFO(text_of("case"));
        std::string json = "{\"version\":\"1.0\",\"added_tokens\":" +
                           (line.root().find("added").boolean().value() ? added : std::string("[]"));
        for (std::string const part : {"normalizer", "pre_tokenizer", "post_processor", "decoder"})
            json += ",\"" + part + "\":" + text_of(part);
        json += ",\"model\":" + std::string(models.find(text_of("model")).string().value()) + "}";
        MadeFolder const folder(json);
        Digests const found = digests_of(load(folder.path()), texts);
        CHECK(found.ids == text_of("ids"));
        CHECK(found.segments == text_of("segments"));
        CHECK(found.offsets == text_of("offsets"));
        CHECK(found.pairs == text_of("pairs"));
        CHECK(found.decoded == text_of("decoded"));
    }
    CHECK(count > 200);
}
