"""English texts of a real mix of lengths, taken from the prose that every Python installation carries.

The source is the documentation behind `help()` and the docstrings of the standard library: sentences that people wrote
for people. Nothing is stored here; the same interpreter gives the same texts.
"""

import ast
import pathlib
import pydoc_data.topics
import random
import re
import sysconfig
from typing import Callable, Iterator

SHORTEST, LONGEST = 10, 256  # tokens, special ones included


def prose(document: str) -> Iterator[str]:
    """The sentences of a document's paragraphs, without code, tables and headings."""
    for paragraph in re.split(r"\n\s*\n", document):
        lines = [line.strip() for line in paragraph.strip().split("\n")]
        text = " ".join(lines)
        letters = sum(character.isalpha() or character in " ,." for character in text)
        if len(text) < 40 or letters < 0.93 * len(text) or not re.search(r"[.!?]$", text):
            continue
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z])", text)


def documents() -> Iterator[str]:
    topics = pydoc_data.topics.topics
    for name in sorted(topics):
        yield topics[name]
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(library.glob("*.py")) + sorted(library.glob("[a-z]*/*.py")):
        if {"test", "tests", "idle_test", "site-packages"} & set(path.relative_to(library).parts):
            continue
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (SyntaxError, UnicodeDecodeError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield ast.get_docstring(node) or ""


def make(count: int, tokens_of: Callable[[str], int]) -> list[str]:
    """`count` texts of SHORTEST to LONGEST tokens: runs of neighbouring sentences, most of them short, a few long."""
    source = random.Random(42)
    seen: set[str] = set()
    texts: list[str] = []
    pending: list[str] = []
    target = 0.0
    for document in documents():
        for sentence in prose(document):
            if sentence in seen:
                continue
            seen.add(sentence)
            target = target or source.lognormvariate(2.4, 1.05)  # words
            pending.append(sentence)
            if sum(len(part.split()) for part in pending) < target:
                continue
            text, pending, target = " ".join(pending), [], 0.0
            if SHORTEST <= tokens_of(text) <= LONGEST:
                texts.append(text)
            if len(texts) == count:
                return texts
    raise SystemExit(f"this Python's documentation gives only {len(texts)} texts; ask for fewer with --texts")
