# expect: 'Arena' value has no attribute 'copy'
from uform import Arena, Library, Model


def use(library: Library, model: Model) raises:
    var arena = Arena(library)
    var copy = arena.copy()  # refused
    print(arena.describe().device)
