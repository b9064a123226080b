/// A model: a folder of weights, loaded once, and the verbs that turn texts into vectors with it.
#ifndef UFORM_MODEL_HPP
#define UFORM_MODEL_HPP

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "uform/arena.hpp"
#include "uform/calls/load_heads.hpp"
#include "uform/calls/parts.hpp"
#include "uform/calls/request.hpp"
#include "uform/calls/verbs.hpp"
#include "uform/checkpoint/checkpoint.hpp"
#include "uform/checkpoint/configuration.hpp"
#include "uform/config.hpp"
#include "uform/deferred.hpp"
#include "uform/deferred_encode.hpp"
#include "uform/encode.hpp"
#include "uform/encoded.hpp"
#include "uform/encoder/encoder.hpp"
#include "uform/encoder/module_chain.hpp"
#include "uform/executor.hpp"
#include "uform/options.hpp"
#include "uform/outputs.hpp"
#include "uform/process_mark.hpp"
#include "uform/recovery.hpp"
#include "uform/status.hpp"
#include "uform/tape.hpp"
#include "uform/text/tokenizer.hpp"

namespace uform {

class Model;
template <AnyResidency R> class BoundModel;

/// What all handles of a model share.
class ModelState {
    /// The workspace of one thread that calls without an executor, lent and taken back.
    struct CallerSlot {
        std::unique_ptr<KeptState> kept;
        CallerSlot *next = nullptr;
    };
    ProcessMark const process_;
    Checkpoint checkpoint_; // the encoder reads its tables of embeddings
    EncodingParts parts_;
    std::vector<std::string> prompts_, warnings_;
    mutable pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    mutable CallerSlot *idle_ = nullptr; // the last one given back first, so that a single caller meets its own again

    friend class Model;

  public:
    UFORM_COLD ModelState(Checkpoint &&checkpoint, EncodingParts &&parts)
        : checkpoint_(std::move(checkpoint)), parts_(std::move(parts)), warnings_(parts_.configuration.warnings) {
        for (auto const &[name, text] : parts_.configuration.prompts) prompts_.push_back(std::string(name));
        for (auto const &warning : parts_.tokenizer.warnings()) warnings_.push_back(std::string(warning));
    }
    ModelState(ModelState const &) = delete;
    ModelState &operator=(ModelState const &) = delete;
    UFORM_COLD ~ModelState() {
        while (idle_) delete std::exchange(idle_, idle_->next);
    }

    [[nodiscard]] EncodingParts const &parts() const noexcept { return parts_; }

    /// The calling thread with a workspace of the model's, for one call.
    class CallerSession {
        ModelState const &model_;
        CallerSlot *slot_ = nullptr;
        bool is_forked_ = false;
        mutable std::optional<CallerTeam> team_;

      public:
        explicit CallerSession(ModelState const &model) noexcept : model_(model) {
            is_forked_ = model_.process_.is_forked(); // another thread may have held the mutex at the fork
            if (!is_forked_) {
                pthread_mutex_lock(&model_.mutex_);
                slot_ = model_.idle_;
                if (slot_) model_.idle_ = slot_->next;
                pthread_mutex_unlock(&model_.mutex_);
            }
            if (!slot_) slot_ = new (std::nothrow) CallerSlot;
            if (slot_) team_.emplace(slot_->kept);
        }
        CallerSession(CallerSession const &) = delete;
        CallerSession &operator=(CallerSession const &) = delete;
        ~CallerSession() {
            if (!slot_) return;
            if (is_forked_) {
                delete slot_;
                return;
            }
            pthread_mutex_lock(&model_.mutex_);
            slot_->next = model_.idle_, model_.idle_ = slot_;
            pthread_mutex_unlock(&model_.mutex_);
        }
        [[nodiscard]] Team *team() const noexcept { return team_ ? &*team_ : nullptr; }
    };
};

/// A model whose calls run on an executor's own thread. A handle: it keeps both.
///
/// Each call in flight needs an arena of its own, which it holds until the result has gone; the arena may be moved or
/// ended meanwhile.
/// Input   consumed before a verb returns: texts, offsets and options may go at once, but for `options.cancel`, which
///         must live until the call is done.
/// Errors  what is known at once, such as `contended`, is answered by the verb, and the rest by the result. Also
///         `out_of_memory` where the executor's own thread can't be had, and `unsupported` in a forked child.
/// Memory  the executor keeps a copy of the texts for each call in flight, and uses it again.
/// Threads any; calls run one after the other, in the order of their submits.
template <AnyResidency R> class DeferredModel : public Verbs<DeferredModel<R>, R, Deferred<Encoded<R>>> {
    std::shared_ptr<ModelState const> state_;
    Executor<R> executor_;

    friend class BoundModel<R>;
    friend class Verbs<DeferredModel<R>, R, Deferred<Encoded<R>>>;
    DeferredModel(std::shared_ptr<ModelState const> state, Executor<R> executor) noexcept
        : state_(std::move(state)), executor_(std::move(executor)) {}
    [[nodiscard]] Result<Deferred<Encoded<R>>> call(CallRequest const &request, Arena<R> &arena) const noexcept {
        return DeferredEncode::submit(state_, state_->parts(), executor_, request, arena);
    }
};

/// A model with the executor on whose threads its verbs compute. A handle: it keeps both. Threads: any; calls on one
/// executor queue.
template <AnyResidency R> class BoundModel : public Verbs<BoundModel<R>, R, Encoded<R>> {
    std::shared_ptr<ModelState const> state_;
    Executor<R> executor_;

    friend class Model;
    friend class Verbs<BoundModel<R>, R, Encoded<R>>;
    BoundModel(std::shared_ptr<ModelState const> state, Executor<R> executor) noexcept
        : state_(std::move(state)), executor_(std::move(executor)) {}
    [[nodiscard]] Result<Encoded<R>> call(CallRequest const &request, Arena<R> &arena) const noexcept {
        return encode_now(state_->parts(), request, arena, [this] { return typename Executor<R>::Session(executor_); });
    }

  public:
    /// The same verbs, each on the executor's own thread while the caller goes on.
    [[nodiscard]] DeferredModel<R> deferred() const noexcept { return {state_, executor_}; }
};

/// A loaded model. A shared handle: copies are the same model, usable from many threads. One that was moved from may
/// only be assigned to or destroyed. Its own verbs compute on the calling thread, with a workspace that it keeps.
class Model : public Verbs<Model, Ram, Encoded<Ram>> {
    std::shared_ptr<ModelState const> state_;

    friend class Verbs<Model, Ram, Encoded<Ram>>;
    [[nodiscard]] Result<Encoded<Ram>> call(CallRequest const &request, Arena<Ram> &arena) const noexcept {
        return encode_now(state_->parts(), request, arena, [this] { return ModelState::CallerSession(*state_); });
    }
    explicit Model(std::shared_ptr<ModelState const> state) noexcept : state_(std::move(state)) {}
    [[nodiscard]] FolderConfiguration const &configuration() const noexcept { return state_->parts().configuration; }

    [[nodiscard]] UFORM_COLD static Result<Model> load_folder(std::string const &folder, LoadOptions const &options) {
        if (folder.empty()) return Error::fixed(Status::invalid_argument, "the name of the model's folder is empty");
        if (options.compute != Scalar::f32)
            return Error::fixed(Status::unsupported, "options.compute: only f32 is served in this version");
        InstructionSet const set = options.instruction_set.value_or(best_instruction_set());
        if (!supports(set))
            return Error::of(Status::unsupported, "options.instruction_set: this machine lacks ",
                             instruction_set_name(set));
        if (!file_exists(folder))
            return Error::of(Status::io, folder, ": no such folder; names on a hub aren't fetched");
        auto configuration = read_configuration(folder);
        if (!configuration) return configuration.error();
        std::string const &place = configuration->transformer_folder;
        std::vector<std::string> markers;
        if (auto const &late = configuration->late_interaction) markers = {late->query.marker, late->document.marker};
        auto tokenizer =
            Tokenizer::load(place, {.lowercase_first = configuration->lowercase_first, .markers = markers});
        if (!tokenizer) return tokenizer.error();
        EncoderConfiguration const &asked = configuration->encoder;
        if (tokenizer->vocabulary_size() > asked.vocabulary_size)
            return Error::of(Status::corrupt, place, ": the tokenizer has ids up to ", tokenizer->vocabulary_size() - 1,
                             ", and vocab_size of config.json is ", asked.vocabulary_size);
        if (configuration->max_sequence_length < tokenizer->special_tokens_count())
            return Error::of(Status::corrupt, place, ": texts of at most ", configuration->max_sequence_length,
                             " tokens, and ", tokenizer->special_tokens_count(), " of them are special");
        if (auto const &late = configuration->late_interaction)
            for (LateInteractionRole const *role : {&late->query, &late->document})
                if (role->length < tokenizer->special_tokens_count())
                    return Error::of(Status::corrupt, place, role == &late->query ? ": queries" : ": documents",
                                     " of at most ", role->length, " tokens, as the length of their role says, and ",
                                     tokenizer->special_tokens_count(), " of them are special");
        auto checkpoint = Checkpoint::open(place);
        if (!checkpoint) return checkpoint.error();

        auto encoder = Encoder::load(asked, configuration->max_sequence_length, *checkpoint, set, place);
        if (!encoder) return encoder.error();
        auto modules = ModuleChain::load(configuration->vector_modules, configuration->pooled_columns(), set);
        if (!modules) return modules.error();
        EncodingParts parts{*std::move(configuration),
                            *std::move(tokenizer),
                            *std::move(encoder),
                            *std::move(modules),
                            {},
                            {},
                            {},
                            {},
                            {}};
        if (auto loaded = load_heads(parts, *checkpoint, set); !loaded) return loaded.error();
        parts.spell_names();
        checkpoint->drop_pages(); // all were read once; of the tables only rows in use come back
        return Model(std::make_shared<ModelState const>(*std::move(checkpoint), std::move(parts)));
    }

  public:
    /// Loads a folder as sentence-transformers or transformers publish it, without any conversion.
    ///
    /// Errors  `io`: a file that isn't there or can't be read. `corrupt`: a damaged or contradictory one, or weights
    /// that
    ///         aren't numbers. `unsupported`: an architecture, module, tokenizer or option that this version doesn't
    ///         serve. `out_of_memory`. Each names the file, and the key, tensor or limit.
    /// Memory  the weights once, packed for the kernels; tables of embeddings stay in the file's mapping, which must
    /// not
    ///         be changed while the model lives.
    [[nodiscard]] static Result<Model> load(std::string const &folder, LoadOptions const &options = {}) {
        return recover_memory(
            [&] { return load_folder(folder, options); },
            [&] { return Error::of(Status::out_of_memory, folder, ": no memory to load the model"); });
    }

    /// Columns of the embeddings; of the token vectors where the model gives those in their place; 0 for neither.
    [[nodiscard]] std::size_t dimensions() const noexcept {
        EncodingParts const &parts = state_->parts();
        if (parts.late) return parts.late->dimensions();
        return contains(parts.outputs(), Outputs::embeddings) ? parts.dimensions() : 0;
    }
    /// Columns of the states.
    [[nodiscard]] std::size_t hidden_size() const noexcept { return configuration().encoder.hidden_size; }
    [[nodiscard]] std::size_t layers() const noexcept { return configuration().encoder.layers; }
    /// Tokens of the longest text that is read whole, special ones included.
    [[nodiscard]] std::size_t max_sequence_length() const noexcept { return configuration().max_sequence_length; }
    /// The outputs that calls may ask for.
    [[nodiscard]] Outputs outputs() const noexcept { return state_->parts().outputs(); }
    /// How two of the model's embeddings are meant to be compared.
    [[nodiscard]] Similarity similarity() const noexcept { return configuration().similarity; }
    /// Whether embeddings are of unit length as the model was published.
    [[nodiscard]] bool normalizes() const noexcept { return configuration().normalize; }
    /// Names of a classifier's labels, in the order of the columns of probabilities; none for an encoder.
    [[nodiscard]] std::span<std::string const> labels() const noexcept UFORM_LIFETIMEBOUND {
        auto const &classifier = configuration().classifier;
        return classifier ? std::span<std::string const>(classifier->labels) : std::span<std::string const>();
    }
    /// Names that `EncodeOptions::prompt` may take.
    [[nodiscard]] std::span<std::string const> prompts() const noexcept UFORM_LIFETIMEBOUND { return state_->prompts_; }
    /// What the folder says that isn't followed, one text each.
    [[nodiscard]] std::span<std::string const> warnings() const noexcept UFORM_LIFETIMEBOUND {
        return state_->warnings_;
    }
    [[nodiscard]] Tokenizer const &tokenizer() const noexcept UFORM_LIFETIMEBOUND { return state_->parts().tokenizer; }
    /// The kernels that calls use.
    [[nodiscard]] InstructionSet instruction_set() const noexcept { return state_->parts().encoder.instruction_set(); }

    /// The verbs, computing on `executor`.
    template <AnyResidency R> [[nodiscard]] BoundModel<R> on(Executor<R> const &executor) const noexcept {
        return {state_, executor};
    }
};

} // namespace uform

#endif // UFORM_MODEL_HPP
