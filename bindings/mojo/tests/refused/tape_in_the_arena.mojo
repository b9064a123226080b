# expect: aliasing values passed immutably to 'texts' argument and passed mutably to 'arena' argument
from uform import Arena, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var arena = Arena(library)
    var other = Arena(library)
    var encoded = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var rows = encoded.embeddings.values[DType.float32]()
    var offsets: List[UInt32] = [0, 4]
    var tape_of_rows = TapeView.of(rows.unsafe_ptr().unsafe_bitcast[UInt8](), offsets)
    _ = model.text_encode(tape_of_rows, Outputs.EMBEDDINGS, Scalar.F32, other)
    _ = model.text_encode(tape_of_rows, Outputs.EMBEDDINGS, Scalar.F32, arena)  # refused
