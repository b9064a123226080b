/// What a call works with beside its arena, kept between calls.
#ifndef UFORM_CALLS_WORKSPACE_HPP
#define UFORM_CALLS_WORKSPACE_HPP

#include <cstddef>
#include <cstdint>

#include "uform/buffer.hpp"
#include "uform/encoder/chunks.hpp"
#include "uform/status.hpp"
#include "uform/team.hpp"
#include "uform/text/tokenizer.hpp"

namespace uform {

/// Token ids and what is known of them, and each thread's activations. Grown to the largest call, kept.
struct Workspace final : KeptState {
    Buffer<std::uint32_t> ids;           ///< [tokens] of all texts, end to end
    Buffer<std::uint8_t> segments;       ///< [tokens] of pairs, else empty
    Buffer<std::uint32_t> offsets;       ///< [texts + 1] into `ids`
    Buffer<std::uint32_t> attended;      ///< [texts] how many first tokens are attended to; empty: all
    Buffer<std::uint32_t> truncated;     ///< [texts]
    Buffer<std::uint32_t> kept_offsets;  ///< [texts + 1] of token vectors, if they were asked for
    Buffer<std::uint32_t> sparse_counts; ///< [texts] entries of each, if they were asked for
    Buffer<Chunk> chunks;
    Buffer<std::byte> activations; ///< [threads, bytes of one]
    Buffer<char> prompted;         ///< a prompt and its text, joined
    TokenizerScratch tokenizer;
};

/// What every step of a call answers where its workspace can't grow, and where the caller cancelled it.
[[nodiscard]] inline Error no_workspace() noexcept {
    return Error::fixed(Status::out_of_memory, "no memory for the call's workspace");
}
[[nodiscard]] inline Error cancelled_call() noexcept {
    return Error::fixed(Status::cancelled, "the caller cancelled the call");
}

} // namespace uform

#endif // UFORM_CALLS_WORKSPACE_HPP
