# expect: use of uninitialized value 'arena'
from uform import Arena, Executor, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var executor = Executor.for_ram(library)
    var deferred = model.on(executor).deferred()
    var arena = Arena(executor)
    var call = deferred.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    var other = arena^
    print(call.ready())  # refused
    print(other.describe().device)
