/// What the tests of an arena's memory share: calls that write one value, and what rows then hold.
#ifndef UFORM_TESTS_ARENA_FIXTURE_HPP
#define UFORM_TESTS_ARENA_FIXTURE_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "uform/arena.hpp"

inline std::size_t const page = uform::HostPages::page_bytes();

template <class T> uform::Status status(uform::Result<T> const &result) {
    return result ? uform::Status::success : result.error().status();
}

/// `outputs` outputs of `bytes` each, the last one of one value, published; its rows. A multiple of 64 bytes takes
/// exactly as many. Any may be refused.
inline uform::Result<uform::Rows<uform::Ram>> fill(uform::Arena<uform::Ram> &arena, std::size_t bytes,
                                                   std::uint8_t value, int outputs = 1) {
    auto draft = arena.begin();
    if (!draft) return draft.error();
    uform::Place<std::uint8_t> place;
    for (int i = 0; i != outputs; ++i) place = draft->place<std::uint8_t>(bytes / 64, 64);
    auto writing = std::move(*draft).commit();
    if (!writing) return writing.error();
    std::ranges::fill(writing->values(place), value);
    auto published = std::move(*writing).publish();
    if (!published) return published.error();
    return (*published)[place];
}
inline bool holds(uform::Rows<uform::Ram> const &rows, std::uint8_t value) {
    auto const values = rows.values<std::uint8_t>();
    return values && std::ranges::all_of(*values, [&](auto v) { return v == value; });
}

#endif // UFORM_TESTS_ARENA_FIXTURE_HPP
