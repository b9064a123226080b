/// Reads the decoder of tokenizer.json.
#ifndef UFORM_TEXT_DECODER_JSON_HPP
#define UFORM_TEXT_DECODER_JSON_HPP

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/decoder.hpp"
#include "uform/text/json_fields.hpp"
#include "uform/text/normalizer_json.hpp"

namespace uform {

/// Reads one file's decoder. What it doesn't know is no error: a decoder has no say in ids, and refuses when asked.
class DecoderReader {
    std::string_view file_;
    List<DecoderStep> steps_;
    using Kind = DecoderStep::Kind;

    explicit DecoderReader(std::string_view file) : file_(file) {}

    [[nodiscard]] UFORM_COLD Result<DecoderStep> read_one(JsonValue object, std::string_view type) const {
        DecoderStep step;
        auto const take = [&](Result<std::string_view> const &text) {
            if (text) step.text = *text;
            return text.has_value();
        };
        if (type == "WordPiece") {
            step.kind = Kind::word_piece;
            auto const prefix = json_string(object, "prefix", file_);
            auto const cleanup = json_boolean(object, "cleanup", file_);
            if (!take(prefix)) return prefix.error();
            if (!cleanup) return cleanup.error();
            step.flag = *cleanup;
        } else if (type == "ByteLevel") {
            step.kind = Kind::byte_level;
        } else if (type == "ByteFallback") {
            step.kind = Kind::byte_fallback;
        } else if (type == "Fuse") {
            step.kind = Kind::fuse;
        } else if (type == "Metaspace") {
            step.kind = Kind::meta_space;
            auto const mark = json_character(object, "replacement", file_);
            if (!take(mark)) return mark.error();
            auto const scheme = json_string_or_empty(object, "prepend_scheme", file_);
            if (!scheme) return scheme.error();
            step.flag = *scheme != "never";
        } else if (type == "BPEDecoder") {
            step.kind = Kind::bpe;
            auto const suffix = json_string(object, "suffix", file_);
            if (!take(suffix)) return suffix.error();
            if (suffix->empty()) return Error::of(Status::unsupported, file_, ": a BPEDecoder without suffix");
        } else if (type == "Replace") {
            step.kind = Kind::replace;
            auto pattern = read_pattern(object, "Replace", file_);
            auto const content = json_string(object, "content", file_);
            if (!pattern) return pattern.error();
            if (!content) return content.error();
            step.pattern = std::move(*pattern), step.content = *content;
        } else if (type == "Strip") {
            step.kind = Kind::strip;
            auto const content = json_character(object, "content", file_);
            if (!take(content)) return content.error();
            auto const start = object.find("start").natural(), stop = object.find("stop").natural();
            if (!start || !stop) return Error::of(Status::corrupt, file_, ": the decoder Strip without start or stop");
            step.first = static_cast<std::size_t>(*start), step.last = static_cast<std::size_t>(*stop);
        } else {
            return Error::of(Status::unsupported, file_, ": the decoder ", type, " is not served");
        }
        return step;
    }
    [[nodiscard]] UFORM_COLD Result<void> read(JsonValue object, std::size_t level) {
        auto const type = json_string(object, "type", file_);
        if (!type) return type.error();
        if (*type != "Sequence") {
            auto step = read_one(object, *type);
            if (!step) return step.error();
            steps_.push_back(std::move(*step));
            return {};
        }
        JsonValue const list = object.find("decoders");
        if (level == 8 || list.size() > 100)
            return Error::of(Status::unsupported, file_, ": so many decoders are not served");
        for (std::size_t i = 0; i != list.size(); ++i)
            if (auto done = read(list[i], level + 1); !done) return done;
        return {};
    }

  public:
    /// The decoder of a file, or one that refuses with the reason.
    [[nodiscard]] static Decoder read(JsonValue object, std::string_view file) {
        DecoderReader reader(file);
        if (!json_absent(object))
            if (auto done = reader.read(object, 0); !done)
                return Decoder::refusing(std::string(done.error().message()));
        return Decoder(std::move(reader.steps_));
    }
};

} // namespace uform

#endif // UFORM_TEXT_DECODER_JSON_HPP
