"""Runs the cases that every language's binding runs, and ends with the line `N passed, N failed`.

    conformance.mojo DATA_FOLDER CASES_FILE [WORD]     a WORD in a case's name runs that one alone

`tools/oracle/conformance.py` says what the words of the file mean.
"""

from std.sys import argv

from uform import (
    Activation,
    Arena,
    Cancellation,
    ClassifyOptions,
    Deferred,
    EncodeOptions,
    Encoded,
    Executor,
    Library,
    Model,
    Normalize,
    Outputs,
    RaggedRows,
    Role,
    Rows,
    Scalar,
    Status,
    Tape,
    TapeView,
    Truncate,
)
from uform.layouts import _RawRows


struct Case(Copyable):
    var id: String
    var lines: List[List[String]]

    def __init__(out self, id: String):
        self.id = id
        self.lines = []

    def has(self, word: String) -> Bool:
        for ref line in self.lines:
            if line[0] == word:
                return True
        return False

    def one(self, word: String, otherwise: String) -> String:
        for ref line in self.lines:
            if line[0] == word:
                return line[1]
        return otherwise

    def number(self, word: String) raises -> Int:
        return Int(self.one(word, "0"))

    def option(self, name: String) raises -> Int:
        for ref line in self.lines:
            if line[0] == "option" and line[1] == name:
                return Int(line[2])
        return 0

    def tape(self, word: String) raises -> Tape:
        for ref line in self.lines:
            if line[0] == "tape" and word == "texts":
                var tape = Tape()
                tape.bytes = unhex(line[1])
                tape.offsets = [UInt64(Int(offset)) for offset in line[2:]]
                return tape^
            if line[0] == word:
                var tape = Tape()
                for i in range(2, len(line)):
                    tape.append(Span(unhex(line[i])))
                if len(tape) != Int(line[1]):
                    raise Error("a line says another count than it has")
                return tape^
        return Tape()


def unhex(digits: String) raises -> List[UInt8]:
    var bytes = List[UInt8]()
    if digits == "-":
        return bytes^
    for i in range(0, digits.byte_length(), 2):
        bytes.append(UInt8(atol(digits[byte = i : i + 2], base=16)))
    return bytes^


def read_cases(path: String) raises -> List[Case]:
    var cases = List[Case]()
    var text: String
    with open(path, "r") as file:
        text = file.read()
    var is_within = False
    for part in text.split("\n"):
        if not part or part.startswith("#"):
            continue
        var words = [String(word) for word in part.split(" ")]
        if words[0] == "case":
            cases.append(Case(words[1]))
            is_within = True
        elif words[0] == "end":
            is_within = False
        elif is_within:
            cases[len(cases) - 1].lines.append(words^)
        else:
            raise Error("a line outside of every case")
    if is_within:
        raise Error("the last case has no end")
    return cases^


# ---- One call -----------------------------------------------------------------------------------------------------


def encode_options(given: Case) raises -> EncodeOptions:
    var prompt = String()
    for ref line in given.lines:
        if line[0] == "option" and line[1] == "prompt":
            prompt = String(from_utf8_lossy=Span(unhex(line[2])))
    return EncodeOptions(
        prompt=prompt,
        truncate=Truncate(Int32(given.option("truncate"))),
        dimensions=given.option("dimensions"),
        tokens_per_call=given.option("tokens_per_call"),
        normalize=Normalize(Int32(given.option("normalize"))),
        role=Role(Int32(given.option("role"))),
    )


@fieldwise_init
struct Request:
    """What a case asks for, read before the first call: a call's errors are statuses, the file's are not."""

    var verb: String
    var first: Tape
    var second: Tape
    var outputs: Outputs
    var scalar: Scalar
    var threads: Int
    var has_executor: Bool
    var is_deferred: Bool
    var encode: EncodeOptions
    var classify: ClassifyOptions

    def call(
        self, library: Library, model: Model, mut arena: Arena
    ) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
        var first = self.first.view()
        var second = self.second.view()
        if not self.has_executor:
            if self.verb == "encode":
                return model.text_encode(first, self.outputs, self.scalar, arena, self.encode)
            if self.verb == "classify":
                return model.text_classify(first, self.scalar, arena, self.classify)
            if self.verb == "classify_pairs":
                return model.text_classify(first, second, self.scalar, arena, self.classify)
            return model.text_rerank(first, second, self.scalar, arena, self.classify)
        var bound = model.on(Executor.for_ram(library, self.threads))
        if not self.is_deferred:
            if self.verb == "encode":
                return bound.text_encode(first, self.outputs, self.scalar, arena, self.encode)
            if self.verb == "classify":
                return bound.text_classify(first, self.scalar, arena, self.classify)
            if self.verb == "classify_pairs":
                return bound.text_classify(first, second, self.scalar, arena, self.classify)
            return bound.text_rerank(first, second, self.scalar, arena, self.classify)
        var deferred = bound.deferred()
        if self.verb == "encode":
            return deferred.text_encode(first, self.outputs, self.scalar, arena, self.encode).wait()
        if self.verb == "classify":
            return deferred.text_classify(first, self.scalar, arena, self.classify).wait()
        if self.verb == "classify_pairs":
            return deferred.text_classify(first, second, self.scalar, arena, self.classify).wait()
        return deferred.text_rerank(first, second, self.scalar, arena, self.classify).wait()


def sum_as[dtype: DType](rows: Rows) raises -> Float64:
    var total = Float64(0)
    var i = 0
    for value in rows.values[dtype]():
        total += value.cast[DType.float64]() * Float64(1 + i % 7)
        i += 1
    return total


def sum_of(rows: Rows) raises -> Float64:
    var scalar = rows.scalar()
    if scalar == Scalar.F32:
        return sum_as[DType.float32](rows)
    if scalar == Scalar.F16:
        return sum_as[DType.float16](rows)
    if scalar == Scalar.BF16:
        return sum_as[DType.bfloat16](rows)
    if scalar == Scalar.I8:
        return sum_as[DType.int8](rows)
    if scalar == Scalar.U32:
        return sum_as[DType.uint32](rows)
    if scalar != Scalar.B1:
        raise Error(String("a scalar that no case has: ", scalar))
    var bytes = rows.bits()
    var total = Float64(0)
    for i in range(len(rows) * rows.columns()):
        var column = i % rows.columns()
        var byte = bytes[i // rows.columns() * rows.row_stride_bytes() + column // 8]
        total += Float64(Int(byte >> UInt8(7 - column % 8)) & 1) * Float64(1 + i % 7)
    return total


def ragged[origin: ImmOrigin](encoded: Encoded[origin], output: String) raises -> RaggedRows[origin]:
    if output == "states":
        return encoded.states
    if output == "token_vectors":
        return encoded.token_vectors
    if output == "token_probabilities":
        return encoded.token_probabilities
    if output == "sparse_ids":
        return encoded.sparse_ids
    if output == "sparse_weights":
        return encoded.sparse_weights
    raise Error(String("no such output: ", output))


def flat[origin: ImmOrigin](encoded: Encoded[origin], output: String) raises -> Rows[origin]:
    if output == "embeddings":
        return encoded.embeddings
    if output == "probabilities":
        return encoded.probabilities
    return ragged(encoded, output).flat()


def expect(what: String, is_so: Bool) raises:
    if not is_so:
        raise Error(what)


def expect_numbers(what: String, values: Span[UInt32, _], line: List[String], first: Int) raises:
    expect(String(what, ": ", len(values), " values"), len(values) == len(line) - first)
    for i in range(len(values)):
        expect(String(what, "[", i, "]: ", values[i]), Int(values[i]) == Int(line[first + i]))


def expect_sum(line: List[String], rows: Rows) raises:
    var sum = sum_of(rows)
    expect(
        String("sum of ", line[1], ": ", sum, ", and it is ", line[2]),
        abs(sum - Float64(line[2])) <= Float64(line[3]),
    )


def run_call(given: Case, library: Library, data: String) raises:
    var executor = given.has("executor")
    var request = Request(
        given.one("verb", ""),
        given.tape("texts"),
        given.tape("second"),
        Outputs(UInt32(given.number("outputs"))),
        Scalar(Int32(given.number("scalar"))),
        given.number("executor"),
        executor,
        given.has("deferred"),
        encode_options(given),
        ClassifyOptions(
            truncate=Truncate(Int32(given.option("truncate"))), activation=Activation(Int32(given.option("activation")))
        ),
    )
    var model: Model
    try:
        model = Model.load(library, String(data, "/", given.one("model", "")))
    except failure:
        expect(String(failure), Int(failure.code) == given.number("status"))
        expect("a message", Bool(failure.message))
        return
    var arena = Arena(library)
    var encoded: Encoded[ImmOrigin(origin_of(arena))]
    try:
        encoded = request.call(library, model, arena)
    except failure:
        expect(String(failure), Int(failure.code) == given.number("status"))
        expect("a message", Bool(failure.message))
        return
    expect("it succeeded", given.number("status") == 0)
    expect("texts()", encoded.texts() == len(request.first) or encoded.texts() == len(request.second))
    for ref line in given.lines:
        if line[0] == "shape":
            var rows = flat(encoded, line[1])
            expect(
                String("shape of ", line[1], ": ", len(rows), " ", rows.columns()),
                len(rows) == Int(line[2]) and rows.columns() == Int(line[3]),
            )
        elif line[0] == "offsets":
            expect_numbers(String("offsets of ", line[1]), ragged(encoded, line[1]).offsets(), line, 2)
        elif line[0] == "truncated":
            expect_numbers("truncated", encoded.truncated_tokens(), line, 1)
        elif line[0] == "token_ids":
            expect_numbers("token_ids", encoded.token_ids(), line, 1)
        elif line[0] == "ids":
            expect_numbers(line[1], flat(encoded, line[1]).values[DType.uint32](), line, 2)
        elif line[0] == "sum":
            expect_sum(line, flat(encoded, line[1]))


# ---- Scenarios ----------------------------------------------------------------------------------------------------


struct Scenario(Movable):
    """A case's model, texts and answers, and what was asked so far."""

    var case_lines: List[List[String]]
    var library: Library
    var model: Model
    var tape: Tape
    var asked: List[String]

    def __init__(out self, given: Case, library: Library, data: String) raises:
        self.case_lines = given.lines.copy()
        self.library = library.copy()
        self.model = Model.load(library, String(data, "/", given.one("model", "")))
        self.tape = given.tape("texts")
        self.asked = []

    def text(self, index: Int) -> Tape:
        var one = Tape()
        one.append(Span(self.tape.bytes)[Int(self.tape.offsets[index]) : Int(self.tape.offsets[index + 1])])
        return one^

    def check(mut self, name: String, value: Int) raises:
        self.asked.append(name)
        for ref line in self.case_lines:
            if line[0] == "check" and line[1] == name:
                expect(String(name, ": ", value, ", and it should be ", line[2]), Int(line[2]) == value)
                return
        raise Error(String("the case has no check ", name))

    def check(mut self, name: String, status: Status) raises:
        expect(String(name, ": a message"), status == Status.SUCCESS or Bool(status.message))
        self.check(name, Int(status.code))

    def sum(self, name: String, rows: Rows) raises:
        for ref line in self.case_lines:
            if line[0] == "sum" and line[1] == name:
                expect_sum(line, rows)
                return
        raise Error(String("the case has no sum ", name))

    def has(self, name: String) -> Bool:
        for ref line in self.case_lines:
            if line[0] == "check" and line[1] == name:
                return True
        return False

    def finish(self) raises:
        for ref line in self.case_lines:
            if line[0] == "check":
                expect(String("the check ", line[1], " was not made"), line[1] in self.asked)


def encode(
    scenario: Scenario, tape: Tape, mut arena: Arena, options: EncodeOptions = EncodeOptions()
) raises Status -> Encoded[ImmOrigin(origin_of(arena))]:
    return scenario.model.text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, arena, options)


def submit(
    scenario: Scenario, executor: Executor, tape: Tape, mut arena: Arena
) raises Status -> Deferred[origin_of(arena)]:
    return scenario.model.on(executor).deferred().text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, arena)


def status_of_call(
    scenario: Scenario, tape: Tape, mut arena: Arena, options: EncodeOptions = EncodeOptions()
) -> Status:
    try:
        _ = encode(scenario, tape, arena, options)
    except status:
        return status
    return Status.SUCCESS


def status_of_read(rows: Rows) -> Status:
    try:
        _ = rows.values[DType.float32]()
    except status:
        return status
    return Status.SUCCESS


def stale(mut scenario: Scenario) raises:
    var arena = Arena(scenario.library)
    var first = encode(scenario, scenario.text(0), arena)
    var second = encode(scenario, scenario.text(1), arena)
    scenario.check("read_first", status_of_read(first.embeddings))
    scenario.check("read_second", status_of_read(second.embeddings))
    scenario.sum("second", second.embeddings)


def freed(mut scenario: Scenario) raises:
    var arena = Arena(scenario.library)
    var first = encode(scenario, scenario.text(0), arena)
    # A moved arena's results don't compile any more, so another takes its place in the variable.
    arena = Arena(scenario.library)
    scenario.check("read", status_of_read(first.embeddings))
    var second = encode(scenario, scenario.text(1), arena)
    scenario.check("read_again", status_of_read(first.embeddings))
    scenario.check("read_new", status_of_read(second.embeddings))
    scenario.sum("second", second.embeddings)


def busy(mut scenario: Scenario) raises:
    var executor = Executor.for_ram(scenario.library, 1)
    var arena = Arena(executor)
    var call = submit(scenario, executor, scenario.text(0), arena)
    scenario.check("submit", 0)
    var refused = Status.SUCCESS
    scenario.check("call", status_of_call(scenario, scenario.text(1), arena))
    try:
        _ = submit(scenario, executor, scenario.text(1), arena)
    except status:
        refused = status
    scenario.check("call_deferred", refused)
    var first = call^.wait()
    var pin = first.pin()  # the one that the result was born with ended with `wait`
    scenario.check("wait", 0)
    scenario.check("read", status_of_read(first.embeddings))
    scenario.sum("first", first.embeddings)
    scenario.check("call_pinned", status_of_call(scenario, scenario.text(1), arena))
    _ = pin^
    scenario.check("call_after", status_of_call(scenario, scenario.text(1), arena))
    scenario.sum("second", encode(scenario, scenario.text(1), arena).embeddings)


def dropped(mut scenario: Scenario) raises:
    var executor = Executor.for_ram(scenario.library, 1)
    var arena = Arena(executor)
    var call = submit(scenario, executor, scenario.tape, arena)
    scenario.check("submit", 0)
    arena = Arena(executor)  # frees the first one, which waits for the call
    var waited = Status.SUCCESS
    var read = Status.SUCCESS
    try:
        var all = call^.wait()
        read = status_of_read(all.embeddings)
    except status:
        waited = status
    scenario.check("wait", waited)
    scenario.check("read", read)
    scenario.check("call", status_of_call(scenario, scenario.text(0), arena))
    scenario.sum("first", encode(scenario, scenario.text(0), arena).embeddings)


def each_own(mut scenario: Scenario) raises:
    var executor = Executor.for_ram(scenario.library, 1)
    var arenas = List[Arena]()
    for _ in range(len(scenario.tape)):
        arenas.append(Arena(executor))
    var calls = List[Deferred[origin_of(arenas)]]()
    for i in range(len(arenas)):
        var call = submit(scenario, executor, scenario.text(i), arenas[i])
        calls.append(call^.unsafe_origin_cast[origin_of(arenas)]())
    for i in range(len(arenas)):
        var call = calls.pop(0)
        var encoded = call^.wait()  # a raise fails the case
        scenario.sum(String("sum_", i), encoded.embeddings)
    scenario.check("wait", 0)


def description(mut scenario: Scenario) raises:
    var plain = Arena(scenario.library).describe()
    scenario.check("residency", Int(plain.residency.value))
    scenario.check("device", Int(plain.device))
    var threads = Arena(Executor.for_ram(scenario.library, 2)).describe()
    scenario.check("executor_residency", Int(threads.residency.value))
    scenario.check("executor_device", Int(threads.device))


def device(mut scenario: Scenario) raises:
    var arena = Arena(scenario.library)
    var raw = encode(scenario, scenario.text(0), arena).embeddings._raw
    raw.residency = 1
    raw.device = 0
    var rows = Rows[ImmOrigin(origin_of(arena))](scenario.library._loader, raw)
    scenario.check("read_device", status_of_read(rows))
    var made = Status.SUCCESS
    try:
        _ = Executor.for_vram(scenario.library, 0)
    except status:
        made = status
    if made != Status.SUCCESS:
        scenario.check("executor", made)
        for name in ["describe_residency", "describe_device", "call_host", "call_device", "call_mixed"]:
            scenario.asked.append(name)
        return
    scenario.asked.append("executor")
    var executor = Executor.for_vram(scenario.library, 0)
    var vram = Arena(executor)
    scenario.check("describe_residency", Int(vram.describe().residency.value))
    scenario.check("describe_device", Int(vram.describe().device))
    scenario.check("call_host", status_of_call(scenario, scenario.text(0), vram))
    var on_device = Status.SUCCESS
    try:
        var tape = scenario.text(0)
        _ = scenario.model.on(executor).text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, vram)
    except status:
        on_device = status
    scenario.check("call_device", on_device)
    var mixed = Status.SUCCESS
    try:
        var tape = scenario.text(0)
        _ = scenario.model.on(executor).text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, arena)
    except status:
        mixed = status
    scenario.check("call_mixed", mixed)


def limit(mut scenario: Scenario) raises:
    var arena = Arena(scenario.library)
    var first = encode(scenario, scenario.text(0), arena)
    arena.set_limit(8)
    scenario.check("call", status_of_call(scenario, scenario.text(1), arena))
    scenario.check("read", status_of_read(first.embeddings))
    scenario.sum("first", first.embeddings)
    arena.set_limit(UInt64.MAX)
    scenario.check("call_after", status_of_call(scenario, scenario.text(1), arena))
    scenario.sum("second", encode(scenario, scenario.text(1), arena).embeddings)


def pinned(mut scenario: Scenario) raises:
    var arena = Arena(scenario.library)
    var first = encode(scenario, scenario.text(0), arena)
    var pin = first.embeddings.pin()
    scenario.check("pin", 0)
    scenario.check("call", status_of_call(scenario, scenario.text(1), arena))
    scenario.check("read", status_of_read(first.embeddings))
    scenario.sum("first", first.embeddings)
    _ = pin^
    scenario.check("call_after", status_of_call(scenario, scenario.text(1), arena))
    var stale_pin = Status.SUCCESS
    try:
        _ = first.embeddings.pin()
    except status:
        stale_pin = status
    scenario.check("pin_stale", stale_pin)
    scenario.sum("second", encode(scenario, scenario.text(1), arena).embeddings)


def cancelled(mut scenario: Scenario) raises:
    var arena = Arena(scenario.library)
    var first = encode(scenario, scenario.text(0), arena)
    var flag = Cancellation(scenario.library)
    flag.request()
    var options = EncodeOptions(cancellation=flag.copy())
    scenario.check("call", status_of_call(scenario, scenario.text(1), arena, options))
    scenario.check("read", status_of_read(first.embeddings))
    scenario.sum("first", first.embeddings)
    flag.reset()
    scenario.check("call_after", status_of_call(scenario, scenario.text(1), arena, options))
    scenario.sum("second", encode(scenario, scenario.text(1), arena, options).embeddings)


def own_input(mut scenario: Scenario) raises:
    var arena = Arena(scenario.library)
    var first = encode(scenario, scenario.text(0), arena)
    var bytes = len(first.embeddings) * first.embeddings.row_stride_bytes()
    # As a raw address: with its origin, it doesn't compile.
    var address = first.embeddings.unsafe_ptr().value().unsafe_bitcast[UInt8]().unsafe_origin_cast[ImmUntrackedOrigin]()
    var offsets: List[UInt64] = [0, UInt64(bytes)]
    var refused = Status.SUCCESS
    try:
        _ = scenario.model.text_encode(TapeView.of(address, offsets), Outputs.EMBEDDINGS, Scalar.F32, arena)
    except status:
        refused = status
    scenario.check("call", refused)
    scenario.check("read", status_of_read(first.embeddings))
    scenario.sum("first", first.embeddings)


def taken(mut scenario: Scenario) raises:
    var executor = Executor.for_ram(scenario.library, 1)
    var arena = Arena(executor)
    _ = submit(scenario, executor, scenario.text(0), arena).wait()
    scenario.check("wait", 0)
    scenario.asked.append("wait_again")  # doesn't compile: refused/wait_twice.mojo


def run_scenario(given: Case, library: Library, data: String) raises:
    var scenario = Scenario(given, library, data)
    var name = given.one("scenario", "")
    if name == "stale":
        stale(scenario)
    elif name == "freed":
        freed(scenario)
    elif name == "busy":
        busy(scenario)
    elif name == "dropped":
        dropped(scenario)
    elif name == "each_own":
        each_own(scenario)
    elif name == "description":
        description(scenario)
    elif name == "device":
        device(scenario)
    elif name == "limit":
        limit(scenario)
    elif name == "pinned":
        pinned(scenario)
    elif name == "cancelled":
        cancelled(scenario)
    elif name == "own_input":
        own_input(scenario)
    elif name == "taken":
        taken(scenario)
    else:
        raise Error(String("this program doesn't know the scenario ", name))
    scenario.finish()


def main() raises:
    var arguments = argv()
    var data = String(arguments[1])
    var cases = read_cases(String(arguments[2]))
    var only = String(arguments[3]) if len(arguments) > 3 else String()
    var library = Library()
    var passed = 0
    var failed = 0
    for ref given in cases:
        if only not in given.id:
            continue
        try:
            if given.has("scenario"):
                run_scenario(given, library, data)
            else:
                run_call(given, library, data)
            passed += 1
        except error:
            failed += 1
            print("FAILED:", given.id, "-", error)
    print(String(passed, " passed, ", failed, " failed"))
    if failed or not passed:
        raise Error("a case failed, or there was none")
