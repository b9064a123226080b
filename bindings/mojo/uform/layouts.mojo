"""The C structures, field by field. The header freezes them, and the tests hold their sizes."""

comptime _Handle = OpaquePointer[MutUntrackedOrigin]
comptime _Nullable = OptionalPointer[NoneType, MutUntrackedOrigin]  # the layout of a `void *` that may be NULL
comptime _Text = OptionalPointer[UInt8, ImmUntrackedOrigin]  # of a `char const *` that may be NULL


struct _RawRows(ImplicitlyCopyable):
    """`uform_rows_t`."""

    var lease: _Nullable
    var epoch: UInt64
    var data: _Nullable
    var rows: UInt64
    var columns: UInt64
    var row_stride_bytes: UInt64
    var scalar: Int32
    var residency: Int32
    var device: Int32
    var reserved: Int32

    def __init__(out self):
        self.lease = None
        self.epoch = 0
        self.data = None
        self.rows = 0
        self.columns = 0
        self.row_stride_bytes = 0
        self.scalar = 0
        self.residency = 0
        self.device = 0
        self.reserved = 0


struct _RawRaggedRows(ImplicitlyCopyable):
    """`uform_ragged_rows_t`."""

    var rows: _RawRows
    var offsets: _Nullable
    var texts: UInt64

    def __init__(out self):
        self.rows = _RawRows()
        self.offsets = None
        self.texts = 0


struct _RawEncoded(ImplicitlyCopyable):
    """`uform_encoded_t`."""

    var embeddings: _RawRows
    var probabilities: _RawRows
    var states: _RawRaggedRows
    var token_vectors: _RawRaggedRows
    var token_probabilities: _RawRaggedRows
    var sparse_ids: _RawRaggedRows
    var sparse_weights: _RawRaggedRows
    var truncated_tokens: _RawRows
    var token_ids: _RawRows
    var texts: UInt64
    var outputs: UInt32
    var reserved: UInt32

    def __init__(out self):
        self.embeddings = _RawRows()
        self.probabilities = _RawRows()
        self.states = _RawRaggedRows()
        self.token_vectors = _RawRaggedRows()
        self.token_probabilities = _RawRaggedRows()
        self.sparse_ids = _RawRaggedRows()
        self.sparse_weights = _RawRaggedRows()
        self.truncated_tokens = _RawRows()
        self.token_ids = _RawRows()
        self.texts = 0
        self.outputs = 0
        self.reserved = 0


@fieldwise_init
struct _RawLoadOptions:
    """`uform_load_options_t`."""

    var size: UInt64
    var compute: Int32
    var instruction_set: Int32


@fieldwise_init
struct _RawEncodeOptions[prompt_origin: ImmOrigin]:
    """`uform_encode_options_t`."""

    var size: UInt64
    var prompt: OptionalPointer[UInt8, Self.prompt_origin]
    var prompt_size: UInt64
    var dimensions: UInt64
    var tokens_per_call: UInt64
    var truncate: Int32
    var normalize: Int32
    var role: Int32
    var reserved: Int32
    var cancellation: _Nullable


@fieldwise_init
struct _RawClassifyOptions:
    """`uform_classify_options_t`, which is `uform_rerank_options_t` too."""

    var size: UInt64
    var truncate: Int32
    var activation: Int32
    var cancellation: _Nullable
