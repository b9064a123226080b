/// What an encoding call answers: views of each output that was asked for.
#ifndef UFORM_ENCODED_HPP
#define UFORM_ENCODED_HPP

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "uform/arena.hpp"
#include "uform/outputs.hpp"
#include "uform/status.hpp"
#include "uform/view.hpp"

namespace uform {

/// The views of a call's outputs; a default one was not asked for.
template <class R> struct EncodedViews {
    Rows<R> embeddings, probabilities;
    RaggedRows<R> states, token_vectors, token_probabilities, sparse_ids, sparse_weights;
    Rows<Ram> truncated, token_ids;
};

/// The outputs of one call over an arena. Plain data: copy it freely. Current until the arena's next call, or its end.
///
/// An output that wasn't asked for is an empty view: every read of it answers `invalid_argument` with that text.
template <class R> class Encoded {
    EncodedViews<R> views_;
    Outputs outputs_{};
    std::size_t texts_ = 0;

  public:
    using Memory = R;

    Encoded() noexcept = default;
    Encoded(Pinned<Encoded> &&) = delete; // the pin would be sliced away: name the guard, and keep it while reading
    Encoded &operator=(Pinned<Encoded> &&) = delete; // the pin would be sliced away
    Encoded(Outputs outputs, std::size_t texts, EncodedViews<R> const &views) noexcept
        : views_(views), outputs_(outputs), texts_(texts) {}

    /// The outputs that were asked for.
    [[nodiscard]] Outputs outputs() const noexcept { return outputs_; }
    /// Texts of the call's tape, or pairs of its two.
    [[nodiscard]] std::size_t texts() const noexcept { return texts_; }
    [[nodiscard]] bool is_current() const noexcept { return views_.truncated.is_current(); }

    /// `[texts, dimensions]`: one vector a text.
    [[nodiscard]] Rows<R> embeddings() const noexcept { return views_.embeddings; }
    /// `[tokens, hidden]` with offsets `[texts + 1]`: the last layer's state of every token, special ones included.
    [[nodiscard]] RaggedRows<R> states() const noexcept { return views_.states; }
    /// `[tokens, dimensions]` with offsets `[texts + 1]`: the vectors that late interaction compares, of the tokens
    /// that count: in documents, punctuation has none.
    [[nodiscard]] RaggedRows<R> token_vectors() const noexcept { return views_.token_vectors; }
    /// `[texts, labels]` of a classifier, `[pairs, 1]` of a reranker. Of a token classifier it is empty.
    [[nodiscard]] Rows<R> probabilities() const noexcept { return views_.probabilities; }
    /// `[tokens, labels]` with offsets `[texts + 1]` of a token classifier, special tokens included; else empty.
    [[nodiscard]] RaggedRows<R> token_probabilities() const noexcept { return views_.token_probabilities; }
    /// `[entries, 1]` with offsets `[texts + 1]`: the ids, `u32` and rising within a text, whose weight isn't 0.
    [[nodiscard]] RaggedRows<R> sparse_ids() const noexcept { return views_.sparse_ids; }
    /// `[entries, 1]` with the same offsets: the weight of each id, above 0.
    [[nodiscard]] RaggedRows<R> sparse_weights() const noexcept { return views_.sparse_weights; }

    /// `[texts]`: how many tokens were cut from each text, or from both of a pair, to meet the model's greatest length;
    /// 0 where none was. Errors: `invalid_argument` for a stale view.
    [[nodiscard]] Result<std::span<std::uint32_t const>> truncated_tokens() const noexcept {
        return views_.truncated.template values<std::uint32_t>();
    }
    /// `[tokens]`: the id of each row of `states()` and of `token_probabilities()`.
    /// Errors: `invalid_argument` for a stale view, or where neither was asked for.
    [[nodiscard]] Result<std::span<std::uint32_t const>> token_ids() const noexcept {
        return views_.token_ids.template values<std::uint32_t>();
    }

    /// Keeps all outputs until the guard goes. Errors: `invalid_argument` for a stale view; `contended` at 4,094 pins.
    [[nodiscard]] Result<Pinned<Encoded>> pin() const noexcept {
        auto pinned = views_.truncated.pin();
        if (!pinned) return pinned.error();
        return (*std::move(pinned)).with(*this);
    }
};

/// The accessors of a pinned result, bound to the guard.
template <class R> class PinnedAccessors<Encoded<R>> : public PinnedView<Encoded<R>> {
    using View = Encoded<R>;

  public:
    using PinnedView<View>::PinnedView;

    [[nodiscard]] Rows<R> embeddings() const noexcept UFORM_LIFETIMEBOUND { return View::embeddings(); }
    [[nodiscard]] RaggedRows<R> states() const noexcept UFORM_LIFETIMEBOUND { return View::states(); }
    [[nodiscard]] RaggedRows<R> token_vectors() const noexcept UFORM_LIFETIMEBOUND { return View::token_vectors(); }
    [[nodiscard]] Rows<R> probabilities() const noexcept UFORM_LIFETIMEBOUND { return View::probabilities(); }
    [[nodiscard]] RaggedRows<R> token_probabilities() const noexcept UFORM_LIFETIMEBOUND {
        return View::token_probabilities();
    }
    [[nodiscard]] RaggedRows<R> sparse_ids() const noexcept UFORM_LIFETIMEBOUND { return View::sparse_ids(); }
    [[nodiscard]] RaggedRows<R> sparse_weights() const noexcept UFORM_LIFETIMEBOUND { return View::sparse_weights(); }
    [[nodiscard]] Result<std::span<std::uint32_t const>> truncated_tokens() const noexcept UFORM_LIFETIMEBOUND {
        return View::truncated_tokens();
    }
    [[nodiscard]] Result<std::span<std::uint32_t const>> token_ids() const noexcept UFORM_LIFETIMEBOUND {
        return View::token_ids();
    }
};

} // namespace uform

#endif // UFORM_ENCODED_HPP
