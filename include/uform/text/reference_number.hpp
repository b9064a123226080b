/// The value that the reference reads from a number with a point, which is not always the nearest one.
#ifndef UFORM_TEXT_REFERENCE_NUMBER_HPP
#define UFORM_TEXT_REFERENCE_NUMBER_HPP

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator> // std::size
#include <optional>
#include <string_view>
#include <system_error> // std::errc

#include "uform/json.hpp"

namespace uform {

/// 10 to an exponent from 0 to 308, rounded once.
[[nodiscard]] inline double power_of_ten(int exponent) noexcept {
    static constexpr double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (static_cast<std::size_t>(exponent) < std::size(powers)) return powers[exponent];
    char text[8] = "1e";
    double power = 0;
    std::from_chars(text, std::to_chars(text + 2, text + sizeof text, exponent).ptr, power);
    return power;
}

/// What serde_json makes of a number as JSON writes it: it takes as many digits as fit into 64 bits for an integer,
/// rounds that to a double, and multiplies or divides by a power of ten, which rounds again. Of two ways to cut a text
/// with equal sums of scores the last bits decide, so that they must be the reference's. What is so large that it
/// refuses it is an infinity.
///
/// Source  serde_json 1, `f64_from_parts`, without its feature `float_roundtrip`.
[[nodiscard]] inline double reference_number(std::string_view text) noexcept {
    bool const negative = text.starts_with('-');
    std::uint64_t digits = 0;
    std::int64_t exponent = 0;
    bool is_fraction = false, is_full = false;
    std::size_t at = negative;
    for (; at != text.size(); ++at) {
        auto const digit = static_cast<std::uint64_t>(static_cast<unsigned char>(text[at] - '0'));
        if (digit < 10) {
            is_full = is_full || (digits >= UINT64_MAX / 10 && (digits > UINT64_MAX / 10 || digit > UINT64_MAX % 10));
            if (!is_full) digits = digits * 10 + digit;
            exponent += is_full - is_fraction; // nothing more where a fraction goes on behind what fits
        } else if (text[at] == '.') {
            is_fraction = true, is_full = false; // a small digit may fit where a greater one didn't
        } else {
            break;
        }
    }
    if (at != text.size()) {
        std::int64_t written = 0;
        at += 1 + (text[at + 1] == '+');
        constexpr std::int64_t far = INT32_MAX;
        auto const read = std::from_chars(text.data() + at, text.data() + text.size(), written);
        if (read.ec != std::errc() || written > far || written < -far) written = text[at] == '-' ? -far : far;
        exponent += written;
    }
    auto value = static_cast<double>(digits);
    for (; exponent < -308 && value != 0; exponent += 308) value /= 1e308;
    for (; exponent > 308 && value != 0; exponent -= 308) value *= 1e308;
    if (value != 0 && exponent < 0) value /= power_of_ten(static_cast<int>(-exponent));
    if (value != 0 && exponent > 0) value *= power_of_ten(static_cast<int>(exponent));
    return negative ? -value : value;
}

/// The same of a value of a document; nothing where it is no number.
[[nodiscard]] inline std::optional<double> reference_number(JsonValue value) noexcept {
    auto const text = value.number_text();
    return text ? reference_number(*text) : value.number();
}

} // namespace uform

#endif // UFORM_TEXT_REFERENCE_NUMBER_HPP
