//! `uform.h`, by hand: the frozen layouts, the structures of options, and the functions that are used.

use std::ffi::{c_char, c_void};
use std::mem::{align_of, offset_of, size_of};

/// `uform_arena_description_t`. An integer and not an enum: an unknown value would be undefined.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Description {
    pub(crate) residency: i32,
    pub(crate) device: i32,
}

/// `uform_tape_t`.
#[repr(C)]
pub(crate) struct Tape {
    pub(crate) bytes: *const c_void,
    pub(crate) size: u64,
    pub(crate) offsets: *const c_void,
    pub(crate) texts: u64,
    pub(crate) offset_bytes: u32,
    pub(crate) reserved: u32,
}

/// `uform_rows_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) lease: *const c_void,
    pub(crate) epoch: u64,
    pub(crate) data: *const c_void,
    pub(crate) rows: u64,
    pub(crate) columns: u64,
    pub(crate) row_stride_bytes: u64,
    pub(crate) scalar: i32,
    pub(crate) residency: i32,
    pub(crate) device: i32,
    pub(crate) reserved: i32,
}

/// `uform_ragged_rows_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RaggedRows {
    pub(crate) rows: Rows,
    pub(crate) offsets: *const u32,
    pub(crate) texts: u64,
}

/// `uform_encoded_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Encoded {
    pub(crate) embeddings: Rows,
    pub(crate) probabilities: Rows,
    pub(crate) states: RaggedRows,
    pub(crate) token_vectors: RaggedRows,
    pub(crate) token_probabilities: RaggedRows,
    pub(crate) sparse_ids: RaggedRows,
    pub(crate) sparse_weights: RaggedRows,
    pub(crate) truncated_tokens: Rows,
    pub(crate) token_ids: Rows,
    pub(crate) texts: u64,
    pub(crate) outputs: u32,
    pub(crate) reserved: u32,
}

/// `uform_load_options_t`.
#[repr(C)]
pub(crate) struct LoadOptions {
    pub(crate) size: u64,
    pub(crate) compute: i32,
    pub(crate) instruction_set: i32,
}

/// `uform_encode_options_t`.
#[repr(C)]
pub(crate) struct EncodeOptions {
    pub(crate) size: u64,
    pub(crate) prompt: *const c_char,
    pub(crate) prompt_size: u64,
    pub(crate) dimensions: u64,
    pub(crate) tokens_per_call: u64,
    pub(crate) truncate: i32,
    pub(crate) normalize: i32,
    pub(crate) role: i32,
    pub(crate) reserved: i32,
    pub(crate) cancellation: *mut c_void,
}

/// `uform_classify_options_t`, and `uform_rerank_options_t`.
#[repr(C)]
pub(crate) struct ClassifyOptions {
    pub(crate) size: u64,
    pub(crate) truncate: i32,
    pub(crate) activation: i32,
    pub(crate) cancellation: *mut c_void,
}

// The sizes and places that `uform.h` states.
const _: () = {
    assert!(size_of::<Description>() == 8 && size_of::<Tape>() == 40 && size_of::<Rows>() == 64);
    assert!(size_of::<RaggedRows>() == 80 && size_of::<Encoded>() == 672 && align_of::<Encoded>() == 8);
    assert!(offset_of!(Tape, offset_bytes) == 32 && offset_of!(Rows, scalar) == 48 && offset_of!(Rows, device) == 56);
    assert!(offset_of!(Encoded, states) == 128 && offset_of!(Encoded, truncated_tokens) == 528);
    assert!(offset_of!(Encoded, texts) == 656 && offset_of!(Encoded, outputs) == 664);
    assert!(size_of::<LoadOptions>() == 16 && size_of::<EncodeOptions>() == 64 && size_of::<ClassifyOptions>() == 24);
    assert!(offset_of!(EncodeOptions, cancellation) == 56 && offset_of!(ClassifyOptions, cancellation) == 16);
};

type Handle = *mut c_void;
type Message = *mut *const c_char;

#[rustfmt::skip]
unsafe extern "C" {
    pub(crate) fn uform_version() -> *const c_char;
    pub(crate) fn uform_abi_version() -> u32;
    pub(crate) fn uform_scalar_bits(scalar: i32) -> u64;

    pub(crate) fn uform_executor_init_ram(threads: usize, executor: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_executor_init_vram(device: u32, executor: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_executor_free(executor: Handle);
    pub(crate) fn uform_executor_describe(executor: Handle, description: *mut Description, message: Message) -> i32;
    pub(crate) fn uform_executor_threads(executor: Handle, threads: *mut u64, message: Message) -> i32;

    pub(crate) fn uform_model_load(folder: *const c_char, options: *const LoadOptions, model: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_model_free(model: Handle);
    pub(crate) fn uform_model_dimensions(model: Handle, dimensions: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_hidden_size(model: Handle, hidden_size: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_layers(model: Handle, layers: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_max_sequence_length(model: Handle, tokens: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_outputs(model: Handle, outputs: *mut u32, message: Message) -> i32;
    pub(crate) fn uform_model_normalizes(model: Handle, normalizes: *mut i32, message: Message) -> i32;
    pub(crate) fn uform_model_similarity(model: Handle, similarity: *mut i32, message: Message) -> i32;
    pub(crate) fn uform_model_instruction_set(model: Handle, set: *mut i32, message: Message) -> i32;
    pub(crate) fn uform_model_labels(model: Handle, count: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_label(model: Handle, index: u64, label: *mut *const c_char, size: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_prompts(model: Handle, count: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_prompt(model: Handle, index: u64, prompt: *mut *const c_char, size: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_warnings(model: Handle, count: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_model_warning(model: Handle, index: u64, warning: *mut *const c_char, size: *mut u64, message: Message) -> i32;

    pub(crate) fn uform_model_tokenizer(model: Handle, tokenizer: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_load(folder: *const c_char, tokenizer: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_free(tokenizer: Handle);
    pub(crate) fn uform_tokenizer_encode(tokenizer: Handle, text: *const c_char, size: u64, ids: *mut u32, capacity: u64, count: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_count(tokenizer: Handle, text: *const c_char, size: u64, count: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_decode(tokenizer: Handle, ids: *const u32, count: u64, skip_special: i32, text: *mut c_char, capacity: u64, size: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_token(tokenizer: Handle, id: u32, text: *mut *const c_char, size: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_id(tokenizer: Handle, text: *const c_char, size: u64, id: *mut i64, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_vocabulary_size(tokenizer: Handle, size: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_tokenizer_special_tokens(tokenizer: Handle, count: *mut u64, message: Message) -> i32;

    pub(crate) fn uform_arena_init(executor: Handle, arena: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_arena_free(arena: Handle);
    pub(crate) fn uform_arena_describe(arena: Handle, description: *mut Description, message: Message) -> i32;
    pub(crate) fn uform_arena_capacity(arena: Handle, bytes: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_arena_limit(arena: Handle, bytes: *mut u64, message: Message) -> i32;
    pub(crate) fn uform_arena_set_limit(arena: Handle, bytes: u64, message: Message) -> i32;
    pub(crate) fn uform_arena_reserve(arena: Handle, bytes: u64, message: Message) -> i32;
    pub(crate) fn uform_arena_trim(arena: Handle, message: Message) -> i32;
    pub(crate) fn uform_arena_detach(arena: Handle, detached: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_detached_free(detached: Handle);
    pub(crate) fn uform_detached_describe(detached: Handle, description: *mut Description, message: Message) -> i32;
    pub(crate) fn uform_detached_capacity(detached: Handle, bytes: *mut u64, message: Message) -> i32;

    pub(crate) fn uform_cancellation_init(cancellation: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_cancellation_free(cancellation: Handle);
    pub(crate) fn uform_cancellation_request(cancellation: Handle, message: Message) -> i32;
    pub(crate) fn uform_cancellation_reset(cancellation: Handle, message: Message) -> i32;

    pub(crate) fn uform_text_encode(model: Handle, executor: Handle, texts: *const Tape, outputs: u32, scalar: i32, arena: Handle, options: *const EncodeOptions, encoded: *mut Encoded, message: Message) -> i32;
    pub(crate) fn uform_text_classify(model: Handle, executor: Handle, texts: *const Tape, scalar: i32, arena: Handle, options: *const ClassifyOptions, encoded: *mut Encoded, message: Message) -> i32;
    pub(crate) fn uform_text_classify_pairs(model: Handle, executor: Handle, first: *const Tape, second: *const Tape, scalar: i32, arena: Handle, options: *const ClassifyOptions, encoded: *mut Encoded, message: Message) -> i32;
    pub(crate) fn uform_text_rerank(model: Handle, executor: Handle, queries: *const Tape, documents: *const Tape, scalar: i32, arena: Handle, options: *const ClassifyOptions, encoded: *mut Encoded, message: Message) -> i32;

    pub(crate) fn uform_text_encode_deferred(model: Handle, executor: Handle, texts: *const Tape, outputs: u32, scalar: i32, arena: Handle, options: *const EncodeOptions, deferred: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_text_classify_deferred(model: Handle, executor: Handle, texts: *const Tape, scalar: i32, arena: Handle, options: *const ClassifyOptions, deferred: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_text_classify_pairs_deferred(model: Handle, executor: Handle, first: *const Tape, second: *const Tape, scalar: i32, arena: Handle, options: *const ClassifyOptions, deferred: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_text_rerank_deferred(model: Handle, executor: Handle, queries: *const Tape, documents: *const Tape, scalar: i32, arena: Handle, options: *const ClassifyOptions, deferred: *mut Handle, message: Message) -> i32;

    pub(crate) fn uform_deferred_ready(deferred: Handle, ready: *mut i32, message: Message) -> i32;
    pub(crate) fn uform_deferred_wait_for(deferred: Handle, nanoseconds: u64, ready: *mut i32, message: Message) -> i32;
    pub(crate) fn uform_deferred_wait(deferred: Handle, encoded: *mut Encoded, pin: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_deferred_cancel(deferred: Handle, cancelled: *mut i32, message: Message) -> i32;
    pub(crate) fn uform_deferred_notify(deferred: Handle, done: extern "C" fn(*mut c_void), context: *mut c_void, message: Message) -> i32;
    pub(crate) fn uform_deferred_free(deferred: Handle);

    pub(crate) fn uform_rows_values(rows: *const Rows, scalar: i32, values: *mut *const c_void, message: Message) -> i32;
    pub(crate) fn uform_rows_row(rows: *const Rows, scalar: i32, index: u64, values: *mut *const c_void, message: Message) -> i32;
    pub(crate) fn uform_rows_copy_to(rows: *const Rows, scalar: i32, to: *mut c_void, bytes: u64, message: Message) -> i32;
    pub(crate) fn uform_rows_pin(rows: *const Rows, pin: *mut Handle, message: Message) -> i32;
    pub(crate) fn uform_rows_unpin(pin: Handle);
    pub(crate) fn uform_rows_to_dlpack(rows: *const Rows, tensor: *mut *mut c_void, message: Message) -> i32;
}
