"""What a mutant is: a fault that is planted in a copy of a header, and what is known of it."""

import re
from dataclasses import dataclass, field
from typing import Optional


@dataclass(frozen=True)
class Verdict:
    """`argument`: why nobody can tell the mutant from the original; None where a test must catch it."""
    argument: Optional[str] = None


caught = Verdict()


def equivalent(argument):
    return Verdict(argument)


@dataclass(frozen=True)
class Mutant:
    """`old` stands in the file `count` times, and becomes `new`; so do the pairs of `more`, each once."""
    name: str
    old: str
    new: str
    verdict: Verdict = caught
    count: int = 1
    more: list = field(default_factory=list)

    def apply(self, text):
        """The mutated text. Raises where an old text isn't there as often as it should: the list has drifted."""
        for old, new, count in [(self.old, self.new, self.count), *((old, new, 1) for old, new in self.more)]:
            if text.count(old) != count:
                raise ValueError(f"`{self.name}`: the text to change is there {text.count(old)} times, not {count}: {old!r}")
            text = text.replace(old, new)
        return text

    def places(self, text):
        """Where in the original text it changes something, as pairs of offsets."""
        spans = []
        for old, new in [(self.old, self.new), *self.more]:
            same = 0  # what both begin with isn't changed
            while same < min(len(old), len(new)) and old[same] == new[same]:
                same += 1
            tail = 0
            while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
                tail += 1
            spans += [(found.start() + same, found.start() + len(old) - tail) for found in re.finditer(re.escape(old), text)]
        return spans


@dataclass(frozen=True)
class Group:
    """Mutants of one header, and the program that is to catch them.

    header     the file that is mutated, under include/
    mutants    the list
    sources    of the program, from the repository's root; compiled against the mutated copy
    objects    sources that don't include the header: compiled once, for all mutants
    arguments  the program's
    catch      finds in the output of a program that failed which test caught the mutant: the first group of a pattern
    orders     whether each memory order of the header that isn't relaxed must have a mutant
    options    further options of the compiler
    limit_s    seconds that the program may run
    """
    name: str
    header: str
    mutants: list
    sources: list
    catch: str
    objects: list = field(default_factory=list)
    arguments: list = field(default_factory=list)
    options: list = field(default_factory=list)
    orders: bool = False
    limit_s: int = 600
