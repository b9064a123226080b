/// Reads the post_processor of tokenizer.json.
#ifndef UFORM_TEXT_FRAMING_JSON_HPP
#define UFORM_TEXT_FRAMING_JSON_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "uform/config.hpp"
#include "uform/json.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/framing.hpp"
#include "uform/text/json_fields.hpp"

namespace uform {

/// Reads one file's post-processor.
class FramingReader {
    std::string_view file_;
    Framing framing_;
    bool has_special_ = false; // one of them has set the special tokens
    using Item = Framing::Item;

    explicit FramingReader(std::string_view file) : file_(file) {}

    [[nodiscard]] UFORM_COLD Error refuse(Status status, MessagePart const &a, MessagePart const &b = no_part,
                                          MessagePart const &c = no_part, MessagePart const &d = no_part,
                                          MessagePart const &e = no_part, MessagePart const &f = no_part,
                                          MessagePart const &g = no_part) const {
        return Error::of(status, file_, ": ", a, b, c, d, e, f, g);
    }
    [[nodiscard]] UFORM_COLD Result<std::uint32_t> read_segment(JsonValue piece) const {
        auto const segment = json_id(piece.find("type_id"), "type_id", file_);
        if (segment && *segment > 255) return refuse(Status::unsupported, "the segment ", *segment, " is above 255");
        return segment;
    }
    [[nodiscard]] UFORM_COLD Result<List<Item>> read_pieces(JsonValue pieces, JsonValue tokens, bool is_pair) const {
        constexpr std::size_t most_pieces = 1000;
        if (pieces.size() > most_pieces || tokens.size() > most_pieces)
            return refuse(Status::unsupported, "a template of ", pieces.size(), " pieces and ", tokens.size(),
                          " special tokens; at most ", most_pieces, " of either are served");
        List<Item> items;
        std::size_t firsts = 0, seconds = 0;
        for (std::size_t i = 0; i != pieces.size(); ++i) {
            if (JsonValue const sequence = pieces[i].find("Sequence")) {
                auto const segment = read_segment(sequence);
                if (!segment) return segment.error();
                auto const name = sequence.find("id").string();
                bool const first = name == std::string_view("A");
                if (!first && name != std::string_view("B"))
                    return refuse(Status::corrupt, "a template's text is neither A nor B");
                ++(first ? firsts : seconds);
                items.push_back({first ? Item::Kind::first : Item::Kind::second, 0, *segment});
                continue;
            }
            JsonValue const special = pieces[i].find("SpecialToken");
            auto const name = json_string(special, "id", file_);
            if (!name) return name.error();
            auto const segment = read_segment(special);
            if (!segment) return segment.error();
            JsonValue const ids = tokens.find(*name).find("ids");
            if (!ids.is(JsonKind::array))
                return refuse(Status::corrupt, "the template's special token '", *name, "' has no ids");
            for (std::size_t j = 0; j != ids.size(); ++j) {
                auto const id = json_id(ids[j], *name, file_);
                if (!id) return id.error();
                items.push_back({Item::Kind::special, *id, *segment});
            }
        }
        if (!is_pair && (firsts != 1 || seconds != 0))
            return refuse(Status::unsupported, "a template whose single text is not $A, once, is not served");
        if (is_pair && (firsts != 1 || seconds != 1)) items.clear();
        return items;
    }
    [[nodiscard]] UFORM_COLD Result<void> read_template(JsonValue object) {
        JsonValue const single = object.find("single"), pair = object.find("pair");
        JsonValue const tokens = object.find("special_tokens");
        if (!single.is(JsonKind::array) || !tokens.is(JsonKind::object))
            return refuse(Status::corrupt, "TemplateProcessing without 'single' or 'special_tokens'");
        auto items = read_pieces(single, tokens, false);
        if (!items) return items.error();
        framing_.single = std::move(*items);
        if (json_absent(pair)) return refuse(Status::corrupt, "TemplateProcessing without 'pair'");
        if (!pair.is(JsonKind::array)) return refuse(Status::corrupt, "the 'pair' of TemplateProcessing is no array");
        items = read_pieces(pair, tokens, true);
        if (!items) return items.error();
        framing_.pair = std::move(*items), framing_.serves_pairs = !framing_.pair.empty();
        return {};
    }
    // BERT's and RoBERTa's: begin and end, and for a pair one or two ends between.
    [[nodiscard]] UFORM_COLD Result<void> read_begin_end(JsonValue object, bool roberta) {
        auto const begin = json_id(object.find("cls")[1], "cls", file_);
        auto const end = json_id(object.find("sep")[1], "sep", file_);
        if (!begin) return begin.error();
        if (!end) return end.error();
        framing_.put_between(*begin, *end, roberta);
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read_trimming(JsonValue object) {
        auto const trims = json_boolean(object, "trim_offsets", file_);
        auto const prefix = json_boolean(object, "add_prefix_space", file_);
        if (!trims) return trims.error();
        if (!prefix) return prefix.error();
        if (*trims && framing_.trims_offsets)
            return refuse(Status::unsupported, "two post_processors that trim offsets are not served");
        if (*trims) framing_.trims_offsets = true, framing_.prefix_space = *prefix;
        return {};
    }
    [[nodiscard]] UFORM_COLD Result<void> read(JsonValue object, std::size_t level) {
        auto const type = json_string(object, "type", file_);
        if (!type) return type.error();
        if (*type == "Sequence") {
            JsonValue const list = object.find("processors");
            if (!list.is(JsonKind::array))
                return refuse(Status::corrupt, "the sequence of post_processors is no array");
            if (level == 8)
                return refuse(Status::unsupported, "more than 8 sequences of post_processors in each other");
            for (std::size_t i = 0; i != list.size(); ++i)
                if (auto done = read(list[i], level + 1); !done) return done;
            return {};
        }
        if (*type == "ByteLevel") return read_trimming(object);
        if (*type != "TemplateProcessing" && *type != "BertProcessing" && *type != "RobertaProcessing")
            return refuse(Status::unsupported, "the post_processor ", *type, " is not served");
        if (has_special_)
            return refuse(Status::unsupported,
                          "two post_processors with special tokens in a row are not served: ", *type);
        has_special_ = true;
        if (*type == "TemplateProcessing") return read_template(object);
        if (*type == "BertProcessing") return read_begin_end(object, false);
        if (auto done = read_trimming(object); !done) return done;
        return read_begin_end(object, true);
    }

  public:
    /// The framing of a file; without special tokens for `null`. Errors: `corrupt` or `unsupported`, naming the file.
    [[nodiscard]] UFORM_COLD static Result<Framing> read(JsonValue object, std::string_view file) {
        FramingReader reader(file);
        if (!json_absent(object))
            if (auto done = reader.read(object, 0); !done) return done.error();
        return std::move(reader.framing_);
    }
};

} // namespace uform

#endif // UFORM_TEXT_FRAMING_JSON_HPP
