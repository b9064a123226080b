/// Where `operator new` has nothing left, loading and encoding to a vector answer `out_of_memory` and throw nothing.
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "golden.hpp"
#include "uform/uform.hpp"

namespace {

/// `operator new` gives this many blocks more to the thread, then none; negative: as many as it likes.
thread_local long blocks_left = -1;

} // namespace

// Not inlined: GCC would see `free` meet memory of `new`, which it takes for another allocator's.
UFORM_NEVER_INLINE void *operator new(std::size_t bytes) {
    if (blocks_left > 0) --blocks_left;
    else if (blocks_left == 0) throw std::bad_alloc();
    if (void *memory = std::malloc(bytes ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
UFORM_NEVER_INLINE void *operator new(std::size_t bytes, std::nothrow_t const &) noexcept {
    if (blocks_left == 0) return nullptr;
    if (blocks_left > 0) --blocks_left;
    return std::malloc(bytes ? bytes : 1);
}
UFORM_NEVER_INLINE void operator delete(void *memory) noexcept { std::free(memory); }
UFORM_NEVER_INLINE void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

/// What a call answers with that many blocks of memory: nothing for success.
template <class Call> std::optional<uform::Status> with_blocks(long blocks, Call call) {
    blocks_left = blocks;
    auto const result = call();
    blocks_left = -1;
    return result ? std::nullopt : std::optional(result.error().status());
}

/// Refuses each block in turn until the call succeeds; answers how many it took.
template <class Call> long check_every_block(Call call) {
    for (long blocks = 0; blocks != 100'000; ++blocks) {
        auto const status = with_blocks(blocks, call);
        if (!status) return blocks;
        INFO("after " << blocks << " blocks");
        REQUIRE(*status == uform::Status::out_of_memory);
    }
    return -1;
}

} // namespace

TEST_CASE("out of memory: loading a model or a tokenizer, and encoding to a vector, answer it as a status") {
    std::string const folder = data_path("tiny");
    CHECK(check_every_block([&] { return uform::Tokenizer::load(folder); }) > 0);
    CHECK(check_every_block([&] { return uform::Model::load(folder); }) > 0);
    auto const tokenizer = uform::Tokenizer::load(folder).value();
    CHECK(check_every_block([&] { return tokenizer.encode("the model"); }) == 1);
    CHECK(tokenizer.encode("the model").value().size() == 4);
}
