/// What the C interface adds to a call, and to a read of rows.
///
///     bindings MODEL_FOLDER
///
/// Calls take turns, C++ and C, so that a slower spell of the machine meets both. Of deferred calls more is said on one
/// processor (`taskset -c 0`): else it matters most where the scheduler puts an executor's thread.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "uform.h"
#include "uform/uform.hpp"

namespace {

/// Nanoseconds of one of `repeats` calls of `work`.
template <class Work> double nanoseconds(std::size_t repeats, Work const &work) {
    auto const start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i != repeats; ++i) work();
    std::chrono::duration<double, std::nano> const took = std::chrono::steady_clock::now() - start;
    return took.count() / static_cast<double>(repeats);
}

/// What a tenth of the rounds stay below: a thread that waits for the scheduler says nothing of the interface.
double low_tenth(std::vector<double> values) {
    auto const at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 10);
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

/// Both, in turns, and what the second adds.
template <class First, class Second>
void compare(char const *name, std::size_t rounds, std::size_t repeats, First const &first, Second const &second) {
    std::vector<double> of_first, of_second;
    for (std::size_t i = 0; i != rounds; ++i) {
        of_first.push_back(nanoseconds(repeats, first));
        of_second.push_back(nanoseconds(repeats, second));
    }
    double const before = low_tenth(of_first), after = low_tenth(of_second);
    std::printf("%-34s C++ %10.1f ns   C %10.1f ns   %+8.1f ns\n", name, before, after, after - before);
}

/// Ends the program where a call isn't what it should be.
void need(bool holds) {
    if (!holds) std::abort();
}

} // namespace

int main(int count, char **arguments) {
    if (count != 2) {
        std::fputs("usage: bindings MODEL_FOLDER\n", stderr);
        return 2;
    }
    auto const model = uform::Model::load(arguments[1]).value();
    auto const executor = uform::Executor<uform::Ram>::with_threads(1).value();
    auto const bound = model.on(executor);
    uform::Arena<uform::Ram> arena;
    uform_model_t c_model = nullptr;
    uform_executor_t c_executor = nullptr;
    uform_arena_t c_arena = nullptr;
    need(!uform_model_load(arguments[1], nullptr, &c_model, nullptr) &&
         !uform_executor_init_ram(1, &c_executor, nullptr) && !uform_arena_init(nullptr, &c_arena, nullptr));
    uform_encoded_t c_encoded;
    char const *message = nullptr;

    std::string bytes;
    std::vector<std::uint32_t> offsets{0};
    for (std::size_t i = 0; i != 16; ++i)
        bytes += "a text", offsets.push_back(static_cast<std::uint32_t>(bytes.size()));
    for (std::size_t const texts : {0, 1, 16}) {
        uform_tape_t const c_tape{bytes.data(), bytes.size(), offsets.data(), texts, 4, 0};
        auto const name = std::to_string(texts) + " texts";
        auto const now = [&](auto const &server) {
            auto const tape = uform::TapeView::of(bytes, std::span(offsets).first(texts + 1));
            need(static_cast<bool>(server.text_encode(*tape, uform::Outputs::embeddings, uform::Scalar::f32, arena)));
        };
        auto const c_now = [&](uform_executor_t on) {
            need(!uform_text_encode(c_model, on, &c_tape, 1, 0, c_arena, nullptr, &c_encoded, &message));
        };
        std::size_t const repeats = texts ? 20 : 1000;
        compare((name + ", calling thread").c_str(), 101, repeats, [&] { now(model); }, [&] { c_now(nullptr); });
        compare((name + ", executor").c_str(), 101, repeats, [&] { now(bound); }, [&] { c_now(c_executor); });
        compare(
            (name + ", deferred").c_str(), 101, 20,
            [&] {
                auto const tape = uform::TapeView::of(bytes, std::span(offsets).first(texts + 1));
                auto call = bound.deferred().text_encode(*tape, uform::Outputs::embeddings, uform::Scalar::f32, arena);
                need(static_cast<bool>(call->wait()));
            },
            [&] {
                uform_deferred_t call = nullptr;
                need(!uform_text_encode_deferred(c_model, c_executor, &c_tape, 1, 0, c_arena, nullptr, &call, nullptr));
                need(!uform_deferred_wait(call, &c_encoded, nullptr, nullptr));
                uform_deferred_free(call);
            });
    }
    auto const encoded = model.text_encode("a text", uform::Outputs::embeddings, uform::Scalar::f32, arena).value();
    auto const rows = encoded.embeddings();
    compare(
        "rows.values", 101, 20000, [&] { need(static_cast<bool>(rows.values<float>())); },
        [&] {
            void const *values = nullptr;
            need(!uform_rows_values(&c_encoded.embeddings, uform_scalar_f32_k, &values, &message));
        });
    compare(
        "pin and unpin", 101, 20000, [&] { need(static_cast<bool>(rows.pin())); },
        [&] {
            uform_pin_t pin = nullptr;
            need(!uform_rows_pin(&c_encoded.embeddings, &pin, nullptr));
            uform_rows_unpin(pin);
        });
    uform_arena_free(c_arena);
    uform_executor_free(c_executor);
    uform_model_free(c_model);
}
