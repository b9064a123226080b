"""Texts end to end, with the offsets that part them: the layout of an Arrow string column without nulls."""

from std.sys import size_of

from .status import Status


struct TapeView[bytes_origin: ImmOrigin, offsets_origin: ImmOrigin = ImmStaticOrigin](ImplicitlyCopyable, Sized):
    """Texts that another object owns. It is `uform_tape_t`: nothing is copied, and bytes and offsets stay with it.

    A call checks it: offsets must rise within the bytes, else `INVALID_ARGUMENT`. Texts are UTF-8; each maximal part
    that isn't counts as U+FFFD.

    Parameters:
        bytes_origin: What owns the bytes.
        offsets_origin: What owns the offsets.
    """

    var _bytes: Pointer[UInt8, Self.bytes_origin]
    var _size: UInt64
    var _offsets: OptionalPointer[NoneType, Self.offsets_origin]
    var _texts: UInt64
    var _offset_bytes: UInt32
    var _reserved: UInt32

    @doc_hidden
    def __init__(
        out self,
        bytes: Pointer[UInt8, Self.bytes_origin],
        size: UInt64,
        offsets: OptionalPointer[NoneType, Self.offsets_origin],
        texts: UInt64,
        offset_bytes: UInt32,
    ):
        self._bytes = bytes
        self._size = size
        self._offsets = offsets
        self._texts = texts
        self._offset_bytes = offset_bytes
        self._reserved = 0

    @staticmethod
    def of(text: StringSpan[Self.bytes_origin]) -> TapeView[Self.bytes_origin, ImmStaticOrigin]:
        """Views one text.

        Args:
            text: The text: a literal, a `String` or a part of one.

        Returns:
            A tape of one text.
        """
        return {text.unsafe_ptr(), UInt64(text.byte_length()), None, 1, 0}

    @staticmethod
    def of[
        dtype: DType
    ](
        bytes: Span[UInt8, Self.bytes_origin], offsets: Span[SIMD[dtype, 1], Self.offsets_origin]
    ) raises Status -> Self:
        """Views bytes and offsets in host memory.

        Parameters:
            dtype: Of the offsets: `uint32`, `int32`, `uint64` or `int64`, as Arrow's columns have them.

        Args:
            bytes: The bytes of all texts.
            offsets: [texts + 1], counted in bytes, rising; the first need not be 0.

        Returns:
            The view.

        Raises:
            `INVALID_ARGUMENT` if there is no offset at all. Calls check the rest.
        """
        return Self._of(bytes.unsafe_ptr(), UInt64(len(bytes)), offsets)

    @staticmethod
    def of[
        dtype: DType
    ](
        bytes: Pointer[UInt8, Self.bytes_origin], size: Int, offsets: Span[SIMD[dtype, 1], Self.offsets_origin]
    ) raises Status -> Self:
        """Views bytes at a host or device pointer, with offsets in host memory.

        Parameters:
            dtype: Of the offsets: `uint32`, `int32`, `uint64` or `int64`.

        Args:
            bytes: The bytes of all texts. Of a device, a call answers `DEVICE` where it computes on the host.
            size: How many bytes there are.
            offsets: [texts + 1], counted in bytes, rising.

        Returns:
            The view.

        Raises:
            `INVALID_ARGUMENT` if there is no offset at all, or `size` is below 0. Calls check the rest.
        """
        if size < 0:
            raise Status(Status.INVALID_ARGUMENT.code, String("size: ", size, " bytes"))
        return Self._of(bytes, UInt64(size), offsets)

    @staticmethod
    def of[
        dtype: DType
    ](
        bytes: Pointer[UInt8, Self.bytes_origin], offsets: Span[SIMD[dtype, 1], Self.offsets_origin]
    ) raises Status -> Self:
        """Views bytes at a host or device pointer, as many as the last offset says.

        Parameters:
            dtype: Of the offsets: `uint32`, `int32`, `uint64` or `int64`.

        Args:
            bytes: The bytes of all texts. Of a device, a call answers `DEVICE` where it computes on the host.
            offsets: [texts + 1], counted in bytes, rising.

        Returns:
            The view.

        Raises:
            `INVALID_ARGUMENT` if there is no offset at all, or the last is below 0. Calls check the rest.
        """
        return Self.of(bytes, Int(offsets[len(offsets) - 1]) if len(offsets) else 0, offsets)

    @staticmethod
    def _of[
        dtype: DType
    ](
        bytes: Pointer[UInt8, Self.bytes_origin], size: UInt64, offsets: Span[SIMD[dtype, 1], Self.offsets_origin]
    ) raises Status -> Self:
        comptime bytes_each = size_of[SIMD[dtype, 1]]()
        comptime assert dtype.is_integral() and (bytes_each == 4 or bytes_each == 8), "offsets are of 4 or 8 bytes"
        if len(offsets) == 0:
            raise Status(Status.INVALID_ARGUMENT.code, "offsets: none, and N texts have N + 1")
        return {
            bytes,
            size,
            offsets.unsafe_ptr().unsafe_bitcast[NoneType](),
            UInt64(len(offsets) - 1),
            UInt32(bytes_each),
        }

    def __len__(self) -> Int:
        """The number of texts.

        Returns:
            Texts.
        """
        return Int(self._texts)


struct Tape(Copyable, Sized):
    """Texts copied end to end once, for callers whose strings lie apart."""

    var bytes: List[UInt8]
    """All texts."""
    var offsets: List[UInt64]
    """[texts + 1], counted in bytes."""

    def __init__(out self):
        """A tape of no texts."""
        self.bytes = []
        self.offsets = [0]

    def __init__(out self, texts: Span[String, _]):
        """Copies strings.

        Args:
            texts: The strings, of a list, an array or a span.
        """
        self = Self()
        self.assign(texts)

    def assign(mut self, texts: Span[String, _]):
        """Copies other strings in their place, into the memory that is there if it is enough.

        Args:
            texts: The strings.
        """
        self.clear()
        for ref text in texts:
            self.append(text)

    def append(mut self, text: StringSpan[_]):
        """Copies one more text.

        Args:
            text: The text.
        """
        self.append(text.as_bytes())

    def append(mut self, text: Span[UInt8, _]):
        """Copies one more text, given as bytes.

        Args:
            text: UTF-8; each maximal part that isn't counts as U+FFFD.
        """
        self.bytes.extend(text)
        self.offsets.append(UInt64(len(self.bytes)))

    def clear(mut self):
        """Drops the texts, and keeps their memory."""
        self.bytes.clear()
        self.offsets.clear()
        self.offsets.append(0)

    def __len__(self) -> Int:
        """The number of texts.

        Returns:
            Texts.
        """
        return len(self.offsets) - 1

    def view(self) -> TapeView[origin_of(self.bytes), origin_of(self.offsets)]:
        """Views the copy.

        Returns:
            The view.
        """
        return {
            self.bytes.unsafe_ptr(),
            UInt64(len(self.bytes)),
            self.offsets.unsafe_ptr().unsafe_bitcast[NoneType](),
            UInt64(len(self.offsets) - 1),
            8,
        }
