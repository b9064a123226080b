/// JSON: values of each kind, and texts that are refused with the place and the reason.
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "checkpoint_files.hpp"
#include "uform/json.hpp"

using uform::Json;
using uform::JsonKind;
using uform::JsonValue;
using uform::Status;

namespace {
Json parse(std::string_view text) {
    auto json = Json::parse(text, "test.json");
    INFO(std::string(text.substr(0, 100)));
    if (!json) FAIL(std::string(json.error().message()));
    return *std::move(json);
}
void refuse(std::string_view text, std::size_t at, char const *why) {
    INFO(std::string(text.substr(0, 100)));
    require_error(Json::parse(text, "test.json"), Status::corrupt,
                  {"test.json", "byte " + std::to_string(at) + ":", why});
}
} // namespace

TEST_CASE("each kind of value answers as itself and as nothing else") {
    Json const json = parse(R"( [null, true, false, -7, 2.5, "text", [1, 2], {"k": "v"}] )");
    JsonValue const root = json.root();
    REQUIRE(root.kind() == JsonKind::array);
    REQUIRE(root.size() == 8);
    JsonKind const kinds[] = {JsonKind::null,   JsonKind::boolean, JsonKind::boolean, JsonKind::integer,
                              JsonKind::number, JsonKind::string,  JsonKind::array,   JsonKind::object};
    for (std::size_t i = 0; i != 8; ++i) {
        CHECK(root[i].kind() == kinds[i]);
        CHECK(static_cast<bool>(root[i]));
        CHECK(root[i].boolean().has_value() == (kinds[i] == JsonKind::boolean));
        CHECK(root[i].integer().has_value() == (kinds[i] == JsonKind::integer));
        CHECK(root[i].number().has_value() == (kinds[i] == JsonKind::integer || kinds[i] == JsonKind::number));
        CHECK(root[i].string().has_value() == (kinds[i] == JsonKind::string));
    }
    CHECK(root[1].boolean() == true);
    CHECK(root[2].boolean() == false);
    CHECK(root[3].integer() == -7);
    CHECK_FALSE(root[3].natural());
    CHECK(root[3].number() == -7.0);
    CHECK(root[4].number() == 2.5);
    CHECK(root[5].string() == "text");
    CHECK(root[6][1].integer() == 2);
    CHECK(root[7].key(0) == "k");
    CHECK(root[7][0].string() == "v");
}

TEST_CASE("what isn't there is missing, not null") {
    CHECK_FALSE(Json().root());
    JsonValue const missing;
    CHECK(missing.kind() == JsonKind::missing);
    CHECK(missing.size() == 0);
    CHECK_FALSE(missing[0]);
    CHECK_FALSE(missing.find("k").find("k"));
    CHECK(missing.key(0).empty());

    Json const json = parse(R"({"a": null, "b": [1]})");
    CHECK(json.root().find("a").kind() == JsonKind::null);
    CHECK(static_cast<bool>(json.root().find("a")));
    CHECK_FALSE(json.root().find("c"));
    CHECK_FALSE(json.root()[2]);
    CHECK(json.root().key(2).empty());
    CHECK_FALSE(json.root().find("b")[1]);
    CHECK_FALSE(json.root().find("b").find("0"));
    CHECK(json.root().find("b").key(0).empty());
}

TEST_CASE("of equal keys the last wins, and all can be walked") {
    Json const json = parse(R"({"a": 1, "b": 2, "a": 3, "": 4, "A": 5})");
    JsonValue const root = json.root();
    CHECK(root.find("a").integer() == 3);
    CHECK(root.find("").integer() == 4);
    CHECK(root.find("A").integer() == 5);
    REQUIRE(root.size() == 5);
    std::string walked;
    for (std::size_t i = 0; i != root.size(); ++i)
        walked += std::string(root.key(i)) + std::to_string(*root[i].integer());
    CHECK(walked == "a1b2a34A5");
}

TEST_CASE("values outlive a move of their document") {
    Json json = parse(R"({"a": ["x", 1]})");
    JsonValue const value = json.root().find("a");
    Json const moved = std::move(json);
    CHECK(value[0].string() == "x");
    CHECK(moved.root().find("a")[1].integer() == 1);
}

TEST_CASE("nested values keep their order and place") {
    Json const json = parse(R"([[], {}, [[1], [2, 3]], {"a": {"b": [4]}, "c": [5, {"d": 6}]}, 7])");
    JsonValue const root = json.root();
    CHECK(root[0].kind() == JsonKind::array);
    CHECK(root[0].size() == 0);
    CHECK(root[1].kind() == JsonKind::object);
    CHECK(root[2][0][0].integer() == 1);
    CHECK(root[2][1][1].integer() == 3);
    CHECK(root[3].find("a").find("b")[0].integer() == 4);
    CHECK(root[3].find("c")[1].find("d").integer() == 6);
    CHECK(root[4].integer() == 7);
}

TEST_CASE("integers keep 64 bits, and larger ones are numbers") {
    Json const json =
        parse("[9223372036854775807, -9223372036854775808, 9223372036854775808, 18446744073709551615, "
              "18446744073709551616, -9223372036854775809, 1000000000000000019884624838656, 0, -0, 1.0, 1e2]");
    JsonValue const root = json.root();
    CHECK(root[0].integer() == std::numeric_limits<std::int64_t>::max());
    CHECK(root[1].integer() == std::numeric_limits<std::int64_t>::min());
    CHECK_FALSE(root[2].integer());
    CHECK(root[2].natural() == std::uint64_t{1} << 63);
    CHECK(root[3].natural() == std::numeric_limits<std::uint64_t>::max());
    CHECK(root[3].number() == 0x1p64);
    for (std::size_t i : {4u, 5u, 6u, 9u, 10u}) CHECK(root[i].kind() == JsonKind::number);
    CHECK(root[4].number() == 0x1p64);
    CHECK(root[5].number() == -0x1p63);
    CHECK(root[6].number() == 1e30);
    CHECK(root[7].natural() == 0u);
    CHECK(root[8].integer() == 0);
}

TEST_CASE("numbers are correctly rounded, whatever their length") {
    // Pairs of a text and its double, whose bits are known from the standard's hexadecimal form.
    std::pair<char const *, double> const pairs[] = {
        {"0.1", 0x1.999999999999ap-4},
        {"-9.33935546875", -0x1.2adcp3},
        {"0.9868011474609375", 0x1.f93e000000000p-1}, // RapidJSON 1.1.0's full precision errs here
        {"123456789012345678901234567890e-10", 0x1.56a95319d63e1p+63},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"2.2250738585072012e-308", 0x1p-1022},
        {"4.9e-324", 0x1p-1074},
        {"1.7976931348623157e308", std::numeric_limits<double>::max()},
        {"9007199254740993.0", 0x1.0000000000000p53},
        {"9007199254740993.00000000000000000000000000000000000001", 0x1.0000000000001p53},
        {"1e-400", 0.0},
        {"123e-40000000000000000000000", 0.0},
        {"0.0e5", 0.0},
    };
    for (auto const &[text, value] : pairs) {
        INFO(text);
        CHECK(parse(text).root().number() == value);
    }
    CHECK(std::signbit(*parse("-1e-400").root().number()));
    CHECK(parse("0." + std::string(400, '0') + "e600").root().number() == 0.0);
    CHECK(std::signbit(*parse("-0." + std::string(400, '0') + "E+600").root().number()));
    CHECK(parse("0." + std::string(400, '0') + "1e80").root().number() == 0x1.94p-1067);
    CHECK(parse("0." + std::string(400, '0') + "1e5").root().number() == 0.0);
    CHECK(parse("0." + std::string(100'000, '1')).root().number() == 1.0 / 9.0);

    refuse("1e309", 0, "too large");
    refuse("[1.8e308]", 1, "too large");
    refuse("-1e309", 0, "too large");
    refuse("-1.8E+308", 0, "too large");
    refuse(std::string(400, '9'), 0, "too large");
    refuse("1e99999999999999999999", 0, "too large");
}

TEST_CASE("strings are undone to UTF-8") {
    Json const json = parse(R"(["\"\\\/\b\f\n\r\t", "\u0041\u00e9\u20AC\ud83d\uDE00", "", "a\u0000b", "é€😀"])");
    JsonValue const root = json.root();
    CHECK(root[0].string() == "\"\\/\b\f\n\r\t");
    CHECK(root[1].string() == "Aé€😀");
    CHECK(root[2].string() == "");
    CHECK(root[3].string() == std::string_view("a\0b", 3));
    CHECK(root[4].string() == "é€😀");
    Json const keyed = parse(R"({"\u0061\n": 1})");
    CHECK(keyed.root().find("a\n").integer() == 1);
}

TEST_CASE("what isn't JSON is refused with its place") {
    refuse("", 0, "no value");
    refuse("  \n", 3, "no value");
    refuse("{} x", 3, "follows");
    refuse("1 2", 2, "follows");
    refuse(std::string_view("{}\0", 3), 2, "follows");
    refuse(std::string_view("[1]\0]", 5), 3, "follows");
    refuse("\xef\xbb\xbf{}", 0, "byte order mark");
    refuse("nul", 3, "no valid value");
    refuse("NaN", 0, "no valid value");
    refuse("Infinity", 0, "no valid value");
    refuse("[1,]", 3, "no valid value");
    refuse("[1 2]", 3, "comma or ]");
    refuse("[", 1, "no valid value");
    refuse("[1", 2, "comma or ]");
    refuse("{\"a\":1,}", 7, "key is missing");
    refuse("{a:1}", 1, "key is missing");
    refuse("{\"a\" 1}", 5, "colon");
    refuse("{\"a\":1 \"b\":2}", 7, "comma or }");
    refuse("{\"a\":}", 5, "no valid value");
    refuse("// c\n1", 0, "no valid value");
    refuse("'a'", 0, "no valid value");
    refuse("01", 1, "follows");
    refuse("+1", 0, "no valid value");
    refuse(".5", 0, "no valid value");
    refuse("1.", 2, "after a point");
    refuse("1e", 2, "exponent");
    refuse("-", 1, "no valid value");
    refuse("0x10", 1, "follows");
    refuse("\"abc", 4, "doesn't end");
    refuse("\"a\nb\"", 2, "control character");
    refuse("\"\\x\"", 1, "escape is unknown");
    refuse("\"\\u12g4\"", 1, "hexadecimal");
    refuse("\"\\", 1, "escape is unknown");
}

TEST_CASE("text that isn't UTF-8 is refused") {
    for (std::string_view bad : {"\xff", "\x80", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                 "\xf8\x88\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x98", "\xc3"}) {
        refuse("[\"ab" + std::string(bad) + "\"]", 4, "isn't UTF-8");
        refuse("[\"ab" + std::string(bad), 4, "isn't UTF-8"); // where the text ends
        refuse("{\"ab" + std::string(bad) + "\":1}", 4, "isn't UTF-8");
    }
    refuse("\xc3\xa9", 0, "no valid value"); // outside a string
}

TEST_CASE("a lone surrogate is refused, whichever half") {
    refuse(R"(["\ud800"])", 2, "surrogate");
    refuse(R"(["\ud800x"])", 2, "surrogate");
    refuse(R"(["\ud800\u0041"])", 2, "surrogate");
    refuse(R"(["\ud800\ud800"])", 2, "surrogate");
    refuse(R"(["\udc00"])", 8, "surrogate");
    refuse(R"(["a", {"\udfff": 1}])", 14, "surrogate");
}

TEST_CASE("depth is limited, and an absurd depth costs no time") {
    auto const nested = [](std::size_t levels, std::string const &open, std::string const &close) {
        std::string text;
        for (std::size_t i = 0; i != levels; ++i) text += open;
        text += "1";
        for (std::size_t i = 0; i != levels; ++i) text += close;
        return text;
    };
    Json const json = parse(nested(128, "[", "]"));
    JsonValue value = json.root();
    for (std::size_t i = 0; i != 128; ++i) value = value[0];
    CHECK(value.integer() == 1);
    parse(nested(128, "{\"a\":", "}"));
    refuse(nested(129, "[", "]"), 129, "128");
    refuse(nested(129, "{\"a\":", "}"), 641, "128");
    refuse(std::string(1'000'000, '['), 129, "128");
    parse("[" + nested(127, "[", "]") + "," + nested(127, "[", "]") + "]"); // levels are given back
}

TEST_CASE("many values are read in linear time") {
    std::string text = "[";
    for (std::size_t i = 0; i != 300'000; ++i)
        text += (i ? "," : "") + std::string("[\"") + std::to_string(i) + "\",-1.5]";
    text += "]";
    Json const json = parse(text);
    REQUIRE(json.root().size() == 300'000);
    CHECK(json.root()[299'999][0].string() == "299999");
    CHECK(json.root()[123'456][1].number() == -1.5);
}
