#!/usr/bin/env python3
"""Runs the example programs as a user would, and holds what they print.

    check_examples.py FOLDER      where the programs were built

Prints what is wrong, then how many passed, failed and were skipped. Exit status 0: nothing failed.
"""

import os
import pathlib
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


def run(*command: object, typed: str = "") -> tuple[int, str, str]:
    done = subprocess.run([str(part) for part in command], input=typed, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


def main() -> int:
    programs = pathlib.Path(sys.argv[1])
    results: list[bool] = []

    def check(what: str, holds: bool, seen: object) -> None:
        results.append(holds)
        if not holds:
            print(f"{what}: {seen}")

    seen = run(programs / "arena_alone")
    check("arena_alone", seen[0] == 0 and seen[1].count("divides 12") == 6 and "stale" in seen[1], seen)
    seen = run(programs / "token_states", TINY, "a", "the model")
    check("token_states", seen[0] == 0 and "text 1: 4 tokens, 0 cut" in seen[1] and seen[1].count("  id ") == 7, seen)
    seen = run(programs / "loop", TINY)
    check("loop", seen[0] == 0 and seen[1].count("32 rows of 48") == 3 and "4 rows of 48" in seen[1], seen)
    for command in (["loop"], ["token_states", TINY], ["semantic_search", TINY], ["semantic_search", TINY, "x", "--top", "y"]):
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
        skipped = 0
        if folder_of_model := model():
            seen = run(search, folder_of_model, corpus, "--query", "a pet looking outside", "--query", "baking", "--top", "1")
            lines = [line for line in seen[1].splitlines() if "corpus.txt:" in line]
            found = [line.rsplit(":", 1)[1] for line in lines]
            check("queries on the command line", seen[0] == 0 and found == ["1", "5"], seen)
            seen = run(search, folder_of_model, corpus, "--top", "1", typed="eruption of a mountain\n\nearnings\n")
            found = [line.rsplit(":", 1)[1] for line in seen[1].splitlines() if "corpus.txt:" in line]
            check("queries that are typed", seen[0] == 0 and found == ["4", "2"], seen)
        else:
            skipped = 2
            print("SKIPPED: all-MiniLM-L6-v2 was not fetched: semantic_search on it")
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, {skipped} skipped")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
