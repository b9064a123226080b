/// The buffer that reports a failed allocation: growth, alignment, and content that survives a failure.
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "uform/buffer.hpp"
#include "uform/config.hpp"

using uform::Buffer;

// So that a sanitizer's malloc answers null for an absurd size, as the system's does. For the whole program.
#if UFORM_ADDRESS_SANITIZER
extern "C" char const *__asan_default_options() { return "allocator_may_return_null=1"; }
#elif UFORM_THREAD_SANITIZER
extern "C" char const *__tsan_default_options() { return "allocator_may_return_null=1"; }
#endif

TEST_CASE("a buffer grows and keeps its content", "[vocabulary]") {
    Buffer<std::uint32_t> buffer;
    CHECK(buffer.empty());
    CHECK(buffer.capacity() == 0);
    std::size_t growths = 0;
    bool aligned = true;
    for (std::uint32_t i = 0; i != 100'000; ++i) {
        auto const before = buffer.capacity();
        REQUIRE(buffer.push_back(i));
        if (buffer.capacity() != before) {
            ++growths;
            if (growths > 2) CHECK(buffer.capacity() >= before + before / 2);
        }
        aligned = aligned && reinterpret_cast<std::uintptr_t>(buffer.data()) % 64 == 0;
    }
    CHECK(aligned);
    CHECK(growths < 40);
    CHECK(buffer.size() == 100'000);
    CHECK(buffer.back() == 99'999);
    std::vector<std::uint32_t> expected(100'000);
    std::iota(expected.begin(), expected.end(), 0u);
    CHECK(std::equal(buffer.begin(), buffer.end(), expected.begin(), expected.end()));
    CHECK(std::as_const(buffer).span().size() == 100'000);
    CHECK(std::as_const(buffer)[500] == 500);
}

TEST_CASE("a buffer that saw its largest use allocates no more", "[vocabulary]") {
    Buffer<char> buffer;
    REQUIRE(buffer.resize(1000));
    auto const *data = buffer.data();
    auto const capacity = buffer.capacity();
    for (std::size_t size : {0u, 10u, 1000u, 999u, 1000u}) {
        REQUIRE(buffer.resize(size));
        CHECK(buffer.size() == size);
    }
    buffer.clear();
    REQUIRE(buffer.reserve(1000));
    CHECK(buffer.data() == data);
    CHECK(buffer.capacity() == capacity);
    CHECK(buffer.empty());
    buffer.release();
    CHECK(buffer.capacity() == 0);
    CHECK(buffer.data() == nullptr);
}

TEST_CASE("a buffer that can't grow says so and keeps its content", "[vocabulary]") {
    Buffer<std::uint64_t> buffer;
    std::uint64_t const values[] = {1, 2, 3};
    REQUIRE(buffer.append(values, 3));
    auto const *data = buffer.data();
    auto const capacity = buffer.capacity();
    auto const unchanged = [&] {
        return buffer.data() == data && buffer.capacity() == capacity && buffer.size() == 3 && buffer[0] == 1 &&
               buffer[2] == 3;
    };
    CHECK_FALSE(buffer.reserve(SIZE_MAX));
    CHECK(unchanged());
    CHECK_FALSE(buffer.reserve(SIZE_MAX / 8 + 2)); // overflows when counted in bytes
    CHECK(unchanged());
    CHECK_FALSE(buffer.reserve(std::size_t{PTRDIFF_MAX} / 8 - 8)); // fits a size, but no machine
    CHECK(unchanged());
    CHECK_FALSE(buffer.resize(std::size_t{1} << 58));
    CHECK(unchanged());
    std::size_t const volatile all = SIZE_MAX;                // hidden, as compilers warn of it
    for (std::size_t const count : {all, all - 2, all - 3}) { // the first two sums wrap
        CHECK_FALSE(buffer.append(values, count));
        CHECK(unchanged());
    }
    Buffer<char> bytes;
    CHECK_FALSE(bytes.reserve(PTRDIFF_MAX));
    CHECK_FALSE(bytes.reserve(SIZE_MAX - 10));
    CHECK(bytes.data() == nullptr);
}

TEST_CASE("a buffer appends, cuts and moves", "[vocabulary]") {
    Buffer<int> buffer;
    REQUIRE(buffer.append(nullptr, 0));
    CHECK(buffer.data() == nullptr);
    int const values[] = {1, 2, 3, 4};
    REQUIRE(buffer.append(values, 4));
    REQUIRE(buffer.append(values, 2));
    CHECK(buffer.size() == 6);
    CHECK(buffer[5] == 2);
    buffer.truncate(10);
    CHECK(buffer.size() == 6);
    buffer.truncate(3);
    CHECK(buffer.size() == 3);
    CHECK(buffer.back() == 3);
    buffer.back() = 9;
    CHECK(buffer.span()[2] == 9);

    Buffer<int> moved = std::move(buffer);
    CHECK(moved.size() == 3);
    CHECK(buffer.size() == 0);
    CHECK(buffer.data() == nullptr);
    Buffer<int> target;
    REQUIRE(target.push_back(7));
    target = std::move(moved);
    CHECK(target.size() == 3);
    CHECK(moved.capacity() == 0);
    auto &same = target;
    target = std::move(same);
    CHECK(target.size() == 3);
    CHECK(target[0] == 1);
    REQUIRE(buffer.push_back(5)); // one that was moved from is usable
    buffer.swap(target);
    CHECK(target[0] == 5);
    CHECK(buffer.size() == 3);
    STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<Buffer<int>>);
    STATIC_REQUIRE(std::is_nothrow_move_constructible_v<Buffer<int>>);
}
