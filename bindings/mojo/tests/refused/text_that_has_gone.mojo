# expect: use of uninitialized value 'tape'
from uform import Library, Model, Tape


def use(library: Library, model: Model) raises:
    var tape = Tape(["a", "bc"])
    var view = tape.view()
    print(len(view))
    var other = tape^
    print(len(view))  # refused
    print(len(other))
