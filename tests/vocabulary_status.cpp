/// Status, Error and Result: texts, sharing, and the interface of std::expected.
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "uform/status.hpp"

using uform::Error, uform::Result, uform::Status;

namespace {

/// A type without a default constructor and without copies.
struct Only {
    int number;
    explicit Only(int n) : number(n) {}
    Only(Only &&other) noexcept : number(std::exchange(other.number, -1)) {}
    Only &operator=(Only &&other) noexcept {
        number = std::exchange(other.number, -1);
        return *this;
    }
    ~Only() { number = -2; }
};

/// Counts its living instances, and throws from its move where told to.
struct Fragile {
    static inline int alive = 0;
    bool throws = false;
    explicit Fragile(bool t = false) : throws(t) { ++alive; }
    Fragile(Fragile const &other) : throws(other.throws) { ++alive; }
    Fragile(Fragile &&other) noexcept(false) : throws(other.throws) {
        if (throws) throw std::runtime_error("moved");
        ++alive;
    }
    Fragile &operator=(Fragile const &) = default;
    ~Fragile() { --alive; }
};

/// Owns values; its view borrows from it, so a chain that answers references would dangle.
struct Owner {
    std::vector<float> values;
    [[nodiscard]] Result<std::vector<float>> copy() const { return values; }
};
Result<Owner> make_owner() { return Owner{std::vector<float>(1000, 1.5f)}; }

Result<int> half_of(int n) {
    if (n % 2) return Error::of(Status::unsupported, n, " is odd");
    return n / 2;
}

template <class T> concept HasArrow = requires(T value) { value.operator->(); };
template <class T> concept ConvertsToBool = std::is_convertible_v<T, bool>;

} // namespace

TEST_CASE("the numbers and names of a status are those of the C ABI", "[vocabulary]") {
    std::pair<Status, std::string_view> const all[] = {
        {Status::success, "success"},
        {Status::invalid_argument, "invalid_argument"},
        {Status::device, "device"},
        {Status::contended, "contended"},
        {Status::out_of_memory, "out_of_memory"},
        {Status::unsupported, "unsupported"},
        {Status::corrupt, "corrupt"},
        {Status::io, "io"},
        {Status::cancelled, "cancelled"},
    };
    int number = 0;
    for (auto const &[status, name] : all) {
        CHECK(static_cast<int>(status) == number++);
        CHECK(uform::status_name(status) == name);
        std::ostringstream stream;
        stream << status << '.';
        CHECK(stream.str() == std::string(name) + '.');
    }
    CHECK(uform::status_name(static_cast<Status>(9)) == "unknown");
    CHECK(uform::status_name(static_cast<Status>(-1)) == "unknown");
}

TEST_CASE("an error has a status and a text that ends with a zero", "[vocabulary]") {
    std::string text = "model.safetensors: too short";
    Error const error(Status::corrupt, text);
    text.assign(text.size(), '?');
    CHECK(error.status() == Status::corrupt);
    CHECK(error.message() == "model.safetensors: too short");
    CHECK(std::string(error.what()) == error.message());

    CHECK(Error(Status::io, "").message().empty());
    CHECK(Error(Status::io, std::string_view()).what() == std::string());
    std::string const with_zero("a\0b", 3);
    CHECK(Error(Status::io, with_zero).message() == with_zero);
    CHECK(std::string(Error(Status::io, with_zero).what()) == "a");
    std::string_view const part = std::string_view("abcdef").substr(1, 3);
    CHECK(std::string(Error(Status::io, part).what()) == "bcd");
}

TEST_CASE("copies of an error share its text, and outlive it", "[vocabulary]") {
    auto first = std::make_unique<Error>(Status::io, "shared");
    Error copy(*first);
    CHECK(copy.what() == first->what());
    Error assigned(Status::device, "other");
    assigned = copy;
    auto &same = assigned;
    assigned = same;
    Error moved(std::move(*first));
    first.reset();
    CHECK(copy.message() == "shared");
    CHECK(assigned.message() == "shared");
    CHECK(assigned.status() == Status::io);
    CHECK(moved.message() == "shared");
    copy = Error(Status::cancelled, "the copy is another now");
    CHECK(assigned.message() == "shared");
    CHECK(copy.status() == Status::cancelled);
    Error alone(Status::corrupt, "nobody shares it");
    auto &itself = alone;
    alone = itself;
    CHECK(alone.message() == "nobody shares it");
    CHECK(alone.status() == Status::corrupt);
    STATIC_REQUIRE(std::is_nothrow_copy_constructible_v<Error>);
    STATIC_REQUIRE(std::is_nothrow_copy_assignable_v<Error>);
}

TEST_CASE("an error whose text can't be had has a fixed one, and its status", "[vocabulary]") {
    // A size that no allocator grants; the bytes are never read, as the allocation comes first.
    std::size_t const volatile size = static_cast<std::size_t>(PTRDIFF_MAX) - 64; // hidden, as compilers warn of it
    std::string_view const endless("x", size);
    Error const error(Status::corrupt, endless);
    CHECK(error.status() == Status::corrupt);
    CHECK(error.message() == "no memory was left for the message");
    Error const copy(error);
    CHECK(copy.message() == "no memory was left for the message");
    CHECK(std::string(copy.what()) == copy.message());
    CHECK(Error::of(Status::io, endless, endless, endless).message() == "no memory was left for the message");
}

TEST_CASE("a fixed error points at its literal", "[vocabulary]") {
    static char const literal[] = "the arena serves another call";
    Error const error = Error::fixed(Status::contended, literal);
    CHECK(error.what() == literal);
    CHECK(Error(error).what() == literal);
    CHECK(error.message().size() == sizeof literal - 1);
    CHECK(error.status() == Status::contended);
}

TEST_CASE("an error is made of parts: text and integers of every kind", "[vocabulary]") {
    std::string const path = "a.json";
    CHECK(Error::of(Status::io, path, ": ", 17, " bytes").message() == "a.json: 17 bytes");
    CHECK(Error::of(Status::io, "one").message() == "one");
    CHECK(Error::of(Status::io, "", "").message().empty());
    CHECK(Error::of(Status::io, std::string_view("v"), std::string("s"), "l").message() == "vsl");
    CHECK(Error::of(Status::device, 1).status() == Status::device);

    auto const text = [](auto number) { return std::string(Error::of(Status::io, "<", number, ">").message()); };
    auto const both_ends = [&](auto zero) {
        using Integer = decltype(zero);
        using Limits = std::numeric_limits<Integer>;
        CHECK(text(zero) == "<0>");
        CHECK(text(Limits::min()) == std::string("<").append(std::to_string(Limits::min())).append(">"));
        CHECK(text(Limits::max()) == std::string("<").append(std::to_string(Limits::max())).append(">"));
        CHECK(text(static_cast<Integer>(10)) == "<10>");
        if constexpr (std::is_signed_v<Integer>) CHECK(text(static_cast<Integer>(-7)) == "<-7>");
    };
    both_ends(static_cast<signed char>(0)), both_ends(static_cast<unsigned char>(0));
    both_ends(static_cast<short>(0)), both_ends(static_cast<unsigned short>(0));
    both_ends(0), both_ends(0u), both_ends(0l), both_ends(0ul), both_ends(0ll), both_ends(0ull);
    CHECK(text(std::numeric_limits<std::int64_t>::min()) == "<-9223372036854775808>");
    CHECK(text(std::numeric_limits<std::uint64_t>::max()) == "<18446744073709551615>");
    CHECK(text(true) == "<1>");
}

TEST_CASE("an error is caught as std::exception", "[vocabulary]") {
    try {
        throw Error(Status::io, "thrown");
    } catch (std::exception const &caught) {
        CHECK(std::string(caught.what()) == "thrown");
    }
}

TEST_CASE("a result holds a value or an error", "[vocabulary]") {
    Result<int> good = 4;
    CHECK(good);
    CHECK(good.has_value());
    CHECK(*good == 4);
    CHECK(good.value() == 4);
    *good = 5;
    CHECK(std::as_const(good).value() == 5);
    CHECK(*std::as_const(good) == 5);
    CHECK(std::move(good).value() == 5);

    Result<int> bad = Error(Status::unsupported, "no");
    CHECK_FALSE(bad);
    CHECK_FALSE(bad.has_value());
    CHECK(bad.error().status() == Status::unsupported);
    CHECK(std::move(bad).error().message() == "no");

    Result<std::string> text = std::string("abc");
    CHECK(text->size() == 3);
    CHECK(std::as_const(text)->size() == 3);
    STATIC_REQUIRE_FALSE(ConvertsToBool<Result<int>>);
    STATIC_REQUIRE_FALSE(HasArrow<Result<void>>);
    STATIC_REQUIRE_FALSE(std::is_default_constructible_v<Result<int>>);
    STATIC_REQUIRE(std::is_same_v<Result<int>::value_type, int>);
    STATIC_REQUIRE(std::is_same_v<Result<int>::error_type, Error>);
    STATIC_REQUIRE(std::is_same_v<decltype(std::declval<Result<int> &>().value()), int &>);
    STATIC_REQUIRE(std::is_same_v<decltype(std::declval<Result<int> const &>().value()), int const &>);
    STATIC_REQUIRE(std::is_same_v<decltype(std::declval<Result<int>>().value()), int>);
    STATIC_REQUIRE(std::is_same_v<decltype(*std::declval<Result<int>>()), int>);
    STATIC_REQUIRE(std::is_same_v<decltype(std::declval<Result<int>>().error()), Error>);
    STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Result<int>>);
}

TEST_CASE("value() throws the error that a result holds", "[vocabulary]") {
    auto const thrown = [](auto &&call) {
        try {
            call();
        } catch (Error const &error) {
            return std::string(error.message()) + '/' + std::string(uform::status_name(error.status()));
        }
        return std::string("nothing");
    };
    Result<int> bad = Error(Status::io, "file");
    Result<void> nothing = Error(Status::device, "gpu");
    CHECK(thrown([&] { (void)bad.value(); }) == "file/io");
    CHECK(thrown([&] { (void)std::as_const(bad).value(); }) == "file/io");
    CHECK(thrown([&] { (void)std::move(bad).value(); }) == "file/io");
    CHECK(thrown([&] { nothing.value(); }) == "gpu/device");
    CHECK(thrown([&] { std::move(nothing).value(); }) == "gpu/device");
    CHECK(thrown([] { Result<void>().value(); }) == "nothing");
}

TEST_CASE("a result of a move-only value moves", "[vocabulary]") {
    Result<Only> one = Only(7);
    Result<Only> two = std::move(one);
    CHECK(two->number == 7);
    CHECK(one->number == -1);
    Only taken = *std::move(two);
    CHECK(taken.number == 7);
    Result<Only> three = Error(Status::io, "e");
    three = Only(8);
    CHECK(three->number == 8);
    three = Result<Only>(Error(Status::corrupt, "f"));
    CHECK(three.error().message() == "f");
    three = Result<Only>(Error(Status::corrupt, "g"));
    CHECK(three.error().message() == "g");
    three = Only(9);
    auto &same = three;
    three = std::move(same);
    CHECK(three->number == 9);
    CHECK(std::move(three).value().number == 9);
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Result<Only>>);
    STATIC_REQUIRE_FALSE(std::is_copy_assignable_v<Result<Only>>);
    CHECK(Result<std::unique_ptr<int>>(std::make_unique<int>(3)).value_or(nullptr) != nullptr);
}

TEST_CASE("results copy, and assign over one another", "[vocabulary]") {
    Result<std::string> a = std::string(100, 'a'), b = Error(Status::io, "b");
    Result<std::string> copy = a;
    CHECK(*copy == *a);
    copy = b;
    CHECK(copy.error().message() == "b");
    copy = a;
    CHECK(*copy == std::string(100, 'a'));
    auto &same = copy;
    copy = same;
    CHECK(*copy == std::string(100, 'a'));
    b = copy;
    CHECK(b->size() == 100);
}

TEST_CASE("an assignment whose move throws leaves a result that can be read and destroyed", "[vocabulary]") {
    {
        Result<Fragile> good = Fragile(), bad = Error(Status::io, "e");
        good->throws = false;
        for (auto *target : {&good, &bad}) {
            Result<Fragile> source = Fragile();
            source->throws = true;
            CHECK_THROWS_AS(*target = std::move(source), std::runtime_error);
            CHECK_FALSE(target->has_value());
            CHECK(target->error().status() == Status::invalid_argument);
        }
        bad = Result<Fragile>(Fragile());
        CHECK(bad.has_value());
    }
    CHECK(Fragile::alive == 0);
}

TEST_CASE("what a chain of calls answers can be iterated", "[vocabulary]") {
    float sum = 0;
    for (float value : make_owner().value().copy().value()) sum += value;
    CHECK(sum == 1500.0f);
}

TEST_CASE("a result of nothing", "[vocabulary]") {
    Result<void> good;
    CHECK(good);
    good.value();
    *good;
    Result<void> bad = Error(Status::cancelled, "stop");
    CHECK_FALSE(bad);
    Result<void> copy = bad;
    CHECK(copy.error().message() == "stop");
    good = copy;
    CHECK(good.error().status() == Status::cancelled);
    good = Result<void>();
    CHECK(good);
}

TEST_CASE("value_or", "[vocabulary]") {
    CHECK(half_of(8).value_or(-1) == 4);
    CHECK(half_of(7).value_or(-1) == -1);
    Result<std::string> const text = Error(Status::io, "e");
    CHECK(text.value_or("other") == "other");
    CHECK(Result<std::string>(std::string("own")).value_or("other") == "own");
}

TEST_CASE("and_then, transform, or_else and transform_error", "[vocabulary]") {
    CHECK(half_of(8).and_then(half_of).and_then(half_of).value() == 1);
    CHECK(half_of(6).and_then(half_of).error().message() == "3 is odd");
    CHECK(half_of(7).and_then(half_of).error().message() == "7 is odd");
    CHECK(half_of(8).transform([](int n) { return std::to_string(n); }).value() == "4");
    CHECK(half_of(7).transform([](int n) { return std::to_string(n); }).error().status() == Status::unsupported);

    int seen = 0;
    Result<void> stored = half_of(8).transform([&](int n) { seen = n; });
    CHECK(stored);
    CHECK(seen == 4);
    CHECK(Result<void>().and_then([] { return half_of(2); }).value() == 1);
    CHECK(Result<void>().transform([] { return 3; }).value() == 3);
    CHECK(Result<void>(Error(Status::io, "e")).transform([] { return 3; }).error().message() == "e");

    CHECK(half_of(7).or_else([](Error const &) { return Result<int>(0); }).value() == 0);
    CHECK(half_of(8).or_else([](Error const &) { return Result<int>(0); }).value() == 4);
    auto const longer = [](Error const &error) { return Error::of(Status::corrupt, "entry: ", error.message()); };
    CHECK(half_of(7).transform_error(longer).error().message() == "entry: 7 is odd");
    CHECK(half_of(8).transform_error(longer).value() == 4);

    Result<int> lvalue = 8;
    CHECK(lvalue.and_then([](int &n) { return Result<int>(n++); }).value() == 8);
    CHECK(*lvalue == 9);
    CHECK(lvalue.transform([](int &n) { return n++; }).value() == 9);
    auto const &constant = lvalue;
    CHECK(constant.and_then([](int const &n) { return Result<int>(n); }).value() == 10);
    CHECK(constant.transform([](int const &n) { return n; }).value() == 10);
    CHECK(constant.or_else([](Error const &) { return Result<int>(0); }).value() == 10);
    CHECK(constant.transform_error(longer).value() == 10);
    // From an rvalue the value moves.
    CHECK(Result<Only>(Only(5)).and_then([](Only only) { return Result<Only>(std::move(only)); })->number == 5);
    CHECK(Result<Only>(Only(5)).transform([](Only only) { return only.number; }).value() == 5);
    CHECK(Result<Only>(Error(Status::io, "e")).or_else([](Error) { return Result<Only>(Only(6)); })->number == 6);
}
