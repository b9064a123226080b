#!/usr/bin/env python3
"""Builds and runs the C++ of the documents, so that they say what is true.

    python3 tests/check_documents.py [--compiler g++] [--document docs/arena.md]…

A block that starts with an `#include`, or is the first, stands for all that follow. Every other block is an example: the
body of a function that `check(condition)` fails and `skip(reason)` ends; an example that checks nothing fails too. All are
built into one program by each compiler that is here, and each runs in a process of its own. Prints what is wrong, then how
many passed, failed and were skipped. Exit status 0: nothing failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TINY = ROOT / "tests" / "data" / "tiny"
FLAGS = ["-std=c++20", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-pthread"]
SECONDS = 60  # for one example
SKIPPED = 77  # the exit status of an example that this machine can't show
PROLOGUE = r"""
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>
template <class Condition> void check(Condition const &condition, int line = __builtin_LINE()) {
    if (condition) return;
    std::printf("line %d doesn't hold\n", line), std::fflush(stdout), std::_Exit(1);
}
[[noreturn]] inline void skip(char const *reason) { std::printf("%s\n", reason), std::fflush(stdout), std::_Exit(77); }
"""
MAIN = r"""
int main(int, char **arguments) {
    auto const model = uform::Model::load(arguments[1]).value();
    examples[std::atoi(arguments[2])](model);
}
"""


class Block:
    """A fenced block: where it starts, the heading above it, and its code."""

    def __init__(self, line: int, heading: str, code: str) -> None:
        self.line, self.heading, self.code = line, heading, code


def blocks_of(text: str) -> list[Block]:
    blocks, heading, lines = [], "", text.splitlines()
    start = None
    for number, line in enumerate(lines, 1):
        if start is None and line.startswith("#"):
            heading = line.lstrip("# ")
        elif start is None and line.startswith("```cpp"):
            start = number + 1
        elif start is not None and line.startswith("```"):
            blocks.append(Block(start, heading, "\n".join(lines[start - 1 : number - 1])))
            start = None
    return blocks


def program_of(document: Path, blocks: list[Block]) -> tuple[str, list[Block]]:
    """One program of all blocks, and those that are examples, in order."""
    parts, examples = [PROLOGUE], []
    for block in blocks:
        place = f'#line {block.line} "{document}"\n'
        if not examples and len(parts) == 1 or block.code.startswith("#include"):
            parts.append(place + block.code)
            continue
        head = f"static void example_{len(examples)}([[maybe_unused]] uform::Model const &model) {{\n"
        parts.append(head + place + block.code + "\n}")
        examples.append(block)
    names = ", ".join(f"example_{i}" for i in range(len(examples)))
    parts.append(f"static void (*const examples[])(uform::Model const &) = {{{names}}};" + MAIN)
    return "\n".join(parts), examples


def run(command: list[object], seconds: float, **environment: str) -> tuple[int, str]:
    """The exit status and output of a command; 124 where it took too long."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=seconds,
            cwd=ROOT,
            env=dict(os.environ, **environment),
        )
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, f"is not done after {seconds} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", action="append", help="g++ and clang++, those that are here, where none is named")
    parser.add_argument("--document", action="append", type=Path)
    parser.add_argument("--include", type=Path, default=ROOT / "include")
    parser.add_argument("--flag", action="append", default=[], help="another flag for the compiler: --flag=-fsanitize=address")
    parser.add_argument("--driver", type=Path, help="a folder with a libcuda.so.1, for the examples that need a device")
    options = parser.parse_args()
    environment = {"LD_LIBRARY_PATH": str(options.driver)} if options.driver else {}
    compilers = options.compiler or [name for name in ("g++", "clang++") if shutil.which(name)]
    passed, failed, skipped = 0, 0, 0

    for document in options.document or [ROOT / "docs" / "arena.md", ROOT / "docs" / "outputs.md"]:
        program, examples = program_of(document, blocks_of(document.read_text(encoding="utf-8")))
        for compiler in compilers:
            with tempfile.TemporaryDirectory() as folder:
                source, binary = Path(folder) / "examples.cpp", Path(folder) / "examples"
                source.write_text(program, encoding="utf-8")
                status, said = run([compiler, *FLAGS, *options.flag, "-I", options.include, source, "-o", binary], 600)
                if status:
                    print(f"{document.name} doesn't compile with {compiler}:\n{said}")
                    failed += max(1, len(examples))
                    continue
                for i, block in enumerate(examples):
                    where = f"{document.name}:{block.line}, {block.heading} ({compiler})"
                    if "check(" not in block.code:
                        print(f"{where}: checks nothing")
                        failed += 1
                        continue
                    status, said = run([binary, TINY, i], SECONDS, **environment)
                    passed += status == 0
                    skipped += status == SKIPPED
                    if status == SKIPPED:
                        print(f"SKIPPED: {where}: {said.strip()}")
                    elif status != 0:
                        print(f"{where}: {said.strip() or f'ended with status {status}'}")
                        failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return int(failed > 0 or passed == 0)


if __name__ == "__main__":
    sys.exit(main())
