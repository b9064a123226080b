/* Searches the lines of a file by meaning, in plain C.
 *
 *     search MODEL_FOLDER FILE QUERY...
 *
 * Every line that isn't empty is a text. They go into one tape, as they lie in the file, and one call encodes them into
 * an arena; the queries go into an arena of their own, so that both results can be read at once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uform.h>

enum { best_count = 3 };

/* The whole file; or NULL, with the reason in `errno`. */
static char *read_file(char const *path, size_t *size) {
    FILE *const file = fopen(path, "rb");
    char *bytes = NULL;
    size_t capacity = 0;
    *size = 0;
    if (!file) return NULL;
    for (size_t more = 1; more;) {
        char *const grown = realloc(bytes, capacity += 1 << 16);
        if (!grown) {
            fclose(file), free(bytes);
            return NULL;
        }
        bytes = grown;
        more = fread(bytes + *size, 1, capacity - *size, file);
        *size += more;
    }
    int const reason = ferror(file) ? errno : 0; /* a folder opens, and can't be read */
    fclose(file);
    if (reason) free(bytes), bytes = NULL, errno = reason;
    return bytes;
}

/* Puts the lines that aren't empty end to end, in place, and answers where each starts: [*count + 1]. */
static uint64_t *split_lines(char *bytes, size_t size, size_t *count) {
    size_t lines = 1, end = 0;
    *count = 0;
    for (size_t i = 0; i != size; ++i) lines += bytes[i] == '\n';
    uint64_t *const offsets = malloc((lines + 1) * sizeof *offsets);
    if (!offsets) return NULL;
    offsets[0] = 0;
    for (size_t i = 0; i != size; ++i) {
        if (bytes[i] != '\n') bytes[end++] = bytes[i];
        if ((bytes[i] == '\n' || i + 1 == size) && end != offsets[*count]) offsets[++*count] = end;
    }
    return offsets;
}

static float dot(float const *a, float const *b, uint64_t count) {
    float sum = 0;
    for (uint64_t i = 0; i != count; ++i) sum += a[i] * b[i];
    return sum;
}

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "usage: search MODEL_FOLDER FILE QUERY...\n");
        return 2;
    }
    uform_model_t model = NULL;
    uform_executor_t executor = NULL;
    uform_arena_t lines_arena = NULL, queries_arena = NULL;
    uform_encode_options_t options = {sizeof options, NULL, 0, 0, 0, 0, uform_normalize_on_k, 0, 0, NULL};
    uform_encoded_t lines, queries;
    uform_tape_t tape = {NULL, 0, NULL, 0, sizeof(uint64_t), 0};
    char const *message = NULL;
    uint64_t *offsets = NULL;
    size_t size, texts = 0;
    int status = 1;

    char *const bytes = read_file(arguments[2], &size);
    if (!bytes || !(offsets = split_lines(bytes, size, &texts))) {
        fprintf(stderr, "%s can't be read: %s\n", arguments[2], strerror(errno));
        goto done;
    }
    if (!texts) {
        fprintf(stderr, "%s has no text: each line that isn't empty is one\n", arguments[2]);
        goto done;
    }
    if (uform_model_load(arguments[1], NULL, &model, &message)) goto failed;
    if (uform_executor_init_ram(0, &executor, &message)) goto failed;
    if (uform_arena_init(executor, &lines_arena, &message)) goto failed;
    if (uform_arena_init(executor, &queries_arena, &message)) goto failed;

    tape.bytes = bytes, tape.size = size, tape.offsets = offsets, tape.texts = texts;
    if (uform_text_encode(model, executor, &tape, uform_outputs_embeddings_k, uform_scalar_f32_k, lines_arena, &options,
                          &lines, &message))
        goto failed;
    void const *line_values;
    if (uform_rows_values(&lines.embeddings, uform_scalar_f32_k, &line_values, &message)) goto failed;

    for (int query = 3; query != count; ++query) {
        uform_tape_t const one = {arguments[query], strlen(arguments[query]), NULL, 1, 0, 0};
        void const *query_values;
        if (uform_text_encode(model, executor, &one, uform_outputs_embeddings_k, uform_scalar_f32_k, queries_arena,
                              &options, &queries, &message))
            goto failed;
        if (uform_rows_values(&queries.embeddings, uform_scalar_f32_k, &query_values, &message)) goto failed;

        size_t best[best_count], found = 0;
        float scores[best_count];
        for (size_t i = 0; i != texts; ++i) {
            float const *const row = (float const *)line_values + i * lines.embeddings.columns;
            float const score = dot(row, query_values, lines.embeddings.columns);
            size_t at = found < best_count ? found++ : best_count;
            for (; at && scores[at - 1] < score; --at)
                if (at != best_count) best[at] = best[at - 1], scores[at] = scores[at - 1];
            if (at != best_count) best[at] = i, scores[at] = score;
        }
        printf("> %s\n", arguments[query]);
        for (size_t i = 0; i != found; ++i)
            printf("  %.3f  %.*s\n", (double)scores[i], (int)(offsets[best[i] + 1] - offsets[best[i]]),
                   bytes + offsets[best[i]]);
    }
    status = 0;
    goto done;
failed:
    fprintf(stderr, "%s\n", message);
done:
    uform_arena_free(queries_arena);
    uform_arena_free(lines_arena);
    uform_executor_free(executor);
    uform_model_free(model);
    free(offsets);
    free(bytes);
    return status;
}
