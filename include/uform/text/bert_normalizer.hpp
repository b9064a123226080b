/// BERT's normaliser: cleans, spaces ideographs, decomposes and strips marks, lower-cases; in this order, in one pass.
#ifndef UFORM_TEXT_BERT_NORMALIZER_HPP
#define UFORM_TEXT_BERT_NORMALIZER_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/config.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// Normalises texts as `BertNormalizer` of the reference does, with a lower-casing before it where one is asked for.
///
/// Threads  any may use one at the same time, with a `Scratch` each.
/// Source   Hugging Face tokenizers 0.23.3, `BertNormalizer` and `Lowercase`.
class BertNormalizer {
  public:
    struct Flags {
        bool lowercase_first = false;      ///< lower-cases before everything else
        bool clean_text = false;           ///< removes what is `removed_k`, makes a space of each whitespace
        bool handle_chinese_chars = false; ///< puts a space before and behind each ideograph
        bool strip_accents = false;        ///< decomposes, sorts marks canonically, removes those that are `mark_k`
        bool lowercase = false;            ///< lower-cases last
        friend bool operator==(Flags const &, Flags const &) = default;
    };

    /// Memory of a call, kept by the caller.
    struct Scratch {
        /// Code points that wait for their canonical order, with their combining class in the high byte.
        Buffer<std::uint32_t> pending;
    };

    BertNormalizer() noexcept : BertNormalizer(Flags{}) {}
    explicit BertNormalizer(Flags flags) noexcept : flags_(flags) {
        for (std::size_t i = 0; i != ascii_.size(); ++i) {
            auto const c = static_cast<char32_t>(i);
            unicode::Properties const is = unicode::properties(c);
            bool const removed = flags.clean_text && (is & unicode::removed_k);
            bool const space = flags.clean_text && (is & unicode::whitespace_k);
            bool const lower = (flags.lowercase || flags.lowercase_first) && (is & unicode::lowers_k);
            ascii_[i] = {static_cast<char>(space ? ' ' : lower ? c + 32 : c), !removed};
        }
    }

    [[nodiscard]] Flags flags() const noexcept { return flags_; }
    /// Whether every text stays as it is.
    [[nodiscard]] bool is_identity() const noexcept { return flags_ == Flags{}; }

    /// Replaces the content of `to` by the normalised text. The text must be valid UTF-8 and not lie in `to`.
    ///
    /// Errors  false: no memory. Takes time linear in the text, also for a text of combining marks only.
    /// Memory  grows `to` and the scratch where they are too small, and nothing else.
    [[nodiscard]] bool normalize(std::string_view text, Buffer<char> &to, Scratch &scratch) const noexcept;

  private:
    class Pass;
    struct Ascii {
        char byte;
        bool kept;
    };
    Flags flags_;
    std::array<Ascii, 128> ascii_;
};

/// One text on its way through the steps. Each step hands its code points to the next.
class BertNormalizer::Pass {
    Flags const flags_;
    Buffer<std::uint32_t> &pending_;
    Buffer<char> &to_;
    std::size_t size_ = 0; // bytes written; `to_` is longer
    bool failed_ = false;

    void put(char32_t c) noexcept {
        if (!ensure(4)) return;
        size_ = static_cast<std::size_t>(utf8::write(to_.data() + size_, c) - to_.data());
    }
    void put_lower(char32_t c) noexcept {
        if (flags_.lowercase && (unicode::properties(c) & unicode::lowers_k))
            unicode::lower_case(c, [&](char32_t low) { put(low); });
        else put(c);
    }
    // Stable by class, as the canonical order asks. Long runs are counted, so that no text takes quadratic time.
    void sort_pending() noexcept {
        std::size_t const count = pending_.size();
        if (count < 32) {
            for (std::size_t i = 1; i < count; ++i) {
                std::uint32_t const moving = pending_[i];
                std::size_t j = i;
                for (; j != 0 && pending_[j - 1] >> 24 > moving >> 24; --j) pending_[j] = pending_[j - 1];
                pending_[j] = moving;
            }
            return;
        }
        if (!pending_.resize(2 * count)) {
            failed_ = true;
            return;
        }
        std::array<std::size_t, 257> starts{};
        for (std::size_t i = 0; i != count; ++i) ++starts[(pending_[i] >> 24) + 1];
        for (std::size_t i = 1; i != starts.size(); ++i) starts[i] += starts[i - 1];
        for (std::size_t i = 0; i != count; ++i) pending_[count + starts[pending_[i] >> 24]++] = pending_[i];
        std::memcpy(pending_.data(), pending_.data() + count, count * sizeof(std::uint32_t));
        pending_.truncate(count);
    }
    void flush() noexcept {
        if (pending_.empty()) return;
        sort_pending();
        for (std::uint32_t waiting : pending_) put_lower(waiting & 0xFFFFFF);
        pending_.clear();
    }
    // Marks that are stripped don't wait: to filter and to sort stably commute. One of class 0 still ends a run.
    void order(char32_t c) noexcept {
        unicode::Properties const is = unicode::properties(c);
        auto const combining = static_cast<std::uint32_t>(is >> unicode::combining_shift_k);
        if (combining == 0) flush();
        if (is & unicode::mark_k) return;
        if (combining == 0) put_lower(c);
        else if (!pending_.push_back(combining << 24 | static_cast<std::uint32_t>(c))) failed_ = true;
    }
    void strip(char32_t c) noexcept {
        if (!flags_.strip_accents) put_lower(c);
        else if (unicode::properties(c) & unicode::decomposes_k)
            unicode::decompose(c, [&](char32_t part) { order(part); });
        else order(c);
    }
    void clean(char32_t c) noexcept {
        unicode::Properties const is = unicode::properties(c);
        if (!(is & ~(unicode::word_k | unicode::lowers_k | unicode::punctuation_k))) { // the steps leave it as it is
            flush();
            return is & unicode::lowers_k ? put_lower(c) : put(c);
        }
        if (flags_.clean_text && (is & unicode::removed_k)) return;
        if (flags_.clean_text && (is & unicode::whitespace_k)) return strip(U' ');
        if (!flags_.handle_chinese_chars || !(is & unicode::ideograph_k)) return strip(c);
        strip(U' '), strip(c), strip(U' ');
    }

  public:
    Pass(Flags flags, Scratch &scratch, Buffer<char> &to) noexcept : flags_(flags), pending_(scratch.pending), to_(to) {
        pending_.clear(), to_.clear();
    }

    /// Room for `bytes` more.
    bool ensure(std::size_t bytes) noexcept {
        if (to_.size() - size_ < bytes && (!to_.reserve(size_ + bytes) || !to_.resize(to_.capacity()))) failed_ = true;
        return !failed_;
    }
    void take(char32_t c) noexcept {
        if (flags_.lowercase_first && (unicode::properties(c) & unicode::lowers_k))
            unicode::lower_case(c, [&](char32_t low) { clean(low); });
        else clean(c);
    }
    /// Bytes of ASCII, all of them below 0x80.
    void take_ascii(char const *bytes, std::size_t size, std::array<Ascii, 128> const &table) noexcept {
        if (!pending_.empty()) { // each byte is removed, or a starter that no mark may move over
            bool kept = false;
            for (std::size_t i = 0; i != size; ++i) kept |= table[static_cast<unsigned char>(bytes[i])].kept;
            if (kept) flush();
        }
        if (!ensure(size)) return;
        char *to = to_.data() + size_;
        for (std::size_t i = 0; i != size; ++i) {
            Ascii const is = table[static_cast<unsigned char>(bytes[i])];
            *to = is.byte;
            to += is.kept;
        }
        size_ = static_cast<std::size_t>(to - to_.data());
    }
    bool finish() noexcept {
        flush();
        to_.truncate(size_);
        return !failed_;
    }
    [[nodiscard]] bool failed() const noexcept { return failed_; }
};

UFORM_NEVER_INLINE inline bool BertNormalizer::normalize(std::string_view text, Buffer<char> &to,
                                                         Scratch &scratch) const noexcept {
    Pass pass(flags_, scratch, to);
    char const *at = text.data(), *const end = at + text.size();
    if (!pass.ensure(text.size())) return false;
    while (at != end && !pass.failed()) {
        char const *run = at;
        while (run != end && static_cast<unsigned char>(*run) < 0x80) ++run;
        if (run != at) pass.take_ascii(at, static_cast<std::size_t>(run - at), ascii_);
        at = run;
        while (at != end && static_cast<unsigned char>(*at) >= 0x80) pass.take(utf8::read(at));
    }
    return pass.finish();
}

} // namespace uform

#endif // UFORM_TEXT_BERT_NORMALIZER_HPP
