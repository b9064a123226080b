/// Two arenas in turn: one batch is encoded on the executor's own thread while this one consumes the other. Once with
/// handles, once as a coroutine.
///
///     pipeline MODEL_FOLDER
#include <cstdio>
#include <exception>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <uform/uform.hpp>

using Arenas = std::span<uform::Arena<uform::Ram>, 2>;
using Call = uform::Deferred<uform::Encoded<uform::Ram>>;
using Batches = std::vector<uform::Tape>;

static uform::Result<Call> submit(uform::DeferredModel<uform::Ram> const &model, uform::TapeView batch,
                                  uform::Arena<uform::Ram> &arena) {
    return model.text_encode(batch, uform::Outputs::embeddings, uform::Scalar::f32, arena);
}

static void consume(char const *way, std::size_t batch, uform::Pinned<uform::Encoded<uform::Ram>> const &encoded) {
    auto const rows = encoded.embeddings().matrix<float>().value(); // pinned: no call can rewind them meanwhile
    std::printf("%s: batch %zu: %zu rows, the first starts with %g\n", way, batch, rows.size(),
                static_cast<double>(rows[0][0]));
}

/// Each arena has a call in flight, or a result that is read.
static void with_handles(uform::DeferredModel<uform::Ram> const &model, Batches const &batches, Arenas arenas) {
    std::optional<Call> calls[2];
    for (std::size_t i = 0; i != batches.size() + 2; ++i) {
        auto &call = calls[i % 2];
        if (call) consume("handles", i - 2, call->wait().value()); // the pin goes at the end of the line
        call.reset();
        if (i < batches.size()) call = submit(model, batches[i], arenas[i % 2]).value();
    }
}

struct Task { // the least that a coroutine of one's own needs: it says when its locals are gone
    struct promise_type {
        std::promise<void> done;
        Task get_return_object() { return {done.get_future()}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return done.set_value(), std::suspend_never(); }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::future<void> done;
};

/// From the first `co_await` on this runs on the executor's own thread, which goes on with a queued call when the
/// coroutine waits again.
static Task as_coroutine(uform::DeferredModel<uform::Ram> model, Batches const &batches, Arenas arenas) {
    auto flying = submit(model, batches[0], arenas[0]);
    for (std::size_t i = 0; i != batches.size(); ++i) {
        auto const encoded = co_await flying; // a refusal comes the same way
        if (!encoded) co_return;
        if (i + 1 != batches.size()) flying = submit(model, batches[i + 1], arenas[(i + 1) % 2]);
        consume("coroutine", i, *encoded);
    }
    auto const last = co_await submit(model, "one more", arenas[0]); // the pin is the result's, not the handle's
    auto const clash = co_await submit(model, "no room", arenas[0]);
    std::printf("while the last one is read: %s\n", clash ? "no refusal" : clash.error().what());
}

int main(int count, char **arguments) {
    if (count != 2) return std::fprintf(stderr, "usage: pipeline MODEL_FOLDER\n"), 2;
    auto const model = uform::Model::load(arguments[1]).value();
    auto const executor = uform::Executor<uform::Ram>::with_threads(2).value();
    uform::Arena<uform::Ram> arenas[] = {uform::Arena<uform::Ram>(executor), uform::Arena<uform::Ram>(executor)};

    Batches batches;
    for (int first = 0; first < 100; first += 32) {
        std::vector<std::string> lines;
        for (int line = first; line != first + 32 && line != 100; ++line)
            lines.push_back("line " + std::to_string(line) + " of the corpus");
        batches.push_back(uform::Tape::from(lines).value());
    }
    with_handles(model.on(executor).deferred(), batches, arenas);
    as_coroutine(model.on(executor).deferred(), batches, arenas).done.wait();
}
