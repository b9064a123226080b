/// Runs the conformance cases through the C interface, in C99.
///
///     conformance CASES DATA_FOLDER [WORD]     only the cases with WORD in their name
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "uform.h"

enum { most_words = 4096, most_lines = 64 };

typedef struct tape_t {
    unsigned char *bytes;
    uint64_t *offsets;
    uform_tape_t view;
} tape_t;

typedef struct case_t {
    char *lines[most_lines][2]; // the first word, and the rest
    size_t count;
} case_t;

static size_t passed = 0, failed = 0;
static char const *case_name = "";
static int case_failed = 0;

static void check(int holds, char const *what, double seen, double wanted) {
    if (holds) return;
    case_failed = 1;
    printf("%s: %s: %.17g, and not %.17g\n", case_name, what, seen, wanted);
}

static void *allocate(size_t count, size_t size) {
    void *const memory = calloc(count ? count : 1, size);
    if (!memory) abort();
    return memory;
}

static char *find(case_t const *one, char const *key) {
    for (size_t i = 0; i != one->count; ++i)
        if (!strcmp(one->lines[i][0], key)) return one->lines[i][1];
    return NULL;
}
static int64_t number(case_t const *one, char const *key, int64_t otherwise) {
    char const *const text = find(one, key);
    return text ? strtoll(text, NULL, 10) : otherwise;
}

static size_t unhex(char const *text, unsigned char *bytes) {
    size_t const size = strcmp(text, "-") ? strlen(text) / 2 : 0;
    for (size_t i = 0; i != size; ++i) {
        char const pair[] = {text[2 * i], text[2 * i + 1], 0};
        bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return size;
}

/// Splits a copy of `text` at blanks; the words point into `*copy`.
static size_t split(char const *text, char **copy, char **words) {
    *copy = allocate(strlen(text) + 1, 1);
    strcpy(*copy, text);
    size_t count = 0;
    for (char *word = strtok(*copy, " "); word && count != most_words; word = strtok(NULL, " ")) words[count++] = word;
    return count;
}

/// A tape of `COUNT BYTES...`, or of none.
static tape_t read_tape(char const *text) {
    tape_t tape = {NULL, NULL, {NULL, 0, NULL, 0, 8, 0}};
    if (!text) return tape;
    char *copy, *words[most_words];
    size_t const count = split(text, &copy, words);
    tape.bytes = allocate(strlen(text), 1), tape.offsets = allocate(count, sizeof(uint64_t));
    size_t size = 0;
    for (size_t i = 1; i < count; ++i) tape.offsets[i] = size += unhex(words[i], tape.bytes + size);
    tape.view.bytes = tape.bytes, tape.view.size = size, tape.view.offsets = tape.offsets, tape.view.texts = count - 1;
    free(copy);
    return tape;
}
/// A tape of `BYTES OFFSET...`, in 32 bits.
static tape_t read_raw_tape(char const *text) {
    char *copy, *words[most_words];
    size_t const count = split(text, &copy, words);
    tape_t tape = {allocate(strlen(text), 1), NULL, {NULL, 0, NULL, 0, 4, 0}};
    uint32_t *const offsets = allocate(count, sizeof(uint32_t));
    tape.view.bytes = tape.bytes, tape.view.size = unhex(words[0], tape.bytes);
    for (size_t i = 1; i < count; ++i) offsets[i - 1] = (uint32_t)strtoul(words[i], NULL, 10);
    tape.offsets = (uint64_t *)(void *)offsets, tape.view.offsets = offsets, tape.view.texts = count - 2;
    free(copy);
    return tape;
}
static void free_tape(tape_t tape) { free(tape.bytes), free(tape.offsets); }
static uform_tape_t part(tape_t const *tape, size_t first, size_t count) {
    uform_tape_t view = tape->view;
    view.offsets = tape->offsets + first, view.texts = count;
    return view;
}

static float of_half(uint16_t bits) {
    int const exponent = bits >> 10 & 31, fraction = bits & 1023;
    double const size = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
    return (float)(bits >> 15 ? -size : size);
}
static float of_brain(uint16_t bits) {
    uint32_t const wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/// The sum of rows that the cases speak of; NaN where they can't be read.
static double sum_of(uform_rows_t const *rows) {
    void const *values;
    if (uform_rows_values(rows, rows->scalar, &values, NULL)) return NAN;
    double sum = 0;
    for (uint64_t row = 0, i = 0; row != rows->rows; ++row) {
        unsigned char const *const at = (unsigned char const *)values + row * rows->row_stride_bytes;
        for (uint64_t column = 0; column != rows->columns; ++column, ++i) {
            double value = NAN;
            uint16_t narrow;
            float wide;
            switch (rows->scalar) {
            case uform_scalar_f32_k: memcpy(&wide, at + 4 * column, 4), value = (double)wide; break;
            case uform_scalar_f16_k: memcpy(&narrow, at + 2 * column, 2), value = (double)of_half(narrow); break;
            case uform_scalar_bf16_k: memcpy(&narrow, at + 2 * column, 2), value = (double)of_brain(narrow); break;
            case uform_scalar_i8_k: value = (double)(signed char)at[column]; break;
            case uform_scalar_b1_k: value = at[column / 8] >> (7 - column % 8) & 1; break;
            default: break;
            }
            sum += value * (double)(1 + i % 7);
        }
    }
    return sum;
}

static uform_ragged_rows_t const *ragged_named(uform_encoded_t const *encoded, char const *name) {
    if (!strcmp(name, "states")) return &encoded->states;
    if (!strcmp(name, "token_vectors")) return &encoded->token_vectors;
    if (!strcmp(name, "token_probabilities")) return &encoded->token_probabilities;
    if (!strcmp(name, "sparse_ids")) return &encoded->sparse_ids;
    if (!strcmp(name, "sparse_weights")) return &encoded->sparse_weights;
    return NULL;
}
static uform_rows_t const *rows_named(uform_encoded_t const *encoded, char const *name) {
    uform_ragged_rows_t const *const ragged = ragged_named(encoded, name);
    if (ragged) return &ragged->rows;
    return !strcmp(name, "embeddings") ? &encoded->embeddings : &encoded->probabilities;
}

static void check_list(char const *what, char **words, size_t count, uint32_t const *seen, uint64_t seen_count) {
    check(seen_count == count, what, (double)seen_count, (double)count);
    if (seen_count != count) return;
    for (size_t i = 0; i != count; ++i) {
        unsigned long const wanted = strtoul(words[i], NULL, 10);
        check(seen[i] == wanted, what, seen[i], (double)wanted);
        if (seen[i] != wanted) return;
    }
}

/// Compares a result with what its case expects.
static void compare(case_t const *one, uform_encoded_t const *encoded) {
    for (size_t line = 0; line != one->count; ++line) {
        char const *const key = one->lines[line][0];
        char *copy, *words[most_words];
        size_t const count = split(one->lines[line][1], &copy, words);
        uint32_t const *list = NULL;
        uint64_t size = 0;
        if (!strcmp(key, "shape")) {
            uform_rows_t const *const rows = rows_named(encoded, words[0]);
            check(rows->rows == strtoull(words[1], NULL, 10), "rows", (double)rows->rows, atof(words[1]));
            check(rows->columns == strtoull(words[2], NULL, 10), "columns", (double)rows->columns, atof(words[2]));
            check(!rows->rows || rows->row_stride_bytes == (rows->columns * uform_scalar_bits(rows->scalar) + 7) / 8,
                  "row_stride_bytes", (double)rows->row_stride_bytes, 0);
        } else if (!strcmp(key, "offsets")) {
            uform_ragged_rows_t const *const ragged = ragged_named(encoded, words[0]);
            check(uform_ragged_rows_offsets(ragged, &list, NULL) == 0, "offsets", 1, 0);
            check_list("offsets", words + 1, count - 1, list, list ? ragged->texts + 1 : 0);
        } else if (!strcmp(key, "truncated")) {
            check(uform_encoded_truncated_tokens(encoded, &list, &size, NULL) == 0, "truncated", 1, 0);
            check_list("truncated", words, count, list, size);
        } else if (!strcmp(key, "token_ids")) {
            check(uform_encoded_token_ids(encoded, &list, &size, NULL) == 0, "token_ids", 1, 0);
            check_list("token_ids", words, count, list, size);
        } else if (!strcmp(key, "ids")) {
            uform_rows_t const *const rows = rows_named(encoded, words[0]);
            void const *values = NULL;
            check(uform_rows_values(rows, uform_scalar_u32_k, &values, NULL) == 0, "ids", 1, 0);
            check_list("ids", words + 1, count - 1, values, rows->rows);
        } else if (!strcmp(key, "sum")) {
            double const sum = sum_of(rows_named(encoded, words[0])), wanted = atof(words[1]);
            check(fabs(sum - wanted) <= atof(words[2]), words[0], sum, wanted);
        }
        free(copy);
    }
}

static char *option(case_t const *one, char const *name) {
    size_t const size = strlen(name);
    for (size_t i = 0; i != one->count; ++i)
        if (!strcmp(one->lines[i][0], "option") && !strncmp(one->lines[i][1], name, size) &&
            one->lines[i][1][size] == ' ')
            return one->lines[i][1] + size + 1;
    return NULL;
}
static int64_t option_number(case_t const *one, char const *name) {
    char const *const text = option(one, name);
    return text ? strtoll(text, NULL, 10) : 0;
}

/// One call, on the calling thread, on an executor, or deferred.
static uform_status_t call(case_t const *one, uform_model_t model, uform_executor_t executor, uform_arena_t arena,
                           uform_encoded_t *encoded, char const **message) {
    char const *const verb = find(one, "verb"), *const raw = find(one, "tape");
    tape_t const texts = raw ? read_raw_tape(raw) : read_tape(find(one, "texts"));
    tape_t const second = read_tape(find(one, "second"));
    uform_scalar_t const scalar = (uform_scalar_t)number(one, "scalar", 0);
    uform_outputs_t const outputs = (uform_outputs_t)number(one, "outputs", 0);
    unsigned char prompt[256];
    uform_encode_options_t encode;
    uform_classify_options_t classify;
    memset(&encode, 0, sizeof encode), memset(&classify, 0, sizeof classify);
    encode.size = sizeof encode, classify.size = sizeof classify;
    encode.truncate = classify.truncate = (uform_truncate_t)option_number(one, "truncate");
    encode.normalize = (uform_normalize_t)option_number(one, "normalize");
    encode.role = (uform_role_t)option_number(one, "role");
    encode.dimensions = (uint64_t)option_number(one, "dimensions");
    encode.tokens_per_call = (uint64_t)option_number(one, "tokens_per_call");
    classify.activation = (uform_activation_t)option_number(one, "activation");
    if (option(one, "prompt"))
        encode.prompt_size = unhex(option(one, "prompt"), prompt), encode.prompt = (char const *)prompt;

    uform_deferred_t deferred = NULL;
    uform_status_t status;
    int const is_deferred = find(one, "deferred") != NULL;
    if (!strcmp(verb, "encode"))
        status = is_deferred ? uform_text_encode_deferred(model, executor, &texts.view, outputs, scalar, arena, &encode,
                                                          &deferred, message)
                             : uform_text_encode(model, executor, &texts.view, outputs, scalar, arena, &encode, encoded,
                                                 message);
    else if (!strcmp(verb, "classify"))
        status = is_deferred
                     ? uform_text_classify_deferred(model, executor, &texts.view, scalar, arena, &classify, &deferred,
                                                    message)
                     : uform_text_classify(model, executor, &texts.view, scalar, arena, &classify, encoded, message);
    else if (!strcmp(verb, "classify_pairs"))
        status = is_deferred ? uform_text_classify_pairs_deferred(model, executor, &texts.view, &second.view, scalar,
                                                                  arena, &classify, &deferred, message)
                             : uform_text_classify_pairs(model, executor, &texts.view, &second.view, scalar, arena,
                                                         &classify, encoded, message);
    else
        status = is_deferred ? uform_text_rerank_deferred(model, executor, &texts.view, &second.view, scalar, arena,
                                                          &classify, &deferred, message)
                             : uform_text_rerank(model, executor, &texts.view, &second.view, scalar, arena, &classify,
                                                 encoded, message);
    free_tape(texts), free_tape(second); // a deferred call has consumed them
    if (deferred) status = uform_deferred_wait(deferred, encoded, NULL, message);
    uform_deferred_free(deferred);
    return status;
}

static void run_call(case_t const *one, char const *folder) {
    uform_status_t const wanted = (uform_status_t)number(one, "status", 0);
    uform_model_t model = NULL;
    uform_executor_t executor = NULL;
    uform_arena_t arena = NULL;
    uform_encoded_t encoded;
    char const *message = NULL;
    uform_status_t status = uform_model_load(folder, NULL, &model, &message);
    if (!status && find(one, "executor"))
        status = uform_executor_init_ram((size_t)number(one, "executor", 0), &executor, &message);
    if (!status) status = uform_arena_init(executor, &arena, &message);
    if (!status) status = call(one, model, executor, arena, &encoded, &message);
    check(status == wanted, message ? message : "status", status, wanted);
    check((message != NULL) == (status != 0), "a message stands by an error alone", message != NULL, status);
    if (!status && !wanted) compare(one, &encoded);
    uform_arena_free(arena);
    uform_executor_free(executor);
    uform_model_free(model);
}

/// What a scenario needs.
typedef struct scene_t {
    case_t const *one;
    uform_model_t model;
    uform_executor_t executor;
    uform_arena_t arena;
    tape_t tape;
} scene_t;

static void expect(scene_t const *scene, char const *name, int64_t seen) {
    for (size_t i = 0; i != scene->one->count; ++i) {
        char const *const rest = scene->one->lines[i][1];
        size_t const size = strlen(name);
        if (strcmp(scene->one->lines[i][0], "check") || strncmp(rest, name, size) || rest[size] != ' ') continue;
        check(seen == strtoll(rest + size, NULL, 10), name, (double)seen, atof(rest + size));
        return;
    }
    check(0, name, 0, 1); // what the case doesn't speak of isn't checked
}
static void expect_sum(scene_t const *scene, char const *name, uform_encoded_t const *encoded) {
    for (size_t i = 0; i != scene->one->count; ++i) {
        char const *const rest = scene->one->lines[i][1];
        size_t const size = strlen(name);
        if (strcmp(scene->one->lines[i][0], "sum") || strncmp(rest, name, size) || rest[size] != ' ') continue;
        char *end;
        double const wanted = strtod(rest + size, &end), sum = sum_of(&encoded->embeddings);
        check(fabs(sum - wanted) <= atof(end), name, sum, wanted);
        return;
    }
    check(0, name, 0, 1);
}
static uform_status_t encode_with(scene_t const *scene, uform_arena_t arena, size_t text,
                                  uform_encode_options_t const *options, uform_encoded_t *encoded) {
    uform_tape_t const tape = part(&scene->tape, text, 1);
    return uform_text_encode(scene->model, NULL, &tape, uform_outputs_embeddings_k, uform_scalar_f32_k, arena, options,
                             encoded, NULL);
}
static uform_status_t encode(scene_t const *scene, uform_arena_t arena, size_t text, uform_encoded_t *encoded) {
    return encode_with(scene, arena, text, NULL, encoded);
}
static uform_status_t submit(scene_t const *scene, uform_arena_t arena, size_t first, size_t count,
                             uform_deferred_t *deferred) {
    uform_tape_t const tape = part(&scene->tape, first, count);
    return uform_text_encode_deferred(scene->model, scene->executor, &tape, uform_outputs_embeddings_k,
                                      uform_scalar_f32_k, arena, NULL, deferred, NULL);
}
static uform_status_t read(uform_encoded_t const *encoded) {
    void const *values;
    return uform_rows_values(&encoded->embeddings, uform_scalar_f32_k, &values, NULL);
}

static void stale(scene_t *scene) {
    uform_encoded_t first, second;
    (void)encode(scene, scene->arena, 0, &first);
    (void)encode(scene, scene->arena, 1, &second);
    expect(scene, "read_first", read(&first));
    expect(scene, "read_second", read(&second));
    expect_sum(scene, "second", &second);
}
static void freed(scene_t *scene) {
    uform_encoded_t first, second;
    (void)encode(scene, scene->arena, 0, &first);
    uform_arena_free(scene->arena);
    expect(scene, "read", read(&first));
    (void)uform_arena_init(NULL, &scene->arena, NULL);
    (void)encode(scene, scene->arena, 1, &second);
    expect(scene, "read_again", read(&first));
    expect(scene, "read_new", read(&second));
    expect_sum(scene, "second", &second);
}
static void busy(scene_t *scene) {
    uform_deferred_t call = NULL, other = NULL;
    uform_encoded_t first, second;
    uform_pin_t pin = NULL;
    expect(scene, "submit", submit(scene, scene->arena, 0, 1, &call));
    expect(scene, "call", encode(scene, scene->arena, 1, &second));
    expect(scene, "call_deferred", submit(scene, scene->arena, 1, 1, &other));
    expect(scene, "wait", uform_deferred_wait(call, &first, &pin, NULL));
    expect(scene, "read", read(&first));
    expect_sum(scene, "first", &first);
    uform_deferred_free(call);
    expect(scene, "call_pinned", encode(scene, scene->arena, 1, &second));
    uform_rows_unpin(pin);
    expect(scene, "call_after", encode(scene, scene->arena, 1, &second));
    expect_sum(scene, "second", &second);
}
static void dropped(scene_t *scene) {
    uform_deferred_t call = NULL;
    uform_encoded_t encoded;
    uform_pin_t pin = NULL;
    expect(scene, "submit", submit(scene, scene->arena, 0, scene->tape.view.texts, &call));
    uform_arena_free(scene->arena);
    (void)uform_arena_init(NULL, &scene->arena, NULL);
    expect(scene, "wait", uform_deferred_wait(call, &encoded, &pin, NULL));
    expect(scene, "read", read(&encoded));
    uform_deferred_free(call);
    uform_rows_unpin(pin);
    expect(scene, "call", encode(scene, scene->arena, 0, &encoded));
    expect_sum(scene, "first", &encoded);
}
static void each_own(scene_t *scene) {
    enum { most = 8 };
    uform_arena_t arenas[most];
    uform_deferred_t calls[most];
    uform_status_t worst = 0;
    size_t const count = (size_t)scene->tape.view.texts;
    for (size_t i = 0; i != count; ++i) {
        uform_status_t const made = uform_arena_init(scene->executor, &arenas[i], NULL);
        uform_status_t const sent = submit(scene, arenas[i], i, 1, &calls[i]);
        worst = made > worst ? made : sent > worst ? sent : worst;
    }
    for (size_t i = 0; i != count; ++i) {
        uform_encoded_t encoded;
        char name[16];
        snprintf(name, sizeof name, "sum_%zu", i);
        uform_status_t const status = uform_deferred_wait(calls[i], &encoded, NULL, NULL);
        if (status > worst) worst = status;
        expect_sum(scene, name, &encoded);
        uform_deferred_free(calls[i]);
    }
    for (size_t i = 0; i != count; ++i) uform_arena_free(arenas[i]);
    expect(scene, "wait", worst);
}
static void description(scene_t *scene) {
    uform_arena_description_t where;
    uform_executor_t executor = NULL;
    uform_arena_t arena = NULL;
    (void)uform_arena_describe(scene->arena, &where, NULL);
    expect(scene, "residency", where.residency);
    expect(scene, "device", where.device);
    (void)uform_executor_init_ram(2, &executor, NULL);
    (void)uform_arena_init(executor, &arena, NULL);
    (void)uform_arena_describe(arena, &where, NULL);
    expect(scene, "executor_residency", where.residency);
    expect(scene, "executor_device", where.device);
    uform_arena_free(arena);
    uform_executor_free(executor);
}
static void device(scene_t *scene) {
    uform_executor_t executor = NULL;
    uform_encoded_t encoded;
    char const *message = NULL;
    (void)encode(scene, scene->arena, 0, &encoded);
    encoded.embeddings.residency = uform_residency_vram_k, encoded.embeddings.device = 0;
    expect(scene, "read_device", read(&encoded));
    uform_status_t const status = uform_executor_init_vram(0, &executor, &message);
    if (status) {
        expect(scene, "executor", status);
        check(message && *message, "a message says why there is no device", 0, 1);
        return;
    }
    uform_arena_t arena = NULL;
    uform_arena_description_t where;
    uform_tape_t const tape = part(&scene->tape, 0, 1);
    (void)uform_arena_init(executor, &arena, NULL);
    (void)uform_arena_describe(arena, &where, NULL);
    expect(scene, "describe_residency", where.residency);
    expect(scene, "describe_device", where.device);
    expect(scene, "call_host", encode(scene, arena, 0, &encoded));
    expect(
        scene, "call_device",
        uform_text_encode(scene->model, executor, &tape, uform_outputs_embeddings_k, 0, arena, NULL, &encoded, NULL));
    expect(scene, "call_mixed",
           uform_text_encode(scene->model, executor, &tape, uform_outputs_embeddings_k, 0, scene->arena, NULL, &encoded,
                             NULL));
    uform_arena_free(arena);
    uform_executor_free(executor);
}
static void limit(scene_t *scene) {
    uform_encoded_t first, second;
    (void)encode(scene, scene->arena, 0, &first);
    (void)uform_arena_set_limit(scene->arena, 8, NULL);
    expect(scene, "call", encode(scene, scene->arena, 1, &second));
    expect(scene, "read", read(&first));
    expect_sum(scene, "first", &first);
    (void)uform_arena_set_limit(scene->arena, UINT64_MAX, NULL);
    expect(scene, "call_after", encode(scene, scene->arena, 1, &second));
    expect_sum(scene, "second", &second);
}
static void pinned(scene_t *scene) {
    uform_encoded_t first, second;
    uform_pin_t pin = NULL;
    (void)encode(scene, scene->arena, 0, &first);
    expect(scene, "pin", uform_encoded_pin(&first, &pin, NULL));
    expect(scene, "call", encode(scene, scene->arena, 1, &second));
    expect(scene, "read", read(&first));
    expect_sum(scene, "first", &first);
    uform_rows_unpin(pin);
    expect(scene, "call_after", encode(scene, scene->arena, 1, &second));
    expect_sum(scene, "second", &second);
    expect(scene, "pin_stale", uform_encoded_pin(&first, &pin, NULL));
}
static void cancelled(scene_t *scene) {
    uform_encoded_t first, second;
    uform_encode_options_t options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    (void)uform_cancellation_init(&options.cancellation, NULL);
    (void)encode(scene, scene->arena, 0, &first);
    (void)uform_cancellation_request(options.cancellation, NULL);
    expect(scene, "call", encode_with(scene, scene->arena, 1, &options, &second));
    expect(scene, "read", read(&first));
    expect_sum(scene, "first", &first);
    (void)uform_cancellation_reset(options.cancellation, NULL);
    expect(scene, "call_after", encode_with(scene, scene->arena, 1, &options, &second));
    expect_sum(scene, "second", &second);
    uform_cancellation_free(options.cancellation);
}
static void own_input(scene_t *scene) {
    uform_encoded_t first, second;
    (void)encode(scene, scene->arena, 0, &first);
    uform_tape_t tape;
    memset(&tape, 0, sizeof tape);
    tape.bytes = first.embeddings.data, tape.size = first.embeddings.row_stride_bytes, tape.texts = 1;
    expect(
        scene, "call",
        uform_text_encode(scene->model, NULL, &tape, uform_outputs_embeddings_k, 0, scene->arena, NULL, &second, NULL));
    expect(scene, "read", read(&first));
    expect_sum(scene, "first", &first);
}
static void taken(scene_t *scene) {
    uform_deferred_t call = NULL;
    uform_encoded_t encoded;
    (void)submit(scene, scene->arena, 0, 1, &call);
    expect(scene, "wait", uform_deferred_wait(call, &encoded, NULL, NULL));
    expect(scene, "wait_again", uform_deferred_wait(call, &encoded, NULL, NULL));
    uform_deferred_free(call);
}

static void run_scenario(case_t const *one, char const *folder) {
    static struct {
        char const *name;
        void (*run)(scene_t *);
    } const scenarios[] = {{"stale", stale},         {"freed", freed},         {"busy", busy},
                           {"dropped", dropped},     {"each_own", each_own},   {"description", description},
                           {"device", device},       {"limit", limit},         {"pinned", pinned},
                           {"cancelled", cancelled}, {"own_input", own_input}, {"taken", taken}};
    scene_t scene = {one, NULL, NULL, NULL, read_tape(find(one, "texts"))};
    uform_status_t status = uform_model_load(folder, NULL, &scene.model, NULL);
    if (!status) status = uform_executor_init_ram(1, &scene.executor, NULL);
    if (!status) status = uform_arena_init(NULL, &scene.arena, NULL);
    check(status == 0, "what the scenario needs", status, 0);
    size_t i = 0;
    while (i != sizeof scenarios / sizeof *scenarios && strcmp(scenarios[i].name, find(one, "scenario"))) ++i;
    if (!status && i != sizeof scenarios / sizeof *scenarios) scenarios[i].run(&scene);
    else check(0, "the scenario is unknown", 0, 1);
    uform_arena_free(scene.arena);
    uform_executor_free(scene.executor);
    uform_model_free(scene.model);
    free_tape(scene.tape);
}

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: conformance CASES DATA_FOLDER [WORD]\n");
        return 2;
    }
    FILE *const file = fopen(arguments[1], "rb");
    if (!file) {
        perror(arguments[1]);
        return 2;
    }
    enum { most_bytes = 1 << 22 };
    char *const content = allocate(most_bytes + 1, 1);
    content[fread(content, 1, most_bytes, file)] = 0;
    fclose(file);

    static case_t one;
    for (char *line = content, *next; *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        if (*line == '#') continue;
        char *rest = strchr(line, ' ');
        if (rest) *rest++ = 0;
        if (strcmp(line, "end")) {
            if (!strcmp(line, "case")) one.count = 0;
            if (one.count == most_lines) abort();
            one.lines[one.count][0] = line, one.lines[one.count++][1] = rest ? rest : line + strlen(line);
            continue;
        }
        case_name = find(&one, "case"), case_failed = 0;
        if (count > 3 && !strstr(case_name, arguments[3])) continue;
        char folder[4096];
        snprintf(folder, sizeof folder, "%s/%s", arguments[2], find(&one, "model"));
        if (find(&one, "scenario")) run_scenario(&one, folder);
        else run_call(&one, folder);
        if (case_failed) ++failed;
        else ++passed;
    }
    free(content);
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed || !passed;
}
