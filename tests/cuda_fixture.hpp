/// Device arenas over the fake driver: the fake as it is at first, a verb of the tests' own, and what rows hold.
#ifndef UFORM_TESTS_CUDA_FIXTURE_HPP
#define UFORM_TESTS_CUDA_FIXTURE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "cuda/fake/fixture.hpp"
#include "uform/cuda.hpp"
#include "uform/executor.hpp"

/// A fresh fake driver. At its end nothing may be alive, and the fake may have seen nothing wrong.
struct FakeDevice : fake_driver::Fake {
    FakeDevice() = default;
    ~FakeDevice() {
        CHECK(complaint() == "");
        CHECK(nothing_is_alive());
    }
    [[nodiscard]] bool nothing_is_alive() const { return controls->live() == fake_driver::Live(); }
    /// Blocks of device and of pinned memory that were asked for since the start.
    [[nodiscard]] long allocations() const {
        return controls->calls("cuMemAllocFromPoolAsync") + controls->calls("cuMemHostAlloc");
    }
};

/// The driver's functions, under an executor's context.
struct InContext {
    uform::Vram::Block::Origin origin;
    uform::cuda::CoreEntry entry;
    uform::cuda::Driver const &driver;

    explicit InContext(uform::Executor<uform::Vram> const &executor)
        : origin(executor.origin()), entry(*origin.core), driver(origin.core->driver()) {}
    [[nodiscard]] uform::cuda::Stream first() const { return origin.core->first_stream(); }
};

inline uform::cuda::DevicePointer device_address(void const *pointer) {
    return static_cast<uform::cuda::DevicePointer>(reinterpret_cast<std::uintptr_t>(pointer));
}

/// A stream of the user's, in an executor's context.
struct UserStream {
    uform::Executor<uform::Vram> executor;
    uform::cuda::Stream stream = nullptr;

    explicit UserStream(uform::Executor<uform::Vram> const &on) : executor(on) {
        InContext const in(executor);
        REQUIRE(in.driver.stream_create(&stream, uform::cuda::StreamFlags::non_blocking, 0) ==
                uform::cuda::Code::success);
    }
    UserStream(UserStream const &) = delete;
    UserStream &operator=(UserStream const &) = delete;
    ~UserStream() {
        InContext const in(executor);
        CHECK(in.driver.stream_destroy(stream) == uform::cuda::Code::success);
    }
    void synchronize() const {
        InContext const in(executor);
        CHECK(in.driver.stream_synchronize(stream) == uform::cuda::Code::success);
    }
    /// Queues a read of rows into pinned memory, which the caller frees after the stream was synchronised.
    template <class Rows> void read(Rows const &rows, void *pinned, std::size_t bytes) const {
        InContext const in(executor);
        CHECK(in.driver.copy_out(pinned, device_address(rows.data()), bytes, stream) == uform::cuda::Code::success);
    }
};

/// Pinned memory.
struct PinnedBytes {
    uform::Executor<uform::Vram> executor;
    void *memory = nullptr;

    PinnedBytes(uform::Executor<uform::Vram> const &on, std::size_t bytes) : executor(on) {
        InContext const in(executor);
        REQUIRE(in.driver.host_allocate(&memory, bytes, uform::cuda::HostAllocationFlags::portable) ==
                uform::cuda::Code::success);
    }
    PinnedBytes(PinnedBytes const &) = delete;
    PinnedBytes &operator=(PinnedBytes const &) = delete;
    ~PinnedBytes() {
        InContext const in(executor);
        CHECK(in.driver.host_free(memory) == uform::cuda::Code::success);
    }
};

/// The status of a result: success for a value.
template <class T> uform::Status status(uform::Result<T> const &result) {
    return result ? uform::Status::success : result.error().status();
}

/// Writes one value into bytes of a residency, in its order.
inline uform::Result<void> store(uform::Executor<uform::Ram> const &, void *, void *to, std::size_t bytes, int value) {
    if (bytes) std::memset(to, value, bytes);
    return {};
}
inline uform::Result<void> store(uform::Executor<uform::Vram> const &executor, void *stream, void *to,
                                 std::size_t bytes, int value) {
    if (!bytes) return {};
    InContext const in(executor);
    if (!in.entry) return in.entry.error(*in.origin.core);
    auto const code = in.driver.fill(device_address(to), static_cast<unsigned char>(value), bytes,
                                     static_cast<uform::cuda::Stream>(stream));
    if (code != uform::cuda::Code::success) return uform::Error::fixed(uform::Status::device, "the verb's own work");
    return {};
}

/// The tests' own verb: rows whose every byte is `value`, published.
template <class R>
uform::Result<uform::Rows<R>> fill(uform::Executor<R> const &executor, uform::Arena<R> &arena, std::size_t rows,
                                   std::size_t columns, int value) noexcept {
    auto draft = arena.begin(executor);
    if (!draft) return draft.error();
    auto const place = draft->template place<float>(rows, columns);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    auto stored = store(executor, writing->stream(), writing->data(place), rows * columns * sizeof(float), value);
    if (!stored) return stored.error();
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}
/// The same with offsets: each text's rows hold its number.
template <class R>
uform::Result<uform::RaggedRows<R>> fill_ragged(uform::Executor<R> const &executor, uform::Arena<R> &arena,
                                                std::vector<std::uint32_t> const &lengths) {
    auto draft = arena.begin(executor);
    if (!draft) return draft.error();
    std::uint32_t total = 0;
    for (auto length : lengths) total += length;
    auto const place = draft->template place_ragged<float>(lengths.size(), total, 2);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    auto const offsets = writing->offsets(place);
    offsets[0] = 0;
    for (std::size_t text = 0; text != lengths.size(); ++text) {
        offsets[text + 1] = offsets[text] + lengths[text];
        auto stored = store(executor, writing->stream(), writing->data(place) + 2 * offsets[text],
                            lengths[text] * 2 * sizeof(float), static_cast<int>(text));
        if (!stored) return stored.error();
    }
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}

/// Whether the rows can be read, and each byte is `value`.
template <class R> bool holds(uform::Rows<R> const &rows, int value) {
    std::vector<float> values(rows.rows() * rows.columns(), 0);
    if (!rows.copy_to(std::span(values))) return false;
    auto const bytes = std::as_bytes(std::span(values));
    return std::ranges::all_of(bytes, [&](std::byte byte) { return byte == static_cast<std::byte>(value); });
}
/// Whether every way of reading rows is refused as stale.
template <class R> bool is_refused(uform::Rows<R> const &rows) {
    using uform::Status;
    std::vector<float> values(rows.rows() * rows.columns());
    bool refused = !rows.is_current() && status(rows.copy_to(std::span(values))) == Status::invalid_argument &&
                   status(rows.pin()) == Status::invalid_argument;
    if constexpr (R::host_accessible)
        refused = refused && status(rows.template values<float>()) == Status::invalid_argument &&
                  status(rows.template row<float>(0)) == Status::invalid_argument &&
                  status(rows.template matrix<float>()) == Status::invalid_argument;
    else refused = refused && status(rows.stream_wait(nullptr)) == Status::invalid_argument;
    return refused;
}
template <class R> bool is_refused(uform::RaggedRows<R> const &rows) {
    using uform::Status;
    return !rows.is_current() && status(rows.offsets()) == Status::invalid_argument &&
           status(rows.at(0)) == Status::invalid_argument && status(rows.pin()) == Status::invalid_argument &&
           is_refused(rows.flat());
}

/// Where one residency's tests run.
template <class R> struct World;
template <> struct World<uform::Ram> {
    uform::Executor<uform::Ram> executor = uform::Executor<uform::Ram>::with_threads(1).value();
};
template <> struct World<uform::Vram> {
    FakeDevice fake;
    uform::Executor<uform::Vram> executor = uform::Executor<uform::Vram>::for_device(0).value();
};

#endif // UFORM_TESTS_CUDA_FIXTURE_HPP
