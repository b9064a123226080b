# expect: use of invalidated interior reference 'arena["outputs"]'
from uform import Arena, Executor, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var executor = Executor.for_ram(library)
    var bound = model.on(executor)
    var arena = Arena(executor)
    var encoded = bound.text_encode(TapeView.of("a"), Outputs.STATES, Scalar.F32, arena)
    var offsets = encoded.states.offsets()
    print(offsets[0])
    var call = bound.deferred().text_encode(TapeView.of("b"), Outputs.STATES, Scalar.F32, arena)
    print(offsets[0])  # refused
    print(call.ready())
