/// The way of an encoding call: reserve, prepare, commit, compute, publish.
#ifndef UFORM_ENCODE_HPP
#define UFORM_ENCODE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "uform/arena.hpp"
#include "uform/buffer.hpp"
#include "uform/checkpoint/configuration.hpp"
#include "uform/encoded.hpp"
#include "uform/encoder/chunks.hpp"
#include "uform/encoder/encoder.hpp"
#include "uform/encoder/module_chain.hpp"
#include "uform/executor.hpp"
#include "uform/kernels/finite.hpp"
#include "uform/kernels/pooling.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/placement.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"
#include "uform/text/tokenizer.hpp"

namespace uform {

/// What a call works with beside the arena: token ids, and each thread's activations. Grown to the largest call, kept.
struct Workspace final : KeptState {
    Buffer<std::uint32_t> ids;       ///< [tokens] of all texts, end to end
    Buffer<std::uint32_t> offsets;   ///< [texts + 1] into `ids`
    Buffer<std::uint32_t> truncated; ///< [texts]
    Buffer<Chunk> chunks;
    Buffer<std::byte> activations; ///< [threads, bytes of one]
    Buffer<char> prompted;         ///< a prompt and its text, joined
    TokenizerScratch tokenizer;
};

/// The parts of a loaded model that an encoding call reads.
struct EncodingParts {
    FolderConfiguration configuration;
    Tokenizer tokenizer;
    Encoder encoder;
    ModuleChain modules; ///< after the pooling

    [[nodiscard]] std::size_t dimensions() const noexcept { return configuration.dimensions(); }
};

/// One call of `text_encode`, step by step.
class EncodeCall {
    EncodingParts const &model_;
    TapeView texts_;
    Outputs outputs_;
    EncodeOptions options_;
    std::string_view prompt_; // the model's: to put before every text
    Workspace *workspace_ = nullptr;
    bool normalizes_ = false;
    std::size_t activation_bytes_ = 0, states_at_ = 0, vectors_at_ = 0; // of one thread
    std::size_t skipped_tokens_ = 0;                  // of each text, which the pooling leaves out: the prompt's
    float *states_ = nullptr, *embeddings_ = nullptr; // [tokens, hidden], [texts, dimensions]; null: not asked for
    std::atomic<std::size_t> not_finite_{SIZE_MAX};   // the first text whose results aren't numbers
    std::atomic<bool> cancelled_{false};

    [[nodiscard]] bool asked(Outputs one) const noexcept { return contains(outputs_, one); }
    [[nodiscard]] bool is_cancelled() const noexcept {
        return options_.cancel && options_.cancel->load(std::memory_order_relaxed);
    }
    [[nodiscard]] static Error cancelled() noexcept {
        return Error::fixed(Status::cancelled, "the caller cancelled the call");
    }
    [[nodiscard]] static Error no_memory() noexcept {
        return Error::fixed(Status::out_of_memory, "no memory for the call's workspace");
    }

    [[nodiscard]] Result<void> check_arguments(Scalar scalar) const noexcept;
    [[nodiscard]] Result<std::string_view> find_prompt() const noexcept;
    [[nodiscard]] Result<void> count_prompt() noexcept;
    [[nodiscard]] Result<void> tokenize() noexcept;
    [[nodiscard]] Result<void> plan(Team &team) noexcept;
    void compute(Chunk const &chunk, std::size_t worker) noexcept;
    void embed(Chunk const &chunk, std::span<std::uint32_t const> offsets, float const *states,
               float *scratch) noexcept;
    void tell_not_finite(std::size_t text) noexcept;

  public:
    EncodeCall(EncodingParts const &model, TapeView texts, Outputs outputs, EncodeOptions const &options) noexcept
        : model_(model), texts_(texts), outputs_(outputs), options_(options) {}

    /// What can be refused before anything is computed: the arguments, and a tape that lies where the host can't read
    /// or in the arena itself. To be called first.
    ///
    /// Errors  as `BoundModel::text_encode`.
    [[nodiscard]] Result<void> check(Draft<Ram> const &draft, Scalar scalar) noexcept;
    /// The same texts, copied elsewhere.
    void read_from(TapeView copy) noexcept { texts_ = copy; }
    /// Fills the arena of the draft; a team that is null answers `out_of_memory`. On the way out the draft is
    /// published, failed or refused.
    [[nodiscard]] Result<Pinned<Encoded<Ram>>> run(Draft<Ram> draft, Team *team) noexcept;
};

inline Result<void> EncodeCall::check_arguments(Scalar scalar) const noexcept {
    constexpr Outputs all =
        Outputs::embeddings | Outputs::states | Outputs::token_vectors | Outputs::probabilities | Outputs::sparse;
    constexpr Outputs served = Outputs::embeddings | Outputs::states;
    if (outputs_ == Outputs{}) return Error::fixed(Status::invalid_argument, "outputs: none was asked for");
    if (!contains(all, outputs_))
        return Error::of(Status::invalid_argument, "outputs: ", static_cast<std::uint32_t>(outputs_),
                         " names an unknown one");
    for (Outputs const one : {Outputs::token_vectors, Outputs::probabilities, Outputs::sparse})
        if (asked(one))
            return Error::of(Status::unsupported, "outputs: the model gives embeddings and states, not ",
                             outputs_name(one));
    static_assert(contains(all, served));
    if (scalar != Scalar::f32) return Error::fixed(Status::unsupported, "scalar: only f32 is written in this version");
    if (options_.dimensions != 0 && options_.dimensions != model_.dimensions())
        return Error::of(Status::unsupported, "options.dimensions: ", options_.dimensions, "; only the model's ",
                         model_.dimensions(), " are served in this version");
    if (options_.tokens_per_call != 0)
        return Error::fixed(Status::unsupported, "options.tokens_per_call: only 0 is served in this version");
    return {};
}

inline Result<std::string_view> EncodeCall::find_prompt() const noexcept {
    FolderConfiguration const &folder = model_.configuration;
    std::string_view const name = !options_.prompt.empty()     ? options_.prompt
                                  : folder.default_prompt_name ? std::string_view(*folder.default_prompt_name)
                                                               : std::string_view();
    if (name.empty()) return std::string_view();
    for (auto const &[known, text] : folder.prompts) {
        if (known == name) return std::string_view(text);
    }
    return Error::of(Status::invalid_argument, "options.prompt: the model has no prompt named ", name);
}

/// Counts the tokens of the prompt alone, but for the special one at its end, as sentence-transformers does: a text's
/// own first token may have grown together with the prompt's last, and is then counted or not as it falls.
inline Result<void> EncodeCall::count_prompt() noexcept {
    if (prompt_.empty() || model_.configuration.pooling.include_prompt) return {};
    Workspace &work = *workspace_;
    std::size_t const longest = model_.configuration.max_sequence_length;
    std::uint32_t ends[2] = {};
    std::size_t count = 0;
    for (std::string_view const text : {std::string_view(), prompt_}) {
        work.ids.clear();
        auto const cut = model_.tokenizer.encode_into(text, longest, work.ids, work.tokenizer);
        if (!cut) return cut.error();
        count = work.ids.size();
        ends[text.empty() ? 0 : 1] = count ? work.ids.back() : UINT32_MAX;
    }
    bool const ends_special = count && model_.tokenizer.special_tokens_count() && ends[0] == ends[1];
    skipped_tokens_ = count - (ends_special ? 1 : 0);
    return {};
}

inline Result<void> EncodeCall::tokenize() noexcept {
    Workspace &work = *workspace_;
    if (auto counted = count_prompt(); !counted) return counted;
    work.ids.clear(), work.offsets.clear(), work.truncated.clear();
    if (!work.offsets.push_back(0)) return no_memory();
    std::size_t const longest = model_.configuration.max_sequence_length;
    for (std::size_t i = 0; i != texts_.size(); ++i) {
        std::string_view text = texts_[i];
        if (!prompt_.empty()) {
            work.prompted.clear();
            if (!work.prompted.append(prompt_.data(), prompt_.size()) ||
                !work.prompted.append(text.data(), text.size()))
                return no_memory();
            text = {work.prompted.data(), work.prompted.size()};
        }
        auto const cut = model_.tokenizer.encode_into(text, longest, work.ids, work.tokenizer);
        if (!cut) return cut.error();
        if (*cut != 0 && options_.truncate == Truncate::refuse)
            return Error::of(Status::invalid_argument, "text ", i, " has ", longest + *cut,
                             " tokens, and the model reads ", longest);
        if (work.ids.size() > UINT32_MAX)
            return Error::fixed(Status::out_of_memory, "the tape has more than 4,294,967,295 tokens");
        auto const counted = static_cast<std::uint32_t>(*cut < UINT32_MAX ? *cut : UINT32_MAX);
        if (!work.truncated.push_back(counted) || !work.offsets.push_back(static_cast<std::uint32_t>(work.ids.size())))
            return no_memory();
        if (i % 64 == 63 && is_cancelled()) return cancelled();
    }
    return {};
}

inline Result<void> EncodeCall::plan(Team &team) noexcept {
    Workspace &work = *workspace_;
    auto const rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
    if (!work.chunks.resize(texts_.size())) return no_memory();
    work.chunks.truncate(plan_chunks(work.offsets.span(), team.threads(), work.chunks.span()));

    // As for the largest chunk of the longest texts, whatever this call has: so that no order of shapes allocates
    // later.
    std::size_t const longest = model_.configuration.max_sequence_length;
    std::size_t tokens = chunk_tokens_k + longest;
    for (Chunk const &chunk : work.chunks) tokens = chunk.tokens > tokens ? chunk.tokens : tokens;
    states_at_ = rounded(model_.encoder.workspace_bytes(tokens, longest));
    vectors_at_ = states_at_ + rounded(tokens * model_.configuration.encoder.hidden_size * sizeof(float));
    activation_bytes_ = vectors_at_ + rounded(model_.modules.scratch_floats() * sizeof(float));
    work.activations.clear(); // nothing to keep, so growth copies nothing
    if (activation_bytes_ > SIZE_MAX / team.threads() || !work.activations.resize(activation_bytes_ * team.threads()))
        return Error::of(Status::out_of_memory, "no memory for the workspaces of ", team.threads(), " threads, ",
                         activation_bytes_, " bytes each");
    return {};
}

inline void EncodeCall::tell_not_finite(std::size_t text) noexcept {
    for (std::size_t first = not_finite_.load(std::memory_order_relaxed);
         text < first && !not_finite_.compare_exchange_weak(first, text, std::memory_order_relaxed);) {
    }
}

inline void EncodeCall::embed(Chunk const &chunk, std::span<std::uint32_t const> offsets, float const *states,
                              float *scratch) noexcept {
    std::size_t const hidden = model_.configuration.encoder.hidden_size, dimensions = model_.dimensions();
    std::size_t const pooled_columns = model_.configuration.pooled_columns();
    bool const has_modules = !model_.modules.empty();
    for (std::size_t first = 0; first < chunk.texts; first += ModuleChain::most_texts_k) {
        std::size_t const left = chunk.texts - first;
        std::size_t const texts = left < ModuleChain::most_texts_k ? left : ModuleChain::most_texts_k;
        float *const embeddings = embeddings_ + (chunk.first_text + first) * dimensions;
        float *const pooled = has_modules ? scratch : embeddings;
        for (std::size_t i = 0; i != texts; ++i) {
            std::size_t const text = first + i, tokens = offsets[text + 1] - offsets[text];
            float *const vector = pooled + i * pooled_columns;
            pool(model_.configuration.pooling.modes, states + std::size_t{offsets[text] - offsets[0]} * hidden, tokens,
                 hidden, vector, skipped_tokens_);
            if (!all_finite(vector, pooled_columns)) tell_not_finite(chunk.first_text + text);
        }
        if (has_modules) model_.modules.apply(scratch, texts, embeddings);
        for (std::size_t i = 0; i != texts; ++i) {
            if (has_modules && !all_finite(embeddings + i * dimensions, dimensions))
                tell_not_finite(chunk.first_text + first + i);
            if (normalizes_) normalize(embeddings + i * dimensions, dimensions);
        }
    }
}

inline void EncodeCall::compute(Chunk const &chunk, std::size_t worker) noexcept {
    if (is_cancelled()) return cancelled_.store(true, std::memory_order_relaxed);
    Workspace const &work = *workspace_;
    std::size_t const hidden = model_.configuration.encoder.hidden_size;
    auto *const memory = const_cast<std::byte *>(work.activations.data()) + worker * activation_bytes_;
    auto const offsets = work.offsets.span().subspan(chunk.first_text, std::size_t{chunk.texts} + 1);
    float *const states = states_ ? states_ + offsets[0] * hidden : reinterpret_cast<float *>(memory + states_at_);
    model_.encoder.forward(work.ids.span(), offsets, states, {memory, states_at_});
    if (states_)
        for (std::size_t text = 0; text != chunk.texts; ++text)
            if (!all_finite(states + std::size_t{offsets[text] - offsets[0]} * hidden,
                            std::size_t{offsets[text + 1] - offsets[text]} * hidden))
                tell_not_finite(chunk.first_text + text);
    if (embeddings_) embed(chunk, offsets, states, reinterpret_cast<float *>(memory + vectors_at_));
}

inline Result<void> EncodeCall::check(Draft<Ram> const &draft, Scalar scalar) noexcept {
    if (auto checked = check_arguments(scalar); !checked) return checked;
    auto const prompt = find_prompt();
    if (!prompt) return prompt.error();
    prompt_ = *prompt;
    normalizes_ = options_.normalize == Normalize::on ||
                  (options_.normalize == Normalize::as_published && model_.configuration.normalize);
    auto const offsets = texts_.offset_bytes();
    if (draft.holds(texts_.data(), texts_.size_bytes()) || draft.holds(offsets.data(), offsets.size()))
        return Error::fixed(Status::invalid_argument, "the tape lies in the arena that the call would rewind");
    for (void const *const input :
         {static_cast<void const *>(texts_.data()), static_cast<void const *>(offsets.data())})
        if (input && !classify(input).host_accessible)
            return Error::fixed(Status::device,
                                "the tape lies in a device's memory, and the call computes on the host");
    if (is_cancelled()) return cancelled();
    return {};
}

inline Result<Pinned<Encoded<Ram>>> EncodeCall::run(Draft<Ram> draft, Team *lent) noexcept {
    if (!lent) return no_memory();
    Team &team = *lent;
    if (!team.kept()) team.kept().reset(new (std::nothrow) Workspace);
    if (!team.kept()) return no_memory();
    workspace_ = static_cast<Workspace *>(team.kept().get());
    if (is_cancelled()) return cancelled();
    if (auto done = tokenize(); !done) return std::move(done).error();
    if (auto done = plan(team); !done) return std::move(done).error();

    Workspace &work = *workspace_;
    bool const wants_states = asked(Outputs::states), wants_embeddings = asked(Outputs::embeddings);
    std::size_t const texts = texts_.size(), tokens = work.ids.size(),
                      hidden = model_.configuration.encoder.hidden_size;
    auto const embeddings =
        draft.place<float>(wants_embeddings ? texts : 0, wants_embeddings ? model_.dimensions() : 0);
    auto const states =
        draft.place_ragged<float>(wants_states ? texts : 0, wants_states ? tokens : 0, wants_states ? hidden : 0);
    auto const token_ids = draft.place_host<std::uint32_t>(wants_states ? tokens : 0, 1);
    auto const truncated = draft.place_host<std::uint32_t>(texts, 1);
    auto writing = std::move(draft).commit();
    if (!writing) return std::move(writing).error();

    auto const copy = [](std::span<std::uint32_t> to, std::span<std::uint32_t const> from) noexcept {
        if (!from.empty()) std::memcpy(to.data(), from.data(), from.size_bytes());
    };
    copy(writing->values(truncated), work.truncated.span());
    writing->offsets(states)[0] = 0;
    if (wants_states)
        copy(writing->values(token_ids), work.ids.span()), copy(writing->offsets(states), work.offsets.span());
    states_ = wants_states ? writing->data(states) : nullptr;
    embeddings_ = wants_embeddings ? writing->data(embeddings) : nullptr;
    auto const task = [](void *context, std::size_t chunk, std::size_t worker) noexcept {
        auto &call = *static_cast<EncodeCall *>(context);
        call.compute(call.workspace_->chunks[chunk], worker);
    };
    team.run(work.chunks.size(), task, this);

    if (cancelled_.load(std::memory_order_relaxed)) return cancelled(); // the writing fails: its rows are stale
    if (std::size_t const text = not_finite_.load(std::memory_order_relaxed); text != SIZE_MAX)
        return Error::of(Status::corrupt, "the results of text ", text,
                         " are NaN or infinite: the weights are damaged");
    auto published = std::move(*writing).publish_pinned();
    if (!published) return std::move(published).error();
    Encoded<Ram> const encoded(outputs_, texts, wants_embeddings ? (*published)[embeddings] : Rows<Ram>(),
                               wants_states ? (*published)[states] : RaggedRows<Ram>(), (*published)[truncated],
                               wants_states ? (*published)[token_ids] : Rows<Ram>());
    return (*std::move(published)).with(encoded);
}

/// A call on the calling thread, or on an executor that it lends: `Lend` answers something with a `team()`, or null
/// where there is no memory, which is held until the call ends.
template <class Lend>
[[nodiscard]] Result<Encoded<Ram>> encode_now(EncodeCall &call, Scalar scalar, Arena<Ram> &arena, Lend lend) noexcept {
    auto draft = arena.begin();
    if (!draft) return std::move(draft).error();
    if (auto checked = call.check(*draft, scalar); !checked) return std::move(checked).error();
    auto const session = lend();
    auto const pinned = call.run(*std::move(draft), session.team());
    if (!pinned) return pinned.error();
    return Encoded<Ram>(*pinned);
}

} // namespace uform

#endif // UFORM_ENCODE_HPP
