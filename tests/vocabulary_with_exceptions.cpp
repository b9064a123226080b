/// The unit with exceptions of `vocabulary_without_exceptions.cpp`: `value()` throws here, in the same program.
#include <exception>
#include <string>
#include <string_view>

#include "uform/arena.hpp"
#include "uform/config.hpp"
#include "uform/status.hpp"

#if !UFORM_EXCEPTIONS
#error "this unit is to be built with exceptions"
#endif

using uform::Error, uform::Result, uform::Status;

void check_with_exceptions(void check(bool holds, char const *what));
Result<std::string> made_with_exceptions(bool good);

Result<std::string> made_with_exceptions(bool good) {
    if (good) return std::string("made there");
    return Error(Status::io, "refused there");
}

namespace {
template <class Caught, class Call> bool throws(Call call) {
    try {
        call();
    } catch (Caught const &caught) {
        return std::string_view(caught.what()) == "refused there";
    } catch (...) {
    }
    return false;
}
} // namespace

void check_with_exceptions(void check(bool holds, char const *what)) {
    auto const bad = made_with_exceptions(false);
    auto const refused = [] { return Error(Status::io, "refused there"); };
    check(throws<Error>([&] { (void)bad.value(); }), "with exceptions, value() const & throws the error");
    check(throws<std::exception>([&] { (void)bad.value(); }), "it is caught as std::exception");
    check(throws<Error>([] { (void)made_with_exceptions(false).value(); }), "value() && throws the error");
    check(throws<Error>([&] { Result<void>(refused()).value(); }), "so does a result of nothing");
    // The same instances as in the other unit, where they abort.
    check(throws<Error>([&] { (void)Result<int>(refused()).value(); }), "an instance that both units have throws here");
}
