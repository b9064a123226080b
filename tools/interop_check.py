#!/usr/bin/env python3
"""Reads exported rows with libraries that know nothing of this one: NumPy by DLPack, PyArrow by Arrow's C data interface.

    python3 tools/interop_check.py LIBRARY      the shared library that tests/interop_exports.cpp makes

Needs numpy and pyarrow. Prints what is wrong, then how many checks passed and failed. Exit status 0: nothing failed.
"""

import ctypes
import gc
import struct
import sys

import numpy
import pyarrow

SCALARS = ["f32", "f16", "bf16", "i8", "b1", "u8", "u32", "u64"]
NUMPY = {"f32": "<f4", "f16": "<f2", "i8": "i1", "u8": "u1", "u32": "<u4", "u64": "<u8"}
ARROW = {
    "f32": pyarrow.float32(),
    "f16": pyarrow.float16(),
    "i8": pyarrow.int8(),
    "u8": pyarrow.uint8(),
    "u32": pyarrow.uint32(),
    "u64": pyarrow.uint64(),
}
UNSUPPORTED = 5
counts = {True: 0, False: 0}


def check(holds, what):
    counts[bool(holds)] += 1
    if not holds:
        print(f"failed: {what}")


class Library:
    """The functions of tests/interop_exports.cpp."""

    def __init__(self, path):
        c, functions = ctypes, ctypes.CDLL(path)
        declare = {
            "make": (c.c_void_p, []),
            "free": (None, [c.c_void_p]),
            "publish": (c.c_int, [c.c_void_p, c.c_int, c.c_void_p, c.c_size_t, c.c_size_t, c.c_char_p]),
            "data": (c.c_void_p, [c.c_void_p]),
            "to_dlpack": (c.c_void_p, [c.c_void_p, c.c_int]),
            "to_arrow": (c.c_int, [c.c_void_p, c.c_void_p, c.c_void_p]),
            "texts_to_arrow": (c.c_int, [c.c_void_p, c.c_void_p, c.c_void_p]),
        }
        for name, (answer, arguments) in declare.items():
            function = getattr(functions, "interop_" + name)
            function.restype, function.argtypes = answer, arguments
            setattr(self, name, function)


def expected(scalar, rows, columns):
    """The bytes that are published, and what NumPy makes of them: finite numbers of both signs, none of them alike."""
    count = rows * columns
    if scalar in NUMPY:
        kind = numpy.dtype(NUMPY[scalar])
        values = numpy.arange(count) if kind.kind == "u" else numpy.arange(count) - count // 2
        if kind.kind == "f":
            values = values / 8
        values = values.astype(kind).reshape(rows, columns)
        return values.tobytes(), values
    size = rows * -(-columns // 8) if scalar == "b1" else count * 2
    return bytes((i * 29 + 3) % 251 for i in range(size)), None


class Tensor:
    """What numpy.from_dlpack asks for a capsule."""

    def __init__(self, address, versioned):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = new(address, b"dltensor_versioned" if versioned else b"dltensor", None)

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **_):
        return self.capsule


class Exporter:
    """An arena with published rows, freed at the end of a `with`, or before."""

    def __init__(self, library, scalar, lengths, columns):
        self.library, self.address = library, library.make()
        self.offsets = (ctypes.c_uint32 * (len(lengths) + 1))(*(sum(lengths[:i]) for i in range(len(lengths) + 1)))
        self.scalar, self.lengths, self.columns = scalar, lengths, columns
        self.bytes, self.values = expected(scalar, sum(lengths), columns)
        check(self.publish(), f"{scalar}: publishes")

    def publish(self):
        code = SCALARS.index(self.scalar)
        return self.library.publish(self.address, code, self.offsets, len(self.lengths), self.columns, self.bytes)

    def data(self):
        return self.library.data(self.address)

    def free(self):
        if self.address:
            self.library.free(self.address)
        self.address = None

    def arrow(self, texts):
        """The array as PyArrow imports it, or the status of the refusal."""
        schema, array = (ctypes.c_char * 72)(), (ctypes.c_char * 80)()
        function = self.library.texts_to_arrow if texts else self.library.to_arrow
        if status := function(self.address, schema, array):
            return status
        imported = pyarrow.Array._import_from_c(ctypes.addressof(array), ctypes.addressof(schema))
        check(struct.unpack_from("P", schema, 56)[0] == 0, "PyArrow has released or moved the schema")
        check(struct.unpack_from("P", array, 64)[0] == 0, "PyArrow has moved the array")
        return imported

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free()


def check_numpy(library, scalar, rows, columns, versioned):
    """NumPy sees the same values at the same address, and lets go of them."""
    what = f"numpy, {scalar}, [{rows}, {columns}], {'version 1' if versioned else 'older'}"
    with Exporter(library, scalar, [rows], columns) as exporter:
        seen = numpy.from_dlpack(Tensor(library.to_dlpack(exporter.address, versioned), versioned))
        check(seen.dtype == numpy.dtype(NUMPY[scalar]), f"{what}: the type is {seen.dtype}")
        check(seen.shape == (rows, columns), f"{what}: the shape is {seen.shape}")
        check(numpy.array_equal(seen, exporter.values), f"{what}: the values")
        if seen.size:
            check(seen.ctypes.data == exporter.data(), f"{what}: the address")
            check(not versioned or not seen.flags.writeable, f"{what}: it may only be read")
        check(not exporter.publish(), f"{what}: the arena is held")
        part = seen[:, : columns // 2]
        del seen
        gc.collect()
        check(not exporter.publish(), f"{what}: the arena is held by a part")
        del part
        gc.collect()
        check(exporter.publish(), f"{what}: the arena is let go")


def check_arrow(library, scalar, lengths, columns, texts):
    """PyArrow sees the same values at the same address, and lets go of them."""
    what = f"pyarrow, {scalar}, {lengths} of {columns}, {'texts' if texts else 'rows'}"
    rows = sum(lengths)
    with Exporter(library, scalar, lengths, columns) as exporter:
        seen = exporter.arrow(texts)
        if scalar == "bf16":
            check(seen == UNSUPPORTED, f"{what}: refused")
            return check(exporter.publish(), f"{what}: the arena is free")
        check(isinstance(seen, pyarrow.Array), f"{what}: imported, or status {seen}")
        seen.validate(full=True)
        width = -(-columns // 8)
        kind = pyarrow.binary(width) if scalar == "b1" else pyarrow.list_(ARROW[scalar], columns)
        check(seen.type == (pyarrow.list_(kind) if texts else kind), f"{what}: the type is {seen.type}")
        check(len(seen) == (len(lengths) if texts else rows), f"{what}: {len(seen)} long")
        check(seen.null_count == 0, f"{what}: nulls")
        if texts:
            check(seen.offsets.to_pylist() == list(exporter.offsets), f"{what}: the offsets")
        inner = seen.values if texts else seen
        if scalar == "b1":
            plain, values = inner, [exporter.bytes[i * width : (i + 1) * width] for i in range(rows)]
            check(inner.to_pylist() == values, f"{what}: the values")
        else:
            plain, values = inner.values, exporter.values
            check(inner.to_pylist() == values.tolist(), f"{what}: the values")
        if rows and columns:
            check(plain.buffers()[1].address == exporter.data(), f"{what}: the address")
        check(not exporter.publish(), f"{what}: the arena is held")
        del seen, inner
        gc.collect()
        check(not exporter.publish(), f"{what}: the arena is held by the child")
        exporter.free()
        check(len(plain.to_pylist()) == (rows if scalar == "b1" else rows * columns), f"{what}: read after the end")
        if scalar != "b1":
            check(plain.to_pylist() == values.reshape(-1).tolist(), f"{what}: the values after the end")
        del plain
    with Exporter(library, scalar, lengths, columns) as exporter:
        seen = exporter.arrow(texts)
        del seen
        gc.collect()
        check(exporter.publish(), f"{what}: the arena is let go")


def main():
    library = Library(sys.argv[1])
    for scalar in NUMPY:
        for versioned in (True, False):
            for rows, columns in ((3, 5), (1, 1), (0, 4), (200, 64)):
                check_numpy(library, scalar, rows, columns, versioned)
    with Exporter(library, "b1", [3], 12) as exporter:
        check(library.to_dlpack(exporter.address, True) is None, "DLPack refuses b1")
    for scalar in SCALARS:
        for texts in (False, True):
            for lengths, columns in (([2, 0, 3], 5), ([1], 1), ([0], 4), ([], 4), ([70, 30, 100], 64)):
                check_arrow(library, scalar, lengths, columns, texts)
    print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


if __name__ == "__main__":
    sys.exit(main())
