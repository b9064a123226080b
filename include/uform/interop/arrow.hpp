/// Hands rows to another library through Arrow's C data interface, without a copy: the arrays hold their pin.
///
///     auto pinned = encoded->embeddings().pin();
///     if (!pinned) return pinned.error();
///     ArrowSchema schema;
///     ArrowArray array;
///     if (auto done = uform::to_arrow(*std::move(pinned), schema, array); !done) return done.error();
///     auto imported = arrow::ImportArray(&array, &schema);        // which releases both
#ifndef UFORM_INTEROP_ARROW_HPP
#define UFORM_INTEROP_ARROW_HPP

#include "uform/config.hpp" // first: it refuses older standards by name

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <utility>

#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/view.hpp"

// The interface asks every library to declare these under this guard, in these words, so that several may meet.
// Source: arrow.apache.org/docs/format/CDataInterface.html
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

extern "C" {
struct ArrowSchema {
    char const *format, *name, *metadata;
    std::int64_t flags, n_children;
    ArrowSchema **children, *dictionary;
    void (*release)(ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    std::int64_t length, null_count, offset, n_buffers, n_children;
    void const **buffers;
    ArrowArray **children, *dictionary;
    void (*release)(ArrowArray *);
    void *private_data;
};
}
#endif // ARROW_C_DATA_INTERFACE

namespace uform {

/// One level of a nested array: a list's, or the values'.
struct ArrowLevel {
    char format[16]; // the longest is "+w:2147483647"
    std::int64_t length;
    std::int64_t n_buffers;
    void const *buffers[2]; // the first one is validity, null as there are no nulls
};
/// The levels of an array from the outermost in; each one but the last has the next as its only child.
struct ArrowLevels {
    static constexpr std::size_t most = 3;
    ArrowLevel level[most];
    std::size_t size = 0;

    void push_back(std::string_view format, std::size_t length, std::int64_t n_buffers, void const *values) noexcept {
        auto &next = level[size++];
        next = {{}, static_cast<std::int64_t>(length), n_buffers, {nullptr, values}};
        std::memcpy(next.format, format.data(), format.size());
    }
    /// The same with a number behind the format.
    void push_back_sized(std::string_view format, std::size_t each, std::size_t length, std::int64_t n_buffers,
                         void const *values) noexcept {
        push_back(format, length, n_buffers, values);
        MessagePart const digits(each);
        std::memcpy(level[size - 1].format + format.size(), digits.text().data(), digits.text().size());
    }
};

/// What the structures of one export share; the last one to be released frees it. A child that its consumer moved out
/// may outlive its parent, and still needs its own children, buffers or format.
template <class Node> struct ArrowShared {
    std::atomic<std::uint32_t> holders{0};
    Node inner[ArrowLevels::most - 1]{};
    Node *children[ArrowLevels::most - 1]{inner, inner + 1};

    /// The release callback of every structure that shares a `Block`.
    template <class Block> static void release(Node *node) noexcept {
        for (std::int64_t i = 0; i != node->n_children; ++i)
            if (auto *child = node->children[i]; child->release) child->release(child); // null: moved out
        auto *block = static_cast<Block *>(node->private_data);
        node->release = nullptr; // before the block goes, which the node may lie in
        if (block->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete block;
    }
    /// Fills what is alike in schemas and arrays: children, and who frees them.
    template <class Block> void link(Node &node, std::size_t depth, std::size_t size, Block *block) noexcept {
        node.n_children = depth + 1 != size;
        node.children = node.n_children ? children + depth : nullptr;
        node.release = release<Block>, node.private_data = block;
        holders.fetch_add(1, std::memory_order_relaxed);
    }
};
/// The types of an export.
struct ArrowSchemas : ArrowShared<ArrowSchema> {
    char formats[ArrowLevels::most][sizeof ArrowLevel::format];
};
/// The values of an export, with the pin of the rows that they are.
template <class View> struct ArrowArrays : ArrowShared<ArrowArray> {
    Pinned<View> rows;
    void const *buffers[ArrowLevels::most][2]{};

    explicit ArrowArrays(Pinned<View> held) noexcept : rows(std::move(held)) {}
};

/// Adds the levels of rows. Errors: `unsupported`.
[[nodiscard]] inline Result<void> add_arrow_rows(ArrowLevels &levels, Scalar scalar, std::size_t rows,
                                                 std::size_t columns, std::size_t stride, void const *data) noexcept {
    std::string_view format;
    switch (scalar) {
    case Scalar::f32: format = "f"; break;
    case Scalar::f16: format = "e"; break;
    case Scalar::i8: format = "c"; break;
    case Scalar::u8: format = "C"; break;
    case Scalar::u32: format = "I"; break;
    case Scalar::u64: format = "L"; break;
    case Scalar::b1: format = "w:"; break;
    case Scalar::bf16: break;
    }
    if (format.empty()) return Error::of(Status::unsupported, "Arrow has no type for ", scalar_name(scalar));
    if (std::size_t const tight = row_bytes(scalar, columns); stride != tight)
        return Error::of(Status::unsupported, "rows of ", tight, " bytes, ", stride, " apart: Arrow has no strides");
    if (rows > INT64_MAX)
        return Error::of(Status::unsupported, rows, " rows: Arrow counts to 9,223,372,036,854,775,807");
    std::size_t const each = scalar == Scalar::b1 ? stride : columns;
    if (each > INT32_MAX)
        return Error::of(Status::unsupported, "rows of ", each, ": Arrow's fixed sizes end at 2,147,483,647");
    if (scalar == Scalar::b1) {
        levels.push_back_sized(format, each, rows, 2, data);
    } else {
        levels.push_back_sized("+w:", each, rows, 1, nullptr);
        levels.push_back(format, rows * columns, 2, data); // no more than the bytes of an output, so it's in range
    }
    return {};
}

/// Fills the structures from the levels. Errors: `out_of_memory`, with nothing filled.
template <class View>
[[nodiscard]] Result<void> export_arrow(ArrowLevels const &levels, Pinned<View> held, ArrowSchema &schema,
                                        ArrowArray &array) noexcept {
    auto *types = new (std::nothrow) ArrowSchemas;
    std::unique_ptr<ArrowSchemas> guard(types);
    auto *values = types ? new (std::nothrow) ArrowArrays<View>(std::move(held)) : nullptr;
    if (!values) return Error::fixed(Status::out_of_memory, "no memory for the structures of Arrow");
    (void)guard.release(); // its holders free it
    for (std::size_t depth = 0; depth != levels.size; ++depth) {
        auto const &level = levels.level[depth];
        std::memcpy(types->formats[depth], level.format, sizeof level.format);
        auto &type = depth ? types->inner[depth - 1] : schema;
        type = {};
        type.format = types->formats[depth], type.name = depth ? "item" : "", type.flags = ARROW_FLAG_NULLABLE;
        types->link(type, depth, levels.size, types);

        std::memcpy(values->buffers[depth], level.buffers, sizeof level.buffers);
        auto &part = depth ? values->inner[depth - 1] : array;
        part = {};
        part.length = level.length, part.n_buffers = level.n_buffers, part.buffers = values->buffers[depth];
        values->link(part, depth, levels.size, values);
    }
    return {};
}

/// Hands pinned rows to another library through Arrow's C data interface: the same bytes. The pin goes with the array,
/// and its release callback lets it go, from any thread, also after the arena was freed. Until then a call on the arena
/// answers `contended`. A child that the consumer moves out of the array holds the pin too.
///
/// Type    `[rows, columns]` is `fixed_size_list<item: scalar>[columns]` of `rows`, of one column too (ids), so that
///         a type never hangs on a model's width; the child is the plain column. `b1` is `fixed_size_binary` of a row's
///         bytes: Arrow's own bits start at a byte's least significant, ours at its most. The structures' fields say
///         "nullable", as the types that a consumer writes by hand do by default, and there are no nulls.
/// Owner   `schema` and `array` are overwritten, not released before. Each is released once, by itself: by its
///         consumer, or with `array.release(&array)`, after which `release` is null.
/// Errors  `invalid_argument`: a stale view; `unsupported`: a scalar without a type in Arrow (`bf16`), or more columns
///         or rows than it counts (2,147,483,647; 9,223,372,036,854,775,807); `out_of_memory`; `contended` at 4,094
///         pins, as the array takes one before it drops yours. After an error the pin is still yours, and `schema` and
///         `array` are as they were.
/// Memory  two blocks of less than 512 bytes. Threads: any.
template <class R>
[[nodiscard]] Result<void> to_arrow(Pinned<Rows<R>> &&rows, ArrowSchema &schema, ArrowArray &array) noexcept
    requires(R::host_accessible) {
    Rows<R> const &view = rows;
    auto held = view.pin(); // its own: a guard that was moved from holds none, and it is checked in the same step
    if (!held) return held.error();
    ArrowLevels levels;
    if (auto added =
            add_arrow_rows(levels, view.scalar(), view.rows(), view.columns(), view.row_stride_bytes(), view.data());
        !added)
        return added.error();
    if (auto done = export_arrow<Rows<R>>(levels, *std::move(held), schema, array); !done) return done;
    Pinned<Rows<R>> const dropped = std::move(rows);
    return {};
}

/// As above, for the rows of texts: `list<item: fixed_size_list<item: scalar>[columns]>` of `size()`, or
/// `list<item: fixed_size_binary>` for `b1`. The offsets too are the same bytes.
///
/// Errors  as above, and `unsupported` for more than 2,147,483,647 rows of all texts: Arrow's offsets are signed.
template <class R>
[[nodiscard]] Result<void> to_arrow(Pinned<RaggedRows<R>> &&rows, ArrowSchema &schema, ArrowArray &array) noexcept
    requires(R::host_accessible) {
    RaggedRows<R> const &view = rows;
    auto held = view.pin();
    if (!held) return held.error();
    auto const offsets = view.offsets();
    if (!offsets) return offsets.error();
    if (offsets->back() > INT32_MAX)
        return Error::of(Status::unsupported, offsets->back(),
                         " rows of all texts: Arrow's offsets end at 2,147,483,647");
    ArrowLevels levels;
    levels.push_back("+l", view.size(), 2, offsets->data());
    Rows<R> const flat = view.flat();
    if (auto added =
            add_arrow_rows(levels, flat.scalar(), flat.rows(), flat.columns(), flat.row_stride_bytes(), flat.data());
        !added)
        return added.error();
    if (auto done = export_arrow<RaggedRows<R>>(levels, *std::move(held), schema, array); !done) return done;
    Pinned<RaggedRows<R>> const dropped = std::move(rows);
    return {};
}

} // namespace uform

#endif // UFORM_INTEROP_ARROW_HPP
