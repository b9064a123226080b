#!/usr/bin/env python3
"""Compares the library with the reference for every family and two real models, and writes the table of it.

    compare_families.py [--only NAME ...] [--seed 5] [--write]

Makes a random checkpoint of each family with its tokenizer, asks the reference about texts in many scripts, odd texts and
bytes that are not UTF-8, one text at a time and in float64, and the library (vectors.cpp) in batches, on every instruction
set that the machine has. Prints a table of family and text set; `--write` puts it into docs/fidelity.md, between its marks,
and wants all families and the three instruction sets.

Run by build/oracle/bin/python, see README.md, after tools/fetch_model.py for all-MiniLM-L6-v2 and all-mpnet-base-v2. Exit
status 1: an id differs, or a vector by more than a mark: embeddings of unit length 2e-6; states, and embeddings that are
not, 1e-5 of their largest component.
"""

import argparse
import dataclasses
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Iterator, NamedTuple

sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
from families import FAMILIES, ROBERTA, Family, write_checkpoint  # noqa: E402
from family_tokenizers import trained  # noqa: E402
from minilm_texts import records  # noqa: E402
from reference import Reference  # noqa: E402
from script_texts import broken_texts, script_texts  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOCUMENT = ROOT / "docs" / "fidelity.md"
MARKS = ("<!-- compare_families.py: its table starts here -->", "<!-- compare_families.py: its table ends here -->")
UNIT_MARK, OTHER_MARK = 2e-6, 1e-5
PIECES = 3000
BROKEN = 200
BROKEN_EVERY = 7

BERT = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_act": "gelu",
    "hidden_size": 64,
    "intermediate_size": 144,
    "num_attention_heads": 4,
    "num_hidden_layers": 3,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}


def grown(name: str, tokenizer: str, **changes: Any) -> Family:
    """The family of the goldens, larger, and with a tokenizer."""
    size = {"dim": 64, "hidden_dim": 144} if name == "distilbert" else {"hidden_size": 64, "intermediate_size": 144}
    config = {**FAMILIES[name].config, **size, **changes.pop("config", {})}
    behind = 2 if config["pad_token_id"] == 1 else 0
    config |= {"max_position_embeddings": 128 + behind, "num_attention_heads": 4}
    return dataclasses.replace(FAMILIES[name], config=config, max_seq_length=128, tokenizer=tokenizer, **changes)


COMPARED = {
    "BERT": Family(BERT, "BertModel", tokenizer="bert", max_seq_length=128),
    "BERT, cased": Family(BERT, "BertModel", "bert.", ["cls", "max"], False, 100, tokenizer="bert-cased"),
    "DistilBERT": grown("distilbert", "distilbert"),
    "RoBERTa": grown("roberta", "roberta"),
    "CamemBERT": grown("camembert", "camembert", config={"bos_token_id": 5, "eos_token_id": 6}),
    "XLM-RoBERTa": grown("xlm-roberta", "xlm-roberta", config={"hidden_act": ROBERTA["hidden_act"], "num_hidden_layers": 2}),
    "MPNet": grown("mpnet", "mpnet"),
    "ModernBERT": grown("modernbert", "modernbert"),
    "NomicBERT": grown("nomic-bert", "bert"),
}
# The ids of all texts are compared, and the vectors of every so manieth.
RANDOM_EVERY = 3
REAL = {"all-MiniLM-L6-v2": 8, "all-mpnet-base-v2": 32}


class Answer(NamedTuple):
    """What one side says of one text; no vectors where they were not asked for."""

    ids: np.ndarray
    states: np.ndarray | None
    embedding: np.ndarray | None


class Row(NamedTuple):
    """A line of the table: one family and one set of texts."""

    name: str
    texts_name: str
    texts: int
    ids: int
    different: int  # texts
    vectors: int  # texts
    states: dict[str, float]  # by instruction set, relative to the largest component
    embeddings: dict[str, float]
    unit: bool

    def held(self) -> bool:
        mark = UNIT_MARK if self.unit else OTHER_MARK
        return (
            self.different == 0
            and all(value <= OTHER_MARK for value in self.states.values())  # NaN is not
            and all(value <= mark for value in self.embeddings.values())
        )

    def line(self) -> str:
        ids = f"{self.ids:,}, " + ("all equal" if not self.different else f"{self.different} TEXTS DIFFER")
        worst = [f"{max(values.values()):.1e}".replace("e-0", "e-") for values in (self.states, self.embeddings)]
        cells = [self.name, self.texts_name, f"{self.texts:,}", ids, f"{self.vectors:,}", worst[0]]
        return "| " + " | ".join([*cells, worst[1] + ("" if self.unit else " (relative)")]) + " |"


def text_sets() -> dict[str, list[bytes]]:
    """The texts by the name of their set, as bytes."""
    scripts = script_texts()
    odd = [record["text"].encode() if "text" in record else bytes.fromhex(record["hex"]) for record in records()]
    broken = broken_texts(scripts[::BROKEN_EVERY] + scripts[3::BROKEN_EVERY], "compared")[:BROKEN]
    return {"scripts": [text.encode() for text in scripts], "odd": odd, "not UTF-8": broken}


def asked_reference(reference: Reference, texts: list[bytes], every: int) -> list[Answer]:
    answers = []
    for number, text in enumerate(texts):
        plain = text.decode("utf-8", "replace")
        if number % every:
            answers.append(Answer(reference.ids(plain), None, None))
        else:
            answer = reference.answer(plain)
            answers.append(Answer(answer.ids, answer.states, answer.embedding))
    return answers


def asked_library(program: pathlib.Path, folder: pathlib.Path, where: str, texts: list[bytes], every: int) -> Iterator[Answer]:
    lines = "".join(("-" if number % every else "+") + text.hex() + "\n" for number, text in enumerate(texts))
    run = subprocess.run([program, folder, where], input=lines.encode(), stdout=subprocess.PIPE)
    if run.returncode:
        raise SystemExit(f"{program} {folder} {where}: exit status {run.returncode}")
    words = np.frombuffer(run.stdout, dtype="<u4")
    hidden, dimensions = (int(word) for word in words[:2])
    at = 2

    def take(count: int) -> np.ndarray:
        nonlocal at
        at += count
        if at > len(words):
            raise SystemExit(f"{program} {folder} {where}: the answer is too short")
        return words[at - count : at]

    for number in range(len(texts)):
        ids = take(int(take(1)[0]))
        if number % every:
            yield Answer(ids, None, None)
        else:
            yield Answer(ids, take(len(ids) * hidden).view("<f4").reshape(-1, hidden), take(dimensions).view("<f4"))
    if at != len(words):
        raise SystemExit(f"{program} {folder} {where}: the answer is too long")


def compared(theirs: list[Answer], ours: Iterator[Answer], unit: bool) -> tuple[int, float, float]:
    """How many texts have other ids; how far states and embeddings are apart in the others, at most."""
    different, off, scale = 0, [0.0, 0.0], [0.0, 0.0]
    for expected, answer in zip(theirs, ours, strict=True):
        if not np.array_equal(expected.ids, answer.ids):
            different += 1
            continue
        for n, (right, given) in enumerate(zip(expected[1:], answer[1:], strict=True)):
            if right is not None:
                off[n] = np.maximum(off[n], np.abs(given - right).max())  # NaN too
                scale[n] = max(scale[n], np.abs(right).max())
    return different, float(off[0] / scale[0]), float(off[1] / (1.0 if unit else scale[1]))


def compare(
    name: str, folder: pathlib.Path, every: int, unit: bool, sets: list[str], program: pathlib.Path
) -> Iterator[Row]:
    reference = Reference(folder)
    for texts_name, texts in text_sets().items():
        theirs = asked_reference(reference, texts, every)
        different, states, embeddings = 0, {}, {}
        for where in sets:
            ours = asked_library(program, folder, where, texts, every)
            now, states[where], embeddings[where] = compared(theirs, ours, unit)
            different = max(different, now)
        ids = sum(len(answer.ids) for answer in theirs)
        vectors = sum(answer.states is not None for answer in theirs)
        yield Row(name, texts_name, len(texts), ids, different, vectors, states, embeddings, unit)


def compiled() -> pathlib.Path:
    """vectors.cpp of the tree as it is, so never an old one."""
    path = ROOT / "build" / "vectors"
    path.parent.mkdir(parents=True, exist_ok=True)
    source = pathlib.Path(__file__).with_name("vectors.cpp")
    subprocess.run(["g++", "-std=c++20", "-O2", f"-I{ROOT}/include", source, "-o", path, "-pthread"], check=True)
    return path


def written(rows: list[Row], sets: list[str]) -> None:
    """Puts the table between its marks in the document."""
    whole = DOCUMENT.read_text(encoding="utf-8")
    before, rest = whole.split(MARKS[0])
    _, after = rest.split(MARKS[1])
    DOCUMENT.write_text(f"{before}{MARKS[0]}\n{table(rows, sets)}\n{MARKS[1]}{after}", encoding="utf-8")


def table(rows: list[Row], sets: list[str]) -> str:
    lines = ["| family | texts | how many | ids | with vectors | states | embeddings |", "|---|---|---|---|---|---|---|"]
    lines += [row.line() for row in rows]
    names = ", ".join(sets)
    texts = sum(row.texts for row in rows)
    wrong = sum(row.different for row in rows)
    lines += ["", f"Instruction sets: {names}; a figure is the worst of them. Texts: {texts:,}, with other ids: {wrong}."]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [*COMPARED, *REAL]
    parser.add_argument("--only", choices=names, metavar="NAME", action="append", help=f"of {'; '.join(names)}")
    parser.add_argument("--seed", type=int, default=5, help="of the random weights")
    parser.add_argument("--write", action="store_true", help="put the table into docs/fidelity.md")
    options = parser.parse_args()
    for name in REAL:
        if name in (options.only or REAL) and not (ROOT / "models" / name / "model.safetensors").exists():
            parser.error(f"a model is missing; run tools/fetch_model.py {name}")
    program = compiled()
    sets = subprocess.run([program, "sets"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    if options.write and (options.only or len(sets) != 3):
        parser.error(f"--write wants all families, and all instruction sets; here are {', '.join(sets)}")

    lines = [text for text in script_texts() if text] + [record["text"] for record in records() if "text" in record]
    rows: list[Row] = []
    for name in names:
        if options.only and name not in options.only:
            continue
        print(f"{name} …", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory() as scratch:
            folder, every, unit = ROOT / "models" / name, REAL.get(name, RANDOM_EVERY), True
            if name in COMPARED:
                family, folder = COMPARED[name], pathlib.Path(scratch)
                tokenizer = trained(family.tokenizer, lines, PIECES)
                write_checkpoint(folder, family, f"{name}/{options.seed}", tokenizer)
                unit = family.normalize
            for row in compare(name, folder, every, unit, sets, program):
                rows.append(row)
                print(row.line(), file=sys.stderr, flush=True)
    print(table(rows, sets))
    missed = [row for row in rows if not row.held()]
    for row in missed:
        print(f"MISSED: {row}")
    if options.write:  # a miss is shown too
        written(rows, sets)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
