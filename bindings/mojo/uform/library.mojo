"""The loaded library: where it is looked for, and who keeps it."""

from std.ffi import OwnedDLHandle, RTLD
from std.memory import ArcPointer
from std.os import getenv
from std.os.path import dirname, exists
from std.reflection import source_location

from .status import Status
from .symbols import _Symbols


struct _Loader(Movable):
    """The library and its functions. Results hold a reference, so that a read after everything else has gone is refused
    and not a crash."""

    var library: OwnedDLHandle
    var symbols: _Symbols

    def __init__(out self, path: String) raises Status:
        # NODELETE: results name state words in the library's memory, which must stay readable.
        try:
            self.library = OwnedDLHandle(path, RTLD.NOW | RTLD.LOCAL | RTLD.NODELETE)
        except error:
            raise Status(Status.IO.code, String("the library can't be loaded: ", error))
        self.symbols = _Symbols(self.library, path)


struct Library(Copyable):
    """A reference to the loaded engine. Every object made from it holds one too, so any order of destruction is fine.
    """

    var _loader: ArcPointer[_Loader]

    def __init__(out self) raises Status:
        """Loads the library at `UFORM_LIBRARY`; where that isn't set, `libuform.so` beside this package; where there is
        none, `libuform.so` or `libuform.so.0` as the system finds libraries.

        Raises:
            `IO` if it can't be loaded, with what was looked for, and where. `UNSUPPORTED` if it is another library, or
            its interface has another version.
        """
        var given = getenv("UFORM_LIBRARY")
        if given:
            try:
                self._loader = ArcPointer(_Loader(given))
            except status:
                raise Status(status.code, String(status.message, "; UFORM_LIBRARY names it"))
            return
        # Right for a package of sources, which are compiled where they lie. A precompiled package remembers its
        # builder's path, so a relative one isn't trusted.
        var package = String(dirname(String(source_location().file_name())))
        var beside = String(package, "/libuform.so")
        var is_absolute = package.startswith("/")
        if is_absolute and exists(beside):
            self._loader = ArcPointer(_Loader(beside))
            return
        try:
            self._loader = ArcPointer(_Loader("libuform.so"))
        except first:
            if first != Status.IO:
                raise first
            try:
                self._loader = ArcPointer(_Loader("libuform.so.0"))
            except second:
                var why: String
                if is_absolute:
                    why = ", which isn't there"
                else:
                    why = String(
                        " beside the package, but not at a relative path: -I has to name the package's folder by an",
                        ' absolute one, as in -I "$PWD',
                        "" if dirname(package) in ("", ".") else String("/", dirname(package)),
                        '"',
                    )
                raise Status(
                    second.code,
                    String(
                        first.message,
                        "; looked for: UFORM_LIBRARY, which isn't set; ",
                        beside,
                        why,
                        "; libuform.so and libuform.so.0 where the system looks for libraries",
                    ),
                )

    def __init__(out self, path: String) raises Status:
        """Loads the library at a path.

        Args:
            path: The shared library.

        Raises:
            `IO` if it can't be loaded. `UNSUPPORTED` if it is another library, or its interface has another version.
        """
        self._loader = ArcPointer(_Loader(path))
