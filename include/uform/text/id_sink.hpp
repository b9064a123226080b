/// Where the ids of a text go: they are counted, and the first of them kept.
#ifndef UFORM_TEXT_ID_SINK_HPP
#define UFORM_TEXT_ID_SINK_HPP

#include <cstddef>
#include <cstdint>

#include "uform/buffer.hpp"

namespace uform {

/// Counts ids and appends at most `limit` of them to a buffer. Threads: one at a time.
class IdSink {
    Buffer<std::uint32_t> &ids_;
    std::size_t first_, limit_, count_ = 0;

  public:
    IdSink(Buffer<std::uint32_t> &ids, std::size_t limit) noexcept : ids_(ids), first_(ids.size()), limit_(limit) {}

    /// The ids taken, kept or not.
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// False: no memory.
    [[nodiscard]] bool take(std::uint32_t id) noexcept {
        if (count_ < limit_ && !ids_.push_back(id)) return false;
        ++count_;
        return true;
    }
    /// Forgets all but the first `count` ids.
    void truncate(std::size_t count) noexcept {
        count_ = count;
        ids_.truncate(first_ + count); // of which there may be fewer, and then all stay
    }
};

} // namespace uform

#endif // UFORM_TEXT_ID_SINK_HPP
