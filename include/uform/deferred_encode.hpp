/// An encoding call that runs on an executor's own thread while its caller goes on.
#ifndef UFORM_DEFERRED_ENCODE_HPP
#define UFORM_DEFERRED_ENCODE_HPP

#include <memory>
#include <optional>
#include <utility>

#include "uform/arena.hpp"
#include "uform/deferred.hpp"
#include "uform/encode.hpp"
#include "uform/encoded.hpp"
#include "uform/executor.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"

namespace uform {

/// The state of a deferred `text_encode`. Kept by the executor between calls, with its copy of the texts.
class DeferredEncode final : public DeferredResult<Encoded<Ram>> {
    Tape texts_;
    std::optional<EncodeCall> call_;
    std::optional<Draft<Ram>> draft_;
    std::shared_ptr<void const> model_; // what `call_` refers to
    std::optional<Executor<Ram>> executor_;
    void const *slot_ = nullptr;

    void run() noexcept override {
        begin_run();
        std::optional<Result<Pinned<Encoded<Ram>>>> result;
        {
            Executor<Ram>::Session const session(*executor_);
            result.emplace(call_->run(*std::move(draft_), session.team()));
        }
        draft_.reset();
        complete(*std::move(result));
    }
    [[nodiscard]] bool fills(void const *slot) const noexcept override { return slot == slot_; }
    void abandon() noexcept override {
        draft_.reset(); // refuses: the arena is as it was
        complete(Error::fixed(Status::cancelled, "the call was cancelled before it ran"));
    }
    void let_go() noexcept override {
        call_.reset(), model_.reset();
        auto const last = std::exchange(executor_, std::nullopt); // its end may be this thread's
    }

  public:
    /// Copies the texts and queues the call.
    ///
    /// Errors  as `BoundModel::text_encode`, as far as they are known before it computes; `out_of_memory` also where
    ///         the executor's thread can't be had; `unsupported` in a forked child.
    template <class Parts>
    [[nodiscard]] static Result<Deferred<Encoded<Ram>>>
    submit(std::shared_ptr<Parts const> model, EncodingParts const &parts, Executor<Ram> const &executor,
           TapeView texts, Outputs outputs, Scalar scalar, Arena<Ram> &arena, EncodeOptions const &options) noexcept {
        auto draft = arena.begin(Holder::none);
        if (!draft) return std::move(draft).error();
        auto const no_memory = [] { return Error::fixed(Status::out_of_memory, "no memory for a deferred call"); };
        auto *const state = executor.states().lend<DeferredEncode>();
        if (!state) return no_memory();
        auto const refuse = [&](Error error) {
            state->call_.reset();
            state->put_back();
            return error;
        };
        state->call_.emplace(parts, texts, outputs, options);
        if (auto checked = state->call_->check(*draft, scalar); !checked) return refuse(std::move(checked).error());
        if (auto copied = state->texts_.assign(texts); !copied) return refuse(no_memory());
        if (auto started = executor.queue().start(); !started) return refuse(std::move(started).error());
        state->call_->read_from(state->texts_);
        state->slot_ = draft->slot();
        state->draft_.emplace(*std::move(draft));
        state->model_ = std::move(model), state->executor_.emplace(executor);
        state->restart();
        state->enqueue(executor.queue());
        return Deferred<Encoded<Ram>>(state);
    }
};

} // namespace uform

#endif // UFORM_DEFERRED_ENCODE_HPP
