"""What callers may choose, beside what is asked for."""

from std.memory import ArcPointer
from std.sys import size_of

from .layouts import _Handle, _Nullable, _RawClassifyOptions, _RawEncodeOptions, _RawLoadOptions
from .library import Library, _Loader
from .scalar import Scalar
from .status import Status, _Message, _check


@fieldwise_init
struct InstructionSet(Equatable, ImplicitlyCopyable):
    """The kernels of a model. On one machine and build, a set gives the same bits in every call."""

    var value: Int32
    """The `uform_instruction_set_t`."""
    comptime BEST = InstructionSet(0)
    """In options: the best that the machine has."""
    comptime PORTABLE = InstructionSet(1)
    """Of every machine."""
    comptime AVX2 = InstructionSet(2)
    """256-bit."""
    comptime AVX512 = InstructionSet(3)
    """512-bit."""


@fieldwise_init
struct Truncate(Equatable, ImplicitlyCopyable):
    """What happens to a text that is longer than the model reads."""

    var value: Int32
    """The `uform_truncate_t`."""
    comptime CUT = Truncate(0)
    """Its end is cut, and `Encoded.truncated_tokens` counts the tokens."""
    comptime REFUSE = Truncate(1)
    """The call raises `INVALID_ARGUMENT`, and nothing is touched."""


@fieldwise_init
struct Normalize(Equatable, ImplicitlyCopyable):
    """Whether embeddings and token vectors are scaled to unit length."""

    var value: Int32
    """The `uform_normalize_t`."""
    comptime AS_PUBLISHED = Normalize(0)
    """As the model says."""
    comptime ON = Normalize(1)
    """They are."""
    comptime OFF = Normalize(2)
    """They aren't."""


@fieldwise_init
struct Role(Equatable, ImplicitlyCopyable):
    """What a text is, for models that make other token vectors of queries than of documents."""

    var value: Int32
    """The `uform_role_t`."""
    comptime DOCUMENT = Role(0)
    """What is searched."""
    comptime QUERY = Role(1)
    """What is asked."""


@fieldwise_init
struct Activation(Equatable, ImplicitlyCopyable):
    """What the scores of a classifier or reranker go through."""

    var value: Int32
    """The `uform_activation_t`."""
    comptime AS_PUBLISHED = Activation(0)
    """As the model says."""
    comptime NONE = Activation(1)
    """The scores as they are."""
    comptime SIGMOID = Activation(2)
    """Each by itself: 1 / (1 + e^-x)."""
    comptime SOFTMAX = Activation(3)
    """All of a text, or of a token: they sum to 1."""


@fieldwise_init
struct _CancellationHandle(Movable):
    var handle: _Handle
    var loader: ArcPointer[_Loader]

    def __deinit__(deinit self):
        self.loader[].symbols.cancellation_free(self.handle)
        _ = self.loader^


struct Cancellation(Copyable):
    """A flag that stops calls. Copies are references: give one to the options of a call, and keep one."""

    var _shared: ArcPointer[_CancellationHandle]

    def __init__(out self, library: Library) raises Status:
        """A flag that isn't set. Calls `uform_cancellation_init`.

        Args:
            library: The loaded engine.

        Raises:
            `OUT_OF_MEMORY`.
        """
        var handle = _Nullable()
        var message = _Message()
        _check(library._loader[].symbols.cancellation_init(handle, message), message)
        self._shared = ArcPointer(_CancellationHandle(handle.value(), library._loader))

    def request(self) raises Status:
        """Sets the flag: calls that were given it stop soon, with `CANCELLED`. From any thread. Calls
        `uform_cancellation_request`.

        Raises:
            Nothing that a live flag gives cause for.
        """
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.cancellation_request(shared.handle, message), message)

    def reset(self) raises Status:
        """Takes the flag back, for the next call. Calls `uform_cancellation_reset`.

        Raises:
            Nothing that a live flag gives cause for.
        """
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.cancellation_reset(shared.handle, message), message)


comptime _KeptFlag = Optional[ArcPointer[_CancellationHandle]]


def _kept(cancellation: Optional[Cancellation]) -> _KeptFlag:
    if cancellation:
        return cancellation.value()._shared
    return None


def _flag(cancellation: Optional[Cancellation]) -> _Nullable:
    if cancellation:
        return cancellation.value()._shared[].handle
    return None


struct LoadOptions(Copyable):
    """How a folder is loaded."""

    var compute: Scalar
    """What the encoder computes in: `F32` in this version."""
    var instruction_set: InstructionSet
    """One that the machine lacks is `UNSUPPORTED`. Vectors of different sets differ in their last bits: name one where
    machines share an index."""

    def __init__(
        out self, *, compute: Scalar = Scalar.F32, instruction_set: InstructionSet = InstructionSet.BEST
    ):
        """The defaults, but for what is named.

        Args:
            compute: What the encoder computes in.
            instruction_set: The kernels.
        """
        self.compute = compute
        self.instruction_set = instruction_set

    def _raw(self) -> _RawLoadOptions:
        return {UInt64(size_of[_RawLoadOptions]()), self.compute.value, self.instruction_set.value}


struct EncodeOptions(Copyable):
    """How texts are encoded, beside what is asked for."""

    var prompt: String
    """The name of one of `Model.prompts`; empty: the folder's default, if it has one."""
    var truncate: Truncate
    """For texts longer than `Model.max_sequence_length`."""
    var dimensions: Int
    """Columns of the embeddings; 0: the model's. Fewer cut each vector before it is normalised."""
    var tokens_per_call: Int
    """The most tokens computed at once, on all threads together; 0: no such limit."""
    var normalize: Normalize
    """Of embeddings and token vectors."""
    var role: Role
    """What the texts are."""
    var cancellation: Optional[Cancellation]
    """What stops the call."""

    def __init__(
        out self,
        *,
        prompt: String = "",
        truncate: Truncate = Truncate.CUT,
        dimensions: Int = 0,
        tokens_per_call: Int = 0,
        normalize: Normalize = Normalize.AS_PUBLISHED,
        role: Role = Role.DOCUMENT,
        cancellation: Optional[Cancellation] = None,
    ):
        """The defaults, but for what is named.

        Args:
            prompt: The name of a prompt.
            truncate: What happens to long texts.
            dimensions: Columns of the embeddings.
            tokens_per_call: The most tokens computed at once.
            normalize: Whether vectors are scaled to unit length.
            role: What the texts are.
            cancellation: What stops the call.
        """
        self.prompt = prompt
        self.truncate = truncate
        self.dimensions = dimensions
        self.tokens_per_call = tokens_per_call
        self.normalize = normalize
        self.role = role
        self.cancellation = cancellation.copy()

    def _raw(self) raises Status -> _RawEncodeOptions[origin_of(self.prompt)]:
        # A number below 0 would be a huge one in C, and as `tokens_per_call` it would pass for no limit.
        if self.dimensions < 0:
            raise Status(Status.INVALID_ARGUMENT.code, String("options.dimensions: ", self.dimensions, " is below 0"))
        if self.tokens_per_call < 0:
            raise Status(
                Status.INVALID_ARGUMENT.code, String("options.tokens_per_call: ", self.tokens_per_call, " is below 0")
            )
        var prompt = OptionalPointer[UInt8, origin_of(self.prompt)]()
        if self.prompt.byte_length():
            prompt = self.prompt.unsafe_ptr()
        return {
            UInt64(size_of[_RawEncodeOptions[ImmStaticOrigin]]()),
            prompt,
            UInt64(self.prompt.byte_length()),
            UInt64(self.dimensions),
            UInt64(self.tokens_per_call),
            self.truncate.value,
            self.normalize.value,
            self.role.value,
            0,
            _flag(self.cancellation),
        }


struct ClassifyOptions(Copyable):
    """How texts, or pairs of texts, are classified or ranked."""

    var truncate: Truncate
    """For texts longer than `Model.max_sequence_length`; of a pair the longer is cut first."""
    var activation: Activation
    """What the scores go through."""
    var cancellation: Optional[Cancellation]
    """What stops the call."""

    def __init__(
        out self,
        *,
        truncate: Truncate = Truncate.CUT,
        activation: Activation = Activation.AS_PUBLISHED,
        cancellation: Optional[Cancellation] = None,
    ):
        """The defaults, but for what is named.

        Args:
            truncate: What happens to long texts.
            activation: What the scores go through.
            cancellation: What stops the call.
        """
        self.truncate = truncate
        self.activation = activation
        self.cancellation = cancellation.copy()

    def _raw(self) -> _RawClassifyOptions:
        return {
            UInt64(size_of[_RawClassifyOptions]()),
            self.truncate.value,
            self.activation.value,
            _flag(self.cancellation),
        }


comptime RerankOptions = ClassifyOptions
"""How pairs are ranked: the options of a classifier."""
