/// Cuts a batch of texts into chunks that threads compute one by one.
#ifndef UFORM_ENCODER_CHUNKS_HPP
#define UFORM_ENCODER_CHUNKS_HPP

#include <cstddef>
#include <cstdint>
#include <span>

#include "uform/sort.hpp"

namespace uform {

/// Texts that stand beside each other in a batch and go through all layers together.
struct Chunk {
    std::uint32_t first_text = 0, texts = 0, tokens = 0;
};

/// Tokens of a chunk, about: their activations stay in the second cache, and weights pay from a dozen rows on.
inline constexpr std::size_t chunk_tokens_k = 128;
/// A batch is not cut finer than this, in tokens, to have work for more threads.
inline constexpr std::size_t least_chunk_tokens_k = 16;

/// Cuts a batch at the borders of texts, for `threads` that take chunk after chunk.
///
/// Shapes  offsets  [texts + 1]  u32, rising, counted in tokens
///         chunks   room for as many as there are texts
///         most     tokens of a chunk, unless one text alone has more
/// Order   the largest chunk first, so that none is left over for the end. How a batch is cut changes no result.
/// Memory  allocates nothing. The answer is the number of chunks, 0 for no texts.
[[nodiscard]] inline std::size_t plan_chunks(std::span<std::uint32_t const> offsets, std::size_t threads,
                                             std::span<Chunk> chunks, std::size_t most = SIZE_MAX) noexcept {
    std::size_t const texts = offsets.empty() ? 0 : offsets.size() - 1;
    if (texts == 0) return 0;
    std::uint64_t const total = offsets[texts] - offsets[0];
    std::uint64_t wanted = (total + chunk_tokens_k - 1) / chunk_tokens_k;
    if (threads > 1) { // as many for each thread, unless they would be too small
        std::uint64_t const shared = (wanted + threads - 1) / threads * threads, finest = total / least_chunk_tokens_k;
        wanted = shared < finest ? shared : wanted > finest ? wanted : finest;
    }
    if (wanted == 0) wanted = 1;

    std::size_t count = 0;
    std::uint64_t previous = wanted; // no part has this number
    for (std::size_t text = 0; text < texts; ++text) {
        std::uint64_t const middle = (std::uint64_t{offsets[text]} + offsets[text + 1]) / 2 - offsets[0];
        std::uint64_t const part = total ? middle * wanted / total : 0; // texts of a part are neighbours
        std::uint32_t const tokens = offsets[text + 1] - offsets[text];
        bool const overflows = count && std::size_t{chunks[count - 1].tokens} + tokens > most;
        if (part != previous || overflows) chunks[count++] = {static_cast<std::uint32_t>(text), 0, 0};
        chunks[count - 1].texts += 1, chunks[count - 1].tokens += tokens;
        previous = part;
    }
    heap_sort(chunks.data(), count, [](Chunk const &a, Chunk const &b) noexcept {
        return a.tokens != b.tokens ? a.tokens > b.tokens : a.first_text < b.first_text;
    });
    return count;
}

} // namespace uform

#endif // UFORM_ENCODER_CHUNKS_HPP
