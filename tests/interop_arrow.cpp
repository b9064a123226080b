/// Rows go through Arrow's C data interface as the same bytes, with their pin, and come back by its release callbacks.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "interop_fixture.hpp"
#include "uform/interop/arrow.hpp"

using uform::Arena, uform::Pinned, uform::RaggedRows, uform::Ram, uform::Rows, uform::Scalar, uform::Status,
    uform::to_arrow;

// Every library that reads the structures finds the members at these places.
static_assert(sizeof(ArrowSchema) == 72 && offsetof(ArrowSchema, format) == 0 && offsetof(ArrowSchema, name) == 8);
static_assert(offsetof(ArrowSchema, metadata) == 16 && offsetof(ArrowSchema, flags) == 24);
static_assert(offsetof(ArrowSchema, n_children) == 32 && offsetof(ArrowSchema, children) == 40);
static_assert(offsetof(ArrowSchema, dictionary) == 48 && offsetof(ArrowSchema, release) == 56);
static_assert(offsetof(ArrowSchema, private_data) == 64);
static_assert(sizeof(ArrowArray) == 80 && offsetof(ArrowArray, length) == 0 && offsetof(ArrowArray, null_count) == 8);
static_assert(offsetof(ArrowArray, offset) == 16 && offsetof(ArrowArray, n_buffers) == 24);
static_assert(offsetof(ArrowArray, n_children) == 32 && offsetof(ArrowArray, buffers) == 40);
static_assert(offsetof(ArrowArray, children) == 48 && offsetof(ArrowArray, dictionary) == 56);
static_assert(offsetof(ArrowArray, release) == 64 && offsetof(ArrowArray, private_data) == 72);

namespace {

/// Whether arrays can be made of such an argument: a guard that is kept isn't one, nor what the host can't read.
template <class Argument> concept Exports = requires(Argument argument, ArrowSchema schema, ArrowArray array) {
    to_arrow(static_cast<Argument>(argument), schema, array);
};
static_assert(Exports<Pinned<Rows<Ram>> &&> && !Exports<Pinned<Rows<Ram>> &> && !Exports<Rows<Ram>>);
static_assert(Exports<Pinned<RaggedRows<Ram>> &&> && !Exports<Pinned<RaggedRows<Ram>> &>);
static_assert(!Exports<Pinned<Rows<MadeOnDevice>> &&> && !Exports<Pinned<RaggedRows<MadeOnDevice>> &&>);

/// A consumer's pair of structures, released as the interface asks: once each, unless they were released before.
struct Imported {
    ArrowSchema schema;
    ArrowArray array;

    template <class View> explicit Imported(View const &view) {
        std::memset(static_cast<void *>(&schema), 0xa5, sizeof schema); // a producer may find anything there
        std::memset(static_cast<void *>(&array), 0xa5, sizeof array);
        to_arrow(view.pin().value(), schema, array).value();
    }
    Imported(Imported const &) = delete;
    Imported &operator=(Imported const &) = delete;
    ~Imported() {
        if (array.release) array.release(&array);
        if (schema.release) schema.release(&schema);
    }
};

/// The type in words, checked on the way down.
std::string type_of(ArrowSchema const &schema, std::string_view name = "") {
    CHECK(schema.name == name);
    CHECK(schema.metadata == nullptr);
    CHECK(schema.flags == 2); // ARROW_FLAG_NULLABLE
    CHECK(schema.dictionary == nullptr);
    CHECK(schema.release != nullptr);
    std::string const format = schema.format;
    if (schema.n_children == 0) return format;
    CHECK(schema.n_children == 1);
    return format + "<" + type_of(*schema.children[0], "item") + ">";
}

/// What holds for every array of every export.
void check_plain(ArrowArray const &array, std::int64_t length, std::int64_t buffers, std::int64_t children) {
    CHECK(array.length == length);
    CHECK(array.null_count == 0);
    CHECK(array.offset == 0);
    CHECK(array.n_buffers == buffers);
    CHECK(array.n_children == children);
    CHECK(array.dictionary == nullptr);
    CHECK(array.release != nullptr);
    CHECK(array.buffers[0] == nullptr); // validity: all are
}

/// As a consumer moves a structure: the bytes go, and the source counts as released.
template <class Node> Node moved(Node &from) {
    Node to;
    std::memcpy(&to, &from, sizeof to);
    from.release = nullptr;
    return to;
}

template <class T> void check_scalar(std::string const &format, std::size_t bytes) {
    Arena<Ram> arena;
    auto const rows = publish_rows<T>(arena, 3, 5).value();
    Imported const seen(rows);
    CHECK(type_of(seen.schema) == "+w:5<" + format + ">");
    check_plain(seen.array, 3, 1, 1);
    check_plain(*seen.array.children[0], 15, 2, 0);
    CHECK(seen.array.children[0]->buffers[1] == rows.data());
    CHECK(holds_bytes(seen.array.children[0]->buffers[1], 15 * bytes));
}

/// What an export is refused with. The structures must be left as they were.
template <class View> std::optional<uform::Error> refusal(View const &view) {
    ArrowSchema schema;
    ArrowArray array;
    std::memset(static_cast<void *>(&schema), 0xa5, sizeof schema);
    std::memset(static_cast<void *>(&array), 0xa5, sizeof array);
    auto const schema_before = schema;
    auto const array_before = array;
    auto const done = to_arrow(view.pin().value(), schema, array);
    if (done) {
        array.release(&array), schema.release(&schema);
        return std::nullopt;
    }
    CHECK(std::memcmp(&schema, &schema_before, sizeof schema) == 0);
    CHECK(std::memcmp(&array, &array_before, sizeof array) == 0);
    return done.error();
}
bool says(std::optional<uform::Error> const &error, Status status, std::string_view words) {
    return error && error->status() == status && error->message().find(words) != std::string_view::npos;
}

} // namespace

TEST_CASE("arrow: rows are a fixed-size list of each scalar that Arrow has, over the same bytes") {
    check_scalar<float>("f", 4);
    check_scalar<uform::F16>("e", 2);
    check_scalar<std::int8_t>("c", 1);
    check_scalar<std::uint8_t>("C", 1);
    check_scalar<std::uint32_t>("I", 4);
    check_scalar<std::uint64_t>("L", 8);
}

TEST_CASE("arrow: bits are a row's bytes") {
    Arena<Ram> arena;
    auto const rows = publish_rows<uform::B1x8>(arena, 3, 12).value();
    Imported const seen(rows);
    CHECK(type_of(seen.schema) == "w:2");
    check_plain(seen.array, 3, 2, 0);
    CHECK(seen.array.buffers[1] == rows.data());
    CHECK(holds_bytes(seen.array.buffers[1], 3 * 2));

    Arena<Ram> other;
    auto const texts = publish_texts<uform::B1x8>(other, {1, 2}, 12).value();
    Imported const ragged(texts);
    CHECK(type_of(ragged.schema) == "+l<w:2>");
    check_plain(ragged.array, 2, 2, 1);
    check_plain(*ragged.array.children[0], 3, 2, 0);
}

TEST_CASE("arrow: one column is a list of one") {
    Arena<Ram> arena;
    auto const rows = publish_rows<std::uint32_t>(arena, 4, 1).value();
    Imported const seen(rows);
    CHECK(type_of(seen.schema) == "+w:1<I>");
    check_plain(seen.array, 4, 1, 1);
    check_plain(*seen.array.children[0], 4, 2, 0);
}

TEST_CASE("arrow: the rows of texts are lists, with the offsets as they are") {
    Arena<Ram> arena;
    auto const texts = publish_texts<float>(arena, {2, 0, 3}, 5).value();
    Imported const seen(texts);
    CHECK(type_of(seen.schema) == "+l<+w:5<f>>");
    check_plain(seen.array, 3, 2, 1);
    CHECK(seen.array.buffers[1] == texts.offsets().value().data());
    std::int32_t offsets[4];
    std::memcpy(offsets, seen.array.buffers[1], sizeof offsets);
    CHECK(std::vector<std::int32_t>(offsets, offsets + 4) == std::vector<std::int32_t>{0, 2, 2, 5});
    auto const &rows = *seen.array.children[0];
    check_plain(rows, 5, 1, 1);
    auto const &values = *rows.children[0];
    check_plain(values, 25, 2, 0);
    CHECK(values.buffers[1] == texts.flat().data());
    CHECK(holds_bytes(values.buffers[1], 25 * 4));
}

TEST_CASE("arrow: no rows, no columns and no texts are exported with their lengths") {
    for (auto const &[count, columns] : {std::pair(0, 7), std::pair(3, 0), std::pair(0, 0)}) {
        Arena<Ram> arena;
        Imported const seen(publish_rows<float>(arena, std::size_t(count), std::size_t(columns)).value());
        CHECK(type_of(seen.schema) == "+w:" + std::to_string(columns) + "<f>");
        check_plain(seen.array, count, 1, 1);
        check_plain(*seen.array.children[0], 0, 2, 0);
        CHECK(is_held(arena));
    }
    Arena<Ram> arena;
    Imported const seen(publish_texts<float>(arena, {}, 7).value());
    check_plain(seen.array, 0, 2, 1);
    REQUIRE(seen.array.buffers[1]);
    std::int32_t first;
    std::memcpy(&first, seen.array.buffers[1], sizeof first);
    CHECK(first == 0);
    check_plain(*seen.array.children[0], 0, 1, 1);
}

TEST_CASE("arrow: a call is refused until the array is released, and served afterwards") {
    Arena<Ram> arena;
    long const before = blocks_alive;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    {
        Imported seen(rows);
        CHECK(is_held(arena));
        seen.schema.release(&seen.schema); // the type is apart
        CHECK(seen.schema.release == nullptr);
        CHECK(is_held(arena));
        CHECK(holds_bytes(seen.array.children[0]->buffers[1], 3 * 7 * 4));
        seen.array.release(&seen.array);
        CHECK(seen.array.release == nullptr); // so that a consumer that asks first releases once
        CHECK(is_free(arena));
        CHECK(rows.is_current());
        CHECK(publish_rows<float>(arena, 1, 1).has_value());
    }
    CHECK(blocks_alive == before);
}

TEST_CASE("arrow: structures that were moved are released where they are") {
    Arena<Ram> arena;
    auto const texts = publish_texts<float>(arena, {2, 0, 3}, 5).value();
    long const before = blocks_alive;
    {
        Imported seen(texts);
        auto array = moved(seen.array);
        auto schema = moved(seen.schema);
        CHECK(type_of(schema) == "+l<+w:5<f>>");
        CHECK(holds_bytes(array.children[0]->children[0]->buffers[1], 25 * 4));
        schema.release(&schema), array.release(&array);
    }
    CHECK(blocks_alive == before);
    CHECK(is_free(arena));
}

TEST_CASE("arrow: a child that was moved out outlives its parent, with its own children and the pin") {
    Arena<Ram> arena;
    auto const texts = publish_texts<float>(arena, {2, 0, 3}, 5).value();
    long const before = blocks_alive;
    {
        Imported seen(texts);
        auto rows = moved(*seen.array.children[0]);
        auto type = moved(*seen.schema.children[0]);
        seen.array.release(&seen.array), seen.schema.release(&seen.schema);
        CHECK(is_held(arena));
        CHECK(type_of(type, "item") == "+w:5<f>");
        check_plain(rows, 5, 1, 1);

        auto values = moved(*rows.children[0]);
        auto scalar = moved(*type.children[0]);
        rows.release(&rows), type.release(&type);
        CHECK(is_held(arena));
        CHECK(type_of(scalar, "item") == "f");
        check_plain(values, 25, 2, 0);
        CHECK(holds_bytes(values.buffers[1], 25 * 4));
        values.release(&values), scalar.release(&scalar);
        CHECK(values.release == nullptr);
        CHECK(scalar.release == nullptr);
    }
    CHECK(blocks_alive == before);
    CHECK(is_free(arena));
}

TEST_CASE("arrow: the innermost child may be moved out alone") {
    Arena<Ram> arena;
    auto const texts = publish_texts<float>(arena, {2, 0, 3}, 5).value();
    long const before = blocks_alive;
    {
        Imported seen(texts);
        auto values = moved(*seen.array.children[0]->children[0]);
        seen.array.release(&seen.array);
        CHECK(is_held(arena));
        CHECK(holds_bytes(values.buffers[1], 25 * 4));
        values.release(&values);
        CHECK(is_free(arena));
    }
    CHECK(blocks_alive == before);
}

TEST_CASE("arrow: the bytes outlive their arena, until they are released, on any thread") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const texts = publish_texts<float>(*arena, {200, 0, 300}, 50).value();
    Imported seen(texts);
    auto rows = moved(*seen.array.children[0]);
    arena.reset();
    CHECK_FALSE(texts.is_current());
    Arena<Ram> next;
    REQUIRE(publish_rows<std::uint8_t>(next, 1000, 100).has_value());
    std::thread([&] { seen.array.release(&seen.array); }).join();
    CHECK(holds_bytes(rows.children[0]->buffers[1], 500 * 50 * 4));
    std::thread([&] { rows.release(&rows); }).join();
    CHECK(rows.release == nullptr);
}

TEST_CASE("arrow: a parent and a child that was moved out are released at once by two threads") {
    Arena<Ram> arena;
    for (int i = 0; i != 200; ++i) {
        auto const rows = publish_rows<float>(arena, 3, 7).value();
        Imported seen(rows);
        auto values = moved(*seen.array.children[0]);
        auto scalar = moved(*seen.schema.children[0]);
        std::thread other([&] { values.release(&values), scalar.release(&scalar); });
        seen.array.release(&seen.array), seen.schema.release(&seen.schema);
        other.join();
        REQUIRE(is_free(arena));
    }
}

TEST_CASE("arrow: a guard of a freed arena is refused as stale") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const texts = publish_texts<float>(*arena, {2}, 5).value();
    auto pinned_texts = texts.pin().value();
    auto pinned_rows = texts.flat().pin().value();
    arena.reset();
    ArrowSchema schema{};
    ArrowArray array{};
    for (auto const &done :
         {to_arrow(std::move(pinned_texts), schema, array), to_arrow(std::move(pinned_rows), schema, array)}) {
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().status() == Status::invalid_argument);
        CHECK(done.error().message().find("stale") != std::string_view::npos);
    }
    CHECK(array.release == nullptr);
}

TEST_CASE("arrow: a guard that was moved from still gives an array with a pin, or none") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    auto pinned = rows.pin().value();
    ArrowSchema schemas[2];
    ArrowArray arrays[2];
    to_arrow(std::move(pinned), schemas[0], arrays[0]).value();
    to_arrow(std::move(pinned), schemas[1], arrays[1]).value(); // NOLINT(bugprone-use-after-move): what is tested
    for (int i = 0; i != 2; ++i) {
        CHECK(is_held(arena));
        schemas[i].release(&schemas[i]), arrays[i].release(&arrays[i]);
    }
    CHECK(is_free(arena));
    REQUIRE(publish_rows<float>(arena, 1, 1).has_value());
    CHECK_FALSE(to_arrow(std::move(pinned), schemas[0], arrays[0]).has_value());
}

TEST_CASE("arrow: what Arrow can't say is refused by name, and nothing is filled") {
    Arena<Ram> arena;
    CHECK(says(refusal(publish_rows<uform::BF16>(arena, 2, 3).value()), Status::unsupported, "bf16"));
    CHECK(says(refusal(publish_texts<uform::BF16>(arena, {2}, 3).value()), Status::unsupported, "bf16"));
    MadeArena<MadeOnHost> const made;
    CHECK(says(refusal(made.rows({nullptr, 1, 1, 1, uform::no_scalar})), Status::unsupported, "unknown"));
    std::vector<float> const memory(4 * 6, 1.0f);
    CHECK(says(refusal(made.rows({memory.data(), 4, 3, 24, Scalar::f32})), Status::unsupported, "24"));
    CHECK(says(refusal(made.texts({memory.data(), 4, 3, 24, Scalar::f32}, {0, 4})), Status::unsupported, "24"));
    CHECK_FALSE(refusal(made.rows({memory.data(), 4, 6, 24, Scalar::f32})));
}

TEST_CASE("arrow: counts end where Arrow's do") {
    Arena<Ram> arena;
    std::size_t const most = INT32_MAX;
    CHECK_FALSE(refusal(publish_rows<std::uint8_t>(arena, 0, most).value()));
    CHECK(says(refusal(publish_rows<std::uint8_t>(arena, 0, most + 1).value()), Status::unsupported, "2147483648"));
    CHECK_FALSE(refusal(publish_rows<uform::B1x8>(arena, 0, most + 1).value())); // of fewer bytes
    Imported const widest(publish_rows<std::uint8_t>(arena, 0, most).value());
    CHECK(type_of(widest.schema) == "+w:2147483647<C>");

    Arena<Ram> other;
    CHECK_FALSE(refusal(publish_texts<float>(other, {2147483647u}, 0).value()));
    CHECK(says(refusal(publish_texts<float>(other, {2147483647u, 1u}, 0).value()), Status::unsupported, "2147483648"));

    std::size_t const rows = INT64_MAX;
    CHECK_FALSE(refusal(publish_rows<float>(other, rows, 0).value()));
    CHECK(says(refusal(publish_rows<float>(other, rows + 1, 0).value()), Status::unsupported, "9223372036854775808"));
}

TEST_CASE("arrow: without memory it answers out_of_memory, leaks nothing, and the guard still holds the rows") {
    Arena<Ram> arena;
    auto const texts = publish_texts<float>(arena, {2, 3}, 5).value();
    auto pinned = texts.pin().value();
    long const before = blocks_alive;
    for (long blocks = 0; blocks != 2; ++blocks) {
        ArrowSchema schema{};
        ArrowArray array{};
        blocks_left = blocks;
        auto const done = to_arrow(std::move(pinned), schema, array);
        blocks_left = -1;
        REQUIRE_FALSE(done.has_value());
        CHECK(done.error().status() == Status::out_of_memory);
        CHECK(schema.release == nullptr);
        CHECK(array.release == nullptr);
        CHECK(is_held(arena));
        CHECK(blocks_alive == before);
    }
    ArrowSchema schema;
    ArrowArray array;
    blocks_left = 2; // two blocks are all that it takes
    auto const done = to_arrow(std::move(pinned), schema, array);
    blocks_left = -1;
    REQUIRE(done.has_value());
    array.release(&array), schema.release(&schema);
    CHECK(blocks_alive == before);
    CHECK(is_free(arena));
}
