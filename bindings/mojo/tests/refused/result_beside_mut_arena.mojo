# expect: aliasing values passed immutably to 'encoded' argument and passed mutably to 'arena' argument
from uform import Arena, Encoded, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var arena = Arena(library)
    var encoded = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    use_both(encoded, 0)
    use_both(encoded, arena)  # refused


def use_both(encoded: Encoded, mut arena: Arena):
    pass


def use_both(encoded: Encoded, unused: Int):
    pass
