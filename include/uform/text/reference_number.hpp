/// The value that the reference reads from a number with a point, which is not always the nearest one.
#ifndef UFORM_TEXT_REFERENCE_NUMBER_HPP
#define UFORM_TEXT_REFERENCE_NUMBER_HPP

#include <charconv>
#include <cstdint>

namespace uform {

/// What serde_json makes of a number whose nearest double is `nearest`, when it is written with as few digits as tell
/// it from others, as every writer of tokenizer.json does: it takes the digits for an integer, rounds that to a double,
/// and divides by a power of ten, which rounds again. Of two ways to cut a text with equal sums of scores the last bits
/// decide, so that they must be the reference's.
///
/// Source  serde_json 1, `f64_from_parts`, without its feature `float_roundtrip`.
[[nodiscard]] inline double reference_number(double nearest) noexcept {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12,
                                        1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25,
                                        1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38,
                                        1e39, 1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48};
    char text[40];
    auto const end = std::to_chars(text, text + sizeof text, nearest, std::chars_format::scientific).ptr;
    std::uint64_t digits = 0;
    int exponent = 0;
    char const *at = text;
    bool const negative = *at == '-';
    bool point = false;
    for (at += negative; at != end && *at != 'e'; ++at) {
        if (*at == '.') {
            point = true;
            continue;
        }
        if (*at < '0' || *at > '9') return nearest; // no number
        digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
        exponent -= point;
    }
    int written = 0;
    if (at != end) {
        ++at;
        std::from_chars(at + (*at == '+'), end, written);
    }
    exponent += written;
    // Others are far from any score.
    if (exponent > 0 || exponent < -48) return nearest;
    double const value = static_cast<double>(digits) / powers[-exponent];
    return negative ? -value : value;
}

} // namespace uform

#endif // UFORM_TEXT_REFERENCE_NUMBER_HPP
