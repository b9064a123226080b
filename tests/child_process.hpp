/// Runs a part of a test in a child process, where it may die or change limits, and answers how it ended.
#ifndef UFORM_TESTS_CHILD_PROCESS_HPP
#define UFORM_TESTS_CHILD_PROCESS_HPP

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

#include "catch.hpp"

/// How a child ended.
struct Ended {
    bool by_itself = false; ///< with the exit code 0
    std::string output;     ///< what it printed, to either stream
    int signal = 0;         ///< that killed it
};

/// Who is told of a fatal signal: nobody, or a sanitizer. Looked up before Catch2 takes these signals for its report.
inline std::array<std::pair<int, struct sigaction>, 5> const handlers_before_tests = [] {
    std::array<std::pair<int, struct sigaction>, 5> handlers{};
    int const fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE};
    for (std::size_t i = 0; i != handlers.size(); ++i)
        handlers[i].first = fatal[i], sigaction(fatal[i], nullptr, &handlers[i].second);
    return handlers;
}();

/// Ends a child as any program ends, by `exit`: statics are destroyed. Catch2's reporters put buffers of their own
/// under the standard streams, which are gone when these are flushed at the end.
[[noreturn]] inline void exit_from_child(int code) {
    for (std::ostream *stream : {&std::cout, &std::cerr, &std::clog}) stream->rdbuf(nullptr);
    std::exit(code);
}

/// Runs `call` in a child, which ends with what it answers as its exit code.
template <class Call> Ended in_child(Call call) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    std::fflush(stdout);
    pid_t const child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(ends[1], 1), dup2(ends[1], 2);
        close(ends[0]), close(ends[1]);
        rlimit const no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        for (auto const &[fatal, handler] : handlers_before_tests) sigaction(fatal, &handler, nullptr);
        _exit(call());
    }
    close(ends[1]);
    Ended ended;
    char part[4096];
    for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;) ended.output.append(part, std::size_t(got));
    close(ends[0]);
    int code = 0;
    waitpid(child, &code, 0);
    ended.by_itself = WIFEXITED(code) && WEXITSTATUS(code) == 0;
    ended.signal = WIFSIGNALED(code) ? WTERMSIG(code) : 0;
    return ended;
}

/// In a child: prints the first condition that doesn't hold, and ends.
#define HOLDS(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) return std::fprintf(stderr, "line %d: %s\n", __LINE__, #condition), 1;                       \
    } while (false)

#endif // UFORM_TESTS_CHILD_PROCESS_HPP
