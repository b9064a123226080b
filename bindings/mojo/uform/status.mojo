"""The one error type that every call raises."""

from std.ffi import CStringSpan, c_char


struct Status(Equatable, ImplicitlyCopyable, Writable):
    """How a call ended, with the engine's words for it. Two are equal when their codes are: the words don't count.

    Every call of this package raises one: `except status: if status == Status.CONTENDED`.
    """

    var code: Int32
    """The `uform_status_t`."""
    var message: String
    """What went wrong, with the argument, file, tensor or limit; empty in the constants."""

    comptime SUCCESS = Status(0)
    """Nothing went wrong; never raised."""
    comptime INVALID_ARGUMENT = Status(1)
    """Bad input, or a read of a result that is stale."""
    comptime DEVICE = Status(2)
    """Host access to device memory, or a failure of the device."""
    comptime CONTENDED = Status(3)
    """The arena serves another call, or a pin holds it."""
    comptime OUT_OF_MEMORY = Status(4)
    """Memory, address space or a limit that the caller set."""
    comptime UNSUPPORTED = Status(5)
    """A checkpoint, output or scalar that this build can't serve."""
    comptime CORRUPT = Status(6)
    """A damaged file, or weights and results that aren't numbers."""
    comptime IO = Status(7)
    """A file that can't be opened, mapped or read."""
    comptime CANCELLED = Status(8)
    """The caller asked the call to stop."""

    def __init__(out self, code: Int32, message: String = ""):
        """Wraps a code.

        Args:
            code: The `uform_status_t`.
            message: What went wrong.
        """
        self.code = code
        self.message = message

    def __eq__(self, other: Self) -> Bool:
        """Compares the codes.

        Args:
            other: The other status.

        Returns:
            Whether the codes are the same.
        """
        return self.code == other.code

    def name(self) -> StaticString:
        """The name of the code, as `uform_status_name` spells it.

        Returns:
            "success", "invalid_argument", …; "unknown" for a code that names none.
        """
        if self.code == 0:
            return "success"
        if self.code == 1:
            return "invalid_argument"
        if self.code == 2:
            return "device"
        if self.code == 3:
            return "contended"
        if self.code == 4:
            return "out_of_memory"
        if self.code == 5:
            return "unsupported"
        if self.code == 6:
            return "corrupt"
        if self.code == 7:
            return "io"
        if self.code == 8:
            return "cancelled"
        return "unknown"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name, and the message if there is one.

        Args:
            writer: Where to.
        """
        writer.write(self.name())
        if self.message:
            writer.write(": ", self.message)


comptime _Message = OptionalPointer[c_char, ImmUntrackedOrigin]
"""The slot of a trailing `char const **error_message`."""


@no_inline
def _raise(code: Int32, message: _Message) raises Status:
    if not message:
        raise Status(code)
    # The text is the thread's until its next call, so it is copied.
    raise Status(code, String(CStringSpan(unsafe_from_ptr=message.value())))


@always_inline
def _check(code: Int32, message: _Message) raises Status:
    if code != 0:
        _raise(code, message)
