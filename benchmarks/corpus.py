"""What the benchmarks read: English texts of a real mix of lengths, texts of many languages, and tokenizers.

English is the documentation behind `help()` and the docstrings of the standard library, which every Python
installation carries: sentences that people wrote for people. Other languages are the texts of tests/data. Nothing is
stored here; the same interpreter gives the same texts.
"""

import ast
import collections
import json
import math
import pathlib
import pydoc_data.topics
import random
import re
import sys
import sysconfig
from typing import Callable, Iterator

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORTUNES = pathlib.Path("/usr/share/games/fortunes")  # of Debian, where it is installed
SHORTEST, LONGEST = 10, 256  # tokens, special ones included
LONGEST_PIECE = 16  # characters, of Unigram's pieces


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


def stored_texts() -> list[str]:
    """The texts of many scripts and kinds that the tests read, each on one line."""
    texts: list[str] = []
    for name in ("text", "minilm"):
        lines = (ROOT / "tests" / "data" / name / "texts.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n")
        texts += [value["text"] for value in map(json.loads, lines) if "text" in value]  # not those that aren't UTF-8
    return [text.replace("\n", " ") for text in texts if text]


def english_texts() -> list[str]:
    """All sentences of this Python's documentation, and Debian's fortunes where they are installed."""
    texts = [sentence for document in documents() for sentence in prose(document)]
    for path in sorted(path for path in FORTUNES.glob("*") if path.suffix == ""):
        texts += (" ".join(part.split()) for part in path.read_text(encoding="utf-8").split("\n%\n"))
    return [text for text in dict.fromkeys(texts) if text]


def mixed(size: int) -> list[str]:
    """About `size` bytes of texts, half of them English and half of all languages, each of one to eight such parts.

    The sources are smaller: each is shuffled and read again until it is enough.
    """
    source = random.Random(7)
    pools = [stored_texts(), english_texts()]
    left: list[list[str]] = [[], []]
    written = [0, 0]
    texts: list[str] = []
    while sum(written) < size:
        parts = []
        for _ in range(source.randint(1, 8)):
            pool = 0 if written[0] < written[1] else 1
            if not left[pool]:
                left[pool] = source.sample(pools[pool], len(pools[pool]))
            parts.append(left[pool].pop())
            written[pool] += len(parts[-1].encode())
        texts.append(" ".join(parts))
    return texts


def invented_words() -> Iterator[str]:
    """Words without end, put together from beginnings of the words of all languages."""
    source = random.Random(3)
    words = sorted({word for text in stored_texts() for word in text.split() if word.isalpha()})
    while True:
        yield "".join(source.choice(words)[: source.randint(1, 3)] for _ in range(source.choice((1, 2, 2, 3, 3, 4))))


def learnt_pairs(kind: str, pieces: int, texts: list[str]) -> dict:
    """A tokenizer.json of byte-level BPE as RoBERTa or ModernBERT have it, learnt from texts and invented words."""
    sys.path.append(str(ROOT / "tools" / "oracle"))
    import family_tokenizers

    invented = invented_words()
    lines = texts + [" ".join(next(invented) for _ in range(20)) for _ in range(pieces // 4)]
    return family_tokenizers.trained(kind, lines, pieces)


def counted_pieces(pieces: int, texts: list[str]) -> dict:
    """A tokenizer.json of Unigram as XLM-R has it, with that model's character map.

    The pieces are the parts of words that texts have most of, each worth the logarithm of its share, and then invented
    words at the end of that list: a vocabulary of the right size and shape, though of no use to a model.
    """
    value = json.loads((ROOT / "tests" / "data" / "text" / "xlm-roberta" / "tokenizer.json").read_text(encoding="utf-8"))
    counts: collections.Counter[str] = collections.Counter()
    for word, count in collections.Counter("\u2581" + word for text in texts for word in text.split()).items():
        for first in range(len(word)):
            for end in range(first + 1, min(len(word), first + LONGEST_PIECE) + 1):
                counts[word[first:end]] += count
    total = sum(counts.values())
    special = {token["content"] for token in value["added_tokens"]}
    first, last = value["model"]["vocab"][:4], value["model"]["vocab"][-1]
    common = sorted(counts, key=lambda piece: (-counts[piece] * len(piece), piece))[: pieces * 4 // 5]
    scores = {piece: math.log(counts[piece] / total) for piece in common if piece not in special}
    least = min(scores.values())
    for word in invented_words():
        if len(scores) == pieces - len(first) - 1:
            break
        scores.setdefault("\u2581" + word, least - 1)
    value["model"]["vocab"] = [*first, *([piece, score] for piece, score in scores.items()), last]
    for token in value["added_tokens"]:
        if token["content"] == last[0]:
            token["id"] = pieces - 1
    return value


def make_tokenizers(folder: pathlib.Path) -> list[pathlib.Path]:
    """Tokenizers as large as published ones, a folder each; made where they aren't there yet."""
    texts = [*stored_texts(), *english_texts()]
    makers: dict[str, Callable[[], dict]] = {
        "roberta-50000": lambda: learnt_pairs("roberta", 49_995, texts),
        "modernbert-50000": lambda: learnt_pairs("modernbert", 49_987, texts),
        "xlm-roberta-250000": lambda: counted_pieces(250_000, texts),
    }
    for name, make_value in makers.items():
        path = folder / name / "tokenizer.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            print(f"making {path}", file=sys.stderr)
            path.write_text(json.dumps(make_value(), ensure_ascii=False), encoding="utf-8")
    return [folder / name for name in makers]
