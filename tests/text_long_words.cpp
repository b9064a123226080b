/// Long words in byte-level BPE, which merge in another way than short ones, against merging one pair at a time.
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "text_files.hpp"

namespace {

/// Byte-pair encoding as its definition has it: the pair of the lowest rank, of equal ones the leftmost, until none is
/// left. For words of ASCII letters, whose bytes' characters are they themselves.
class PlainMerges {
    uform::Json json_;
    std::map<std::pair<std::string, std::string>, std::size_t> ranks_;
    std::vector<std::string> made_; // of letters

  public:
    explicit PlainMerges(std::string const &path) : json_(uform::Json::parse(read_file(path), path).value()) {
        uform::JsonValue const list = json_.root().find("model").find("merges");
        REQUIRE(list.size() > 500);
        for (std::size_t i = 0; i != list.size(); ++i) {
            std::string left(list[i][0].string().value_or("")), right(list[i][1].string().value_or(""));
            if (auto const both = list[i].string())
                left = both->substr(0, both->find(' ')), right = both->substr(both->find(' ') + 1);
            ranks_.emplace(std::pair(left, right), i);
            std::string made = left + right;
            if (made.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == made.npos) made_.push_back(std::move(made));
        }
    }
    /// What merges make of letters.
    std::vector<std::string> const &made() const { return made_; }
    Ids ids_of(std::string const &word) const {
        std::vector<std::string> parts;
        for (char letter : word) parts.emplace_back(1, letter);
        for (;;) {
            std::size_t best = parts.size(), rank = SIZE_MAX;
            for (std::size_t i = 0; i + 1 < parts.size(); ++i)
                if (auto const found = ranks_.find({parts[i], parts[i + 1]});
                    found != ranks_.end() && found->second < rank)
                    best = i, rank = found->second;
            if (rank == SIZE_MAX) break;
            parts[best] += parts[best + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
        }
        uform::JsonValue const vocabulary = json_.root().find("model").find("vocab");
        Ids ids;
        for (std::string const &part : parts) {
            auto const id = vocabulary.find(part).natural();
            REQUIRE(id);
            ids.push_back(static_cast<std::uint32_t>(*id));
        }
        return ids;
    }
};

} // namespace

TEST_CASE("long words merge as one pair at a time does") {
    for (std::string const kind : {"roberta", "modernbert"}) {
        uform::Tokenizer const tokenizer = load(data_path("text/" + kind));
        PlainMerges const plain(data_path("text/" + kind + "/tokenizer.json"));
        std::mt19937 random(11);
        std::size_t merged = 0;
        for (std::size_t const size :
             {std::size_t{40}, std::size_t{48}, std::size_t{49}, std::size_t{50}, std::size_t{97}, std::size_t{400}})
            for (std::vector<std::string> const &pieces : {plain.made(), {"e", "n", "s", "t", "h"}, {"st"}, {"o"}}) {
                std::string word;
                while (word.size() < size) word += pieces[random() % pieces.size()];
                INFO(kind << ": " << word);
                Ids ids = ids_of(tokenizer, word);
                REQUIRE(ids.size() > 2); // without the special tokens at its ends
                ids.erase(ids.begin()), ids.pop_back();
                CHECK(ids == plain.ids_of(word));
                merged += word.size() - ids.size();
            }
        CHECK(merged > 500);
    }
}
