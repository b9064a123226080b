# expect: cannot implicitly convert
from uform import Arena, BoundModel, Deferred, Executor, Library, Model, Outputs, Scalar, TapeView


def use(library: Library, model: Model) raises:
    var executor = Executor.for_ram(library)
    var bound = model.on(executor)
    print(escape(executor, bound).ready())  # refused
    _ = bound.deferred()


def escape(executor: Executor, model: BoundModel) raises -> Deferred[MutUntrackedOrigin]:  # refused
    var arena = Arena(executor)  # refused
    return model.deferred().text_encode(TapeView.of("a"), Outputs.EMBEDDINGS, Scalar.F32, arena)  # refused
