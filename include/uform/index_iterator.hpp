/// A random-access iterator over anything small that has `[]`, answering by value.
#ifndef UFORM_INDEX_ITERATOR_HPP
#define UFORM_INDEX_ITERATOR_HPP

#include <compare>
#include <cstddef>
#include <iterator> // the tags
#include <utility>

namespace uform {

/// Holds a copy of its owner, which should be a view, and an index into it.
template <class Owner> class IndexIterator {
    Owner owner_{};
    std::ptrdiff_t at_ = 0;

  public:
    using value_type = decltype(std::declval<Owner const &>()[0]);
    using reference = value_type;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::random_access_iterator_tag;
    using iterator_category = std::input_iterator_tag; // its reference is a value

    IndexIterator() noexcept = default;
    IndexIterator(Owner owner, std::size_t at) noexcept : owner_(owner), at_(static_cast<std::ptrdiff_t>(at)) {}

    value_type operator*() const { return owner_[static_cast<std::size_t>(at_)]; }
    value_type operator[](difference_type n) const { return owner_[static_cast<std::size_t>(at_ + n)]; }
    IndexIterator &operator++() noexcept { return ++at_, *this; }
    IndexIterator &operator--() noexcept { return --at_, *this; }
    IndexIterator operator++(int) noexcept { return std::exchange(*this, *this + 1); }
    IndexIterator operator--(int) noexcept { return std::exchange(*this, *this - 1); }
    IndexIterator &operator+=(difference_type n) noexcept { return at_ += n, *this; }
    IndexIterator &operator-=(difference_type n) noexcept { return at_ -= n, *this; }
    friend IndexIterator operator+(IndexIterator a, difference_type n) noexcept { return a += n; }
    friend IndexIterator operator+(difference_type n, IndexIterator a) noexcept { return a += n; }
    friend IndexIterator operator-(IndexIterator a, difference_type n) noexcept { return a -= n; }
    friend difference_type operator-(IndexIterator const &a, IndexIterator const &b) noexcept { return a.at_ - b.at_; }
    friend bool operator==(IndexIterator const &a, IndexIterator const &b) noexcept { return a.at_ == b.at_; }
    friend auto operator<=>(IndexIterator const &a, IndexIterator const &b) noexcept { return a.at_ <=> b.at_; }
};

} // namespace uform

#endif // UFORM_INDEX_ITERATOR_HPP
