/// The C interface of uform: text encoders that write into arenas. C99, and C++.
///
/// A program in five calls: `uform_model_load`, `uform_arena_init`, a `uform_tape_t` over its texts,
/// `uform_text_encode`, and `uform_rows_values`, which gives the vectors where they lie.
///
/// Status     Every function that can fail answers a `uform_status_t`, 0 for success.
/// Messages   The last parameter, `error_message`, may be NULL. Else it is set to NULL on success, and on an error to a
///            text that names the argument, file, tensor or limit: a string of the calling thread, valid until that
///            thread's next call of the library. The texts of `contended`, of a stale view and of memory that ran out
///            are static, and cost nothing.
/// Outputs    A pointer that a result is written through is set on every path: to the result, or on an error to zero
///            (NULL, 0, a structure of zeros). It may not be NULL unless its function says so.
/// Handles    Typed pointers, NULL where there is none. A NULL handle is `invalid_argument`, and fine for `_free`.
///            A freed handle is the caller's error, but for an arena's: that answers `invalid_argument` until another
///            arena takes its place. Freeing an executor or a model drops one reference: arenas and calls in flight
///            hold their own, so the order of freeing doesn't matter.
/// Views      `uform_rows_t`, `uform_ragged_rows_t` and `uform_encoded_t` are plain data over an arena's memory: copy
///            them freely, there is nothing to free. Each later call on their arena, and its end, makes them stale, and
///            every read of a stale view is refused, for ever, also when the arena was freed or its address used again.
///            Addresses that were read before are not guarded: read through the view again after each call.
/// Layouts    The structures of views, tapes and descriptions never change. Structures of options begin with their
///            size, and may grow at the end; all zeros but the size are the defaults, and so is NULL in their place.
/// Texts      UTF-8; each maximal part that isn't counts as U+FFFD. Sizes are in bytes.
/// Threads    Models, tokenizers and executors may be used from many threads at once. An arena serves one call at a
///            time: another answers `contended` at once and touches nothing. Freeing, detaching and trimming an arena
///            are for one thread. Unpinned views are read by the thread that makes the arena's calls; others pin first.
/// Memory     After its largest shape a loop of calls allocates nothing, in the arena or beside it.
#ifndef UFORM_H
#define UFORM_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define UFORM_API __attribute__((visibility("default")))
#else
#define UFORM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The number in the library's soname: another one means another interface. Additions leave it as it is.
#define UFORM_ABI_VERSION 0

// Integers and not enumerations: an unknown value is refused instead of being undefined.

/// How a call ended.
typedef int32_t uform_status_t;
enum {
    uform_status_success_k = 0,
    uform_status_invalid_argument_k = 1, ///< bad input, or a view that is stale
    uform_status_device_k = 2,           ///< host access to device memory, or a failure of the device
    uform_status_contended_k = 3,        ///< the arena serves another call, or a reader holds it
    uform_status_out_of_memory_k = 4,    ///< memory, address space or a limit that the caller set
    uform_status_unsupported_k = 5,      ///< a checkpoint, output or scalar that this build can't serve
    uform_status_corrupt_k = 6,          ///< a damaged file, or weights and results that aren't numbers
    uform_status_io_k = 7,               ///< a file that can't be opened, mapped or read
    uform_status_cancelled_k = 8         ///< the caller asked the call to stop
};

/// The kinds of memory.
typedef int32_t uform_residency_t;
enum {
    uform_residency_ram_k = 0, ///< host pages
    uform_residency_vram_k = 1 ///< the memory of one GPU
};

/// What one element of a row is. Verbs write the first five; offsets and ids are `u32`.
typedef int32_t uform_scalar_t;
enum {
    uform_scalar_f32_k = 0,
    uform_scalar_f16_k = 1,  ///< IEEE 754 binary16
    uform_scalar_bf16_k = 2, ///< the upper half of a float
    uform_scalar_i8_k = 3,   ///< 127 × the vector at unit length, rounded to nearest even
    uform_scalar_b1_k = 4,   ///< 1 where an element is above 0; the first in the most significant bit of a byte
    uform_scalar_u8_k = 5,
    uform_scalar_u32_k = 6,
    uform_scalar_u64_k = 7
};

/// A set of outputs: join with `|`.
typedef uint32_t uform_outputs_t;
enum {
    uform_outputs_embeddings_k = 1,    ///< one vector a text
    uform_outputs_states_k = 2,        ///< the last layer's state of every token
    uform_outputs_token_vectors_k = 4, ///< one projected vector a token, for late interaction
    uform_outputs_probabilities_k = 8, ///< of labels, or of pairs
    uform_outputs_sparse_k = 16        ///< weights over the vocabulary
};

/// How two embeddings of a model are meant to be compared.
typedef int32_t uform_similarity_t;
enum {
    uform_similarity_cosine_k = 0,
    uform_similarity_dot_k = 1,
    uform_similarity_euclidean_k = 2,
    uform_similarity_manhattan_k = 3,
    /// For each vector of a query the largest dot product with one of the document's, summed.
    uform_similarity_max_sim_k = 4,
    uform_similarity_mean_max_sim_k = 5 ///< that, over the number of the query's vectors
};

/// The kernels of a model. On one machine and build a set gives the same bits in every call.
typedef int32_t uform_instruction_set_t;
enum {
    uform_instruction_set_best_k = 0, ///< in options: the best that the machine has
    uform_instruction_set_portable_k = 1,
    uform_instruction_set_avx2_k = 2,
    uform_instruction_set_avx512_k = 3
};

/// What happens to a text that is longer than the model reads.
typedef int32_t uform_truncate_t;
enum {
    uform_truncate_cut_k = 0,   ///< its end is cut, and the result counts the tokens
    uform_truncate_refuse_k = 1 ///< the call answers `invalid_argument` and nothing is touched
};

/// Whether embeddings and token vectors are scaled to unit length.
typedef int32_t uform_normalize_t;
enum { uform_normalize_as_published_k = 0, uform_normalize_on_k = 1, uform_normalize_off_k = 2 };

/// What a text is, for models that make other token vectors of queries than of documents; it changes nothing else.
typedef int32_t uform_role_t;
enum { uform_role_document_k = 0, uform_role_query_k = 1 };

/// What the scores of a classifier or reranker go through.
typedef int32_t uform_activation_t;
enum {
    uform_activation_as_published_k = 0,
    uform_activation_none_k = 1,    ///< the scores as they are
    uform_activation_sigmoid_k = 2, ///< each by itself: 1 / (1 + e^-x)
    uform_activation_softmax_k = 3  ///< all of a text, or of a token: they sum to 1
};

/// Threads on which calls compute, or a device.
typedef struct uform_executor_s *uform_executor_t;
/// A folder of weights, loaded once.
typedef struct uform_model_s *uform_model_t;
/// Turns texts into ids.
typedef struct uform_tokenizer_s *uform_tokenizer_t;
/// Where the outputs of calls land.
typedef struct uform_arena_s *uform_arena_t;
/// An arena's storage, given away with the views over it.
typedef struct uform_detached_s *uform_detached_t;
/// A call that runs while its caller goes on.
typedef struct uform_deferred_s *uform_deferred_t;
/// While it lives, its arena can't be rewound, and the bytes stay.
typedef struct uform_pin_s *uform_pin_t;
/// A flag by which another thread stops calls.
typedef struct uform_cancellation_s *uform_cancellation_t;
/// The state word of an arena. It is readable for ever, also after the arena was freed.
typedef struct uform_lease_s const *uform_lease_t;

/// Where an arena's outputs land. 8 bytes, frozen.
typedef struct uform_arena_description_t {
    uform_residency_t residency;
    int32_t device; ///< the device's ordinal; -1 for host pages
} uform_arena_description_t;

/// Texts end to end, with the offsets that part them: the layout of an Arrow string column without nulls. 40 bytes,
/// frozen.
///
/// Owns nothing: bytes and offsets must live, unchanged, until the call that reads them has returned; the submit of a
/// deferred call is such a call. Each call checks it, and answers `invalid_argument` with the offset that falls or
/// passes the end, for misaligned offsets, for counts that overflow, and for a `reserved` that isn't 0.
typedef struct uform_tape_t {
    void const *bytes;   ///< host memory; of a device the call answers `device` where it computes on the host
    uint64_t size;       ///< bytes that the offsets may reach
    void const *offsets; ///< [texts + 1] in host memory, rising, counted in bytes. NULL: one text of all bytes, or none
    uint64_t texts;      ///< how many; 0 or 1 where `offsets` is NULL
    uint32_t offset_bytes; ///< of one offset: 4 or 8; anything where `offsets` is NULL
    uint32_t reserved;     ///< 0
} uform_tape_t;

/// A view of rows in an arena, [rows, columns], row-major. 64 bytes, frozen. Plain data; all zeros: no view.
///
/// An output that wasn't asked for has `columns` 0; an empty batch has `rows` 0, and perhaps no address. Shapes may be
/// read always, values while the view is current.
typedef struct uform_rows_t {
    uform_lease_t lease;       ///< of the arena; not to be changed
    uint64_t epoch;            ///< of the call that wrote them; not to be changed
    void const *data;          ///< of the first row, host or device, unchecked: see `uform_rows_values`
    uint64_t rows;             ///< how many
    uint64_t columns;          ///< scalars in a row; of `b1`, bits
    uint64_t row_stride_bytes; ///< from one row to the next: a verb's rows are tight
    uform_scalar_t scalar;
    uform_residency_t residency;
    int32_t device;   ///< the device's ordinal; -1 for host memory
    int32_t reserved; ///< 0
} uform_rows_t;

/// The rows of all texts end to end, with the offsets that part them. 80 bytes, frozen. Plain data.
typedef struct uform_ragged_rows_t {
    uform_rows_t rows;       ///< [offsets[texts], columns]
    uint32_t const *offsets; ///< [texts + 1], counted in rows; host memory, unchecked: see `uform_ragged_rows_offsets`
    uint64_t texts;          ///< how many
} uform_ragged_rows_t;

/// The outputs of one call. 672 bytes, frozen. Plain data. `columns` of an output that wasn't asked for is 0.
typedef struct uform_encoded_t {
    uform_rows_t embeddings;                 ///< [texts, dimensions]: one vector a text
    uform_rows_t probabilities;              ///< [texts, labels] of a classifier, [pairs, 1] of a reranker
    uform_ragged_rows_t states;              ///< [tokens, hidden]: of every token, special ones included
    uform_ragged_rows_t token_vectors;       ///< [tokens that count, dimensions]: what late interaction compares
    uform_ragged_rows_t token_probabilities; ///< [tokens, labels] of a token classifier, special tokens included
    uform_ragged_rows_t sparse_ids;     ///< [entries, 1] of `u32`, rising within a text: those whose weight isn't 0
    uform_ragged_rows_t sparse_weights; ///< [entries, 1]: the weight of each id, above 0
    uform_rows_t truncated_tokens;      ///< [texts, 1] of `u32`, host: how many tokens were cut from each text
    uform_rows_t token_ids;             ///< [tokens, 1] of `u32`, host: with `states` or `token_probabilities`
    uint64_t texts;                     ///< of the call's tape, or pairs of its two
    uform_outputs_t outputs;            ///< what was asked for
    uint32_t reserved;                  ///< 0
} uform_encoded_t;

/// How a folder is loaded.
typedef struct uform_load_options_t {
    uint64_t size;                           ///< sizeof(uform_load_options_t)
    uform_scalar_t compute;                  ///< what the encoder computes in: `f32` in this version
    uform_instruction_set_t instruction_set; ///< one that the machine lacks is `unsupported`. Vectors of different sets
                                             ///< differ in their last bits: name one where machines share an index
} uform_load_options_t;

/// How texts are encoded, beside what is asked for.
typedef struct uform_encode_options_t {
    uint64_t size;        ///< sizeof(uform_encode_options_t)
    char const *prompt;   ///< the name of one of `uform_model_prompt`; NULL: the folder's default, if it has one
    uint64_t prompt_size; ///< bytes of `prompt`; 0: it ends with a zero byte
    uint64_t dimensions;  ///< columns of the embeddings; 0: the model's. Fewer cut each vector before it is normalised
    uint64_t tokens_per_call;    ///< the most tokens computed at once, on all threads together; 0: no such limit
    uform_truncate_t truncate;   ///< for texts longer than `uform_model_max_sequence_length`
    uform_normalize_t normalize; ///< of embeddings and token vectors
    uform_role_t role;
    int32_t reserved;                  ///< 0
    uform_cancellation_t cancellation; ///< NULL, or what stops the call; must live until the call is done
} uform_encode_options_t;

/// How texts, or pairs of texts, are classified or ranked.
typedef struct uform_classify_options_t {
    uint64_t size; ///< sizeof(uform_classify_options_t)
    /// For texts longer than `uform_model_max_sequence_length`; of a pair the longer is cut first.
    uform_truncate_t truncate;
    uform_activation_t activation;
    uform_cancellation_t cancellation; ///< as in `uform_encode_options_t`
} uform_classify_options_t;
typedef uform_classify_options_t uform_rerank_options_t;

// ---- Version and names -------------------------------------------------------------------------------------------
// None of these fails, allocates, or touches the thread's message. Their texts are static. From any thread.

/// "major.minor.patch" of the library that is loaded.
UFORM_API char const *uform_version(void);
/// `UFORM_ABI_VERSION` of the library that is loaded.
UFORM_API uint32_t uform_abi_version(void);
/// "success", "invalid_argument", …; "unknown" for a value that names none.
UFORM_API char const *uform_status_name(uform_status_t status);
/// "f32", "f16", …; "unknown" for a value that names none.
UFORM_API char const *uform_scalar_name(uform_scalar_t scalar);
/// Bits of one scalar; 0 for a value that names none.
UFORM_API uint64_t uform_scalar_bits(uform_scalar_t scalar);
/// "embeddings", "states", …, of one output; "none or several" for any other value.
UFORM_API char const *uform_outputs_name(uform_outputs_t one);
/// "ram" or "vram"; "unknown" for a value that names none.
UFORM_API char const *uform_residency_name(uform_residency_t residency);
/// "best", "portable", "avx2", "avx512"; "unknown" for a value that names none.
UFORM_API char const *uform_instruction_set_name(uform_instruction_set_t set);

// ---- Executors ---------------------------------------------------------------------------------------------------

/// Makes an executor of host threads: `threads` at work in a call, the caller's among them; 0: as many as the process
/// may use. Calls on one executor queue, one at a time.
///
/// Owner   the caller frees it with `uform_executor_free`.
/// Errors  `out_of_memory`, also where the system gives no more threads; the most is 65,536.
/// Threads any.
UFORM_API uform_status_t uform_executor_init_ram(size_t threads, uform_executor_t *executor,
                                                 char const **error_message);
/// Makes an executor of the device of that ordinal, as the CUDA driver counts them. It loads the driver; the library
/// isn't linked with it. In this version its arenas work, and the verbs answer `unsupported` on it.
///
/// Owner   the caller frees it with `uform_executor_free`; arenas of it keep the device alive.
/// Errors  `unsupported`, with the reason: no driver, no such device, or one without stream-ordered memory pools;
///         `out_of_memory`; `device`.
/// Threads any.
UFORM_API uform_status_t uform_executor_init_vram(uint32_t device, uform_executor_t *executor,
                                                  char const **error_message);
/// Drops the caller's reference. NULL is fine. From any thread, also within a notification.
UFORM_API void uform_executor_free(uform_executor_t executor);
/// Where its arenas lie. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_executor_describe(uform_executor_t executor, uform_arena_description_t *description,
                                                 char const **error_message);
/// Threads at work in a call, the caller's among them; 0 for a device's. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_executor_threads(uform_executor_t executor, uint64_t *threads,
                                                char const **error_message);
/// The first stream (`cudaStream_t`) of a device's executor, on which its work is queued. Valid while the executor, or
/// an arena of it, lives. Errors: `invalid_argument`, also for an executor of host threads. Threads: any.
UFORM_API uform_status_t uform_executor_stream(uform_executor_t executor, void **stream, char const **error_message);

// ---- Models ------------------------------------------------------------------------------------------------------

/// Loads a folder as sentence-transformers or transformers publish it, without any conversion.
///
/// folder  its path, ending with a zero byte
/// options NULL: the defaults
/// Owner   the caller frees the model with `uform_model_free`.
/// Errors  `io`: a file that isn't there or can't be read. `corrupt`: a damaged or contradictory one. `unsupported`: an
///         architecture, module, tokenizer or option that this version doesn't serve. `out_of_memory`.
///         `invalid_argument`: an empty path, or options that can't be.
/// Memory  the weights once; tables of embeddings stay in the file's mapping, which must not be changed meanwhile.
/// Threads any.
UFORM_API uform_status_t uform_model_load(char const *folder, uform_load_options_t const *options, uform_model_t *model,
                                          char const **error_message);
/// Drops the caller's reference; deferred calls hold their own. NULL is fine. From any thread.
UFORM_API void uform_model_free(uform_model_t model);

// Properties. Errors: `invalid_argument` for a NULL. They allocate nothing. Threads: any.

/// Columns of the embeddings.
UFORM_API uform_status_t uform_model_dimensions(uform_model_t model, uint64_t *dimensions, char const **error_message);
/// Columns of the states.
UFORM_API uform_status_t uform_model_hidden_size(uform_model_t model, uint64_t *hidden_size,
                                                 char const **error_message);
/// Layers of the encoder.
UFORM_API uform_status_t uform_model_layers(uform_model_t model, uint64_t *layers, char const **error_message);
/// Tokens of the longest text that is read whole, special ones included.
UFORM_API uform_status_t uform_model_max_sequence_length(uform_model_t model, uint64_t *tokens,
                                                         char const **error_message);
/// The outputs that calls may ask for.
UFORM_API uform_status_t uform_model_outputs(uform_model_t model, uform_outputs_t *outputs, char const **error_message);
/// 1 if embeddings are of unit length as the model was published, else 0.
UFORM_API uform_status_t uform_model_normalizes(uform_model_t model, int32_t *normalizes, char const **error_message);
/// How two embeddings are meant to be compared.
UFORM_API uform_status_t uform_model_similarity(uform_model_t model, uform_similarity_t *similarity,
                                                char const **error_message);
/// The kernels that calls use; never `best`.
UFORM_API uform_status_t uform_model_instruction_set(uform_model_t model, uform_instruction_set_t *set,
                                                     char const **error_message);

// Lists of texts: how many, and each by its index. A text ends with a zero byte, which `size` doesn't count, and lives
// as long as the model. `size` may be NULL. Errors: `invalid_argument`, also for an index past the end. Threads: any.

/// A classifier's labels, in the order of the columns of probabilities; none for an encoder.
UFORM_API uform_status_t uform_model_labels(uform_model_t model, uint64_t *count, char const **error_message);
UFORM_API uform_status_t uform_model_label(uform_model_t model, uint64_t index, char const **label, uint64_t *size,
                                           char const **error_message);
/// Names that `prompt` of the options may take.
UFORM_API uform_status_t uform_model_prompts(uform_model_t model, uint64_t *count, char const **error_message);
UFORM_API uform_status_t uform_model_prompt(uform_model_t model, uint64_t index, char const **prompt, uint64_t *size,
                                            char const **error_message);
/// What the folder says that isn't followed.
UFORM_API uform_status_t uform_model_warnings(uform_model_t model, uint64_t *count, char const **error_message);
UFORM_API uform_status_t uform_model_warning(uform_model_t model, uint64_t index, char const **warning, uint64_t *size,
                                             char const **error_message);

// ---- Tokenizers --------------------------------------------------------------------------------------------------

/// The tokenizer of a model: a handle of its own, which may outlive the model's.
///
/// Owner   the caller frees it with `uform_tokenizer_free`. Errors: `invalid_argument`, `out_of_memory`. Threads: any.
UFORM_API uform_status_t uform_model_tokenizer(uform_model_t model, uform_tokenizer_t *tokenizer,
                                               char const **error_message);
/// Loads tokenizer.json of a folder, or vocab.txt with tokenizer_config.json where there is none.
///
/// Owner   the caller frees it with `uform_tokenizer_free`.
/// Errors  `io`, `corrupt`, `unsupported`, `out_of_memory`, each with the file; `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_tokenizer_load(char const *folder, uform_tokenizer_t *tokenizer,
                                              char const **error_message);
/// NULL is fine. From any thread.
UFORM_API void uform_tokenizer_free(uform_tokenizer_t tokenizer);
/// The ids of a text with the special tokens around it, not cut, written to `ids`.
///
/// text    `size` bytes; may be NULL where that is 0
/// ids     room for `capacity` ids; may be NULL where that is 0
/// count   how many ids the text has, also where they don't fit
/// Errors  `invalid_argument`: more ids than `capacity`, with none written; but a capacity of 0 only counts.
///         `out_of_memory`.
/// Memory  allocates its scratch. Threads: any.
UFORM_API uform_status_t uform_tokenizer_encode(uform_tokenizer_t tokenizer, char const *text, uint64_t size,
                                                uint32_t *ids, uint64_t capacity, uint64_t *count,
                                                char const **error_message);
/// How many ids `uform_tokenizer_encode` would write. Errors: `invalid_argument`, `out_of_memory`. Threads: any.
UFORM_API uform_status_t uform_tokenizer_count(uform_tokenizer_t tokenizer, char const *text, uint64_t size,
                                               uint64_t *count, char const **error_message);
/// The text that ids stand for, as the file's decoder makes it; ids that no token has are left out.
///
/// ids           `count` of them; may be NULL where that is 0
/// skip_special  not 0: special tokens are left out
/// text          room for `capacity` bytes: the text and a zero byte behind it; may be NULL where that is 0
/// size          bytes of the text without that zero byte, also where it doesn't fit
/// Errors        `invalid_argument`: no room for `size` + 1 bytes, with none written; but a capacity of 0 only counts.
///               `unsupported`: a decoder that isn't served. `out_of_memory`.
/// Memory        allocates. Threads: any.
UFORM_API uform_status_t uform_tokenizer_decode(uform_tokenizer_t tokenizer, uint32_t const *ids, uint64_t count,
                                                int32_t skip_special, char *text, uint64_t capacity, uint64_t *size,
                                                char const **error_message);
/// The text of a token, `size` bytes; NULL where no token has the id, which is no error. `size` may be NULL. There is
/// no zero byte behind it. Lives as long as the tokenizer. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_tokenizer_token(uform_tokenizer_t tokenizer, uint32_t id, char const **text,
                                               uint64_t *size, char const **error_message);
/// The id of the token that is spelt so; -1 where none is, which is no error. Looks at all of them: for once a load.
/// Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_tokenizer_id(uform_tokenizer_t tokenizer, char const *text, uint64_t size, int64_t *id,
                                            char const **error_message);
/// The greatest id + 1. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_tokenizer_vocabulary_size(uform_tokenizer_t tokenizer, uint64_t *size,
                                                         char const **error_message);
/// The length of an empty text, in tokens. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_tokenizer_special_tokens(uform_tokenizer_t tokenizer, uint64_t *count,
                                                        char const **error_message);

// ---- Arenas ------------------------------------------------------------------------------------------------------

/// Makes an arena where `executor` computes; NULL: an arena of host pages. Allocates no memory for outputs.
///
/// Host pages serve any call on the host, whatever its executor, also after that was freed. A device's memory serves
/// only its executor, and keeps it alive.
///
/// Owner   the caller frees it with `uform_arena_free`.
/// Errors  `out_of_memory`; `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_arena_init(uform_executor_t executor, uform_arena_t *arena, char const **error_message);
/// Ends the arena: its views are stale from here on, for ever. NULL is fine, and so is a freed one until another arena
/// takes its place. Waits for the call that writes into it, never for readers: pinned bytes outlive it.
///
/// Threads  any, while no other thread is just starting a call on it; one under way is safe.
UFORM_API void uform_arena_free(uform_arena_t arena);
/// Where the outputs land. Errors: `invalid_argument`, also for a freed arena. Threads: any.
UFORM_API uform_status_t uform_arena_describe(uform_arena_t arena, uform_arena_description_t *description,
                                              char const **error_message);
/// Bytes of memory that the arena holds. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_arena_capacity(uform_arena_t arena, uint64_t *bytes, char const **error_message);
/// The most bytes that a call's outputs may take; UINT64_MAX where none was set.
/// Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_arena_limit(uform_arena_t arena, uint64_t *bytes, char const **error_message);
/// Sets that limit. A later call that needs more answers `out_of_memory`, and old results stay readable. Memory that
/// the arena has already is kept until `uform_arena_trim`. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_arena_set_limit(uform_arena_t arena, uint64_t bytes, char const **error_message);
/// Room for `bytes` of outputs before they are needed; current results stay readable.
///
/// Errors  `contended` while a call has the arena; `out_of_memory`, also over the limit; `device`; `invalid_argument`.
UFORM_API uform_status_t uform_arena_reserve(uform_arena_t arena, uint64_t bytes, char const **error_message);
/// Gives back the memory that the current results don't use.
///
/// Errors  `contended` while a call has the arena; `invalid_argument`.
UFORM_API uform_status_t uform_arena_trim(uform_arena_t arena, char const **error_message);
/// Gives the storage away with its results, which stay current as long as `*detached` lives; nothing is copied, and the
/// arena starts afresh, with the same limit. Pins are no hindrance.
///
/// Owner   the caller frees the answer with `uform_detached_free`.
/// Errors  `contended` while a call has the arena; `out_of_memory`; `invalid_argument`. Nothing has changed then.
UFORM_API uform_status_t uform_arena_detach(uform_arena_t arena, uform_detached_t *detached,
                                            char const **error_message);
/// Ends the views of detached storage. Never waits: pinned rows outlive it. NULL is fine.
UFORM_API void uform_detached_free(uform_detached_t detached);
/// Where its results lie. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_detached_describe(uform_detached_t detached, uform_arena_description_t *description,
                                                 char const **error_message);
/// Bytes of memory that it holds. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_detached_capacity(uform_detached_t detached, uint64_t *bytes,
                                                 char const **error_message);

// ---- Stopping calls ----------------------------------------------------------------------------------------------

/// Makes a flag that isn't set. Owner: the caller frees it, after the calls that were given it are done.
/// Errors: `out_of_memory`, `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_cancellation_init(uform_cancellation_t *cancellation, char const **error_message);
/// NULL is fine.
UFORM_API void uform_cancellation_free(uform_cancellation_t cancellation);
/// Sets the flag: calls that were given it stop soon, with `cancelled`. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_cancellation_request(uform_cancellation_t cancellation, char const **error_message);
/// Takes the flag back, for the next call. Errors: `invalid_argument`. Threads: any.
UFORM_API uform_status_t uform_cancellation_reset(uform_cancellation_t cancellation, char const **error_message);

// ---- Verbs -------------------------------------------------------------------------------------------------------
//
// executor  NULL: the calling thread, with a workspace that the model keeps for it
// options   NULL: the defaults
// encoded   the views of the outputs; all zeros after an error. To read the previous results on after a refusal, keep a
//           copy of theirs
// Errors    `contended`: the arena serves another call, or a reader holds it. `invalid_argument`: a NULL, a tape, an
//           output, scalar or option that can't be, a prompt that isn't there, a text too long where `refuse` says so,
//           tapes of unequal counts, a tape in the arena itself, an arena of another residency or of another device's
//           executor, or one that was freed. `unsupported`: an output or scalar that this model or version can't serve.
//           `device`: a tape in a device's memory. `out_of_memory`. `cancelled`. After these the arena's previous
//           results are as they were, unless the call was cancelled while it computed. `corrupt`: results that aren't
//           numbers; the previous results are stale then. What is said of a tape begins with its parameter's name.
// Memory    grows the arena and the workspace to the largest call, then allocates nothing.
// Order     a text's rows are the same bits alone, beside any other text and on any number of threads.
// Threads   any; one call on an arena at a time. Calls on one executor queue.

/// Encodes each text of a tape into the arena. Of the outputs each is computed only if asked for, all in one pass.
UFORM_API uform_status_t uform_text_encode(uform_model_t model, uform_executor_t executor, uform_tape_t const *texts,
                                           uform_outputs_t outputs, uform_scalar_t scalar, uform_arena_t arena,
                                           uform_encode_options_t const *options, uform_encoded_t *encoded,
                                           char const **error_message);
/// Gives the labels of each text their probabilities, [texts, labels], or those of each token, as token probabilities,
/// where the model labels tokens. The columns are those of `uform_model_label`.
UFORM_API uform_status_t uform_text_classify(uform_model_t model, uform_executor_t executor, uform_tape_t const *texts,
                                             uform_scalar_t scalar, uform_arena_t arena,
                                             uform_classify_options_t const *options, uform_encoded_t *encoded,
                                             char const **error_message);
/// The same for pairs, [pairs, labels]: the first text of each with the second, or one first text with every second.
UFORM_API uform_status_t uform_text_classify_pairs(uform_model_t model, uform_executor_t executor,
                                                   uform_tape_t const *first, uform_tape_t const *second,
                                                   uform_scalar_t scalar, uform_arena_t arena,
                                                   uform_classify_options_t const *options, uform_encoded_t *encoded,
                                                   char const **error_message);
/// Scores documents for a query each, or for one query: probabilities [pairs, 1]; the larger, the better the document
/// answers.
UFORM_API uform_status_t uform_text_rerank(uform_model_t model, uform_executor_t executor, uform_tape_t const *queries,
                                           uform_tape_t const *documents, uform_scalar_t scalar, uform_arena_t arena,
                                           uform_rerank_options_t const *options, uform_encoded_t *encoded,
                                           char const **error_message);

// ---- Deferred calls ----------------------------------------------------------------------------------------------
//
// The same verbs, each on the executor's own thread while the caller goes on. The executor may not be NULL. Tapes and
// options are consumed before the submit returns, but for `cancellation`. The call holds its own references to model
// and executor, and its arena until the result has gone: each call in flight needs an arena of its own.
//
// Owner     the caller frees `*deferred` with `uform_deferred_free`.
// Errors    what is known at once, such as `contended`, is answered by the submit, with `*deferred` NULL; the rest by
//           `uform_deferred_wait`. Also `out_of_memory` where the executor's own thread can't be had.
// Threads   submits from any; calls of one executor run one after the other, in the order of their submits. One handle
//           is for one thread at a time.

UFORM_API uform_status_t uform_text_encode_deferred(uform_model_t model, uform_executor_t executor,
                                                    uform_tape_t const *texts, uform_outputs_t outputs,
                                                    uform_scalar_t scalar, uform_arena_t arena,
                                                    uform_encode_options_t const *options, uform_deferred_t *deferred,
                                                    char const **error_message);
UFORM_API uform_status_t uform_text_classify_deferred(uform_model_t model, uform_executor_t executor,
                                                      uform_tape_t const *texts, uform_scalar_t scalar,
                                                      uform_arena_t arena, uform_classify_options_t const *options,
                                                      uform_deferred_t *deferred, char const **error_message);
UFORM_API uform_status_t uform_text_classify_pairs_deferred(uform_model_t model, uform_executor_t executor,
                                                            uform_tape_t const *first, uform_tape_t const *second,
                                                            uform_scalar_t scalar, uform_arena_t arena,
                                                            uform_classify_options_t const *options,
                                                            uform_deferred_t *deferred, char const **error_message);
UFORM_API uform_status_t uform_text_rerank_deferred(uform_model_t model, uform_executor_t executor,
                                                    uform_tape_t const *queries, uform_tape_t const *documents,
                                                    uform_scalar_t scalar, uform_arena_t arena,
                                                    uform_rerank_options_t const *options, uform_deferred_t *deferred,
                                                    char const **error_message);

/// Sets `*ready` to 1 if `uform_deferred_wait` would answer at once, else to 0. Errors: `invalid_argument`.
UFORM_API uform_status_t uform_deferred_ready(uform_deferred_t deferred, int32_t *ready, char const **error_message);
/// Waits at most so many nanoseconds (at most 95 years), then does as `uform_deferred_ready`.
/// Errors: `invalid_argument`.
UFORM_API uform_status_t uform_deferred_wait_for(uform_deferred_t deferred, uint64_t nanoseconds, int32_t *ready,
                                                 char const **error_message);
/// Waits for the call and answers its result, once.
///
/// pin     the pin that the result was born with, to be ended with `uform_rows_unpin`: until then no call can rewind
///         the arena. NULL: it is let go at once. NULL is written after an error.
/// Errors  those of the verb; `cancelled`; `invalid_argument`, also where the result was taken before.
UFORM_API uform_status_t uform_deferred_wait(uform_deferred_t deferred, uform_encoded_t *encoded, uform_pin_t *pin,
                                             char const **error_message);
/// Takes the call back: sets `*cancelled` to 1 if it never runs, and then `uform_deferred_wait` answers `cancelled` and
/// the arena's previous results are as they were; else to 0. Errors: `invalid_argument`.
UFORM_API uform_status_t uform_deferred_cancel(uform_deferred_t deferred, int32_t *cancelled,
                                               char const **error_message);
/// Calls `done(context)` exactly once when the result is there: at once on this thread if it is, else on the executor's
/// own thread, or on that which cancels, perhaps after `uform_deferred_free` has returned. It may do anything, also
/// free the handle, the arena and the executor; in C++ it may not throw.
///
/// Errors  `invalid_argument`: a NULL, or a call that has a notification already. `out_of_memory`. `done` isn't called
///         then. Calls that were in flight at a fork are never told in the child.
UFORM_API uform_status_t uform_deferred_notify(uform_deferred_t deferred, void (*done)(void *context), void *context,
                                               char const **error_message);
/// Waits for the call, and drops its result with its pin, if nobody took it. NULL is fine. From any thread, also within
/// the call's own notification.
UFORM_API void uform_deferred_free(uform_deferred_t deferred);

// ---- Rows --------------------------------------------------------------------------------------------------------
//
// Errors    `invalid_argument`: a NULL; a view that is stale, that is of a freed arena, or whose output wasn't asked
//           for; a scalar that isn't the rows'. `device`: a host read of device memory, whether the view is stale or
//           not.
// Memory    nothing is allocated unless it is said.
// Threads   any, where a pin is held; else the thread that makes the arena's calls.

/// The address of all rows end to end: `rows` × `row_stride_bytes` bytes, until the arena's next call. It is NULL only
/// where there are no rows. Costs one atomic load.
UFORM_API uform_status_t uform_rows_values(uform_rows_t const *rows, uform_scalar_t scalar, void const **values,
                                           char const **error_message);
/// The address of one row. Errors: also `invalid_argument` for an index past the end.
UFORM_API uform_status_t uform_rows_row(uform_rows_t const *rows, uform_scalar_t scalar, uint64_t index,
                                        void const **values, char const **error_message);
/// Copies all rows, tight, to `bytes` of host memory: exactly as many as they take. Of a device it waits for the first
/// stream, and holds a pin meanwhile.
///
/// Errors  `invalid_argument`, also for another size, which the message names; of a device `device` for the driver's
///         failures, `out_of_memory`, and `contended` at 4,094 pins.
UFORM_API uform_status_t uform_rows_copy_to(uform_rows_t const *rows, uform_scalar_t scalar, void *to, uint64_t bytes,
                                            char const **error_message);
/// Sets `*is_current` to 1 if the rows may be read now, host or device, else to 0. Errors: `invalid_argument`, for a
/// NULL only. From any thread.
UFORM_API uform_status_t uform_rows_is_current(uform_rows_t const *rows, int32_t *is_current,
                                               char const **error_message);
/// Makes a stream of the caller's (`cudaStream_t`) wait until device rows are there, without waiting itself. The caller
/// pins the rows while the stream's work reads them, and lets go with `uform_pin_release_on`.
///
/// Errors  `invalid_argument`, also for rows in host memory; `contended` at 4,094 pins; `device`; `out_of_memory`.
UFORM_API uform_status_t uform_rows_stream_wait(uform_rows_t const *rows, void *stream, char const **error_message);

/// The rows of one text, a view of their own. For host and device rows. Errors: also `invalid_argument` for a text past
/// the end.
UFORM_API uform_status_t uform_ragged_rows_at(uform_ragged_rows_t const *rows, uint64_t text, uform_rows_t *part,
                                              char const **error_message);
/// Where each text's rows start, and where the last one ends: [texts + 1], in host memory for host and device rows.
UFORM_API uform_status_t uform_ragged_rows_offsets(uform_ragged_rows_t const *rows, uint32_t const **offsets,
                                                   char const **error_message);

/// How many tokens were cut from each text: [count], `count` texts. `count` may be NULL.
UFORM_API uform_status_t uform_encoded_truncated_tokens(uform_encoded_t const *encoded, uint32_t const **tokens,
                                                        uint64_t *count, char const **error_message);
/// The id of each row of states, or of token probabilities: [count]. `count` may be NULL.
UFORM_API uform_status_t uform_encoded_token_ids(uform_encoded_t const *encoded, uint32_t const **ids, uint64_t *count,
                                                 char const **error_message);

// ---- Pins --------------------------------------------------------------------------------------------------------
//
// While a pin lives, a call that would rewind its arena answers `contended`, and the bytes stay, also when the arena is
// freed. A pin is of the whole arena, whichever view it was taken with. Nothing is allocated.
//
// Owner     the caller ends each pin once, with `uform_rows_unpin` or `uform_pin_release_on`.
// Errors    `invalid_argument`: a NULL, or a view that is stale or was not asked for; `contended` at 4,094 pins.
// Threads   any: the check and the pin are one atomic step.

UFORM_API uform_status_t uform_rows_pin(uform_rows_t const *rows, uform_pin_t *pin, char const **error_message);
UFORM_API uform_status_t uform_ragged_rows_pin(uform_ragged_rows_t const *rows, uform_pin_t *pin,
                                               char const **error_message);
UFORM_API uform_status_t uform_encoded_pin(uform_encoded_t const *encoded, uform_pin_t *pin,
                                           char const **error_message);
/// Ends a pin, whichever function gave it. NULL is fine. From any thread.
UFORM_API void uform_rows_unpin(uform_pin_t pin);
/// Ends a pin of device rows once the work that the caller has queued on a stream so far is done; no host thread waits.
/// On success the pin has gone.
///
/// Errors  `device`, `out_of_memory`: the pin is then still held. `invalid_argument`: a NULL, or a pin of host rows,
///         which is still held.
UFORM_API uform_status_t uform_pin_release_on(uform_pin_t pin, void *stream, char const **error_message);

// ---- Other libraries ---------------------------------------------------------------------------------------------

/// Hands rows to another library as a tensor of DLPack 1.0: the same bytes, read-only, [rows, columns]. The tensor
/// holds a pin until its deleter is called, from any thread, also after the arena was freed.
///
/// tensor  a `DLManagedTensorVersioned *`, whose consumer calls its deleter once
/// Errors  `invalid_argument`; `unsupported`: `b1`, whose bits DLPack packs the other way; `out_of_memory`;
///         `contended`.
/// Memory  one block of less than 256 bytes. Threads: any.
UFORM_API uform_status_t uform_rows_to_dlpack(uform_rows_t const *rows, void **tensor, char const **error_message);

struct ArrowSchema; // of Arrow's C data interface
struct ArrowArray;
/// Hands host rows to another library through Arrow's C data interface: the same bytes, as `rows` lists of fixed size.
/// The array holds a pin until it is released, from any thread, also after the arena was freed.
///
/// schema, array  overwritten on success, and released once each by their consumer; as they were after an error
/// Errors  `invalid_argument`; `device`: rows of a device; `unsupported`: `bf16`, which Arrow hasn't; `out_of_memory`;
///         `contended`.
/// Memory  two blocks of less than 512 bytes. Threads: any.
UFORM_API uform_status_t uform_rows_to_arrow(uform_rows_t const *rows, struct ArrowSchema *schema,
                                             struct ArrowArray *array, char const **error_message);
/// The same for the rows of texts, as `texts` lists of such rows: rows and offsets are the same bytes.
///
/// Errors  also `unsupported` for more than 2,147,483,647 rows of all texts: Arrow's offsets are signed.
UFORM_API uform_status_t uform_ragged_rows_to_arrow(uform_ragged_rows_t const *rows, struct ArrowSchema *schema,
                                                    struct ArrowArray *array, char const **error_message);

#ifdef __cplusplus
}
#endif

#endif // UFORM_H
