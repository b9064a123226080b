#!/usr/bin/env python3
"""Runs the search of `examples/c` as a user would, and holds what it prints.

    check_example.py PROGRAM
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
TINY = ROOT / "tests" / "data" / "tiny"
LINES = [
    "The cat sat on the warm windowsill and watched the birds.",
    "Quarterly revenue grew by nine percent.",
    "",
    "The volcano erupted and covered the village in ash.",
    "A recipe for bread: flour, water, salt and patience.",
]


def run(*command: object) -> tuple[int, str, str]:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


def main() -> int:
    program = sys.argv[1]
    results: list[bool] = []
    skipped = 0

    def check(what: str, holds: bool, seen: object) -> None:
        results.append(holds)
        if not holds:
            print(f"{what}: {seen}")

    with tempfile.TemporaryDirectory() as folder:
        corpus = pathlib.Path(folder) / "corpus.txt"
        for ending in ("", "\n", "\n\n"):
            corpus.write_text("\n".join(LINES) + ending, encoding="utf-8")
            seen = run(program, TINY, corpus, LINES[3], LINES[0])
            hits = re.findall(r"^  (-?\d\.\d{3})  (.*)$", seen[1], re.M)
            check("three lines for each query", seen[0] == 0 and len(hits) == 6, seen)
            check("a line finds itself", [hits[0], hits[3]] == [("1.000", LINES[3]), ("1.000", LINES[0])], seen)
            scores = [float(score) for score, _ in hits]
            check("the best first", scores[:3] == sorted(scores[:3], reverse=True) and scores[3:] == sorted(scores[3:], reverse=True), seen)
        corpus.write_text("one line", encoding="utf-8")
        seen = run(program, TINY, corpus, "one line")
        check("a file of one line", seen[0] == 0 and seen[1] == "> one line\n  1.000  one line\n", seen)
        seen = run(program, folder, corpus, "x")
        check("a folder that isn't a model", seen[0] == 1 and "config.json" in seen[2], seen)
        seen = run(program, TINY, corpus / "none", "x")
        check("a file that isn't there", seen[0] == 1 and "none can't be read: " in seen[2], seen)
        seen = run(program, TINY, folder, "x")
        check("a folder in place of the file", seen[:2] == (1, "") and seen[2] == f"{folder} can't be read: Is a directory\n", seen)
        for nothing in ("", "\n\n"):
            corpus.write_text(nothing, encoding="utf-8")
            seen = run(program, TINY, corpus, "x")
            check("a file without a text", seen[:2] == (1, "") and f"{corpus} has no text" in seen[2], seen)
        seen = run(program)
        check("usage", seen[0] == 2 and "usage" in seen[2], seen)
        real = pathlib.Path(os.environ.get("UFORM_MODEL_FOLDER") or ROOT / "models" / "all-MiniLM-L6-v2")
        if (real / "model.safetensors").exists():
            corpus.write_text("\n".join(LINES), encoding="utf-8")
            seen = run(program, real, corpus, "a pet looking outside", "baking", "eruption of a mountain")
            best = re.findall(r"^> .*\n  \d\.\d{3}  (.*)$", seen[1], re.M)
            check("the meaning is found", best == [LINES[0], LINES[4], LINES[3]], seen)
        else:
            skipped = 1
            print("SKIPPED: all-MiniLM-L6-v2 was not fetched")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, {skipped} skipped")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
