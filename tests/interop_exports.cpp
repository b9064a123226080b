/// A shared library that publishes rows and exports them, for tools/interop_check.py to read with other libraries.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "uform/arena.hpp"
#include "uform/interop/arrow.hpp"
#include "uform/interop/dlpack.hpp"

namespace {

/// An arena with its current rows, in texts: a single one where they are exported as plain rows.
struct Exporter {
    uform::Arena<uform::Ram> arena;
    uform::RaggedRows<uform::Ram> texts;
};

template <class T>
bool publish(Exporter &to, std::span<std::uint32_t const> offsets, std::size_t columns, unsigned char const *bytes) {
    auto draft = to.arena.begin();
    if (!draft) return false;
    auto const place = draft->template place_ragged<T>(offsets.size() - 1, offsets.back(), columns);
    auto writing = std::move(*draft).commit();
    if (!writing) return false;
    auto const values = std::as_writable_bytes(writing->values(place));
    std::ranges::transform(bytes, bytes + values.size(), values.begin(), [](auto byte) { return std::byte{byte}; });
    std::ranges::copy(offsets, writing->offsets(place).begin());
    auto published = std::move(*writing).publish();
    if (published) to.texts = (*published)[place];
    return published.has_value();
}

template <class View> int fill(View const &view, ArrowSchema *schema, ArrowArray *array) {
    auto pinned = view.pin();
    if (!pinned) return static_cast<int>(pinned.error().status());
    auto const done = uform::to_arrow(*std::move(pinned), *schema, *array);
    return done ? 0 : static_cast<int>(done.error().status());
}

} // namespace

extern "C" {

void *interop_make() { return new (std::nothrow) Exporter; }
void interop_free(void *exporter) { delete static_cast<Exporter *>(exporter); }

/// Publishes the rows of texts, `[offsets[texts], columns]`, from bytes. Answers whether it was let in.
int interop_publish(void *exporter, int scalar, std::uint32_t const *offsets, std::size_t texts, std::size_t columns,
                    unsigned char const *bytes) {
    auto &to = *static_cast<Exporter *>(exporter);
    std::span const parts(offsets, texts + 1);
    switch (static_cast<uform::Scalar>(scalar)) {
    case uform::Scalar::f32: return publish<float>(to, parts, columns, bytes);
    case uform::Scalar::f16: return publish<uform::F16>(to, parts, columns, bytes);
    case uform::Scalar::bf16: return publish<uform::BF16>(to, parts, columns, bytes);
    case uform::Scalar::i8: return publish<std::int8_t>(to, parts, columns, bytes);
    case uform::Scalar::b1: return publish<uform::B1x8>(to, parts, columns, bytes);
    case uform::Scalar::u8: return publish<std::uint8_t>(to, parts, columns, bytes);
    case uform::Scalar::u32: return publish<std::uint32_t>(to, parts, columns, bytes);
    case uform::Scalar::u64: return publish<std::uint64_t>(to, parts, columns, bytes);
    }
    return 0;
}
void const *interop_data(void *exporter) { return static_cast<Exporter *>(exporter)->texts.flat().data(); }

/// A managed tensor of all rows, of version 1 or the older structure; null where it is refused.
void *interop_to_dlpack(void *exporter, int versioned) {
    auto pinned = static_cast<Exporter *>(exporter)->texts.flat().pin();
    if (!pinned) return nullptr;
    if (versioned) {
        auto tensor = uform::to_dlpack(*std::move(pinned));
        return tensor ? tensor->release() : nullptr;
    }
    auto tensor = uform::to_dlpack<uform::dlpack::ManagedTensor>(*std::move(pinned));
    return tensor ? tensor->release() : nullptr;
}
/// Fills the structures with all rows, or with those of texts. Answers a status.
int interop_to_arrow(void *exporter, ArrowSchema *schema, ArrowArray *array) {
    return fill(static_cast<Exporter *>(exporter)->texts.flat(), schema, array);
}
int interop_texts_to_arrow(void *exporter, ArrowSchema *schema, ArrowArray *array) {
    return fill(static_cast<Exporter *>(exporter)->texts, schema, array);
}
}
