#!/usr/bin/env python3
"""Runs the example programs as a user would, and holds what they print.

    check_examples.py FOLDER      where the programs were built

The compiler of `examples/arena_alone.cpp` is $CXX, or c++. Prints what is wrong, then how many passed, failed and were skipped. Exit status 0: nothing failed.
"""

import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TINY = ROOT / "tests" / "data" / "tiny"
CORPUS = """The cat sat on the warm windowsill and watched the birds.
Quarterly revenue grew by nine percent.

The volcano erupted and covered the village in ash.
A recipe for bread: flour, water, salt and patience.
"""


def model() -> pathlib.Path | None:
    """The folder of all-MiniLM-L6-v2, where it was fetched."""
    folder = pathlib.Path(os.environ.get("UFORM_MODEL_FOLDER") or ROOT / "models" / "all-MiniLM-L6-v2")
    return folder if (folder / "model.safetensors").exists() else None


def neighbours_on_circle() -> list[str]:
    """What own_verb finds: which of twelve points on a circle are at a squared distance of 0.3 from each of three."""
    angle = lambda i, count: 2 * math.pi * i / count
    apart = lambda a, b: (math.cos(a) - math.cos(b)) ** 2 + (math.sin(a) - math.sin(b)) ** 2
    found = [[j for j in range(12) if apart(angle(i, 3), angle(j, 12)) <= 0.3] for i in range(3)]
    return [f"query {i}: {' '.join(map(str, ids))}" for i, ids in enumerate(found)]


def includes(file: pathlib.Path) -> list[str]:
    """All headers that a file takes in, as the compiler finds them."""
    compiler = os.environ.get("CXX", "c++").split()
    status, made, said = run(*compiler, "-std=c++20", "-I", ROOT / "include", "-M", file)
    return made.replace("\\\n", " ").split()[1:] if status == 0 else [said]


def run(*command: object, typed: str = "") -> tuple[int, str, str]:
    done = subprocess.run([str(part) for part in command], input=typed, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


def main() -> int:
    programs = pathlib.Path(sys.argv[1])
    results: list[bool] = []
    without_usearch = 0

    def check(what: str, holds: bool, seen: object) -> None:
        results.append(holds)
        if not holds:
            print(f"{what}: {seen}")

    seen = run(programs / "arena_alone")
    check("arena_alone", seen[0] == 0 and seen[1].count("divides 12") == 6 and "stale" in seen[1], seen)
    file = ROOT / "examples" / "arena_alone.cpp"
    used = includes(file)
    foreign = [name for name in used if re.search(r"rapidjson|/uform/(model|encode|executor|json|text/|kernels/|checkpoint/)", name)]
    check("arena_alone needs no model", any(name.endswith("uform/arena.hpp") for name in used) and not foreign, foreign or used)
    lines = len(file.read_text(encoding="utf-8").splitlines())
    check("arena_alone is short", lines < 40, lines)

    seen = run(programs / "own_verb")
    check("own_verb: what is near", seen[0] == 0 and seen[1].splitlines()[:3] == neighbours_on_circle(), seen)
    for folder in ([], [TINY]):
        seen = run(programs / "own_verb", *folder)
        for words in ("own arena: a reader holds .*corpus is current", "limit: .* limit is 16, .*found is current", "next call .*found is stale"):
            check(f"own_verb {folder}: {words}", seen[0] == 0 and len(re.findall(words, seen[1])) == 1, seen)
    check("own_verb: equal texts", seen[1].splitlines()[:2] == ["query 0: 0 2", "query 1: 3"], seen)

    first = re.compile(r"(\d+) rows.*, the first starts with (\S+?);?(?: |$)", re.M)
    seen, plain = run(programs / "pipeline", TINY), run(programs / "loop", TINY)
    for way in ("handles", "coroutine"):
        lines = "\n".join(line for line in seen[1].splitlines() if line.startswith(way))
        check(f"pipeline: {way} answer what the loop does", len(first.findall(lines)) == 4 and first.findall(lines) == first.findall(plain[1]), (seen, plain))
    check("pipeline: an arena that is read", seen[0] == 0 and "is read: a reader holds the arena's rows" in seen[1], seen)

    seen = run(programs / "token_states", TINY, "a", "the model")
    check("token_states", seen[0] == 0 and "text 1: 4 tokens, 0 cut" in seen[1] and seen[1].count("  id ") == 7, seen)
    seen = run(programs / "loop", TINY)
    check("loop", seen[0] == 0 and seen[1].count("32 rows of 48") == 3 and "4 rows of 48" in seen[1], seen)
    outputs = TINY.parent / "outputs"
    with tempfile.TemporaryDirectory() as folder:
        corpus = pathlib.Path(folder) / "corpus.txt"
        corpus.write_text(CORPUS, encoding="utf-8")
        score = re.compile(r"^ *(-?\d+\.\d+) +", re.M)
        seen = run(programs / "late_interaction", outputs / "colbert-stanford", corpus, "the cat", CORPUS.splitlines()[0])
        scores = [float(found) for found in score.findall(seen[1])]
        falls = len(scores) == 6 and scores[:3] == sorted(scores[:3], reverse=True) and scores[3:] == sorted(scores[3:], reverse=True)
        check("late_interaction: three hits a query, the best first", seen[0] == 0 and falls, seen)
        check("late_interaction: a text finds itself", CORPUS.splitlines()[0] in seen[1].split("> ")[2].splitlines()[1], seen)
        seen = run(programs / "rerank", TINY, outputs / "bert-reranker", corpus, "the cat")
        scores = [float(found) for found in score.findall(seen[1])]
        check("rerank: all candidates, the best first", seen[0] == 0 and len(scores) == 4 and scores == sorted(scores, reverse=True), seen)
        check("rerank: says where each stood", sorted(re.findall(r"was +(\d+)", seen[1])) == ["1", "2", "3", "4"], seen)
        seen = run(programs / "zero_shot", outputs / "bert-classifier", corpus, "pets", "money")
        check("zero_shot: no label of entailment", seen[0] == 1 and "entailment" in seen[2], seen)
        entails = pathlib.Path(folder) / "entails"
        shutil.copytree(outputs / "bert-classifier", entails)
        config = (entails / "config.json").read_text(encoding="utf-8")
        (entails / "config.json").write_text(config.replace("neutral", "Entailment"), encoding="utf-8")
        for kind in (TINY, entails):
            seen = run(programs / "zero_shot", kind, corpus, "pets", "money")
            check(f"zero_shot {kind.name}", seen[0] == 0 and len(re.findall(r"^ *-?\d\.\d+  (pets|money) ", seen[1], re.M)) == 4, seen)
        seen = run(programs / "narrow_search", TINY, ROOT / "README.md")
        kept = {name: float(share) for name, share in re.findall(r"^(i8|b1): .* (\d+\.\d) %", seen[1], re.M)}
        check("narrow_search: eight bits keep nearly all, one bit many", seen[0] == 0 and kept["i8"] > 90 and 30 < kept["b1"] < kept["i8"], seen)
    usearch = programs / "usearch_index"
    if usearch.exists() and model():
        seen = run(usearch, model(), ROOT / "README.md", "what the arena promises")
        check("usearch_index: rows where they are", seen[0] == 0 and "rows of 384 bytes" in seen[1] and "arena" in seen[1].splitlines()[1].lower(), seen)
    else:
        print("SKIPPED: usearch_index: USearch's headers or all-MiniLM-L6-v2 were not fetched")
        without_usearch = 1
    for command in (["late_interaction"], ["rerank", TINY], ["zero_shot", TINY], ["narrow_search"], ["loop"], ["pipeline"], ["token_states", TINY], ["semantic_search", TINY], ["semantic_search", TINY, "x", "--top", "y"]):
        seen = run(programs / command[0], *command[1:])
        check(f"usage of {command}", seen[0] == 2 and "usage" in seen[2], seen)

    search = programs / "semantic_search"
    with tempfile.TemporaryDirectory() as folder:
        corpus = pathlib.Path(folder) / "corpus.txt"
        corpus.write_text(CORPUS, encoding="utf-8")
        seen = run(search, TINY, folder + "/none.txt")
        check("a file that isn't there", seen[0] == 1 and "none.txt" in seen[2], seen)
        seen = run(search, folder, corpus)
        check("a folder that isn't a model", seen[0] == 1 and "config.json" in seen[2], seen)
        seen = run(search, TINY, corpus, "--paragraphs", "--query", "the model")
        check("paragraphs", seen[0] == 0 and seen[1].count("corpus.txt:") == 2 and "corpus.txt:4" in seen[1], seen)
        skipped = without_usearch
        if folder_of_model := model():
            seen = run(search, folder_of_model, corpus, "--query", "a pet looking outside", "--query", "baking", "--top", "1")
            lines = [line for line in seen[1].splitlines() if "corpus.txt:" in line]
            found = [line.rsplit(":", 1)[1] for line in lines]
            check("queries on the command line", seen[0] == 0 and found == ["1", "5"], seen)
            seen = run(search, folder_of_model, corpus, "--top", "1", typed="eruption of a mountain\n\nearnings\n")
            found = [line.rsplit(":", 1)[1] for line in seen[1].splitlines() if "corpus.txt:" in line]
            check("queries that are typed", seen[0] == 0 and found == ["4", "2"], seen)
        else:
            skipped += 2
            print("SKIPPED: all-MiniLM-L6-v2 was not fetched: semantic_search on it")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, {skipped} skipped")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
