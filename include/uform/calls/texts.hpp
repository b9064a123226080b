/// From the texts of a call to token ids, cut, framed and marked as the model wants them.
#ifndef UFORM_CALLS_TEXTS_HPP
#define UFORM_CALLS_TEXTS_HPP

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "uform/calls/parts.hpp"
#include "uform/calls/request.hpp"
#include "uform/calls/workspace.hpp"
#include "uform/config.hpp"
#include "uform/options.hpp"
#include "uform/status.hpp"

namespace uform {

/// Fills a workspace with the ids of a request's texts.
class CallTexts {
    EncodingParts const &parts_;
    CallRequest const &request_;
    Workspace &work_;
    std::string_view prompt_; // to put before every text

    [[nodiscard]] Result<std::string_view> with_prompt(std::string_view text) noexcept;
    [[nodiscard]] Result<std::size_t> append_text(std::string_view text) noexcept;
    [[nodiscard]] Result<std::size_t> append_pair(std::size_t pair) noexcept;
    [[nodiscard]] Result<void> expand() noexcept;
    [[nodiscard]] Result<void> count_kept() noexcept;
    [[nodiscard]] Error too_long(std::size_t text, std::size_t tokens) const noexcept;

  public:
    /// `prompt` is the one that was asked for; empty: that of the texts' role, if the model has roles.
    CallTexts(EncodingParts const &parts, CallRequest const &request, std::string_view prompt, Workspace &work) noexcept
        : parts_(parts), request_(request), work_(work), prompt_(prompt) {
        if (parts.late && request.options.prompt.empty()) prompt_ = parts.late->of(request.options.role).prompt;
    }

    /// Tokens of the longest text that the call reads whole, special ones included.
    [[nodiscard]] static std::size_t longest(EncodingParts const &parts, CallRequest const &request) noexcept {
        std::size_t most = parts.configuration.max_sequence_length;
        if (parts.late) {
            std::size_t const of_role = parts.late->of(request.options.role).longest;
            most = of_role < most ? of_role : most;
        }
        std::size_t const budget = request.options.tokens_per_call;
        return budget && budget < most ? budget : most;
    }

    /// Tokens of the prompt alone, but for the special one at its end, as sentence-transformers counts them: a text's
    /// own first token may have grown together with the prompt's last, and is then counted or not as it falls.
    /// Errors  `out_of_memory`.
    [[nodiscard]] Result<std::size_t> count_prompt() noexcept;

    /// Fills in ids, offsets, and what the request wants beside them. `is_cancelled()` is asked now and then.
    ///
    /// Errors  `invalid_argument` for a text too long where that is refused; `unsupported` for pairs that the tokenizer
    ///         or the model can't take; `out_of_memory`; `cancelled`.
    template <class IsCancelled> [[nodiscard]] Result<void> tokenize(IsCancelled const &is_cancelled) noexcept;
};

inline Result<std::size_t> CallTexts::count_prompt() noexcept {
    std::size_t const most = parts_.configuration.max_sequence_length;
    std::uint32_t ends[2] = {};
    std::size_t count = 0;
    for (std::string_view const text : {std::string_view(), prompt_}) {
        work_.ids.clear();
        auto const cut = parts_.tokenizer.encode_into(text, most, work_.ids, work_.tokenizer);
        if (!cut) return cut.error();
        count = work_.ids.size();
        ends[text.empty() ? 0 : 1] = count ? work_.ids.back() : UINT32_MAX;
    }
    bool const ends_special = count && parts_.tokenizer.special_tokens_count() && ends[0] == ends[1];
    return count - (ends_special ? 1 : 0);
}

inline Result<std::string_view> CallTexts::with_prompt(std::string_view text) noexcept {
    if (prompt_.empty()) return text;
    work_.prompted.clear();
    if (!work_.prompted.append(prompt_.data(), prompt_.size()) || !work_.prompted.append(text.data(), text.size()))
        return no_workspace();
    return std::string_view(work_.prompted.data(), work_.prompted.size());
}

/// Appends one text, and answers how many of its tokens were cut.
inline Result<std::size_t> CallTexts::append_text(std::string_view text) noexcept {
    auto const prompted = with_prompt(text);
    if (!prompted) return prompted.error();
    return parts_.tokenizer.encode_into(*prompted, longest(parts_, request_), work_.ids, work_.tokenizer);
}

inline Result<std::size_t> CallTexts::append_pair(std::size_t pair) noexcept {
    std::size_t const first = work_.segments.size(), types = parts_.configuration.encoder.token_types;
    auto const cut =
        parts_.tokenizer.encode_pair_into(request_.first_text(pair), request_.second[pair], longest(parts_, request_),
                                          PairTruncation::longest_first, work_.ids, &work_.segments, work_.tokenizer);
    if (!cut) return cut.error();
    for (std::size_t i = first; types && i != work_.segments.size(); ++i)
        if (work_.segments[i] >= types)
            return Error::of(Status::unsupported, "pairs: the tokenizer marks tokens as of segment ", work_.segments[i],
                             ", and the model has ", types, " (type_vocab_size of config.json)");
    return cut->first + cut->second;
}

/// Fills the last text, a query, up to the length that the model wants.
inline Result<void> CallTexts::expand() noexcept {
    LateInteraction const &late = *parts_.late;
    std::size_t const begin = work_.offsets.back(), length = work_.ids.size() - begin;
    std::size_t const most = longest(parts_, request_), wanted = late.expanded < most ? late.expanded : most;
    for (std::size_t i = length; i < wanted; ++i)
        if (!work_.ids.push_back(late.expansion_id)) return no_workspace();
    bool const all = late.attends_to_expansion;
    if (!work_.attended.push_back(static_cast<std::uint32_t>(all ? work_.ids.size() - begin : length)))
        return no_workspace();
    return {};
}

/// Counts the tokens that have vectors in the last text.
inline Result<void> CallTexts::count_kept() noexcept {
    std::uint32_t kept = work_.kept_offsets.back();
    for (std::size_t i = work_.offsets[work_.offsets.size() - 2]; i != work_.ids.size(); ++i)
        kept += parts_.late->keeps(request_.options.role, work_.ids[i]);
    if (!work_.kept_offsets.push_back(kept)) return no_workspace();
    return {};
}

UFORM_COLD inline Error CallTexts::too_long(std::size_t text, std::size_t tokens) const noexcept {
    std::size_t const most = longest(parts_, request_);
    return Error::of(
        Status::invalid_argument, request_.is_pairs ? "pair " : "text ", text, " has ", tokens, " tokens, and ",
        most == request_.options.tokens_per_call ? "options.tokens_per_call allows " : "the model reads ", most);
}

template <class IsCancelled> Result<void> CallTexts::tokenize(IsCancelled const &is_cancelled) noexcept {
    bool const projects = request_.asks(Outputs::token_vectors),
               expands = parts_.late && request_.options.role == Role::query && parts_.late->expanded;
    work_.ids.clear(), work_.segments.clear(), work_.offsets.clear(), work_.attended.clear();
    work_.truncated.clear(), work_.kept_offsets.clear(), work_.sparse_counts.clear();
    if (!work_.offsets.push_back(0) || !work_.kept_offsets.push_back(0)) return no_workspace();
    for (std::size_t i = 0; i != request_.size(); ++i) {
        auto const cut = request_.is_pairs ? append_pair(i) : append_text(request_.texts[i]);
        if (!cut) return cut.error();
        if (*cut != 0 && request_.options.truncate == Truncate::refuse)
            return too_long(i, work_.ids.size() - work_.offsets.back() + *cut);
        if (expands)
            if (auto done = expand(); !done) return done;
        if (work_.ids.size() > UINT32_MAX)
            return Error::fixed(Status::out_of_memory, "the tape has more than 4,294,967,295 tokens");
        auto const counted = static_cast<std::uint32_t>(*cut < UINT32_MAX ? *cut : UINT32_MAX);
        if (!work_.truncated.push_back(counted) ||
            !work_.offsets.push_back(static_cast<std::uint32_t>(work_.ids.size())))
            return no_workspace();
        if (projects)
            if (auto done = count_kept(); !done) return done;
        if (i % 64 == 63 && is_cancelled()) return cancelled_call();
    }
    if (request_.asks(Outputs::sparse) && !work_.sparse_counts.resize(request_.size())) return no_workspace();
    return {};
}

} // namespace uform

#endif // UFORM_CALLS_TEXTS_HPP
