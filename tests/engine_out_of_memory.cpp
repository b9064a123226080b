/// Where memory runs out, loading and encoding answer a status and throw nothing: every request is refused, alone and
/// with all after it, those of `operator new` and all others, of calls that wait and of deferred ones.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "golden.hpp"
#include "skip.hpp"
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

namespace {

using uform::Arena, uform::Encoded, uform::Outputs, uform::Ram, uform::Result, uform::Scalar, uform::Status;
using Refuses = AllocationFaults::Refuses;

constexpr Outputs both = Outputs::embeddings | Outputs::states;

/// A model that nobody called yet, with an arena that has no results, and a short and a long tape.
struct Scene {
    uform::Model model = uform::Model::load(data_path("tiny")).value();
    uform::Executor<Ram> executor;
    uform::BoundModel<Ram> bound = model.on(executor);
    Arena<Ram> arena;
    uform::Tape small, large;

    explicit Scene(std::size_t threads) : executor(uform::Executor<Ram>::with_threads(threads).value()) {
        std::vector<std::string> texts{"a model"};
        small = uform::Tape::from(texts).value();
        for (std::size_t i = 0; i != 60; ++i) {
            std::string text = "naïve e\xCC\x81t 漢字 ";
            for (std::size_t words = 0; words != i % 20; ++words) text += "word ";
            texts.push_back(text);
        }
        large = uform::Tape::from(texts).value();
    }
};
using Call = std::function<Result<Encoded<Ram>>(Scene &, uform::TapeView)>;

/// A sum over every bit of a result; nothing for one that can't be read.
std::optional<std::uint64_t> sum_of(Encoded<Ram> const &encoded) {
    auto const embeddings = encoded.embeddings().values<float>();
    auto const states = encoded.states().flat().values<float>();
    auto const offsets = encoded.states().offsets();
    if (!embeddings || !states || !offsets) return std::nullopt;
    std::uint64_t sum = 1;
    auto const add = [&](auto values) {
        for (auto const value : values) {
            std::uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            sum = sum * 0x9E37'79B9'7F4A'7C15u + bits + 1;
        }
    };
    add(*embeddings), add(*states), add(*offsets);
    return sum;
}

/// What the sums of the small and the large tape are where all memory is granted.
struct Expected {
    std::optional<std::uint64_t> small, large;
};

/// What a call answered with requests refused, and whether all was as it must be then and after it.
struct Outcome {
    Status status = Status::success;
    long refused = 0, requests = 0;
    char const *wrong = nullptr; ///< null where nothing is
};
/// `grows`: a small call comes first, so that the one with the faults has less to ask for and results to keep.
Outcome call_with_faults(Call const &call, std::size_t threads, bool grows, Expected const &expected, long first,
                         Refuses refuses) {
    Outcome outcome;
    Scene scene(threads);
    std::optional<Encoded<Ram>> old;
    if (grows) old.emplace(call(scene, scene.small).value());
    std::optional<Result<Encoded<Ram>>> answered;
    {
        AllocationFaults const plan(first, refuses);
        answered.emplace(call(scene, scene.large));
        outcome.refused = plan.refused(), outcome.requests = plan.requests();
    }
    outcome.status = *answered ? Status::success : answered->error().status();
    if (*answered && sum_of(**answered) != expected.large) outcome.wrong = "the results are others";
    if (!*answered && answered->error().message().empty()) outcome.wrong = "an error without a message";
    if (!*answered && old && sum_of(*old) != expected.small) outcome.wrong = "the old results aren't readable";
    if (*answered && old && sum_of(*old)) outcome.wrong = "the old results are current";
    auto const next = call(scene, scene.large);
    if (!next || sum_of(*next) != expected.large) outcome.wrong = "the next call fails";
    return outcome;
}

/// Refuses each request of a call in its turn; answers how many were refused.
long check_every_request(char const *name, Call const &call, std::size_t threads) {
    Expected expected;
    {
        Scene scene(threads);
        auto const small = call(scene, scene.small);
        REQUIRE(small);
        expected.small = sum_of(*small);
        auto const large = call(scene, scene.large);
        REQUIRE(large);
        expected.large = sum_of(*large);
        REQUIRE((expected.small && expected.large));
    }
    long injected = 0;
    for (bool const grows : {false, true})
        for (auto const refuses : {Refuses::one, Refuses::all_from_there_on})
            for (long first = 0; first != 10'000; ++first) {
                long const blocks = live_blocks_of_process.load();
                auto const bytes = mapped_bytes_of_process.load();
                auto const outcome = call_with_faults(call, threads, grows, expected, first, refuses);
                long const more_blocks = live_blocks_of_process.load() - blocks;
                auto const more_bytes = mapped_bytes_of_process.load() - bytes;
                INFO(name << (grows ? ", growing" : ", at first") << ": request " << first
                          << (refuses == Refuses::one ? " alone" : " and all after it") << " of " << outcome.requests
                          << " answers " << outcome.status << "; " << (outcome.wrong ? outcome.wrong : "right"));
                CHECK(outcome.wrong == nullptr);
                CHECK(more_blocks <= 0); // nothing leaks
                CHECK(more_bytes <= 0);
                if (outcome.refused == 0) {
                    CHECK(outcome.status == Status::success);
                    CHECK(first > 0);
                    break;
                }
                CHECK((outcome.status == Status::out_of_memory || outcome.status == Status::success));
                injected += outcome.refused;
            }
    std::printf("injected faults, %s: %ld\n", name, injected);
    std::fflush(stdout);
    return injected;
}

Result<Encoded<Ram>> call_alone(Scene &scene, uform::TapeView texts) {
    return scene.model.text_encode(texts, both, Scalar::f32, scene.arena);
}
Result<Encoded<Ram>> call_bound(Scene &scene, uform::TapeView texts) {
    return scene.bound.text_encode(texts, both, Scalar::f32, scene.arena);
}
Result<Encoded<Ram>> call_deferred(Scene &scene, uform::TapeView texts) {
    auto deferred = scene.bound.deferred().text_encode(texts, both, Scalar::f32, scene.arena);
    if (!deferred) return deferred.error();
    auto const pinned = deferred->wait();
    if (!pinned) return pinned.error();
    return Encoded<Ram>(*pinned);
}

} // namespace

TEST_CASE("out of memory: every request of text_encode, at first and growing") {
    if (!AllocationCounter::works) return skip_test("memory can't be refused under a sanitizer");
    CHECK(check_every_request("text_encode on the calling thread", call_alone, 1) > 20);
    CHECK(check_every_request("text_encode on an executor of one thread", call_bound, 1) > 20);
    CHECK(check_every_request("text_encode on an executor of three threads", call_bound, 3) > 20);
}

TEST_CASE("out of memory: every request of a deferred text_encode, of its submit and of its run") {
    if (!AllocationCounter::works) return skip_test("memory can't be refused under a sanitizer");
    CHECK(check_every_request("deferred text_encode", call_deferred, 1) > 20);
}

TEST_CASE("out of memory: every request of loading a model") {
    if (!AllocationCounter::works) return skip_test("memory can't be refused under a sanitizer");
    std::string const folder = data_path("tiny");
    (void)uform::Model::load(folder);
    long requests = 0, injected = 0, statuses[16]{};
    {
        AllocationFaults const count(AllocationFaults::none, Refuses::one);
        (void)uform::Model::load(folder);
        requests = count.requests();
    }
    std::printf("requests of loading tests/data/tiny: %ld\n", requests);
    REQUIRE(requests > 100);
    for (auto const refuses : {Refuses::one, Refuses::all_from_there_on})
        for (long first = 0; first < requests; ++first) {
            long const blocks = live_blocks_of_process.load();
            auto const bytes = mapped_bytes_of_process.load();
            Status status = Status::success;
            bool has_message = true;
            {
                AllocationFaults const plan(first, refuses);
                auto const model = uform::Model::load(folder);
                if (!model) status = model.error().status(), has_message = !model.error().message().empty();
                injected += plan.refused();
            }
            ++statuses[static_cast<int>(status)];
            bool const leaks = live_blocks_of_process.load() > blocks || mapped_bytes_of_process.load() > bytes;
            bool const allowed = status == Status::out_of_memory || status == Status::io ||
                                 (status == Status::success && refuses == Refuses::one);
            if (allowed && has_message && !leaks) continue;
            INFO("request " << first << (refuses == Refuses::one ? " alone" : " and all after it") << " of " << requests
                            << " answers " << status << (leaks ? ", and something leaks" : ""));
            CHECK((allowed && has_message && !leaks));
        }
    CHECK(uform::Model::load(folder).has_value());
    std::printf("injected faults, Model::load: %ld; out_of_memory %ld, io %ld, success %ld\n", injected,
                statuses[static_cast<int>(Status::out_of_memory)], statuses[static_cast<int>(Status::io)],
                statuses[static_cast<int>(Status::success)]);
    std::fflush(stdout);
}
