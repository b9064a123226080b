/// The set of outputs that a call is asked for.
#ifndef UFORM_OUTPUTS_HPP
#define UFORM_OUTPUTS_HPP

#include <cstdint>
#include <string_view>

namespace uform {

/// A set of outputs: join with `|`, meet with `&`. The numbers are those of the C ABI and never change.
enum class Outputs : std::uint32_t {
    embeddings = 1,    ///< one vector a text
    states = 2,        ///< the last layer's state of every token
    token_vectors = 4, ///< one projected vector a token, for late interaction
    probabilities = 8, ///< of labels, or of pairs
    sparse = 16,       ///< weights over the vocabulary
};

[[nodiscard]] constexpr Outputs operator|(Outputs a, Outputs b) noexcept {
    return static_cast<Outputs>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
[[nodiscard]] constexpr Outputs operator&(Outputs a, Outputs b) noexcept {
    return static_cast<Outputs>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}
constexpr Outputs &operator|=(Outputs &a, Outputs b) noexcept { return a = a | b; }

/// Each output, in the order of its number.
inline constexpr Outputs every_output_k[] = {Outputs::embeddings, Outputs::states, Outputs::token_vectors,
                                             Outputs::probabilities, Outputs::sparse};

/// Whether `set` has every output of `all`.
[[nodiscard]] constexpr bool contains(Outputs set, Outputs all) noexcept { return (set & all) == all; }

/// The name of one output; "none or several" for any other value.
[[nodiscard]] constexpr std::string_view outputs_name(Outputs one) noexcept {
    switch (one) {
    case Outputs::embeddings: return "embeddings";
    case Outputs::states: return "states";
    case Outputs::token_vectors: return "token_vectors";
    case Outputs::probabilities: return "probabilities";
    case Outputs::sparse: return "sparse";
    }
    return "none or several";
}

} // namespace uform

#endif // UFORM_OUTPUTS_HPP
