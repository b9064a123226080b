/// Units with and without exceptions meet in one program: this one is built with -fno-exceptions -fno-rtti.
///
/// Linked with `vocabulary_with_exceptions.cpp`, and with nothing of Catch2. Prints what failed, then how many checks
/// passed and failed; exit status 0: none failed.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "uform/arena.hpp"
#include "uform/config.hpp"
#include "uform/outputs.hpp"
#include "uform/scalar.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"

#if UFORM_EXCEPTIONS
#error "this unit is to be built with -fno-exceptions -fno-rtti"
#endif

using uform::Error, uform::Result, uform::Status;

/// In the unit with exceptions: throws and catches there, and calls `check` for each.
void check_with_exceptions(void check(bool holds, char const *what));
/// In the unit with exceptions: a result that crosses over.
Result<std::string> made_with_exceptions(bool good);

namespace {

int passed = 0, failed = 0;
void check(bool holds, char const *what) {
    if (!holds) std::printf("failed: %s\n", what);
    ++(holds ? passed : failed);
}

/// Whether `call` ends the process by abort().
template <class Call> bool aborts(Call call) {
    std::fflush(stdout);
    pid_t const child = fork();
    if (child == 0) {
        rlimit const no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        call();
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

Result<int> half_of(int n) {
    if (n % 2) return Error::of(Status::unsupported, n, " is odd");
    return n / 2;
}

} // namespace

int main() {
    check(half_of(8).value() == 4, "value of a value");
    check(half_of(7).error().message() == "7 is odd", "error");
    check(half_of(8).and_then(half_of).transform([](int n) { return n + 1; }).value() == 3, "and_then, transform");
    check(half_of(7).or_else([](Error const &) { return Result<int>(0); }).value() == 0, "or_else");
    check(half_of(7).value_or(-1) == -1, "value_or");
    check(Result<std::unique_ptr<int>>(std::make_unique<int>(3)).value() != nullptr, "a move-only value");
    check(Result<void>().has_value(), "a result of nothing");

    check(aborts([] { (void)half_of(7).value(); }), "value() && of an error aborts");
    check(aborts([] {
              auto bad = half_of(7);
              (void)bad.value();
          }),
          "value() & of an error aborts");
    check(aborts([] { Result<void>(Error(Status::io, "e")).value(); }), "value() of a failed nothing aborts");
    check(!aborts([] { (void)half_of(8).value(); }), "value() of a value doesn't");

    auto const tape = uform::Tape::from(std::vector<std::string>{"one", "two"});
    check(tape.has_value() && uform::TapeView(*tape)[1] == "two", "a tape");
    check(uform::widen(uform::F16{0x3c00}) == 1.0f, "a half");
    uform::Arena<uform::Ram> arena;
    auto draft = arena.begin();
    auto const place = draft->place<float>(2, 3);
    auto writing = std::move(*draft).commit();
    writing->values(place)[5] = 7;
    auto const published = std::move(*writing).publish().value();
    check(published[place].values<float>().value()[5] == 7, "an arena");

    auto const crossed = made_with_exceptions(true), refused = made_with_exceptions(false);
    check(crossed.value() == "made there", "a value from the other unit");
    check(refused.error().message() == "refused there", "an error from the other unit");
    check(aborts([&] { (void)refused.value(); }), "value() here aborts, wherever the error was made");
    check_with_exceptions(check);
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
