/// Extended grapheme clusters: what a reader takes for one character.
#ifndef UFORM_TEXT_GRAPHEMES_HPP
#define UFORM_TEXT_GRAPHEMES_HPP

#include <string_view>

#include "uform/text/unicode_classes.hpp"
#include "uform/text/utf8.hpp"

namespace uform {

/// Finds the clusters of a text from left to right. The text must be valid UTF-8.
///
/// Source  Unicode Standard Annex 29, rules GB3 to GB13, by the tables of Unicode 17 that the reference carries.
class Graphemes {
    using Break = unicode::Break;

    // What the rules remember of the cluster so far.
    bool pictographic_ = false;        // a pictograph, then only what extends
    bool joined_ = false;              // that and a joiner last
    bool consonant_ = false;           // a consonant, then only what extends or links
    bool linked_ = false;              // with a linker among it
    unsigned regional_indicators_ = 0; // in a row

    void remember(Break kind) noexcept {
        bool const extends = kind == Break::extend || kind == Break::linker;
        joined_ = kind == Break::zwj && pictographic_;
        pictographic_ = kind == Break::pictographic || (pictographic_ && extends);
        if (kind == Break::consonant) consonant_ = true, linked_ = false;
        else if (kind == Break::linker) linked_ = consonant_;
        else if (!extends && kind != Break::zwj) consonant_ = linked_ = false;
        regional_indicators_ = kind == Break::regional_indicator ? regional_indicators_ + 1 : 0;
    }
    [[nodiscard]] bool joins(Break before, Break after) const noexcept {
        if (before == Break::cr && after == Break::lf) return true;
        if (before == Break::cr || before == Break::lf || before == Break::control) return false;
        if (after == Break::cr || after == Break::lf || after == Break::control) return false;
        if (before == Break::l && (after == Break::l || after == Break::v || after == Break::lv || after == Break::lvt))
            return true;
        if ((before == Break::lv || before == Break::v) && (after == Break::v || after == Break::t)) return true;
        if ((before == Break::lvt || before == Break::t) && after == Break::t) return true;
        if (after == Break::extend || after == Break::linker || after == Break::zwj || after == Break::spacing_mark)
            return true;
        if (before == Break::prepend) return true;
        if (linked_ && after == Break::consonant) return true;
        if (joined_ && after == Break::pictographic) return true;
        return before == Break::regional_indicator && after == Break::regional_indicator &&
               regional_indicators_ % 2 == 1;
    }

  public:
    /// The end of the cluster that begins at `at`, which must be before `end`.
    [[nodiscard]] static char const *next(char const *at, char const *end) noexcept {
        Graphemes state;
        Break before = unicode::break_of(utf8::read(at));
        state.remember(before);
        while (at != end) {
            char const *after = at;
            Break const kind = unicode::break_of(utf8::read(after));
            if (!state.joins(before, kind)) break;
            state.remember(kind);
            before = kind, at = after;
        }
        return at;
    }
};

} // namespace uform

#endif // UFORM_TEXT_GRAPHEMES_HPP
