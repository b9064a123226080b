/// What the C interface allocates: nothing in a loop, also of refused calls; and what it answers where there is no
/// memory.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "allocations.hpp"
#include "golden.hpp"
#include "skip.hpp"
#include "uform.h"

namespace {

/// A model, an executor and arenas, and what gives them back.
struct World {
    uform_model_t model = nullptr;
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr, other = nullptr;

    World() {
        REQUIRE(uform_model_load(data_path("tiny").c_str(), nullptr, &model, nullptr) == 0);
        REQUIRE(uform_executor_init_ram(1, &executor, nullptr) == 0);
        REQUIRE(uform_arena_init(executor, &arena, nullptr) == 0);
        REQUIRE(uform_arena_init(nullptr, &other, nullptr) == 0);
    }
    World(World const &) = delete;
    World &operator=(World const &) = delete;
    ~World() {
        uform_arena_free(arena), uform_arena_free(other);
        uform_executor_free(executor);
        uform_model_free(model);
    }
};

constexpr char bytes[] = "the modelthe search of a vectoroneWE CAN SHOUT THE WORDS";
constexpr std::uint32_t offsets[] = {0, 9, 31, 34, 56};

uform_tape_t tape_of(std::size_t first, std::size_t count) {
    return {bytes, sizeof bytes - 1, offsets + first, count, 4, 0};
}

void tell(void *context) { ++*static_cast<int *>(context); }

/// One round of everything that a loop does; answers how much of it didn't go as it should.
int round_of(World const &world, std::size_t first, std::size_t count) {
    uform_tape_t const tape = tape_of(first, count);
    uform_encode_options_t options{};
    options.size = sizeof options, options.prompt = "query", options.prompt_size = 5;
    uform_encoded_t encoded, late, none;
    char const *message = nullptr;
    void const *values = nullptr;
    std::uint32_t const *list = nullptr;
    uform_deferred_t call = nullptr;
    uform_pin_t pin = nullptr;
    uform_rows_t part;
    int wrong = 0, told = 0;
    wrong += uform_text_encode(world.model, nullptr, &tape, 3, 0, world.other, &options, &none, &message) != 0;
    wrong += uform_text_encode(world.model, world.executor, &tape, 3, 0, world.arena, nullptr, &encoded, &message) != 0;
    wrong += uform_rows_values(&encoded.embeddings, 0, &values, &message) != 0;
    wrong += uform_ragged_rows_at(&encoded.states, 0, &part, &message) != 0;
    wrong += uform_ragged_rows_offsets(&encoded.states, &list, &message) != 0;
    wrong += uform_encoded_token_ids(&encoded, &list, nullptr, &message) != 0;
    wrong += uform_encoded_pin(&encoded, &pin, &message) != 0;
    wrong += uform_text_encode(world.model, nullptr, &tape, 3, 0, world.arena, nullptr, &none, &message) !=
             uform_status_contended_k;
    uform_rows_unpin(pin);
    wrong += uform_text_encode_deferred(world.model, world.executor, &tape, 3, 0, world.arena, nullptr, &call,
                                        &message) != 0;
    wrong += uform_text_encode(world.model, nullptr, &tape, 3, 0, world.arena, nullptr, &none, &message) !=
             uform_status_contended_k;
    wrong += uform_deferred_notify(call, tell, &told, &message) != 0;
    wrong += uform_deferred_wait(call, &late, &pin, &message) != 0;
    uform_deferred_free(call);
    wrong += uform_rows_values(&encoded.embeddings, 0, &values, &message) != uform_status_invalid_argument_k; // stale
    wrong += uform_rows_values(&late.embeddings, 0, &values, &message) != 0;
    uform_rows_unpin(pin);
    uform_deferred_t next = nullptr; // the notification of the call before has run by the end of the next one
    wrong += uform_text_encode_deferred(world.model, world.executor, &tape, 1, 0, world.arena, nullptr, &next,
                                        &message) != 0;
    wrong += uform_deferred_wait(next, &late, nullptr, &message) != 0;
    uform_deferred_free(next);
    return wrong + (told != 1);
}

} // namespace

TEST_CASE("c: a loop of calls allocates nothing, deferred, refused and stale ones too") {
    if (!AllocationCounter::works) return skip_test("allocations can't be counted here");
    World const world;
    int wrong = round_of(world, 0, 4) + round_of(world, 0, 4);
    REQUIRE(wrong == 0);
    AllocationCounter const counter;
    for (std::size_t i = 0; i != 200; ++i) wrong += round_of(world, i % 3, i % 4 + 1 > 4 - i % 3 ? 1 : i % 4 + 1);
    auto const count = counter.count();
    CHECK(wrong == 0);
    CHECK(count == 0);
}

TEST_CASE("c: memory that runs out is a status, at every request, and nothing is lost") {
    if (!AllocationCounter::works) return skip_test("allocations can't be refused here");
    auto const folder = data_path("tiny");
    long refused = 0;
    for (auto const refuses : {AllocationFaults::Refuses::one, AllocationFaults::Refuses::all_from_there_on}) {
        bool done = false;
        for (long first = 0; !done; first += first < 60 ? 1 : 13) {
            INFO("request " << first);
            long const before = live_blocks_of_process.load();
            uform_status_t statuses[12] = {};
            char const *texts[12] = {};
            int filled = 0;
            {
                AllocationFaults const faults(first, refuses);
                uform_model_t model = nullptr;
                uform_tokenizer_t tokenizer = nullptr;
                uform_executor_t executor = nullptr;
                uform_arena_t arena = nullptr;
                uform_detached_t detached = nullptr;
                uform_deferred_t call = nullptr;
                uform_cancellation_t cancellation = nullptr;
                uform_encoded_t encoded;
                std::uint64_t count = 0;
                char text[64];
                std::uint32_t ids[16];
                std::size_t at = 0;
                auto const note = [&](uform_status_t status, char const *const &message) {
                    statuses[at] = status, texts[at++] = message;
                    return status == 0;
                };
                char const *said = nullptr;
                uform_tape_t const tape = tape_of(0, 4);
                if (note(uform_model_load(folder.c_str(), nullptr, &model, &said), said) &&
                    note(uform_model_tokenizer(model, &tokenizer, &said), said) &&
                    note(uform_tokenizer_encode(tokenizer, bytes, 9, ids, 16, &count, &said), said) &&
                    note(uform_tokenizer_decode(tokenizer, ids, 4, 1, text, 64, &count, &said), said) &&
                    note(uform_executor_init_ram(1, &executor, &said), said) &&
                    note(uform_arena_init(executor, &arena, &said), said) &&
                    note(uform_cancellation_init(&cancellation, &said), said) &&
                    note(uform_text_encode(model, executor, &tape, 3, 0, arena, nullptr, &encoded, &said), said) &&
                    note(uform_arena_detach(arena, &detached, &said), said) &&
                    note(uform_text_encode_deferred(model, executor, &tape, 1, 0, arena, nullptr, &call, &said), said))
                    note(uform_deferred_wait(call, &encoded, nullptr, &said), said);
                uform_deferred_free(call);
                uform_cancellation_free(cancellation);
                uform_detached_free(detached);
                uform_arena_free(arena);
                uform_executor_free(executor);
                uform_tokenizer_free(tokenizer);
                uform_model_free(model);
                done = faults.refused() == 0;
                refused += faults.refused();
                filled = static_cast<int>(at);
            }
            for (int i = 0; i != filled; ++i) {
                bool const last = i + 1 == filled;
                // Threads and files too are had from the system.
                bool const of_memory = statuses[i] == uform_status_out_of_memory_k || statuses[i] == uform_status_io_k;
                CHECK((statuses[i] == 0 || (last && of_memory)));
                CHECK((statuses[i] == 0 || texts[i] != nullptr));
            }
            if (first > 100) CHECK(live_blocks_of_process.load() <= before + 1); // a pool may have grown by one
        }
    }
    std::printf("requests refused: %ld\n", refused);
    CHECK(refused > 200);
}
