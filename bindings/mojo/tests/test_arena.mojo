"""The arena's contract, as Mojo shows it: what is refused when it is read, and what keeps what alive."""

from std.memory import ArcPointer, OwnedPointer
from std.os import getenv
from std.testing import TestSuite, assert_equal, assert_false, assert_raises, assert_true

from uform import (
    Arena,
    Encoded,
    Executor,
    Library,
    Model,
    Outputs,
    Residency,
    Rows,
    Scalar,
    Status,
    Tape,
    TapeView,
)


def _model(library: Library) raises -> Model:
    return Model.load(library, String(getenv("UFORM_DATA"), "/tiny"))


def _encode(
    model: Model, text: String, mut arena: Arena
) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
    return model.text_encode(TapeView.of(text), Outputs.EMBEDDINGS, Scalar.F32, arena)


def _status(rows: Rows) -> Status:
    try:
        _ = rows.values[DType.float32]()
    except status:
        return status
    return Status.SUCCESS


def _copied(rows: Rows) raises -> List[Float32]:
    var copy = List[Float32]()
    rows.copy_to(copy)
    return copy^


def test_descriptions() raises:
    var library = Library()
    var arena = Arena(library)
    var host = arena.describe()
    assert_true(host.residency == Residency.RAM)
    assert_equal(host.device, -1)
    assert_equal(arena.capacity(), 0)  # nothing is allocated until a call writes
    assert_equal(arena.limit(), UInt64.MAX)
    assert_equal(Arena(Executor.for_ram(library, 2)).describe().device, -1)


def test_a_stale_read_raises_invalid_argument() raises:
    var library = Library()
    var model = _model(library)
    var arena = Arena(library)
    var first = _encode(model, "the model", arena)
    assert_true(first.embeddings.is_current())
    var second = _encode(model, "a vector", arena)
    assert_false(first.embeddings.is_current())
    assert_true(second.embeddings.is_current())
    var status = _status(first.embeddings)
    assert_true(status == Status.INVALID_ARGUMENT)
    assert_true("stale" in status.message, status.message)
    with assert_raises(contains="invalid_argument: "):
        _ = first.embeddings.row[DType.float32](0)
    with assert_raises(contains="invalid_argument: "):
        _ = _copied(first.embeddings)
    with assert_raises(contains="invalid_argument: "):
        _ = first.truncated_tokens()
    with assert_raises(contains="invalid_argument: "):
        _ = first.pin()
    # Shapes may be read always.
    assert_equal(len(first.embeddings), 1)
    assert_equal(first.embeddings.columns(), 48)


def test_a_refused_call_leaves_the_results() raises:
    var library = Library()
    var model = _model(library)
    var arena = Arena(library)
    var first = _encode(model, "the model", arena)
    var before = _copied(first.embeddings)
    with assert_raises(contains="invalid_argument: "):
        _ = model.text_encode(TapeView.of("a"), Outputs(64), Scalar.F32, arena)
    assert_true(_copied(first.embeddings) == before)


def test_another_arena_in_the_same_variable() raises:
    var library = Library()
    var model = _model(library)
    var arena = Arena(library)
    var first = _encode(model, "the model", arena)
    arena = Arena(library)
    assert_true(_status(first.embeddings) == Status.INVALID_ARGUMENT)
    _ = _encode(model, "the model", arena)
    assert_true(_status(first.embeddings) == Status.INVALID_ARGUMENT)


def test_another_library_in_the_same_variable() raises:
    # A result holds the functions that check it, whatever became of the arena that it was bound to.
    var library = Library()
    var model = _model(library)
    var arena = Arena(library)
    var first = _encode(model, "the model", arena)
    arena = Arena(Library(getenv("UFORM_RECORDER")))
    _ = library^
    _ = model^
    assert_true(_status(first.embeddings) == Status.INVALID_ARGUMENT)


def _sum(rows: Span[Float32, _]) -> Float32:
    var sum = Float32(0)
    for value in rows:
        sum += value
    return sum


def test_spans_and_addresses_keep_their_arena() raises:
    var library = Library()
    var model = _model(library)
    var named = Arena(library)
    var sum = _sum(_encode(model, "the model", named).embeddings.values[DType.float32]())
    # Each arena is named for the last time in the call; a freed one refuses, and its pages are gone.
    var first = Arena(library)
    assert_equal(_sum(_encode(model, "the model", first).embeddings.values[DType.float32]()), sum)
    var second = Arena(library)
    var address = _encode(model, "the model", second).embeddings.unsafe_ptr().value()
    assert_equal(address.unsafe_bitcast[Float32]()[], _copied(_encode(model, "the model", named).embeddings)[0])
    var third = Arena(library)
    var rows = _encode(model, "the model", third).embeddings
    assert_true(rows.is_current())


def test_arenas_behind_references() raises:
    var library = Library()
    var model = _model(library)
    var shared = ArcPointer(Arena(library))
    var same = shared
    var first = _encode(model, "the model", shared[])
    _ = _encode(model, "a vector", same[])  # the run-time check sees what the compiler can't
    assert_true(_status(first.embeddings) == Status.INVALID_ARGUMENT)
    var second = _encode(model, "the model", shared[])
    _ = same^
    shared = ArcPointer(Arena(library))  # frees the first one
    assert_true(_status(second.embeddings) == Status.INVALID_ARGUMENT)
    var owned = OwnedPointer(Arena(library))
    assert_true(_encode(model, "the model", owned[]).embeddings.is_current())
    var maybe = Optional(Arena(library))
    assert_true(_encode(model, "the model", maybe.value()).embeddings.is_current())


def test_arenas_in_a_list() raises:
    var library = Library()
    var model = _model(library)
    var arenas = List[Arena]()
    for _ in range(3):
        arenas.append(Arena(library))
    for i in range(3):
        var rows = _encode(model, String("text ", i), arenas[i]).embeddings
        assert_equal(len(rows.values[DType.float32]()), 48)


def test_limits_and_room() raises:
    var library = Library()
    var model = _model(library)
    var arena = Arena(library)
    arena.reserve(1 << 20)
    assert_true(arena.capacity() >= 1 << 20)
    var first = _encode(model, "the model", arena)
    arena.set_limit(8)
    assert_equal(arena.limit(), 8)
    with assert_raises(contains="out_of_memory: "):
        _ = _encode(model, "a vector", arena)
    assert_true(first.embeddings.is_current())
    with assert_raises(contains="out_of_memory: "):
        arena.reserve(1 << 30)
    arena.set_limit(UInt64.MAX)
    arena.trim()
    assert_true(arena.capacity() < 1 << 20)
    assert_true(first.embeddings.is_current())


def test_a_pin_holds_the_bytes() raises:
    var library = Library()
    var model = _model(library)
    var arena = Arena(library)
    var first = _encode(model, "the model", arena)
    var before = _copied(first.embeddings)
    var pin = first.pin()
    with assert_raises(contains="contended: "):
        _ = _encode(model, "a vector", arena)
    var address = (
        first.embeddings.unsafe_ptr().value().unsafe_bitcast[Float32]().unsafe_origin_cast[ImmUntrackedOrigin]()
    )
    _ = arena^  # pinned bytes outlive their arena
    assert_equal(address[], before[0])
    _ = pin^


def test_a_deferred_call_holds_its_arena() raises:
    var library = Library()
    var model = _model(library)
    var executor = Executor.for_ram(library, 1)
    var arena = Arena(executor)
    var texts = Tape(["the model", "a vector", "the search"])
    var call = model.on(executor).deferred().text_encode(texts.view(), Outputs.EMBEDDINGS, Scalar.F32, arena)
    texts = Tape(["nothing of this"])  # the inputs were consumed
    with assert_raises(contains="contended: "):
        _ = _encode(model, "a vector", arena)
    with assert_raises(contains="contended: "):
        arena.trim()
    assert_true(call.wait_for(60_000_000_000))
    assert_true(call.ready())
    assert_false(call.cancel())  # too late
    # Born pinned: no other call comes between its end and the first read.
    with assert_raises(contains="contended: "):
        _ = _encode(model, "a vector", arena)
    var encoded = call^.wait()
    assert_equal(len(encoded.embeddings), 3)
    assert_equal(_copied(encoded.embeddings)[0], _copied(_encode(model, "the model", arena).embeddings)[0])
    var dropped = model.on(executor).deferred().text_encode(texts.view(), Outputs.EMBEDDINGS, Scalar.F32, arena)
    _ = dropped^  # waits
    _ = _encode(model, "a vector", arena)


def test_a_call_that_is_taken_back() raises:
    var library = Library()
    var model = _model(library)
    var executor = Executor.for_ram(library, 1)
    var busy = Arena(executor)
    var arena = Arena(executor)
    var old = _encode(model, "the model", arena)
    var texts = Tape()
    for _ in range(40):
        texts.append("time time time time time time time time time time time")
    var deferred = model.on(executor).deferred()
    var long = deferred.text_encode(texts.view(), Outputs.STATES, Scalar.F32, busy)
    var call = deferred.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    assert_true(call.cancel())
    assert_true(call.ready())
    with assert_raises(contains="cancelled: "):
        _ = call^.wait()
    assert_true(old.embeddings.is_current())
    assert_equal(long^.wait().texts(), 40)


def main() raises:
    TestSuite.discover_tests[__functions_in_module()]().run()
