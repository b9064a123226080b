/// JSON read into a compact document: RapidJSON's SAX reader behind one small interface.
#ifndef UFORM_JSON_HPP
#define UFORM_JSON_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error> // std::errc
#include <type_traits>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <rapidjson/reader.h>
#pragma GCC diagnostic pop

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/status.hpp"

namespace uform {

/// Arrays and objects inside each other, of which each takes stack, and bytes of a text, that are read at most.
inline constexpr std::size_t json_levels_k = 128, json_bytes_k = std::size_t{1} << 30;

/// What a value is. `missing` is no value at all: what `find` answers for an absent key, as opposed to a `null`.
enum class JsonKind : std::uint8_t { missing, null, boolean, integer, number, string, array, object };

/// The kind's name, as it is spelt in the enumeration. Static storage.
[[nodiscard]] constexpr std::string_view json_kind_name(JsonKind kind) noexcept {
    constexpr std::string_view names[] = {"missing", "null",   "boolean", "integer",
                                          "number",  "string", "array",   "object"};
    return names[static_cast<std::size_t>(kind)];
}

/// One value of a document. The elements of an array, or the keys and values of an object in turns, lie together,
/// `back` nodes before their container.
struct JsonNode {
    union {
        std::int64_t integer;
        std::uint64_t natural; ///< an integer that no `std::int64_t` holds
        char const *text;      ///< of a string, or of a number as it is written
        std::size_t back;
    };
    std::uint32_t size; ///< bytes of `text`, elements, members
    JsonKind kind;
    bool flag; ///< a boolean's value; of an integer: it is `natural`
};

/// The value of a number as JSON writes them, correctly rounded. False: it is too large.
[[nodiscard]] inline bool read_json_number(std::string_view text, double &value) noexcept {
    char const *const end = text.data() + text.size();
    if (std::from_chars(text.data(), end, value).ec != std::errc::result_out_of_range) return true;
    // Too large, or so small that it rounds to 0? The power of ten of its first digit that isn't 0 tells.
    std::string_view const digits = text.substr(0, text.find_first_of("eE"));
    auto const lead = static_cast<std::int64_t>(digits.find_first_of("123456789"));
    std::size_t const dot = digits.find('.');
    auto const point = static_cast<std::int64_t>(dot == digits.npos ? digits.size() : dot);
    std::int64_t exponent = 0;
    if (digits.size() != text.size()) {
        char const *const sign = text.data() + digits.size() + 1;
        constexpr std::int64_t far = std::int64_t{1} << 40; // farther than any text has digits
        auto const read = std::from_chars(sign + (*sign == '+'), end, exponent);
        if (read.ec != std::errc() || exponent > far || exponent < -far) exponent = *sign == '-' ? -far : far;
    }
    value = text[0] == '-' ? -0.0 : 0.0;
    return exponent + point - lead <= 0;
}

/// A value of a `Json`, or none. Plain data; valid as long as the document, wherever that is moved.
class JsonValue {
    JsonNode const *node_ = nullptr;

    [[nodiscard]] JsonNode const *child(std::size_t i) const noexcept { return node_ - node_->back + i; }
    [[nodiscard]] static std::string_view text_of(JsonNode const &node) noexcept { return {node.text, node.size}; }

  public:
    JsonValue() noexcept = default;
    explicit JsonValue(JsonNode const *node) noexcept : node_(node) {}

    [[nodiscard]] JsonKind kind() const noexcept { return node_ ? node_->kind : JsonKind::missing; }
    /// Whether there is a value; a `null` is one.
    [[nodiscard]] explicit operator bool() const noexcept { return node_ != nullptr; }
    [[nodiscard]] bool is(JsonKind kind) const noexcept { return this->kind() == kind; }

    /// Each answers nothing if the value is of another kind.
    [[nodiscard]] std::optional<bool> boolean() const noexcept {
        return is(JsonKind::boolean) ? std::optional(node_->flag) : std::nullopt;
    }
    /// A number written without point and exponent, if it fits.
    [[nodiscard]] std::optional<std::int64_t> integer() const noexcept {
        return is(JsonKind::integer) && !node_->flag ? std::optional(node_->integer) : std::nullopt;
    }
    /// The same from 0 to 2^64 - 1.
    [[nodiscard]] std::optional<std::uint64_t> natural() const noexcept {
        if (!is(JsonKind::integer) || (!node_->flag && node_->integer < 0)) return std::nullopt;
        return node_->flag ? node_->natural : static_cast<std::uint64_t>(node_->integer);
    }
    /// A number or an integer, correctly rounded.
    [[nodiscard]] std::optional<double> number() const noexcept {
        double value = 0;
        if (is(JsonKind::number)) return (void)read_json_number(text_of(*node_), value), value; // none is too large
        if (!is(JsonKind::integer)) return std::nullopt;
        return node_->flag ? static_cast<double>(node_->natural) : static_cast<double>(node_->integer);
    }
    /// A number as it is written. Integers that fit into 64 bits are none.
    [[nodiscard]] std::optional<std::string_view> number_text() const noexcept {
        return is(JsonKind::number) ? std::optional(text_of(*node_)) : std::nullopt;
    }
    /// UTF-8, valid, its escapes undone; may hold zero bytes.
    [[nodiscard]] std::optional<std::string_view> string() const noexcept {
        return is(JsonKind::string) ? std::optional(text_of(*node_)) : std::nullopt;
    }

    /// Elements of an array, or members of an object; 0 for anything else.
    [[nodiscard]] std::size_t size() const noexcept {
        return is(JsonKind::array) || is(JsonKind::object) ? node_->size : 0;
    }
    /// Element `i` of an array, or the value of member `i` of an object, in the order of the text; missing past the
    /// end.
    [[nodiscard]] JsonValue operator[](std::size_t i) const noexcept {
        if (i >= size()) return {};
        return JsonValue(child(is(JsonKind::object) ? 2 * i + 1 : i));
    }
    /// The key of member `i` of an object; empty past the end, and for anything else.
    [[nodiscard]] std::string_view key(std::size_t i) const noexcept {
        return is(JsonKind::object) && i < size() ? text_of(*child(2 * i)) : std::string_view();
    }
    /// The value of a key: of equal keys the last one's, as in Python. Missing if there is none, or this is no object.
    /// Takes time linear in the number of members.
    [[nodiscard]] JsonValue find(std::string_view sought) const noexcept {
        if (is(JsonKind::object))
            for (std::size_t i = size(); i-- != 0;)
                if (key(i) == sought) return (*this)[i];
        return {};
    }
};
static_assert(std::is_trivially_copyable_v<JsonValue>);

/// A text that the parser reads, and writes its strings into. Ends with zeros: RapidJSON looks at up to three bytes
/// past the first when a text is cut inside a character.
struct JsonStream {
    using Ch = char;
    char *begin, *read, *write = nullptr;
    std::size_t surrogate_at = SIZE_MAX; ///< where the escape of a lone low surrogate ended

    Ch Peek() const noexcept { return *read; }
    Ch Take() noexcept { return *read++; }
    std::size_t Tell() const noexcept { return static_cast<std::size_t>(read - begin); }
    Ch *PutBegin() noexcept { return write = read; }
    void Put(Ch c) noexcept { *write++ = c; }
    std::size_t PutEnd(Ch *start) const noexcept { return static_cast<std::size_t>(write - start); }
};

/// UTF-8 that notes what RapidJSON 1.1.0 lets pass: the escape of a low surrogate without its high one.
struct JsonEncoding : RAPIDJSON_NAMESPACE::UTF8<> {
    template <class Stream> static void Encode(Stream &stream, unsigned code_point) {
        if constexpr (requires { stream.surrogate_at; }) // RapidJSON also names this with streams that it won't use
            if (code_point - 0xdc00u < 0x400u && stream.surrogate_at == SIZE_MAX) stream.surrogate_at = stream.Tell();
        RAPIDJSON_NAMESPACE::UTF8<>::Encode(stream, code_point);
    }
};

/// Makes nodes of the parser's events.
class JsonBuilder {
    Buffer<JsonNode> pending_; // what waits for its container; `back` of one in here is where its children begin
    std::size_t levels_ = 0;

    [[nodiscard]] bool push(JsonNode node) noexcept { return no_memory = !pending_.push_back(node), !no_memory; }
    [[nodiscard]] bool open() noexcept {
        if (levels_++ != json_levels_k) return true;
        refusal = "more than 128 arrays and objects inside each other";
        return false;
    }
    [[nodiscard]] bool close(JsonKind kind, std::uint32_t size) noexcept {
        --levels_;
        std::size_t const back = settle(kind == JsonKind::object ? 2 * std::size_t{size} : size);
        return !no_memory && push({.back = back, .size = size, .kind = kind, .flag = false});
    }

  public:
    Buffer<JsonNode> nodes;
    char const *refusal = nullptr;
    bool no_memory = false;

    /// Room for what most texts of so many bytes need. Memory that nothing is written to costs nothing.
    [[nodiscard]] bool reserve(std::size_t bytes) noexcept {
        return nodes.reserve(bytes / 12) && pending_.reserve(bytes / 24);
    }
    /// Moves the last `count` pending nodes to their place and answers where that is.
    std::size_t settle(std::size_t count) noexcept {
        std::size_t const first = nodes.size(), from = pending_.size() - count;
        if (no_memory = !nodes.resize(first + count), no_memory) return 0;
        for (std::size_t i = 0; i != count; ++i) {
            JsonNode node = pending_[from + i];
            if (node.kind == JsonKind::array || node.kind == JsonKind::object) node.back = first + i - node.back;
            nodes[first + i] = node;
        }
        pending_.truncate(from);
        return first;
    }

    bool Null() noexcept { return push({.integer = 0, .size = 0, .kind = JsonKind::null, .flag = false}); }
    bool Bool(bool value) noexcept { return push({.integer = 0, .size = 0, .kind = JsonKind::boolean, .flag = value}); }
    bool String(char const *text, std::uint32_t size, bool) noexcept {
        return push({.text = text, .size = size, .kind = JsonKind::string, .flag = false});
    }
    bool Key(char const *text, std::uint32_t size, bool copy) noexcept { return String(text, size, copy); }
    bool RawNumber(char const *text, std::uint32_t size, bool) noexcept {
        JsonNode node{.integer = 0, .size = 0, .kind = JsonKind::integer, .flag = false};
        auto answer = std::from_chars(text, text + size, node.integer);
        if (answer.ec == std::errc::result_out_of_range) { // the next reads no sign
            node.flag = true;
            answer = std::from_chars(text, text + size, node.natural);
        }
        if (answer.ec == std::errc() && answer.ptr == text + size) return push(node);
        double value; // most numbers are read by whom they concern; here only those that may be too large
        if ((size >= 300 || std::memchr(text, 'e', size) || std::memchr(text, 'E', size)) &&
            !read_json_number({text, size}, value)) {
            refusal = "a number is too large";
            return false;
        }
        return push({.text = text, .size = size, .kind = JsonKind::number, .flag = false});
    }
    bool StartObject() noexcept { return open(); }
    bool StartArray() noexcept { return open(); }
    bool EndObject(std::uint32_t members) noexcept { return close(JsonKind::object, members); }
    bool EndArray(std::uint32_t elements) noexcept { return close(JsonKind::array, elements); }

    // Called by no parser whose numbers are raw, but named by it.
    bool Int(int) noexcept { return false; }
    bool Uint(unsigned) noexcept { return false; }
    bool Int64(std::int64_t) noexcept { return false; }
    bool Uint64(std::uint64_t) noexcept { return false; }
    bool Double(double) noexcept { return false; }
};

} // namespace uform

RAPIDJSON_NAMESPACE_BEGIN
/// Lets the parser keep the stream in registers while it reads a string.
template <> struct StreamTraits<uform::JsonStream> {
    enum { copyOptimization = 1 };
};
RAPIDJSON_NAMESPACE_END

namespace uform {

/// A parsed document, which owns all that its values point at. Move-only; moving leaves values valid.
///
/// Memory  a copy of the text, and 16 bytes a value and key. Threads: any may read at the same time.
class Json {
    Buffer<char> text_; // strings are undone in place
    Buffer<JsonNode> nodes_;

    [[nodiscard]] static char const *reason(RAPIDJSON_NAMESPACE::ParseErrorCode code) noexcept {
        using namespace RAPIDJSON_NAMESPACE;
        switch (code) {
        case kParseErrorDocumentEmpty: return "there is no value";
        case kParseErrorDocumentRootNotSingular: return "something follows the value";
        case kParseErrorObjectMissName: return "a key is missing";
        case kParseErrorObjectMissColon: return "a colon is missing after a key";
        case kParseErrorObjectMissCommaOrCurlyBracket: return "a comma or } is missing after a member";
        case kParseErrorArrayMissCommaOrSquareBracket: return "a comma or ] is missing after an element";
        case kParseErrorStringUnicodeEscapeInvalidHex: return "a \\u escape lacks its four hexadecimal digits";
        case kParseErrorStringUnicodeSurrogateInvalid: return "a surrogate stands alone";
        case kParseErrorStringEscapeInvalid: return "an escape is unknown, or a control character stands bare";
        case kParseErrorStringMissQuotationMark: return "a string doesn't end";
        case kParseErrorStringInvalidEncoding: return "a string isn't UTF-8";
        case kParseErrorNumberTooBig: return "a number is too large";
        case kParseErrorNumberMissFraction: return "a digit is missing after a point";
        case kParseErrorNumberMissExponent: return "a digit is missing in an exponent";
        default: return "there is no valid value";
        }
    }

  public:
    Json() noexcept = default;

    /// Reads a whole text, as strictly as RFC 8259: no comment, no NaN, nothing behind the value.
    ///
    /// A byte order mark is refused, and so is a surrogate escape without its other half (`\ud800`): it names no
    /// character. Both are what `tokenizers` does, and the first what Python does. Integers past 64 bits are numbers.
    ///
    /// Errors  `corrupt`, with `name`, the byte offset and the reason, also for more than `json_levels_k` levels;
    ///         `unsupported` for more than `json_bytes_k` bytes; `out_of_memory`. Throws nothing.
    [[nodiscard]] static Result<Json> parse(std::string_view text, std::string_view name) noexcept {
        if (text.size() > json_bytes_k)
            return Error::of(Status::unsupported, name, ": JSON of ", text.size(), " bytes; at most ", json_bytes_k,
                             " are read");
        auto const corrupt = [&](std::size_t at, std::string_view why) {
            return Error::of(Status::corrupt, name, ": not JSON at byte ", at, ": ", why);
        };
        if (text.starts_with("\xef\xbb\xbf")) return corrupt(0, "it starts with a byte order mark");
        auto const no_memory = [&] { return Error::of(Status::out_of_memory, name, ": no memory for its JSON"); };
        Json json;
        if (!json.text_.reserve(text.size() + 4) || !json.text_.append(text.data(), text.size()) ||
            !json.text_.append("\0\0\0", 4))
            return no_memory();

        namespace rapid = RAPIDJSON_NAMESPACE;
        // In this way the parser allocates nothing.
        constexpr unsigned flags =
            rapid::kParseInsituFlag | rapid::kParseValidateEncodingFlag | rapid::kParseNumbersAsStringsFlag;
        JsonStream stream{json.text_.data(), json.text_.data()};
        JsonBuilder builder;
        if (!builder.reserve(text.size())) return no_memory();
        rapid::GenericReader<JsonEncoding, JsonEncoding> reader;
        auto const parsed = reader.template Parse<flags>(stream, builder);
        if (builder.no_memory) return no_memory();
        if (parsed.IsError())
            return corrupt(parsed.Offset(), builder.refusal ? builder.refusal : reason(parsed.Code()));
        if (stream.Tell() != text.size()) return corrupt(stream.Tell(), "something follows the value"); // a zero byte
        if (stream.surrogate_at != SIZE_MAX) return corrupt(stream.surrogate_at, "a surrogate stands alone");
        builder.settle(1);
        if (builder.no_memory) return no_memory();
        json.nodes_ = std::move(builder.nodes);
        return json;
    }

    /// The document's value; missing in a `Json` that was not parsed.
    [[nodiscard]] JsonValue root() const noexcept UFORM_LIFETIMEBOUND {
        return nodes_.empty() ? JsonValue() : JsonValue(nodes_.end() - 1);
    }
};

} // namespace uform

#endif // UFORM_JSON_HPP
