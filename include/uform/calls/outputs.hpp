/// From the states of a chunk of texts to the rows of every output that was asked for.
#ifndef UFORM_CALLS_OUTPUTS_HPP
#define UFORM_CALLS_OUTPUTS_HPP

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "uform/architecture.hpp"
#include "uform/calls/parts.hpp"
#include "uform/calls/request.hpp"
#include "uform/calls/workspace.hpp"
#include "uform/config.hpp"
#include "uform/encoder/chunks.hpp"
#include "uform/encoder/module_chain.hpp"
#include "uform/kernels/finite.hpp"
#include "uform/kernels/pooling.hpp"
#include "uform/kernels/store.hpp"
#include "uform/math.hpp"
#include "uform/scalar.hpp"

namespace uform {

/// Where the rows of an output go, in the scalar that was asked for; null where the output wasn't.
struct OutputRows {
    std::byte *data = nullptr;
    std::size_t columns = 0;
    Scalar scalar = Scalar::f32;

    explicit operator bool() const noexcept { return data != nullptr; }
    [[nodiscard]] std::byte *row(std::size_t number) const noexcept {
        return data + number * row_bytes(scalar, columns);
    }
    /// The rows as floats, to compute into; null where they are of another scalar.
    [[nodiscard]] float *floats(std::size_t number) const noexcept {
        return scalar == Scalar::f32 ? reinterpret_cast<float *>(row(number)) : nullptr;
    }
    void store(std::size_t number, float const *values) const noexcept {
        store_row(scalar, values, columns, row(number));
    }
};

/// What the scores of one row go through. Sums and exponentials in double precision.
UFORM_NEVER_INLINE inline void activate_scores(ScoreActivation activation, float *scores, std::size_t count) noexcept {
    if (activation == ScoreActivation::sigmoid)
        for (std::size_t i = 0; i < count; ++i)
            scores[i] = static_cast<float>(1 / (1 + math::exp(-static_cast<double>(scores[i]))));
    if (activation != ScoreActivation::softmax) return;
    float largest = scores[0];
    for (std::size_t i = 1; i < count; ++i) largest = scores[i] > largest ? scores[i] : largest;
    double sum = 0;
    auto const exponential = [largest](float score) noexcept {
        return math::exp(static_cast<double>(score) - static_cast<double>(largest));
    };
    for (std::size_t i = 0; i < count; ++i) sum += exponential(scores[i]);
    for (std::size_t i = 0; i < count; ++i) scores[i] = static_cast<float>(exponential(scores[i]) / sum);
}

/// The outputs of one call. The rows are filled in before the first chunk; then threads write chunk after chunk.
class CallOutputs {
    EncodingParts const &parts_;
    CallRequest const &request_;
    std::atomic<std::size_t> not_finite_{SIZE_MAX}; // the first text whose results aren't numbers

    /// Where each part of a thread's scratch begins, in floats; the states come last, as many as there are.
    struct Scratch {
        std::size_t modules, vectors, head, scores, sums, states;
    };
    static constexpr std::size_t block_rows_k = 32; ///< of tokens that go through a head at once

    void check(float const *values, std::size_t count, std::size_t text) noexcept;
    void embed(Chunk const &chunk, std::span<std::uint32_t const> offsets, float const *states,
               float *scratch) noexcept;
    void project(Chunk const &chunk, Workspace const &work, float const *states, float *scratch) noexcept;
    void classify_texts(Chunk const &chunk, std::span<std::uint32_t const> offsets, float const *states,
                        float *scratch) noexcept;
    void classify_tokens(Chunk const &chunk, Workspace const &work, float const *states, float *scratch) noexcept;
    void weigh_vocabulary(Chunk const &chunk, Workspace &work, float const *states, float *scratch) noexcept;
    void store_sparse(std::size_t text, float *weights, Workspace &work) noexcept;
    /// Calls `work_on(first, count, rows)` for each block of a text's tokens, whose states are `rows`; those of the
    /// chunk begin with the token `begin`.
    template <class WorkOn>
    void each_block(Workspace const &work, std::size_t text, std::size_t begin, float const *chunk_states,
                    WorkOn const &work_on) const noexcept {
        std::size_t const hidden = parts_.configuration.encoder.hidden_size, end = work.offsets[text + 1];
        for (std::size_t first = work.offsets[text]; first < end; first += block_rows_k)
            work_on(first, least(end - first, block_rows_k), chunk_states + (first - begin) * hidden);
    }
    [[nodiscard]] Scratch layout() const noexcept;
    [[nodiscard]] static std::size_t least(std::size_t a, std::size_t b) noexcept { return a < b ? a : b; }

  public:
    OutputRows embeddings, states, token_vectors, probabilities, token_probabilities, sparse_weights;
    std::uint32_t *sparse_ids = nullptr;                ///< [texts, vocabulary], of which each text fills the beginning
    bool normalizes = false, normalizes_tokens = false; ///< embeddings; token vectors
    std::size_t skipped_tokens = 0;                     ///< of each text, which the pooling leaves out: the prompt's
    ScoreActivation activation = ScoreActivation::none;

    CallOutputs(EncodingParts const &parts, CallRequest const &request) noexcept : parts_(parts), request_(request) {}

    /// Columns of the embeddings.
    [[nodiscard]] std::size_t embedding_columns() const noexcept {
        return request_.options.dimensions ? request_.options.dimensions : parts_.dimensions();
    }
    /// Floats of scratch that a thread needs for chunks of at most so many tokens.
    [[nodiscard]] std::size_t scratch_floats(std::size_t tokens) const noexcept {
        return layout().states + tokens * parts_.configuration.encoder.hidden_size;
    }
    /// Where the encoder is to leave a chunk's states: in the arena where they are asked for as floats.
    [[nodiscard]] float *states_of(Chunk const &chunk, Workspace const &work, float *scratch) const noexcept {
        float *const own = states ? states.floats(work.offsets[chunk.first_text]) : nullptr;
        return own ? own : scratch + layout().states;
    }
    /// Writes all rows of a chunk. Threads: any, for distinct chunks, each with its own scratch.
    void write(Chunk const &chunk, Workspace &work, float const *chunk_states, float *scratch) noexcept;
    /// After all chunks: moves the entries of the texts together, and writes their offsets [texts + 1] twice.
    void join_sparse(Workspace const &work, std::span<std::uint32_t> id_offsets,
                     std::span<std::uint32_t> weight_offsets) noexcept;
    /// The first text with results that aren't numbers, SIZE_MAX for none.
    [[nodiscard]] std::size_t not_finite() const noexcept { return not_finite_.load(std::memory_order_relaxed); }
};

inline CallOutputs::Scratch CallOutputs::layout() const noexcept {
    auto const rounded = [](std::size_t floats) { return (floats + 15) / 16 * 16; };
    std::size_t const hidden = parts_.configuration.encoder.hidden_size, texts = ModuleChain::most_texts_k;
    bool const embeds = request_.asks(Outputs::embeddings), projects = request_.asks(Outputs::token_vectors);
    bool const classifies = request_.asks(Outputs::probabilities), weighs = request_.asks(Outputs::sparse);
    std::size_t const labels = classifies ? parts_.classifier->outputs() : 0;
    std::size_t const words = weighs ? parts_.vocabulary->outputs() : 0;
    auto const most = [](std::size_t a, std::size_t b) { return a > b ? a : b; };

    Scratch parts{};
    parts.vectors = rounded(embeds ? parts_.modules.scratch_floats() : 0);
    parts.head = parts.vectors + rounded(most(embeds ? texts * parts_.dimensions() : 0,
                                              most(projects ? 2 * block_rows_k * parts_.late->widest() : 0,
                                                   classifies ? block_rows_k * hidden : 0)));
    parts.scores = parts.head + rounded(most(classifies ? parts_.classifier->scratch_floats(block_rows_k) : 0,
                                             weighs ? parts_.vocabulary->scratch_floats(block_rows_k) : 0));
    parts.sums = parts.scores + rounded(block_rows_k * most(labels, words));
    parts.states = parts.sums + rounded(words);
    return parts;
}

UFORM_NEVER_INLINE inline void CallOutputs::check(float const *values, std::size_t count, std::size_t text) noexcept {
    if (all_finite(values, count)) return;
    for (std::size_t first = not_finite_.load(std::memory_order_relaxed);
         text < first && !not_finite_.compare_exchange_weak(first, text, std::memory_order_relaxed);) {
    }
}

inline void CallOutputs::write(Chunk const &chunk, Workspace &work, float const *chunk_states,
                               float *scratch) noexcept {
    auto const offsets = work.offsets.span().subspan(chunk.first_text, std::size_t{chunk.texts} + 1);
    if (states) {
        std::size_t const hidden = states.columns;
        for (std::size_t text = 0; text != chunk.texts; ++text)
            check(chunk_states + std::size_t{offsets[text] - offsets[0]} * hidden,
                  std::size_t{offsets[text + 1] - offsets[text]} * hidden, chunk.first_text + text);
        if (states.scalar != Scalar::f32)
            for (std::size_t token = offsets.front(); token != offsets.back(); ++token)
                states.store(token, chunk_states + (token - offsets.front()) * hidden);
    }
    if (embeddings) embed(chunk, offsets, chunk_states, scratch);
    if (token_vectors) project(chunk, work, chunk_states, scratch);
    if (probabilities) classify_texts(chunk, offsets, chunk_states, scratch);
    if (token_probabilities) classify_tokens(chunk, work, chunk_states, scratch);
    if (sparse_ids) weigh_vocabulary(chunk, work, chunk_states, scratch);
}

inline void CallOutputs::embed(Chunk const &chunk, std::span<std::uint32_t const> offsets, float const *chunk_states,
                               float *scratch) noexcept {
    FolderConfiguration const &folder = parts_.configuration;
    std::size_t const hidden = folder.encoder.hidden_size, pooled_columns = folder.pooled_columns();
    std::size_t const columns = parts_.dimensions(), kept = embeddings.columns;
    bool const has_modules = !parts_.modules.empty(), is_direct = kept == columns && embeddings.floats(0);
    Scratch const at = layout();
    float *const room = scratch + at.vectors, *const before = scratch + at.modules;
    for (std::size_t first = 0; first < chunk.texts; first += ModuleChain::most_texts_k) {
        std::size_t const texts = least(chunk.texts - first, ModuleChain::most_texts_k);
        std::size_t const first_row = chunk.first_text + first;
        float *const vectors = is_direct ? embeddings.floats(first_row) : room;
        float *const pooled = has_modules ? before : vectors;
        for (std::size_t i = 0; i != texts; ++i) {
            std::size_t const text = first + i, tokens = offsets[text + 1] - offsets[text];
            float *const vector = pooled + i * pooled_columns;
            pool(folder.pooling.modes, chunk_states + std::size_t{offsets[text] - offsets[0]} * hidden, tokens, hidden,
                 vector, skipped_tokens);
            check(vector, pooled_columns, first_row + i);
        }
        if (has_modules) parts_.modules.apply(before, texts, vectors);
        for (std::size_t i = 0; i != texts; ++i) {
            float *const vector = vectors + i * columns;
            if (has_modules) check(vector, columns, first_row + i);
            if (normalizes) normalize(vector, kept);
            if (!is_direct) embeddings.store(first_row + i, vector);
        }
    }
}

inline void CallOutputs::project(Chunk const &chunk, Workspace const &work, float const *chunk_states,
                                 float *scratch) noexcept {
    LateInteraction const &late = *parts_.late;
    std::size_t const hidden = parts_.configuration.encoder.hidden_size, columns = token_vectors.columns;
    Scratch const at = layout();
    std::size_t const begin = work.offsets[chunk.first_text], last = std::size_t{chunk.first_text} + chunk.texts;
    std::size_t row = work.kept_offsets[chunk.first_text];
    for (std::size_t text = chunk.first_text; text != last; ++text)
        each_block(work, text, begin, chunk_states, [&](std::size_t first, std::size_t tokens, float const *rows) {
            float *const vectors = late.apply(rows, hidden, tokens, scratch + at.vectors);
            for (std::size_t i = 0; i != tokens; ++i) {
                if (!late.keeps(request_.options.role, work.ids[first + i])) continue;
                float *const vector = vectors + i * columns;
                check(vector, columns, text);
                if (normalizes_tokens) normalize(vector, columns);
                token_vectors.store(row++, vector);
            }
        });
}

inline void CallOutputs::classify_texts(Chunk const &chunk, std::span<std::uint32_t const> offsets,
                                        float const *chunk_states, float *scratch) noexcept {
    Head const &head = *parts_.classifier;
    std::size_t const hidden = parts_.configuration.encoder.hidden_size, labels = head.outputs();
    Scratch const at = layout();
    float *const inputs = scratch + at.vectors, *const scores = scratch + at.scores;
    Pooling const pooling = head.input() == HeadInput::mean ? Pooling::mean : Pooling::cls;
    for (std::size_t first = 0; first < chunk.texts; first += block_rows_k) {
        std::size_t const texts = least(chunk.texts - first, block_rows_k);
        for (std::size_t i = 0; i != texts; ++i)
            pool(pooling, chunk_states + std::size_t{offsets[first + i] - offsets[0]} * hidden,
                 offsets[first + i + 1] - offsets[first + i], hidden, inputs + i * hidden);
        head.apply(inputs, hidden, texts, scratch + at.head, scores);
        for (std::size_t i = 0; i != texts; ++i) {
            check(scores + i * labels, labels, chunk.first_text + first + i);
            activate_scores(activation, scores + i * labels, labels);
            probabilities.store(chunk.first_text + first + i, scores + i * labels);
        }
    }
}

inline void CallOutputs::classify_tokens(Chunk const &chunk, Workspace const &work, float const *chunk_states,
                                         float *scratch) noexcept {
    Head const &head = *parts_.classifier;
    std::size_t const hidden = parts_.configuration.encoder.hidden_size, labels = head.outputs();
    Scratch const at = layout();
    float *const scores = scratch + at.scores;
    std::size_t const begin = work.offsets[chunk.first_text], last = std::size_t{chunk.first_text} + chunk.texts;
    for (std::size_t text = chunk.first_text; text != last; ++text)
        each_block(work, text, begin, chunk_states, [&](std::size_t first, std::size_t tokens, float const *rows) {
            head.apply(rows, hidden, tokens, scratch + at.head, scores);
            check(scores, tokens * labels, text);
            for (std::size_t i = 0; i != tokens; ++i) {
                activate_scores(activation, scores + i * labels, labels);
                token_probabilities.store(first + i, scores + i * labels);
            }
        });
}

inline void CallOutputs::weigh_vocabulary(Chunk const &chunk, Workspace &work, float const *chunk_states,
                                          float *scratch) noexcept {
    Head const &head = *parts_.vocabulary;
    std::size_t const hidden = parts_.configuration.encoder.hidden_size, words = head.outputs();
    SparseConfiguration const &sparse = *parts_.configuration.sparse;
    Scratch const at = layout();
    float *const scores = scratch + at.scores, *const sums = scratch + at.sums;
    std::size_t const begin = work.offsets[chunk.first_text], last = std::size_t{chunk.first_text} + chunk.texts;
    for (std::size_t text = chunk.first_text; text != last; ++text) {
        std::memset(sums, 0, words * sizeof(float));
        each_block(work, text, begin, chunk_states, [&](std::size_t, std::size_t tokens, float const *rows) {
            head.apply(rows, hidden, tokens, scratch + at.head, scores);
            check(scores, tokens * words, text);
            for (float const *row = scores; row != scores + tokens * words; row += words)
                if (sparse.sums)
                    for (std::size_t word = 0; word < words; ++word) sums[word] += sparse.weight(row[word]);
                else
                    for (std::size_t word = 0; word < words; ++word)
                        sums[word] = row[word] > sums[word] ? row[word] : sums[word];
        });
        store_sparse(text, sums, work);
    }
}

inline void CallOutputs::store_sparse(std::size_t text, float *weights, Workspace &work) noexcept {
    SparseConfiguration const &sparse = *parts_.configuration.sparse;
    std::size_t const words = parts_.vocabulary->outputs();
    std::uint32_t *const ids = sparse_ids + text * words;
    std::size_t count = 0;
    for (std::size_t word = 0; word < words; ++word) {
        if (!(weights[word] > 0)) continue;
        ids[count] = static_cast<std::uint32_t>(word);
        weights[count++] = sparse.sums ? weights[word] : sparse.weight(weights[word]); // rises, so after the maximum
    }
    store_row(sparse_weights.scalar, weights, count, sparse_weights.row(text * words));
    work.sparse_counts[text] = static_cast<std::uint32_t>(count);
}

inline void CallOutputs::join_sparse(Workspace const &work, std::span<std::uint32_t> id_offsets,
                                     std::span<std::uint32_t> weight_offsets) noexcept {
    std::size_t const words = parts_.vocabulary->outputs(), texts = work.sparse_counts.size();
    std::uint32_t end = 0;
    id_offsets[0] = 0, weight_offsets[0] = 0;
    for (std::size_t text = 0; text != texts; ++text) {
        std::size_t const count = work.sparse_counts[text], from = text * words;
        std::memmove(sparse_ids + end, sparse_ids + from, count * sizeof *sparse_ids);
        std::memmove(sparse_weights.row(end), sparse_weights.row(from), count * row_bytes(sparse_weights.scalar, 1));
        end += static_cast<std::uint32_t>(count);
        id_offsets[text + 1] = end, weight_offsets[text + 1] = end;
    }
}

} // namespace uform

#endif // UFORM_CALLS_OUTPUTS_HPP
