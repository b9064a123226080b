/// Tapes: offsets of every width and sign, what is refused, subtapes, iteration, and tapes that own their texts.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "catch.hpp"
#include "uform/tape.hpp"

using uform::Status, uform::Tape, uform::TapeView;
using namespace std::string_literals;

namespace {

std::vector<std::string> texts_of(TapeView tape) {
    std::vector<std::string> texts;
    for (std::string_view text : tape) texts.emplace_back(text);
    return texts;
}

template <class Integer> void check_offsets_of_type() {
    INFO("offsets of " << sizeof(Integer) << " bytes, signed: " << std::is_signed_v<Integer>);
    std::string const bytes = "abcdefghij";
    auto const of = [&](std::vector<Integer> const &offsets) { return TapeView::of(bytes, offsets); };
    auto const refusal = [&](std::vector<Integer> const &offsets) {
        auto const tape = of(offsets);
        REQUIRE_FALSE(tape);
        CHECK(tape.error().status() == Status::invalid_argument);
        return std::string(tape.error().message());
    };

    std::vector<Integer> const rising{0, 3, 3, 10};
    auto const tape = of(rising).value();
    CHECK(tape.size() == 3);
    CHECK(texts_of(tape) == std::vector<std::string>{"abc", "", "defghij"});
    CHECK(tape[0].data() == bytes.data());

    std::vector<Integer> const later{2, 5, 9}; // the first isn't 0, the last isn't the end
    CHECK(texts_of(of(later).value()) == std::vector<std::string>{"cde", "fghi"});
    std::vector<Integer> const none{4};
    CHECK(of(none).value().size() == 0);
    CHECK(of(none).value().empty());
    std::vector<Integer> const at_end{10, 10};
    CHECK(texts_of(of(at_end).value()) == std::vector<std::string>{""});

    CHECK(refusal({}).find("no offsets") != std::string::npos);
    CHECK(refusal({0, 5, 4}).find("offset 2 ") != std::string::npos);
    CHECK(refusal({3, 2}).find("falls from 3 to 2") != std::string::npos);
    CHECK(refusal({0, 11}).find("11") != std::string::npos);
    CHECK(refusal({11}).find("offset 0 ") != std::string::npos);
    CHECK(refusal({0, std::numeric_limits<Integer>::max()}).find("past the end") != std::string::npos);
    if constexpr (std::is_signed_v<Integer>) {
        CHECK(refusal({-1, 5}).find("offset 0 of the tape is negative: -1") != std::string::npos);
        CHECK(refusal({0, std::numeric_limits<Integer>::min()}).find("negative") != std::string::npos);
    }

    // The same over a raw address, and by a span of a part.
    CHECK(texts_of(TapeView::of(static_cast<void const *>(bytes.data()), 10, rising).value()).size() == 3);
    CHECK(texts_of(TapeView::of(bytes.data() + 1, 9, std::span(rising).first(2)).value()) ==
          std::vector<std::string>{"bcd"});
    CHECK_FALSE(TapeView::of(nullptr, 10, rising));
    CHECK(TapeView::of(nullptr, 0, std::vector<Integer>{0, 0}).has_value());
}

/// An input range without a size, of texts that are made as it goes.
struct Numbers {
    int count;
    std::function<std::string(int)> text;

    struct Iterator {
        using value_type = std::string;
        using difference_type = std::ptrdiff_t;
        Numbers const *range = nullptr;
        int at = 0;
        std::string operator*() const { return range->text(at); }
        Iterator &operator++() { return ++at, *this; }
        void operator++(int) { ++at; }
        bool operator==(std::default_sentinel_t) const { return at == range->count; }
    };
    Iterator begin() { return {this, 0}; }
    std::default_sentinel_t end() const { return {}; }
};

template <class T> concept CanBeATape = requires(std::string_view bytes, T const &offsets) {
    TapeView::of(bytes, offsets);
};

} // namespace

TEST_CASE("offsets of every width and sign", "[vocabulary]") {
    check_offsets_of_type<std::int32_t>();
    check_offsets_of_type<std::uint32_t>();
    check_offsets_of_type<std::int64_t>();
    check_offsets_of_type<std::uint64_t>();
    check_offsets_of_type<long>();
    check_offsets_of_type<unsigned long>();
    check_offsets_of_type<long long>();
    check_offsets_of_type<unsigned long long>();
}

TEST_CASE("offsets above 4 GiB stay whole", "[vocabulary]") {
    // Addresses only: nothing is read, as both texts are beyond what the machine has.
    auto const *bytes = reinterpret_cast<char const *>(std::uintptr_t{1} << 20);
    std::vector<std::uint64_t> const offsets{std::uint64_t{5} << 32, std::uint64_t{7} << 32};
    auto const tape = TapeView::of(static_cast<void const *>(bytes), std::size_t{8} << 32, offsets).value();
    CHECK(tape[0].data() == bytes + (std::uint64_t{5} << 32));
    CHECK(tape[0].size() == std::size_t{2} << 32);
    std::vector<std::uint32_t> const wide{0, 3'000'000'000u}; // above what an int holds
    CHECK(TapeView::of(static_cast<void const *>(bytes), std::size_t{3'000'000'000u}, wide).value()[0].size() ==
          3'000'000'000u);
}

TEST_CASE("what offsets may be", "[vocabulary]") {
    std::string const bytes = "abcdef";
    std::uint32_t const array[] = {0, 2, 6};
    std::array<std::int64_t, 3> const standard{0, 2, 6};
    CHECK(texts_of(TapeView::of(bytes, array).value()) == std::vector<std::string>{"ab", "cdef"});
    CHECK(texts_of(TapeView::of(bytes, standard).value()) == std::vector<std::string>{"ab", "cdef"});
    CHECK(texts_of(TapeView::of(bytes, std::span(array)).value()) == std::vector<std::string>{"ab", "cdef"});
    CHECK(texts_of(TapeView::of("abcdef", std::span<std::int64_t const>(standard)).value()).size() == 2);
    STATIC_REQUIRE(CanBeATape<std::vector<std::uint32_t>>);
    STATIC_REQUIRE_FALSE(CanBeATape<std::vector<std::int16_t>>);
    STATIC_REQUIRE_FALSE(CanBeATape<std::vector<float>>);
    STATIC_REQUIRE_FALSE(CanBeATape<std::vector<bool>>);
    STATIC_REQUIRE_FALSE(CanBeATape<std::list<std::uint32_t>>);
    STATIC_REQUIRE_FALSE(CanBeATape<std::uint32_t const *>);
    STATIC_REQUIRE(std::is_trivially_copyable_v<TapeView>);
}

TEST_CASE("a tape of one text, or of none", "[vocabulary]") {
    std::string const text = "one text";
    char const *const pointer = text.c_str();
    for (TapeView const &tape :
         {TapeView(text), TapeView(std::string_view(text)), TapeView("one text"), TapeView(pointer)}) {
        CHECK(tape.size() == 1);
        CHECK(tape[0] == "one text");
        CHECK(texts_of(tape.subtape(0, 5)) == std::vector<std::string>{"one text"});
        CHECK(tape.subtape(1, 1).size() == 0);
        CHECK(tape.subtape(0, 0).size() == 0);
        CHECK(tape.subtape(0, 1)[0] == "one text");
    }
    CHECK(TapeView("").size() == 1);
    CHECK(TapeView("")[0].empty());
    CHECK(TapeView(std::string_view()).size() == 1);
    CHECK(TapeView(std::string_view())[0].empty());
    CHECK(TapeView().size() == 0);
    CHECK(TapeView().empty());
    CHECK(TapeView().begin() == TapeView().end());
    CHECK(TapeView().subtape(0, 3).empty());
}

TEST_CASE("a subtape is cut at every edge", "[vocabulary]") {
    std::string const bytes = "..aabbcc";
    auto const most = std::numeric_limits<std::size_t>::max();
    std::vector<std::uint32_t> const narrow{2, 4, 6, 8};
    std::vector<std::uint64_t> const wide{2, 4, 6, 8};
    for (TapeView const &tape : {TapeView::of(bytes, narrow).value(), TapeView::of(bytes, wide).value()}) {
        std::vector<std::string> const all{"aa", "bb", "cc"};
        for (std::size_t first = 0; first != 6; ++first)
            for (std::size_t count :
                 {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{4}, most}) {
                auto const begin = std::min<std::size_t>(first, 3), length = std::min<std::size_t>(count, 3 - begin);
                std::vector<std::string> const expected(all.begin() + std::ptrdiff_t(begin),
                                                        all.begin() + std::ptrdiff_t(begin + length));
                CHECK(texts_of(tape.subtape(first, count)) == expected);
            }
        CHECK(tape.subtape(most, most).empty());
        CHECK(texts_of(tape.subtape(1, 2).subtape(1, 2)) == std::vector<std::string>{"cc"});
    }
}

TEST_CASE("a tape is a random-access range", "[vocabulary]") {
    STATIC_REQUIRE(std::ranges::random_access_range<TapeView>);
    STATIC_REQUIRE(std::ranges::sized_range<TapeView>);
    STATIC_REQUIRE(std::random_access_iterator<decltype(TapeView().begin())>);
    std::vector<std::uint32_t> const offsets{0, 1, 3, 6};
    auto const tape = TapeView::of("abbccc", offsets).value();
    auto at = tape.begin();
    CHECK(*at == "a");
    CHECK(*at++ == "a");
    CHECK(*at == "bb");
    CHECK(at[1] == "ccc");
    CHECK(*++at == "ccc");
    CHECK(*--at == "bb");
    CHECK(*at-- == "bb");
    CHECK(*(at + 2) == "ccc");
    CHECK(*(2 + at) == "ccc");
    CHECK(*(tape.end() - 1) == "ccc");
    CHECK(tape.end() - tape.begin() == 3);
    CHECK(tape.begin() < tape.end());
    at += 2, at -= 1;
    CHECK(*at == "bb");
    CHECK(std::ranges::max(tape, {}, &std::string_view::size) == "ccc");
    std::vector<std::string_view> backwards;
    for (auto back = tape.end(); back != tape.begin();) backwards.push_back(*--back);
    CHECK(backwards == std::vector<std::string_view>{"ccc", "bb", "a"});
}

TEST_CASE("a tape owns copies of a range of texts", "[vocabulary]") {
    std::vector<std::string> const expected{"one", "", "three\0more"s};
    auto const same = [&](uform::Result<Tape> const &tape) {
        REQUIRE(tape);
        CHECK(tape->size() == 3);
        CHECK(texts_of(*tape) == expected);
    };
    same(Tape::from(expected));
    std::vector<std::string> mutable_texts = expected;
    auto tape = Tape::from(mutable_texts);
    mutable_texts[0] = "changed";
    same(tape);
    same(Tape::from(std::vector<std::string_view>(expected.begin(), expected.end())));
    same(Tape::from(std::list<std::string>(expected.begin(), expected.end())));
    same(Tape::from(Numbers{.count = 3, .text = [&](int i) { return expected[std::size_t(i)]; }}));
    std::vector<char const *> const pointers{"one", "two"};
    CHECK(texts_of(Tape::from(pointers).value()) == std::vector<std::string>{"one", "two"});
    CHECK(Tape::from(std::vector{"one", "two"}).value().size() == 2);
    char const *array[] = {"x", "yy"};
    CHECK(texts_of(Tape::from(array).value()) == std::vector<std::string>{"x", "yy"});
#if !defined(__clang__) || __clang_major__ >= 16 // Clang 14 can't compile the adaptors of libstdc++
    same(
        Tape::from(std::vector<int>{0, 1, 2} | std::views::transform([&](int i) { return expected[std::size_t(i)]; })));
    auto const mutable_once = [](int i) mutable { return std::to_string(i); }; // its view has no const begin
    auto once = std::views::iota(0, 5) | std::views::filter([](int i) { return i % 2 == 0; }) |
                std::views::transform(mutable_once);
    CHECK(texts_of(Tape::from(once).value()) == std::vector<std::string>{"0", "2", "4"});
#endif
    CHECK(Tape::from(std::vector<std::string>()).value().size() == 0);
    CHECK(TapeView(Tape::from(std::vector<std::string>()).value()).empty());
}

TEST_CASE("a tape is assigned to, and keeps its capacity", "[vocabulary]") {
    Tape tape;
    CHECK(tape.size() == 0);
    CHECK(TapeView(tape).empty());
    std::vector<std::string> const large(100, std::string(50, 'x')), small{"a", "b"};
    REQUIRE(tape.assign(large));
    auto const *bytes = TapeView(tape).data();
    CHECK(TapeView(tape).size_bytes() == 5000);
    REQUIRE(tape.assign(small));
    CHECK(texts_of(tape) == small);
    CHECK(TapeView(tape).data() == bytes);
    REQUIRE(tape.assign(large));
    CHECK(texts_of(tape) == large);
    CHECK(TapeView(tape).data() == bytes); // a smaller tape didn't give the memory back
    REQUIRE(tape.assign(std::vector<std::string>()));
    CHECK(tape.size() == 0);

    REQUIRE(tape.assign(small));
    Tape moved = std::move(tape);
    CHECK(texts_of(moved) == small);
    CHECK(tape.size() == 0);
    CHECK(TapeView(tape).empty());
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Tape>);
}

TEST_CASE("a tape without memory for its texts is refused, and empty", "[vocabulary]") {
    Tape tape = Tape::from(std::vector{"before"}).value();
    std::size_t const volatile size = static_cast<std::size_t>(PTRDIFF_MAX) - 100; // hidden, as compilers warn of it
    std::string_view const endless("x", size);                                     // never read: no such block exists
    auto const refused = tape.assign(std::vector<std::string_view>{"a", endless});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status() == Status::out_of_memory);
    CHECK(tape.size() == 0);
    CHECK(Tape::from(std::vector<std::string_view>{endless}).error().status() == Status::out_of_memory);
    REQUIRE(tape.assign(std::vector{"after"}));
    CHECK(texts_of(tape) == std::vector<std::string>{"after"});
}
