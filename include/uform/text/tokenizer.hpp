/// Text to ids: the tokenizer of a checkpoint, with exactly the ids of the reference.
#ifndef UFORM_TEXT_TOKENIZER_HPP
#define UFORM_TEXT_TOKENIZER_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/status.hpp"
#include "uform/text/added_tokens.hpp"
#include "uform/text/bert_normalizer.hpp"
#include "uform/text/bert_words.hpp"
#include "uform/text/id_sink.hpp"
#include "uform/text/tokenizer_json.hpp"
#include "uform/text/tokenizer_parts.hpp"
#include "uform/text/utf8.hpp"
#include "uform/text/vocab_txt.hpp"

namespace uform {

/// What a tokenizer is told beside its own files.
struct TokenizerOptions {
    /// `do_lower_case` of sentence_bert_config.json: lower-cases what the normaliser gets, and so added tokens with
    /// `normalized: true`, unless the normaliser has a Lowercase step already. Tokens sought in the raw text stay as
    /// they are.
    bool lowercase_first = false;
};

/// Memory of a call, kept by the caller so that a second call of the same size allocates nothing. Move-only.
struct TokenizerScratch {
    Buffer<char> repaired;   ///< the text, where it was not UTF-8
    Buffer<char> normalized; ///< a part of the text
    BertNormalizer::Scratch normalizer;
};

/// Turns texts into ids as Hugging Face `tokenizers` 0.23.3 does: WordPiece with BERT's normaliser and splitting.
///
/// A handle: copies share what was loaded, which never changes. Any threads may use one at the same time, each with its
/// own scratch. Texts should be UTF-8; each maximal ill-formed part counts as U+FFFD. Time is linear in the text.
class Tokenizer {
    struct State {
        TokenizerParts parts;
        BertNormalizer normalizer;
        AddedTokens raw, normalized; // sought in the text as it is, and in the normalised text
    };
    std::shared_ptr<State const> state_;

    explicit Tokenizer(std::shared_ptr<State const> state) noexcept : state_(std::move(state)) {}

    [[nodiscard]] static Error no_memory() noexcept {
        return Error::fixed(Status::out_of_memory, "no memory for the tokens");
    }
    [[nodiscard]] std::size_t special_tokens() const noexcept {
        return state_->parts.before.size() + state_->parts.after.size();
    }
    // The ids of a text without the special tokens around it. False: no memory.
    [[nodiscard]] bool append(std::string_view text, IdSink &ids, TokenizerScratch &scratch) const noexcept;

    [[nodiscard]] static Result<Tokenizer> load_folder(std::string const &folder, TokenizerOptions const &options);

  public:
    /// Loads tokenizer.json of a folder, or vocab.txt with tokenizer_config.json where there is none.
    ///
    /// Errors  `io` for neither, or a file that can't be read; `corrupt` for a damaged one; `unsupported` for another
    ///         model, normalizer, pre_tokenizer or post_processor. Each names the file and what is wrong.
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

    /// Special tokens that `encode` puts around a text: the length of an empty text.
    [[nodiscard]] std::size_t special_tokens_count() const noexcept { return special_tokens(); }

    /// What the files say that is not followed, one text each. Lives as long as the last copy of this tokenizer.
    [[nodiscard]] std::span<std::string const> warnings() const noexcept UFORM_LIFETIMEBOUND {
        return state_->parts.warnings;
    }

    /// The greatest id + 1: a model must have as many rows.
    [[nodiscard]] std::size_t vocabulary_size() const noexcept { return state_->parts.vocabulary_size; }
};

/// Notes where tokenizer_config.json would make another tokenizer of the same vocabulary. transformers 5 builds BERT's
/// normaliser from it; this library follows tokenizer.json. Errors: as of reading the file.
[[nodiscard]] inline Result<void> compare_with_config(std::string const &folder, TokenizerParts &parts) {
    auto const config = OptionalJson::read(folder, "tokenizer_config.json");
    if (!config) return config.error();
    if (!config->json) return {};
    JsonValue const root = config->json->root();
    auto const lowercase = json_boolean_or(root, "do_lower_case", true, config->path);
    if (!lowercase) return lowercase.error();
    auto const strip = json_boolean_or(root, "strip_accents", *lowercase, config->path);
    auto const spaced = json_boolean_or(root, "tokenize_chinese_chars", true, config->path);
    for (auto const *read : {&strip, &spaced})
        if (!*read) return read->error();
    auto const compare = [&](std::string_view key, bool there, bool here) {
        if (there != here)
            parts.warnings.push_back(config->path + ": " + std::string(key) + (there ? " is true" : " is false") +
                                     " here and not in tokenizer.json, which is followed");
    };
    compare("do_lower_case", *lowercase, parts.normalizer.lowercase || parts.normalizer.lowercase_first);
    compare("strip_accents", *strip, parts.normalizer.strip_accents);
    compare("tokenize_chinese_chars", *spaced, parts.normalizer.handle_chinese_chars);
    return {};
}

inline Result<Tokenizer> Tokenizer::load(std::string const &folder, TokenizerOptions const &options) {
#if UFORM_EXCEPTIONS
    try {
        return load_folder(folder, options);
    } catch (std::bad_alloc const &) {
        return Error::of(Status::out_of_memory, folder, ": no memory to load the tokenizer");
    }
#else
    return load_folder(folder, options);
#endif
}

inline Result<Tokenizer> Tokenizer::load_folder(std::string const &folder, TokenizerOptions const &options) {
    std::string path = join_path(folder, "tokenizer.json");
    bool const old = !file_exists(path) && file_exists(join_path(folder, "vocab.txt"));
    if (old) path = join_path(folder, "vocab.txt");
    auto const file = File::map(path);
    if (!file) return file.error();
    auto parts = old ? VocabTxt::read(folder, file->text(), path) : TokenizerJson::read(file->text(), path);
    if (!parts) return std::move(parts).error();
    if (!old)
        if (auto done = compare_with_config(folder, *parts); !done) return done.error();

    auto state = std::make_shared<State>();
    state->parts = std::move(*parts);
    BertNormalizer::Flags flags = state->parts.normalizer;
    flags.lowercase_first = flags.lowercase_first || (options.lowercase_first && !state->parts.has_lowercase_step);
    state->normalizer = BertNormalizer(flags);
    std::vector<AddedTokens::Pattern> raw, normalized;
    BertNormalizer::Scratch scratch;
    Buffer<char> form;
    for (AddedToken const &token : state->parts.added) {
        if (!token.normalized) {
            raw.push_back({token.content, token});
            continue;
        }
        if (!state->normalizer.normalize(token.content, form, scratch)) return no_memory();
        // An empty form would fit everywhere: the reference then cuts texts between any two bytes, or panics.
        if (form.empty())
            return Error::of(Status::unsupported, path, ": nothing is left of the added token '", token.content,
                             "' once it is normalised");
        normalized.push_back({std::string(form.begin(), form.size()), token});
    }
    if (!state->raw.build(std::move(raw)) || !state->normalized.build(std::move(normalized)))
        return Error::of(Status::unsupported, path, ": the added tokens are too large");
    return Tokenizer(std::move(state));
}

inline bool Tokenizer::append(std::string_view text, IdSink &ids, TokenizerScratch &scratch) const noexcept {
    State const &state = *state_;
    if (utf8::valid_prefix(text) != text.size()) {
        if (!utf8::repair(text, scratch.repaired)) return false;
        text = {scratch.repaired.data(), scratch.repaired.size()};
    }
    auto const on_token = [&](std::uint32_t id) { return ids.take(id); };
    auto const on_words = [&](std::string_view part) {
        BertWords words(part);
        for (BertWords::Word word = words.next(); !word.text.empty(); word = words.next())
            if (!state.parts.model.append(word.text, word.code_points, ids)) return false;
        return true;
    };
    auto const on_raw = [&](std::string_view part) {
        if (!state.normalizer.is_identity()) {
            if (!state.normalizer.normalize(part, scratch.normalized, scratch.normalizer)) return false;
            part = {scratch.normalized.data(), scratch.normalized.size()};
        }
        return state.normalized.split(part, on_words, on_token);
    };
    return state.raw.split(text, on_raw, on_token);
}

inline Result<std::size_t> Tokenizer::encode_into(std::string_view text, std::size_t max_tokens,
                                                  Buffer<std::uint32_t> &ids,
                                                  TokenizerScratch &scratch) const noexcept {
    if (max_tokens < special_tokens())
        return Error::of(Status::invalid_argument, "at most ", max_tokens, " tokens a text, but ", special_tokens(),
                         " of them are special");
    std::vector<std::uint32_t> const &before = state_->parts.before, &after = state_->parts.after;
    std::size_t const first = ids.size(), most = max_tokens - special_tokens();
    std::size_t count = 0;
    bool fits = ids.append(before.data(), before.size());
    if (fits) {
        IdSink sink(ids, most);
        fits = append(text, sink, scratch);
        count = sink.count();
    }
    if (fits && ids.append(after.data(), after.size())) return count > most ? count - most : 0;
    ids.truncate(first);
    return no_memory();
}

inline Result<std::vector<std::uint32_t>> Tokenizer::encode(std::string_view text) const {
    Buffer<std::uint32_t> ids;
    TokenizerScratch scratch;
    if (auto const cut = encode_into(text, SIZE_MAX, ids, scratch); !cut) return cut.error();
#if UFORM_EXCEPTIONS
    try {
        return std::vector<std::uint32_t>(ids.begin(), ids.end());
    } catch (std::bad_alloc const &) {
        return no_memory();
    }
#else
    return std::vector<std::uint32_t>(ids.begin(), ids.end());
#endif
}

inline Result<std::size_t> Tokenizer::count(std::string_view text) const {
    Buffer<std::uint32_t> ids;
    TokenizerScratch scratch;
    IdSink sink(ids, 0);
    if (!append(text, sink, scratch)) return no_memory();
    return sink.count() + special_tokens();
}

} // namespace uform

#endif // UFORM_TEXT_TOKENIZER_HPP
