/// Text to ids: the tokenizer of a checkpoint, with exactly the ids of the reference.
#ifndef UFORM_TEXT_TOKENIZER_HPP
#define UFORM_TEXT_TOKENIZER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/first_word.hpp"
#include "uform/list.hpp"
#include "uform/recovery.hpp"
#include "uform/status.hpp"
#include "uform/text/framing.hpp"
#include "uform/text/id_sink.hpp"
#include "uform/text/token_sink.hpp"
#include "uform/text/tokenizer_layout.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/tokenizer_pipeline.hpp"

namespace uform {

/// What a tokenizer is told beside its own files.
struct TokenizerOptions {
    /// `do_lower_case` of sentence_bert_config.json: lower-cases what the normaliser gets, and so added tokens with
    /// `normalized: true`, unless the normaliser has a Lowercase step already. Tokens sought in the raw text stay as
    /// they are.
    bool lowercase_first = false;
    /// Texts by which a model tells queries from documents, such as "[unused0] ". Of each, and of its first word, the
    /// first that the vocabulary has is one token wherever it stands, as it is spelt; else it is plain text.
    std::span<std::string const> markers = {};
};

/// How many tokens of each text of a pair were cut.
struct CutTokens {
    std::size_t first = 0, second = 0;
};

/// Turns texts into ids as Hugging Face `tokenizers` 0.23.3 does: WordPiece, BPE, Unigram and WordLevel, with the
/// normalisers, pre-tokenisers and post-processors that encoders are published with.
///
/// A handle: copies share what was loaded, which never changes. Any threads may use one at the same time, each with its
/// own scratch. Texts should be UTF-8; each maximal ill-formed part counts as U+FFFD. Time is linear in the text, but
/// for a logarithm of the length of a long word in BPE. Nothing is remembered of a text.
class Tokenizer {
    struct State {
        TokenizerPipeline pipeline;
        Framing framing;
        Decoder decoder;
        TokenNames names;
        std::size_t vocabulary_size = 0;
        std::size_t single_specials = 0, pair_specials = 0;
        std::vector<std::string> warnings;
    };
    std::shared_ptr<State const> state_;

    explicit Tokenizer(std::shared_ptr<State const> state) noexcept : state_(std::move(state)) {}

    [[nodiscard]] static Error no_memory() noexcept {
        return Error::fixed(Status::out_of_memory, "no memory for the tokens");
    }
    [[nodiscard]] static Error too_few(std::size_t most, std::size_t special) noexcept {
        return Error::of(Status::invalid_argument, "at most ", most, " tokens a text, but ", special,
                         " of them are special");
    }
    /// The texts of markers that are tokens, with their ids.
    [[nodiscard]] static List<std::pair<std::string_view, std::uint32_t>>
    find_marks(std::span<std::string const> markers, TokenNames const &names);
    [[nodiscard]] static Result<Tokenizer> load_folder(std::string const &folder, TokenizerOptions const &options);
    [[nodiscard]] Result<std::string> decode_tokens(std::span<std::uint32_t const> ids, bool skip_special) const;

  public:
    /// Loads tokenizer.json of a folder. Where there is none, the class that tokenizer_config.json or config.json names
    /// says what is read: vocab.json and merges.txt for RoBERTa, a sentencepiece model of the type Unigram for
    /// XLM-RoBERTa and CamemBERT, else vocab.txt; with the JSON files beside it that name special and added tokens.
    ///
    /// Errors  `io` for none of these, or a file that can't be read; `corrupt` for a damaged one; `unsupported` for
    ///         another model, normalizer, pre_tokenizer or post_processor, and for a folder without tokenizer.json of
    ///         another class, or of none, whose tokenizer isn't vocab.txt. Each names the file and what is wrong.
    /// Memory  about 2 MB for 30,000 tokens; where it can't be had, `out_of_memory`.
    [[nodiscard]] static Result<Tokenizer> load(std::string const &folder, TokenizerOptions const &options = {});

    /// The ids of a text with the special tokens around it, not cut.
    ///
    /// Errors  `out_of_memory`. Allocates its own scratch: `encode_into` keeps it.
    [[nodiscard]] Result<std::vector<std::uint32_t>> encode(std::string_view text) const;

    /// How many ids `encode` would answer, without storing them.
    ///
    /// Errors  `out_of_memory`, of the scratch.
    [[nodiscard]] Result<std::size_t> count(std::string_view text) const;

    /// Appends at most `max_tokens` ids to `ids` and answers how many were cut.
    ///
    /// The special tokens stay: what is cut is the end of the text before the last of them.
    /// Errors  `invalid_argument` where `max_tokens` is below `special_tokens_count()`; `out_of_memory`. In both cases
    ///         `ids` is as it was.
    /// Memory  grows `ids` and the scratch where they are too small, and nothing else.
    [[nodiscard]] Result<std::size_t> encode_into(std::string_view text, std::size_t max_tokens,
                                                  Buffer<std::uint32_t> &ids, TokenizerScratch &scratch) const noexcept;

    /// The same, with the segment of each token and the bytes of `text` that it stands for.
    ///
    /// The bytes are those that the reference's offsets name, which it counts in code points: a token of a letter and
    /// its mark may stand for the letter alone, and a token that the normaliser put in stands for what is beside it.
    [[nodiscard]] Result<std::size_t> encode_tokens_into(std::string_view text, std::size_t max_tokens,
                                                         Buffer<Token> &tokens,
                                                         TokenizerScratch &scratch) const noexcept;

    /// Appends at most `max_tokens` ids of two texts, as the post-processor frames a pair, and the segment of each to
    /// `segments` unless that is null. Answers how many were cut of each.
    ///
    /// Errors  `invalid_argument` where `max_tokens` is below `pair_special_tokens_count()`, or where the text to cut
    ///         would have nothing left; `unsupported` where the post-processor has no such pair; `out_of_memory`. In
    ///         all cases both buffers are as they were.
    /// Memory  grows the buffers and the scratch where they are too small, and nothing else.
    [[nodiscard]] Result<CutTokens> encode_pair_into(std::string_view first, std::string_view second,
                                                     std::size_t max_tokens, PairTruncation truncation,
                                                     Buffer<std::uint32_t> &ids, Buffer<std::uint8_t> *segments,
                                                     TokenizerScratch &scratch) const noexcept;

    /// The text that ids stand for, as the file's decoder makes it; ids that no token has are left out.
    ///
    /// Errors  `unsupported` for a decoder that is not served, `out_of_memory`. Allocates.
    [[nodiscard]] Result<std::string> decode(std::span<std::uint32_t const> ids, bool skip_special = true) const;

    /// The text of a token, or nothing where no token has the id. Lives as long as the last copy of this tokenizer.
    [[nodiscard]] std::optional<std::string_view> token(std::uint32_t id) const noexcept UFORM_LIFETIMEBOUND {
        return state_->names.find(id);
    }

    /// The id of the token that is spelt so, or nothing where none is. Looks at all of them: for once a load.
    [[nodiscard]] std::optional<std::uint32_t> id(std::string_view token) const noexcept {
        return state_->names.find(token);
    }

    /// Special tokens that `encode` puts around a text: the length of an empty text.
    [[nodiscard]] std::size_t special_tokens_count() const noexcept { return state_->single_specials; }

    /// Special tokens around and between two texts.
    [[nodiscard]] std::size_t pair_special_tokens_count() const noexcept { return state_->pair_specials; }

    /// What the files say that is not followed, one text each. Lives as long as the last copy of this tokenizer.
    [[nodiscard]] std::span<std::string const> warnings() const noexcept UFORM_LIFETIMEBOUND {
        return state_->warnings;
    }

    /// The greatest id + 1: a model must have as many rows.
    [[nodiscard]] std::size_t vocabulary_size() const noexcept { return state_->vocabulary_size; }
};

UFORM_COLD inline Result<Tokenizer> Tokenizer::load(std::string const &folder, TokenizerOptions const &options) {
    return recover_memory(
        [&] { return load_folder(folder, options); },
        [&] { return Error::of(Status::out_of_memory, folder, ": no memory to load the tokenizer"); });
}

inline List<std::pair<std::string_view, std::uint32_t>> Tokenizer::find_marks(std::span<std::string const> markers,
                                                                              TokenNames const &names) {
    List<std::pair<std::string_view, std::uint32_t>> marks;
    for (std::string_view const marker : markers) {
        for (std::string_view const text : {marker, first_word(marker)}) {
            auto const id = text.empty() ? std::nullopt : names.find(text);
            if (!id) continue;
            marks.push_back({text, *id});
            break;
        }
    }
    return marks;
}

UFORM_COLD inline Result<Tokenizer> Tokenizer::load_folder(std::string const &folder, TokenizerOptions const &options) {
    std::string path;
    auto parts = TokenizerLayout::read(folder, path);
    if (!parts) return parts.error();

    auto state = std::make_shared<State>();
    auto const marks = find_marks(options.markers, parts->names); // before any token is named otherwise
    auto pipeline = TokenizerPipeline::of(*parts, options.lowercase_first, path);
    if (!pipeline) return pipeline.error();
    for (auto const &[text, id] : marks)
        if (auto marked = pipeline->mark(text, id, path); !marked) return marked.error();
    state->pipeline = std::move(*pipeline);
    state->framing = std::move(parts->framing), state->decoder = std::move(parts->decoder);
    state->names = std::move(parts->names), state->warnings = std::move(parts->warnings);
    state->vocabulary_size = parts->vocabulary_size;
    state->single_specials = Framing::specials_of(state->framing.single);
    state->pair_specials = Framing::specials_of(state->framing.pair);
    return Tokenizer(std::move(state));
}

inline Result<std::size_t> Tokenizer::encode_into(std::string_view text, std::size_t max_tokens,
                                                  Buffer<std::uint32_t> &ids,
                                                  TokenizerScratch &scratch) const noexcept {
    if (max_tokens < special_tokens_count()) return too_few(max_tokens, special_tokens_count());
    std::size_t const first = ids.size(), most = max_tokens - special_tokens_count();
    std::size_t count = 0;
    bool fits = true;
    for (Framing::Item const &item : state_->framing.single) {
        if (!fits) break;
        if (item.kind == Framing::Item::Kind::special) {
            fits = ids.push_back(item.id);
            continue;
        }
        IdSink sink(ids, most);
        fits = state_->pipeline.append(text, false, sink, scratch);
        count = sink.count();
    }
    if (fits) return count > most ? count - most : 0;
    ids.truncate(first);
    return no_memory();
}

inline Result<std::size_t> Tokenizer::encode_tokens_into(std::string_view text, std::size_t max_tokens,
                                                         Buffer<Token> &tokens,
                                                         TokenizerScratch &scratch) const noexcept {
    if (max_tokens < special_tokens_count()) return too_few(max_tokens, special_tokens_count());
    std::size_t const first = tokens.size(), most = max_tokens - special_tokens_count();
    std::size_t count = 0;
    bool fits = true;
    for (Framing::Item const &item : state_->framing.single) {
        if (!fits) break;
        if (item.kind == Framing::Item::Kind::special) {
            fits = tokens.push_back({item.id, item.segment, 0, 0});
            continue;
        }
        TokenTrimming const trimming{text, state_->framing.trims_offsets ? &state_->names : nullptr,
                                     state_->framing.prefix_space};
        TokenSink sink(tokens, most, item.segment, trimming);
        fits = state_->pipeline.append(text, true, sink, scratch);
        count = sink.count();
    }
    if (fits) return count > most ? count - most : 0;
    tokens.truncate(first);
    return no_memory();
}

inline Result<CutTokens> Tokenizer::encode_pair_into(std::string_view first, std::string_view second,
                                                     std::size_t max_tokens, PairTruncation truncation,
                                                     Buffer<std::uint32_t> &ids, Buffer<std::uint8_t> *segments,
                                                     TokenizerScratch &scratch) const noexcept {
    if (!state_->framing.serves_pairs)
        return Error::fixed(Status::unsupported, "the template of the post_processor is not of two texts, once each");
    if (max_tokens < pair_special_tokens_count()) return too_few(max_tokens, pair_special_tokens_count());
    std::size_t const most = max_tokens - pair_special_tokens_count();
    scratch.first.clear(), scratch.second.clear();
    IdSink first_sink(scratch.first, most), second_sink(scratch.second, most);
    if (!state_->pipeline.append(first, false, first_sink, scratch) ||
        !state_->pipeline.append(second, false, second_sink, scratch))
        return no_memory();
    KeptTokens const kept = share_tokens(first_sink.count(), second_sink.count(), most, truncation);
    if (!kept.possible)
        return Error::of(Status::invalid_argument, "of the ",
                         truncation == PairTruncation::only_first ? "first" : "second",
                         " text nothing would be left: at most ", max_tokens, " tokens a pair, of which ",
                         pair_special_tokens_count(), " are special");
    std::size_t const size = pair_special_tokens_count() + kept.first + kept.second;
    if (!ids.reserve(ids.size() + size) || (segments && !segments->reserve(segments->size() + size)))
        return no_memory();
    for (Framing::Item const &item : state_->framing.pair) {
        using Kind = Framing::Item::Kind;
        std::uint32_t const *const from = item.kind == Kind::special ? &item.id
                                          : item.kind == Kind::first ? scratch.first.data()
                                                                     : scratch.second.data();
        std::size_t const count = item.kind == Kind::special ? 1 : item.kind == Kind::first ? kept.first : kept.second;
        for (std::size_t i = 0; i != count; ++i) {
            (void)ids.push_back(from[i]); // there is room
            if (segments) (void)segments->push_back(static_cast<std::uint8_t>(item.segment));
        }
    }
    return CutTokens{first_sink.count() - kept.first, second_sink.count() - kept.second};
}

inline Result<std::vector<std::uint32_t>> Tokenizer::encode(std::string_view text) const {
    Buffer<std::uint32_t> ids;
    TokenizerScratch scratch;
    if (auto const cut = encode_into(text, SIZE_MAX, ids, scratch); !cut) return cut.error();
    return recover_memory(
        [&]() -> Result<std::vector<std::uint32_t>> { return std::vector<std::uint32_t>(ids.begin(), ids.end()); },
        no_memory);
}

inline Result<std::size_t> Tokenizer::count(std::string_view text) const {
    Buffer<std::uint32_t> ids;
    TokenizerScratch scratch;
    IdSink sink(ids, 0);
    if (!state_->pipeline.append(text, false, sink, scratch)) return no_memory();
    return sink.count() + special_tokens_count();
}

inline Result<std::string> Tokenizer::decode_tokens(std::span<std::uint32_t const> ids, bool skip_special) const {
    if (!state_->decoder.refused().empty()) return Error::of(Status::unsupported, state_->decoder.refused());
    std::vector<std::string> tokens;
    for (std::uint32_t id : ids)
        if (auto const name = state_->names.find(id); name && !(skip_special && state_->names.is_special(id)))
            tokens.emplace_back(*name);
    return state_->decoder.decode(std::move(tokens));
}

inline Result<std::string> Tokenizer::decode(std::span<std::uint32_t const> ids, bool skip_special) const {
    return recover_memory([&] { return decode_tokens(ids, skip_special); }, no_memory);
}

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_HPP
