"""What a verb answers: views over an arena, checked when they are read."""

from std.memory import ArcPointer
from std.sys import size_of

from .layouts import _Handle, _Nullable, _RawEncoded, _RawRaggedRows, _RawRows
from .library import _Loader
from .outputs import Outputs
from .residency import Residency
from .scalar import Scalar
from .status import Status, _Message, _check

comptime _InteriorOf[arena: ImmOrigin] = ImmOrigin(arena._get_owned_interior["outputs"])
"""The origin of spans into an arena: any later `mut` use of that arena ends it at compile time.

The two underscored names, here and in `_span`, are the only experimental ones in this package. With
`comptime _InteriorOf[arena: ImmOrigin] = arena`, and `unsafe_origin_cast[arena]` in `_span`, it has the same interface
without that refusal at compile time.
"""


@always_inline
def _span[T: AnyType, arena: ImmOrigin](data: _Nullable, length: UInt64) -> Span[T, _InteriorOf[arena]]:
    var first = Pointer[T, MutUntrackedOrigin].unsafe_dangling()  # a span is never null, even an empty one
    if data:
        first = data.value().unsafe_bitcast[T]()
    return Span(
        unsafe_ptr=Pointer(to=first.as_imm()._get_ref_with_unsafe_interior_origin["outputs", arena]()),
        length=Int(length) if data else 0,
    )


@always_inline
def _check_rows(rows: _RawRows, code: Int32, message: _Message) raises Status:
    """As `_check`, of a read of rows. Empty ones have one cause here: a call that fails has no result."""
    if code != 0:
        if not rows.lease:
            raise Status(Status.INVALID_ARGUMENT.code, "the call was not asked for these rows")
        _check(code, message)


struct Encoded[origin: ImmOrigin](ImplicitlyCopyable):
    """The outputs of one call, of which each is there only if it was asked for: else it has no columns, and reading it
    raises `INVALID_ARGUMENT`. They keep their arena alive, and refuse every read once a later call rewound it.

    Parameters:
        origin: The arena's origin.
    """

    var embeddings: Rows[Self.origin]
    """[texts, dimensions]: one vector a text."""
    var probabilities: Rows[Self.origin]
    """[texts, labels] of a classifier, [pairs, 1] of a reranker."""
    var states: RaggedRows[Self.origin]
    """[tokens, hidden]: of every token, special ones included."""
    var token_vectors: RaggedRows[Self.origin]
    """[tokens that count, dimensions]: what late interaction compares."""
    var token_probabilities: RaggedRows[Self.origin]
    """[tokens, labels] of a token classifier, special tokens included."""
    var sparse_ids: RaggedRows[Self.origin]
    """[entries, 1] of `U32`, rising within a text: those whose weight isn't 0."""
    var sparse_weights: RaggedRows[Self.origin]
    """[entries, 1]: the weight of each id, above 0."""
    var _truncated_tokens: Rows[Self.origin]
    var _token_ids: Rows[Self.origin]
    var _texts: UInt64
    var _outputs: Outputs

    @doc_hidden
    def __init__(out self, loader: ArcPointer[_Loader], raw: _RawEncoded):
        self.embeddings = {loader, raw.embeddings}
        self.probabilities = {loader, raw.probabilities}
        self.states = {loader, raw.states}
        self.token_vectors = {loader, raw.token_vectors}
        self.token_probabilities = {loader, raw.token_probabilities}
        self.sparse_ids = {loader, raw.sparse_ids}
        self.sparse_weights = {loader, raw.sparse_weights}
        self._truncated_tokens = {loader, raw.truncated_tokens}
        self._token_ids = {loader, raw.token_ids}
        self._texts = raw.texts
        self._outputs = Outputs(raw.outputs)

    def texts(self) -> Int:
        """The number of texts, or pairs, of the call.

        Returns:
            Texts.
        """
        return Int(self._texts)

    def outputs(self) -> Outputs:
        """What the call was asked for.

        Returns:
            The outputs.
        """
        return self._outputs

    def truncated_tokens(self) raises Status -> Span[UInt32, _InteriorOf[Self.origin]]:
        """How many tokens were cut from each text, [texts].

        Returns:
            A span over the arena. Using it after a later call on the arena doesn't compile.

        Raises:
            `INVALID_ARGUMENT` if the result is stale.
        """
        return self._truncated_tokens.values[DType.uint32]()

    def token_ids(self) raises Status -> Span[UInt32, _InteriorOf[Self.origin]]:
        """The id of each row of states, or of token probabilities, [tokens].

        Returns:
            A span over the arena. Using it after a later call on the arena doesn't compile.

        Raises:
            `INVALID_ARGUMENT` if the result is stale, or has neither.
        """
        return self._token_ids.values[DType.uint32]()

    def pin(self) raises Status -> Pin:
        """Holds the whole result: see `Pin`. Calls `uform_rows_pin`.

        Returns:
            The pin.

        Raises:
            `INVALID_ARGUMENT` if the result is stale, `CONTENDED` at 4,094 pins.
        """
        return self._truncated_tokens.pin()


struct Rows[origin: ImmOrigin](ImplicitlyCopyable, Sized):
    """Rows in an arena, [rows, columns], row-major. Shapes may be read always, values while they are current.

    Parameters:
        origin: The arena's origin.
    """

    var _raw: _RawRows
    var _loader: ArcPointer[_Loader]

    @doc_hidden
    def __init__(out self, loader: ArcPointer[_Loader], raw: _RawRows):
        self._raw = raw
        self._loader = loader

    def __len__(self) -> Int:
        """The number of rows.

        Returns:
            Rows.
        """
        return Int(self._raw.rows)

    def columns(self) -> Int:
        """The number of scalars in a row, of `B1` of bits.

        Returns:
            Columns; 0 if the call was not asked for these rows.
        """
        return Int(self._raw.columns)

    def row_stride_bytes(self) -> Int:
        """From one row to the next: a verb's rows are tight.

        Returns:
            Bytes.
        """
        return Int(self._raw.row_stride_bytes)

    def scalar(self) -> Scalar:
        """What one element is.

        Returns:
            The scalar that the call was asked for.
        """
        return Scalar(self._raw.scalar)

    def residency(self) -> Residency:
        """Which memory the rows lie in.

        Returns:
            `RAM` or `VRAM`.
        """
        return Residency(self._raw.residency)

    def is_current(self) -> Bool:
        """Whether the rows may be read now, on the host or the device. Calls `uform_rows_is_current`.

        Returns:
            False once a later call rewound their arena, or it was freed.
        """
        var is_current = Int32(0)
        var message = _Message()
        _ = self._loader[].symbols.rows_is_current(Pointer(to=self._raw), is_current, message)
        return is_current != 0

    @always_inline
    def values[dtype: DType](self) raises Status -> Span[SIMD[dtype, 1], _InteriorOf[Self.origin]]:
        """All values, row after row, without a copy. Calls `uform_rows_values`, which costs one atomic load.

        Parameters:
            dtype: What the call wrote: `Scalar.of` names its scalar.

        Returns:
            A span over the arena. Using it after a later call on the arena doesn't compile.

        Raises:
            `INVALID_ARGUMENT` if a later call rewound the arena, or the call was not asked for these rows or wrote
            another scalar; `DEVICE` for device memory.
        """
        comptime scalar = Scalar.of[dtype]()
        return _span[SIMD[dtype, 1], Self.origin](self._address(scalar), self._raw.rows * self._raw.columns)

    def bits(self) raises Status -> Span[UInt8, _InteriorOf[Self.origin]]:
        """The bytes of rows of `Scalar.B1`, eight elements in each: `row_stride_bytes` bytes a row, without a copy.
        Calls `uform_rows_values`.

        Returns:
            A span over the arena. Using it after a later call on the arena doesn't compile.

        Raises:
            As `values`.
        """
        return _span[UInt8, Self.origin](self._address(Scalar.B1), self._raw.rows * self._raw.row_stride_bytes)

    def row[dtype: DType](self, index: Int) raises Status -> Span[SIMD[dtype, 1], _InteriorOf[Self.origin]]:
        """One row, without a copy. Calls `uform_rows_row`.

        Parameters:
            dtype: What the call wrote.

        Args:
            index: Which row.

        Returns:
            A span over the arena. Using it after a later call on the arena doesn't compile.

        Raises:
            As `values`; also `INVALID_ARGUMENT` for an index past the end, or below 0.
        """
        comptime scalar = Scalar.of[dtype]()
        var data = _Nullable()
        var message = _Message()
        # An index below 0 is huge as the C interface reads it.
        _check_rows(
            self._raw,
            self._loader[].symbols.rows_row(Pointer(to=self._raw), scalar.value, UInt64(index), data, message),
            message,
        )
        return _span[SIMD[dtype, 1], Self.origin](data, self._raw.columns)

    def copy_to[dtype: DType](self, mut to: List[SIMD[dtype, 1]]) raises Status:
        """Copies all rows, tight, to a list, which gets as many elements. Of a device it waits for the first stream.
        Calls `uform_rows_copy_to`.

        Parameters:
            dtype: What the call wrote.

        Args:
            to: The list; its elements are overwritten, and its memory is kept if it is enough.

        Raises:
            As `values`, but for device memory; of a device `DEVICE` for the driver's failures, `OUT_OF_MEMORY`, and
            `CONTENDED` at 4,094 pins.
        """
        comptime scalar = Scalar.of[dtype]()
        var count = Int(self._raw.rows * self._raw.columns)
        to.resize(count, 0)
        var message = _Message()
        _check_rows(
            self._raw,
            self._loader[].symbols.rows_copy_to(
                Pointer(to=self._raw),
                scalar.value,
                to.unsafe_ptr().unsafe_bitcast[NoneType](),
                UInt64(count * size_of[SIMD[dtype, 1]]()),
                message,
            ),
            message,
        )

    def stream_wait(self, stream: OpaquePointer[MutUntrackedOrigin]) raises Status:
        """Makes a stream of the caller's wait until device rows are there, without waiting itself. Calls
        `uform_rows_stream_wait`.

        Args:
            stream: The caller's `cudaStream_t`.

        Raises:
            `INVALID_ARGUMENT`, also for rows in host memory; `CONTENDED` at 4,094 pins; `DEVICE`; `OUT_OF_MEMORY`.
        """
        var message = _Message()
        _check_rows(
            self._raw, self._loader[].symbols.rows_stream_wait(Pointer(to=self._raw), stream, message), message
        )

    def pin(self) raises Status -> Pin:
        """Holds the whole result that the rows are of: see `Pin`. Calls `uform_rows_pin`.

        Returns:
            The pin.

        Raises:
            `INVALID_ARGUMENT` if the rows are stale or were not asked for, `CONTENDED` at 4,094 pins.
        """
        var handle = _Nullable()
        var message = _Message()
        _check_rows(self._raw, self._loader[].symbols.rows_pin(Pointer(to=self._raw), handle, message), message)
        return {handle.value(), self._loader}

    def unsafe_ptr(self) -> OptionalPointer[NoneType, Self.origin]:
        """The address of the first row, host or device, for another library: unchecked, but it keeps the arena alive.

        Returns:
            The address, or nothing if there are no rows.
        """
        if not self._raw.data:
            return None
        return self._raw.data.value().as_imm().unsafe_origin_cast[Self.origin]()

    @always_inline
    def _address(self, scalar: Scalar) raises Status -> _Nullable:
        var data = _Nullable()
        var message = _Message()
        _check_rows(
            self._raw, self._loader[].symbols.rows_values(Pointer(to=self._raw), scalar.value, data, message), message
        )
        return data


struct RaggedRows[origin: ImmOrigin](ImplicitlyCopyable, Sized):
    """The rows of all texts end to end, with the offsets that part them.

    Parameters:
        origin: The arena's origin.
    """

    var _raw: _RawRaggedRows
    var _loader: ArcPointer[_Loader]

    @doc_hidden
    def __init__(out self, loader: ArcPointer[_Loader], raw: _RawRaggedRows):
        self._raw = raw
        self._loader = loader

    def __len__(self) -> Int:
        """The number of texts.

        Returns:
            Texts.
        """
        return Int(self._raw.texts)

    def flat(self) -> Rows[Self.origin]:
        """The rows of all texts.

        Returns:
            [offsets[texts], columns].
        """
        return {self._loader, self._raw.rows}

    def at(self, text: Int) raises Status -> Rows[Self.origin]:
        """The rows of one text. Calls `uform_ragged_rows_at`.

        Args:
            text: Which text.

        Returns:
            Its rows.

        Raises:
            `INVALID_ARGUMENT` if the rows are stale or were not asked for, or for a text past the end, or below 0.
        """
        var part = _RawRows()
        var message = _Message()
        # A text below 0 is huge as the C interface reads it.
        _check_rows(
            self._raw.rows,
            self._loader[].symbols.ragged_rows_at(Pointer(to=self._raw), UInt64(text), part, message), message
        )
        return {self._loader, part}

    def offsets(self) raises Status -> Span[UInt32, _InteriorOf[Self.origin]]:
        """Where each text's rows start, and where the last one's end, [texts + 1], in host memory for host and device
        rows. Calls `uform_ragged_rows_offsets`.

        Returns:
            A span over the arena. Using it after a later call on the arena doesn't compile.

        Raises:
            `INVALID_ARGUMENT` if the rows are stale or were not asked for.
        """
        var data = _Nullable()
        var message = _Message()
        _check_rows(
            self._raw.rows, self._loader[].symbols.ragged_rows_offsets(Pointer(to=self._raw), data, message), message
        )
        return _span[UInt32, Self.origin](data, self._raw.texts + 1)

    def pin(self) raises Status -> Pin:
        """Holds the whole result that the rows are of: see `Pin`. Calls `uform_rows_pin`.

        Returns:
            The pin.

        Raises:
            `INVALID_ARGUMENT` if the rows are stale or were not asked for, `CONTENDED` at 4,094 pins.
        """
        return self.flat().pin()


struct Pin:
    """While it lives, a call that would rewind its arena raises `CONTENDED`, and the bytes stay, also when the arena is
    freed. Mojo destroys it after its last mention: end with `_ = pin^` where it shall last."""

    var _handle: _Handle
    var _loader: ArcPointer[_Loader]

    @doc_hidden
    def __init__(out self, handle: _Handle, loader: ArcPointer[_Loader]):
        self._handle = handle
        self._loader = loader

    def __deinit__(deinit self):
        """Lets go. Calls `uform_rows_unpin`."""
        self._loader[].symbols.rows_unpin(self._handle)
        _ = self._loader^
