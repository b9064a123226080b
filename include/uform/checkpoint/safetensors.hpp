/// A safetensors file: mapped, and checked whole before any tensor is handed out.
#ifndef UFORM_CHECKPOINT_SAFETENSORS_HPP
#define UFORM_CHECKPOINT_SAFETENSORS_HPP

#include <cstddef>
#include <cstdint>
#include <iterator> // std::size
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "uform/buffer.hpp"
#include "uform/checkpoint/tensor.hpp"
#include "uform/config.hpp"
#include "uform/file.hpp"
#include "uform/json.hpp"
#include "uform/sort.hpp"
#include "uform/status.hpp"

namespace uform {

/// The longest header that is read, in bytes, as in the reference.
inline constexpr std::size_t safetensors_header_bytes_k = 100'000'000;

/// An open safetensors file and its table of tensors. Move-only; moving leaves views valid.
///
/// Memory  the mapping, a copy of the header, and a table. Threads: any may read at the same time.
/// Source  the format's page, and what the `safetensors` library does, release 0.8. What it refuses is refused; beyond
///         it, as the page asks, a header that starts with another character than `{`, and a name given twice.
class Safetensors {
    /// A tensor as the header describes it, its bytes counted from the end of the header.
    struct Entry {
        std::string_view name;
        std::size_t begin, end, extents, rank;
        DType dtype;
    };
    File file_;
    Json header_;
    Buffer<std::size_t> extents_; // of all shapes, end to end
    Buffer<TensorView> tensors_;  // by name

    [[nodiscard]] UFORM_COLD Error corrupt(MessagePart const &a, MessagePart const &b = no_part,
                                           MessagePart const &c = no_part, MessagePart const &d = no_part,
                                           MessagePart const &e = no_part) const noexcept {
        return Error::of(Status::corrupt, file_.path(), ": ", a, b, c, d, e);
    }
    [[nodiscard]] UFORM_COLD Error corrupt_tensor(std::string_view name, MessagePart const &a,
                                                  MessagePart const &b = no_part, MessagePart const &c = no_part,
                                                  MessagePart const &d = no_part,
                                                  MessagePart const &e = no_part) const noexcept {
        return Error::of(Status::corrupt, file_.path(), ": tensor \"", name, "\": ", a, b, c, d, e);
    }
    [[nodiscard]] UFORM_COLD Error no_memory() const noexcept {
        return Error::of(Status::out_of_memory, file_.path(), ": no memory for the table of tensors");
    }

    [[nodiscard]] Result<void> check_metadata(JsonValue metadata) const noexcept;
    [[nodiscard]] Result<Entry> read_entry(std::string_view name, JsonValue fields) noexcept;
    [[nodiscard]] Result<void> check_places(Buffer<Entry> &entries, std::size_t data_bytes) const noexcept;
    [[nodiscard]] Result<void> make_table(Buffer<Entry> const &entries, std::byte const *data,
                                          std::uint32_t index) noexcept;

  public:
    /// Maps and checks a file; `index` is what its tensors' `file` will be.
    ///
    /// Errors  `io` if it can't be mapped; `corrupt`, naming the file and the tensor, what was found and what was
    ///         wanted; `out_of_memory`. Time: the header's, whatever the size of the tensors.
    [[nodiscard]] static Result<Safetensors> open(std::string const &path, std::uint32_t index = 0);

    [[nodiscard]] std::string const &path() const noexcept UFORM_LIFETIMEBOUND { return file_.path(); }
    /// All tensors, sorted by name.
    [[nodiscard]] std::span<TensorView const> tensors() const noexcept UFORM_LIFETIMEBOUND { return tensors_.span(); }
    /// The pages of the mapping go back, the content stays: see `File::drop_pages`.
    void drop_pages() const noexcept { file_.drop_pages(); }
};

UFORM_COLD inline Result<void> Safetensors::check_metadata(JsonValue metadata) const noexcept {
    if (metadata.is(JsonKind::null)) return {};
    if (!metadata.is(JsonKind::object))
        return corrupt("__metadata__ is a JSON ", json_kind_name(metadata.kind()), ", not an object");
    for (std::size_t i = 0; i != metadata.size(); ++i)
        if (!metadata[i].is(JsonKind::string))
            return corrupt("__metadata__: ", metadata.key(i), " is a JSON ", json_kind_name(metadata[i].kind()),
                           ", not a string");
    return {};
}

UFORM_COLD inline Result<Safetensors::Entry> Safetensors::read_entry(std::string_view name, JsonValue fields) noexcept {
    if (!fields.is(JsonKind::object))
        return corrupt_tensor(name, "described by a JSON ", json_kind_name(fields.kind()), ", not by an object");
    constexpr std::string_view wanted[3] = {"dtype", "shape", "data_offsets"};
    JsonValue found[3];
    for (std::size_t i = 0; i != fields.size(); ++i) // other fields are left alone, as the reference does
        for (std::size_t field = 0; field != 3; ++field)
            if (fields.key(i) == wanted[field]) {
                if (found[field]) return corrupt_tensor(name, "two fields are called ", wanted[field]);
                found[field] = fields[i];
            }
    for (std::size_t field = 0; field != 3; ++field)
        if (!found[field]) return corrupt_tensor(name, "lacks its ", wanted[field]);

    auto const [type, shape, offsets] = found;
    if (!type.string())
        return corrupt_tensor(name, "its dtype is a JSON ", json_kind_name(type.kind()), ", not a string");
    std::size_t dtype = 0;
    while (dtype != std::size(dtype_traits_k) && dtype_traits_k[dtype].name != *type.string()) ++dtype;
    if (dtype == std::size(dtype_traits_k)) return corrupt_tensor(name, "unknown dtype ", *type.string());

    if (!shape.is(JsonKind::array))
        return corrupt_tensor(name, "its shape is a JSON ", json_kind_name(shape.kind()), ", not an array");
    std::size_t const first_extent = extents_.size();
    std::size_t bits = 1;
    bool overflows = false;
    for (std::size_t i = 0; i != shape.size(); ++i) {
        auto const extent = shape[i].natural();
        if (!extent) return corrupt_tensor(name, "extent ", i, " of its shape isn't an integer of 0 or more");
        overflows |= __builtin_mul_overflow(bits, *extent, &bits);
        if (!extents_.push_back(*extent)) return no_memory();
    }
    overflows |= __builtin_mul_overflow(bits, std::size_t{dtype_traits_k[dtype].bits}, &bits);
    if (overflows) return corrupt_tensor(name, "its shape has more elements than can be counted");
    if (bits % 8 != 0)
        return corrupt_tensor(name, "its elements of ", dtype_traits_k[dtype].bits, " bits don't fill whole bytes");

    auto const begin = offsets[0].natural(), end = offsets[1].natural();
    if (!offsets.is(JsonKind::array) || offsets.size() != 2 || !begin || !end)
        return corrupt_tensor(name, "its data_offsets aren't two integers of 0 or more");
    if (*begin > *end) return corrupt_tensor(name, "its data_offsets fall from ", *begin, " to ", *end);
    if (*end - *begin != bits / 8)
        return corrupt_tensor(name, "its data_offsets span ", *end - *begin, " bytes, its dtype and shape take ",
                              bits / 8);
    return Entry{name, *begin, *end, first_extent, shape.size(), static_cast<DType>(dtype)};
}

UFORM_COLD inline Result<void> Safetensors::check_places(Buffer<Entry> &entries,
                                                         std::size_t data_bytes) const noexcept {
    heap_sort(entries.data(), entries.size(), [](Entry const &a, Entry const &b) noexcept {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    std::size_t expected = 0;
    for (Entry const &entry : entries) {
        if (entry.begin != expected)
            return corrupt_tensor(entry.name, "it starts at byte ", entry.begin, " of the data, but ",
                                  entry.begin < expected ? "the tensor before it overlaps it up to "
                                                         : "the tensors before it leave a hole from ",
                                  expected);
        if (entry.end > data_bytes)
            return corrupt_tensor(entry.name, "it ends at byte ", entry.end, " of the data, but the file has only ",
                                  data_bytes);
        expected = entry.end;
    }
    if (expected != data_bytes)
        return corrupt("the tensors take ", expected, " bytes, but ", data_bytes, " follow the header");
    return {};
}

UFORM_COLD inline Result<void> Safetensors::make_table(Buffer<Entry> const &entries, std::byte const *data,
                                                       std::uint32_t index) noexcept {
    if (!tensors_.reserve(entries.size())) return no_memory();
    for (Entry const &entry : entries) {
        TensorView const tensor{.name = entry.name,
                                .dtype = entry.dtype,
                                .scalar = traits_of(entry.dtype).scalar,
                                .file = index,
                                .shape = extents_.span().subspan(entry.extents, entry.rank),
                                .data = data + entry.begin,
                                .bytes = entry.end - entry.begin};
        if (!tensors_.push_back(tensor)) return no_memory();
    }
    sort_by_name(tensors_.span());
    for (std::size_t i = 1; i < tensors_.size(); ++i)
        if (tensors_[i - 1].name == tensors_[i].name)
            return corrupt_tensor(tensors_[i].name, "the header names it twice");
    return {};
}

UFORM_COLD inline Result<Safetensors> Safetensors::open(std::string const &path, std::uint32_t index) {
    auto file = File::map(path);
    if (!file) return file.error();
    Safetensors opened;
    opened.file_ = *std::move(file);

    auto const bytes = opened.file_.bytes();
    if (bytes.size() < 8) return opened.corrupt("only ", bytes.size(), " bytes, too few for a safetensors file");
    if (opened.file_.text().starts_with("version https://git-lfs"))
        return opened.corrupt("a pointer of Git LFS, not the weights: fetch them with `git lfs pull`");
    std::uint64_t header_bytes = 0;
    for (unsigned i = 0; i != 8; ++i) header_bytes |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
    if (header_bytes > safetensors_header_bytes_k)
        return opened.corrupt("a header of ", header_bytes, " bytes, at most ", safetensors_header_bytes_k,
                              " are allowed: not a safetensors file?");
    if (header_bytes > bytes.size() - 8)
        return opened.corrupt("a header of ", header_bytes, " bytes, but only ", bytes.size() - 8,
                              " follow: the file was cut short");
    auto const header = opened.file_.text().substr(8, header_bytes);
    if (!header.starts_with('{')) return opened.corrupt("its header doesn't start with {: not a safetensors file?");
    auto json = Json::parse(header, path);
    if (!json) return json.error();
    opened.header_ = *std::move(json);

    JsonValue const root = opened.header_.root();
    Buffer<Entry> entries;
    if (!entries.reserve(root.size())) return opened.no_memory();
    bool has_metadata = false;
    for (std::size_t i = 0; i != root.size(); ++i) {
        if (root.key(i) == "__metadata__") {
            if (std::exchange(has_metadata, true)) return opened.corrupt("the header has two __metadata__");
            if (auto checked = opened.check_metadata(root[i]); !checked) return checked.error();
            continue;
        }
        auto entry = opened.read_entry(root.key(i), root[i]);
        if (!entry) return entry.error();
        if (!entries.push_back(*entry)) return opened.no_memory();
    }
    auto const data = bytes.subspan(8 + header_bytes);
    if (auto checked = opened.check_places(entries, data.size()); !checked) return checked.error();
    if (auto made = opened.make_table(entries, data.data(), index); !made) return made.error();
    return opened;
}

} // namespace uform

#endif // UFORM_CHECKPOINT_SAFETENSORS_HPP
