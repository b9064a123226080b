/// Catch2 as the machine has it: version 3, or the single header of version 2.
#ifndef UFORM_TESTS_CATCH_HPP
#define UFORM_TESTS_CATCH_HPP

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#endif // UFORM_TESTS_CATCH_HPP
