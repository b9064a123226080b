/// SHA-256 for tests that compare digests of many answers.
#ifndef UFORM_TESTS_SHA256_HPP
#define UFORM_TESTS_SHA256_HPP

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Takes bytes piece by piece and answers their digest. Source: FIPS 180-4, sections 4.1.2, 4.2.2, 5.3.3 and 6.2.
class Sha256 {
    std::array<std::uint32_t, 8> state_{};
    std::array<std::uint32_t, 64> constants_{};
    std::string block_;
    std::uint64_t size_ = 0;

    // The first 32 bits behind the point of a root of a prime: floor(root · 2^32) by bisection, exact in 128 bits.
    static std::uint32_t root_bits(std::uint64_t prime, int power) {
        std::uint64_t low = 0, high = std::uint64_t{1} << 37;
        while (high - low > 1) {
            std::uint64_t const middle = (low + high) / 2;
            __extension__ using Wide = unsigned __int128;
            Wide const square = Wide{middle} * middle;
            // A cube of 2^32 · root needs 96 bits and more, so one factor's low bits are compared by quotient.
            bool const above = power == 2 ? square > Wide{prime} << 64 : square > (Wide{prime} << 96) / middle;
            (above ? high : low) = middle;
        }
        return static_cast<std::uint32_t>(low);
    }

    void take_block(unsigned char const *bytes) {
        std::array<std::uint32_t, 64> w{};
        for (std::size_t i = 0; i != 16; ++i)
            for (std::size_t j = 0; j != 4; ++j) w[i] = w[i] << 8 | bytes[4 * i + j];
        for (std::size_t i = 16; i != 64; ++i) {
            std::uint32_t const a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + w[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) +
                   (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
        }
        auto [a, b, c, d, e, f, g, h] = state_;
        for (std::size_t i = 0; i != 64; ++i) {
            std::uint32_t const one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                                      ((e & f) ^ (~e & g)) + constants_[i] + w[i];
            std::uint32_t const two =
                (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
        }
        std::array<std::uint32_t, 8> const mixed{a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i != 8; ++i) state_[i] += mixed[i];
    }

  public:
    Sha256() {
        std::size_t found = 0;
        for (std::uint64_t n = 2; found != 64; ++n) {
            bool prime = true;
            for (std::uint64_t d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
            if (!prime) continue;
            if (found < 8) state_[found] = root_bits(n, 2);
            constants_[found++] = root_bits(n, 3);
        }
    }

    void take(std::string_view bytes) {
        size_ += bytes.size();
        block_ += bytes;
        std::size_t at = 0;
        for (; block_.size() - at >= 64; at += 64)
            take_block(reinterpret_cast<unsigned char const *>(block_.data() + at));
        block_.erase(0, at);
    }
    /// A number as four bytes, the lowest first.
    void take_u32(std::uint32_t number) {
        char const bytes[] = {static_cast<char>(number), static_cast<char>(number >> 8),
                              static_cast<char>(number >> 16), static_cast<char>(number >> 24)};
        take({bytes, 4});
    }
    /// The digest of what was taken, in hexadecimal. Nothing may be taken after it.
    std::string hex() {
        std::uint64_t const bits = size_ * 8;
        take(std::string(1, '\x80'));
        while (block_.size() != 56) take(std::string(1, '\0'));
        std::string length;
        for (int shift = 56; shift >= 0; shift -= 8) length += static_cast<char>(bits >> shift);
        take(length);
        std::string text;
        for (std::uint32_t word : state_)
            for (int shift = 28; shift >= 0; shift -= 4) text += "0123456789abcdef"[word >> shift & 15];
        return text;
    }
};

#endif // UFORM_TESTS_SHA256_HPP
