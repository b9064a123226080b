/// Sorting, heaps and binary search in plain arrays: `<algorithm>`, and what it instantiates for each sort, take a
/// twentieth of the time that all headers take.
#ifndef UFORM_SORT_HPP
#define UFORM_SORT_HPP

#include <cstddef>

namespace uform {

/// Moves the value at `hole` of a heap to its place among those below it; the greatest is the first. First the hole
/// sinks to the ground, as most values come from there, and then the value rises.
template <class T, class Less> void heap_settle(T *heap, std::size_t hole, std::size_t count, Less less) noexcept {
    T const value = heap[hole];
    std::size_t const top = hole;
    for (std::size_t child; (child = 2 * hole + 2) <= count; hole = child) {
        if (child == count || less(heap[child], heap[child - 1])) --child;
        heap[hole] = heap[child];
    }
    for (std::size_t parent; hole != top && less(heap[parent = (hole - 1) / 2], value); hole = parent)
        heap[hole] = heap[parent];
    heap[hole] = value;
}
/// Makes a heap of values in any order.
template <class T, class Less> void heap_make(T *heap, std::size_t count, Less less) noexcept {
    for (std::size_t i = count / 2; i-- != 0;) heap_settle(heap, i, count, less);
}
/// Makes the last value part of the heap before it.
template <class T, class Less> void heap_push(T *heap, std::size_t count, Less less) noexcept {
    std::size_t hole = count - 1;
    T const value = heap[hole];
    for (std::size_t parent; hole != 0 && less(heap[parent = (hole - 1) / 2], value); hole = parent)
        heap[hole] = heap[parent];
    heap[hole] = value;
}
/// Moves the greatest value behind the others, which are a heap again.
template <class T, class Less> void heap_pop(T *heap, std::size_t count, Less less) noexcept {
    T const last = heap[count - 1];
    heap[count - 1] = heap[0], heap[0] = last;
    if (count > 1) heap_settle(heap, 0, count - 1, less);
}

/// Sorts in place; what is equal comes in any order. Takes n log n steps and no memory.
template <class T, class Less> void heap_sort(T *values, std::size_t count, Less less) noexcept {
    heap_make(values, count, less);
    for (; count > 1; --count) heap_pop(values, count, less);
}

/// Sorts; of what is equal the first stays first. Takes n log n steps; `room` is for `count` values.
template <class T, class Less> void merge_sort(T *values, T *room, std::size_t count, Less less) noexcept {
    constexpr std::size_t run = 8; // values that are sorted by insertion
    for (std::size_t i = 1; i < count; ++i) {
        T const value = values[i];
        std::size_t hole = i;
        for (; hole % run != 0 && less(value, values[hole - 1]); --hole) values[hole] = values[hole - 1];
        values[hole] = value;
    }
    T *from = values, *to = room;
    for (std::size_t width = run; width < count; width *= 2) {
        for (std::size_t first = 0; first < count; first += 2 * width) {
            std::size_t const middle = count - first < width ? count : first + width;
            std::size_t const last = count - middle < width ? count : middle + width;
            std::size_t left = first, right = middle, i = first;
            while (left != middle && right != last) {
                bool const is_right = less(from[right], from[left]);
                to[i++] = from[is_right ? right : left];
                right += is_right, left += !is_right;
            }
            while (left != middle) to[i++] = from[left++];
            while (right != last) to[i++] = from[right++];
        }
        T *const swapped = from;
        from = to, to = swapped;
    }
    if (from != values)
        for (std::size_t i = 0; i != count; ++i) values[i] = from[i];
}

/// Sorts by the unsigned number `value.head`; of equal ones the first stays first. Of many values takes as many steps
/// as there are, for each byte in which the numbers differ; `room` is for `count` values.
template <class T> void radix_sort(T *values, T *room, std::size_t count) noexcept {
    constexpr std::size_t bytes = sizeof(values->head);
    if (count < 256)
        return merge_sort(values, room, count, [](T const &a, T const &b) noexcept { return a.head < b.head; });
    T *from = values, *to = room;
    for (std::size_t byte = 0; byte != bytes; ++byte) {
        std::size_t places[256] = {};
        auto const digit_of = [=](T const &value) noexcept { return value.head >> 8 * byte & 255; };
        for (std::size_t i = 0; i != count; ++i) ++places[digit_of(from[i])];
        if (places[digit_of(from[0])] == count) continue;
        for (std::size_t digit = 0, next = 0; digit != 256; ++digit) {
            std::size_t const first = next;
            next += places[digit], places[digit] = first;
        }
        for (std::size_t i = 0; i != count; ++i) to[places[digit_of(from[i])]++] = from[i];
        T *const swapped = from;
        from = to, to = swapped;
    }
    if (from != values)
        for (std::size_t i = 0; i != count; ++i) values[i] = from[i];
}

/// The place of the first of sorted values that isn't below; `count` where all are. `is_below(value)` tells.
template <class T, class IsBelow>
[[nodiscard]] constexpr std::size_t first_not_below(T const *values, std::size_t count, IsBelow is_below) noexcept {
    std::size_t first = 0;
    while (count != 0) {
        std::size_t const half = count / 2;
        if (is_below(values[first + half])) first += half + 1, count -= half + 1;
        else count = half;
    }
    return first;
}

} // namespace uform

#endif // UFORM_SORT_HPP
