/// How a call ended: `Status`, the `Error` that says what and where, and `Result<T>`, a value or an error.
#ifndef UFORM_STATUS_HPP
#define UFORM_STATUS_HPP

#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "uform/config.hpp"

namespace uform {

/// How a call ended. The numbers are those of the C ABI and never change.
enum class Status : int {
    success = 0,
    invalid_argument, ///< bad input, or a view that is stale
    device,           ///< host access to device memory, or a failure of the device
    contended,        ///< the arena serves another call, or a reader holds it
    out_of_memory,    ///< memory, address space or a limit that the caller set
    unsupported,      ///< a checkpoint, output or scalar that this build can't serve
    corrupt,          ///< a damaged file, or weights and results that aren't numbers
    io,               ///< a file that can't be opened, mapped or read
    cancelled,        ///< the caller asked the call to stop
};

/// The status' name, as it is spelt in the enumeration. Static storage.
[[nodiscard]] constexpr std::string_view status_name(Status status) noexcept {
    constexpr std::string_view names[] = {"success",     "invalid_argument", "device", "contended", "out_of_memory",
                                          "unsupported", "corrupt",          "io",     "cancelled"};
    auto const index = static_cast<std::size_t>(status);
    return index < std::size(names) ? names[index] : std::string_view("unknown");
}

/// Prints the name on any stream that takes a `std::string_view`, so that `<ostream>` need not be included.
template <class Stream>
    requires requires(Stream &stream, std::string_view text) { stream << text; }
Stream &operator<<(Stream &stream, Status status) {
    stream << status_name(status);
    return stream;
}

/// A piece of an error's message: text, or an integer in decimal.
class MessagePart {
    std::string_view text_;
    char digits_[24]; // of an integer

    UFORM_COLD void spell(std::uint64_t magnitude, bool is_negative) noexcept {
        char *const end = digits_ + sizeof digits_, *first = end;
        do *--first = static_cast<char>('0' + magnitude % 10);
        while (magnitude /= 10);
        if (is_negative) *--first = '-';
        text_ = {first, static_cast<std::size_t>(end - first)};
    }

  public:
    /// No text.
    constexpr MessagePart() noexcept : digits_() {}
    UFORM_COLD MessagePart(std::string_view text UFORM_LIFETIMEBOUND) noexcept : text_(text) {}
    UFORM_COLD MessagePart(std::string const &text UFORM_LIFETIMEBOUND) noexcept : text_(text) {}
    UFORM_COLD MessagePart(char const *text UFORM_LIFETIMEBOUND) noexcept : text_(text) {}
    UFORM_COLD MessagePart(long long number) noexcept {
        auto const bits = static_cast<std::uint64_t>(number);
        spell(number < 0 ? std::uint64_t{0} - bits : bits, number < 0);
    }
    UFORM_COLD MessagePart(unsigned long long number) noexcept { spell(number, false); }
    MessagePart(int number) noexcept : MessagePart(static_cast<long long>(number)) {}
    MessagePart(long number) noexcept : MessagePart(static_cast<long long>(number)) {}
    MessagePart(unsigned number) noexcept : MessagePart(static_cast<unsigned long long>(number)) {}
    MessagePart(unsigned long number) noexcept : MessagePart(static_cast<unsigned long long>(number)) {}
    MessagePart(MessagePart const &) = delete; // `text_` may point into `digits_`
    MessagePart &operator=(MessagePart const &) = delete;

    [[nodiscard]] std::string_view text() const noexcept UFORM_LIFETIMEBOUND { return text_; }
};

/// Stands for each part that a message doesn't have.
inline constexpr MessagePart no_part;

/// The parts end to end: one function for every text that is put together while a folder is loaded, where each `+` of
/// strings would be built in place. Errors: `std::bad_alloc`.
[[nodiscard]] UFORM_COLD inline std::string joined(MessagePart const &a, MessagePart const &b = no_part,
                                                   MessagePart const &c = no_part, MessagePart const &d = no_part,
                                                   MessagePart const &e = no_part, MessagePart const &f = no_part,
                                                   MessagePart const &g = no_part, MessagePart const &h = no_part) {
    std::string text;
    for (auto const *part : {&a, &b, &c, &d, &e, &f, &g, &h}) text += part->text();
    return text;
}

/// What went wrong: a status that isn't `success`, and a message that names the file, tensor, argument or limit.
///
/// Memory  the message is one block that copies share; where it can't be had, a fixed text stands in its place.
///         Nothing here throws. Threads: distinct objects, also copies of one, may be used from any threads.
class Error : public std::exception {
    struct Block {
        std::atomic<std::uint32_t> references;
        std::size_t size;
        char *text() noexcept { return reinterpret_cast<char *>(this + 1); }
    };
    Status status_;
    Block *block_ = nullptr;
    char const *text_ = ""; // ends with a zero, in `block_` or in static storage
    std::size_t size_ = 0;

    UFORM_COLD void drop() noexcept {
        if (block_ && block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) std::free(block_);
        block_ = nullptr;
    }
    void share(Error const &other) noexcept {
        status_ = other.status_, block_ = other.block_, text_ = other.text_, size_ = other.size_;
        if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
    }
    char *allocate(std::size_t size) noexcept {
        void *memory = size > SIZE_MAX / 2 ? nullptr : std::malloc(sizeof(Block) + size + 1);
        if (!memory) {
            constexpr std::string_view stand_in = "no memory was left for the message";
            text_ = stand_in.data(), size_ = stand_in.size();
            return nullptr;
        }
        block_ = ::new (memory) Block{{1}, size};
        block_->text()[size] = '\0';
        text_ = block_->text(), size_ = size;
        return block_->text();
    }
    UFORM_COLD explicit Error(Status status) noexcept : status_(status) {}
    UFORM_COLD Error(Status status, char const *message, std::size_t size) noexcept
        : status_(status), text_(message), size_(size) {}

  public:
    /// Copies the message.
    UFORM_COLD Error(Status status, std::string_view message) noexcept : status_(status) {
        if (char *text = allocate(message.size()); text && !message.empty())
            std::memcpy(text, message.data(), message.size());
    }

    /// An error whose message is a literal: it allocates nothing.
    template <std::size_t size> [[nodiscard]] static Error fixed(Status status, char const (&message)[size]) noexcept {
        return Error(status, message, size - 1);
    }

    /// An error whose message is its parts end to end, at most twelve:
    /// `Error::of(Status::io, path, ": ", bytes, " bytes")`.
    [[nodiscard]] UFORM_COLD static Error of(Status status, MessagePart const &a, MessagePart const &b = no_part,
                                             MessagePart const &c = no_part, MessagePart const &d = no_part,
                                             MessagePart const &e = no_part, MessagePart const &f = no_part,
                                             MessagePart const &g = no_part, MessagePart const &h = no_part,
                                             MessagePart const &i = no_part, MessagePart const &j = no_part,
                                             MessagePart const &k = no_part, MessagePart const &l = no_part) noexcept {
        MessagePart const *const parts[] = {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j, &k, &l};
        std::size_t size = 0;
        for (auto const *part : parts) size += part->text().size();
        Error error(status);
        if (char *text = error.allocate(size))
            for (auto const *part : parts) {
                if (!part->text().empty()) std::memcpy(text, part->text().data(), part->text().size());
                text += part->text().size();
            }
        return error;
    }

    UFORM_COLD Error(Error const &other) noexcept : std::exception(other) { share(other); } // also where it is moved
    Error &operator=(Error const &other) noexcept {
        Error const keep(other); // may be this one
        drop(), share(keep);
        return *this;
    }
    UFORM_COLD ~Error() override { drop(); }

    [[nodiscard]] Status status() const noexcept { return status_; }
    [[nodiscard]] std::string_view message() const noexcept UFORM_LIFETIMEBOUND { return {text_, size_}; }
    [[nodiscard]] char const *what() const noexcept UFORM_LIFETIMEBOUND override { return text_; }
};

template <class T> class Result;

/// What a callable given to `and_then` must answer: a `Result` of anything.
template <class T> inline constexpr bool is_result = false;
template <class T> inline constexpr bool is_result<Result<T>> = true;

/// A value or an error, with the interface of `std::expected<T, Error>`.
///
/// From an rvalue everything is answered by value, so that a chain of calls in a range-for doesn't dangle.
/// `value()` throws the `Error` where exceptions are on, and aborts where they are off; `*`, `->` and `error()` don't
/// check: ask `has_value()` first.
template <class T> class [[nodiscard]] Result {
    struct Nothing {};
    using Stored = std::conditional_t<std::is_void_v<T>, Nothing, T>;
    static constexpr bool is_void = std::is_void_v<T>;
    static_assert(is_void || std::is_object_v<T>, "a result holds a value, or void");

    union {
        Stored value_;
        Error error_;
    };
    bool has_value_;

    void destroy() noexcept {
        if (has_value_) value_.~Stored();
        else error_.~Error();
    }
    template <class Other> void construct(Other &&other) {
        if (other.has_value_) ::new (static_cast<void *>(&value_)) Stored(std::forward<Other>(other).value_);
        else ::new (static_cast<void *>(&error_)) Error(std::forward<Other>(other).error_);
        has_value_ = other.has_value_;
    }
    /// Leaves an error where a value's move throws in an assignment.
    struct Repair {
        Result *result;
        ~Repair() {
            if (!result) return;
            ::new (static_cast<void *>(&result->error_))
                Error(Error::fixed(Status::invalid_argument, "moving the value threw"));
            result->has_value_ = false;
        }
    };
    // Always inlined: a unit with exceptions and one without may meet in a program, and each keeps its own.
    UFORM_ALWAYS_INLINE void check() const {
        if (has_value_) return;
#if UFORM_EXCEPTIONS
        throw Error(error_);
#else
        std::abort();
#endif
    }
    template <class Self, class F> static decltype(auto) call(Self &&self, F &&f) {
        if constexpr (is_void) return std::forward<F>(f)();
        else return std::forward<F>(f)(std::forward<Self>(self).value_);
    }
    template <class Self, class F> static auto bind(Self &&self, F &&f) {
        using Next = std::remove_cvref_t<decltype(call(std::forward<Self>(self), std::forward<F>(f)))>;
        static_assert(is_result<Next>, "and_then takes a callable that answers a Result");
        if (self.has_value_) return Next(call(std::forward<Self>(self), std::forward<F>(f)));
        return Next(std::forward<Self>(self).error_);
    }
    template <class Self, class F> static auto map(Self &&self, F &&f) {
        using Next = std::remove_cvref_t<decltype(call(std::forward<Self>(self), std::forward<F>(f)))>;
        if (!self.has_value_) return Result<Next>(std::forward<Self>(self).error_);
        if constexpr (std::is_void_v<Next>) {
            call(std::forward<Self>(self), std::forward<F>(f));
            return Result<void>();
        } else {
            return Result<Next>(call(std::forward<Self>(self), std::forward<F>(f)));
        }
    }

  public:
    using value_type = T;
    using error_type = Error;

    Result() noexcept requires is_void : value_(), has_value_(true) {}
    Result(Stored value) noexcept(std::is_nothrow_move_constructible_v<Stored>) requires(!is_void)
        : value_(std::move(value)), has_value_(true) {}
    Result(Error const &error) noexcept : error_(error), has_value_(false) {} // shares the message

    Result(Result const &other) requires std::is_copy_constructible_v<Stored> { construct(other); }
    Result(Result &&other) noexcept(std::is_nothrow_move_constructible_v<Stored>) { construct(std::move(other)); }
    Result &operator=(Result const &other) requires std::is_copy_constructible_v<Stored> {
        Result copy(other); // may throw, and may be this one
        return *this = std::move(copy);
    }
    Result &operator=(Result &&other) noexcept(std::is_nothrow_move_constructible_v<Stored>) {
        if (this == &other) return *this;
        destroy();
        if constexpr (std::is_nothrow_move_constructible_v<Stored>) {
            construct(std::move(other));
        } else {
            Repair repair{this};
            construct(std::move(other));
            repair.result = nullptr;
        }
        return *this;
    }
    ~Result() { destroy(); }

    [[nodiscard]] explicit operator bool() const noexcept { return has_value_; }
    [[nodiscard]] bool has_value() const noexcept { return has_value_; }

    Stored *operator->() noexcept UFORM_LIFETIMEBOUND requires(!is_void) { return &value_; }
    Stored const *operator->() const noexcept UFORM_LIFETIMEBOUND requires(!is_void) { return &value_; }
    Stored &operator*() &noexcept UFORM_LIFETIMEBOUND requires(!is_void) { return value_; }
    Stored const &operator*() const &noexcept UFORM_LIFETIMEBOUND requires(!is_void) { return value_; }
    void operator*() const &noexcept requires is_void {}
    T operator*() && {
        if constexpr (!is_void) return T(std::move(value_));
    }

    UFORM_ALWAYS_INLINE Stored &value() & UFORM_LIFETIMEBOUND requires(!is_void) {
        check();
        return value_;
    }
    UFORM_ALWAYS_INLINE Stored const &value() const &UFORM_LIFETIMEBOUND requires(!is_void) {
        check();
        return value_;
    }
    UFORM_ALWAYS_INLINE void value() const &requires is_void { check(); }
    UFORM_ALWAYS_INLINE T value() && {
        check();
        if constexpr (!is_void) return T(std::move(value_));
    }

    [[nodiscard]] Error const &error() const &noexcept UFORM_LIFETIMEBOUND { return error_; }
    [[nodiscard]] Error error() &&noexcept { return std::move(error_); }

    template <class U = Stored> [[nodiscard]] Stored value_or(U &&other) const & {
        return has_value_ ? value_ : static_cast<Stored>(std::forward<U>(other));
    }
    template <class U = Stored> [[nodiscard]] Stored value_or(U &&other) && {
        return has_value_ ? std::move(value_) : static_cast<Stored>(std::forward<U>(other));
    }

    template <class F> auto and_then(F &&f) & { return bind(*this, std::forward<F>(f)); }
    template <class F> auto and_then(F &&f) const & { return bind(*this, std::forward<F>(f)); }
    template <class F> auto and_then(F &&f) && { return bind(std::move(*this), std::forward<F>(f)); }
    template <class F> auto transform(F &&f) & { return map(*this, std::forward<F>(f)); }
    template <class F> auto transform(F &&f) const & { return map(*this, std::forward<F>(f)); }
    template <class F> auto transform(F &&f) && { return map(std::move(*this), std::forward<F>(f)); }
    template <class F> Result or_else(F &&f) const & { return has_value_ ? *this : Result(std::forward<F>(f)(error_)); }
    template <class F> Result or_else(F &&f) && {
        return has_value_ ? std::move(*this) : Result(std::forward<F>(f)(std::move(error_)));
    }
    template <class F> Result transform_error(F &&f) const & {
        return has_value_ ? *this : Result(Error(std::forward<F>(f)(error_)));
    }
    template <class F> Result transform_error(F &&f) && {
        return has_value_ ? std::move(*this) : Result(Error(std::forward<F>(f)(std::move(error_))));
    }
};

} // namespace uform

#endif // UFORM_STATUS_HPP
