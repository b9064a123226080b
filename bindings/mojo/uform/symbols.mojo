"""The functions of the C interface, each looked up once."""

from std.ffi import OwnedDLHandle, c_char

from .layouts import (
    _Handle,
    _Nullable,
    _RawClassifyOptions,
    _RawEncodeOptions,
    _RawEncoded,
    _RawLoadOptions,
    _RawRaggedRows,
    _RawRows,
    _Text,
)
from .residency import ArenaDescription
from .status import Status, _Message
from .tape import TapeView

comptime _ABI_VERSION: UInt32 = 0  # the number in the soname

# Out-parameters are `mut`, and structures go in by a pointer whose origin is a parameter of the function type: both are
# plain pointers in C, and the compiler knows what the call reads and writes. Given a pointer of an untracked origin
# instead, it reads the old value back at -O3.
comptime _Free = def(_Handle) thin abi("C") -> None
comptime _Count = def(_Handle, mut UInt64, mut _Message) thin abi("C") -> Int32
comptime _Number = def(_Handle, mut Int32, mut _Message) thin abi("C") -> Int32
comptime _Make = def(_Handle, mut _Nullable, mut _Message) thin abi("C") -> Int32
comptime _Act = def(_Handle, mut _Message) thin abi("C") -> Int32
comptime _Describe = def(_Handle, mut ArenaDescription, mut _Message) thin abi("C") -> Int32
comptime _TextAt = def(_Handle, UInt64, mut _Text, mut UInt64, mut _Message) thin abi("C") -> Int32
# Model, executor, texts, outputs, scalar, arena, options; then what comes out.
comptime _Encode[Out: AnyType] = def[t: ImmOrigin, b: ImmOrigin, o: ImmOrigin, q: ImmOrigin, p: ImmOrigin](
    _Handle,
    _Nullable,
    Pointer[TapeView[b, o], t],
    UInt32,
    Int32,
    _Handle,
    Pointer[_RawEncodeOptions[p], q],
    mut Out,
    mut _Message,
) thin abi("C") -> Int32
comptime _Classify[Out: AnyType] = def[t: ImmOrigin, b: ImmOrigin, o: ImmOrigin, q: ImmOrigin](
    _Handle,
    _Nullable,
    Pointer[TapeView[b, o], t],
    Int32,
    _Handle,
    Pointer[_RawClassifyOptions, q],
    mut Out,
    mut _Message,
) thin abi("C") -> Int32
comptime _Pairs[Out: AnyType] = def[
    t: ImmOrigin, b: ImmOrigin, o: ImmOrigin, t2: ImmOrigin, b2: ImmOrigin, o2: ImmOrigin, q: ImmOrigin
](
    _Handle,
    _Nullable,
    Pointer[TapeView[b, o], t],
    Pointer[TapeView[b2, o2], t2],
    Int32,
    _Handle,
    Pointer[_RawClassifyOptions, q],
    mut Out,
    mut _Message,
) thin abi("C") -> Int32


def _resolve[F: TrivialRegisterPassable](library: OwnedDLHandle, path: String, name: String) raises Status -> F:
    var address = library.get_symbol[NoneType](name)
    if not address:
        raise Status(
            Status.UNSUPPORTED.code, String(path, ": it has no function ", name, ", which this package calls")
        )
    var word = address.value()
    return Pointer(to=word).unsafe_bitcast[F]()[]  # reinterprets the word itself


struct _Symbols(Movable):
    """Every function that this package calls."""

    var abi_version: def() thin abi("C") -> UInt32
    var executor_init_ram: def(UInt64, mut _Nullable, mut _Message) thin abi("C") -> Int32
    var executor_init_vram: def(UInt32, mut _Nullable, mut _Message) thin abi("C") -> Int32
    var executor_free: _Free
    var executor_describe: _Describe
    var executor_threads: _Count
    var executor_stream: _Make
    var model_load: def[p: ImmOrigin, q: ImmOrigin](
        Pointer[c_char, p], Pointer[_RawLoadOptions, q], mut _Nullable, mut _Message
    ) thin abi("C") -> Int32
    var model_free: _Free
    var model_dimensions: _Count
    var model_hidden_size: _Count
    var model_layers: _Count
    var model_max_sequence_length: _Count
    var model_outputs: def(_Handle, mut UInt32, mut _Message) thin abi("C") -> Int32
    var model_normalizes: _Number
    var model_similarity: _Number
    var model_instruction_set: _Number
    var model_labels: _Count
    var model_label: _TextAt
    var model_prompts: _Count
    var model_prompt: _TextAt
    var model_warnings: _Count
    var model_warning: _TextAt
    var model_tokenizer: _Make
    var tokenizer_load: def[p: ImmOrigin](Pointer[c_char, p], mut _Nullable, mut _Message) thin abi("C") -> Int32
    var tokenizer_free: _Free
    var tokenizer_encode: def[t: ImmOrigin, i: MutOrigin](
        _Handle, Pointer[UInt8, t], UInt64, Pointer[UInt32, i], UInt64, mut UInt64, mut _Message
    ) thin abi("C") -> Int32
    var tokenizer_count: def[t: ImmOrigin](
        _Handle, Pointer[UInt8, t], UInt64, mut UInt64, mut _Message
    ) thin abi("C") -> Int32
    var tokenizer_decode: def[i: ImmOrigin, t: MutOrigin](
        _Handle, Pointer[UInt32, i], UInt64, Int32, Pointer[UInt8, t], UInt64, mut UInt64, mut _Message
    ) thin abi("C") -> Int32
    var tokenizer_token: def(_Handle, UInt32, mut _Text, mut UInt64, mut _Message) thin abi("C") -> Int32
    var tokenizer_id: def[t: ImmOrigin](
        _Handle, Pointer[UInt8, t], UInt64, mut Int64, mut _Message
    ) thin abi("C") -> Int32
    var tokenizer_vocabulary_size: _Count
    var tokenizer_special_tokens: _Count
    var arena_init: def(_Nullable, mut _Nullable, mut _Message) thin abi("C") -> Int32
    var arena_free: _Free
    var arena_describe: _Describe
    var arena_capacity: _Count
    var arena_limit: _Count
    var arena_set_limit: def(_Handle, UInt64, mut _Message) thin abi("C") -> Int32
    var arena_reserve: def(_Handle, UInt64, mut _Message) thin abi("C") -> Int32
    var arena_trim: _Act
    var cancellation_init: def(mut _Nullable, mut _Message) thin abi("C") -> Int32
    var cancellation_free: _Free
    var cancellation_request: _Act
    var cancellation_reset: _Act
    var text_encode: _Encode[_RawEncoded]
    var text_classify: _Classify[_RawEncoded]
    var text_classify_pairs: _Pairs[_RawEncoded]
    var text_rerank: _Pairs[_RawEncoded]
    var text_encode_deferred: _Encode[_Nullable]
    var text_classify_deferred: _Classify[_Nullable]
    var text_classify_pairs_deferred: _Pairs[_Nullable]
    var text_rerank_deferred: _Pairs[_Nullable]
    var deferred_ready: _Number
    var deferred_wait_for: def(_Handle, UInt64, mut Int32, mut _Message) thin abi("C") -> Int32
    var deferred_wait: def(_Handle, mut _RawEncoded, _Nullable, mut _Message) thin abi("C") -> Int32
    var deferred_cancel: _Number
    var deferred_free: _Free
    var rows_values: def[r: ImmOrigin](Pointer[_RawRows, r], Int32, mut _Nullable, mut _Message) thin abi("C") -> Int32
    var rows_row: def[r: ImmOrigin](
        Pointer[_RawRows, r], Int32, UInt64, mut _Nullable, mut _Message
    ) thin abi("C") -> Int32
    var rows_copy_to: def[r: ImmOrigin, t: MutOrigin](
        Pointer[_RawRows, r], Int32, Pointer[NoneType, t], UInt64, mut _Message
    ) thin abi("C") -> Int32
    var rows_is_current: def[r: ImmOrigin](Pointer[_RawRows, r], mut Int32, mut _Message) thin abi("C") -> Int32
    var rows_stream_wait: def[r: ImmOrigin](Pointer[_RawRows, r], _Handle, mut _Message) thin abi("C") -> Int32
    var rows_pin: def[r: ImmOrigin](Pointer[_RawRows, r], mut _Nullable, mut _Message) thin abi("C") -> Int32
    var rows_unpin: _Free
    var ragged_rows_at: def[r: ImmOrigin](
        Pointer[_RawRaggedRows, r], UInt64, mut _RawRows, mut _Message
    ) thin abi("C") -> Int32
    var ragged_rows_offsets: def[r: ImmOrigin](
        Pointer[_RawRaggedRows, r], mut _Nullable, mut _Message
    ) thin abi("C") -> Int32

    def __init__(out self, library: OwnedDLHandle, path: String) raises Status:
        self.abi_version = _resolve[type_of(self.abi_version)](library, path, "uform_abi_version")
        var version = self.abi_version()
        if version != _ABI_VERSION:
            raise Status(
                Status.UNSUPPORTED.code,
                String(path, ": its interface has version ", version, ", and this package needs ", _ABI_VERSION),
            )
        self.executor_init_ram = _resolve[type_of(self.executor_init_ram)](library, path, "uform_executor_init_ram")
        self.executor_init_vram = _resolve[type_of(self.executor_init_vram)](library, path, "uform_executor_init_vram")
        self.executor_free = _resolve[type_of(self.executor_free)](library, path, "uform_executor_free")
        self.executor_describe = _resolve[type_of(self.executor_describe)](library, path, "uform_executor_describe")
        self.executor_threads = _resolve[type_of(self.executor_threads)](library, path, "uform_executor_threads")
        self.executor_stream = _resolve[type_of(self.executor_stream)](library, path, "uform_executor_stream")
        self.model_load = _resolve[type_of(self.model_load)](library, path, "uform_model_load")
        self.model_free = _resolve[type_of(self.model_free)](library, path, "uform_model_free")
        self.model_dimensions = _resolve[type_of(self.model_dimensions)](library, path, "uform_model_dimensions")
        self.model_hidden_size = _resolve[type_of(self.model_hidden_size)](library, path, "uform_model_hidden_size")
        self.model_layers = _resolve[type_of(self.model_layers)](library, path, "uform_model_layers")
        self.model_max_sequence_length = _resolve[type_of(self.model_max_sequence_length)](
            library, path, "uform_model_max_sequence_length"
        )
        self.model_outputs = _resolve[type_of(self.model_outputs)](library, path, "uform_model_outputs")
        self.model_normalizes = _resolve[type_of(self.model_normalizes)](library, path, "uform_model_normalizes")
        self.model_similarity = _resolve[type_of(self.model_similarity)](library, path, "uform_model_similarity")
        self.model_instruction_set = _resolve[type_of(self.model_instruction_set)](
            library, path, "uform_model_instruction_set"
        )
        self.model_labels = _resolve[type_of(self.model_labels)](library, path, "uform_model_labels")
        self.model_label = _resolve[type_of(self.model_label)](library, path, "uform_model_label")
        self.model_prompts = _resolve[type_of(self.model_prompts)](library, path, "uform_model_prompts")
        self.model_prompt = _resolve[type_of(self.model_prompt)](library, path, "uform_model_prompt")
        self.model_warnings = _resolve[type_of(self.model_warnings)](library, path, "uform_model_warnings")
        self.model_warning = _resolve[type_of(self.model_warning)](library, path, "uform_model_warning")
        self.model_tokenizer = _resolve[type_of(self.model_tokenizer)](library, path, "uform_model_tokenizer")
        self.tokenizer_load = _resolve[type_of(self.tokenizer_load)](library, path, "uform_tokenizer_load")
        self.tokenizer_free = _resolve[type_of(self.tokenizer_free)](library, path, "uform_tokenizer_free")
        self.tokenizer_encode = _resolve[type_of(self.tokenizer_encode)](library, path, "uform_tokenizer_encode")
        self.tokenizer_count = _resolve[type_of(self.tokenizer_count)](library, path, "uform_tokenizer_count")
        self.tokenizer_decode = _resolve[type_of(self.tokenizer_decode)](library, path, "uform_tokenizer_decode")
        self.tokenizer_token = _resolve[type_of(self.tokenizer_token)](library, path, "uform_tokenizer_token")
        self.tokenizer_id = _resolve[type_of(self.tokenizer_id)](library, path, "uform_tokenizer_id")
        self.tokenizer_vocabulary_size = _resolve[type_of(self.tokenizer_vocabulary_size)](
            library, path, "uform_tokenizer_vocabulary_size"
        )
        self.tokenizer_special_tokens = _resolve[type_of(self.tokenizer_special_tokens)](
            library, path, "uform_tokenizer_special_tokens"
        )
        self.arena_init = _resolve[type_of(self.arena_init)](library, path, "uform_arena_init")
        self.arena_free = _resolve[type_of(self.arena_free)](library, path, "uform_arena_free")
        self.arena_describe = _resolve[type_of(self.arena_describe)](library, path, "uform_arena_describe")
        self.arena_capacity = _resolve[type_of(self.arena_capacity)](library, path, "uform_arena_capacity")
        self.arena_limit = _resolve[type_of(self.arena_limit)](library, path, "uform_arena_limit")
        self.arena_set_limit = _resolve[type_of(self.arena_set_limit)](library, path, "uform_arena_set_limit")
        self.arena_reserve = _resolve[type_of(self.arena_reserve)](library, path, "uform_arena_reserve")
        self.arena_trim = _resolve[type_of(self.arena_trim)](library, path, "uform_arena_trim")
        self.cancellation_init = _resolve[type_of(self.cancellation_init)](library, path, "uform_cancellation_init")
        self.cancellation_free = _resolve[type_of(self.cancellation_free)](library, path, "uform_cancellation_free")
        self.cancellation_request = _resolve[type_of(self.cancellation_request)](
            library, path, "uform_cancellation_request"
        )
        self.cancellation_reset = _resolve[type_of(self.cancellation_reset)](library, path, "uform_cancellation_reset")
        self.text_encode = _resolve[type_of(self.text_encode)](library, path, "uform_text_encode")
        self.text_classify = _resolve[type_of(self.text_classify)](library, path, "uform_text_classify")
        self.text_classify_pairs = _resolve[type_of(self.text_classify_pairs)](
            library, path, "uform_text_classify_pairs"
        )
        self.text_rerank = _resolve[type_of(self.text_rerank)](library, path, "uform_text_rerank")
        self.text_encode_deferred = _resolve[type_of(self.text_encode_deferred)](
            library, path, "uform_text_encode_deferred"
        )
        self.text_classify_deferred = _resolve[type_of(self.text_classify_deferred)](
            library, path, "uform_text_classify_deferred"
        )
        self.text_classify_pairs_deferred = _resolve[type_of(self.text_classify_pairs_deferred)](
            library, path, "uform_text_classify_pairs_deferred"
        )
        self.text_rerank_deferred = _resolve[type_of(self.text_rerank_deferred)](
            library, path, "uform_text_rerank_deferred"
        )
        self.deferred_ready = _resolve[type_of(self.deferred_ready)](library, path, "uform_deferred_ready")
        self.deferred_wait_for = _resolve[type_of(self.deferred_wait_for)](library, path, "uform_deferred_wait_for")
        self.deferred_wait = _resolve[type_of(self.deferred_wait)](library, path, "uform_deferred_wait")
        self.deferred_cancel = _resolve[type_of(self.deferred_cancel)](library, path, "uform_deferred_cancel")
        self.deferred_free = _resolve[type_of(self.deferred_free)](library, path, "uform_deferred_free")
        self.rows_values = _resolve[type_of(self.rows_values)](library, path, "uform_rows_values")
        self.rows_row = _resolve[type_of(self.rows_row)](library, path, "uform_rows_row")
        self.rows_copy_to = _resolve[type_of(self.rows_copy_to)](library, path, "uform_rows_copy_to")
        self.rows_is_current = _resolve[type_of(self.rows_is_current)](library, path, "uform_rows_is_current")
        self.rows_stream_wait = _resolve[type_of(self.rows_stream_wait)](library, path, "uform_rows_stream_wait")
        self.rows_pin = _resolve[type_of(self.rows_pin)](library, path, "uform_rows_pin")
        self.rows_unpin = _resolve[type_of(self.rows_unpin)](library, path, "uform_rows_unpin")
        self.ragged_rows_at = _resolve[type_of(self.ragged_rows_at)](library, path, "uform_ragged_rows_at")
        self.ragged_rows_offsets = _resolve[type_of(self.ragged_rows_offsets)](
            library, path, "uform_ragged_rows_offsets"
        )
