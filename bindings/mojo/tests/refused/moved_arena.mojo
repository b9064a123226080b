# expect: use of uninitialized value 'arena'
from uform import Arena, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var arena = Arena(library)
    var encoded = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var other = arena^
    print(encoded.embeddings.columns())  # refused
    print(other.describe().device)
