/// What the tests of deferred calls share: a tiny model, a queue that is held back, children, and a watchdog.
#ifndef UFORM_TESTS_DEFERRED_FIXTURE_HPP
#define UFORM_TESTS_DEFERRED_FIXTURE_HPP

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <semaphore>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catch.hpp"
#include "child_process.hpp"
#include "golden.hpp"
#include "uform/uform.hpp"

using Handle = uform::Deferred<uform::Encoded<uform::Ram>>;

/// Ends the program where a test hangs: no test waits this long for anything. Says no more than that.
class Watchdog {
  public:
    explicit Watchdog(unsigned seconds = 240) {
        std::signal(SIGALRM, [](int) {
            constexpr char text[] = "deferred: a test hangs\n";
            (void)!write(2, text, sizeof text - 1);
            std::abort();
        });
        alarm(seconds);
    }
    Watchdog(Watchdog const &) = delete;
    ~Watchdog() { alarm(0); }
};

/// The tiny checkpoint, loaded once.
inline uform::Model const &tiny() {
    static uform::Model const model = uform::Model::load(data_path("tiny")).value();
    return model;
}
inline std::vector<std::string> const &tiny_texts() {
    static auto const texts = read_texts(data_path("tiny/texts.jsonl"));
    return texts;
}
inline uform::Executor<uform::Ram> threads(std::size_t count) {
    return uform::Executor<uform::Ram>::with_threads(count).value();
}

/// The embeddings of one result, or nothing where they can't be read.
template <class Result> std::vector<float> embeddings_of(Result const &encoded) {
    auto const values = encoded.embeddings().template values<float>();
    return values ? std::vector<float>(values->begin(), values->end()) : std::vector<float>();
}
/// What the blocking call answers, in an arena of its own.
inline std::vector<float> expected_of(uform::TapeView texts, uform::EncodeOptions const &options = {}) {
    uform::Arena<uform::Ram> arena;
    return embeddings_of(
        tiny().text_encode(texts, uform::Outputs::embeddings, uform::Scalar::f32, arena, options).value());
}
inline bool same_bits(std::vector<float> const &a, std::vector<float> const &b) {
    return a.size() == b.size() && !a.empty() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Submits embeddings of a text.
inline uform::Result<Handle> submit(uform::Executor<uform::Ram> const &executor, uform::TapeView texts,
                                    uform::Arena<uform::Ram> &arena, uform::EncodeOptions const &options = {}) {
    return tiny().on(executor).deferred().text_encode(texts, uform::Outputs::embeddings, uform::Scalar::f32, arena,
                                                      options);
}
/// What a call that is waited for answers.
inline uform::Status status_of(Handle &call) {
    auto const result = call.wait();
    return result ? uform::Status::success : result.error().status();
}
/// Whether an arena is free for a call.
inline bool is_free(uform::Arena<uform::Ram> &arena) { return static_cast<bool>(arena.begin()); }

/// Tells a callable, which must live until it was called.
template <class F> void on_ready(Handle &call, F &told) {
    call.on_ready([](void *given) noexcept { (*static_cast<F *>(given))(); }, &told);
}

/// Whether a thread of this process sleeps.
inline bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string all;
    std::getline(file, all);
    auto const end = all.rfind(')');
    return end != all.npos && end + 2 < all.size() && all[end + 2] == 'S';
}

/// Holds an executor's own thread in the continuation of a call, so that what is submitted meanwhile stays queued.
class HeldQueue {
    uform::Arena<uform::Ram> arena_;
    std::binary_semaphore held_{0}, open_{0}, over_{0};
    pthread_t const owner_ = pthread_self();
    bool is_open_ = false, is_missed_ = false;

  public:
    explicit HeldQueue(uform::Executor<uform::Ram> const &executor) {
        do {
            is_missed_ = false;
            auto call = submit(executor, "held", arena_).value();
            call.on_ready(
                [](void *given) noexcept {
                    auto &self = *static_cast<HeldQueue *>(given);
                    if (pthread_equal(self.owner_, pthread_self())) { // it was done before it was asked
                        self.is_missed_ = true;
                        return;
                    }
                    self.held_.release();
                    self.open_.acquire();
                    self.over_.release();
                },
                this);
        } while (is_missed_);
        held_.acquire();
    }
    HeldQueue(HeldQueue const &) = delete;
    ~HeldQueue() { open(); }
    void open() {
        if (std::exchange(is_open_, true)) return;
        open_.release();
        over_.acquire();
    }
};

/// Runs something on an executor's own thread, and waits for its end.
template <class F> void on_own_thread(uform::Executor<uform::Ram> const &executor, F work) {
    uform::Arena<uform::Ram> arena;
    HeldQueue held(executor); // so that it isn't told here
    auto call = submit(executor, "own", arena).value();
    std::binary_semaphore over{0};
    auto told = [&] {
        work();
        over.release();
    };
    on_ready(call, told);
    held.open();
    over.acquire();
}

/// Runs something in a child and answers its exit status; −1 where it died, such as of the alarm that ends it if it
/// hangs. What it answers is its status; it ends as any program does, by `exit`.
template <class F> int status_of_child(F work) {
    std::fflush(nullptr);
    pid_t const child = fork();
    if (child == 0) {
        std::signal(SIGALRM, SIG_DFL);
        for (int const each : {SIGABRT, SIGSEGV, SIGTERM}) std::signal(each, SIG_DFL); // not Catch2's report
        alarm(60);
        int const answer = work();
        exit_from_child(answer);
    }
    if (child < 0) return -2;
    int status = -1;
    while (waitpid(child, &status, 0) != child) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif // UFORM_TESTS_DEFERRED_FIXTURE_HPP
