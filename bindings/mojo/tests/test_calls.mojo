"""Models, tokenizers, tapes and results: values against the reference, and each misuse with its words."""

from std.os import getenv
from std.testing import TestSuite, assert_equal, assert_false, assert_raises, assert_true

from uform import (
    Activation,
    Arena,
    ClassifyOptions,
    EncodeOptions,
    Executor,
    InstructionSet,
    Library,
    LoadOptions,
    Model,
    Normalize,
    Outputs,
    Residency,
    Rows,
    Scalar,
    Similarity,
    Status,
    Tape,
    TapeView,
    Tokenizer,
    Truncate,
)


def _folder(name: String) -> String:
    return String(getenv("UFORM_DATA"), "/", name)


def _golden(folder: String, tensor: String, count: Int) raises -> List[Float32]:
    """The first floats of a tensor in a folder's golden.safetensors, which the reference made."""
    var bytes: List[UInt8]
    with open(_folder(folder + "/golden.safetensors"), "r") as file:
        bytes = file.read_bytes()
    var header = 0
    for i in range(8):
        header |= Int(bytes[i]) << (8 * i)
    var text = String(from_utf8_lossy=Span(bytes)[8 : 8 + header])
    var entry = String(text.split(String('"', tensor, '":{'))[1])
    var begin = atol(entry.split('"data_offsets":[')[1].split(",")[0])
    var values = List[Float32]()
    for i in range(count):
        var word = UInt32(0)
        for j in range(4):
            word |= UInt32(bytes[8 + header + begin + 4 * i + j]) << UInt32(8 * j)
        values.append(Pointer(to=word).unsafe_bitcast[Float32]()[])
    return values^


def test_embeddings_are_the_reference_s() raises:
    var library = Library()
    var model = Model.load(library, _folder("tiny"))
    var arena = Arena(library)
    # The first five lines of its texts.jsonl.
    var tape = Tape(
        ["", "a", "the model", "The search of a vector.", "It is not the same query, but it is like this one."]
    )
    var encoded = model.text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var golden = _golden("tiny", "embeddings", 5 * 48)
    var values = encoded.embeddings.values[DType.float32]()
    assert_equal(len(values), len(golden))
    for i in range(len(golden)):
        assert_true(abs(values[i] - golden[i]) <= 2e-6, String(i, ": ", values[i], " is not ", golden[i]))
    # The same rows, one at a time, with SIMD loads from where they lie.
    var row = encoded.embeddings.row[DType.float32](4)
    assert_equal(row.unsafe_ptr().unsafe_load[width=8](16), values.unsafe_ptr().unsafe_load[width=8](4 * 48 + 16))


def test_the_bits_do_not_depend_on_the_batch() raises:
    var library = Library()
    var model = Model.load(library, _folder("tiny"))
    var one = Arena(library)
    var two = Arena(library)
    var executor = Executor.for_ram(library, threads=2)
    assert_equal(executor.threads(), 2)
    var tape = Tape(["a vector", "the model"])
    var together = model.on(executor).text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, one)
    var alone = model.text_encode(TapeView.of("the model"), Outputs.EMBEDDINGS, Scalar.F32, two)
    var a = together.embeddings.row[DType.float32](1)
    var b = alone.embeddings.row[DType.float32](0)
    for i in range(48):
        assert_equal(a[i], b[i])


def test_what_a_model_says_of_itself() raises:
    var library = Library()
    var tiny = Model(library, _folder("tiny"))
    assert_equal(tiny.dimensions(), 48)  # of its config.json, as the rest
    assert_equal(tiny.hidden_size(), 48)
    assert_true(Outputs.EMBEDDINGS | Outputs.STATES in tiny.outputs())
    assert_true(tiny.normalizes())
    assert_true(tiny.similarity() == Similarity.COSINE)
    assert_true(tiny.instruction_set() != InstructionSet.BEST)
    assert_equal(len(tiny.labels()), 0)
    var portable = Model(library, _folder("tiny"), LoadOptions(instruction_set=InstructionSet.PORTABLE))
    assert_true(portable.instruction_set() == InstructionSet.PORTABLE)
    var classifier = Model(library, _folder("outputs/bert-classifier"))
    assert_equal(len(classifier.labels()), 3)
    assert_true("no modules.json" in classifier.warnings()[0], classifier.warnings()[0])
    assert_true(String("query") in tiny.prompts())
    with open(_folder("outputs/bert-classifier/config.json"), "r") as file:
        var config = file.read()
        for label in classifier.labels():
            assert_true(String('"', label, '"') in config, label)


def test_tokens() raises:
    var library = Library()
    var tokenizer = Model(library, _folder("tiny")).tokenizer()
    # The reference's ids for this text.
    var expected: List[UInt32] = [2, 195, 327, 196, 49, 323, 18, 3]
    assert_true(tokenizer.encode("The search of a vector.") == expected)
    assert_equal(tokenizer.count("The search of a vector."), 8)
    assert_equal(tokenizer.decode(expected), "the search of a vector.")
    assert_equal(tokenizer.special_tokens(), 2)
    assert_true(tokenizer.encode("") == [UInt32(2), UInt32(3)])
    assert_equal(tokenizer.token(195).value(), "the")
    assert_equal(tokenizer.id("the").value(), 195)
    assert_false(tokenizer.token(1 << 30))
    assert_false(tokenizer.id("no such token as this"))
    assert_true(tokenizer.vocabulary_size() > 327)
    var marked = tokenizer.decode(expected, skip_special=False)
    assert_true("[CLS]" in marked and "[SEP]" in marked, marked)
    # A text whose tokens outnumber its bytes is tried again with room.
    var long = String()
    for _ in range(1000):
        long += "vector "
    assert_equal(len(tokenizer.encode(long)), tokenizer.count(long))
    assert_equal(tokenizer.decode(tokenizer.encode(long)).byte_length(), 6999)
    with assert_raises(contains="io: /nowhere"):
        _ = Tokenizer.load(library, "/nowhere")


def test_tapes_of_every_kind() raises:
    var library = Library()
    var model = Model(library, _folder("tiny"))
    var tokenizer = model.tokenizer()
    var arena = Arena(library)
    var text = "the modela vector"
    var bytes = text.as_bytes()
    var o32: List[UInt32] = [0, 9, 17]
    var o64: Array[UInt64, 3] = [0, 9, 17]
    var i32: Array[Int32, 3] = [0, 9, 17]
    var i64: List[Int64] = [0, 9, 17]
    var expected = List[UInt32]()
    for each in ["the model", "a vector"]:
        expected.extend(tokenizer.encode(each))

    for kind in range(7):
        var tape = TapeView.of(bytes, o32)
        var ids: List[UInt32]
        if kind == 0:
            ids = List(model.text_encode(tape, Outputs.STATES, Scalar.F32, arena).token_ids())
        elif kind == 1:
            var view = TapeView.of(bytes, o64)
            ids = List(model.text_encode(view, Outputs.STATES, Scalar.F32, arena).token_ids())
        elif kind == 2:
            var view = TapeView.of(bytes, i32)
            ids = List(model.text_encode(view, Outputs.STATES, Scalar.F32, arena).token_ids())
        elif kind == 3:
            var view = TapeView.of(bytes, i64)
            ids = List(model.text_encode(view, Outputs.STATES, Scalar.F32, arena).token_ids())
        elif kind == 4:  # what a device's buffer would hand out, offsets on the host
            var address = text.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin]()
            var view = TapeView.of(address, o32)
            ids = List(model.text_encode(view, Outputs.STATES, Scalar.F32, arena).token_ids())
        elif kind == 5:
            var view = TapeView.of(text.unsafe_ptr(), 17, o64)
            ids = List(model.text_encode(view, Outputs.STATES, Scalar.F32, arena).token_ids())
        else:
            var owned = Tape(["the model"])
            owned.append("a vector")
            assert_equal(len(owned), 2)
            ids = List(model.text_encode(owned.view(), Outputs.STATES, Scalar.F32, arena).token_ids())
        assert_true(ids == expected, String("kind ", kind))


def test_tapes_that_can_not_be() raises:
    var library = Library()
    var model = Model(library, _folder("tiny"))
    var arena = Arena(library)
    var none = List[UInt32]()
    with assert_raises(contains="invalid_argument: offsets: none, and N texts have N + 1"):
        _ = TapeView.of("ab".as_bytes(), none)
    with assert_raises(contains="invalid_argument: offsets: none"):
        _ = TapeView.of("ab".ptr(), none)
    var falling: List[UInt32] = [0, 2, 1]
    with assert_raises(contains="invalid_argument: "):
        _ = model.text_encode(TapeView.of("ab".as_bytes(), falling), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var past: List[UInt64] = [0, 3]
    with assert_raises(contains="invalid_argument: "):
        _ = model.text_encode(TapeView.of("ab".as_bytes(), past), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var negative: List[Int32] = [0, -1]
    with assert_raises(contains="invalid_argument: "):
        _ = model.text_encode(TapeView.of("ab".as_bytes(), negative), Outputs.EMBEDDINGS, Scalar.F32, arena)
    with assert_raises(contains="invalid_argument: size: -1 bytes"):
        _ = TapeView.of("ab".ptr(), negative)
    var nothing: List[UInt32] = [0]
    var empty = model.text_encode(TapeView.of("".as_bytes(), nothing), Outputs.EMBEDDINGS, Scalar.F32, arena)
    assert_equal(len(empty.embeddings.values[DType.float32]()), 0)
    assert_equal(empty.embeddings.columns(), 48)
    assert_equal(empty.texts(), 0)


def test_reads_that_can_not_be() raises:
    var library = Library()
    var model = Model(library, _folder("tiny"))
    var arena = Arena(library)
    var encoded = model.text_encode(TapeView.of("the model"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    with assert_raises(contains="invalid_argument: the rows hold f32, and f16 was asked for"):
        _ = encoded.embeddings.values[DType.float16]()
    with assert_raises(contains="invalid_argument: the rows hold f32, and b1 was asked for"):
        _ = encoded.embeddings.bits()
    with assert_raises(contains="invalid_argument: "):
        _ = encoded.embeddings.row[DType.float32](1)
    with assert_raises(contains="invalid_argument: "):
        _ = encoded.embeddings.row[DType.float32](-1)
    with assert_raises(contains="invalid_argument: the call was not asked for these rows"):
        _ = encoded.states.flat().values[DType.float32]()
    with assert_raises(contains="invalid_argument: the call was not asked for these rows"):
        _ = encoded.states.offsets()
    with assert_raises(contains="invalid_argument: the call was not asked for these rows"):
        _ = encoded.token_ids()
    with assert_raises(contains="invalid_argument: the call was not asked for these rows"):
        _ = encoded.states.pin()
    with assert_raises(contains="invalid_argument: the call was not asked for these rows"):
        _ = encoded.states.at(0)
    with assert_raises(contains="invalid_argument: the call was not asked for these rows"):
        _ = encoded.probabilities.row[DType.float32](0)
    var copy = List[Float32]()
    with assert_raises(contains="invalid_argument: the call was not asked for these rows"):
        encoded.probabilities.copy_to(copy)
    assert_equal(encoded.states.flat().columns(), 0)
    var states = model.text_encode(TapeView.of("the model"), Outputs.STATES, Scalar.F32, arena).states
    assert_equal(len(states), 1)
    assert_equal(len(states.at(0)), 4)
    with assert_raises(contains="invalid_argument: "):
        _ = states.at(1)
    with assert_raises(contains="invalid_argument: "):
        _ = states.at(-1)
    with assert_raises(contains="invalid_argument: "):
        states.flat().stream_wait(OpaquePointer[MutUntrackedOrigin].unsafe_dangling())


def test_host_reads_of_device_rows() raises:
    var library = Library()
    var model = Model(library, _folder("tiny"))
    var arena = Arena(library)
    var raw = model.text_encode(TapeView.of("the model"), Outputs.EMBEDDINGS, Scalar.F32, arena).embeddings._raw
    raw.residency = Residency.VRAM.value
    raw.device = 0
    var rows = Rows[ImmOrigin(origin_of(arena))](library._loader, raw)
    with assert_raises(contains="device: rows: in a device's memory, which the host can't read"):
        _ = rows.values[DType.float32]()
    with assert_raises(contains="device: "):
        _ = rows.row[DType.float32](0)
    assert_true(rows.unsafe_ptr())  # for another library
    assert_true(rows.residency() == Residency.VRAM)


def test_a_device_that_is_not_there() raises:
    var library = Library()
    with assert_raises(contains="unsupported: "):
        _ = Executor.for_vram(library, 4000)
    with assert_raises(contains="invalid_argument: threads: -1 is below 0"):
        _ = Executor.for_ram(library, -1)
    with assert_raises(contains="invalid_argument: "):
        _ = Executor.for_ram(library, 1).stream()
    assert_equal(Executor.for_ram(library, 1).describe().device, -1)


def test_options() raises:
    var library = Library()
    var model = Model(library, _folder("tiny"))
    var arena = Arena(library)
    var cut = model.text_encode(
        TapeView.of("the model"), Outputs.EMBEDDINGS, Scalar.F32, arena, EncodeOptions(dimensions=8)
    )
    assert_equal(cut.embeddings.columns(), 8)
    var norm = Float32(0)
    for value in cut.embeddings.values[DType.float32]():
        norm += value * value
    assert_true(abs(norm - 1) < 1e-5)
    with assert_raises(contains="invalid_argument: options.dimensions: -1 is below 0"):
        _ = model.text_encode(
            TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena, EncodeOptions(dimensions=-1)
        )
    with assert_raises(contains="invalid_argument: options.tokens_per_call: -5 is below 0"):
        _ = model.text_encode(
            TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena, EncodeOptions(tokens_per_call=-5)
        )
    with assert_raises(contains="no such prompt"):
        _ = model.text_encode(
            TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena, EncodeOptions(prompt="no such prompt")
        )
    with assert_raises(contains="invalid_argument: options.truncate"):
        _ = model.text_encode(
            TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena, EncodeOptions(truncate=Truncate(9))
        )
    var long = String()
    for _ in range(1000):
        long += "vector "
    with assert_raises(contains="invalid_argument: "):
        _ = model.text_encode(
            TapeView.of(long), Outputs.EMBEDDINGS, Scalar.F32, arena, EncodeOptions(truncate=Truncate.REFUSE)
        )
    var whole = model.text_encode(TapeView.of(long), Outputs.EMBEDDINGS, Scalar.F32, arena)
    assert_equal(
        Int(whole.truncated_tokens()[0]), model.tokenizer().count(long) - model.max_sequence_length()
    )


def test_loads_that_can_not_be() raises:
    var library = Library()
    with assert_raises(contains="io: /nowhere: no such folder"):
        _ = Model.load(library, "/nowhere")
    with assert_raises(contains="invalid_argument: "):
        _ = Model.load(library, "")
    with assert_raises(contains="unsupported: "):
        _ = Model.load(library, _folder("tiny"), LoadOptions(compute=Scalar.I8))
    with assert_raises(contains="invalid_argument: options.compute"):
        _ = Model.load(library, _folder("tiny"), LoadOptions(compute=Scalar(99)))


def test_narrow_scalars() raises:
    var library = Library()
    var model = Model(library, _folder("tiny"))
    var wide = Arena(library)
    var narrow = Arena(library)
    var text = TapeView.of("the model")
    var f32 = model.text_encode(text, Outputs.EMBEDDINGS, Scalar.F32, wide).embeddings.values[DType.float32]()
    var encoded = model.text_encode(text, Outputs.EMBEDDINGS, Scalar.F16, narrow)
    assert_equal(encoded.embeddings.row_stride_bytes(), 96)
    assert_true(encoded.embeddings.scalar() == Scalar.F16)
    for i in range(48):
        assert_equal(encoded.embeddings.values[DType.float16]()[i], f32[i].cast[DType.float16]())
    var bits = model.text_encode(text, Outputs.EMBEDDINGS, Scalar.B1, narrow)
    assert_equal(len(bits.embeddings.bits()), 6)
    for i in range(48):
        var bit = Int(bits.embeddings.bits()[i // 8] >> UInt8(7 - i % 8)) & 1
        assert_equal(bit, 1 if f32[i] > 0 else 0)


def test_probabilities_sum_to_one() raises:
    var library = Library()
    var model = Model(library, _folder("outputs/bert-classifier"))
    var arena = Arena(library)
    var first = Tape(["a", "the model"])
    var second = Tape(["b", "a vector"])
    var pairs = model.text_classify(
        first.view(), second.view(), Scalar.F32, arena, ClassifyOptions(activation=Activation.SOFTMAX)
    )
    assert_equal(len(pairs.probabilities), 2)
    assert_equal(pairs.probabilities.columns(), 3)
    for i in range(2):
        var sum = Float32(0)
        for value in pairs.probabilities.row[DType.float32](i):
            sum += value
        assert_true(abs(sum - 1) < 1e-5)
    second.append("one too many")
    with assert_raises(contains="invalid_argument: "):
        _ = model.text_classify(first.view(), second.view(), Scalar.F32, arena)
    with assert_raises(contains="unsupported: "):
        _ = Model(library, _folder("tiny")).text_classify(first.view(), Scalar.F32, arena)


def main() raises:
    TestSuite.discover_tests[__functions_in_module()]().run()
