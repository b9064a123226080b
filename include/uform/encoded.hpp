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

/// The outputs of one call over an arena. Plain data: copy it freely. Current until the arena's next call, or its end.
///
/// An output that wasn't asked for is an empty view: every read of it answers `invalid_argument` with that text.
template <class R> class Encoded {
    Rows<R> embeddings_;
    Rows<Ram> truncated_, token_ids_;
    RaggedRows<R> states_;
    Outputs outputs_{};
    std::size_t texts_ = 0;

  public:
    using Memory = R;

    Encoded() noexcept = default;
    Encoded(Pinned<Encoded> &&) = delete; // the pin would be sliced away: name the guard, and keep it while reading
    Encoded &operator=(Pinned<Encoded> &&) = delete; // the pin would be sliced away
    Encoded(Outputs outputs, std::size_t texts, Rows<R> embeddings, RaggedRows<R> states, Rows<Ram> truncated,
            Rows<Ram> token_ids) noexcept
        : embeddings_(embeddings), truncated_(truncated), token_ids_(token_ids), states_(states), outputs_(outputs),
          texts_(texts) {}

    /// The outputs that were asked for.
    [[nodiscard]] Outputs outputs() const noexcept { return outputs_; }
    /// Texts of the call's tape.
    [[nodiscard]] std::size_t texts() const noexcept { return texts_; }
    [[nodiscard]] bool is_current() const noexcept { return truncated_.is_current(); }

    /// `[texts, dimensions]`: one vector a text.
    [[nodiscard]] Rows<R> embeddings() const noexcept { return embeddings_; }
    /// `[tokens, hidden]` with offsets `[texts + 1]`: the last layer's state of every token, special ones included.
    [[nodiscard]] RaggedRows<R> states() const noexcept { return states_; }
    /// `[tokens, dimensions]` with offsets. No model serves it in this version.
    [[nodiscard]] RaggedRows<R> token_vectors() const noexcept { return {}; }
    /// `[texts, labels]`, or `[pairs]`. No model serves it in this version.
    [[nodiscard]] Rows<R> probabilities() const noexcept { return {}; }
    /// `[tokens, labels]` with offsets. No model serves it in this version.
    [[nodiscard]] RaggedRows<R> token_probabilities() const noexcept { return {}; }
    /// Rows of ids with offsets `[texts + 1]`. No model serves it in this version.
    [[nodiscard]] RaggedRows<R> sparse_ids() const noexcept { return {}; }
    /// Rows of weights with offsets `[texts + 1]`. No model serves it in this version.
    [[nodiscard]] RaggedRows<R> sparse_weights() const noexcept { return {}; }

    /// `[texts]`: how many tokens were cut from each text to meet the model's greatest length; 0 where none was.
    /// Errors: `invalid_argument` for a stale view.
    [[nodiscard]] Result<std::span<std::uint32_t const>> truncated_tokens() const noexcept {
        return truncated_.template values<std::uint32_t>();
    }
    /// `[tokens]`: the id of each row of `states()`, which must have been asked for.
    /// Errors: `invalid_argument` for a stale view, or where states weren't asked for.
    [[nodiscard]] Result<std::span<std::uint32_t const>> token_ids() const noexcept {
        return token_ids_.template values<std::uint32_t>();
    }

    /// Keeps all outputs until the guard goes. Errors: `invalid_argument` for a stale view; `contended` at 4,094 pins.
    [[nodiscard]] Result<Pinned<Encoded>> pin() const noexcept {
        auto pinned = truncated_.pin();
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
