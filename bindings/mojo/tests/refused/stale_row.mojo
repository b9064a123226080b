# expect: use of invalidated interior reference 'arena["outputs"]'
from uform import Arena, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var arena = Arena(library)
    var encoded = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var rows = encoded.embeddings.row[DType.float32](0)
    print(rows[0])
    _ = model.text_encode(TapeView.of("b"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    print(rows[0])  # refused
