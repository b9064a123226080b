/// Device memory through the C interface, over the driver that the tests build: rows that a verb of C++ wrote there are
/// read, pinned, released and refused.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "cuda_fixture.hpp"
#include "golden.hpp"
#include "uform.h"
#include "uform/interop/dlpack.hpp"

using uform::Vram;

namespace {

/// What the C interface would hand out of these rows.
uform_rows_t plain(void const *slot, uform::Rows<Vram> const &rows) {
    auto const &lease = static_cast<uform::Slot const *>(slot)->lease;
    return {static_cast<uform_lease_t>(slot),
            lease.epoch_of(lease.word()),
            rows.data(),
            rows.rows(),
            rows.columns(),
            rows.row_stride_bytes(),
            static_cast<uform_scalar_t>(rows.scalar()),
            uform_residency_vram_k,
            0,
            0};
}

} // namespace

TEST_CASE("c: an executor and an arena of a device") {
    FakeDevice const fake;
    uform_executor_t executor = nullptr, other = nullptr;
    uform_arena_t arena = nullptr, host = nullptr;
    uform_arena_description_t where{};
    char const *message = nullptr;
    std::uint64_t number = 9;
    void *stream = nullptr;
    REQUIRE(uform_executor_init_vram(1, &executor, &message) == uform_status_unsupported_k); // there is one
    CHECK(std::string(message).size() > 5);
    REQUIRE(uform_executor_init_vram(0, &executor, &message) == uform_status_success_k);
    REQUIRE(uform_executor_init_vram(0, &other, &message) == uform_status_success_k);
    CHECK(uform_executor_describe(executor, &where, nullptr) == uform_status_success_k);
    CHECK((where.residency == uform_residency_vram_k && where.device == 0));
    CHECK((uform_executor_threads(executor, &number, nullptr) == uform_status_success_k && number == 0));
    CHECK((uform_executor_stream(executor, &stream, nullptr) == uform_status_success_k && stream));
    REQUIRE(uform_arena_init(executor, &arena, nullptr) == uform_status_success_k);
    REQUIRE(uform_arena_init(nullptr, &host, nullptr) == uform_status_success_k);
    where = {};
    CHECK(uform_arena_describe(arena, &where, nullptr) == uform_status_success_k);
    CHECK((where.residency == uform_residency_vram_k && where.device == 0));
    CHECK(uform_arena_reserve(arena, 10000, nullptr) == uform_status_success_k);
    CHECK((uform_arena_capacity(arena, &number, nullptr) == uform_status_success_k && number >= 10000));
    CHECK(uform_arena_set_limit(arena, 64, nullptr) == uform_status_success_k);
    CHECK(uform_arena_reserve(arena, 10000, nullptr) == uform_status_out_of_memory_k);
    CHECK(uform_arena_trim(arena, nullptr) == uform_status_success_k);

    uform_model_t model = nullptr;
    REQUIRE(uform_model_load(data_path("tiny").c_str(), nullptr, &model, nullptr) == uform_status_success_k);
    uform_tape_t const tape{"the model", 9, nullptr, 1, 0, 0};
    uform_encoded_t encoded;
    uform_deferred_t deferred = nullptr;
    auto const call = [&](uform_executor_t on, uform_arena_t into) {
        auto const status = uform_text_encode(model, on, &tape, 1, 0, into, nullptr, &encoded, &message);
        CHECK(uform_text_encode_deferred(model, on, &tape, 1, 0, into, nullptr, &deferred, nullptr) == status);
        CHECK(!deferred);
        return status;
    };
    CHECK(call(nullptr, arena) == uform_status_invalid_argument_k); // the host into a device's memory
    CHECK(std::string(message).find("arena") == 0);
    CHECK(call(executor, host) == uform_status_invalid_argument_k); // a device into host pages
    CHECK(call(other, arena) == uform_status_invalid_argument_k);   // another executor's arena
    CHECK(call(executor, arena) == uform_status_unsupported_k);     // in this version

    uform_detached_t detached = nullptr;
    CHECK(uform_arena_detach(arena, &detached, nullptr) == uform_status_success_k);
    where = {};
    CHECK(uform_detached_describe(detached, &where, nullptr) == uform_status_success_k);
    CHECK((where.residency == uform_residency_vram_k && where.device == 0));
    CHECK(uform_detached_capacity(detached, &number, nullptr) == uform_status_success_k);
    uform_executor_free(executor); // its arenas keep the device
    uform_detached_free(detached);
    uform_arena_free(arena), uform_arena_free(host);
    uform_executor_free(other);
    uform_model_free(model);
}

TEST_CASE("c: rows of a device are copied and pinned, and refused to the host") {
    World<Vram> world;
    uform::Arena<Vram> arena(world.executor);
    void const *slot = nullptr;
    {
        auto const draft = arena.begin().value();
        slot = draft.slot();
    }
    auto const rows = fill(world.executor, arena, 3, 4, 7).value();
    auto const view = plain(slot, rows);
    void const *values = nullptr;
    char const *message = nullptr;
    std::int32_t is_current = 0;
    CHECK((uform_rows_is_current(&view, &is_current, nullptr) == uform_status_success_k && is_current == 1));
    CHECK(uform_rows_values(&view, uform_scalar_f32_k, &values, &message) == uform_status_device_k);
    CHECK(std::string(message).find("device") != std::string::npos);
    CHECK(uform_rows_row(&view, uform_scalar_f32_k, 0, &values, nullptr) == uform_status_device_k);
    std::vector<float> copy(12);
    CHECK(uform_rows_copy_to(&view, uform_scalar_f32_k, copy.data(), 47, nullptr) == uform_status_invalid_argument_k);
    CHECK(uform_rows_copy_to(&view, uform_scalar_i8_k, copy.data(), 48, nullptr) == uform_status_invalid_argument_k);
    CHECK(uform_rows_copy_to(&view, uform_scalar_f32_k, copy.data(), 48, nullptr) == uform_status_success_k);
    for (float const value : copy) CHECK(std::memcmp(&value, "\7\7\7\7", 4) == 0);
    CHECK(uform_rows_stream_wait(&view, world.executor.stream(), nullptr) == uform_status_success_k);
    CHECK(uform_rows_to_arrow(&view, reinterpret_cast<ArrowSchema *>(&copy), reinterpret_cast<ArrowArray *>(&copy),
                              nullptr) == uform_status_device_k);

    uform_pin_t pin = nullptr;
    REQUIRE(uform_rows_pin(&view, &pin, nullptr) == uform_status_success_k);
    CHECK(fill(world.executor, arena, 1, 1, 1).error().status() == uform::Status::contended);
    CHECK(uform_pin_release_on(pin, world.executor.stream(), nullptr) == uform_status_success_k);
    REQUIRE(uform_rows_pin(&view, &pin, nullptr) == uform_status_success_k);
    uform_rows_unpin(pin);
    void *tensor = nullptr;
    REQUIRE(uform_rows_to_dlpack(&view, &tensor, nullptr) == uform_status_success_k);
    CHECK(fill(world.executor, arena, 1, 1, 1).error().status() == uform::Status::contended);
    static_cast<uform::dlpack::ManagedTensorVersioned *>(tensor)->deleter(
        static_cast<uform::dlpack::ManagedTensorVersioned *>(tensor));

    REQUIRE(fill(world.executor, arena, 1, 1, 1)); // the next call
    CHECK(uform_rows_copy_to(&view, uform_scalar_f32_k, copy.data(), 48, nullptr) == uform_status_invalid_argument_k);
    CHECK(uform_rows_stream_wait(&view, nullptr, nullptr) == uform_status_invalid_argument_k);
    CHECK(uform_rows_pin(&view, &pin, nullptr) == uform_status_invalid_argument_k);
    CHECK(uform_rows_values(&view, uform_scalar_f32_k, &values, nullptr) == uform_status_device_k);
    CHECK((uform_rows_is_current(&view, &is_current, nullptr) == uform_status_success_k && is_current == 0));
}

TEST_CASE("c: a tape on a device is refused by a call on the host") {
    World<Vram> world;
    uform::Arena<Vram> arena(world.executor);
    auto const rows = fill(world.executor, arena, 3, 4, 7).value();
    uform_model_t model = nullptr;
    uform_arena_t host = nullptr;
    uform_encoded_t encoded;
    char const *message = nullptr;
    REQUIRE(uform_model_load(data_path("tiny").c_str(), nullptr, &model, nullptr) == uform_status_success_k);
    REQUIRE(uform_arena_init(nullptr, &host, nullptr) == uform_status_success_k);
    std::uint32_t const offsets[] = {0, 4, 9};
    uform_tape_t tape{rows.data(), 48, offsets, 2, 4, 0};
    CHECK(uform_text_encode(model, nullptr, &tape, 1, 0, host, nullptr, &encoded, nullptr) == uform_status_device_k);
    tape = {"the model", 9, rows.data(), 2, 4, 0};
    CHECK(uform_text_encode(model, nullptr, &tape, 1, 0, host, nullptr, &encoded, &message) == uform_status_device_k);
    CHECK(std::string(message).find("texts.offsets") == 0);
    uform_arena_free(host);
    uform_model_free(model);
}
