/// Where the ids of a text go: they are counted, and the first of them kept.
#ifndef UFORM_TEXT_ID_SINK_HPP
#define UFORM_TEXT_ID_SINK_HPP

#include <cstddef>
#include <cstdint>

#include "uform/buffer.hpp"
#include "uform/text/traced_text.hpp"

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
    /// The same; which bytes of its word a token stands for is not asked.
    [[nodiscard]] bool take(std::uint32_t id, std::size_t, std::size_t) noexcept { return take(id); }
    /// A word begins, or an added token: not asked either.
    void begin(TracedPiece, bool) noexcept {}
    /// Forgets all but the first `count` ids.
    void truncate(std::size_t count) noexcept {
        count_ = count;
        ids_.truncate(first_ + count); // of which there may be fewer, and then all stay
    }
};

} // namespace uform

#endif // UFORM_TEXT_ID_SINK_HPP
