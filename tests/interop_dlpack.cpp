/// Rows go to DLPack as the same bytes, with their pin, and come back by its deleter.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "interop_fixture.hpp"
#include "uform/interop/dlpack.hpp"

using uform::Arena, uform::Pinned, uform::Ram, uform::Rows, uform::Scalar, uform::Status, uform::to_dlpack;

// A consumer's own declarations, as far as it needs them: those of dlpack.h, where there is one.
extern "C" {
enum DLDeviceType : std::int32_t { kDLCPU = 1, kDLCUDA = 2 };
struct DLDevice {
    DLDeviceType device_type;
    std::int32_t device_id;
};
struct DLDataType {
    std::uint8_t code, bits;
    std::uint16_t lanes;
};
struct DLTensor {
    void *data;
    DLDevice device;
    std::int32_t ndim;
    DLDataType dtype;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
};
struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(DLManagedTensor *);
};
struct DLPackVersion {
    std::uint32_t major, minor;
};
struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(DLManagedTensorVersioned *);
    std::uint64_t flags;
    DLTensor dl_tensor;
};
}
// Whoever holds ours as `void *` reads these members at these places.
static_assert(offsetof(uform::dlpack::Tensor, device) == 8 && offsetof(uform::dlpack::Tensor, ndim) == 16);
static_assert(offsetof(uform::dlpack::Tensor, dtype) == 20 && offsetof(uform::dlpack::Tensor, shape) == 24);
static_assert(offsetof(uform::dlpack::Tensor, strides) == 32 && offsetof(uform::dlpack::Tensor, byte_offset) == 40);
static_assert(offsetof(uform::dlpack::ManagedTensor, manager_ctx) == 48);
static_assert(offsetof(uform::dlpack::ManagedTensor, deleter) == 56);
static_assert(offsetof(uform::dlpack::ManagedTensorVersioned, manager_ctx) == 8);
static_assert(offsetof(uform::dlpack::ManagedTensorVersioned, deleter) == 16);
static_assert(offsetof(uform::dlpack::ManagedTensorVersioned, flags) == 24);
static_assert(offsetof(uform::dlpack::ManagedTensorVersioned, dl_tensor) == 32);
static_assert(sizeof(DLManagedTensor) == 64 && sizeof(DLManagedTensorVersioned) == 80);

namespace {

/// As large as a managed tensor, and none.
struct NoDeleter {
    DLTensor dl_tensor;
    void *manager_ctx, *other;
};
struct NoTensor {
    std::byte other[48];
    void *manager_ctx;
    void (*deleter)(NoTensor *);
};
/// Of an ABI that isn't version 1's.
struct Longer {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(Longer *);
    std::uint64_t flags;
};
struct DeletesAnother {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(DLManagedTensor *);
};
using uform::dlpack::AnyManagedTensor;
static_assert(AnyManagedTensor<DLManagedTensor> && AnyManagedTensor<DLManagedTensorVersioned>);
static_assert(!AnyManagedTensor<DLTensor> && !AnyManagedTensor<NoDeleter> && !AnyManagedTensor<NoTensor>);
static_assert(!AnyManagedTensor<Longer> && !AnyManagedTensor<DeletesAnother> && !AnyManagedTensor<int>);

/// Whether a tensor can be made of such an argument: a guard that is kept isn't one.
template <class Argument> concept Exports = requires(Argument argument) { to_dlpack(static_cast<Argument>(argument)); };
static_assert(Exports<Pinned<Rows<Ram>> &&> && !Exports<Pinned<Rows<Ram>> &> && !Exports<Rows<Ram>>);

/// What DLPack's types are numbered.
constexpr std::uint8_t kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4;

template <class T> void check_scalar(std::uint8_t code, std::uint8_t bits) {
    Arena<Ram> arena;
    auto const rows = publish_rows<T>(arena, 3, 5).value();
    auto const tensor = to_dlpack<DLManagedTensorVersioned>(rows.pin().value()).value();
    INFO(uform::scalar_name(uform::scalar_of<T>));
    auto const &seen = tensor->dl_tensor;
    CHECK(int(seen.dtype.code) == int(code));
    CHECK(int(seen.dtype.bits) == int(bits));
    CHECK(seen.dtype.lanes == 1);
    CHECK(seen.shape[0] == 3);
    CHECK(seen.shape[1] == 5);
    CHECK(seen.strides[0] == 5);
    CHECK(seen.strides[1] == 1);
    CHECK(holds_bytes(seen.data, 15u * bits / 8));
}

/// What an export is refused with, while the guard still holds the arena.
template <class R> std::optional<uform::Error> refusal(Rows<R> const &rows, std::optional<std::uint32_t> device = {}) {
    auto pinned = rows.pin().value();
    auto const tensor = to_dlpack(std::move(pinned), device);
    if (tensor) return std::nullopt;
    return tensor.error();
}
bool says(std::optional<uform::Error> const &error, Status status, std::string_view words) {
    return error && error->status() == status && error->message().find(words) != std::string_view::npos;
}

} // namespace

TEST_CASE("dlpack: a consumer sees the rows' own bytes, read-only, with shape and strides") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    auto tensor = to_dlpack<DLManagedTensorVersioned>(rows.pin().value()).value();
    CHECK(tensor->version.major == 1);
    CHECK(tensor->flags == 1); // DLPACK_FLAG_BITMASK_READ_ONLY
    auto const &seen = tensor->dl_tensor;
    CHECK(seen.data == rows.data());
    CHECK(seen.byte_offset == 0);
    CHECK(seen.device.device_type == kDLCPU);
    CHECK(seen.device.device_id == 0);
    CHECK(seen.ndim == 2);
    CHECK(seen.shape[0] == 3);
    CHECK(seen.shape[1] == 7);
    CHECK(seen.strides[0] == 7);
    CHECK(seen.strides[1] == 1);
    CHECK(holds_bytes(seen.data, 3 * 7 * 4));
}

TEST_CASE("dlpack: the older structure, and ours as void *, say the same") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 2, 4).value();
    auto old = to_dlpack<DLManagedTensor>(rows.pin().value()).value();
    CHECK(old->dl_tensor.data == rows.data());
    CHECK(old->dl_tensor.shape[1] == 4);
    old->deleter(old.get());
    (void)old.release();

    void *const opaque = to_dlpack(rows.pin().value()).value().release(); // a capsule's pointer
    auto *const ours = static_cast<uform::dlpack::ManagedTensorVersioned *>(opaque);
    CHECK(ours->version.major == 1);
    CHECK(ours->dl_tensor.data == rows.data());
    CHECK(ours->dl_tensor.shape[0] == 2);
    CHECK(is_held(arena));
    ours->deleter(ours);
    CHECK(is_free(arena));
}

TEST_CASE("dlpack: scalars are spelt as DLPack numbers them") {
    check_scalar<float>(kDLFloat, 32);
    check_scalar<uform::F16>(kDLFloat, 16);
    check_scalar<uform::BF16>(kDLBfloat, 16);
    check_scalar<std::int8_t>(kDLInt, 8);
    check_scalar<std::uint8_t>(kDLUInt, 8);
    check_scalar<std::uint32_t>(kDLUInt, 32);
    check_scalar<std::uint64_t>(kDLUInt, 64);
}

TEST_CASE("dlpack: bits, and what is no scalar, are refused by name") {
    Arena<Ram> arena;
    auto const rows = publish_rows<uform::B1x8>(arena, 2, 16).value();
    CHECK(says(refusal(rows), Status::unsupported, "b1"));
    MadeArena<MadeOnHost> const made;
    CHECK(says(refusal(made.rows({nullptr, 1, 1, 1, uform::no_scalar})), Status::unsupported, "unknown"));
}

TEST_CASE("dlpack: a call is refused until the consumer deletes the tensor, and served afterwards") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    auto *const tensor = to_dlpack<DLManagedTensorVersioned>(rows.pin().value()).value().release();
    CHECK(is_held(arena));
    CHECK(rows.is_current());
    tensor->deleter(tensor);
    CHECK(is_free(arena));
    CHECK(publish_rows<float>(arena, 1, 1).has_value());
    CHECK_FALSE(rows.is_current());
}

TEST_CASE("dlpack: a tensor that no consumer takes is deleted by its owner") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    long const before = blocks_alive;
    {
        auto const tensor = to_dlpack(rows.pin().value()).value();
        CHECK(is_held(arena));
        CHECK(blocks_alive == before + 1);
    }
    CHECK(is_free(arena));
    CHECK(blocks_alive == before);
}

TEST_CASE("dlpack: the bytes outlive their arena, until the deleter runs, on any thread") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const rows = publish_rows<float>(*arena, 300, 70).value();
    auto *const tensor = to_dlpack<DLManagedTensorVersioned>(rows.pin().value()).value().release();
    arena.reset();
    CHECK_FALSE(rows.is_current());
    Arena<Ram> next;
    REQUIRE(publish_rows<std::uint8_t>(next, 1000, 100).has_value());
    CHECK(holds_bytes(tensor->dl_tensor.data, 300 * 70 * 4));
    long const before = blocks_alive;
    std::thread([tensor] { tensor->deleter(tensor); }).join();
    CHECK(blocks_alive == before - 1);
}

TEST_CASE("dlpack: tensors of the same rows are deleted each on its own, from several threads") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    std::vector<DLManagedTensorVersioned *> tensors;
    for (int i = 0; i != 4; ++i)
        tensors.push_back(to_dlpack<DLManagedTensorVersioned>(rows.pin().value()).value().release());
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i != tensors.size(); ++i)
        threads.emplace_back([tensor = tensors[i]] { tensor->deleter(tensor); });
    for (auto &thread : threads) thread.join();
    CHECK(is_held(arena));
    CHECK(holds_bytes(tensors[0]->dl_tensor.data, 3 * 7 * 4));
    tensors[0]->deleter(tensors[0]);
    CHECK(is_free(arena));
}

TEST_CASE("dlpack: a guard of a freed arena is refused as stale, and an empty view can't be pinned at all") {
    std::optional<Arena<Ram>> arena(std::in_place);
    auto const rows = publish_rows<float>(*arena, 3, 7).value();
    auto pinned = rows.pin().value();
    arena.reset();
    auto const tensor = to_dlpack(std::move(pinned));
    REQUIRE_FALSE(tensor.has_value());
    CHECK(tensor.error().status() == Status::invalid_argument);
    CHECK(tensor.error().message().find("stale") != std::string_view::npos);
    CHECK(rows.pin().error().status() == Status::invalid_argument);
    CHECK(Rows<Ram>().pin().error().status() == Status::invalid_argument);
}

TEST_CASE("dlpack: a guard that was moved from still gives a tensor with a pin, or none") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    auto pinned = rows.pin().value();
    auto first = to_dlpack(std::move(pinned)).value();
    auto second = to_dlpack(std::move(pinned)).value(); // NOLINT(bugprone-use-after-move): what is tested
    first.reset();
    CHECK(is_held(arena));
    second.reset();
    CHECK(is_free(arena));
    REQUIRE(publish_rows<float>(arena, 1, 1).has_value());
    CHECK_FALSE(to_dlpack(std::move(pinned)).has_value());
    CHECK(is_free(arena));
}

TEST_CASE("dlpack: after an error the guard still holds the rows") {
    Arena<Ram> arena;
    auto const rows = publish_rows<uform::B1x8>(arena, 3, 8).value();
    {
        auto pinned = rows.pin().value();
        CHECK_FALSE(to_dlpack(std::move(pinned)).has_value());
        CHECK(is_held(arena));
    }
    CHECK(is_free(arena));
}

TEST_CASE("dlpack: without memory it answers out_of_memory, and the guard still holds the rows") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 3, 7).value();
    auto pinned = rows.pin().value();
    blocks_left = 0;
    auto refused = to_dlpack(std::move(pinned));
    blocks_left = -1;
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().status() == Status::out_of_memory);
    CHECK(is_held(arena));
    blocks_left = 1; // one block is all that it takes
    auto given = to_dlpack(std::move(pinned));
    blocks_left = -1;
    REQUIRE(given.has_value());
    (*given).reset();
    CHECK(is_free(arena));
}

TEST_CASE("dlpack: no rows or no columns have their shape and no data") {
    for (auto const &[count, columns] : {std::pair(0, 7), std::pair(3, 0), std::pair(0, 0)}) {
        Arena<Ram> arena;
        auto const rows = publish_rows<float>(arena, std::size_t(count), std::size_t(columns)).value();
        auto const tensor = to_dlpack<DLManagedTensorVersioned>(rows.pin().value()).value();
        CHECK(tensor->dl_tensor.shape[0] == count);
        CHECK(tensor->dl_tensor.shape[1] == columns);
        CHECK(tensor->dl_tensor.strides != nullptr);
        CHECK(tensor->dl_tensor.data == nullptr);
        CHECK(is_held(arena));
    }
}

TEST_CASE("dlpack: one text's rows are exported from where they start") {
    Arena<Ram> arena;
    auto const texts = publish_texts<float>(arena, {2, 0, 3}, 5).value();
    auto const tensor = to_dlpack<DLManagedTensorVersioned>(texts.at(2).value().pin().value()).value();
    CHECK(tensor->dl_tensor.data == static_cast<std::byte const *>(texts.flat().data()) + 2 * 5 * 4);
    CHECK(tensor->dl_tensor.shape[0] == 3);
    CHECK(holds_bytes(tensor->dl_tensor.data, 3 * 5 * 4, 2 * 5 * 4));
    auto const none = to_dlpack<DLManagedTensorVersioned>(texts.at(1).value().pin().value()).value();
    CHECK(none->dl_tensor.shape[0] == 0);
    CHECK(texts.at(1).value().data() != nullptr);
    CHECK(none->dl_tensor.data == nullptr);
}

TEST_CASE("dlpack: rows of a device name it, and host rows don't") {
    MadeArena<MadeOnDevice> const arena;
    auto const rows = arena.rows({reinterpret_cast<void *>(std::uintptr_t{0x7000000}), 4, 3, 12, Scalar::f32});
    {
        auto const tensor = to_dlpack<DLManagedTensorVersioned>(rows.pin().value(), 1u).value();
        CHECK(tensor->dl_tensor.device.device_type == kDLCUDA);
        CHECK(tensor->dl_tensor.device.device_id == 1);
        CHECK(tensor->dl_tensor.data == rows.data());
        CHECK(arena.pins() == 1);
    }
    CHECK(arena.pins() == 0);
    CHECK(says(refusal(rows), Status::invalid_argument, "device"));
    CHECK(says(refusal(rows, 2147483648u), Status::invalid_argument, "2147483648"));
    CHECK_FALSE(refusal(rows, 2147483647u));

    Arena<Ram> host;
    CHECK(says(refusal(publish_rows<float>(host, 1, 1).value(), 0u), Status::invalid_argument, "device"));
}

TEST_CASE("dlpack: strides are counted in scalars, and refused where they aren't whole") {
    std::vector<float> const memory(4 * 6, 1.0f);
    MadeArena<MadeOnHost> const arena;
    auto const tensor =
        to_dlpack<DLManagedTensorVersioned>(arena.rows({memory.data(), 4, 3, 24, Scalar::f32}).pin().value()).value();
    CHECK(tensor->dl_tensor.strides[0] == 6);
    CHECK(tensor->dl_tensor.strides[1] == 1);
    CHECK(tensor->dl_tensor.shape[1] == 3);
    CHECK(says(refusal(arena.rows({memory.data(), 4, 3, 14, Scalar::f32})), Status::unsupported, "14 bytes"));
}

TEST_CASE("dlpack: more rows than DLPack counts are refused") {
    Arena<Ram> arena;
    auto const most = std::size_t{INT64_MAX};
    CHECK_FALSE(refusal(publish_rows<float>(arena, most, 0).value()));
    CHECK(says(refusal(publish_rows<float>(arena, most + 1, 0).value()), Status::unsupported, "9223372036854775808"));
}

TEST_CASE("dlpack: with as many pins as can be counted it answers contended, and keeps the guard") {
    Arena<Ram> arena;
    auto const rows = publish_rows<float>(arena, 1, 1).value();
    std::vector<Pinned<Rows<Ram>>> guards;
    for (int i = 0; i != 4094; ++i) guards.push_back(rows.pin().value());
    auto const refused = to_dlpack(std::move(guards.back()));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().status() == Status::contended);
    CHECK_FALSE(rows.pin().has_value());
    guards[0] = std::move(guards[1]); // lets one go
    CHECK(to_dlpack(std::move(guards.back())).has_value());
}
