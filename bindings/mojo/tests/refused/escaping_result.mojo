# expect: cannot implicitly convert
from uform import Arena, Encoded, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    print(escape(library, model).embeddings.columns())  # refused
    print(model.dimensions())


def escape(library: Library, model: Model) raises -> Encoded[ImmUntrackedOrigin]:  # refused
    var arena = Arena(library)  # refused
    return model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)  # refused
