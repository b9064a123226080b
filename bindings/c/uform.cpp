/// The functions of the C interface: each checks its arguments, calls the headers and hands out what they answer.
#include "uform.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "arguments.hpp"
#include "calls.hpp"
#include "errors.hpp"
#include "handles.hpp"
#include "uform/cuda.hpp"
#include "uform/interop/arrow.hpp"
#include "uform/interop/dlpack.hpp"
#include "uform/uform.hpp"
#include "views.hpp"

using uform::Arena, uform::Tokenizer, uform::Vram;
using uform::ArenaDescription, uform::Detached, uform::Error, uform::Executor, uform::InstructionSet, uform::Model;
using uform::Outputs, uform::Pin, uform::Ram, uform::Residency, uform::Rows, uform::Scalar, uform::Stamp, uform::Status;
using uform::c_abi::Notification, uform::c_abi::Plain, uform::c_abi::Pool, uform::c_abi::TextClassify,
    uform::c_abi::TextEncode, uform::c_abi::TextPairs, uform::c_abi::answer, uform::c_abi::bad,
    uform::c_abi::check_arena, uform::c_abi::check_filled, uform::c_abi::check_host_rows, uform::c_abi::check_shape,
    uform::c_abi::check_text, uform::c_abi::disown, uform::c_abi::guarded, uform::c_abi::is_within,
    uform::c_abi::most_bytes, uform::c_abi::names_scalar, uform::c_abi::no_memory, uform::c_abi::on_arena,
    uform::c_abi::on_residency, uform::c_abi::pin_rows, uform::c_abi::plain, uform::c_abi::read_counts,
    uform::c_abi::read_load_options, uform::c_abi::refuse, uform::c_abi::refuse_stale, uform::c_abi::run_now,
    uform::c_abi::slot_of, uform::c_abi::stamp_of, uform::c_abi::submit, uform::c_abi::succeed, uform::c_abi::take_pin;

namespace {

/// A span of time that the headers understand.
struct Nanoseconds {
    struct period {
        static constexpr std::int64_t num = 1, den = 1'000'000'000;
    };
    std::uint64_t value;
    [[nodiscard]] std::uint64_t count() const noexcept { return value; }
};

/// Item `index` of a model's list of texts.
uform_status_t text_of(std::span<std::string const> list, std::uint64_t index, char const **text, std::uint64_t *size,
                       char const **message) noexcept {
    if (index >= list.size())
        return refuse(Error::of(Status::invalid_argument, "index: ", index, " of ", list.size()), message);
    *text = list[index].c_str();
    if (size) *size = list[index].size();
    return succeed(message);
}

/// A property of a model: `read(model)`.
template <class T, class Read>
uform_status_t property(uform_model_t model, T *out, char const **message, Read const &read) noexcept {
    if (!out) return bad("the answer's place is NULL", message);
    *out = {};
    if (!model) return bad("model: NULL", message);
    *out = static_cast<T>(read(model->model));
    return succeed(message);
}

/// Whether rows can be handed to Arrow, but for what pinning them finds.
uform_status_t check_host_shape(uform_rows_t const &rows, char const **message) noexcept {
    if (auto status = check_shape(rows, message)) return status;
    if (rows.residency == uform_residency_ram_k) return uform_status_success_k;
    return refuse(Status::device, "rows: in a device's memory, and Arrow's arrays are the host's", message);
}
/// Pins rows, or those of texts, and hands them to Arrow.
template <class View>
uform_status_t export_arrow(View const &view, ArrowSchema *schema, ArrowArray *array, char const **message) noexcept {
    auto pinned = view.pin();
    if (!pinned) return refuse(pinned.error(), message);
    return answer(uform::to_arrow(*std::move(pinned), *schema, *array), message);
}

} // namespace

// Sets what the result is written to, before anything else.
#define UFORM_CLEAR(out)                                                                                               \
    if (!(out)) return bad(#out ": NULL", error_message);                                                              \
    *(out) = {}
#define UFORM_NEED(argument)                                                                                           \
    if (!(argument)) return bad(#argument ": NULL", error_message)
#define UFORM_TRY(call)                                                                                                \
    if (auto const status_ = (call)) return status_

extern "C" {

// ---- Version and names -------------------------------------------------------------------------------------------

char const *uform_version(void) { return uform::version; }
uint32_t uform_abi_version(void) { return UFORM_ABI_VERSION; }
char const *uform_status_name(uform_status_t status) { return uform::status_name(static_cast<Status>(status)).data(); }
char const *uform_scalar_name(uform_scalar_t scalar) {
    return names_scalar(scalar) ? uform::scalar_name(static_cast<Scalar>(scalar)).data() : "unknown";
}
uint64_t uform_scalar_bits(uform_scalar_t scalar) {
    return names_scalar(scalar) ? uform::scalar_bits(static_cast<Scalar>(scalar)) : 0;
}
char const *uform_outputs_name(uform_outputs_t one) { return uform::outputs_name(static_cast<Outputs>(one)).data(); }
char const *uform_residency_name(uform_residency_t residency) {
    return is_within(residency, uform_residency_vram_k)
               ? uform::residency_name(static_cast<Residency>(residency)).data()
               : "unknown";
}
char const *uform_instruction_set_name(uform_instruction_set_t set) {
    if (set == uform_instruction_set_best_k) return "best";
    if (!is_within(set, uform_instruction_set_avx512_k)) return "unknown";
    return uform::instruction_set_name(static_cast<InstructionSet>(set - uform_instruction_set_portable_k)).data();
}

// ---- Executors ---------------------------------------------------------------------------------------------------

uform_status_t uform_executor_init_ram(size_t threads, uform_executor_t *executor, char const **error_message) {
    UFORM_CLEAR(executor);
    auto made = Executor<Ram>::with_threads(threads);
    if (!made) return refuse(made.error(), error_message);
    *executor = new (std::nothrow) uform_executor_s{*std::move(made)};
    return *executor ? succeed(error_message) : no_memory(error_message);
}
uform_status_t uform_executor_init_vram(uint32_t device, uform_executor_t *executor, char const **error_message) {
    UFORM_CLEAR(executor);
    auto made = Executor<Vram>::for_device(device);
    if (!made) return refuse(made.error(), error_message);
    *executor = new (std::nothrow) uform_executor_s{*std::move(made)};
    return *executor ? succeed(error_message) : no_memory(error_message);
}
void uform_executor_free(uform_executor_t executor) { delete executor; }
uform_status_t uform_executor_describe(uform_executor_t executor, uform_arena_description_t *description,
                                       char const **error_message) {
    UFORM_CLEAR(description);
    UFORM_NEED(executor);
    auto const *const device = std::get_if<Executor<Vram>>(&executor->executor);
    *description = plain(device ? ArenaDescription{Residency::vram, device->device()} : ArenaDescription{});
    return succeed(error_message);
}
uform_status_t uform_executor_threads(uform_executor_t executor, uint64_t *threads, char const **error_message) {
    UFORM_CLEAR(threads);
    UFORM_NEED(executor);
    if (auto const *const ram = std::get_if<Executor<Ram>>(&executor->executor)) *threads = ram->threads();
    return succeed(error_message);
}
uform_status_t uform_executor_stream(uform_executor_t executor, void **stream, char const **error_message) {
    UFORM_CLEAR(stream);
    UFORM_NEED(executor);
    auto const *const device = std::get_if<Executor<Vram>>(&executor->executor);
    if (!device) return bad("executor: of host threads, which have no stream", error_message);
    *stream = device->stream();
    return succeed(error_message);
}

// ---- Models ------------------------------------------------------------------------------------------------------

uform_status_t uform_model_load(char const *folder, uform_load_options_t const *options, uform_model_t *model,
                                char const **error_message) {
    UFORM_CLEAR(model);
    UFORM_NEED(folder);
    uform::LoadOptions read;
    UFORM_TRY(read_load_options(options, read, error_message));
    return guarded(error_message, [&] {
        auto loaded = Model::load(folder, read);
        if (!loaded) return refuse(loaded.error(), error_message);
        *model = new (std::nothrow) uform_model_s{*std::move(loaded)};
        return *model ? succeed(error_message) : no_memory(error_message);
    });
}
void uform_model_free(uform_model_t model) { delete model; }

uform_status_t uform_model_dimensions(uform_model_t model, uint64_t *dimensions, char const **error_message) {
    return property(model, dimensions, error_message, [](Model const &of) { return of.dimensions(); });
}
uform_status_t uform_model_hidden_size(uform_model_t model, uint64_t *hidden_size, char const **error_message) {
    return property(model, hidden_size, error_message, [](Model const &of) { return of.hidden_size(); });
}
uform_status_t uform_model_layers(uform_model_t model, uint64_t *layers, char const **error_message) {
    return property(model, layers, error_message, [](Model const &of) { return of.layers(); });
}
uform_status_t uform_model_max_sequence_length(uform_model_t model, uint64_t *tokens, char const **error_message) {
    return property(model, tokens, error_message, [](Model const &of) { return of.max_sequence_length(); });
}
uform_status_t uform_model_outputs(uform_model_t model, uform_outputs_t *outputs, char const **error_message) {
    return property(model, outputs, error_message, [](Model const &of) { return of.outputs(); });
}
uform_status_t uform_model_normalizes(uform_model_t model, int32_t *normalizes, char const **error_message) {
    return property(model, normalizes, error_message, [](Model const &of) { return of.normalizes(); });
}
uform_status_t uform_model_similarity(uform_model_t model, uform_similarity_t *similarity, char const **error_message) {
    return property(model, similarity, error_message, [](Model const &of) { return of.similarity(); });
}
uform_status_t uform_model_instruction_set(uform_model_t model, uform_instruction_set_t *set,
                                           char const **error_message) {
    return property(model, set, error_message, [](Model const &of) {
        return static_cast<uform_instruction_set_t>(of.instruction_set()) + uform_instruction_set_portable_k;
    });
}
uform_status_t uform_model_labels(uform_model_t model, uint64_t *count, char const **error_message) {
    return property(model, count, error_message, [](Model const &of) { return of.labels().size(); });
}
uform_status_t uform_model_label(uform_model_t model, uint64_t index, char const **label, uint64_t *size,
                                 char const **error_message) {
    if (size) *size = 0;
    UFORM_CLEAR(label);
    UFORM_NEED(model);
    return text_of(model->model.labels(), index, label, size, error_message);
}
uform_status_t uform_model_prompts(uform_model_t model, uint64_t *count, char const **error_message) {
    return property(model, count, error_message, [](Model const &of) { return of.prompts().size(); });
}
uform_status_t uform_model_prompt(uform_model_t model, uint64_t index, char const **prompt, uint64_t *size,
                                  char const **error_message) {
    if (size) *size = 0;
    UFORM_CLEAR(prompt);
    UFORM_NEED(model);
    return text_of(model->model.prompts(), index, prompt, size, error_message);
}
uform_status_t uform_model_warnings(uform_model_t model, uint64_t *count, char const **error_message) {
    return property(model, count, error_message, [](Model const &of) { return of.warnings().size(); });
}
uform_status_t uform_model_warning(uform_model_t model, uint64_t index, char const **warning, uint64_t *size,
                                   char const **error_message) {
    if (size) *size = 0;
    UFORM_CLEAR(warning);
    UFORM_NEED(model);
    return text_of(model->model.warnings(), index, warning, size, error_message);
}

// ---- Tokenizers --------------------------------------------------------------------------------------------------

uform_status_t uform_model_tokenizer(uform_model_t model, uform_tokenizer_t *tokenizer, char const **error_message) {
    UFORM_CLEAR(tokenizer);
    UFORM_NEED(model);
    *tokenizer = new (std::nothrow) uform_tokenizer_s{model->model.tokenizer()};
    return *tokenizer ? succeed(error_message) : no_memory(error_message);
}
uform_status_t uform_tokenizer_load(char const *folder, uform_tokenizer_t *tokenizer, char const **error_message) {
    UFORM_CLEAR(tokenizer);
    UFORM_NEED(folder);
    if (!*folder) return bad("folder: empty", error_message);
    return guarded(error_message, [&] {
        auto loaded = Tokenizer::load(folder);
        if (!loaded) return refuse(loaded.error(), error_message);
        *tokenizer = new (std::nothrow) uform_tokenizer_s{*std::move(loaded)};
        return *tokenizer ? succeed(error_message) : no_memory(error_message);
    });
}
void uform_tokenizer_free(uform_tokenizer_t tokenizer) { delete tokenizer; }
uform_status_t uform_tokenizer_encode(uform_tokenizer_t tokenizer, char const *text, uint64_t size, uint32_t *ids,
                                      uint64_t capacity, uint64_t *count, char const **error_message) {
    UFORM_CLEAR(count);
    UFORM_NEED(tokenizer);
    UFORM_TRY(check_text(text, size, error_message));
    if (!ids && capacity) return bad("ids: NULL, and the capacity isn't 0", error_message);
    return guarded(error_message, [&] {
        auto const encoded = tokenizer->tokenizer.encode({text, size});
        if (!encoded) return refuse(encoded.error(), error_message);
        *count = encoded->size();
        if (!capacity) return succeed(error_message);
        if (encoded->size() > capacity)
            return refuse(
                Error::of(Status::invalid_argument, "capacity: room for ", capacity, " ids of ", encoded->size()),
                error_message);
        if (!encoded->empty()) std::memcpy(ids, encoded->data(), encoded->size() * sizeof *ids);
        return succeed(error_message);
    });
}
uform_status_t uform_tokenizer_count(uform_tokenizer_t tokenizer, char const *text, uint64_t size, uint64_t *count,
                                     char const **error_message) {
    UFORM_CLEAR(count);
    UFORM_NEED(tokenizer);
    UFORM_TRY(check_text(text, size, error_message));
    return guarded(error_message, [&] {
        auto const counted = tokenizer->tokenizer.count({text, size});
        if (counted) *count = *counted;
        return answer(counted, error_message);
    });
}
uform_status_t uform_tokenizer_decode(uform_tokenizer_t tokenizer, uint32_t const *ids, uint64_t count,
                                      int32_t skip_special, char *text, uint64_t capacity, uint64_t *size,
                                      char const **error_message) {
    UFORM_CLEAR(size);
    UFORM_NEED(tokenizer);
    if (!ids && count) return bad("ids: NULL, and their count isn't 0", error_message);
    if (count > most_bytes / sizeof *ids) return bad("count: more than can be addressed", error_message);
    if (!text && capacity) return bad("text: NULL, and the capacity isn't 0", error_message);
    return guarded(error_message, [&] {
        auto const decoded = tokenizer->tokenizer.decode({ids, count}, skip_special != 0);
        if (!decoded) return refuse(decoded.error(), error_message);
        *size = decoded->size();
        if (!capacity) return succeed(error_message);
        if (decoded->size() >= capacity)
            return refuse(
                Error::of(Status::invalid_argument, "capacity: room for ", capacity, " bytes of ", decoded->size() + 1),
                error_message);
        std::memcpy(text, decoded->c_str(), decoded->size() + 1);
        return succeed(error_message);
    });
}
uform_status_t uform_tokenizer_token(uform_tokenizer_t tokenizer, uint32_t id, char const **text, uint64_t *size,
                                     char const **error_message) {
    if (size) *size = 0;
    UFORM_CLEAR(text);
    UFORM_NEED(tokenizer);
    if (auto const token = tokenizer->tokenizer.token(id)) {
        *text = token->data();
        if (size) *size = token->size();
    }
    return succeed(error_message);
}
uform_status_t uform_tokenizer_id(uform_tokenizer_t tokenizer, char const *text, uint64_t size, int64_t *id,
                                  char const **error_message) {
    UFORM_CLEAR(id);
    UFORM_NEED(tokenizer);
    UFORM_TRY(check_text(text, size, error_message));
    auto const found = tokenizer->tokenizer.id({text, size});
    *id = found ? std::int64_t{*found} : -1;
    return succeed(error_message);
}
uform_status_t uform_tokenizer_vocabulary_size(uform_tokenizer_t tokenizer, uint64_t *size,
                                               char const **error_message) {
    UFORM_CLEAR(size);
    UFORM_NEED(tokenizer);
    *size = tokenizer->tokenizer.vocabulary_size();
    return succeed(error_message);
}
uform_status_t uform_tokenizer_special_tokens(uform_tokenizer_t tokenizer, uint64_t *count,
                                              char const **error_message) {
    UFORM_CLEAR(count);
    UFORM_NEED(tokenizer);
    *count = tokenizer->tokenizer.special_tokens_count();
    return succeed(error_message);
}

// ---- Arenas ------------------------------------------------------------------------------------------------------

uform_status_t uform_arena_init(uform_executor_t executor, uform_arena_t *arena, char const **error_message) {
    UFORM_CLEAR(arena);
    auto *const handle = Pool<uform_arena_s>::take();
    if (!handle) return no_memory(error_message);
    auto const *const device = executor ? std::get_if<Executor<Vram>>(&executor->executor) : nullptr;
    if (device) handle->arena.emplace<Arena<Vram>>(*device);
    else handle->arena.emplace<Arena<Ram>>();
    handle->is_live.store(true, std::memory_order_release);
    *arena = handle;
    return succeed(error_message);
}
void uform_arena_free(uform_arena_t arena) {
    if (!arena || !arena->is_live.exchange(false, std::memory_order_acq_rel)) return;
    arena->arena.emplace<std::monostate>(); // waits for the call that writes
    Pool<uform_arena_s>::give(arena);
}
uform_status_t uform_arena_describe(uform_arena_t arena, uform_arena_description_t *description,
                                    char const **error_message) {
    UFORM_CLEAR(description);
    UFORM_TRY(check_arena(arena, error_message));
    *description = plain(on_arena(arena, [](auto &of) { return of.describe(); }));
    return succeed(error_message);
}
uform_status_t uform_arena_capacity(uform_arena_t arena, uint64_t *bytes, char const **error_message) {
    UFORM_CLEAR(bytes);
    UFORM_TRY(check_arena(arena, error_message));
    *bytes = on_arena(arena, [](auto &of) { return of.capacity(); });
    return succeed(error_message);
}
uform_status_t uform_arena_limit(uform_arena_t arena, uint64_t *bytes, char const **error_message) {
    UFORM_CLEAR(bytes);
    UFORM_TRY(check_arena(arena, error_message));
    *bytes = on_arena(arena, [](auto &of) { return of.limit(); });
    return succeed(error_message);
}
uform_status_t uform_arena_set_limit(uform_arena_t arena, uint64_t bytes, char const **error_message) {
    UFORM_TRY(check_arena(arena, error_message));
    on_arena(arena, [bytes](auto &of) { of.limit(bytes); });
    return succeed(error_message);
}
uform_status_t uform_arena_reserve(uform_arena_t arena, uint64_t bytes, char const **error_message) {
    UFORM_TRY(check_arena(arena, error_message));
    return answer(on_arena(arena, [bytes](auto &of) { return of.reserve(bytes); }), error_message);
}
uform_status_t uform_arena_trim(uform_arena_t arena, char const **error_message) {
    UFORM_TRY(check_arena(arena, error_message));
    return answer(on_arena(arena, [](auto &of) { return of.trim(); }), error_message);
}
uform_status_t uform_arena_detach(uform_arena_t arena, uform_detached_t *detached, char const **error_message) {
    UFORM_CLEAR(detached);
    UFORM_TRY(check_arena(arena, error_message));
    auto *const handle = new (std::nothrow) uform_detached_s;
    if (!handle) return no_memory(error_message);
    auto const status = on_arena(arena, [&]<class R>(Arena<R> &of) {
        auto given = of.detach();
        if (!given) return refuse(given.error(), error_message);
        handle->detached.template emplace<Detached<R>>(*std::move(given));
        return succeed(error_message);
    });
    if (status) delete handle;
    else *detached = handle;
    return status;
}
void uform_detached_free(uform_detached_t detached) { delete detached; }
uform_status_t uform_detached_describe(uform_detached_t detached, uform_arena_description_t *description,
                                       char const **error_message) {
    UFORM_CLEAR(description);
    UFORM_NEED(detached);
    *description = plain(on_residency<Detached>(detached->detached, [](auto &of) { return of.describe(); }));
    return succeed(error_message);
}
uform_status_t uform_detached_capacity(uform_detached_t detached, uint64_t *bytes, char const **error_message) {
    UFORM_CLEAR(bytes);
    UFORM_NEED(detached);
    *bytes = on_residency<Detached>(detached->detached, [](auto &of) { return of.capacity(); });
    return succeed(error_message);
}

// ---- Stopping calls ----------------------------------------------------------------------------------------------

uform_status_t uform_cancellation_init(uform_cancellation_t *cancellation, char const **error_message) {
    UFORM_CLEAR(cancellation);
    *cancellation = new (std::nothrow) uform_cancellation_s;
    return *cancellation ? succeed(error_message) : no_memory(error_message);
}
void uform_cancellation_free(uform_cancellation_t cancellation) { delete cancellation; }
uform_status_t uform_cancellation_request(uform_cancellation_t cancellation, char const **error_message) {
    UFORM_NEED(cancellation);
    cancellation->is_requested.store(true, std::memory_order_relaxed);
    return succeed(error_message);
}
uform_status_t uform_cancellation_reset(uform_cancellation_t cancellation, char const **error_message) {
    UFORM_NEED(cancellation);
    cancellation->is_requested.store(false, std::memory_order_relaxed);
    return succeed(error_message);
}

// ---- Verbs -------------------------------------------------------------------------------------------------------

uform_status_t uform_text_encode(uform_model_t model, uform_executor_t executor, uform_tape_t const *texts,
                                 uform_outputs_t outputs, uform_scalar_t scalar, uform_arena_t arena,
                                 uform_encode_options_t const *options, uform_encoded_t *encoded,
                                 char const **error_message) {
    UFORM_CLEAR(encoded);
    TextEncode verb;
    UFORM_TRY(verb.read(texts, outputs, scalar, options, error_message));
    return run_now(model, executor, arena, encoded, error_message, verb);
}
uform_status_t uform_text_classify(uform_model_t model, uform_executor_t executor, uform_tape_t const *texts,
                                   uform_scalar_t scalar, uform_arena_t arena, uform_classify_options_t const *options,
                                   uform_encoded_t *encoded, char const **error_message) {
    UFORM_CLEAR(encoded);
    TextClassify verb;
    UFORM_TRY(verb.read(texts, scalar, options, error_message));
    return run_now(model, executor, arena, encoded, error_message, verb);
}
uform_status_t uform_text_classify_pairs(uform_model_t model, uform_executor_t executor, uform_tape_t const *first,
                                         uform_tape_t const *second, uform_scalar_t scalar, uform_arena_t arena,
                                         uform_classify_options_t const *options, uform_encoded_t *encoded,
                                         char const **error_message) {
    UFORM_CLEAR(encoded);
    TextPairs verb;
    UFORM_TRY(verb.read(first, second, scalar, options, error_message));
    return run_now(model, executor, arena, encoded, error_message, verb);
}
uform_status_t uform_text_rerank(uform_model_t model, uform_executor_t executor, uform_tape_t const *queries,
                                 uform_tape_t const *documents, uform_scalar_t scalar, uform_arena_t arena,
                                 uform_rerank_options_t const *options, uform_encoded_t *encoded,
                                 char const **error_message) {
    UFORM_CLEAR(encoded);
    TextPairs verb;
    verb.is_rerank = true;
    UFORM_TRY(verb.read(queries, documents, scalar, options, error_message));
    return run_now(model, executor, arena, encoded, error_message, verb);
}

// ---- Deferred calls ----------------------------------------------------------------------------------------------

uform_status_t uform_text_encode_deferred(uform_model_t model, uform_executor_t executor, uform_tape_t const *texts,
                                          uform_outputs_t outputs, uform_scalar_t scalar, uform_arena_t arena,
                                          uform_encode_options_t const *options, uform_deferred_t *deferred,
                                          char const **error_message) {
    UFORM_CLEAR(deferred);
    TextEncode verb;
    UFORM_TRY(verb.read(texts, outputs, scalar, options, error_message));
    return submit(model, executor, arena, deferred, error_message, verb);
}
uform_status_t uform_text_classify_deferred(uform_model_t model, uform_executor_t executor, uform_tape_t const *texts,
                                            uform_scalar_t scalar, uform_arena_t arena,
                                            uform_classify_options_t const *options, uform_deferred_t *deferred,
                                            char const **error_message) {
    UFORM_CLEAR(deferred);
    TextClassify verb;
    UFORM_TRY(verb.read(texts, scalar, options, error_message));
    return submit(model, executor, arena, deferred, error_message, verb);
}
uform_status_t uform_text_classify_pairs_deferred(uform_model_t model, uform_executor_t executor,
                                                  uform_tape_t const *first, uform_tape_t const *second,
                                                  uform_scalar_t scalar, uform_arena_t arena,
                                                  uform_classify_options_t const *options, uform_deferred_t *deferred,
                                                  char const **error_message) {
    UFORM_CLEAR(deferred);
    TextPairs verb;
    UFORM_TRY(verb.read(first, second, scalar, options, error_message));
    return submit(model, executor, arena, deferred, error_message, verb);
}
uform_status_t uform_text_rerank_deferred(uform_model_t model, uform_executor_t executor, uform_tape_t const *queries,
                                          uform_tape_t const *documents, uform_scalar_t scalar, uform_arena_t arena,
                                          uform_rerank_options_t const *options, uform_deferred_t *deferred,
                                          char const **error_message) {
    UFORM_CLEAR(deferred);
    TextPairs verb;
    verb.is_rerank = true;
    UFORM_TRY(verb.read(queries, documents, scalar, options, error_message));
    return submit(model, executor, arena, deferred, error_message, verb);
}

uform_status_t uform_deferred_ready(uform_deferred_t deferred, int32_t *ready, char const **error_message) {
    UFORM_CLEAR(ready);
    UFORM_NEED(deferred);
    *ready = deferred->call->ready();
    return succeed(error_message);
}
uform_status_t uform_deferred_wait_for(uform_deferred_t deferred, uint64_t nanoseconds, int32_t *ready,
                                       char const **error_message) {
    UFORM_CLEAR(ready);
    UFORM_NEED(deferred);
    *ready = deferred->call->wait_for(Nanoseconds{nanoseconds});
    return succeed(error_message);
}
uform_status_t uform_deferred_wait(uform_deferred_t deferred, uform_encoded_t *encoded, uform_pin_t *pin,
                                   char const **error_message) {
    if (pin) *pin = nullptr;
    UFORM_CLEAR(encoded);
    UFORM_NEED(deferred);
    auto pinned = deferred->call->wait();
    if (!pinned) return refuse(pinned.error(), error_message);
    auto const views = plain<Ram>(*pinned, -1);
    if (pin) *pin = disown(uform::c_abi::TakenPin(*std::move(pinned)).pin(), false);
    *encoded = views;
    return succeed(error_message);
}
uform_status_t uform_deferred_cancel(uform_deferred_t deferred, int32_t *cancelled, char const **error_message) {
    UFORM_CLEAR(cancelled);
    UFORM_NEED(deferred);
    *cancelled = deferred->call->cancel();
    return succeed(error_message);
}
uform_status_t uform_deferred_notify(uform_deferred_t deferred, void (*done)(void *), void *context,
                                     char const **error_message) {
    UFORM_NEED(deferred);
    UFORM_NEED(done);
    if (deferred->has_notification) return bad("deferred: the call has a notification already", error_message);
    auto *const notification = Pool<Notification>::take();
    if (!notification) return no_memory(error_message);
    notification->done = done, notification->context = context;
    deferred->has_notification = true;
    auto const status = succeed(error_message); // first: `done` may free all that this frame refers to
    deferred->call->on_ready(
        [](void *given) noexcept {
            auto *const told = static_cast<Notification *>(given);
            auto const [next, call, with] = *told;
            Pool<Notification>::give(told);
            call(with);
        },
        notification);
    return status;
}
void uform_deferred_free(uform_deferred_t deferred) {
    if (!deferred) return;
    deferred->call.reset(); // waits
    Pool<uform_deferred_s>::give(deferred);
}

// ---- Rows --------------------------------------------------------------------------------------------------------

uform_status_t uform_rows_values(uform_rows_t const *rows, uform_scalar_t scalar, void const **values,
                                 char const **error_message) {
    UFORM_CLEAR(values);
    UFORM_TRY(check_host_rows(rows, scalar, error_message));
    *values = rows->data;
    return succeed(error_message);
}
uform_status_t uform_rows_row(uform_rows_t const *rows, uform_scalar_t scalar, uint64_t index, void const **values,
                              char const **error_message) {
    UFORM_CLEAR(values);
    UFORM_TRY(check_host_rows(rows, scalar, error_message));
    if (index >= rows->rows)
        return refuse(Error::of(Status::invalid_argument, "row ", index, " of ", rows->rows), error_message);
    *values = static_cast<std::byte const *>(rows->data) + index * rows->row_stride_bytes;
    return succeed(error_message);
}
uform_status_t uform_rows_copy_to(uform_rows_t const *rows, uform_scalar_t scalar, void *to, uint64_t bytes,
                                  char const **error_message) {
    UFORM_NEED(rows);
    if (!to && bytes) return bad("to: NULL, and its size isn't 0", error_message);
    UFORM_TRY(check_shape(*rows, error_message));
    uform_rows_t host = *rows;
    host.residency = uform_residency_ram_k; // the other checks are the same for a device's
    UFORM_TRY(check_host_rows(&host, scalar, error_message));
    std::size_t const wanted = rows->rows * uform::row_bytes(static_cast<Scalar>(scalar), rows->columns);
    if (bytes != wanted)
        return refuse(Error::of(Status::invalid_argument, "the destination has room for ", bytes, " bytes of ", wanted),
                      error_message);
    if (!bytes) return succeed(error_message);
    if (rows->residency == uform_residency_ram_k) {
        std::memcpy(to, rows->data, bytes);
        return succeed(error_message);
    }
    auto const pin = stamp_of(*rows).pin();
    if (!pin) return refuse(pin.error(), error_message);
    return answer(Vram::copy_to_host(*pin->slot(), to, rows->data, bytes), error_message);
}
uform_status_t uform_rows_is_current(uform_rows_t const *rows, int32_t *is_current, char const **error_message) {
    UFORM_CLEAR(is_current);
    UFORM_NEED(rows);
    *is_current = stamp_of(*rows).is_current();
    return succeed(error_message);
}
uform_status_t uform_rows_stream_wait(uform_rows_t const *rows, void *stream, char const **error_message) {
    UFORM_NEED(rows);
    if (!rows->lease) return refuse_stale({}, error_message);
    auto const pin = stamp_of(*rows).pin();
    if (!pin) return refuse(pin.error(), error_message);
    if (rows->residency != uform_residency_vram_k)
        return bad("rows: in host memory, which no stream fills", error_message);
    return answer(Vram::stream_wait(*pin->slot(), stream), error_message);
}

uform_status_t uform_ragged_rows_at(uform_ragged_rows_t const *rows, uint64_t text, uform_rows_t *part,
                                    char const **error_message) {
    UFORM_CLEAR(part);
    UFORM_NEED(rows);
    Stamp const stamp = stamp_of(rows->rows);
    if (!stamp.is_current()) return refuse_stale(stamp, error_message);
    if (text >= rows->texts)
        return refuse(Error::of(Status::invalid_argument, "text ", text, " of ", rows->texts), error_message);
    std::uint32_t const *const offsets = rows->offsets + text;
    *part = rows->rows;
    part->data = static_cast<std::byte const *>(part->data) + offsets[0] * part->row_stride_bytes;
    part->rows = offsets[1] - offsets[0];
    return succeed(error_message);
}
uform_status_t uform_ragged_rows_offsets(uform_ragged_rows_t const *rows, uint32_t const **offsets,
                                         char const **error_message) {
    UFORM_CLEAR(offsets);
    UFORM_NEED(rows);
    Stamp const stamp = stamp_of(rows->rows);
    if (!stamp.is_current()) return refuse_stale(stamp, error_message);
    *offsets = rows->offsets;
    return succeed(error_message);
}

uform_status_t uform_encoded_truncated_tokens(uform_encoded_t const *encoded, uint32_t const **tokens, uint64_t *count,
                                              char const **error_message) {
    if (count) *count = 0;
    UFORM_CLEAR(tokens);
    UFORM_NEED(encoded);
    UFORM_TRY(check_filled(*encoded, error_message));
    return read_counts(encoded->truncated_tokens, tokens, count, error_message);
}
uform_status_t uform_encoded_token_ids(uform_encoded_t const *encoded, uint32_t const **ids, uint64_t *count,
                                       char const **error_message) {
    if (count) *count = 0;
    UFORM_CLEAR(ids);
    UFORM_NEED(encoded);
    UFORM_TRY(check_filled(*encoded, error_message));
    if (!encoded->token_ids.lease)
        return bad("token_ids: the call was asked for neither states nor token probabilities", error_message);
    return read_counts(encoded->token_ids, ids, count, error_message);
}

// ---- Pins --------------------------------------------------------------------------------------------------------

uform_status_t uform_rows_pin(uform_rows_t const *rows, uform_pin_t *pin, char const **error_message) {
    UFORM_CLEAR(pin);
    UFORM_NEED(rows);
    return pin_rows(*rows, pin, error_message);
}
uform_status_t uform_ragged_rows_pin(uform_ragged_rows_t const *rows, uform_pin_t *pin, char const **error_message) {
    UFORM_CLEAR(pin);
    UFORM_NEED(rows);
    return pin_rows(rows->rows, pin, error_message);
}
uform_status_t uform_encoded_pin(uform_encoded_t const *encoded, uform_pin_t *pin, char const **error_message) {
    UFORM_CLEAR(pin);
    UFORM_NEED(encoded);
    UFORM_TRY(check_filled(*encoded, error_message));
    bool is_of_device = false; // the counts never are
    for (uform_rows_t const *rows :
         {&encoded->embeddings, &encoded->probabilities, &encoded->states.rows, &encoded->token_vectors.rows,
          &encoded->token_probabilities.rows, &encoded->sparse_ids.rows})
        is_of_device = is_of_device || rows->residency == uform_residency_vram_k;
    return take_pin(stamp_of(encoded->truncated_tokens), is_of_device, pin, error_message);
}
void uform_rows_unpin(uform_pin_t pin) { Pin(slot_of(pin)).release(); }
uform_status_t uform_pin_release_on(uform_pin_t pin, void *stream, char const **error_message) {
    UFORM_NEED(pin);
    if (!(reinterpret_cast<std::uintptr_t>(pin) & 1))
        return bad("pin: of rows in host memory, which no stream reads", error_message);
    auto const done = Vram::release_on(*slot_of(pin), stream);
    if (done) Pin(slot_of(pin)).release();
    return answer(done, error_message);
}

// ---- Other libraries ---------------------------------------------------------------------------------------------

uform_status_t uform_rows_to_dlpack(uform_rows_t const *rows, void **tensor, char const **error_message) {
    UFORM_CLEAR(tensor);
    UFORM_NEED(rows);
    UFORM_TRY(check_shape(*rows, error_message));
    auto const hand_over = [&]<class R>(Rows<R> const &view, std::optional<std::uint32_t> device) {
        auto pinned = view.pin();
        if (!pinned) return refuse(pinned.error(), error_message);
        auto made = uform::to_dlpack(*std::move(pinned), device);
        if (made) *tensor = made->release();
        return answer(made, error_message);
    };
    if (rows->residency == uform_residency_ram_k)
        return hand_over(Plain::together<Ram>(*rows, stamp_of(*rows)), std::nullopt);
    return hand_over(Plain::together<Vram>(*rows, stamp_of(*rows)), static_cast<std::uint32_t>(rows->device));
}
uform_status_t uform_rows_to_arrow(uform_rows_t const *rows, struct ArrowSchema *schema, struct ArrowArray *array,
                                   char const **error_message) {
    UFORM_NEED(rows);
    UFORM_NEED(schema);
    UFORM_NEED(array);
    UFORM_TRY(check_host_shape(*rows, error_message));
    return export_arrow(Plain::together<Ram>(*rows, stamp_of(*rows)), schema, array, error_message);
}
uform_status_t uform_ragged_rows_to_arrow(uform_ragged_rows_t const *rows, struct ArrowSchema *schema,
                                          struct ArrowArray *array, char const **error_message) {
    UFORM_NEED(rows);
    UFORM_NEED(schema);
    UFORM_NEED(array);
    UFORM_TRY(check_host_shape(rows->rows, error_message));
    return export_arrow(Plain::together(*rows, stamp_of(rows->rows)), schema, array, error_message);
}

} // extern "C"
