"""The memory that every output whose length scales with a call lands in."""

from std.memory import ArcPointer

from .executor import Executor, _ExecutorHandle
from .layouts import _Handle, _Nullable
from .library import Library, _Loader
from .residency import ArenaDescription, Residency
from .status import Status, _Message, _check


struct Arena:
    """The memory that every output whose length scales with a call lands in, freed when it goes out of scope.

    Nothing is allocated until a call writes into it. Each call rewinds it: results of the call before are then stale,
    and every read of them raises `INVALID_ARGUMENT`. It serves one call at a time: another raises `CONTENDED`.
    """

    var _handle: _Handle
    var _executor: Optional[ArcPointer[_ExecutorHandle]]
    var _loader: ArcPointer[_Loader]

    def __init__(out self, library: Library) raises Status:
        """Host pages, for any call on the host. Calls `uform_arena_init`.

        Args:
            library: The loaded engine.

        Raises:
            `OUT_OF_MEMORY`.
        """
        self._handle = _init(library._loader[], None)
        self._executor = None
        self._loader = library._loader

    def __init__(out self, executor: Executor) raises Status:
        """Memory where `executor` computes. Calls `uform_arena_init`.

        Args:
            executor: Host pages serve any call on the host and may outlive it; a device's memory serves its calls
                alone, and keeps it alive.

        Raises:
            `OUT_OF_MEMORY`.
        """
        ref shared = executor._shared[]
        self._handle = _init(shared.loader[], shared.handle)
        self._executor = None
        self._loader = shared.loader
        if self.describe().residency == Residency.VRAM:
            self._executor = executor._shared

    def __deinit__(deinit self):
        """Frees the arena and every output in it, then lets a device's executor go. Calls `uform_arena_free`, which
        waits for the call that writes into it, and never for readers: pinned bytes outlive it."""
        self._loader[].symbols.arena_free(self._handle)
        _ = self._executor^
        _ = self._loader^

    def describe(self) raises Status -> ArenaDescription:
        """Where its outputs live, as the executor that made it decided. Calls `uform_arena_describe`.

        Returns:
            The residency and the device.

        Raises:
            Nothing that a live arena gives cause for.
        """
        var description = ArenaDescription(Residency.RAM, -1)
        var message = _Message()
        _check(self._loader[].symbols.arena_describe(self._handle, description, message), message)
        return description

    def capacity(self) raises Status -> UInt64:
        """Memory that the arena holds. Calls `uform_arena_capacity`.

        Returns:
            Bytes.

        Raises:
            Nothing that a live arena gives cause for.
        """
        var bytes = UInt64(0)
        var message = _Message()
        _check(self._loader[].symbols.arena_capacity(self._handle, bytes, message), message)
        return bytes

    def limit(self) raises Status -> UInt64:
        """The most that a call's outputs may take. Calls `uform_arena_limit`.

        Returns:
            Bytes; `UInt64.MAX` where no limit was set.

        Raises:
            Nothing that a live arena gives cause for.
        """
        var bytes = UInt64(0)
        var message = _Message()
        _check(self._loader[].symbols.arena_limit(self._handle, bytes, message), message)
        return bytes

    def set_limit(self, bytes: UInt64) raises Status:
        """Sets the most that a later call's outputs may take: one that needs more raises `OUT_OF_MEMORY`, and results
        of the call before stay readable. Calls `uform_arena_set_limit`.

        Args:
            bytes: The limit.

        Raises:
            Nothing that a live arena gives cause for.
        """
        var message = _Message()
        _check(self._loader[].symbols.arena_set_limit(self._handle, bytes, message), message)

    def reserve(self, bytes: UInt64) raises Status:
        """Makes room for outputs before they are needed. Results stay readable. Calls `uform_arena_reserve`.

        Args:
            bytes: How much.

        Raises:
            `CONTENDED` while a call has the arena; `OUT_OF_MEMORY`, also over the limit; `DEVICE`.
        """
        var message = _Message()
        _check(self._loader[].symbols.arena_reserve(self._handle, bytes, message), message)

    def trim(self) raises Status:
        """Gives back the memory that the current results don't use. Calls `uform_arena_trim`.

        Raises:
            `CONTENDED` while a call has the arena.
        """
        var message = _Message()
        _check(self._loader[].symbols.arena_trim(self._handle, message), message)


def _init(loader: _Loader, executor: _Nullable) raises Status -> _Handle:
    var handle = _Nullable()
    var message = _Message()
    _check(loader.symbols.arena_init(executor, handle, message), message)
    return handle.value()
