# expect: offsets are of 4 or 8 bytes
from uform import Library, Model, TapeView


def use(library: Library, model: Model) raises:
    var wide: List[UInt32] = [0, 1]
    var narrow: List[UInt16] = [0, 1]
    print(len(TapeView.of("a".as_bytes(), wide)))
    print(len(TapeView.of("a".as_bytes(), narrow)))  # refused
