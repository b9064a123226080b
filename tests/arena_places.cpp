/// Places and drafts, and the views that come of them: shapes, alignment, scratch, and everything that is refused.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "uform/arena.hpp"

using uform::Arena, uform::B1x8, uform::BF16, uform::Draft, uform::F16, uform::Place, uform::RaggedPlace,
    uform::RaggedRows, uform::Ram, uform::Result, uform::Rows, uform::Scalar, uform::Status;

namespace {

template <class T> Status status(Result<T> const &result) { return result ? Status::success : result.error().status(); }
template <class T> std::string text(Result<T> const &result) {
    return result ? std::string() : std::string(result.error().message());
}

/// What commit answers after these places.
template <class Places> Status commits(Arena<Ram> &arena, Places places) {
    auto draft = arena.begin();
    REQUIRE(draft);
    places(*draft);
    return status(std::move(*draft).commit());
}

/// Publishes one ragged output of `rows` rows at most with the given offsets.
Result<RaggedRows<Ram>> publish_offsets(Arena<Ram> &arena, std::size_t rows,
                                        std::vector<std::uint32_t> const &offsets) {
    auto draft = arena.begin();
    if (!draft) return draft.error();
    auto const place = draft->place_ragged<std::uint8_t>(offsets.size() - 1, rows, 1);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    std::ranges::copy(offsets, writing->offsets(place).begin());
    auto const values = writing->values(place);
    std::iota(values.begin(), values.end(), std::uint8_t{0});
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}

} // namespace

TEST_CASE("places of every scalar keep their bytes apart", "[arena][places]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const f32 = draft->place<float>(3, 5);
    auto const f16 = draft->place<F16>(3, 5);
    auto const bf16 = draft->place<BF16>(7, 3);
    auto const i8 = draft->place<std::int8_t>(3, 129);
    auto const b1 = draft->place<B1x8>(3, 129);
    auto const u8 = draft->place<std::uint8_t>(1, 1);
    auto const u32 = draft->place_ragged<std::uint32_t>(2, 5, 2);
    auto const u64 = draft->place<std::uint64_t>(2, 2);
    auto writing = std::move(*draft).commit();
    REQUIRE(writing);
    CHECK(writing->stream() == nullptr);
    std::set<std::byte const *> used; // every byte belongs to one place
    std::size_t bytes = 0;
    auto const mark = [&](auto span, int value) {
        CHECK(reinterpret_cast<std::uintptr_t>(span.data()) % 64 == 0);
        std::ranges::fill(std::as_writable_bytes(span), std::byte(value));
        for (auto const &byte : std::as_bytes(span)) used.insert(&byte);
        bytes += span.size_bytes();
    };
    mark(writing->values(f32), 1), mark(writing->values(f16), 2), mark(writing->values(bf16), 3),
        mark(writing->values(i8), 4);
    mark(writing->values(b1), 5), mark(writing->values(u8), 6), mark(writing->values(u32), 7),
        mark(writing->values(u64), 8);
    mark(writing->offsets(u32), 0);
    CHECK(writing->offsets(u32).size() == 3);
    CHECK(used.size() == bytes);
    CHECK(bytes == 3 * 5 * 4 + 3 * 5 * 2 + 7 * 3 * 2 + 3 * 129 + 3 * 17 + 1 + 5 * 2 * 4 + 2 * 2 * 8 + 3 * 4);
    writing->offsets(u32)[1] = 1, writing->offsets(u32)[2] = 5;
    auto const published = std::move(*writing).publish().value();

    CHECK(published[f32].values<float>().value().size() == 15);
    CHECK(published[f16].values<F16>().value()[14] == F16{0x0202});
    CHECK(published[bf16].values<BF16>().value()[20] == BF16{0x0303});
    CHECK(published[i8].values<std::int8_t>().value()[386] == 4);
    CHECK(published[u8].values<std::uint8_t>().value()[0] == 6);
    CHECK(published[u64].values<std::uint64_t>().value()[3] == 0x0808080808080808u);
    auto const ragged = published[u32];
    CHECK(ragged.flat().values<std::uint32_t>().value()[9] == 0x07070707u);
    CHECK(ragged.at(1).value().rows() == 4);
    auto const bits = published[b1]; // columns count bits, a row fills whole bytes
    CHECK(bits.columns() == 129);
    CHECK(bits.row_stride_bytes() == 17);
    CHECK(bits.scalar() == Scalar::b1);
    CHECK(bits.values<B1x8>().value().size() == 51);
    CHECK(bits.row<B1x8>(2).value().size() == 17);
    CHECK(bits.row<B1x8>(2).value()[16] == B1x8{5});
    CHECK(published[f32].row_stride_bytes() == 20);
    CHECK(published[i8].row_stride_bytes() == 129);
}

TEST_CASE("a view answers its shape and rows, and refuses another type, row or size", "[arena][places]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<float>(3, 4);
    auto writing = std::move(*draft).commit();
    auto const all = writing->values(place);
    std::iota(all.begin(), all.end(), 0.0f);
    CHECK(writing->data(place) == all.data());
    auto const rows = std::move(*writing).publish().value()[place];
    CHECK(rows.rows() == 3);
    CHECK(rows.columns() == 4);
    CHECK(rows.scalar() == Scalar::f32);
    CHECK(rows.data() == all.data()); // nothing was copied
    CHECK(rows.values<float>().value().data() == all.data());
    CHECK(rows.row<float>(2).value()[1] == 9.0f);
    CHECK(status(rows.row<float>(3)) == Status::invalid_argument);
    CHECK(text(rows.row<float>(3)) == "row 3 of 3");
    CHECK(status(rows.row<float>(SIZE_MAX)) == Status::invalid_argument);
    CHECK(status(rows.values<std::uint32_t>()) == Status::invalid_argument); // of the same width
    CHECK(status(rows.row<F16>(0)) == Status::invalid_argument);
    CHECK(status(rows.matrix<std::int8_t>()) == Status::invalid_argument);

    auto const matrix = rows.matrix<float>().value();
    STATIC_REQUIRE(std::ranges::random_access_range<uform::Matrix<float>>);
    STATIC_REQUIRE(std::ranges::sized_range<uform::Matrix<float>>);
    CHECK(matrix.size() == 3);
    CHECK(matrix[1][2] == 6.0f);
    CHECK(matrix.row_stride_bytes() == 16);
    float sum = 0;
    std::size_t count = 0;
    for (std::span<float const> row : matrix)
        for (float value : row) sum += value, ++count;
    CHECK(sum == 66.0f);
    CHECK(count == 12);
    CHECK((*(matrix.end() - 1))[3] == 11.0f);

    std::vector<float> copy(12);
    CHECK(status(rows.copy_to(std::span(copy))) == Status::success);
    CHECK(std::ranges::equal(copy, all));
    std::vector<float> wrong(13);
    CHECK(status(rows.copy_to(std::span(wrong))) == Status::invalid_argument);
    CHECK(status(rows.copy_to(std::span(wrong).first(11))) == Status::invalid_argument);
    CHECK(wrong[0] == 0.0f);
    std::vector<std::uint32_t> other(12);
    CHECK(status(rows.copy_to(std::span(other))) == Status::invalid_argument);

    CHECK(uform::values<float>(rows).value().size() == 12);
    CHECK(uform::row<float>(rows, 1).value()[0] == 4.0f);
    CHECK(uform::matrix<float>(rows).value().size() == 3);
    CHECK(uform::values<float>(rows.pin().value()).has_value());
}

TEST_CASE("offsets that fill their lines leave the next place alone", "[arena][places]") {
    for (std::size_t texts : {15u, 16u, 17u, 31u, 32u}) {
        Arena<Ram> arena;
        auto draft = arena.begin();
        auto const ragged = draft->place_ragged<std::uint8_t>(texts, texts, 1);
        auto const next = draft->place<std::uint8_t>(1, 64);
        auto writing = std::move(*draft).commit();
        auto const offsets = writing->offsets(ragged);
        CHECK(offsets.size() == texts + 1);
        std::iota(offsets.begin(), offsets.end(), 0u);
        std::ranges::fill(writing->values(next), std::uint8_t{255});
        auto const published = std::move(*writing).publish();
        REQUIRE(published);
        CHECK((*published)[ragged].offsets().value().back() == texts);
        CHECK((*published)[next].values<std::uint8_t>().value()[0] == 255);
    }
}

TEST_CASE("ragged rows answer their texts", "[arena][places]") {
    Arena<Ram> arena;
    auto const rows = publish_offsets(arena, 6, {0, 2, 2, 5}).value();
    CHECK(rows.size() == 3);
    CHECK(rows.flat().rows() == 5); // what no offset reaches isn't published
    CHECK(std::ranges::equal(rows.offsets().value(), std::vector<std::uint32_t>{0, 2, 2, 5}));
    CHECK(std::ranges::equal(rows.at(0).value().values<std::uint8_t>().value(), std::vector<std::uint8_t>{0, 1}));
    CHECK(rows.at(1).value().rows() == 0);
    CHECK(rows.at(1).value().values<std::uint8_t>().value().empty());
    CHECK(std::ranges::equal(rows.at(2).value().values<std::uint8_t>().value(), std::vector<std::uint8_t>{2, 3, 4}));
    CHECK(status(rows.at(2).value().row<std::uint8_t>(3)) == Status::invalid_argument);
    CHECK(status(rows.at(3)) == Status::invalid_argument);
    CHECK(text(rows.at(3)) == "text 3 of 3");
    auto const pin = rows.pin().value();
    CHECK(status(arena.begin()) == Status::contended);
    CHECK(pin.at(2).value().rows() == 3);
}

TEST_CASE("no rows, no columns, no texts", "[arena][places]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const no_rows = draft->place<float>(0, 5);
    auto const no_columns = draft->place<float>(5, 0);
    auto const no_texts = draft->place_ragged<float>(0, 0, 3);
    auto const empty_texts = draft->place_ragged<float>(2, 0, 3);
    auto const many_empty_rows = draft->place<float>(SIZE_MAX, 0);
    auto writing = std::move(*draft).commit();
    REQUIRE(writing);
    CHECK(writing->values(no_rows).empty());
    CHECK(writing->offsets(no_texts).size() == 1);
    writing->offsets(no_texts)[0] = 0;
    std::ranges::fill(writing->offsets(empty_texts), 0u);
    auto const published = std::move(*writing).publish().value();
    CHECK(published[no_rows].is_current());
    CHECK(published[no_rows].rows() == 0);
    CHECK(published[no_rows].columns() == 5);
    CHECK(published[no_rows].values<float>().value().empty());
    CHECK(published[no_rows].copy_to(std::span<float>()).has_value());
    CHECK(published[no_rows].matrix<float>().value().empty());
    CHECK(status(published[no_rows].row<float>(0)) == Status::invalid_argument);
    CHECK(published[no_columns].rows() == 5);
    CHECK(published[no_columns].values<float>().value().empty());
    CHECK(published[no_columns].row<float>(4).value().empty());
    CHECK(published[many_empty_rows].values<float>().value().empty());
    CHECK(published[no_texts].size() == 0);
    CHECK(published[no_texts].offsets().value().size() == 1);
    CHECK(status(published[no_texts].at(0)) == Status::invalid_argument);
    CHECK(published[empty_texts].at(1).value().rows() == 0);
    CHECK(published[empty_texts].flat().rows() == 0);

    auto nothing = arena.begin(); // a call without a single place
    CHECK(std::move(*nothing).commit().and_then([](auto w) { return std::move(w).publish(); }).has_value());
}

TEST_CASE("a draft that is left without writing, and one that was used", "[arena][places]") {
    Arena<Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<float>(1, 1);
    auto moved = std::move(*draft);
    CHECK(status(std::move(*draft).commit()) == Status::invalid_argument);
    CHECK(draft->place<float>(1, 1).arena == nullptr); // of no arena
    CHECK(status(arena.begin()) == Status::contended); // the draft is alive where it went
    auto writing = std::move(moved).commit();
    REQUIRE(writing);
    CHECK(status(std::move(moved).commit()) == Status::invalid_argument);
    auto moved_writing = std::move(*writing);
    CHECK(writing->data(place) == nullptr);
    CHECK(writing->values(place).empty());
    CHECK(status(std::move(*writing).publish()) == Status::invalid_argument);
    CHECK(status(std::move(*writing).publish_pinned()) == Status::invalid_argument);
    writing->keep(place, 100); // of nothing: no harm
    moved_writing.values(place)[0] = 1;
    auto const published = std::move(moved_writing).publish();
    REQUIRE(published);
    CHECK(status(std::move(moved_writing).publish()) == Status::invalid_argument);
    CHECK((*published)[place].values<float>().value()[0] == 1.0f);
}

TEST_CASE("a place of another draft, arena or kind is refused", "[arena][places]") {
    Arena<Ram> arena, other;
    auto refused = arena.begin();
    auto const of_refused = refused->place<float>(1, 4);
    auto const ragged_of_refused = refused->place_ragged<float>(1, 1, 4);
    { auto const drop = std::move(*refused); }
    auto elsewhere = other.begin();
    auto const of_other = elsewhere->place<float>(1, 4);

    auto draft = arena.begin();
    auto const place = draft->place<float>(2, 4);
    auto const ragged = draft->place_ragged<float>(1, 2, 4);
    auto writing = std::move(*draft).commit();
    Place<float> const none;
    for (auto const &wrong : {of_refused, of_other, none}) {
        CHECK(writing->data(wrong) == nullptr);
        CHECK(writing->values(wrong).empty());
    }
    // A plain place is no ragged one, nor the other way round, whatever their numbers say.
    CHECK(writing->data(Place<float>{ragged.arena, ragged.draft, ragged.index}) == nullptr);
    CHECK(writing->data(RaggedPlace<float>{place.arena, place.draft, place.index}) == nullptr);
    CHECK(writing->offsets(RaggedPlace<float>{place.arena, place.draft, place.index}).empty());
    CHECK(writing->data(Place<float>{place.arena, place.draft, 2}) == nullptr);
    // Nor one of another arena whose count of drafts happens to be the same.
    CHECK(writing->data(Place<float>{of_other.arena, place.draft, place.index}) == nullptr);
    CHECK(writing->offsets(RaggedPlace<float>{of_other.arena, ragged.draft, ragged.index}).empty());
    CHECK(writing->data(ragged_of_refused) == nullptr);
    CHECK(writing->values(ragged_of_refused).empty());
    CHECK(writing->offsets(ragged_of_refused).empty());
    std::ranges::fill(writing->values(place), 1.0f);
    std::ranges::fill(writing->offsets(ragged), 0u);
    auto const published = std::move(*writing).publish().value();
    for (auto const &wrong : {of_refused, of_other, none}) {
        CHECK_FALSE(published[wrong].is_current());
        CHECK(status(published[wrong].values<float>()) == Status::invalid_argument);
    }
    CHECK_FALSE(published[ragged_of_refused].is_current());
    CHECK_FALSE(published[RaggedPlace<float>()].is_current());
    CHECK_FALSE(uform::Published<Ram>()[none].is_current());
    CHECK(published[place].is_current());
    // Of an arena whose count of drafts happens to be the same.
    CHECK_FALSE(published[Place<float>{of_other.arena, place.draft, place.index}].is_current());
    CHECK_FALSE(published[RaggedPlace<float>{of_other.arena, ragged.draft, ragged.index}].is_current());

    // Of an earlier call that was published.
    auto next = arena.begin();
    auto const next_place = next->place<float>(1, 4);
    CHECK(published[place].is_current());
    auto next_writing = std::move(*next).commit();
    CHECK(next_writing->data(place) == nullptr);
    CHECK(next_writing->data(next_place) != nullptr);
    CHECK(text(published[place].values<float>()).starts_with("the view is stale"));
    CHECK(text(published[of_other].values<float>()).starts_with("the view is empty"));
    next_writing->keep(place, 1); // a fault that publish answers
    CHECK(status(std::move(*next_writing).publish()) == Status::invalid_argument);
}

TEST_CASE("a place that a draft never gave is refused, also where an earlier one had as many", "[arena][places]") {
    Arena<Ram> arena;
    for (int outputs : {4, 4, 4, 2}) { // two tables take turns
        auto draft = arena.begin();
        Place<float> last;
        for (int i = 0; i != outputs; ++i) last = draft->place<float>(1, 4);
        auto writing = std::move(*draft).commit();
        CHECK(writing->data(last) != nullptr);
        CHECK(writing->data(Place<float>{last.arena, last.draft, last.index + 1}) == nullptr);
        auto const published = std::move(*writing).publish().value();
        CHECK(published[last].is_current());
        CHECK_FALSE(published[Place<float>{last.arena, last.draft, last.index + 1}].is_current());
    }
}

TEST_CASE("keep publishes fewer rows, and never more", "[arena][places]") {
    Arena<Ram> arena;
    auto const keeps = [&](std::vector<std::size_t> const &counts) -> Result<Rows<Ram>> {
        auto draft = arena.begin();
        auto const place = draft->place<float>(4, 2);
        auto writing = std::move(*draft).commit();
        auto const all = writing->values(place);
        std::iota(all.begin(), all.end(), 0.0f);
        for (auto count : counts) writing->keep(place, count);
        auto published = std::move(*writing).publish();
        if (!published) return published.error();
        return (*published)[place];
    };
    CHECK(keeps({3}).value().rows() == 3);
    CHECK(keeps({3}).value().values<float>().value().size() == 6);
    CHECK(keeps({3}).value().values<float>().value()[5] == 5.0f);
    CHECK(keeps({4}).value().rows() == 4);
    CHECK(keeps({0}).value().rows() == 0);
    CHECK(keeps({3, 2}).value().rows() == 2);
    CHECK(status(keeps({5})) == Status::invalid_argument);
    CHECK(text(keeps({5})) == "can't keep 5 rows of a place of 4");
    CHECK(status(keeps({SIZE_MAX})) == Status::invalid_argument);
    CHECK(status(keeps({5, 1})) == Status::invalid_argument); // the first fault stands
    CHECK(text(keeps({5, 6})) == "can't keep 5 rows of a place of 4");
    CHECK(keeps({1}).value().rows() == 1); // and is forgotten by the next call
}

TEST_CASE("offsets that fall, pass the place or don't start at 0 fail the call", "[arena][places]") {
    Arena<Ram> arena;
    auto const before = publish_offsets(arena, 4, {0, 4}).value();
    for (auto const &wrong : std::vector<std::vector<std::uint32_t>>{{0, 3, 2},
                                                                     {0, 3, 2, 4},
                                                                     {1, 2},
                                                                     {0, 5},
                                                                     {0, 1, 5},
                                                                     {4, 4},
                                                                     {1},
                                                                     {0, 4'000'000'000u},
                                                                     {0, 4'000'000'000u, 4}}) {
        auto const refused = publish_offsets(arena, 4, wrong);
        CHECK(status(refused) == Status::invalid_argument);
        CHECK_FALSE(before.is_current());
    }
    CHECK(publish_offsets(arena, 4, {0, 4, 4}).value().size() == 2);
    CHECK(publish_offsets(arena, 4, {0}).value().size() == 0);
}

TEST_CASE("shapes that can't be are statuses of commit", "[arena][places]") {
    Arena<Ram> arena;
    std::size_t const most = UINT32_MAX;
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(1, most); }) == Status::invalid_argument);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(0, most + 1); }) == Status::invalid_argument);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(1, SIZE_MAX); }) == Status::invalid_argument);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<std::uint64_t>(0, most / 8 + 1); }) ==
          Status::invalid_argument);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<std::uint8_t>(0, most); }) == Status::success);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<B1x8>(0, most); }) == Status::success);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<B1x8>(0, most + 1); }) == Status::invalid_argument);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place_ragged<float>(1, most + 1, 0); }) ==
          Status::invalid_argument);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place_ragged<float>(most + 1, 1, 1); }) ==
          Status::invalid_argument);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place_ragged<float>(SIZE_MAX, 1, 1); }) ==
          Status::invalid_argument);
    // Products that wrap to almost nothing.
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(std::size_t{1} << 62, 1); }) ==
          Status::out_of_memory);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>((std::size_t{1} << 62) + 1, 1); }) ==
          Status::out_of_memory);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(std::size_t{1} << 33, std::size_t{1} << 29); }) ==
          Status::out_of_memory);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(SIZE_MAX, 1); }) == Status::out_of_memory);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(SIZE_MAX / 4, 1); }) == Status::out_of_memory);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(SIZE_MAX / 8, 1); }) == Status::out_of_memory);
    CHECK(commits(arena, [&](auto &d) {
              for (int i = 0; i != 4; ++i) (void)d.template place<std::uint8_t>(SIZE_MAX / 4, 1); // the sum wraps
          }) == Status::out_of_memory);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(std::size_t{1} << 45, 1); }) ==
          Status::out_of_memory);
    // The first fault is the one that is told, and the places after it are none.
    auto draft = arena.begin();
    (void)draft->place<float>(1, SIZE_MAX);
    (void)draft->place<float>(SIZE_MAX, 1);
    CHECK(draft->place<float>(1, SIZE_MAX).arena == nullptr);
    (void)draft->place<float>(SIZE_MAX, 1);
    CHECK(status(std::move(*draft).commit()) == Status::invalid_argument);
    CHECK(arena.capacity() == 0);
    CHECK(commits(arena, [&](auto &d) { (void)d.template place<float>(1, 1); }) == Status::success);
}
