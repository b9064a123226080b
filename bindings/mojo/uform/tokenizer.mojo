"""Turns texts into ids, and back."""

from std.memory import ArcPointer

from .layouts import _Handle, _Nullable, _Text
from .library import Library, _Loader
from .status import Status, _Message, _check


@fieldwise_init
struct _TokenizerHandle(Movable):
    var handle: _Handle
    var loader: ArcPointer[_Loader]

    def __deinit__(deinit self):
        self.loader[].symbols.tokenizer_free(self.handle)
        _ = self.loader^


struct Tokenizer(Copyable):
    """Turns texts into ids. Copies are references. It may outlive the model that it is of."""

    var _shared: ArcPointer[_TokenizerHandle]

    def __init__(out self, library: Library, folder: String) raises Status:
        """Loads tokenizer.json of a folder, or vocab.txt where there is none. Calls `uform_tokenizer_load`.

        Args:
            library: The loaded engine.
            folder: Its path.

        Raises:
            `IO`, `CORRUPT`, `UNSUPPORTED`, `OUT_OF_MEMORY`, each with the file; `INVALID_ARGUMENT`.
        """
        var handle = _Nullable()
        var message = _Message()
        var path = folder  # `as_c_string_span` may add the terminating zero, so it takes a mutable string
        var code = library._loader[].symbols.tokenizer_load(path.as_c_string_span().ptr(), handle, message)
        _check(code, message)
        self = Self(handle, library._loader)

    @doc_hidden
    def __init__(out self, handle: _Nullable, loader: ArcPointer[_Loader]):
        self._shared = ArcPointer(_TokenizerHandle(handle.value(), loader))

    @staticmethod
    def load(library: Library, folder: String) raises Status -> Self:
        """The constructor by another name.

        Args:
            library: The loaded engine.
            folder: Its path.

        Returns:
            The tokenizer.

        Raises:
            As the constructor.
        """
        return Self(library, folder)

    def encode(self, text: StringSpan[_]) raises Status -> List[UInt32]:
        """The ids of a text with the special tokens around it, not cut. Calls `uform_tokenizer_encode`.

        Args:
            text: The text.

        Returns:
            The ids.

        Raises:
            `OUT_OF_MEMORY`.
        """
        ref shared = self._shared[]
        var count = UInt64(0)
        var message = _Message()
        var room = text.byte_length() + 8  # enough, but where normalisation makes a text longer
        var ids = List[UInt32](length=room, fill=0)
        var code = shared.loader[].symbols.tokenizer_encode(
            shared.handle, text.unsafe_ptr(), UInt64(text.byte_length()), ids.unsafe_ptr(), UInt64(room), count, message
        )
        if code != 0 and count > UInt64(room):
            room = Int(count)
            ids.resize(room, 0)
            code = shared.loader[].symbols.tokenizer_encode(
                shared.handle,
                text.unsafe_ptr(),
                UInt64(text.byte_length()),
                ids.unsafe_ptr(),
                UInt64(room),
                count,
                message,
            )
        _check(code, message)
        ids.shrink(Int(count))
        return ids^

    def count(self, text: StringSpan[_]) raises Status -> Int:
        """How many ids `encode` would give. Calls `uform_tokenizer_count`.

        Args:
            text: The text.

        Returns:
            Tokens, special ones included.

        Raises:
            `OUT_OF_MEMORY`.
        """
        ref shared = self._shared[]
        var count = UInt64(0)
        var message = _Message()
        _check(
            shared.loader[].symbols.tokenizer_count(
                shared.handle, text.unsafe_ptr(), UInt64(text.byte_length()), count, message
            ),
            message,
        )
        return Int(count)

    def decode(self, ids: Span[UInt32, _], *, skip_special: Bool = True) raises Status -> String:
        """The text that ids stand for; ids that no token has are left out. Calls `uform_tokenizer_decode`.

        Args:
            ids: The ids.
            skip_special: Whether special tokens are left out.

        Returns:
            The text.

        Raises:
            `UNSUPPORTED` for a decoder that isn't served; `OUT_OF_MEMORY`.
        """
        ref shared = self._shared[]
        var size = UInt64(0)
        var message = _Message()
        var text = List[UInt8](length=len(ids) * 16 + 1, fill=0)
        var code = Int32(0)
        for _ in range(2):
            code = shared.loader[].symbols.tokenizer_decode(
                shared.handle,
                ids.unsafe_ptr(),
                UInt64(len(ids)),
                Int32(1 if skip_special else 0),
                text.unsafe_ptr(),
                UInt64(len(text)),
                size,
                message,
            )
            if code == 0 or size < UInt64(len(text)):
                break
            text.resize(Int(size) + 1, 0)
        _check(code, message)
        return String(from_utf8_lossy=Span(text)[: Int(size)])

    def token(self, id: UInt32) raises Status -> Optional[String]:
        """The text of a token. Calls `uform_tokenizer_token`.

        Args:
            id: Its id.

        Returns:
            The text, or nothing where no token has the id.

        Raises:
            Nothing that a live tokenizer gives cause for.
        """
        ref shared = self._shared[]
        var text = _Text()
        var size = UInt64(0)
        var message = _Message()
        _check(shared.loader[].symbols.tokenizer_token(shared.handle, id, text, size, message), message)
        if not text:
            return None
        return _copied(text, size)

    def id(self, token: StringSpan[_]) raises Status -> Optional[UInt32]:
        """The id of the token that is spelt so. Looks at all of them: for once a load. Calls `uform_tokenizer_id`.

        Args:
            token: Its text.

        Returns:
            The id, or nothing where there is no such token.

        Raises:
            Nothing that a live tokenizer gives cause for.
        """
        ref shared = self._shared[]
        var id = Int64(-1)
        var message = _Message()
        _check(
            shared.loader[].symbols.tokenizer_id(
                shared.handle, token.unsafe_ptr(), UInt64(token.byte_length()), id, message
            ),
            message,
        )
        if id < 0:
            return None
        return UInt32(id)

    def vocabulary_size(self) raises Status -> Int:
        """The greatest id + 1. Calls `uform_tokenizer_vocabulary_size`.

        Returns:
            Ids.

        Raises:
            Nothing that a live tokenizer gives cause for.
        """
        ref shared = self._shared[]
        var size = UInt64(0)
        var message = _Message()
        _check(shared.loader[].symbols.tokenizer_vocabulary_size(shared.handle, size, message), message)
        return Int(size)

    def special_tokens(self) raises Status -> Int:
        """The length of an empty text. Calls `uform_tokenizer_special_tokens`.

        Returns:
            Tokens.

        Raises:
            Nothing that a live tokenizer gives cause for.
        """
        ref shared = self._shared[]
        var count = UInt64(0)
        var message = _Message()
        _check(shared.loader[].symbols.tokenizer_special_tokens(shared.handle, count, message), message)
        return Int(count)


def _copied(text: _Text, size: UInt64) -> String:
    if not text:
        return String()
    return String(from_utf8_lossy=Span(unsafe_ptr=text.value(), length=Int(size)))
