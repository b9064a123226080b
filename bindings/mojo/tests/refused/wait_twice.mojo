# expect: use of uninitialized value 'call'
from uform import Arena, Executor, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var executor = Executor.for_ram(library)
    var deferred = model.on(executor).deferred()
    var arena = Arena(executor)
    var call = deferred.text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)
    print(call^.wait().texts())
    print(call^.wait().texts())  # refused
