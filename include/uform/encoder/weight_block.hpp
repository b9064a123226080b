/// The memory of packed weights: one block, on huge pages where the system gives them.
#ifndef UFORM_ENCODER_WEIGHT_BLOCK_HPP
#define UFORM_ENCODER_WEIGHT_BLOCK_HPP

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace uform {

/// A block of bytes that doesn't grow. Move-only; an empty one has no memory.
///
/// From 2 MiB on it is aligned to huge pages and asks for them: without them a product of 8 rows, which reads all
/// weights, takes a fifth longer. A refusal of huge pages is not an error.
class WeightBlock {
    static constexpr std::size_t huge_page_bytes = std::size_t{2} << 20, line_bytes = 64;
    std::byte *data_ = nullptr;
    std::size_t size_ = 0;

  public:
    WeightBlock() noexcept = default;
    WeightBlock(WeightBlock &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    WeightBlock &operator=(WeightBlock &&other) noexcept {
        std::swap(data_, other.data_), std::swap(size_, other.size_);
        return *this;
    }
    ~WeightBlock() { std::free(data_); }

    /// Takes `bytes` of memory, once; false if there is none to be had.
    [[nodiscard]] bool allocate(std::size_t bytes) noexcept {
        std::size_t const alignment = bytes >= huge_page_bytes ? huge_page_bytes : line_bytes;
        if (data_ || bytes > SIZE_MAX - alignment) return false;
        std::size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
        data_ = static_cast<std::byte *>(std::aligned_alloc(alignment, rounded ? rounded : line_bytes));
        if (!data_) return false;
        size_ = bytes;
#if defined(MADV_HUGEPAGE)
        if (alignment == huge_page_bytes) (void)madvise(data_, rounded, MADV_HUGEPAGE);
#endif
        return true;
    }
    [[nodiscard]] std::byte *data() noexcept { return data_; }
    [[nodiscard]] std::byte const *data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
};

} // namespace uform

#endif // UFORM_ENCODER_WEIGHT_BLOCK_HPP
