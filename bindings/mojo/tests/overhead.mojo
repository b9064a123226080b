"""What a call costs through this package, beside the same call of the C interface. Prints figures; passes or fails
nothing.

    mojo build -I bindings/mojo -o overhead bindings/mojo/tests/overhead.mojo && ./overhead MODEL_FOLDER
"""

from std.benchmark import keep
from std.sys import argv, size_of
from std.time import perf_counter_ns

from uform import Arena, Library, Model, Outputs, Scalar, TapeView
from uform.layouts import _Nullable, _RawEncodeOptions, _RawEncoded
from uform.status import _Message

comptime runs = 1000  # short ones, of which the fastest counts: a busy machine interrupts long ones
comptime calls = 20
comptime reads = 2_000


def main() raises:
    var library = Library()
    var model = Model(library, String(argv()[1]))
    var arena = Arena(library)
    var none: List[UInt32] = [0]
    var tape = TapeView.of("".as_bytes(), none)  # no texts: nothing but the call itself
    var options = _RawEncodeOptions[ImmStaticOrigin](
        UInt64(size_of[_RawEncodeOptions[ImmStaticOrigin]]()), None, 0, 0, 0, 0, 0, 0, 0, None
    )
    ref symbols = library._loader[].symbols
    var of_c = UInt(1) << 62
    var of_mojo = of_c
    for _ in range(runs):
        var start = perf_counter_ns()
        for _ in range(calls):
            var encoded = _RawEncoded()
            var message = _Message()
            keep(
                symbols.text_encode(
                    model._shared[].handle,
                    None,
                    Pointer(to=tape),
                    Outputs.EMBEDDINGS.flags,
                    Scalar.F32.value,
                    arena._handle,
                    Pointer(to=options),
                    encoded,
                    message,
                )
            )
            keep(encoded.texts)
        of_c = min(of_c, UInt(perf_counter_ns() - start))
        start = perf_counter_ns()
        for _ in range(calls):
            keep(model.text_encode(tape, Outputs.EMBEDDINGS, Scalar.F32, arena).texts())
        of_mojo = min(of_mojo, UInt(perf_counter_ns() - start))
    print("a call of no texts: C", Float64(of_c) / calls, "ns, Mojo", Float64(of_mojo) / calls, "ns")

    var encoded = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    of_c = UInt(1) << 62
    of_mojo = of_c
    for _ in range(runs):
        var start = perf_counter_ns()
        for _ in range(reads):
            var data = _Nullable()
            var message = _Message()
            keep(symbols.rows_values(Pointer(to=encoded.embeddings._raw), Scalar.F32.value, data, message))
            keep(data)
        of_c = min(of_c, UInt(perf_counter_ns() - start))
        start = perf_counter_ns()
        for _ in range(reads):
            keep(encoded.embeddings.values[DType.float32]().unsafe_ptr())
        of_mojo = min(of_mojo, UInt(perf_counter_ns() - start))
    print("rows.values: C", Float64(of_c) / reads, "ns, Mojo", Float64(of_mojo) / reads, "ns")
