"""Where calls compute."""

from std.memory import ArcPointer

from .layouts import _Handle, _Nullable
from .library import Library, _Loader
from .residency import ArenaDescription, Residency
from .status import Status, _Message, _check


@fieldwise_init
struct _ExecutorHandle(Movable):
    """Frees the executor once the last object that needs it has gone.

    Executors, models bound to one and arenas in a device's memory share it. In a destructor each field dies right after
    its own last use, so the loader is named after the call: else the library's functions could go before the one that
    is being called.
    """

    var handle: _Handle
    var loader: ArcPointer[_Loader]

    def __deinit__(deinit self):
        self.loader[].symbols.executor_free(self.handle)
        _ = self.loader^


struct Executor(Copyable):
    """Where calls compute: host threads, or one device. Copies are references. Calls on one executor queue."""

    var _shared: ArcPointer[_ExecutorHandle]

    @doc_hidden
    def __init__(out self, handle: _Nullable, loader: ArcPointer[_Loader]):
        self._shared = ArcPointer(_ExecutorHandle(handle.value(), loader))

    @staticmethod
    def for_ram(library: Library, threads: Int = 0) raises Status -> Self:
        """Host threads. Calls `uform_executor_init_ram`.

        Args:
            library: The loaded engine.
            threads: How many are at work in a call, the caller's among them; 0 for as many as the process may use.

        Returns:
            The executor.

        Raises:
            `OUT_OF_MEMORY`, also where the system gives no more threads; `INVALID_ARGUMENT` for a number below 0.
        """
        if threads < 0:
            raise Status(Status.INVALID_ARGUMENT.code, String("threads: ", threads, " is below 0"))
        var handle = _Nullable()
        var message = _Message()
        _check(library._loader[].symbols.executor_init_ram(UInt64(threads), handle, message), message)
        return Self(handle, library._loader)

    @staticmethod
    def for_vram(library: Library, device: UInt32) raises Status -> Self:
        """One device, as the CUDA driver counts them. Calls `uform_executor_init_vram`.

        In this version its arenas work, and the verbs answer `UNSUPPORTED` on it.

        Args:
            library: The loaded engine.
            device: The device's ordinal.

        Returns:
            The executor.

        Raises:
            `UNSUPPORTED`, with the reason: no driver, no such device, or one without stream-ordered memory pools;
            `OUT_OF_MEMORY`; `DEVICE`.
        """
        var handle = _Nullable()
        var message = _Message()
        _check(library._loader[].symbols.executor_init_vram(device, handle, message), message)
        return Self(handle, library._loader)

    def describe(self) raises Status -> ArenaDescription:
        """Where its arenas lie. Calls `uform_executor_describe`.

        Returns:
            The residency and the device.

        Raises:
            Nothing that a live executor gives cause for.
        """
        var description = ArenaDescription(Residency.RAM, -1)
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.executor_describe(shared.handle, description, message), message)
        return description

    def threads(self) raises Status -> Int:
        """Threads at work in a call. Calls `uform_executor_threads`.

        Returns:
            How many, the caller's among them; 0 for a device's executor.

        Raises:
            Nothing that a live executor gives cause for.
        """
        var threads = UInt64(0)
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.executor_threads(shared.handle, threads, message), message)
        return Int(threads)

    def stream(self) raises Status -> OpaquePointer[MutUntrackedOrigin]:
        """The first stream (`cudaStream_t`) of a device's executor, on which its work is queued. Calls
        `uform_executor_stream`.

        Returns:
            The stream, valid while this executor, or an arena of it, lives.

        Raises:
            `INVALID_ARGUMENT` for an executor of host threads.
        """
        var stream = _Nullable()
        var message = _Message()
        ref shared = self._shared[]
        _check(shared.loader[].symbols.executor_stream(shared.handle, stream, message), message)
        return stream.value()
