/// Says that a test, or a part of one, could not run here. The runner counts it; a skipped test never counts as passed.
#ifndef UFORM_TESTS_SKIP_HPP
#define UFORM_TESTS_SKIP_HPP

#include <cstdio>
#include <string>

#include "catch.hpp"

/// The running test could not run: return right after.
inline void skip_test(std::string const &reason) {
    std::printf("\nSKIPPED: %s: %s\n", Catch::getResultCapture().getCurrentTestName().c_str(), reason.c_str());
    std::fflush(stdout);
}

/// A part of the running test could not run here; the rest did.
inline void skip_part(std::string const &reason) {
    std::printf("\nNOT RUN HERE: %s: %s\n", Catch::getResultCapture().getCurrentTestName().c_str(), reason.c_str());
    std::fflush(stdout);
}

#endif // UFORM_TESTS_SKIP_HPP
