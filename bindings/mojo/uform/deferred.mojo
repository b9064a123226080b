"""A call that runs while its caller goes on."""

from std.memory import ArcPointer

from .layouts import _Handle, _Nullable, _RawEncoded
from .library import _Loader
from .options import _KeptFlag
from .results import Encoded
from .status import Status, _Message, _check


struct Deferred[origin: MutOrigin]:
    """A call in flight, on its executor's own thread. Its inputs were consumed by the submit; it holds model, executor
    and
    arena until it is done, and the arena answers `CONTENDED` to other calls. Mojo destroys it after its last mention,
    which waits.

    Results of the call before may be overwritten while it runs: don't read them meanwhile.

    Parameters:
        origin: The arena's origin.
    """

    var _handle: _Handle
    var _cancellation: _KeptFlag  # must live until the call is done
    var _loader: ArcPointer[_Loader]

    @doc_hidden
    def __init__(out self, handle: _Handle, loader: ArcPointer[_Loader], cancellation: _KeptFlag):
        self._handle = handle
        self._loader = loader
        self._cancellation = cancellation.copy()

    def __deinit__(deinit self):
        """Waits for the call, and lets its result go. Calls `uform_deferred_free`."""
        self._loader[].symbols.deferred_free(self._handle)
        _ = self._cancellation^
        _ = self._loader^

    def ready(self) raises Status -> Bool:
        """Whether `wait` would answer at once. Calls `uform_deferred_ready`.

        Returns:
            Whether the call is done.

        Raises:
            Nothing that a live call gives cause for; what the call itself raises comes from `wait`.
        """
        var ready = Int32(0)
        var message = _Message()
        _check(self._loader[].symbols.deferred_ready(self._handle, ready, message), message)
        return ready != 0

    def wait_for(self, nanoseconds: UInt64) raises Status -> Bool:
        """Waits at most so long. Calls `uform_deferred_wait_for`.

        Args:
            nanoseconds: How long, at most 95 years.

        Returns:
            Whether the call is done.

        Raises:
            As `ready`.
        """
        var ready = Int32(0)
        var message = _Message()
        _check(self._loader[].symbols.deferred_wait_for(self._handle, nanoseconds, ready, message), message)
        return ready != 0

    def cancel(self) raises Status -> Bool:
        """Takes the call back. Calls `uform_deferred_cancel`.

        Returns:
            True if it never runs: then `wait` raises `CANCELLED`, and the results of the call before are as they were.

        Raises:
            As `ready`.
        """
        var cancelled = Int32(0)
        var message = _Message()
        _check(self._loader[].symbols.deferred_cancel(self._handle, cancelled, message), message)
        return cancelled != 0

    def wait(deinit self) raises Status -> Encoded[ImmOrigin(Self.origin)]:
        """Waits for the result: `call^.wait()`. Calls `uform_deferred_wait` and `uform_deferred_free`.

        Returns:
            The outputs, not pinned.

        Raises:
            What the call itself raises: see the verb. `CANCELLED`.
        """
        var raw = _RawEncoded()
        var message = _Message()
        ref symbols = self._loader[].symbols
        var code = symbols.deferred_wait(self._handle, raw, None, message)
        if code != 0:
            var status = Status(code)
            try:
                _check(code, message)
            except failure:  # its text is the thread's until the next call, which is the one that frees
                status = failure
            symbols.deferred_free(self._handle)
            _ = self._cancellation^
            raise status
        symbols.deferred_free(self._handle)  # a `deinit` method replaces the destructor
        _ = self._cancellation^
        return {self._loader, raw}

    def unsafe_origin_cast[other: MutOrigin](deinit self) -> Deferred[other]:
        """The same call, bound to another origin. For arenas in a list: bound to one element, a call ends with the next
        `arenas[i]`, so bind it to the list, `call^.unsafe_origin_cast[origin_of(arenas)]()`.

        Parameters:
            other: What keeps the arena alive. Where nothing does, the arena is freed after its last mention, and rows
                that were read are dangling.

        Returns:
            The call.
        """
        return {self._handle, self._loader, self._cancellation}
