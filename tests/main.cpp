/// Runs Catch2's tests, on version 2 and 3 alike.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int count, char *arguments[]) { return Catch::Session().run(count, arguments); }
