/// A growable array that reports a failed allocation instead of throwing, for all memory on the path of a call.
#ifndef UFORM_BUFFER_HPP
#define UFORM_BUFFER_HPP

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "uform/config.hpp"

namespace uform {

/// What `Buffer::reserve` does where it grows, once for all types, whose elements take `size` bytes: moves the `used`
/// elements to a block for `count` or more. False if it can't be had, and nothing is changed then.
[[nodiscard]] UFORM_COLD inline bool grow_block(void *&data, std::size_t &capacity, std::size_t used, std::size_t count,
                                                std::size_t size) noexcept {
    std::size_t const most = (PTRDIFF_MAX - 64) / size, more = capacity + capacity / 2;
    if (count > most) return false;
    std::size_t const wanted = more < count ? count : more > most ? most : more;
    std::size_t const bytes = (wanted * size + 63) / 64 * 64;
    void *const block = std::aligned_alloc(64, bytes);
    if (!block) return false;
    if (used) std::memcpy(block, data, used * size);
    std::free(data);
    data = block, capacity = bytes / size;
    return true;
}

/// Elements of a trivial type, end to end, 64-byte aligned. Move-only.
///
/// What can fail answers `false` and leaves the content as it was. It grows by half or more, and never shrinks on its
/// own, so a buffer that saw its largest use allocates no more.
template <class T> class Buffer {
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T> && alignof(T) <= 64);

    T *data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;

  public:
    Buffer() noexcept = default;
    Buffer(Buffer &&other) noexcept { swap(other); }
    Buffer &operator=(Buffer &&other) noexcept {
        Buffer(std::move(other)).swap(*this);
        return *this;
    }
    ~Buffer() { std::free(data_); }

    void swap(Buffer &other) noexcept {
        T *const data = data_; // `std::swap` would be one more function of each type
        data_ = other.data_, other.data_ = data;
        std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
    }

    [[nodiscard]] T *data() noexcept { return data_; }
    [[nodiscard]] T const *data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T &operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] T const &operator[](std::size_t i) const noexcept { return data_[i]; }
    [[nodiscard]] T &back() noexcept { return data_[size_ - 1]; }
    [[nodiscard]] T *begin() noexcept { return data_; }
    [[nodiscard]] T *end() noexcept { return data_ + size_; }
    [[nodiscard]] T const *begin() const noexcept { return data_; }
    [[nodiscard]] T const *end() const noexcept { return data_ + size_; }
    [[nodiscard]] std::span<T> span() noexcept { return {data_, size_}; }
    [[nodiscard]] std::span<T const> span() const noexcept { return {data_, size_}; }

    /// Room for `count` elements in all, at least half as much again as before where it grows.
    [[nodiscard]] bool reserve(std::size_t count) noexcept {
        if (count <= capacity_) return true;
        void *data = data_;
        if (!grow_block(data, capacity_, size_, count, sizeof(T))) return false;
        data_ = static_cast<T *>(data);
        return true;
    }
    /// `count` elements; new ones hold anything.
    [[nodiscard]] bool resize(std::size_t count) noexcept {
        if (!reserve(count)) return false;
        size_ = count;
        return true;
    }
    [[nodiscard]] bool push_back(T value) noexcept {
        if (!reserve(size_ + 1)) return false;
        data_[size_++] = value;
        return true;
    }
    /// One more element, to be written where it lies; null where there is no memory.
    [[nodiscard]] T *push_blank() noexcept { return reserve(size_ + 1) ? data_ + size_++ : nullptr; }
    /// Copies `count` elements to the end. `values` may not lie in this buffer.
    [[nodiscard]] bool append(T const *values, std::size_t count) noexcept {
        if (count > SIZE_MAX - size_ || !reserve(size_ + count)) return false;
        if (count) std::memcpy(static_cast<void *>(data_ + size_), values, count * sizeof(T));
        size_ += count;
        return true;
    }
    void clear() noexcept { size_ = 0; }
    /// Drops what is past the first `count` elements.
    void truncate(std::size_t count) noexcept { size_ = count < size_ ? count : size_; }
    /// Gives the memory back.
    void release() noexcept { Buffer().swap(*this); }
};

} // namespace uform

#endif // UFORM_BUFFER_HPP
