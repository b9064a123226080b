/// Mutates inputs made of JSON value by value, so that most of them stay JSON and reach what reads them.
#ifndef UFORM_FUZZ_JSON_MUTATOR_HPP
#define UFORM_FUZZ_JSON_MUTATOR_HPP

#include <algorithm> // std::copy_n
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t *data, std::size_t size, std::size_t most);

namespace fuzz {

/// Finds and exchanges the values of JSON. What isn't JSON has places too, of which nothing is asked.
class JsonMutator {
    std::minstd_rand random_;

    struct Place {
        std::size_t first, last;
    };
    std::size_t below(std::size_t count) { return count == 0 ? 0 : random_() % count; }

    static std::size_t end_of_string(std::string_view text, std::size_t at) {
        for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
        return std::min(at + 1, text.size());
    }
    // The end of the value that begins at a place.
    static std::size_t end_of(std::string_view text, std::size_t at) {
        if (text[at] == '"') return end_of_string(text, at);
        if (text[at] != '{' && text[at] != '[') return std::min(text.find_first_of(",:]} \n\xFF", at + 1), text.size());
        std::size_t level = 0;
        while (at < text.size()) {
            char const c = text[at];
            if (c == '"') {
                at = end_of_string(text, at);
                continue;
            }
            ++at;
            if (c == '{' || c == '[') ++level;
            if ((c == '}' || c == ']') && --level == 0) break;
        }
        return at;
    }
    // A value, which begins behind a colon, a comma or a bracket.
    Place find(std::string_view text) {
        if (text.size() < 2) return {0, 0};
        for (std::size_t i = 0; i != 64; ++i) {
            std::size_t const before = below(text.size() - 1);
            if (std::string_view(":,[{").find(text[before]) == std::string_view::npos) continue;
            std::size_t const first = text.find_first_not_of(" \n", before + 1);
            if (first >= text.size() || std::string_view("]},:").find(text[first]) != std::string_view::npos) continue;
            return {first, end_of(text, first)};
        }
        return {0, 0};
    }

  public:
    explicit JsonMutator(unsigned seed) : random_(seed | 1) {}

    /// Puts a value of `from` in place of one of `text`, or before it.
    std::string exchange(std::string_view text, std::string_view from) {
        Place const to = find(text), with = find(from);
        std::string made(text);
        std::string value(from.substr(with.first, with.last - with.first));
        if (below(4) == 0) made.insert(to.first, value + ",");
        else made.replace(to.first, to.last - to.first, value);
        return made;
    }
    /// Takes a value away, with the comma behind or before it.
    std::string remove(std::string_view text) {
        Place place = find(text);
        if (place.last < text.size() && text[place.last] == ',') ++place.last;
        else if (place.first != 0 && text[place.first - 1] == ',') --place.first;
        return std::string(text).erase(place.first, place.last - place.first);
    }
    /// One value changed as any bytes are.
    std::string change(std::string_view text) {
        Place const place = find(text);
        std::string value(text.substr(place.first, place.last - place.first));
        std::size_t const size = value.size();
        value.resize(size + 64);
        value.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t *>(value.data()), size, size + 64));
        return std::string(text).replace(place.first, place.last - place.first, value);
    }
    /// One of the above within a text, half of the time; else any bytes of it change.
    std::size_t mutate(std::uint8_t *data, std::size_t size, std::size_t most) {
        std::string_view const text(reinterpret_cast<char const *>(data), size);
        std::size_t const choice = below(8);
        if (choice > 3) return LLVMFuzzerMutate(data, size, most);
        return store(choice == 0 ? remove(text) : choice == 1 ? change(text) : exchange(text, text), data, most);
    }
    static std::size_t store(std::string const &made, std::uint8_t *data, std::size_t most) {
        std::size_t const size = std::min(made.size(), most);
        std::copy_n(made.begin(), size, data);
        return size;
    }
};

} // namespace fuzz

#endif // UFORM_FUZZ_JSON_MUTATOR_HPP
