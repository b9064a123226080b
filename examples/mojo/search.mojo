"""Searches a file of lines by meaning: every line becomes a vector, and so does the query; the nearest are printed.

    mojo run -I "$PWD/bindings/mojo" examples/mojo/search.mojo MODEL_FOLDER FILE QUERY

`UFORM_LIBRARY` names the engine's library where it lies neither beside the package nor where the system finds it.
"""

from std.sys import argv, exit

from uform import Arena, EncodeOptions, Executor, Library, Model, Normalize, Outputs, Scalar, Status, Tape, TapeView

comptime lines_a_call = 256
comptime shown = 5


def lines_of(path: String) raises -> List[String]:
    var text: String
    with open(path, "r") as file:
        text = file.read()
    var lines = List[String]()
    for line in text.split("\n"):
        if line.strip():
            lines.append(String(line.strip()))
    return lines^


def dot(a: Span[Float32, _], b: Span[Float32, _]) -> Float32:
    comptime width = 8
    var sums = SIMD[DType.float32, width](0)
    var i = 0
    while i + width <= len(a):
        sums += a.unsafe_ptr().unsafe_load[width=width](i) * b.unsafe_ptr().unsafe_load[width=width](i)
        i += width
    var sum = sums.reduce_add()
    while i < len(a):
        sum += a[i] * b[i]
        i += 1
    return sum


def search(folder: String, lines: List[String], query: String) raises Status:
    var library = Library()
    var executor = Executor.for_ram(library)  # as many threads as the process may use
    var model = Model.load(library, folder).on(executor)
    var options = EncodeOptions(normalize=Normalize.ON)  # so that a dot product is a cosine, whatever the model
    var question = Arena(executor)
    var asked = model.text_encode(TapeView.of(query), Outputs.EMBEDDINGS, Scalar.F32, question, options)
    var wanted = asked.embeddings.values[DType.float32]()

    var arena = Arena(executor)  # one for all calls: it grows to the largest, and then nothing is allocated
    var tape = Tape()
    var scores = List[Float32]()
    while len(scores) < len(lines):
        tape.assign(Span(lines)[len(scores) : min(len(scores) + lines_a_call, len(lines))])
        var encoded = model.text_encode(tape.view(), Outputs.EMBEDDINGS, Scalar.F32, arena, options)
        for i in range(encoded.texts()):
            scores.append(dot(encoded.embeddings.row[DType.float32](i), wanted))

    for _ in range(min(shown, len(lines))):
        var best = 0
        for i in range(len(scores)):
            if scores[i] > scores[best]:
                best = i
        print(round(scores[best], 3), " ", lines[best])
        scores[best] = -2  # below every cosine


def main() raises:
    var arguments = argv()
    if len(arguments) != 4:
        print("usage: search MODEL_FOLDER FILE QUERY")
        exit(2)
    var lines = lines_of(String(arguments[2]))
    try:
        search(String(arguments[1]), lines, String(arguments[3]))
    except status:
        print("search:", status)
        exit(1)
