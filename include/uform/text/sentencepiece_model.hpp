/// Reads sentencepiece's own file, a protocol buffer: pieces, their scores, and the map of characters.
#ifndef UFORM_TEXT_SENTENCEPIECE_MODEL_HPP
#define UFORM_TEXT_SENTENCEPIECE_MODEL_HPP

#include <cstddef>
#include <cstdint>
#include <cstring> // std::memcpy
#include <string_view>

#include "uform/config.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/utf8.hpp"
#include "uform/text/vocabulary.hpp"

namespace uform {

/// Walks the fields of a protocol buffer's message. What is read points into the bytes, and nothing is allocated.
///
/// Source  the protocol buffers' wire format: a field's number and kind as a varint, then the value.
class ProtobufFields {
    std::string_view bytes_;
    std::size_t at_, end_;
    char const *fault_ = nullptr;
    std::size_t fault_at_ = 0;

    bool fail(std::size_t at, char const *why) noexcept {
        fault_ = why, fault_at_ = at;
        return false;
    }
    bool varint(std::uint64_t &value) noexcept {
        std::size_t const first = at_;
        value = 0;
        for (unsigned shift = 0; shift != 70; shift += 7) {
            if (at_ == end_) return fail(first, "a number is cut");
            auto const byte = static_cast<unsigned char>(bytes_[at_++]);
            value |= std::uint64_t{byte & 0x7Fu} << shift;
            if (byte < 0x80) return shift < 63 || byte < 2 || fail(first, "a number is above 64 bits");
        }
        return fail(first, "a number is above 64 bits");
    }

  public:
    enum class Kind : std::uint8_t { number = 0, eight_bytes = 1, text = 2, four_bytes = 5 };
    std::uint32_t field = 0; ///< the number of the field that `next` read
    Kind kind = Kind::number;
    std::uint64_t number = 0; ///< of the kind `number`
    std::string_view text;    ///< the bytes of the other kinds
    std::size_t place = 0;    ///< of its first byte

    /// The fields of a message that takes a part of a file.
    ProtobufFields(std::string_view file, std::size_t first, std::size_t size) noexcept
        : bytes_(file), at_(first), end_(first + size) {}

    /// Reads the next field. False: there is none, or `fault()` says why.
    [[nodiscard]] bool next() noexcept {
        if (at_ == end_) return false;
        std::size_t const first = at_;
        std::uint64_t tag = 0;
        if (!varint(tag)) return false;
        if (tag >> 32 || tag < 8) return fail(first, "the number of a field is none");
        auto const wire = static_cast<unsigned>(tag & 7);
        if (wire != 0 && wire != 1 && wire != 2 && wire != 5) return fail(first, "the kind of a field is none");
        field = static_cast<std::uint32_t>(tag >> 3), kind = static_cast<Kind>(wire), place = at_;
        if (kind == Kind::number) return varint(number);
        std::uint64_t size = kind == Kind::eight_bytes ? 8 : 4;
        if (kind == Kind::text && !varint(size)) return false;
        if (size > end_ - at_) return fail(first, "a field is cut");
        place = at_, text = bytes_.substr(at_, static_cast<std::size_t>(size)), at_ += text.size();
        return true;
    }
    /// What is wrong, or null, and the byte where.
    [[nodiscard]] char const *fault() const noexcept { return fault_; }
    [[nodiscard]] std::size_t fault_at() const noexcept { return fault_at_; }
};

/// A sentencepiece model as its file says it. The texts point into the file's bytes.
///
/// Source  sentencepiece 0.2.3, `sentencepiece_model.proto`.
struct SentencePieceModel {
    enum class Type : std::uint8_t { normal = 1, unknown, control, user_defined, unused, byte };
    struct Piece {
        std::string_view text;
        float score = 0;
        Type type = Type::normal;
    };
    static constexpr std::uint64_t unigram_k = 1;

    List<Piece> pieces;
    std::string_view character_map; ///< empty: texts stay as they are
    std::uint64_t algorithm = unigram_k;

    /// The name of the algorithm, for messages.
    [[nodiscard]] std::string_view algorithm_name() const noexcept {
        constexpr std::string_view names[] = {"Unigram", "BPE", "WORD", "CHAR"};
        return algorithm - 1 < std::size(names) ? names[algorithm - 1] : std::string_view("unknown");
    }

    /// Reads the bytes of a file. Fields that it doesn't need are passed over.
    ///
    /// Errors  `corrupt`, with the file, the byte and what is wrong there: a field that is cut or none, a piece without
    ///         text or whose text is not UTF-8, a score that is no number, a type that is none; also for a file without
    ///         pieces, and for one without a trainer_spec or normalizer_spec, which stand behind the pieces, so that
    ///         one cut between two pieces is found. `unsupported` for too many pieces.
    /// Memory  24 bytes a piece.
    [[nodiscard]] UFORM_COLD static Result<SentencePieceModel> read(std::string_view bytes, std::string_view file) {
        SentencePieceModel model;
        bool has_trainer = false, has_normalizer = false;
        ProtobufFields fields(bytes, 0, bytes.size());
        while (fields.next()) {
            if (fields.field > 3 || fields.kind != ProtobufFields::Kind::text) continue;
            ProtobufFields inner(bytes, fields.place, fields.text.size());
            if (fields.field == 1) {
                if (model.pieces.size() >= greatest_id_k)
                    return Error::of(Status::unsupported, file, ": too many pieces");
                Piece piece;
                if (auto done = read_piece(inner, piece, model.pieces.size(), fields.place, file); !done)
                    return done.error();
                model.pieces.push_back(piece);
            } else if (fields.field == 2) {
                has_trainer = true;
                while (inner.next())
                    if (inner.field == 3 && inner.kind == ProtobufFields::Kind::number) model.algorithm = inner.number;
            } else {
                has_normalizer = true;
                while (inner.next())
                    if (inner.field == 2 && inner.kind == ProtobufFields::Kind::text) model.character_map = inner.text;
            }
            if (inner.fault()) return damaged(file, inner.fault_at(), inner.fault());
        }
        if (fields.fault()) return damaged(file, fields.fault_at(), fields.fault());
        if (model.pieces.empty())
            return Error::of(Status::corrupt, file, ": no pieces in the ", bytes.size(), " bytes");
        if (!has_trainer) return damaged(file, bytes.size(), "the file ends without a trainer_spec");
        if (!has_normalizer) return damaged(file, bytes.size(), "the file ends without a normalizer_spec");
        return model;
    }

  private:
    [[nodiscard]] static Error damaged(std::string_view file, std::size_t at, std::string_view why) {
        return Error::of(Status::corrupt, file, ": damaged at byte ", at, ": ", why);
    }
    // The caller looks at what is wrong with the fields.
    [[nodiscard]] UFORM_COLD static Result<void> read_piece(ProtobufFields &fields, Piece &piece, std::size_t index,
                                                            std::size_t place, std::string_view file) {
        auto const refuse = [&](std::size_t at, std::string_view why) {
            return Error::of(Status::corrupt, file, ": damaged at byte ", at, ": the ", why, " of the piece ", index);
        };
        using Kind = ProtobufFields::Kind;
        while (fields.next()) {
            if (fields.field == 1 && fields.kind == Kind::text) {
                piece.text = fields.text;
                if (std::size_t const valid = utf8::valid_prefix(piece.text); valid != piece.text.size())
                    return refuse(fields.place + valid, "text is not UTF-8,");
            } else if (fields.field == 2 && fields.kind == Kind::four_bytes) {
                std::uint32_t bits = 0;
                for (std::size_t i = 4; i-- != 0;) bits = bits << 8 | static_cast<unsigned char>(fields.text[i]);
                std::memcpy(&piece.score, &bits, sizeof bits);
                if (piece.score - piece.score != 0) // NaN or infinite
                    return refuse(fields.place, "score is no number,");
            } else if (fields.field == 3 && fields.kind == Kind::number) {
                if (fields.number < 1 || fields.number > 6) return refuse(fields.place, "type is none,");
                piece.type = static_cast<Type>(fields.number);
            }
        }
        if (!fields.fault() && piece.text.empty()) return refuse(place, "text is missing,");
        return {};
    }
};

} // namespace uform

#endif // UFORM_TEXT_SENTENCEPIECE_MODEL_HPP
