/// How a call of the C interface finds where it computes, and what each verb was given.
#ifndef UFORM_BINDINGS_C_CALLS_HPP
#define UFORM_BINDINGS_C_CALLS_HPP

#include "uform.h"

#include <utility>
#include <variant>

#include "arguments.hpp"
#include "errors.hpp"
#include "handles.hpp"
#include "uform/cuda.hpp"
#include "uform/uform.hpp"
#include "views.hpp"

namespace uform::c_abi {

/// Why an arena can't serve a call that computes elsewhere; a busy one is `contended` first.
template <class R> uform_status_t refuse_arena(Arena<R> &arena, char const *text, char const **message) noexcept {
    if (auto draft = arena.begin(); !draft) return refuse(draft.error(), message);
    return bad(text, message);
}

/// Finds out where a call computes: calls `on_host` with an executor, or null, and the arena; or says why not.
template <class OnHost>
inline uform_status_t dispatch(uform_model_t model, uform_executor_t executor, uform_arena_t arena,
                               char const **message, OnHost const &on_host) noexcept {
    if (!model) return bad("model: NULL", message);
    if (auto status = check_arena(arena, message)) return status;
    auto *const ram = std::get_if<Arena<Ram>>(&arena->arena);
    auto *const vram = std::get_if<Arena<Vram>>(&arena->arena);
    auto const *const device = executor ? std::get_if<Executor<Vram>>(&executor->executor) : nullptr;
    if (!device) {
        if (!ram) return refuse_arena(*vram, "arena: in a device's memory, and the call computes on the host", message);
        return on_host(executor ? std::get_if<Executor<Ram>>(&executor->executor) : nullptr, *ram);
    }
    if (!vram) return refuse_arena(*ram, "arena: of host pages, and the call computes on a device", message);
    if (auto draft = vram->begin(*device); !draft) return refuse(draft.error(), message);
    return refuse(Status::unsupported, "executor: the verbs aren't served on a device in this version", message);
}

/// A call now: `verb(server, arena)` is one of the model's, or of the model on the executor.
template <class Verb>
inline uform_status_t run_now(uform_model_t model, uform_executor_t executor, uform_arena_t arena,
                              uform_encoded_t *encoded, char const **message, Verb const &verb) noexcept {
    return dispatch(model, executor, arena, message, [&](Executor<Ram> const *threads, Arena<Ram> &ram) {
        auto const result = threads ? verb(model->model.on(*threads), ram) : verb(model->model, ram);
        if (!result) return refuse(result.error(), message);
        *encoded = plain(*result, -1);
        return succeed(message);
    });
}

template <class Verb>
inline uform_status_t submit(uform_model_t model, uform_executor_t executor, uform_arena_t arena,
                             uform_deferred_t *deferred, char const **message, Verb const &verb) noexcept {
    return dispatch(model, executor, arena, message, [&](Executor<Ram> const *threads, Arena<Ram> &ram) {
        if (!threads) return bad("executor: NULL, and a deferred call needs one", message);
        auto call = verb(model->model.on(*threads).deferred(), ram);
        if (!call) return refuse(call.error(), message);
        auto *const handle = Pool<uform_deferred_s>::take();
        if (!handle) return no_memory(message); // the call is waited for, and its result goes
        handle->call.emplace(*std::move(call)), handle->has_notification = false;
        *deferred = handle;
        return succeed(message);
    });
}

/// What each verb was given, read once for a call now and for a deferred one.
struct TextEncode {
    TapeView texts;
    Outputs outputs;
    Scalar scalar;
    EncodeOptions options;

    uform_status_t read(uform_tape_t const *tape, uform_outputs_t plain_outputs, uform_scalar_t plain_scalar,
                        uform_encode_options_t const *plain_options, char const **message) noexcept {
        if (auto status = check_scalar_name(plain_scalar, message)) return status;
        if (auto status = read_encode_options(plain_options, options, message)) return status;
        outputs = static_cast<Outputs>(plain_outputs), scalar = static_cast<Scalar>(plain_scalar);
        return read_tape("texts", tape, texts, message);
    }
    auto operator()(auto const &server, Arena<Ram> &arena) const noexcept {
        return server.text_encode(texts, outputs, scalar, arena, options);
    }
};
struct TextClassify {
    TapeView texts;
    Scalar scalar;
    ClassifyOptions options;

    uform_status_t read(uform_tape_t const *tape, uform_scalar_t plain_scalar,
                        uform_classify_options_t const *plain_options, char const **message,
                        char const *name = "texts") noexcept {
        if (auto status = check_scalar_name(plain_scalar, message)) return status;
        if (auto status = read_classify_options(plain_options, options, message)) return status;
        scalar = static_cast<Scalar>(plain_scalar);
        return read_tape(name, tape, texts, message);
    }
    auto operator()(auto const &server, Arena<Ram> &arena) const noexcept {
        return server.text_classify(texts, scalar, arena, options);
    }
};
/// Classifies pairs, or reranks.
struct TextPairs : TextClassify {
    TapeView second;
    bool is_rerank = false;

    uform_status_t read(uform_tape_t const *first, uform_tape_t const *plain_second, uform_scalar_t plain_scalar,
                        uform_classify_options_t const *plain_options, char const **message) noexcept {
        char const *const name = is_rerank ? "queries" : "first";
        if (auto status = TextClassify::read(first, plain_scalar, plain_options, message, name)) return status;
        return read_tape(is_rerank ? "documents" : "second", plain_second, second, message);
    }
    auto operator()(auto const &server, Arena<Ram> &arena) const noexcept {
        return is_rerank ? server.text_rerank(texts, second, scalar, arena, options)
                         : server.text_classify(texts, second, scalar, arena, options);
    }
};

} // namespace uform::c_abi

#endif // UFORM_BINDINGS_C_CALLS_HPP
