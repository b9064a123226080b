/// The way of an encoding call: reserve, prepare, commit, compute, publish.
#ifndef UFORM_ENCODE_HPP
#define UFORM_ENCODE_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "uform/arena.hpp"
#include "uform/buffer.hpp"
#include "uform/calls/outputs.hpp"
#include "uform/calls/parts.hpp"
#include "uform/calls/request.hpp"
#include "uform/calls/request_check.hpp"
#include "uform/calls/texts.hpp"
#include "uform/calls/workspace.hpp"
#include "uform/encoded.hpp"
#include "uform/encoder/chunks.hpp"
#include "uform/executor.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"

namespace uform {

/// One call of any verb, step by step.
class EncodeCall {
    EncodingParts const &parts_;
    CallRequest request_;
    CallOutputs outputs_{parts_, request_};
    std::string_view prompt_; // the model's: to put before every text
    Workspace *workspace_ = nullptr;
    std::size_t encoder_bytes_ = 0, activation_bytes_ = 0; // of one thread
    std::size_t first_chunk_ = 0;                          // of those that are computed now
    std::atomic<bool> cancelled_{false};

    /// The places of the outputs that were asked for.
    struct Places {
        Place<std::byte> embeddings, probabilities;
        RaggedPlace<std::byte> states, token_vectors, token_probabilities, sparse_weights;
        RaggedPlace<std::uint32_t> sparse_ids;
        HostPlace<std::uint32_t> truncated, token_ids;
    };

    [[nodiscard]] bool is_cancelled() const noexcept {
        return request_.options.cancel && request_.options.cancel->load(std::memory_order_relaxed);
    }
    [[nodiscard]] bool labels_tokens() const noexcept {
        return request_.asks(Outputs::probabilities) && parts_.configuration.classifier->per_token;
    }
    [[nodiscard]] bool has_token_ids() const noexcept { return request_.asks(Outputs::states) || labels_tokens(); }

    [[nodiscard]] Result<void> prepare(Team &team) noexcept;
    [[nodiscard]] Result<void> plan(Team &team) noexcept;
    [[nodiscard]] Places place(Draft<Ram> &draft) const noexcept;
    void open(Writing<Ram> const &writing, Places const &places) noexcept;
    void compute(Chunk const &chunk, std::size_t worker) noexcept;
    void compute_all(Team &team) noexcept;
    template <class AnyPublished>
    [[nodiscard]] Encoded<Ram> views(AnyPublished const &published, Places const &places) const noexcept;

  public:
    EncodeCall(EncodingParts const &parts, CallRequest const &request) noexcept : parts_(parts), request_(request) {}
    EncodeCall(EncodeCall const &) = delete;
    EncodeCall &operator=(EncodeCall const &) = delete;

    /// What can be refused before anything is computed: the arguments, and tapes that lie where the host can't read
    /// or in the arena itself. To be called first.
    ///
    /// Errors  as the verbs of `BoundModel`.
    [[nodiscard]] Result<void> check(Draft<Ram> const &draft) noexcept;
    [[nodiscard]] CallRequest const &request() const noexcept UFORM_LIFETIMEBOUND { return request_; }
    /// The same texts, copied elsewhere.
    void read_from(TapeView texts, TapeView second) noexcept { request_.texts = texts, request_.second = second; }
    /// Fills the arena of the draft; a team that is null answers `out_of_memory`. On the way out the draft is
    /// published, failed or refused.
    [[nodiscard]] Result<Pinned<Encoded<Ram>>> run(Draft<Ram> draft, Team *team) noexcept;
};

inline Result<void> EncodeCall::check(Draft<Ram> const &draft) noexcept {
    if (auto checked = check_request(parts_, request_); !checked) return checked;
    auto const prompt = find_prompt(parts_, request_);
    if (!prompt) return prompt.error();
    prompt_ = *prompt;
    if (request_.asks(Outputs::probabilities))
        outputs_.activation = score_activation(*parts_.configuration.classifier, request_);
    bool const as_published = request_.options.normalize == Normalize::as_published;
    outputs_.normalizes =
        request_.options.normalize == Normalize::on || (as_published && parts_.configuration.normalize);
    outputs_.normalizes_tokens =
        request_.options.normalize == Normalize::on || (as_published && parts_.late && parts_.late->normalizes);
    for (TapeView const tape : {request_.texts, request_.second})
        if (auto checked = check_tape(tape, draft); !checked) return checked;
    if (is_cancelled()) return cancelled_call();
    return {};
}

inline Result<void> EncodeCall::prepare(Team &team) noexcept {
    if (!team.kept()) team.kept().reset(new (std::nothrow) Workspace);
    if (!team.kept()) return no_workspace();
    workspace_ = static_cast<Workspace *>(team.kept().get());
    if (is_cancelled()) return cancelled_call();
    CallTexts texts(parts_, request_, prompt_, *workspace_);
    if (!prompt_.empty() && !parts_.configuration.pooling.include_prompt) {
        auto const counted = texts.count_prompt();
        if (!counted) return counted.error();
        outputs_.skipped_tokens = *counted;
    }
    if (auto done = texts.tokenize([this] { return is_cancelled(); }); !done) return done;
    return plan(team);
}

inline Result<void> EncodeCall::plan(Team &team) noexcept {
    Workspace &work = *workspace_;
    std::size_t const budget = request_.options.tokens_per_call, threads = team.threads();
    if (!work.chunks.resize(request_.size())) return no_workspace();
    std::size_t const share = budget / threads, most = !budget ? SIZE_MAX : share ? share : 1;
    work.chunks.truncate(plan_chunks(work.offsets.span(), threads, work.chunks.span(), most));

    // As for the largest chunk of the longest texts, whatever this call has: so that no order of shapes allocates
    // later.
    std::size_t const longest = CallTexts::longest(parts_, request_);
    std::size_t tokens = chunk_tokens_k + longest;
    if (budget && budget < tokens) tokens = budget;
    for (Chunk const &chunk : work.chunks) tokens = chunk.tokens > tokens ? chunk.tokens : tokens;
    auto const rounded = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
    encoder_bytes_ = rounded(parts_.encoder.workspace_bytes(tokens, longest));
    activation_bytes_ = encoder_bytes_ + rounded(outputs_.scratch_floats(tokens) * sizeof(float));
    work.activations.clear(); // nothing to keep, so growth copies nothing
    if (activation_bytes_ > SIZE_MAX / threads || !work.activations.resize(activation_bytes_ * threads))
        return Error::of(Status::out_of_memory, "no memory for the workspaces of ", threads, " threads, ",
                         activation_bytes_, " bytes each");
    return {};
}

inline EncodeCall::Places EncodeCall::place(Draft<Ram> &draft) const noexcept {
    Workspace const &work = *workspace_;
    std::size_t const texts = request_.size(), tokens = work.ids.size();
    Scalar const scalar = request_.scalar;
    Places places;
    if (request_.asks(Outputs::embeddings))
        places.embeddings = draft.place(scalar, texts, outputs_.embedding_columns());
    if (request_.asks(Outputs::states))
        places.states = draft.place_ragged(scalar, texts, tokens, parts_.configuration.encoder.hidden_size);
    if (request_.asks(Outputs::token_vectors))
        places.token_vectors =
            draft.place_ragged(scalar, texts, work.kept_offsets.span().back(), parts_.late->dimensions());
    if (labels_tokens())
        places.token_probabilities = draft.place_ragged(scalar, texts, tokens, parts_.classifier->outputs());
    else if (request_.asks(Outputs::probabilities))
        places.probabilities = draft.place(scalar, texts, parts_.classifier->outputs());
    if (request_.asks(Outputs::sparse)) { // how many there are is known at the end: pages that aren't written cost none
        std::size_t const most = texts * parts_.vocabulary->outputs();
        places.sparse_ids = draft.place_ragged<std::uint32_t>(texts, most, 1);
        places.sparse_weights = draft.place_ragged(scalar, texts, most, 1);
    }
    if (has_token_ids()) places.token_ids = draft.place_host<std::uint32_t>(tokens, 1);
    places.truncated = draft.place_host<std::uint32_t>(texts, 1);
    return places;
}

/// Tells the outputs where their rows are, and writes what is known before anything is computed.
inline void EncodeCall::open(Writing<Ram> const &writing, Places const &places) noexcept {
    Workspace const &work = *workspace_;
    auto const copy = [](std::span<std::uint32_t> to, std::span<std::uint32_t const> from) noexcept {
        if (!to.empty()) std::memcpy(to.data(), from.data(), to.size_bytes());
    };
    copy(writing.values(places.truncated), work.truncated.span());
    copy(writing.values(places.token_ids), work.ids.span());
    copy(writing.offsets(places.states), work.offsets.span());
    copy(writing.offsets(places.token_probabilities), work.offsets.span());
    copy(writing.offsets(places.token_vectors), work.kept_offsets.span());

    std::size_t const labels = request_.asks(Outputs::probabilities) ? parts_.classifier->outputs() : 0;
    auto const rows = [&](auto place, std::size_t columns) {
        return OutputRows{writing.data(place), columns, request_.scalar};
    };
    outputs_.embeddings = rows(places.embeddings, outputs_.embedding_columns());
    outputs_.states = rows(places.states, parts_.configuration.encoder.hidden_size);
    outputs_.token_vectors = rows(places.token_vectors, parts_.late ? parts_.late->dimensions() : 0);
    outputs_.probabilities = rows(places.probabilities, labels);
    outputs_.token_probabilities = rows(places.token_probabilities, labels);
    outputs_.sparse_weights = rows(places.sparse_weights, 1);
    outputs_.sparse_ids = writing.data(places.sparse_ids);
}

inline void EncodeCall::compute(Chunk const &chunk, std::size_t worker) noexcept {
    if (is_cancelled()) return cancelled_.store(true, std::memory_order_relaxed);
    Workspace &work = *workspace_;
    auto *const memory = work.activations.data() + worker * activation_bytes_;
    auto *const scratch = reinterpret_cast<float *>(memory + encoder_bytes_);
    auto const offsets = work.offsets.span().subspan(chunk.first_text, std::size_t{chunk.texts} + 1);
    std::span<std::uint32_t const> attended = work.attended.span();
    if (!attended.empty()) attended = attended.subspan(chunk.first_text, chunk.texts);
    float *const states = outputs_.states_of(chunk, work, scratch);
    parts_.encoder.forward(work.ids.span(), offsets, states, {memory, encoder_bytes_}, work.segments.span(), attended);
    outputs_.write(chunk, work, states, scratch);
}

/// Computes the chunks, in rounds of as many tokens as a call may compute at once.
inline void EncodeCall::compute_all(Team &team) noexcept {
    Workspace const &work = *workspace_;
    auto const task = [](void *context, std::size_t number, std::size_t worker) noexcept {
        auto &call = *static_cast<EncodeCall *>(context);
        call.compute(call.workspace_->chunks[call.first_chunk_ + number], worker);
    };
    std::size_t const budget = request_.options.tokens_per_call ? request_.options.tokens_per_call : SIZE_MAX;
    for (std::size_t last = 0; first_chunk_ != work.chunks.size(); first_chunk_ = last) {
        std::size_t tokens = 0;
        for (last = first_chunk_; last != work.chunks.size(); ++last) {
            tokens += work.chunks[last].tokens;
            if (tokens > budget && last != first_chunk_) break;
        }
        team.run(last - first_chunk_, task, this);
    }
}

template <class AnyPublished>
Encoded<Ram> EncodeCall::views(AnyPublished const &published, Places const &places) const noexcept {
    EncodedViews<Ram> views;
    if (request_.asks(Outputs::embeddings)) views.embeddings = published[places.embeddings];
    if (request_.asks(Outputs::states)) views.states = published[places.states];
    if (request_.asks(Outputs::token_vectors)) views.token_vectors = published[places.token_vectors];
    if (labels_tokens()) views.token_probabilities = published[places.token_probabilities];
    else if (request_.asks(Outputs::probabilities)) views.probabilities = published[places.probabilities];
    if (request_.asks(Outputs::sparse))
        views.sparse_ids = published[places.sparse_ids], views.sparse_weights = published[places.sparse_weights];
    if (has_token_ids()) views.token_ids = published[places.token_ids];
    views.truncated = published[places.truncated];
    return {request_.outputs, request_.size(), views};
}

inline Result<Pinned<Encoded<Ram>>> EncodeCall::run(Draft<Ram> draft, Team *team) noexcept {
    if (!team) return no_workspace();
    if (auto done = prepare(*team); !done) return done.error();
    Places const places = place(draft);
    auto writing = std::move(draft).commit();
    if (!writing) return writing.error();
    open(*writing, places);
    compute_all(*team);

    if (cancelled_.load(std::memory_order_relaxed)) return cancelled_call(); // the writing fails: its rows are stale
    if (std::size_t const text = outputs_.not_finite(); text != SIZE_MAX)
        return Error::of(Status::corrupt, "the results of text ", text,
                         " are NaN or infinite: the weights are damaged");
    if (request_.asks(Outputs::sparse))
        outputs_.join_sparse(*workspace_, writing->offsets(places.sparse_ids), writing->offsets(places.sparse_weights));
    auto published = std::move(*writing).publish_pinned();
    if (!published) return published.error();
    Encoded<Ram> const encoded = views(*published, places);
    return (*std::move(published)).with(encoded);
}

/// A call on the calling thread, or on an executor that it lends: `Lend` answers something with a `team()`, or null
/// where there is no memory, which is held until the call ends.
template <class Lend>
[[nodiscard]] Result<Encoded<Ram>> encode_now(EncodingParts const &parts, CallRequest const &request, Arena<Ram> &arena,
                                              Lend const &lend) noexcept {
    EncodeCall call(parts, request);
    auto draft = arena.begin();
    if (!draft) return draft.error();
    if (auto checked = call.check(*draft); !checked) return checked.error();
    auto const session = lend();
    auto const pinned = call.run(*std::move(draft), session.team());
    if (!pinned) return pinned.error();
    return Encoded<Ram>(*pinned);
}

} // namespace uform

#endif // UFORM_ENCODE_HPP
