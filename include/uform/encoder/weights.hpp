/// Finds the tensors of an encoder in a checkpoint, whatever spelling it uses, and reads their rows with checks.
#ifndef UFORM_ENCODER_WEIGHTS_HPP
#define UFORM_ENCODER_WEIGHTS_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string_view>

#include "uform/buffer.hpp"
#include "uform/checkpoint/tensor.hpp"
#include "uform/config.hpp"
#include "uform/kernels/finite.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"

namespace uform {

/// Where weights come from: a `Checkpoint`, or anything that finds tensors by name and names the file of each.
template <class Source>
concept WeightSource = requires(Source const &source, std::string_view name, TensorView const &tensor) {
    { source.find(name) } -> std::convertible_to<TensorView const *>;
    { source.file_of(tensor) } -> std::convertible_to<std::string_view>;
};

/// A tensor's name, put together from parts and numbers without an allocation. What passes 255 bytes is cut.
class TensorName {
    char text_[255] = {};
    std::uint8_t size_ = 0;

  public:
    UFORM_COLD explicit TensorName(MessagePart const &a, MessagePart const &b = no_part,
                                   MessagePart const &c = no_part) noexcept {
        append(a.text()), append(b.text()), append(c.text());
    }
    TensorName() noexcept = default;
    void append(std::string_view part) noexcept {
        std::size_t const count = part.size() < sizeof text_ - size_ ? part.size() : sizeof text_ - size_;
        if (count != 0) std::memcpy(text_ + size_, part.data(), count); // of an empty part the address may be null
        size_ = static_cast<std::uint8_t>(size_ + count);
    }
    [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }
};

/// A tensor that was found, of the shape wanted, and its file for messages.
struct FoundTensor {
    TensorView const *tensor = nullptr;
    std::string_view file;
};

/// The weights of one architecture under one prefix, such as `bert.` or none.
template <WeightSource Source> class Weights {
    Source const &source_;
    std::string_view prefix_;
    std::string_view file_; // that the probe stands in, else the place: where a missing tensor was looked for

    [[nodiscard]] UFORM_COLD static Error wrong_shape(FoundTensor const &found,
                                                      std::initializer_list<std::size_t> wanted) noexcept {
        auto const spell = [](TensorName &text, std::size_t const *extents, std::size_t count) {
            for (std::size_t i = 0; i < count; ++i) {
                if (i) text.append(", ");
                text.append(MessagePart(extents[i]).text());
            }
        };
        TensorName is, should_be;
        spell(is, found.tensor->shape.data(), found.tensor->shape.size());
        spell(should_be, wanted.begin(), wanted.size());
        return Error::of(Status::corrupt, found.file, ": tensor \"", found.tensor->name, "\" has the shape [",
                         is.text(), "], not [", should_be.text(), "] as the configuration says");
    }

  public:
    /// Picks the first prefix under which `probe` is found, else the first of all. `place` is what messages name where
    /// no file has the probe.
    UFORM_COLD Weights(Source const &source, std::initializer_list<std::string_view> prefixes, std::string_view probe,
                       std::string_view place) noexcept
        : source_(source), prefix_(*prefixes.begin()), file_(place) {
        for (std::string_view const prefix : prefixes)
            if (TensorView const *tensor = source.find(TensorName(prefix, probe).text())) {
                prefix_ = prefix, file_ = source.file_of(*tensor);
                break;
            }
    }

    /// Whether there is a tensor of that name, of any shape.
    [[nodiscard]] bool has(std::string_view name) const noexcept {
        return source_.find(TensorName(prefix_, name).text()) != nullptr;
    }
    /// The file that messages name where a tensor is missing.
    [[nodiscard]] std::string_view file() const noexcept { return file_; }

    /// The tensor of a name, or of its older name, which has the shape `wanted` and an element type that can be read.
    ///
    /// Errors  `corrupt` if it is missing or of another shape; `unsupported` for another element type.
    [[nodiscard]] UFORM_COLD Result<FoundTensor> find(std::initializer_list<std::size_t> wanted, std::string_view name,
                                                      std::string_view older = {}) const noexcept {
        TensorName const full(prefix_, name);
        TensorView const *tensor = source_.find(full.text());
        if (!tensor && !older.empty()) tensor = source_.find(TensorName(prefix_, older).text());
        if (!tensor) return Error::of(Status::corrupt, file_, ": tensor \"", full.text(), "\" is missing");
        FoundTensor const found = {tensor, source_.file_of(*tensor)};
        if (!tensor->has_shape(wanted)) return wrong_shape(found, wanted);
        if (tensor->scalar != Scalar::f32 && tensor->scalar != Scalar::f16 && tensor->scalar != Scalar::bf16)
            return Error::of(Status::unsupported, found.file, ": tensor \"", tensor->name, "\" holds ",
                             traits_of(tensor->dtype).name, "; weights are read from F32, F16 and BF16");
        return found;
    }
};

/// Whether a tensor's bytes can be read as floats where they lie.
[[nodiscard]] inline bool is_float_array(TensorView const &tensor) noexcept {
    return tensor.scalar == Scalar::f32 && reinterpret_cast<std::uintptr_t>(tensor.data) % alignof(float) == 0;
}

/// Answers `count` elements from `first` on as floats: where they lie, or widened into `row`, which holds as many.
/// Null if one isn't a number.
[[nodiscard]] UFORM_NEVER_INLINE inline float const *read_floats(TensorView const &tensor, std::size_t first,
                                                                 std::size_t count, float *row) noexcept {
    float const *floats = row;
    if (is_float_array(tensor)) floats = reinterpret_cast<float const *>(tensor.data) + first;
    else widen(tensor, first, count, row);
    return all_finite(floats, count) ? floats : nullptr;
}

/// The error for a tensor in which `read_floats` met something that isn't a number.
[[nodiscard]] UFORM_COLD inline Error not_finite(FoundTensor const &found) noexcept {
    return Error::of(Status::corrupt, found.file, ": tensor \"", found.tensor->name, "\" holds NaN or infinity");
}

} // namespace uform

#endif // UFORM_ENCODER_WEIGHTS_HPP
