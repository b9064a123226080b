/// The way of a text through a tokenizer: added tokens, normaliser, pre-tokeniser, model.
#ifndef UFORM_TEXT_TOKENIZER_PIPELINE_HPP
#define UFORM_TEXT_TOKENIZER_PIPELINE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/list.hpp"
#include "uform/status.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/bert_words.hpp"
#include "uform/text/id_sink.hpp"
#include "uform/text/normalizer.hpp"
#include "uform/text/pre_tokenizer.hpp"
#include "uform/text/token_sink.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/traced_text.hpp"
#include "uform/text/utf8.hpp"
#include "uform/text/word_model.hpp"

namespace uform {

/// Memory of a call, kept by the caller so that a second call of the same size allocates nothing. Move-only.
struct TokenizerScratch {
    TracedText input; ///< the text, where it was not UTF-8 or its bytes are traced
    Normalizer::Scratch normalizer;
    PreTokenizer::Scratch pre_tokenizer;
    WordModel::Scratch model;
    Buffer<std::uint32_t> first, second; ///< the ids of a pair
};

/// Read-only once built. Threads: any may use one at the same time, with a scratch each.
class TokenizerPipeline {
    Normalizer normalizer_;
    PreTokenizer pre_tokenizer_;
    WordModel model_;
    AddedTokens raw_, normalized_; // sought in the text as it is, and in the normalised text
    bool bert_ = false;            // BERT's words and WordPiece, which go by without the general way

    // The text as it is, with the bytes of the input that each of its bytes stands for.
    [[nodiscard]] static bool trace(std::string_view text, TracedText &to) noexcept {
        to.bytes.clear(), to.origins.clear();
        if (!to.bytes.reserve(text.size()) || !to.origins.reserve(text.size())) return false;
        for (std::size_t at = 0; at != text.size();) {
            utf8::Sequence const next = utf8::sequence_at(text.data() + at, text.size() - at);
            std::string_view const bytes = next.valid ? text.substr(at, next.size) : std::string_view("\xEF\xBF\xBD");
            if (!to.bytes.append(bytes.data(), bytes.size())) return false;
            for (std::size_t i = 0; i != bytes.size(); ++i)
                if (!to.origins.push_back({at, at + next.size})) return false;
            at += next.size;
        }
        return true;
    }

  public:
    TokenizerPipeline() = default;
    /// Takes what it needs of the parts. Errors: `unsupported`, naming the file.
    [[nodiscard]] UFORM_COLD static Result<TokenizerPipeline> of(TokenizerParts &parts, bool lowercase_first,
                                                                 std::string_view file) {
        TokenizerPipeline pipeline;
        if (lowercase_first && !parts.has_lowercase_step()) {
            NormalizerStep step;
            step.kind = NormalizerStep::Kind::lowercase;
            parts.normalizer.insert(0, std::move(step));
        }
        pipeline.normalizer_ = Normalizer(std::move(parts.normalizer));
        pipeline.pre_tokenizer_ = PreTokenizer(std::move(parts.pre_tokenizer));
        pipeline.model_ = std::move(parts.model);
        List<PreTokenizerStep> const &steps = pipeline.pre_tokenizer_.steps();
        pipeline.bert_ =
            pipeline.model_.word_piece() && steps.size() == 1 && steps[0].kind == PreTokenizerStep::Kind::bert;
        List<AddedTokens::Pattern> raw, normalized;
        Normalizer::Scratch scratch;
        for (AddedToken const &token : parts.added) {
            if (!token.normalized) {
                raw.push_back({token.content, token});
                continue;
            }
            TracedPiece form{token.content};
            if (!pipeline.normalizer_.normalize(form, scratch))
                return Error::fixed(Status::out_of_memory, "no memory for the tokens");
            // An empty form would fit everywhere: the reference then cuts texts between any two bytes, or panics.
            if (form.text.empty())
                return Error::of(Status::unsupported, file, ": nothing is left of the added token '", token.content,
                                 "' once it is normalised");
            normalized.push_back({std::string(form.text), token});
            if (form.text != token.content) parts.names.respell(token.id, form.text); // as the reference names it
        }
        if (!pipeline.raw_.build(std::move(raw)) || !pipeline.normalized_.build(std::move(normalized)))
            return Error::of(Status::unsupported, file, ": the added tokens are too large");
        return pipeline;
    }

    /// Makes a text one token, wherever it stands and before any normalising, unless it is that token already.
    ///
    /// Errors  `out_of_memory`; `unsupported`, naming the file.
    [[nodiscard]] UFORM_COLD Result<void> mark(std::string_view text, std::uint32_t id, std::string_view file) {
        Buffer<std::uint32_t> ids;
        TokenizerScratch scratch;
        IdSink sink(ids, 2);
        if (!append(text, false, sink, scratch)) return Error::fixed(Status::out_of_memory, "no memory for the tokens");
        if (ids.size() == 1 && ids[0] == id) return {};
        if (!raw_.add({.content = std::string(text), .id = id, .special = true}))
            return Error::of(Status::unsupported, file, ": the added tokens are too large");
        return {};
    }

    /// Hands the tokens of a text to the sink, without special tokens around it. `traced`: the sink asks which bytes of
    /// the input they stand for. False: no memory.
    template <class Sink>
    [[nodiscard]] bool append(std::string_view text, bool traced, Sink &sink,
                              TokenizerScratch &scratch) const noexcept {
        TracedPiece input{text};
        if (traced || pre_tokenizer_.asks_origins()) {
            if (!trace(text, scratch.input)) return false;
            input = scratch.input.piece(true);
        } else if (utf8::valid_prefix(text) != text.size()) {
            if (!utf8::repair(text, scratch.input.bytes)) return false;
            input = scratch.input.piece(false);
        }
        auto const on_word = [&](TracedPiece word) {
            sink.begin(word, false);
            return model_.append(word.text, sink, scratch.model);
        };
        auto const on_raw = [&](std::string_view part) {
            TracedPiece piece = input.part(static_cast<std::size_t>(part.data() - input.text.data()), part.size());
            if (!normalizer_.is_identity() && !normalizer_.normalize(piece, scratch.normalizer)) return false;
            auto const on_words = [&](std::string_view words) {
                if (bert_ && !input.origins) return append_bert(words, sink);
                auto const first = static_cast<std::size_t>(words.data() - piece.text.data());
                return pre_tokenizer_.cut(piece.part(first, words.size()), scratch.pre_tokenizer, on_word);
            };
            auto const on_token = [&](std::uint32_t id, std::string_view token) {
                auto const first = static_cast<std::size_t>(token.data() - piece.text.data());
                sink.begin(piece.part(first, token.size()), true);
                return sink.take(id, 0, token.size());
            };
            return normalized_.split(piece.text, on_words, on_token);
        };
        auto const on_token = [&](std::uint32_t id, std::string_view token) {
            auto const first = static_cast<std::size_t>(token.data() - input.text.data());
            sink.begin(input.part(first, token.size()), true);
            return sink.take(id, 0, token.size());
        };
        return raw_.split(input.text, on_raw, on_token);
    }

  private:
    // Apart, so that the compiler puts all of it into one loop.
    template <class Sink>
    [[nodiscard]] UFORM_NEVER_INLINE bool append_bert(std::string_view text, Sink &sink) const noexcept {
        WordPiece const &model = *model_.word_piece();
        BertWords words(text);
        for (BertWords::Word word = words.next(); !word.text.empty(); word = words.next())
            if (!model.append(word.text, word.code_points, sink)) return false;
        return true;
    }
};

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_PIPELINE_HPP
