"""Models, and the verbs that they serve."""

from std.memory import ArcPointer

from .arena import Arena
from .deferred import Deferred
from .executor import Executor, _ExecutorHandle
from .layouts import _Handle, _Nullable, _RawEncoded, _Text
from .library import Library, _Loader
from .options import ClassifyOptions, EncodeOptions, InstructionSet, LoadOptions, RerankOptions, _kept
from .outputs import Outputs
from .results import Encoded
from .scalar import Scalar
from .status import Status, _Message, _check
from .symbols import _Count, _TextAt
from .tape import TapeView
from .tokenizer import Tokenizer, _copied


@fieldwise_init
struct Similarity(Equatable, ImplicitlyCopyable):
    """How two embeddings of a model are meant to be compared."""

    var value: Int32
    """The `uform_similarity_t`."""
    comptime COSINE = Similarity(0)
    """The cosine of their angle."""
    comptime DOT = Similarity(1)
    """Their dot product."""
    comptime EUCLIDEAN = Similarity(2)
    """Their distance."""
    comptime MANHATTAN = Similarity(3)
    """The sum of their absolute differences."""
    comptime MAX_SIM = Similarity(4)
    """For each vector of a query the largest dot product with one of the document's, summed."""
    comptime MEAN_MAX_SIM = Similarity(5)
    """That, over the number of the query's vectors."""


@fieldwise_init
struct _ModelHandle(Movable):
    var handle: _Handle
    var loader: ArcPointer[_Loader]

    def __deinit__(deinit self):
        self.loader[].symbols.model_free(self.handle)
        _ = self.loader^


struct Model(Copyable):
    """A folder of weights, loaded once. Copies are references. Its verbs compute on the calling thread; `on` gives
    those of an executor.

    A text's rows are the same bits alone, beside any other text and on any number of threads.
    """

    var _shared: ArcPointer[_ModelHandle]

    def __init__(out self, library: Library, folder: String, options: LoadOptions = LoadOptions()) raises Status:
        """Loads a folder as sentence-transformers or transformers publish it. Calls `uform_model_load`.

        Args:
            library: The loaded engine.
            folder: Its path.
            options: How to load it.

        Raises:
            `IO` for a file that isn't there or can't be read; `CORRUPT` for a damaged or contradictory one;
            `UNSUPPORTED` for an architecture, module, tokenizer or option that this version doesn't serve;
            `OUT_OF_MEMORY`; `INVALID_ARGUMENT` for an empty path.
        """
        var handle = _Nullable()
        var message = _Message()
        var raw = options._raw()
        var path = folder  # `as_c_string_span` may add the terminating zero, so it takes a mutable string
        var code = library._loader[].symbols.model_load(
            path.as_c_string_span().ptr(), Pointer(to=raw), handle, message
        )
        _check(code, message)
        self._shared = ArcPointer(_ModelHandle(handle.value(), library._loader))

    @staticmethod
    def load(library: Library, folder: String, options: LoadOptions = LoadOptions()) raises Status -> Self:
        """The constructor by another name.

        Args:
            library: The loaded engine.
            folder: Its path.
            options: How to load it.

        Returns:
            The model.

        Raises:
            As the constructor.
        """
        return Self(library, folder, options)

    def on(self, executor: Executor) -> BoundModel:
        """The verbs, computed by `executor`.

        Args:
            executor: Where to compute.

        Returns:
            The model bound to it.
        """
        return BoundModel(self._shared, executor._shared)

    def dimensions(self) raises Status -> Int:
        """Columns of the embeddings. Calls `uform_model_dimensions`.

        Returns:
            Scalars.

        Raises:
            Nothing that a live model gives cause for.
        """
        return self._count(self._shared[].loader[].symbols.model_dimensions)

    def hidden_size(self) raises Status -> Int:
        """Columns of the states. Calls `uform_model_hidden_size`.

        Returns:
            Scalars.

        Raises:
            Nothing that a live model gives cause for.
        """
        return self._count(self._shared[].loader[].symbols.model_hidden_size)

    def layers(self) raises Status -> Int:
        """Layers of the encoder. Calls `uform_model_layers`.

        Returns:
            Layers.

        Raises:
            Nothing that a live model gives cause for.
        """
        return self._count(self._shared[].loader[].symbols.model_layers)

    def max_sequence_length(self) raises Status -> Int:
        """The longest text that is read whole. Calls `uform_model_max_sequence_length`.

        Returns:
            Tokens, special ones included.

        Raises:
            Nothing that a live model gives cause for.
        """
        return self._count(self._shared[].loader[].symbols.model_max_sequence_length)

    def outputs(self) raises Status -> Outputs:
        """The outputs that calls may ask for. Calls `uform_model_outputs`.

        Returns:
            The set.

        Raises:
            Nothing that a live model gives cause for.
        """
        var outputs = UInt32(0)
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.model_outputs(shared.handle, outputs, message), message)
        return Outputs(outputs)

    def normalizes(self) raises Status -> Bool:
        """Whether embeddings are of unit length as the model was published. Calls `uform_model_normalizes`.

        Returns:
            Whether they are.

        Raises:
            Nothing that a live model gives cause for.
        """
        var value = Int32(0)
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.model_normalizes(shared.handle, value, message), message)
        return value != 0

    def similarity(self) raises Status -> Similarity:
        """How two embeddings are meant to be compared. Calls `uform_model_similarity`.

        Returns:
            The measure.

        Raises:
            Nothing that a live model gives cause for.
        """
        var value = Int32(0)
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.model_similarity(shared.handle, value, message), message)
        return Similarity(value)

    def instruction_set(self) raises Status -> InstructionSet:
        """The kernels that calls use. Calls `uform_model_instruction_set`.

        Returns:
            The set, never `BEST`.

        Raises:
            Nothing that a live model gives cause for.
        """
        var value = Int32(0)
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.model_instruction_set(shared.handle, value, message), message)
        return InstructionSet(value)

    def labels(self) raises Status -> List[String]:
        """A classifier's labels. Calls `uform_model_labels`.

        Returns:
            In the order of the columns of probabilities; none for an encoder.

        Raises:
            Nothing that a live model gives cause for.
        """
        ref symbols = self._shared[].loader[].symbols
        return self._texts(symbols.model_labels, symbols.model_label)

    def prompts(self) raises Status -> List[String]:
        """Names that `EncodeOptions.prompt` may take. Calls `uform_model_prompts`.

        Returns:
            The names.

        Raises:
            Nothing that a live model gives cause for.
        """
        ref symbols = self._shared[].loader[].symbols
        return self._texts(symbols.model_prompts, symbols.model_prompt)

    def warnings(self) raises Status -> List[String]:
        """What the folder says that isn't followed. Calls `uform_model_warnings`.

        Returns:
            A sentence each.

        Raises:
            Nothing that a live model gives cause for.
        """
        ref symbols = self._shared[].loader[].symbols
        return self._texts(symbols.model_warnings, symbols.model_warning)

    def tokenizer(self) raises Status -> Tokenizer:
        """The tokenizer, which may outlive the model. Calls `uform_model_tokenizer`.

        Returns:
            A reference to it.

        Raises:
            `OUT_OF_MEMORY`.
        """
        var handle = _Nullable()
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.model_tokenizer(shared.handle, handle, message), message)
        return Tokenizer(handle, shared.loader)

    def _count(self, function: _Count) raises Status -> Int:
        var count = UInt64(0)
        var message = _Message()
        _check(function(self._shared[].handle, count, message), message)
        return Int(count)

    def _texts(self, count: _Count, text_at: _TextAt) raises Status -> List[String]:
        var texts = List[String]()
        for i in range(self._count(count)):
            var text = _Text()
            var size = UInt64(0)
            var message = _Message()
            _check(text_at(self._shared[].handle, UInt64(i), text, size, message), message)
            texts.append(_copied(text, size))
        return texts^

    def text_encode(
        self,
        texts: TapeView,
        outputs: Outputs,
        scalar: Scalar,
        mut arena: Arena,
        options: EncodeOptions = EncodeOptions(),
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Encodes each text into `arena`. Calls `uform_text_encode`.

        Args:
            texts: The texts.
            outputs: What to compute.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be; `UNSUPPORTED` for what this model or version can't serve; `DEVICE` for a tape in a device's
            memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable then, unless it was
            cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._shared[]
        _check(
            model.loader[].symbols.text_encode(
                model.handle,
                None,
                Pointer(to=texts),
                outputs.flags,
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}

    def text_classify(
        self, texts: TapeView, scalar: Scalar, mut arena: Arena, options: ClassifyOptions = ClassifyOptions()
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Gives the labels of each text their probabilities, [texts, labels]; or those of each token, as token
        probabilities, where the model labels tokens. The columns are those of `Model.labels`. Calls
        `uform_text_classify`.

        Args:
            texts: The texts.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be; `UNSUPPORTED` for what this model or version can't serve; `DEVICE` for a tape in a device's
            memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable then, unless it was
            cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._shared[]
        _check(
            model.loader[].symbols.text_classify(
                model.handle,
                None,
                Pointer(to=texts),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}

    def text_classify(
        self,
        first: TapeView,
        second: TapeView,
        scalar: Scalar,
        mut arena: Arena,
        options: ClassifyOptions = ClassifyOptions(),
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Gives the labels of each pair their probabilities, [pairs, labels]. Calls `uform_text_classify_pairs`.

        Args:
            first: The first text of each pair, or one for all.
            second: The second text of each pair.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be, tapes of unequal counts; `UNSUPPORTED` for what this model or version can't serve; `DEVICE`
            for a tape in a device's memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable
            then, unless it was cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale
            then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._shared[]
        _check(
            model.loader[].symbols.text_classify_pairs(
                model.handle,
                None,
                Pointer(to=first),
                Pointer(to=second),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}

    def text_rerank(
        self,
        queries: TapeView,
        documents: TapeView,
        scalar: Scalar,
        mut arena: Arena,
        options: RerankOptions = RerankOptions(),
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Scores documents for a query each, or for one: probabilities [pairs, 1]; the larger, the better the document
        answers. Calls `uform_text_rerank`.

        Args:
            queries: A query for each document, or one for all.
            documents: The documents.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be, tapes of unequal counts; `UNSUPPORTED` for what this model or version can't serve; `DEVICE`
            for a tape in a device's memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable
            then, unless it was cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale
            then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._shared[]
        _check(
            model.loader[].symbols.text_rerank(
                model.handle,
                None,
                Pointer(to=queries),
                Pointer(to=documents),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}


@fieldwise_init
struct BoundModel(Copyable):
    """A model bound to an executor. It keeps both."""

    var _model: ArcPointer[_ModelHandle]
    var _executor: ArcPointer[_ExecutorHandle]

    def deferred(self) -> DeferredModel:
        """The same verbs, answering before the work is done.

        Returns:
            The verbs.
        """
        return DeferredModel(self.copy())

    def text_encode(
        self,
        texts: TapeView,
        outputs: Outputs,
        scalar: Scalar,
        mut arena: Arena,
        options: EncodeOptions = EncodeOptions(),
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Encodes each text into `arena`. Calls `uform_text_encode`.

        Args:
            texts: The texts.
            outputs: What to compute.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be; `UNSUPPORTED` for what this model or version can't serve; `DEVICE` for a tape in a device's
            memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable then, unless it was
            cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._model[]
        _check(
            model.loader[].symbols.text_encode(
                model.handle,
                self._executor[].handle,
                Pointer(to=texts),
                outputs.flags,
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}

    def text_classify(
        self, texts: TapeView, scalar: Scalar, mut arena: Arena, options: ClassifyOptions = ClassifyOptions()
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Gives the labels of each text their probabilities, [texts, labels]; or those of each token, as token
        probabilities, where the model labels tokens. The columns are those of `Model.labels`. Calls
        `uform_text_classify`.

        Args:
            texts: The texts.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be; `UNSUPPORTED` for what this model or version can't serve; `DEVICE` for a tape in a device's
            memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable then, unless it was
            cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._model[]
        _check(
            model.loader[].symbols.text_classify(
                model.handle,
                self._executor[].handle,
                Pointer(to=texts),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}

    def text_classify(
        self,
        first: TapeView,
        second: TapeView,
        scalar: Scalar,
        mut arena: Arena,
        options: ClassifyOptions = ClassifyOptions(),
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Gives the labels of each pair their probabilities, [pairs, labels]. Calls `uform_text_classify_pairs`.

        Args:
            first: The first text of each pair, or one for all.
            second: The second text of each pair.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be, tapes of unequal counts; `UNSUPPORTED` for what this model or version can't serve; `DEVICE`
            for a tape in a device's memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable
            then, unless it was cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale
            then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._model[]
        _check(
            model.loader[].symbols.text_classify_pairs(
                model.handle,
                self._executor[].handle,
                Pointer(to=first),
                Pointer(to=second),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}

    def text_rerank(
        self,
        queries: TapeView,
        documents: TapeView,
        scalar: Scalar,
        mut arena: Arena,
        options: RerankOptions = RerankOptions(),
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        """Scores documents for a query each, or for one: probabilities [pairs, 1]; the larger, the better the document
        answers. Calls `uform_text_rerank`.

        Args:
            queries: A query for each document, or one for all.
            documents: The documents.
            scalar: In which scalar.
            arena: Where; results of the call before are stale.
            options: How.

        Returns:
            Views over `arena`.

        Raises:
            `CONTENDED` if the arena serves another call, or a pin holds it; `INVALID_ARGUMENT` for a tape or option
            that can't be, tapes of unequal counts; `UNSUPPORTED` for what this model or version can't serve; `DEVICE`
            for a tape in a device's memory; `OUT_OF_MEMORY`; `CANCELLED`. Results of the call before stay readable
            then, unless it was cancelled while it computed. `CORRUPT` for results that aren't numbers: they are stale
            then.
        """
        var raw = options._raw()
        var encoded = _RawEncoded()
        var message = _Message()
        ref model = self._model[]
        _check(
            model.loader[].symbols.text_rerank(
                model.handle,
                self._executor[].handle,
                Pointer(to=queries),
                Pointer(to=documents),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                encoded,
                message,
            ),
            message,
        )
        return {model.loader, encoded}


@fieldwise_init
struct DeferredModel(Copyable):
    """The verbs of a `BoundModel`, deferred. Each call in flight needs an arena of its own."""

    var _bound: BoundModel

    def text_encode(
        self,
        texts: TapeView,
        outputs: Outputs,
        scalar: Scalar,
        mut arena: Arena,
        options: EncodeOptions = EncodeOptions(),
    ) raises Status -> Deferred[origin_of(arena)]:
        """Starts what `BoundModel.text_encode` does; the tape and options are consumed before it returns. Calls
        `uform_text_encode_deferred`.

        Args:
            texts: The texts.
            outputs: What to compute.
            scalar: In which scalar.
            arena: Where; it answers `CONTENDED` to other calls until this one is done.
            options: How.

        Returns:
            The call in flight.

        Raises:
            What is known at once, such as `CONTENDED`; the rest comes from `Deferred.wait`.
        """
        var raw = options._raw()
        var call = _Nullable()
        var message = _Message()
        ref model = self._bound._model[]
        _check(
            model.loader[].symbols.text_encode_deferred(
                model.handle,
                self._bound._executor[].handle,
                Pointer(to=texts),
                outputs.flags,
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                call,
                message,
            ),
            message,
        )
        return {call.value(), model.loader, _kept(options.cancellation)}

    def text_classify(
        self, texts: TapeView, scalar: Scalar, mut arena: Arena, options: ClassifyOptions = ClassifyOptions()
    ) raises Status -> Deferred[origin_of(arena)]:
        """Starts what `BoundModel.text_classify` does; the tape and options are consumed before it returns. Calls
        `uform_text_classify_deferred`.

        Args:
            texts: The texts.
            scalar: In which scalar.
            arena: Where; it answers `CONTENDED` to other calls until this one is done.
            options: How.

        Returns:
            The call in flight.

        Raises:
            What is known at once, such as `CONTENDED`; the rest comes from `Deferred.wait`.
        """
        var raw = options._raw()
        var call = _Nullable()
        var message = _Message()
        ref model = self._bound._model[]
        _check(
            model.loader[].symbols.text_classify_deferred(
                model.handle,
                self._bound._executor[].handle,
                Pointer(to=texts),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                call,
                message,
            ),
            message,
        )
        return {call.value(), model.loader, _kept(options.cancellation)}

    def text_classify(
        self,
        first: TapeView,
        second: TapeView,
        scalar: Scalar,
        mut arena: Arena,
        options: ClassifyOptions = ClassifyOptions(),
    ) raises Status -> Deferred[origin_of(arena)]:
        """Starts what `BoundModel.text_classify` does; tapes and options are consumed before it returns. Calls
        `uform_text_classify_pairs_deferred`.

        Args:
            first: The first text of each pair, or one for all.
            second: The second text of each pair.
            scalar: In which scalar.
            arena: Where; it answers `CONTENDED` to other calls until this one is done.
            options: How.

        Returns:
            The call in flight.

        Raises:
            What is known at once, such as `CONTENDED`; the rest comes from `Deferred.wait`.
        """
        var raw = options._raw()
        var call = _Nullable()
        var message = _Message()
        ref model = self._bound._model[]
        _check(
            model.loader[].symbols.text_classify_pairs_deferred(
                model.handle,
                self._bound._executor[].handle,
                Pointer(to=first),
                Pointer(to=second),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                call,
                message,
            ),
            message,
        )
        return {call.value(), model.loader, _kept(options.cancellation)}

    def text_rerank(
        self,
        queries: TapeView,
        documents: TapeView,
        scalar: Scalar,
        mut arena: Arena,
        options: RerankOptions = RerankOptions(),
    ) raises Status -> Deferred[origin_of(arena)]:
        """Starts what `BoundModel.text_rerank` does; tapes and options are consumed before it returns. Calls
        `uform_text_rerank_deferred`.

        Args:
            queries: A query for each document, or one for all.
            documents: The documents.
            scalar: In which scalar.
            arena: Where; it answers `CONTENDED` to other calls until this one is done.
            options: How.

        Returns:
            The call in flight.

        Raises:
            What is known at once, such as `CONTENDED`; the rest comes from `Deferred.wait`.
        """
        var raw = options._raw()
        var call = _Nullable()
        var message = _Message()
        ref model = self._bound._model[]
        _check(
            model.loader[].symbols.text_rerank_deferred(
                model.handle,
                self._bound._executor[].handle,
                Pointer(to=queries),
                Pointer(to=documents),
                scalar.value,
                arena._handle,
                Pointer(to=raw),
                call,
                message,
            ),
            message,
        )
        return {call.value(), model.loader, _kept(options.cancellation)}
