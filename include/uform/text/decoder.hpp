/// The decoder of a tokenizer: turns the texts of tokens into one text.
#ifndef UFORM_TEXT_DECODER_HPP
#define UFORM_TEXT_DECODER_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/list.hpp"
#include "uform/text/byte_characters.hpp"
#include "uform/text/split_pattern.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// One step of a decoder.
struct DecoderStep {
    enum class Kind : std::uint8_t {
        word_piece,   ///< a blank before each token but those that continue
        byte_level,   ///< the bytes that the characters stand for
        meta_space,   ///< the mark becomes a blank
        bpe,          ///< the suffix becomes a blank
        fuse,         ///< one token of all
        replace,      ///< in each token
        strip,        ///< a character at the ends of each token
        byte_fallback ///< the bytes of tokens <0x00> to <0xFF>
    };
    Kind kind = Kind::fuse;
    std::string text; ///< prefix, mark, suffix, or the character to strip
    SplitPattern pattern;
    std::string content;
    bool flag = false; ///< word_piece: cleans up; meta_space: the first mark goes
    std::size_t first = 0, last = 0;
};

/// Applies steps to a list of tokens, then joins it: with blanks where there is no step.
///
/// Threads  any may use one at the same time. Allocates.
/// Source   Hugging Face tokenizers 0.23.3, its decoders.
class Decoder {
    List<DecoderStep> steps_;
    std::string refused_; // why it can't decode

    using Tokens = std::vector<std::string>;
    using Kind = DecoderStep::Kind;

    static void replace_all(std::string &text, std::string_view from, std::string_view to) {
        for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
    }
    static void clean_up(std::string &text) {
        struct Pair {
            std::string_view from, to;
        };
        static constexpr Pair pairs[] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                         {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                         {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
        for (auto const &[from, to] : pairs) replace_all(text, from, to);
    }
    // Each ill-formed part of bytes becomes U+FFFD.
    static std::string repaired(std::string_view bytes) {
        std::string text;
        while (!bytes.empty()) {
            std::size_t const valid = utf8::valid_prefix(bytes);
            text += bytes.substr(0, valid);
            bytes.remove_prefix(valid);
            if (bytes.empty()) break;
            text += "\xEF\xBF\xBD";
            bytes.remove_prefix(utf8::sequence_at(bytes.data(), bytes.size()).size);
        }
        return text;
    }
    static int fallback_byte(std::string_view token) noexcept {
        if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
        int value = 0;
        for (char c : token.substr(3, 2)) {
            bool const digit = c >= '0' && c <= '9', upper = c >= 'A' && c <= 'F', lower = c >= 'a' && c <= 'f';
            if (!digit && !upper && !lower) return -1;
            value = value * 16 + (digit ? c - '0' : upper ? c - 'A' + 10 : c - 'a' + 10);
        }
        return value;
    }

    static void word_piece(DecoderStep const &step, Tokens &tokens) {
        for (std::size_t i = 0; i != tokens.size(); ++i) {
            if (i != 0) {
                if (tokens[i].starts_with(step.text)) tokens[i].erase(0, step.text.size());
                else tokens[i].insert(0, 1, ' ');
            }
            if (step.flag) clean_up(tokens[i]);
        }
    }
    static void byte_level(Tokens &tokens) {
        std::string bytes;
        for (std::string const &token : tokens) {
            std::size_t const before = bytes.size();
            if (append_bytes_of(token, bytes)) continue;
            bytes.resize(before);
            bytes += token;
        }
        tokens.assign(1, repaired(bytes));
    }
    static void meta_space(DecoderStep const &step, Tokens &tokens) {
        for (std::size_t i = 0; i != tokens.size(); ++i)
            replace_all(tokens[i], step.text, i == 0 && step.flag ? "" : " ");
    }
    static void replace(DecoderStep const &step, Tokens &tokens) {
        for (std::string &token : tokens) {
            std::string made;
            for (std::size_t at = 0; at != token.size();) {
                SplitPattern::Match const match = step.pattern.find(token, at);
                made.append(token, at, match.first - at);
                if (match.first == match.last) break;
                made += step.content;
                at = match.last;
            }
            token = std::move(made);
        }
    }
    static void strip(DecoderStep const &step, Tokens &tokens) {
        for (std::string &token : tokens) {
            std::string_view rest = token;
            for (std::size_t i = 0; i != step.first && rest.starts_with(step.text); ++i)
                rest.remove_prefix(step.text.size());
            for (std::size_t i = 0; i != step.last && rest.ends_with(step.text); ++i)
                rest.remove_suffix(step.text.size());
            token = std::string(rest);
        }
    }
    static void byte_fallback(Tokens &tokens) {
        Tokens made;
        std::string bytes;
        std::size_t count = 0;
        auto const flush = [&] {
            if (count == 0) return;
            if (utf8::valid_prefix(bytes) == bytes.size()) {
                made.push_back(bytes);
            } else {
                for (std::size_t i = 0; i != count; ++i) made.emplace_back("\xEF\xBF\xBD");
            }
            bytes.clear(), count = 0;
        };
        for (std::string &token : tokens) {
            int const byte = fallback_byte(token);
            if (byte >= 0) {
                bytes.push_back(static_cast<char>(static_cast<unsigned char>(byte))), ++count;
                continue;
            }
            flush();
            made.push_back(std::move(token));
        }
        flush();
        tokens = std::move(made);
    }
    static void run(DecoderStep const &step, Tokens &tokens) {
        switch (step.kind) {
        case Kind::word_piece: return word_piece(step, tokens);
        case Kind::byte_level: return byte_level(tokens);
        case Kind::meta_space: return meta_space(step, tokens);
        case Kind::bpe:
            for (std::size_t i = 0; i != tokens.size(); ++i)
                replace_all(tokens[i], step.text, i + 1 == tokens.size() ? "" : " ");
            return;
        case Kind::fuse: {
            std::string all;
            for (std::string const &token : tokens) all += token;
            tokens.assign(1, std::move(all));
            return;
        }
        case Kind::replace: return replace(step, tokens);
        case Kind::strip: return strip(step, tokens);
        case Kind::byte_fallback: return byte_fallback(tokens);
        }
    }

  public:
    Decoder() = default;
    explicit Decoder(List<DecoderStep> steps) : steps_(std::move(steps)) {}
    /// One that can't decode, and why.
    [[nodiscard]] static Decoder refusing(std::string why) {
        Decoder decoder;
        decoder.refused_ = std::move(why);
        return decoder;
    }
    /// Why it can't decode; empty where it can.
    [[nodiscard]] std::string const &refused() const noexcept { return refused_; }

    [[nodiscard]] std::string decode(std::vector<std::string> tokens) const {
        for (DecoderStep const &step : steps_) run(step, tokens);
        std::string text;
        for (std::size_t i = 0; i != tokens.size(); ++i) {
            if (steps_.empty() && i != 0) text += ' ';
            text += tokens[i];
        }
        return text;
    }
};

} // namespace uform

#endif // UFORM_TEXT_DECODER_HPP
