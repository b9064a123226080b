/// A growable array of what is read from a folder: the members of `std::vector`, instantiated for each of forty little
/// types, take a sixth of the time that all headers take.
#ifndef UFORM_LIST_HPP
#define UFORM_LIST_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "uform/config.hpp"

namespace uform {

/// Memory for `capacity` elements of `size` bytes each. Errors: `std::bad_alloc`.
[[nodiscard]] UFORM_COLD inline void *list_memory(std::size_t capacity, std::size_t size) {
    return ::operator new(capacity > PTRDIFF_MAX / size ? SIZE_MAX : capacity * size); // SIZE_MAX throws
}
/// The same with the first `used` elements of `data`, whose memory is given back, copied as bytes.
[[nodiscard]] UFORM_COLD inline void *move_list_memory(void *data, std::size_t used, std::size_t capacity,
                                                       std::size_t size) {
    void *const memory = list_memory(capacity, size);
    if (used) std::memcpy(memory, data, used * size);
    ::operator delete(data);
    return memory;
}

/// Elements of any type whose move doesn't throw, end to end. Grows to twice its size, and never shrinks. What is done
/// to plain bytes is done by functions that all types share, or where it is asked for.
///
/// Errors  `std::bad_alloc` where there is no memory, as of `std::vector`; the content stays as it was, but `assign`
///         empties the list first, and where copying an element throws those before it were added.
///         `Buffer` reports instead, and is for the path of a call.
template <class T> class List {
    T *data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;

    void destroy(std::size_t kept) noexcept {
        if constexpr (std::is_trivially_destructible_v<T>) size_ = kept;
        else
            while (size_ != kept) data_[--size_].~T();
    }
    UFORM_COLD void release() noexcept {
        destroy(0);
        ::operator delete(data_);
    }
    static void move_one(T *to, T *from) noexcept {
        ::new (static_cast<void *>(to)) T(std::move(*from));
        from->~T();
    }
    UFORM_COLD void move_each_to(std::size_t capacity) {
        auto *const data = static_cast<T *>(list_memory(capacity, sizeof(T)));
        for (std::size_t i = 0; i != size_; ++i) move_one(data + i, data_ + i);
        ::operator delete(data_);
        data_ = data, capacity_ = capacity;
    }
    void move_to(std::size_t capacity) {
        static_assert(noexcept(T(std::declval<T &&>())) && alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
        if constexpr (std::is_trivially_copyable_v<T>) {
            data_ = static_cast<T *>(move_list_memory(data_, size_, capacity, sizeof(T)));
            capacity_ = capacity;
        } else {
            move_each_to(capacity);
        }
    }
    void make_room() {
        if (size_ == capacity_) move_to(size_ ? 2 * size_ : 1);
    }

  public:
    List() noexcept = default;
    /// `count` elements of no value.
    UFORM_COLD explicit List(std::size_t count) : List() { resize(count); }
    UFORM_COLD List(std::initializer_list<T> values) : List() { append(values); }
    UFORM_COLD List(List const &other) : List() { append(other.data_, other.size_); }
    List(List &&other) noexcept : List() { swap(other); }
    List &operator=(List other) noexcept {
        swap(other);
        return *this;
    }
    ~List() {
        if constexpr (std::is_trivially_destructible_v<T>) ::operator delete(data_);
        else release();
    }
    void swap(List &other) noexcept {
        T *const data = data_; // `std::swap` would be one more function of each type
        data_ = other.data_, other.data_ = data;
        std::swap(size_, other.size_), std::swap(capacity_, other.capacity_);
    }

    [[nodiscard]] T *data() noexcept { return data_; }
    [[nodiscard]] T const *data() const noexcept { return data_; }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    [[nodiscard]] T &operator[](std::size_t i) noexcept { return data_[i]; }
    [[nodiscard]] T const &operator[](std::size_t i) const noexcept { return data_[i]; }
    [[nodiscard]] T &back() noexcept { return data_[size_ - 1]; }
    [[nodiscard]] T const &back() const noexcept { return data_[size_ - 1]; }
    [[nodiscard]] T *begin() noexcept { return data_; }
    [[nodiscard]] T *end() noexcept { return data_ + size_; }
    [[nodiscard]] T const *begin() const noexcept { return data_; }
    [[nodiscard]] T const *end() const noexcept { return data_ + size_; }
    [[nodiscard]] std::span<T const> span() const noexcept { return {data_, size_}; }
    [[nodiscard]] bool operator==(List const &other) const {
        if (size_ != other.size_) return false;
        for (std::size_t i = 0; i != size_; ++i)
            if (!(data_[i] == other.data_[i])) return false;
        return true;
    }

    /// Room for `count` elements in all.
    void reserve(std::size_t count) {
        if (count > capacity_) move_to(count);
    }
    /// Adds an element, and answers where it lies until the next one is added.
    UFORM_COLD T &push_back(T value) {
        make_room();
        T *const place = ::new (static_cast<void *>(data_ + size_)) T(std::move(value));
        ++size_;
        return *place;
    }
    /// Copies elements, none of which may lie in this list, to the end.
    UFORM_COLD void append(T const *values, std::size_t count) {
        reserve(size_ + count);
        for (std::size_t i = 0; i != count; ++i, ++size_) ::new (static_cast<void *>(data_ + size_)) T(values[i]);
    }
    void append(std::initializer_list<T> values) { append(values.begin(), values.size()); }
    /// Moves what lies at `index` and behind by one element.
    UFORM_COLD void insert(std::size_t index, T value) {
        make_room();
        for (std::size_t i = size_; i != index; --i) move_one(data_ + i, data_ + i - 1);
        ::new (static_cast<void *>(data_ + index)) T(std::move(value));
        ++size_;
    }
    void pop_back() noexcept { destroy(size_ - 1); }
    void clear() noexcept { destroy(0); }
    /// `count` elements; new ones have no value.
    UFORM_COLD void resize(std::size_t count) {
        if (count <= size_) return destroy(count);
        if (count > capacity_) move_to(count > 2 * capacity_ ? count : 2 * capacity_);
        for (; size_ != count; ++size_) ::new (static_cast<void *>(data_ + size_)) T();
    }
    /// `count` copies of a value, in place of what was there.
    UFORM_COLD void assign(std::size_t count, T const &value) {
        clear(), reserve(count);
        for (; size_ != count; ++size_) ::new (static_cast<void *>(data_ + size_)) T(value);
    }
    /// Drops the elements of which `is_dropped(element)` is true.
    template <class IsDropped> void erase_if(IsDropped is_dropped) noexcept {
        std::size_t kept = 0;
        for (std::size_t i = 0; i != size_; ++i)
            if (!is_dropped(data_[i])) {
                if (kept != i) data_[kept] = std::move(data_[i]);
                ++kept;
            }
        destroy(kept);
    }
};

} // namespace uform

#endif // UFORM_LIST_HPP
