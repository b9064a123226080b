# expect: rows hold float32, float16, bfloat16, int8, uint8, uint32 or uint64
from uform import Arena, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var arena = Arena(library)
    var encoded = model.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    print(encoded.embeddings.values[DType.float32]()[0])
    print(encoded.embeddings.values[DType.float64]()[0])  # refused
