/// Calls every function of the C interface with each wrong argument, as C99 and as C++.
///
///     arguments MODEL_FOLDER CLASSIFIER_FOLDER
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uform.h"

static size_t passed = 0, failed = 0, checks = 0; // groups of checks, and checks
static int is_group_good = 1;
static char const *text = NULL;  // what the last refusal said
static char const **message = 0; // NULL, or the address of `text`

static void note(int holds, char const *what, int line) {
    ++checks;
    if (holds) return;
    is_group_good = 0;
    printf("line %d: %s (message: %s)\n", line, what, text ? text : "none");
}
/// Runs a group of checks, which counts as one test.
#define GROUP(call)                                                                                                    \
    do {                                                                                                               \
        is_group_good = 1;                                                                                             \
        call;                                                                                                          \
        if (is_group_good) ++passed;                                                                                   \
        else ++failed;                                                                                                 \
    } while (0)
#define CHECK(condition) note((condition) != 0, #condition, __LINE__)
/// The call is refused with the status, without a place for a message and with one, and then says something that names
/// `word`.
#define REFUSES(status, word, call)                                                                                    \
    do {                                                                                                               \
        message = NULL;                                                                                                \
        note((call) == uform_status_##status##_k, #call " answers " #status ", without a message", __LINE__);          \
        message = &text, text = NULL;                                                                                  \
        note((call) == uform_status_##status##_k, #call " answers " #status, __LINE__);                                \
        note(text &&strstr(text, word), #call " names " word, __LINE__);                                               \
    } while (0)
/// The call succeeds, and clears the message.
#define SUCCEEDS(call)                                                                                                 \
    do {                                                                                                               \
        message = &text, text = "untouched";                                                                           \
        note((call) == uform_status_success_k, #call " succeeds", __LINE__);                                           \
        note(text == NULL, #call " clears the message", __LINE__);                                                     \
    } while (0)

static int is_zero(void const *structure, size_t size) {
    unsigned char const *const bytes = (unsigned char const *)structure;
    for (size_t i = 0; i != size; ++i)
        if (bytes[i]) return 0;
    return 1;
}

static uform_tape_t const one_text = {"the model", 9, NULL, 1, 0, 0};
static uform_tape_t tape_of(void const *bytes, uint64_t size, void const *offsets, uint64_t texts, uint32_t width) {
    uform_tape_t tape;
    memset(&tape, 0, sizeof tape);
    tape.bytes = bytes, tape.size = size, tape.offsets = offsets, tape.texts = texts, tape.offset_bytes = width;
    return tape;
}

static void names(void) {
    CHECK(!strcmp(uform_version(), "0.1.0"));
    CHECK(uform_abi_version() == UFORM_ABI_VERSION);
    CHECK(!strcmp(uform_status_name(uform_status_contended_k), "contended"));
    CHECK(!strcmp(uform_status_name(-1), "unknown") && !strcmp(uform_status_name(9), "unknown"));
    CHECK(!strcmp(uform_scalar_name(uform_scalar_bf16_k), "bf16"));
    CHECK(!strcmp(uform_scalar_name(-1), "unknown") && !strcmp(uform_scalar_name(256), "unknown"));
    CHECK(uform_scalar_bits(uform_scalar_b1_k) == 1 && uform_scalar_bits(uform_scalar_u64_k) == 64);
    CHECK(uform_scalar_bits(8) == 0 && uform_scalar_bits(INT32_MIN) == 0);
    CHECK(!strcmp(uform_outputs_name(uform_outputs_sparse_k), "sparse"));
    CHECK(!strcmp(uform_outputs_name(3), "none or several"));
    CHECK(!strcmp(uform_residency_name(uform_residency_vram_k), "vram") && !strcmp(uform_residency_name(2), "unknown"));
    CHECK(!strcmp(uform_instruction_set_name(0), "best") && !strcmp(uform_instruction_set_name(4), "unknown"));
    CHECK(!strcmp(uform_instruction_set_name(uform_instruction_set_avx2_k), "avx2"));
}

static void executors(void) {
    uform_executor_t executor = NULL;
    uform_arena_description_t where;
    uint64_t threads = 7;
    void *stream = &threads;
    REFUSES(invalid_argument, "executor", uform_executor_init_ram(1, NULL, message));
    REFUSES(invalid_argument, "executor", uform_executor_init_vram(0, NULL, message));
    REFUSES(out_of_memory, "65,536", uform_executor_init_ram(SIZE_MAX, &executor, message));
    CHECK(!executor);
    REFUSES(unsupported, "", uform_executor_init_vram(UINT32_MAX, &executor, message));
    CHECK(!executor);
    SUCCEEDS(uform_executor_init_ram(2, &executor, message));
    REFUSES(invalid_argument, "executor", uform_executor_describe(NULL, &where, message));
    REFUSES(invalid_argument, "description", uform_executor_describe(executor, NULL, message));
    SUCCEEDS(uform_executor_describe(executor, &where, message));
    CHECK(where.residency == uform_residency_ram_k && where.device == -1);
    REFUSES(invalid_argument, "executor", uform_executor_threads(NULL, &threads, message));
    CHECK(threads == 0);
    REFUSES(invalid_argument, "threads", uform_executor_threads(executor, NULL, message));
    SUCCEEDS(uform_executor_threads(executor, &threads, message));
    CHECK(threads == 2);
    REFUSES(invalid_argument, "executor", uform_executor_stream(NULL, &stream, message));
    REFUSES(invalid_argument, "stream", uform_executor_stream(executor, NULL, message));
    REFUSES(invalid_argument, "no stream", uform_executor_stream(executor, &stream, message));
    CHECK(!stream);
    uform_executor_free(executor);
    uform_executor_free(NULL);
}

static void loading(char const *folder) {
    uform_model_t model = NULL;
    uform_load_options_t options;
    REFUSES(invalid_argument, "model", uform_model_load(folder, NULL, NULL, message));
    REFUSES(invalid_argument, "folder", uform_model_load(NULL, NULL, &model, message));
    REFUSES(invalid_argument, "folder", uform_model_load("", NULL, &model, message));
    REFUSES(io, "no-such", uform_model_load("no-such", NULL, &model, message));
    CHECK(!model);
    memset(&options, 0, sizeof options);
    REFUSES(invalid_argument, "options.size", uform_model_load(folder, &options, &model, message));
    options.size = UINT64_MAX;
    REFUSES(invalid_argument, "options.size", uform_model_load(folder, &options, &model, message));
    options.size = sizeof options - 1;
    REFUSES(invalid_argument, "options.size", uform_model_load(folder, &options, &model, message));
    options.size = sizeof options, options.compute = uform_scalar_f16_k;
    REFUSES(unsupported, "options.compute", uform_model_load(folder, &options, &model, message));
    options.compute = 99;
    REFUSES(invalid_argument, "options.compute: 99 names none of f32 (0)",
            uform_model_load(folder, &options, &model, message));
    options.compute = 0, options.instruction_set = 4;
    REFUSES(invalid_argument, "options.instruction_set: 4 names none of best (0), portable (1), avx2 (2), avx512 (3)",
            uform_model_load(folder, &options, &model, message));
    options.instruction_set = -1;
    REFUSES(invalid_argument, "options.instruction_set: -1 ", uform_model_load(folder, &options, &model, message));
    CHECK(!model);

    // A structure of a newer version: what this one doesn't know must be zero.
    union {
        uform_load_options_t options;
        unsigned char bytes[sizeof(uform_load_options_t) + 16];
    } newer;
    memset(&newer, 0, sizeof newer);
    newer.options.size = sizeof newer, newer.options.instruction_set = uform_instruction_set_portable_k;
    newer.bytes[sizeof newer - 1] = 1;
    REFUSES(unsupported, "newer version", uform_model_load(folder, &newer.options, &model, message));
    newer.bytes[sizeof newer - 1] = 0;
    SUCCEEDS(uform_model_load(folder, &newer.options, &model, message));
    uform_instruction_set_t set = 0;
    SUCCEEDS(uform_model_instruction_set(model, &set, message));
    CHECK(set == uform_instruction_set_portable_k);
    uform_model_free(model);
    uform_model_free(NULL);
}

/// A property of a model: refused without one, refused without a place, and else there.
#define PROPERTY(type, name)                                                                                           \
    do {                                                                                                               \
        type given = 1;                                                                                                \
        REFUSES(invalid_argument, "model", uform_model_##name(NULL, &given, message));                                 \
        CHECK(given == 0);                                                                                             \
        REFUSES(invalid_argument, "NULL", uform_model_##name(model, NULL, message));                                   \
        SUCCEEDS(uform_model_##name(model, &given, message));                                                          \
    } while (0)
#define LIST(name, count)                                                                                              \
    do {                                                                                                               \
        char const *found = "x";                                                                                       \
        uint64_t length = 1;                                                                                           \
        REFUSES(invalid_argument, "model", uform_model_##name(NULL, 0, &found, &length, message));                     \
        CHECK(!found && !length);                                                                                      \
        REFUSES(invalid_argument, #name, uform_model_##name(model, 0, NULL, &length, message));                        \
        REFUSES(invalid_argument, "index", uform_model_##name(model, count, &found, &length, message));                \
        REFUSES(invalid_argument, "index", uform_model_##name(model, UINT64_MAX, &found, NULL, message));              \
    } while (0)

static void properties(uform_model_t model, uform_model_t classifier) {
    uint64_t value = 0, size = 0;
    char const *item = NULL;
    PROPERTY(uint64_t, dimensions);
    PROPERTY(uint64_t, hidden_size);
    PROPERTY(uint64_t, layers);
    PROPERTY(uint64_t, max_sequence_length);
    PROPERTY(uform_outputs_t, outputs);
    PROPERTY(int32_t, normalizes);
    PROPERTY(uform_similarity_t, similarity);
    PROPERTY(uform_instruction_set_t, instruction_set);
    PROPERTY(uint64_t, labels);
    PROPERTY(uint64_t, prompts);
    PROPERTY(uint64_t, warnings);
    LIST(label, 0);
    LIST(prompt, 1000);
    LIST(warning, 1000);
    SUCCEEDS(uform_model_labels(classifier, &value, message));
    CHECK(value == 3);
    SUCCEEDS(uform_model_label(classifier, 2, &item, &size, message));
    CHECK(item && strlen(item) == size && size);
    SUCCEEDS(uform_model_label(classifier, 0, &item, NULL, message));
    REFUSES(invalid_argument, "3 of 3", uform_model_label(classifier, 3, &item, NULL, message));
    SUCCEEDS(uform_model_prompts(model, &value, message));
    CHECK(value >= 2);
    SUCCEEDS(uform_model_prompt(model, 0, &item, &size, message));
    CHECK(item && strlen(item) == size);
}

static void tokenizers(char const *folder, uform_model_t model) {
    uform_tokenizer_t tokenizer = NULL, loaded = NULL;
    uint32_t ids[16];
    uint64_t count = 9, size = 9;
    int64_t id = 9;
    char written[64];
    char const *token = "x";
    REFUSES(invalid_argument, "tokenizer", uform_model_tokenizer(model, NULL, message));
    REFUSES(invalid_argument, "model", uform_model_tokenizer(NULL, &tokenizer, message));
    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_load(folder, NULL, message));
    REFUSES(invalid_argument, "folder", uform_tokenizer_load(NULL, &loaded, message));
    REFUSES(invalid_argument, "folder", uform_tokenizer_load("", &loaded, message));
    REFUSES(io, "no-such", uform_tokenizer_load("no-such", &loaded, message));
    CHECK(!tokenizer && !loaded);
    SUCCEEDS(uform_model_tokenizer(model, &tokenizer, message));
    SUCCEEDS(uform_tokenizer_load(folder, &loaded, message));

    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_encode(NULL, "a", 1, ids, 16, &count, message));
    CHECK(count == 0);
    REFUSES(invalid_argument, "count", uform_tokenizer_encode(tokenizer, "a", 1, ids, 16, NULL, message));
    REFUSES(invalid_argument, "text", uform_tokenizer_encode(tokenizer, NULL, 1, ids, 16, &count, message));
    REFUSES(invalid_argument, "size", uform_tokenizer_encode(tokenizer, "a", UINT64_MAX, ids, 16, &count, message));
    REFUSES(invalid_argument, "ids", uform_tokenizer_encode(tokenizer, "a", 1, NULL, 16, &count, message));
    ids[0] = 77;
    REFUSES(invalid_argument, "capacity", uform_tokenizer_encode(tokenizer, "the model", 9, ids, 3, &count, message));
    CHECK(count == 4 && ids[0] == 77);
    SUCCEEDS(uform_tokenizer_encode(tokenizer, "the model", 9, NULL, 0, &count, message));
    CHECK(count == 4);
    SUCCEEDS(uform_tokenizer_encode(loaded, "the model", 9, ids, 4, &count, message));
    CHECK(count == 4 && ids[0] == 2 && ids[1] == 195 && ids[2] == 324 && ids[3] == 3); // the reference's
    SUCCEEDS(uform_tokenizer_encode(loaded, NULL, 0, ids, 4, &count, message));
    CHECK(count == 2);

    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_count(NULL, "a", 1, &count, message));
    REFUSES(invalid_argument, "count", uform_tokenizer_count(tokenizer, "a", 1, NULL, message));
    REFUSES(invalid_argument, "text", uform_tokenizer_count(tokenizer, NULL, 1, &count, message));
    REFUSES(invalid_argument, "size", uform_tokenizer_count(tokenizer, "a", UINT64_MAX, &count, message));
    SUCCEEDS(uform_tokenizer_count(tokenizer, "the model", 9, &count, message));
    CHECK(count == 4);

    ids[0] = 2, ids[1] = 195, ids[2] = 324, ids[3] = 3;
    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_decode(NULL, ids, 4, 1, written, 64, &size, message));
    REFUSES(invalid_argument, "size", uform_tokenizer_decode(tokenizer, ids, 4, 1, written, 64, NULL, message));
    REFUSES(invalid_argument, "ids", uform_tokenizer_decode(tokenizer, NULL, 4, 1, written, 64, &size, message));
    REFUSES(invalid_argument, "count",
            uform_tokenizer_decode(tokenizer, ids, UINT64_MAX, 1, written, 64, &size, message));
    REFUSES(invalid_argument, "text", uform_tokenizer_decode(tokenizer, ids, 4, 1, NULL, 64, &size, message));
    REFUSES(invalid_argument, "capacity", uform_tokenizer_decode(tokenizer, ids, 4, 1, written, 9, &size, message));
    CHECK(size == 9);
    SUCCEEDS(uform_tokenizer_decode(tokenizer, ids, 4, 1, written, 10, &size, message));
    CHECK(size == 9 && !strcmp(written, "the model"));
    SUCCEEDS(uform_tokenizer_decode(tokenizer, NULL, 0, 0, NULL, 0, &size, message));
    CHECK(size == 0);

    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_token(NULL, 3, &token, &size, message));
    CHECK(!token);
    REFUSES(invalid_argument, "text", uform_tokenizer_token(tokenizer, 3, NULL, &size, message));
    SUCCEEDS(uform_tokenizer_token(tokenizer, 324, &token, &size, message));
    CHECK(token && size == 5 && !strncmp(token, "model", 5));
    SUCCEEDS(uform_tokenizer_token(tokenizer, UINT32_MAX, &token, NULL, message));
    CHECK(!token);
    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_id(NULL, "a", 1, &id, message));
    REFUSES(invalid_argument, "id", uform_tokenizer_id(tokenizer, "a", 1, NULL, message));
    REFUSES(invalid_argument, "text", uform_tokenizer_id(tokenizer, NULL, 1, &id, message));
    REFUSES(invalid_argument, "size", uform_tokenizer_id(tokenizer, "a", UINT64_MAX, &id, message));
    SUCCEEDS(uform_tokenizer_id(tokenizer, "model", 5, &id, message));
    CHECK(id == 324);
    SUCCEEDS(uform_tokenizer_id(tokenizer, "no such token", 13, &id, message));
    CHECK(id == -1);
    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_vocabulary_size(NULL, &size, message));
    REFUSES(invalid_argument, "size", uform_tokenizer_vocabulary_size(tokenizer, NULL, message));
    SUCCEEDS(uform_tokenizer_vocabulary_size(tokenizer, &size, message));
    CHECK(size == 394);
    REFUSES(invalid_argument, "tokenizer", uform_tokenizer_special_tokens(NULL, &count, message));
    REFUSES(invalid_argument, "count", uform_tokenizer_special_tokens(tokenizer, NULL, message));
    SUCCEEDS(uform_tokenizer_special_tokens(tokenizer, &count, message));
    CHECK(count == 2);
    uform_tokenizer_free(tokenizer), uform_tokenizer_free(loaded), uform_tokenizer_free(NULL);
}

/// Every function of an arena answers the same to a NULL, and to one that was freed.
static void refused_arena(uform_arena_t arena, uform_model_t model, uform_executor_t executor, char const *words) {
    uform_arena_description_t where;
    uform_detached_t detached = NULL;
    uform_encoded_t encoded;
    uform_deferred_t deferred = NULL;
    uint64_t bytes = 9;
    char const *const said = words;
#define ARENA_REFUSES(call)                                                                                            \
    do {                                                                                                               \
        message = &text, text = NULL;                                                                                  \
        note((call) == uform_status_invalid_argument_k && text && strstr(text, said), #call, __LINE__);                \
        note(!text || !strstr(text, "pins were held"), #call " gives no cause that C hasn't", __LINE__);               \
    } while (0)
    ARENA_REFUSES(uform_arena_describe(arena, &where, message));
    ARENA_REFUSES(uform_arena_capacity(arena, &bytes, message));
    CHECK(bytes == 0);
    ARENA_REFUSES(uform_arena_limit(arena, &bytes, message));
    ARENA_REFUSES(uform_arena_set_limit(arena, 1, message));
    ARENA_REFUSES(uform_arena_reserve(arena, 1, message));
    ARENA_REFUSES(uform_arena_trim(arena, message));
    ARENA_REFUSES(uform_arena_detach(arena, &detached, message));
    CHECK(!detached);
    ARENA_REFUSES(uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &encoded, message));
    ARENA_REFUSES(uform_text_classify(model, NULL, &one_text, 0, arena, NULL, &encoded, message));
    ARENA_REFUSES(uform_text_classify_pairs(model, executor, &one_text, &one_text, 0, arena, NULL, &encoded, message));
    ARENA_REFUSES(uform_text_rerank(model, executor, &one_text, &one_text, 0, arena, NULL, &encoded, message));
    CHECK(is_zero(&encoded, sizeof encoded));
    ARENA_REFUSES(uform_text_encode_deferred(model, executor, &one_text, 1, 0, arena, NULL, &deferred, message));
    ARENA_REFUSES(uform_text_classify_deferred(model, executor, &one_text, 0, arena, NULL, &deferred, message));
    ARENA_REFUSES(
        uform_text_classify_pairs_deferred(model, executor, &one_text, &one_text, 0, arena, NULL, &deferred, message));
    ARENA_REFUSES(
        uform_text_rerank_deferred(model, executor, &one_text, &one_text, 0, arena, NULL, &deferred, message));
    CHECK(!deferred);
    uform_arena_free(arena); // fine
}

static void arenas(uform_model_t model, uform_executor_t executor) {
    uform_arena_t arena = NULL, other = NULL;
    uform_detached_t detached = NULL;
    uform_arena_description_t where;
    uform_encoded_t encoded;
    uint64_t bytes = 0;
    void const *values = NULL;
    REFUSES(invalid_argument, "arena", uform_arena_init(NULL, NULL, message));
    refused_arena(NULL, model, executor, "arena");
    SUCCEEDS(uform_arena_init(NULL, &arena, message));
    SUCCEEDS(uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &encoded, message));
    uform_arena_free(arena);
    refused_arena(arena, model, executor, "freed");
    REFUSES(invalid_argument, "stale", uform_rows_values(&encoded.embeddings, 0, &values, message));

    SUCCEEDS(uform_arena_init(executor, &other, message));
    CHECK(other == arena); // its place was taken: from here on the old handle is the new arena's
    REFUSES(invalid_argument, "stale", uform_rows_values(&encoded.embeddings, 0, &values, message));
    REFUSES(invalid_argument, "description", uform_arena_describe(other, NULL, message));
    REFUSES(invalid_argument, "bytes", uform_arena_capacity(other, NULL, message));
    REFUSES(invalid_argument, "bytes", uform_arena_limit(other, NULL, message));
    REFUSES(invalid_argument, "detached", uform_arena_detach(other, NULL, message));
    REFUSES(out_of_memory, "", uform_arena_reserve(other, UINT64_MAX, message));
    REFUSES(out_of_memory, "", uform_arena_reserve(other, UINT64_MAX - 4096, message));
    SUCCEEDS(uform_arena_limit(other, &bytes, message));
    CHECK(bytes == UINT64_MAX);
    SUCCEEDS(uform_arena_set_limit(other, 100, message));
    REFUSES(out_of_memory, "limit of 100", uform_arena_reserve(other, 101, message));
    SUCCEEDS(uform_arena_set_limit(other, UINT64_MAX, message));
    SUCCEEDS(uform_arena_reserve(other, 1 << 20, message));
    SUCCEEDS(uform_arena_capacity(other, &bytes, message));
    CHECK(bytes >= 1 << 20);
    SUCCEEDS(uform_text_encode(model, executor, &one_text, 1, 0, other, NULL, &encoded, message));
    SUCCEEDS(uform_arena_trim(other, message));
    SUCCEEDS(uform_arena_capacity(other, &bytes, message));
    CHECK(bytes < 1 << 20);

    REFUSES(invalid_argument, "detached", uform_detached_describe(NULL, &where, message));
    REFUSES(invalid_argument, "detached", uform_detached_capacity(NULL, &bytes, message));
    SUCCEEDS(uform_arena_detach(other, &detached, message));
    REFUSES(invalid_argument, "description", uform_detached_describe(detached, NULL, message));
    REFUSES(invalid_argument, "bytes", uform_detached_capacity(detached, NULL, message));
    SUCCEEDS(uform_detached_describe(detached, &where, message));
    CHECK(where.residency == uform_residency_ram_k && where.device == -1);
    SUCCEEDS(uform_detached_capacity(detached, &bytes, message));
    CHECK(bytes > 0);
    uform_arena_free(other);
    SUCCEEDS(uform_rows_values(&encoded.embeddings, 0, &values, message)); // the storage has the views
    uform_detached_free(detached);
    REFUSES(invalid_argument, "stale", uform_rows_values(&encoded.embeddings, 0, &values, message));
    uform_detached_free(NULL), uform_arena_free(NULL);
}

static void tapes(uform_model_t model, uform_arena_t arena) {
    uform_encoded_t encoded;
    uint32_t const offsets[] = {0, 4, 2, 9};
    uint64_t const wide[] = {0, 4, 10};
    unsigned char const bytes[] = "the model";
    uform_tape_t tape;
    memset(&encoded, 1, sizeof encoded);
/// Each verb says it of the tape by its parameter's name, with which the text begins.
#define NAMES_TAPE(name, word, call)                                                                                   \
    REFUSES(invalid_argument, word, call);                                                                             \
    note(text && !strncmp(text, name, strlen(name)), #call " begins with " name, __LINE__)
#define TAPE_REFUSES(word)                                                                                             \
    NAMES_TAPE("texts", word, uform_text_encode(model, NULL, &tape, 1, 0, arena, NULL, &encoded, message));            \
    NAMES_TAPE("texts", word, uform_text_classify(model, NULL, &tape, 0, arena, NULL, &encoded, message));             \
    NAMES_TAPE("first", word,                                                                                          \
               uform_text_classify_pairs(model, NULL, &tape, &one_text, 0, arena, NULL, &encoded, message));           \
    NAMES_TAPE("second", word,                                                                                         \
               uform_text_classify_pairs(model, NULL, &one_text, &tape, 0, arena, NULL, &encoded, message));           \
    NAMES_TAPE("queries", word, uform_text_rerank(model, NULL, &tape, &one_text, 0, arena, NULL, &encoded, message));  \
    NAMES_TAPE("documents", word, uform_text_rerank(model, NULL, &one_text, &tape, 0, arena, NULL, &encoded, message))
    REFUSES(invalid_argument, "texts: NULL",
            uform_text_encode(model, NULL, NULL, 1, 0, arena, NULL, &encoded, message));
    CHECK(is_zero(&encoded, sizeof encoded));
    tape = one_text, tape.reserved = 1;
    TAPE_REFUSES(".reserved:");
    tape = tape_of(NULL, 1, NULL, 1, 0);
    TAPE_REFUSES(".bytes:");
    tape = tape_of(bytes, UINT64_MAX, NULL, 1, 0);
    TAPE_REFUSES(".size:");
    tape = tape_of(bytes, 9, NULL, 2, 4);
    TAPE_REFUSES(".offsets:");
    tape = tape_of(bytes, 9, offsets, 1, 2);
    TAPE_REFUSES(".offset_bytes:");
    tape = tape_of(bytes, 9, offsets, UINT64_MAX, 4);
    TAPE_REFUSES(".texts:");
    tape = tape_of(bytes, 9, wide, UINT64_MAX / 8, 8);
    TAPE_REFUSES(".texts:");
    tape = tape_of(bytes, 9, (char const *)offsets + 1, 1, 4);
    TAPE_REFUSES("aligned");
    tape = tape_of(bytes, 9, offsets, 2, 4);
    TAPE_REFUSES("falls from 4 to 2");
    tape = tape_of(bytes, 8, offsets + 2, 1, 4);
    TAPE_REFUSES("past the end");
    tape = tape_of(bytes, 9, wide, 2, 8);
    TAPE_REFUSES("offset 2");
    // And what looks odd but is fine.
    tape = tape_of(NULL, 0, NULL, 0, 0);
    SUCCEEDS(uform_text_encode(model, NULL, &tape, 1, 0, arena, NULL, &encoded, message));
    CHECK(encoded.embeddings.rows == 0 && encoded.embeddings.columns == 48 && encoded.texts == 0);
    tape = tape_of(NULL, 0, NULL, 1, 0);
    SUCCEEDS(uform_text_encode(model, NULL, &tape, 1, 0, arena, NULL, &encoded, message));
    CHECK(encoded.embeddings.rows == 1);
    tape = tape_of(bytes, 9, offsets + 2, 1, 4); // its first offset isn't 0
    SUCCEEDS(uform_text_encode(model, NULL, &tape, 1, 0, arena, NULL, &encoded, message));
}

static void verbs(uform_model_t model, uform_model_t classifier, uform_executor_t executor, uform_arena_t arena) {
    uform_encoded_t encoded;
    uform_deferred_t deferred = NULL;
    uform_encode_options_t options;
    uform_classify_options_t other;
#define ENCODE(outputs, scalar)                                                                                        \
    uform_text_encode(model, NULL, &one_text, outputs, scalar, arena, NULL, &encoded, message)
    REFUSES(invalid_argument, "encoded", uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "encoded", uform_text_classify(model, NULL, &one_text, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "encoded",
            uform_text_classify_pairs(model, NULL, &one_text, &one_text, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "encoded",
            uform_text_rerank(model, NULL, &one_text, &one_text, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "model", uform_text_encode(NULL, NULL, &one_text, 1, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "model", uform_text_classify(NULL, NULL, &one_text, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "model",
            uform_text_classify_pairs(NULL, NULL, &one_text, &one_text, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "model",
            uform_text_rerank(NULL, NULL, &one_text, &one_text, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "texts: NULL",
            uform_text_classify(classifier, NULL, NULL, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "first: NULL",
            uform_text_classify_pairs(classifier, NULL, NULL, &one_text, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "second: NULL",
            uform_text_classify_pairs(classifier, NULL, &one_text, NULL, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "documents: NULL",
            uform_text_rerank(classifier, NULL, &one_text, NULL, 0, arena, NULL, &encoded, message));
    REFUSES(invalid_argument, "scalar: 8 names none of f32 (0)", ENCODE(1, 8));
    REFUSES(invalid_argument, "scalar: -1", ENCODE(1, -1));
    REFUSES(invalid_argument, "scalar: 256", ENCODE(1, 256));
    REFUSES(invalid_argument, "scalar",
            uform_text_classify(classifier, NULL, &one_text, 77, arena, NULL, &encoded, message));
    REFUSES(unsupported, "u32", ENCODE(1, uform_scalar_u32_k));
    REFUSES(invalid_argument, "outputs", ENCODE(0, 0));
    REFUSES(invalid_argument, "outputs", ENCODE(UINT32_MAX, 0));
    REFUSES(unsupported, "probabilities", ENCODE(uform_outputs_probabilities_k, 0));
    CHECK(is_zero(&encoded, sizeof encoded));

#define WITH(condition, status, word)                                                                                  \
    do {                                                                                                               \
        memset(&options, 0, sizeof options), options.size = sizeof options;                                            \
        condition;                                                                                                     \
        REFUSES(status, word, uform_text_encode(model, NULL, &one_text, 1, 0, arena, &options, &encoded, message));    \
        REFUSES(status, word,                                                                                          \
                uform_text_encode_deferred(model, executor, &one_text, 1, 0, arena, &options, &deferred, message));    \
        CHECK(!deferred);                                                                                              \
    } while (0)
    WITH(options.size = 0, invalid_argument, "options.size");
    WITH(options.size = 1 << 20, invalid_argument, "options.size");
    WITH(options.size = UINT64_MAX, invalid_argument, "options.size");
    WITH(options.truncate = 2, invalid_argument, "options.truncate: 2 names none of cut (0), refuse (1)");
    WITH(options.truncate = -1, invalid_argument, "options.truncate: -1 ");
    WITH(options.normalize = 3, invalid_argument,
         "options.normalize: 3 names none of as_published (0), on (1), off (2)");
    WITH(options.role = 2, invalid_argument, "options.role: 2 names none of document (0), query (1)");
    WITH(options.reserved = 1, invalid_argument, "options.reserved");
    WITH(options.prompt_size = 4, invalid_argument, "options.prompt");
    WITH((options.prompt = "query", options.prompt_size = UINT64_MAX), invalid_argument, "options.prompt_size");
    WITH(options.prompt = "no such prompt", invalid_argument, "no such prompt");
    WITH((options.prompt = "querying", options.prompt_size = 6), invalid_argument, "queryi");
    WITH(options.dimensions = 49, invalid_argument, "options.dimensions");
    WITH(options.dimensions = UINT64_MAX, invalid_argument, "options.dimensions");
    WITH(options.tokens_per_call = 1, invalid_argument, "options.tokens_per_call");
    memset(&options, 0, sizeof options), options.size = sizeof options;
    options.prompt = "querying", options.prompt_size = 5; // not all of it is the name
    SUCCEEDS(uform_text_encode(model, NULL, &one_text, 1, 0, arena, &options, &encoded, message));

#define CLASSIFY_WITH(condition, word)                                                                                 \
    do {                                                                                                               \
        memset(&other, 0, sizeof other), other.size = sizeof other;                                                    \
        condition;                                                                                                     \
        REFUSES(invalid_argument, word,                                                                                \
                uform_text_classify(classifier, NULL, &one_text, 0, arena, &other, &encoded, message));                \
        REFUSES(                                                                                                       \
            invalid_argument, word,                                                                                    \
            uform_text_classify_pairs(classifier, NULL, &one_text, &one_text, 0, arena, &other, &encoded, message));   \
        REFUSES(invalid_argument, word,                                                                                \
                uform_text_rerank(classifier, NULL, &one_text, &one_text, 0, arena, &other, &encoded, message));       \
        REFUSES(invalid_argument, word,                                                                                \
                uform_text_classify_deferred(classifier, executor, &one_text, 0, arena, &other, &deferred, message));  \
        REFUSES(invalid_argument, word,                                                                                \
                uform_text_classify_pairs_deferred(classifier, executor, &one_text, &one_text, 0, arena, &other,       \
                                                   &deferred, message));                                               \
        REFUSES(invalid_argument, word,                                                                                \
                uform_text_rerank_deferred(classifier, executor, &one_text, &one_text, 0, arena, &other, &deferred,    \
                                           message));                                                                  \
    } while (0)
    CLASSIFY_WITH(other.size = 0, "options.size");
    CLASSIFY_WITH(other.size = UINT64_MAX, "options.size");
    CLASSIFY_WITH(other.truncate = 2, "options.truncate: 2 names none of cut (0), refuse (1)");
    CLASSIFY_WITH(other.activation = 4,
                  "options.activation: 4 names none of as_published (0), none (1), sigmoid (2), softmax (3)");
    CLASSIFY_WITH(other.activation = -1, "options.activation: -1 ");
}

static void count_up(void *context) { ++*(int *)context; }

static void deferred_calls(uform_model_t model, uform_executor_t executor, uform_arena_t arena) {
    uform_deferred_t call = NULL;
    uform_encoded_t encoded;
    uform_pin_t pin = NULL;
    uform_cancellation_t cancellation = NULL;
    int32_t flag = 9;
    int told = 0;
#define NO_EXECUTOR(verb)                                                                                              \
    REFUSES(invalid_argument, "executor", verb);                                                                       \
    CHECK(!call)
    NO_EXECUTOR(uform_text_encode_deferred(model, NULL, &one_text, 1, 0, arena, NULL, &call, message));
    NO_EXECUTOR(uform_text_classify_deferred(model, NULL, &one_text, 0, arena, NULL, &call, message));
    NO_EXECUTOR(uform_text_classify_pairs_deferred(model, NULL, &one_text, &one_text, 0, arena, NULL, &call, message));
    NO_EXECUTOR(uform_text_rerank_deferred(model, NULL, &one_text, &one_text, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "deferred",
            uform_text_encode_deferred(model, executor, &one_text, 1, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "deferred",
            uform_text_classify_deferred(model, executor, &one_text, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "deferred",
            uform_text_classify_pairs_deferred(model, executor, &one_text, &one_text, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "deferred",
            uform_text_rerank_deferred(model, executor, &one_text, &one_text, 0, arena, NULL, NULL, message));
    REFUSES(invalid_argument, "model",
            uform_text_encode_deferred(NULL, executor, &one_text, 1, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "model",
            uform_text_classify_deferred(NULL, executor, &one_text, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "model",
            uform_text_classify_pairs_deferred(NULL, executor, &one_text, &one_text, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "model",
            uform_text_rerank_deferred(NULL, executor, &one_text, &one_text, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "texts: NULL",
            uform_text_encode_deferred(model, executor, NULL, 1, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "texts: NULL",
            uform_text_classify_deferred(model, executor, NULL, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "second: NULL",
            uform_text_classify_pairs_deferred(model, executor, &one_text, NULL, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "queries: NULL",
            uform_text_rerank_deferred(model, executor, NULL, &one_text, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "scalar",
            uform_text_encode_deferred(model, executor, &one_text, 1, 99, arena, NULL, &call, message));
    REFUSES(invalid_argument, "outputs",
            uform_text_encode_deferred(model, executor, &one_text, 0, 0, arena, NULL, &call, message));

    REFUSES(invalid_argument, "deferred", uform_deferred_ready(NULL, &flag, message));
    CHECK(flag == 0);
    REFUSES(invalid_argument, "deferred", uform_deferred_wait_for(NULL, 0, &flag, message));
    REFUSES(invalid_argument, "deferred", uform_deferred_wait(NULL, &encoded, &pin, message));
    REFUSES(invalid_argument, "deferred", uform_deferred_cancel(NULL, &flag, message));
    REFUSES(invalid_argument, "deferred", uform_deferred_notify(NULL, count_up, &told, message));
    uform_deferred_free(NULL);

    SUCCEEDS(uform_text_encode_deferred(model, executor, &one_text, 1, 0, arena, NULL, &call, message));
    REFUSES(invalid_argument, "ready", uform_deferred_ready(call, NULL, message));
    REFUSES(invalid_argument, "ready", uform_deferred_wait_for(call, 1, NULL, message));
    REFUSES(invalid_argument, "encoded", uform_deferred_wait(call, NULL, &pin, message));
    REFUSES(invalid_argument, "cancelled", uform_deferred_cancel(call, NULL, message));
    REFUSES(invalid_argument, "done", uform_deferred_notify(call, NULL, &told, message));
    REFUSES(contended, "arena", uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &encoded, message));
    SUCCEEDS(uform_deferred_wait_for(call, UINT64_MAX, &flag, message));
    CHECK(flag == 1);
    SUCCEEDS(uform_deferred_notify(call, count_up, &told, message));
    CHECK(told == 1);
    REFUSES(invalid_argument, "already", uform_deferred_notify(call, count_up, &told, message));
    CHECK(told == 1);
    SUCCEEDS(uform_deferred_cancel(call, &flag, message));
    CHECK(flag == 0); // it has run
    SUCCEEDS(uform_deferred_wait(call, &encoded, &pin, message));
    CHECK(pin && encoded.embeddings.rows == 1);
    uform_pin_t again = pin;
    REFUSES(invalid_argument, "taken", uform_deferred_wait(call, &encoded, &again, message));
    CHECK(!again && is_zero(&encoded, sizeof encoded));
    uform_deferred_free(call);
    REFUSES(contended, "reader", uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &encoded, message));
    uform_rows_unpin(pin);

    // What is queued behind another call, whose arena is this one's neighbour, can be taken back.
    uform_arena_t behind = NULL;
    uform_deferred_t second = NULL;
    SUCCEEDS(uform_arena_init(NULL, &behind, message));
    SUCCEEDS(uform_text_encode_deferred(model, executor, &one_text, 1, 0, arena, NULL, &call, message));
    SUCCEEDS(uform_text_encode_deferred(model, executor, &one_text, 1, 0, behind, NULL, &second, message));
    SUCCEEDS(uform_deferred_cancel(second, &flag, message));
    uform_status_t const wanted = flag ? uform_status_cancelled_k : uform_status_success_k; // it may have run already
    CHECK(uform_deferred_wait(second, &encoded, NULL, message) == wanted);
    uform_deferred_free(second), uform_deferred_free(call), uform_arena_free(behind);

    REFUSES(invalid_argument, "cancellation", uform_cancellation_init(NULL, message));
    REFUSES(invalid_argument, "cancellation", uform_cancellation_request(NULL, message));
    REFUSES(invalid_argument, "cancellation", uform_cancellation_reset(NULL, message));
    SUCCEEDS(uform_cancellation_init(&cancellation, message));
    SUCCEEDS(uform_cancellation_request(cancellation, message));
    uform_encode_options_t options;
    memset(&options, 0, sizeof options), options.size = sizeof options, options.cancellation = cancellation;
    REFUSES(cancelled, "cancelled",
            uform_text_encode(model, NULL, &one_text, 1, 0, arena, &options, &encoded, message));
    SUCCEEDS(uform_cancellation_reset(cancellation, message));
    SUCCEEDS(uform_text_encode(model, NULL, &one_text, 1, 0, arena, &options, &encoded, message));
    uform_cancellation_free(cancellation), uform_cancellation_free(NULL);
}

/// Every read of rows that are refused says so, and sets what it would have written.
static void refused_rows(uform_rows_t const *rows, char const *words) {
    uform_pin_t pin = NULL;
    void const *values = words;
    void *tensor = NULL;
    float row[48];
    long schema[16], array[16];
    char const *const said = words;
    ARENA_REFUSES(uform_rows_values(rows, 0, &values, message));
    CHECK(!values);
    ARENA_REFUSES(uform_rows_row(rows, 0, 0, &values, message));
    ARENA_REFUSES(uform_rows_copy_to(rows, 0, row, sizeof row, message));
    ARENA_REFUSES(uform_rows_stream_wait(rows, NULL, message));
    ARENA_REFUSES(uform_rows_pin(rows, &pin, message));
    ARENA_REFUSES(uform_rows_to_dlpack(rows, &tensor, message));
    ARENA_REFUSES(
        uform_rows_to_arrow(rows, (struct ArrowSchema *)(void *)schema, (struct ArrowArray *)(void *)array, message));
    CHECK(!pin && !tensor);
}
static void refused_ragged(uform_ragged_rows_t const *rows, char const *words) {
    uform_pin_t pin = NULL;
    uform_rows_t part;
    uint32_t const *offsets = NULL;
    long schema[16], array[16];
    char const *const said = words;
    ARENA_REFUSES(uform_ragged_rows_at(rows, 0, &part, message));
    ARENA_REFUSES(uform_ragged_rows_offsets(rows, &offsets, message));
    ARENA_REFUSES(uform_ragged_rows_pin(rows, &pin, message));
    ARENA_REFUSES(uform_ragged_rows_to_arrow(rows, (struct ArrowSchema *)(void *)schema,
                                             (struct ArrowArray *)(void *)array, message));
    CHECK(!pin && !offsets && is_zero(&part, sizeof part));
}

static void views(uform_model_t model, uform_arena_t arena) {
    uform_encoded_t encoded, empty, old;
    uform_rows_t rows, part;
    uform_pin_t pin = NULL;
    void const *values = NULL;
    void *tensor = NULL;
    uint32_t const *list = NULL;
    uint64_t count = 0;
    int32_t flag = 9;
    float copy[48];
    memset(&empty, 0, sizeof empty);
    refused_rows(NULL, "rows"), refused_ragged(NULL, "rows");
    refused_rows(&empty.embeddings, "empty"), refused_ragged(&empty.states, "empty");
    REFUSES(invalid_argument, "encoded", uform_encoded_pin(NULL, &pin, message));
    REFUSES(invalid_argument, "after a call that failed", uform_encoded_pin(&empty, &pin, message));
    REFUSES(invalid_argument, "after a call that failed",
            uform_encoded_truncated_tokens(&empty, &list, &count, message));
    REFUSES(invalid_argument, "after a call that failed", uform_encoded_token_ids(&empty, &list, &count, message));
    REFUSES(invalid_argument, "encoded", uform_encoded_truncated_tokens(NULL, &list, &count, message));
    REFUSES(invalid_argument, "encoded", uform_encoded_token_ids(NULL, &list, &count, message));
    REFUSES(invalid_argument, "rows", uform_rows_is_current(NULL, &flag, message));
    CHECK(flag == 0);

    SUCCEEDS(uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &encoded, message));
    refused_ragged(&encoded.states, "not asked for"), refused_rows(&encoded.probabilities, "not asked for");
    CHECK(encoded.states.rows.columns == 0 && encoded.probabilities.columns == 0);
    REFUSES(invalid_argument, "asked for neither states nor token probabilities",
            uform_encoded_token_ids(&encoded, &list, &count, message));
    SUCCEEDS(uform_text_encode(model, NULL, &one_text, 3, 0, arena, NULL, &encoded, message));
    rows = encoded.embeddings;
    REFUSES(invalid_argument, "values", uform_rows_values(&rows, 0, NULL, message));
    REFUSES(invalid_argument, "f16", uform_rows_values(&rows, uform_scalar_f16_k, &values, message));
    REFUSES(invalid_argument, "unknown", uform_rows_values(&rows, -5, &values, message));
    SUCCEEDS(uform_rows_values(&rows, 0, &values, message));
    CHECK(values == rows.data);
    REFUSES(invalid_argument, "values", uform_rows_row(&rows, 0, 0, NULL, message));
    REFUSES(invalid_argument, "row 1 of 1", uform_rows_row(&rows, 0, 1, &values, message));
    REFUSES(invalid_argument, "of 1", uform_rows_row(&rows, 0, UINT64_MAX, &values, message));
    REFUSES(invalid_argument, "u8", uform_rows_row(&rows, uform_scalar_u8_k, 0, &values, message));
    SUCCEEDS(uform_rows_row(&rows, 0, 0, &values, message));
    REFUSES(invalid_argument, "to", uform_rows_copy_to(&rows, 0, NULL, sizeof copy, message));
    REFUSES(invalid_argument, "192", uform_rows_copy_to(&rows, 0, copy, sizeof copy - 4, message));
    REFUSES(invalid_argument, "192", uform_rows_copy_to(&rows, 0, copy, UINT64_MAX, message));
    REFUSES(invalid_argument, "i8", uform_rows_copy_to(&rows, uform_scalar_i8_k, copy, sizeof copy, message));
    SUCCEEDS(uform_rows_copy_to(&rows, 0, copy, sizeof copy, message));
    CHECK(!memcmp(copy, rows.data, sizeof copy));
    REFUSES(invalid_argument, "is_current", uform_rows_is_current(&rows, NULL, message));
    SUCCEEDS(uform_rows_is_current(&rows, &flag, message));
    CHECK(flag == 1);
    REFUSES(invalid_argument, "host memory", uform_rows_stream_wait(&rows, NULL, message));

    // Shapes that no arena has.
    rows.rows = UINT64_MAX;
    REFUSES(invalid_argument, "shape", uform_rows_copy_to(&rows, 0, copy, sizeof copy, message));
    REFUSES(invalid_argument, "shape", uform_rows_to_dlpack(&rows, &tensor, message));
    rows = encoded.embeddings, rows.columns = 1ull << 32;
    REFUSES(invalid_argument, "shape", uform_rows_copy_to(&rows, 0, copy, sizeof copy, message));
    rows = encoded.embeddings, rows.row_stride_bytes = UINT64_MAX;
    REFUSES(invalid_argument, "shape", uform_rows_to_dlpack(&rows, &tensor, message));
    rows = encoded.embeddings, rows.scalar = 300;
    REFUSES(invalid_argument, "rows.scalar", uform_rows_to_dlpack(&rows, &tensor, message));

    // The wrong residency.
    rows = encoded.embeddings, rows.residency = uform_residency_vram_k, rows.device = 0;
    REFUSES(device, "device", uform_rows_values(&rows, 0, &values, message));
    REFUSES(device, "device", uform_rows_row(&rows, 0, 0, &values, message));
    rows.residency = 7;
    REFUSES(device, "device", uform_rows_values(&rows, 0, &values, message));
    rows = empty.embeddings, rows.residency = uform_residency_vram_k; // also where it is stale
    REFUSES(device, "device", uform_rows_values(&rows, 0, &values, message));

    REFUSES(invalid_argument, "part", uform_ragged_rows_at(&encoded.states, 0, NULL, message));
    REFUSES(invalid_argument, "text 1 of 1", uform_ragged_rows_at(&encoded.states, 1, &part, message));
    REFUSES(invalid_argument, "of 1", uform_ragged_rows_at(&encoded.states, UINT64_MAX, &part, message));
    SUCCEEDS(uform_ragged_rows_at(&encoded.states, 0, &part, message));
    CHECK(part.rows == 4 && part.data == encoded.states.rows.data);
    REFUSES(invalid_argument, "offsets", uform_ragged_rows_offsets(&encoded.states, NULL, message));
    SUCCEEDS(uform_ragged_rows_offsets(&encoded.states, &list, message));
    CHECK(list[0] == 0 && list[1] == 4);
    REFUSES(invalid_argument, "tokens", uform_encoded_truncated_tokens(&encoded, NULL, &count, message));
    SUCCEEDS(uform_encoded_truncated_tokens(&encoded, &list, &count, message));
    CHECK(count == 1 && list[0] == 0);
    REFUSES(invalid_argument, "ids", uform_encoded_token_ids(&encoded, NULL, &count, message));
    SUCCEEDS(uform_encoded_token_ids(&encoded, &list, NULL, message));
    CHECK(list[1] == 195);

    REFUSES(invalid_argument, "pin", uform_rows_pin(&encoded.embeddings, NULL, message));
    REFUSES(invalid_argument, "pin", uform_ragged_rows_pin(&encoded.states, NULL, message));
    REFUSES(invalid_argument, "pin", uform_encoded_pin(&encoded, NULL, message));
    REFUSES(invalid_argument, "pin", uform_pin_release_on(NULL, NULL, message));
    SUCCEEDS(uform_ragged_rows_pin(&encoded.states, &pin, message));
    REFUSES(invalid_argument, "host memory", uform_pin_release_on(pin, NULL, message));
    REFUSES(contended, "reader", uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &old, message));
    uform_rows_unpin(pin), uform_rows_unpin(NULL);
    REFUSES(invalid_argument, "tensor", uform_rows_to_dlpack(&encoded.embeddings, NULL, message));
    REFUSES(invalid_argument, "schema",
            uform_rows_to_arrow(&encoded.embeddings, NULL, (struct ArrowArray *)(void *)copy, message));
    REFUSES(invalid_argument, "array",
            uform_rows_to_arrow(&encoded.embeddings, (struct ArrowSchema *)(void *)copy, NULL, message));
    REFUSES(invalid_argument, "schema",
            uform_ragged_rows_to_arrow(&encoded.states, NULL, (struct ArrowArray *)(void *)copy, message));
    REFUSES(invalid_argument, "array",
            uform_ragged_rows_to_arrow(&encoded.states, (struct ArrowSchema *)(void *)copy, NULL, message));

    // As many pins as can be counted.
    enum { most = 4094 };
    static uform_pin_t pins[most];
    size_t held = 0;
    while (held != most && !uform_rows_pin(&encoded.embeddings, pins + held, NULL)) ++held;
    CHECK(held == most);
    REFUSES(contended, "4,094", uform_rows_pin(&encoded.embeddings, &pin, message));
    REFUSES(contended, "4,094", uform_rows_to_dlpack(&encoded.embeddings, &tensor, message));
    while (held) uform_rows_unpin(pins[--held]);

    old = encoded;
    SUCCEEDS(uform_text_encode(model, NULL, &one_text, 3, 0, arena, NULL, &encoded, message));
    refused_rows(&old.embeddings, "stale"), refused_ragged(&old.states, "stale");
    REFUSES(invalid_argument, "stale", uform_encoded_pin(&old, &pin, message));
    REFUSES(invalid_argument, "stale", uform_encoded_truncated_tokens(&old, &list, &count, message));
    REFUSES(invalid_argument, "stale", uform_encoded_token_ids(&old, &list, &count, message));
    SUCCEEDS(uform_rows_is_current(&old.embeddings, &flag, message));
    CHECK(flag == 0);
}

// Arrow's structures, as its C data interface lays them out.
struct ArrowSchema {
    char const *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    void const **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

/// The rows of texts are lists of rows in Arrow, over the same bytes, and hold the arena until they are released.
static void arrow(uform_model_t model, uform_arena_t arena) {
    uform_encoded_t encoded, next;
    struct ArrowSchema schema;
    struct ArrowArray array;
    uint32_t const offsets[] = {0, 9, 9, 12};
    uform_tape_t const three = tape_of("the modelthe", 12, offsets, 3, 4);
    uform_ragged_rows_t changed;
    memset(&schema, 0, sizeof schema), memset(&array, 0, sizeof array);
    SUCCEEDS(uform_text_encode(model, NULL, &three, uform_outputs_states_k, 0, arena, NULL, &encoded, message));
    changed = encoded.states, changed.rows.residency = uform_residency_vram_k;
    REFUSES(device, "rows: in a device's memory", uform_ragged_rows_to_arrow(&changed, &schema, &array, message));
    changed = encoded.states, changed.rows.columns = (uint64_t)1 << 40;
    REFUSES(invalid_argument, "shape", uform_ragged_rows_to_arrow(&changed, &schema, &array, message));
    changed = encoded.states, changed.rows.scalar = 42;
    REFUSES(invalid_argument, "rows.scalar: 42", uform_ragged_rows_to_arrow(&changed, &schema, &array, message));
    CHECK(!schema.release && !array.release);
    SUCCEEDS(uform_ragged_rows_to_arrow(&encoded.states, &schema, &array, message));
    CHECK(!strcmp(schema.format, "+l") && !strcmp(schema.children[0]->format, "+w:48"));
    CHECK(!strcmp(schema.children[0]->children[0]->format, "f"));
    CHECK(array.length == 3 && array.buffers[1] == encoded.states.offsets);
    struct ArrowArray const *const rows = array.children[0];
    CHECK(rows->length == 9 && rows->length == encoded.states.offsets[3]); // 4, 2 and 3 tokens
    CHECK(rows->children[0]->length == 9 * 48 && rows->children[0]->buffers[1] == encoded.states.rows.data);
    REFUSES(contended, "reader", uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &next, message));
    schema.release(&schema), array.release(&array);
    SUCCEEDS(uform_text_encode(model, NULL, &one_text, 2, uform_scalar_bf16_k, arena, NULL, &next, message));
    REFUSES(unsupported, "bf16", uform_ragged_rows_to_arrow(&next.states, &schema, &array, message));
    REFUSES(invalid_argument, "stale", uform_ragged_rows_to_arrow(&encoded.states, &schema, &array, message));
    CHECK(!schema.release && !array.release);
}

/// Messages that are static outlive the next call; the texts of the others are the thread's until then.
static void messages(uform_model_t model, uform_executor_t executor, uform_arena_t arena) {
    uform_encoded_t encoded, next;
    uform_deferred_t call = NULL;
    char const *stale = NULL, *contended = NULL, *other = NULL;
    void const *values;
    CHECK(!uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &encoded, NULL));
    CHECK(!uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &next, NULL));
    CHECK(uform_rows_values(&encoded.embeddings, 0, &values, &stale));
    CHECK(!uform_text_encode_deferred(model, executor, &one_text, 1, 0, arena, NULL, &call, NULL));
    CHECK(uform_text_encode(model, NULL, &one_text, 1, 0, arena, NULL, &next, &contended) == uform_status_contended_k);
    uform_deferred_free(call);
    for (int i = 0; i != 3; ++i) CHECK(uform_model_load("no-such", NULL, &model, &other) == uform_status_io_k);
    CHECK(stale && strstr(stale, "stale") && contended && strstr(contended, "arena") && strstr(other, "no-such"));
    char const *again = NULL;
    CHECK(uform_rows_values(&encoded.embeddings, 0, &values, &again) && again == stale);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    uform_model_t model = NULL, classifier = NULL;
    uform_executor_t executor = NULL;
    uform_arena_t arena = NULL;
    GROUP(names());
    GROUP(executors());
    GROUP(loading(arguments[1]));
    if (uform_model_load(arguments[1], NULL, &model, NULL) || uform_model_load(arguments[2], NULL, &classifier, NULL) ||
        uform_executor_init_ram(1, &executor, NULL) || uform_arena_init(NULL, &arena, NULL))
        return 2;
    GROUP(properties(model, classifier));
    GROUP(tokenizers(arguments[1], model));
    GROUP(arenas(model, executor));
    GROUP(tapes(model, arena));
    GROUP(verbs(model, classifier, executor, arena));
    GROUP(deferred_calls(model, executor, arena));
    GROUP(views(model, arena));
    GROUP(arrow(model, arena));
    GROUP(messages(model, executor, arena));
    uform_arena_free(arena);
    uform_executor_free(executor);
    uform_model_free(model), uform_model_free(classifier);
    printf("%zu checks\n%zu passed, %zu failed\n", checks, passed, failed);
    return failed != 0;
}
