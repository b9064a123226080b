/// The four normal forms of Unicode: C, D, KC and KD.
#ifndef UFORM_TEXT_NORMAL_FORMS_HPP
#define UFORM_TEXT_NORMAL_FORMS_HPP

#include <array>
#include <cstddef>
#include <cstdint>

#include "uform/buffer.hpp"
#include "uform/text/traced_text.hpp"
#include "uform/text/unicode.hpp"
#include "uform/text/unicode_classes.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// Which normal form.
struct NormalForm {
    bool composes = false;   ///< C and KC
    bool compatible = false; ///< KC and KD
};

/// Brings a text into a normal form, in time linear in the text.
///
/// Source  The Unicode Standard, 3.11 and annex 15, by the tables of Unicode 9.0 that the reference carries; origins as
///         Hugging Face tokenizers 0.23.3 keeps them.
class NormalFormPass {
  public:
    /// A code point that waits, its combining class, and how it changes the text (`Rewriter::put`).
    struct Waiting {
        char32_t c;
        std::uint32_t combining;
        std::ptrdiff_t change;
    };
    /// Memory of a call, kept by the caller.
    struct Scratch {
        Buffer<Waiting> pending, sorted, behind;
    };

  private:
    NormalForm const form_;
    Scratch &scratch_;
    Rewriter out_;
    bool has_first_ = false, failed_ = false;
    Waiting first_{};               // the starter that what follows may compose with
    std::uint32_t last_behind_ = 0; // the class of what stands last behind it

    [[nodiscard]] static std::uint32_t combining_class(char32_t c) noexcept {
        return static_cast<std::uint32_t>(unicode::properties(c) >> unicode::combining_shift_k);
    }
    void flush_behind() noexcept {
        for (Waiting const &waiting : scratch_.behind) out_.put(waiting.c, waiting.change);
        scratch_.behind.clear();
    }
    void flush_first() noexcept {
        if (has_first_) out_.put(first_.c, first_.change);
        flush_behind();
        has_first_ = false;
    }
    void take_ordered(Waiting next) noexcept {
        if (!form_.composes) return out_.put(next.c, next.change);
        if (!has_first_) {
            if (next.combining != 0) return out_.put(next.c, next.change);
            first_ = next, has_first_ = true;
            return;
        }
        bool const blocked = !scratch_.behind.empty() && last_behind_ >= next.combining;
        if (!blocked)
            if (char32_t const made = unicode::compose(first_.c, next.c)) {
                first_.c = made, first_.change += next.change - 1;
                return;
            }
        if (next.combining == 0) {
            flush_first();
            first_ = next, has_first_ = true;
            return;
        }
        if (!scratch_.behind.push_back(next)) failed_ = true;
        last_behind_ = next.combining;
    }
    // Stable by class. Long runs are counted, so that no text takes quadratic time.
    void sort_pending() noexcept {
        Buffer<Waiting> &pending = scratch_.pending;
        if (pending.size() < 32) {
            for (std::size_t i = 1; i < pending.size(); ++i) {
                Waiting const moving = pending[i];
                std::size_t j = i;
                for (; j != 0 && pending[j - 1].combining > moving.combining; --j) pending[j] = pending[j - 1];
                pending[j] = moving;
            }
            return;
        }
        if (!scratch_.sorted.resize(pending.size())) {
            failed_ = true;
            return;
        }
        std::array<std::size_t, 257> starts{};
        for (Waiting const &waiting : pending) ++starts[waiting.combining + 1];
        for (std::size_t i = 1; i != starts.size(); ++i) starts[i] += starts[i - 1];
        for (Waiting const &waiting : pending) scratch_.sorted[starts[waiting.combining]++] = waiting;
        pending.swap(scratch_.sorted);
    }
    void flush_pending() noexcept {
        if (scratch_.pending.empty()) return;
        sort_pending();
        for (Waiting const &waiting : scratch_.pending) take_ordered(waiting);
        scratch_.pending.clear();
    }
    void take_part(char32_t c, std::ptrdiff_t change) noexcept {
        std::uint32_t const combining = combining_class(c);
        if (combining == 0) {
            flush_pending();
            return take_ordered({c, 0, change});
        }
        if (!scratch_.pending.push_back({c, combining, change})) failed_ = true;
    }
    void take(char32_t c) noexcept {
        std::ptrdiff_t change = 0;
        auto const part = [&](char32_t d) { take_part(d, change), change = 1; };
        if (form_.compatible && (unicode::class_of(c) & unicode::compatible_k))
            return unicode::decompose_compatible(c, part);
        if (unicode::properties(c) & unicode::decomposes_k) return unicode::decompose(c, part);
        part(c);
    }
    // Whether a code point stays as it is where nothing composes with it.
    [[nodiscard]] bool stays(char32_t c) const noexcept {
        unicode::Class const is = unicode::class_of(c);
        if (form_.compatible && (is & unicode::compatible_k)) return false;
        if (form_.composes) return !(is & unicode::not_composed_k);
        return !(unicode::properties(c) & unicode::decomposes_k);
    }
    [[nodiscard]] static bool begins(char32_t c) noexcept {
        return combining_class(c) == 0 && !(unicode::class_of(c) & unicode::composes_last_k);
    }

  public:
    NormalFormPass(NormalForm form, TracedPiece from, TracedText &to, Scratch &scratch) noexcept
        : form_(form), scratch_(scratch), out_(from, to) {
        scratch.pending.clear(), scratch.behind.clear();
        char const *const end = from.text.data() + from.text.size();
        for (char const *at = from.text.data(); at != end && !failed_ && !out_.failed();) {
            // What stays, up to the code point that what follows may change.
            char const *kept = end, *before = at;
            for (char const *next = at; next != end;) {
                char const *const begin = next;
                if (static_cast<unsigned char>(*next) < 0x80) {
                    ++next;
                } else {
                    char32_t const c = utf8::read(next);
                    if (!begins(c) || !stays(c)) { // what it decomposes to may join too
                        kept = before;
                        break;
                    }
                }
                before = begin;
            }
            if (kept != at) out_.keep(static_cast<std::size_t>(kept - at));
            at = kept;
            if (at == end) break;
            // Then code point by code point, until one that begins anew and stays.
            take(utf8::read(at));
            while (at != end) {
                char const *next = at;
                char32_t const c = utf8::read(next);
                if (begins(c) && stays(c)) break;
                take(c), at = next;
            }
            flush_pending();
            flush_first();
        }
    }
    /// False: no memory.
    [[nodiscard]] bool done() const noexcept { return !failed_ && !out_.failed(); }
};

} // namespace uform

#endif // UFORM_TEXT_NORMAL_FORMS_HPP
