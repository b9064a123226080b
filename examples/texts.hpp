/// What the search examples share: texts from a file, and the largest of some scores.
#ifndef UFORM_EXAMPLES_TEXTS_HPP
#define UFORM_EXAMPLES_TEXTS_HPP

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// The lines of a file, or where it has lines of a lone %, what stands between those, on one line each.
inline std::vector<std::string> read_texts(char const *path) {
    std::ifstream file(path);
    std::vector<std::string> lines, parts(1);
    for (std::string line; std::getline(file, line);) {
        if (line == "%") parts.emplace_back();
        else if (line.find_first_not_of(" \t\r") != line.npos)
            parts.back() += (parts.back().empty() ? "" : " ") + line, lines.push_back(line);
    }
    if (parts.size() == 1) return lines;
    std::erase(parts, "");
    return parts;
}

/// The indices of the `count` largest scores, the largest first.
inline std::vector<std::size_t> best(std::span<float const> scores, std::size_t count) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    count = std::min(count, order.size());
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                      [&](auto a, auto b) { return scores[a] > scores[b]; });
    order.resize(count);
    return order;
}

#endif // UFORM_EXAMPLES_TEXTS_HPP
