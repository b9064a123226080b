/// The growable array and the sorts of one's own, beside those of the standard library.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "uform/list.hpp"
#include "uform/sort.hpp"

namespace {

int alive = 0;

/// Owns memory, so that a sanitizer sees what is lost or freed twice, and counts itself.
struct Counted {
    std::string text;

    Counted() : text("a text that is too long for the string's own room") { ++alive; }
    explicit Counted(unsigned number) : text("a text too long for the string's own room: " + std::to_string(number)) {
        ++alive;
    }
    Counted(Counted const &other) : text(other.text) { ++alive; }
    Counted(Counted &&other) noexcept : text(std::move(other.text)) { ++alive; }
    Counted &operator=(Counted const &) = default;
    Counted &operator=(Counted &&) noexcept = default;
    ~Counted() { --alive; }
    bool operator==(Counted const &) const = default;
};

bool same(uform::List<Counted> const &list, std::vector<Counted> const &vector) {
    return list.size() == vector.size() && std::equal(list.begin(), list.end(), vector.begin());
}

} // namespace

TEST_CASE("a list does what a vector does, over random steps, and loses nothing") {
    std::mt19937 random(3);
    for (int round = 0; round != 50; ++round) {
        uform::List<Counted> list;
        std::vector<Counted> vector;
        for (int step = 0; step != 200; ++step) {
            Counted const value(static_cast<unsigned>(random() % 10));
            std::size_t const count = random() % 20, at = vector.empty() ? 0 : random() % (vector.size() + 1);
            switch (random() % 10) {
            case 0:
            case 1:
            case 2:
                CHECK(list.push_back(value) == value);
                vector.push_back(value);
                break;
            case 3:
                list.insert(at, value);
                vector.insert(vector.begin() + static_cast<std::ptrdiff_t>(at), value);
                break;
            case 4:
                if (!vector.empty()) list.pop_back(), vector.pop_back();
                break;
            case 5: list.resize(count), vector.resize(count); break;
            case 6: list.reserve(count), vector.reserve(count); break;
            case 7:
                list.erase_if([&](Counted const &one) { return one == value; });
                std::erase(vector, value);
                break;
            case 8:
                list.append({value, Counted(7)});
                vector.insert(vector.end(), {value, Counted(7)});
                break;
            case 9: {
                uform::List<Counted> copy(list), moved(std::move(list));
                CHECK(list.empty());
                CHECK(copy == moved);
                list = random() % 2 ? copy : std::move(moved);
                break;
            }
            }
            REQUIRE(same(list, vector));
        }
        list.assign(3, Counted(1)), vector.assign(3, Counted(1));
        CHECK(same(list, vector));
        CHECK_FALSE(list == uform::List<Counted>{Counted(1), Counted(1)});
        CHECK_FALSE(list == uform::List<Counted>{Counted(1), Counted(1), Counted(2)});
        list.clear();
        CHECK(list.empty());
    }
    CHECK(alive == 0);
}

TEST_CASE("numbers of any size are sorted by their bytes, and equal ones stay in their order") {
    struct Headed {
        std::uint64_t head;
        std::size_t place;
        bool operator==(Headed const &) const = default;
    };
    std::mt19937_64 random(9);
    // Few values and many, which are sorted in two ways; all bits, a byte in the middle, the two outermost, none.
    for (std::size_t count : {0u, 1u, 2u, 255u, 256u, 257u, 3000u})
        for (std::uint64_t mask :
             {~std::uint64_t{0}, std::uint64_t{0xFF0000}, std::uint64_t{0x8000000000000001}, std::uint64_t{0}}) {
            std::vector<Headed> values;
            for (std::size_t i = 0; i != count; ++i) values.push_back({random() & mask, i});
            auto stable = values, sorted = values, room = values;
            std::stable_sort(stable.begin(), stable.end(), [](auto &a, auto &b) { return a.head < b.head; });
            uform::radix_sort(sorted.data(), room.data(), count);
            CHECK(sorted == stable);
        }
}

TEST_CASE("sorts and heaps answer what the standard library's do") {
    std::mt19937 random(4);
    for (std::size_t count = 0; count < 300; count += count < 40 ? 1 : 37) {
        std::vector<std::pair<unsigned, std::size_t>> values; // by the first alone, so that an order of equals shows
        for (std::size_t i = 0; i != count; ++i)
            values.emplace_back(static_cast<unsigned>(random() % (1 + count / 3)), i);
        auto const less = [](auto const &a, auto const &b) noexcept { return a.first < b.first; };
        auto stable = values, merged = values, heaped = values, room = values;
        std::stable_sort(stable.begin(), stable.end(), less);
        uform::merge_sort(merged.data(), room.data(), count, less);
        CHECK(merged == stable);
        uform::heap_sort(heaped.data(), count, less);
        CHECK(std::is_sorted(heaped.begin(), heaped.end(), less));
        CHECK(std::is_permutation(heaped.begin(), heaped.end(), values.begin()));

        std::vector<unsigned> heap;
        auto const below = [](unsigned a, unsigned b) noexcept { return a < b; };
        std::multiset<unsigned> expected;
        for (std::size_t i = 0; i != 2 * count; ++i) {
            if (heap.empty() || random() % 3) {
                heap.push_back(static_cast<unsigned>(random() % 50));
                expected.insert(heap.back());
                uform::heap_push(heap.data(), heap.size(), below);
            } else {
                uform::heap_pop(heap.data(), heap.size(), below);
                CHECK(heap.back() == *expected.rbegin());
                expected.erase(std::prev(expected.end()));
                heap.pop_back();
            }
        }
        for (unsigned key = 0; key != count / 3 + 2; ++key) {
            auto const found = std::lower_bound(stable.begin(), stable.end(), key,
                                                [](auto const &value, unsigned one) { return value.first < one; });
            CHECK(uform::first_not_below(stable.data(), count, [=](auto const &value) { return value.first < key; }) ==
                  static_cast<std::size_t>(found - stable.begin()));
        }
    }
}
