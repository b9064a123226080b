/// A library with the names of uform.h that computes nothing and writes down what is freed, for the order of it.
///
/// Every handle is the address of its own name. Arenas lie on device 0 if `recorder_device` was set, else in host pages. With
/// OTHER_VERSION it says that its interface is another; with ONLY_VERSION it has no other function.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef OTHER_VERSION
uint32_t uform_abi_version(void) { return 7; }
#else
uint32_t uform_abi_version(void) { return 0; }
#endif

#ifndef ONLY_VERSION
static char written[1024];
static int32_t is_device;
static char text[32]; ///< of the last error: the next call overwrites it, as the interface allows

void recorder_device(int32_t is) { is_device = is; }
char const *recorder_written(void) { return written; }
void recorder_forget(void) { written[0] = 0; }

static void write_down(char const *name) {
    strcpy(text, "overwritten");
    if (strlen(written) + strlen(name) + 2 > sizeof written) return;
    if (written[0]) strcat(written, " ");
    strcat(written, name);
}

#define MAKE(function, name, ...)                                                                                      \
    int32_t function(__VA_ARGS__, void **handle, char const **message) {                                               \
        *handle = name, *message = NULL;                                                                               \
        return 0;                                                                                                      \
    }
#define FREE(function)                                                                                                 \
    void function(void *handle) {                                                                                      \
        if (handle) write_down(handle);                                                                                \
    }
/// A function that no test of the order calls.
#define NEVER(function)                                                                                                \
    int32_t function(void) { return 5; }

MAKE(uform_executor_init_ram, "executor", size_t threads)
MAKE(uform_executor_init_vram, "executor", uint32_t device)
MAKE(uform_model_load, "model", char const *folder, void const *options)
MAKE(uform_model_tokenizer, "tokenizer", void *model)
MAKE(uform_arena_init, "arena", void *executor)
MAKE(uform_text_encode_deferred, "call", void *model, void *executor, void const *tape, uint32_t outputs, int32_t scalar,
     void *arena, void const *options)
MAKE(uform_rows_pin, "pin", void const *rows)
FREE(uform_executor_free)
FREE(uform_model_free)
FREE(uform_tokenizer_free)
FREE(uform_arena_free)
FREE(uform_cancellation_free)
FREE(uform_deferred_free)
FREE(uform_rows_unpin)

int32_t uform_cancellation_init(void **handle, char const **message) {
    *handle = "cancellation", *message = NULL;
    return 0;
}
int32_t uform_arena_describe(void *arena, int32_t description[2], char const **message) {
    (void)arena;
    description[0] = is_device, description[1] = is_device ? 0 : -1, *message = NULL;
    return 0;
}
int32_t uform_text_encode(void *model, void *executor, void const *tape, uint32_t outputs, int32_t scalar, void *arena,
                          void const *options, void *encoded, char const **message) {
    (void)model, (void)executor, (void)tape, (void)outputs, (void)scalar, (void)arena, (void)options;
    memset(encoded, 0, 672), *message = NULL;
    return 0;
}
int32_t uform_deferred_wait(void *deferred, void *encoded, void **pin, char const **message) {
    (void)deferred, (void)pin;
    memset(encoded, 0, 672);
    strcpy(text, "the words of the failure"), *message = text;
    return 6;
}

NEVER(uform_executor_describe)
NEVER(uform_executor_threads)
NEVER(uform_executor_stream)
NEVER(uform_model_dimensions)
NEVER(uform_model_hidden_size)
NEVER(uform_model_layers)
NEVER(uform_model_max_sequence_length)
NEVER(uform_model_outputs)
NEVER(uform_model_normalizes)
NEVER(uform_model_similarity)
NEVER(uform_model_instruction_set)
NEVER(uform_model_labels)
NEVER(uform_model_label)
NEVER(uform_model_prompts)
NEVER(uform_model_prompt)
NEVER(uform_model_warnings)
NEVER(uform_model_warning)
NEVER(uform_tokenizer_load)
NEVER(uform_tokenizer_encode)
NEVER(uform_tokenizer_count)
NEVER(uform_tokenizer_decode)
NEVER(uform_tokenizer_token)
NEVER(uform_tokenizer_id)
NEVER(uform_tokenizer_vocabulary_size)
NEVER(uform_tokenizer_special_tokens)
NEVER(uform_arena_capacity)
NEVER(uform_arena_limit)
NEVER(uform_arena_set_limit)
NEVER(uform_arena_reserve)
NEVER(uform_arena_trim)
NEVER(uform_cancellation_request)
NEVER(uform_cancellation_reset)
NEVER(uform_text_classify)
NEVER(uform_text_classify_pairs)
NEVER(uform_text_rerank)
NEVER(uform_text_classify_deferred)
NEVER(uform_text_classify_pairs_deferred)
NEVER(uform_text_rerank_deferred)
NEVER(uform_deferred_ready)
NEVER(uform_deferred_wait_for)
NEVER(uform_deferred_cancel)
NEVER(uform_rows_values)
NEVER(uform_rows_row)
NEVER(uform_rows_copy_to)
NEVER(uform_rows_is_current)
NEVER(uform_rows_stream_wait)
NEVER(uform_ragged_rows_at)
NEVER(uform_ragged_rows_offsets)
#endif
