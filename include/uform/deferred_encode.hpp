/// An encoding call that runs on an executor's own thread while its caller goes on.
#ifndef UFORM_DEFERRED_ENCODE_HPP
#define UFORM_DEFERRED_ENCODE_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "uform/arena.hpp"
#include "uform/buffer.hpp"
#include "uform/calls/parts.hpp"
#include "uform/calls/request.hpp"
#include "uform/deferred.hpp"
#include "uform/encode.hpp"
#include "uform/encoded.hpp"
#include "uform/executor.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"

namespace uform {

/// The state of a deferred call of any verb. Kept by the executor between calls, with its copy of the texts.
class DeferredEncode final : public DeferredResult<Encoded<Ram>> {
    Buffer<char> bytes_; // the texts of both tapes, end to end, and where they start and end
    Buffer<std::uint64_t> offsets_;
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
    void finish(bool is_told) noexcept override {
        call_.reset();
        auto model = std::move(model_);
        auto executor = std::exchange(executor_, std::nullopt); // its end may be this thread's
        if (!is_told) model.reset(), executor.reset();
        announce();
    }

    /// Copies the texts of both tapes; `false` where there is no memory.
    [[nodiscard]] bool copy(TapeView first, TapeView second, StatePool &pool) noexcept {
        std::size_t const texts = first.size() + second.size();
        std::size_t bytes = 0;
        for (TapeView const tape : {first, second})
            for (std::string_view const text : tape) bytes += text.size();
        bytes_.clear(), offsets_.clear();
        bool const fits =
            (bytes_.reserve(bytes < pool.most_bytes() ? pool.most_bytes() : bytes) || bytes_.reserve(bytes)) &&
            (offsets_.reserve((texts < pool.most_texts() ? pool.most_texts() : texts) + 1) ||
             offsets_.reserve(texts + 1)) &&
            offsets_.push_back(0);
        if (!fits) return false;
        for (TapeView const tape : {first, second})
            for (std::string_view const text : tape)
                if (!bytes_.append(text.data(), text.size()) || !offsets_.push_back(bytes_.size())) return false;
        pool.note_held(bytes, texts);
        return true;
    }

  public:
    /// Copies the texts and queues the call.
    ///
    /// Errors  as the verbs of `BoundModel`, as far as they are known before it computes; `out_of_memory` also where
    ///         the executor's thread can't be had; `unsupported` in a forked child.
    template <class Parts>
    [[nodiscard]] static Result<Deferred<Encoded<Ram>>>
    submit(std::shared_ptr<Parts const> model, EncodingParts const &parts, Executor<Ram> const &executor,
           CallRequest const &request, Arena<Ram> &arena) noexcept {
        auto draft = arena.begin(Holder::none);
        if (!draft) return draft.error();
        if (executor.queue().is_forked()) return executor.queue().start().error(); // its mutexes may be held for ever
        auto const no_memory = [] { return Error::fixed(Status::out_of_memory, "no memory for a deferred call"); };
        auto *const state = executor.states().lend<DeferredEncode>();
        if (!state) return no_memory();
        auto const refuse = [&](Error error) {
            state->call_.reset();
            state->put_back();
            return error;
        };
        state->call_.emplace(parts, request);
        if (auto checked = state->call_->check(*draft); !checked) return refuse(checked.error());
        if (!state->copy(request.texts, request.second, executor.states())) return refuse(no_memory());
        auto const copied = TapeView::of(std::string_view(state->bytes_.data(), state->bytes_.size()),
                                         std::span<std::uint64_t const>(state->offsets_.span()));
        if (!copied) return refuse(copied.error());
        if (auto started = executor.queue().start(); !started) return refuse(started.error());
        state->call_->read_from(copied->subtape(0, request.texts.size()),
                                copied->subtape(request.texts.size(), request.second.size()));
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
