# expect: invalid call to 'text_encode': value passed to mutable argument 'arena' must be mutable
from uform import Arena, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var arena = Arena(library)
    var encoded = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    _ = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, Arena(library))  # refused
    print(encoded.texts())
