#!/usr/bin/env python3
"""Holds what must not compile: each file of tests/must_not_compile/ is refused for its reason, and compiles with -DPASSING.

    python3 tests/check_must_not_compile.py [--compiler g++] [--include include]

A file names its reason in a line `// REASON: a|b`: parts of an error's text, in the words of either compiler, of which
the compiler must say one. Prints what is wrong, then how many files passed and failed. Exit status 0: nothing failed.
"""

import argparse
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGLISH = dict(os.environ, LC_ALL="C")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]


def errors_of(file, options, flags):
    """The lines of errors, and their notes, that the compiler has about a file; none where it compiles."""
    command = [options.compiler, "-std=c++20", *WARNINGS, "-I", str(options.include), *flags, "-fsyntax-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=ENGLISH)
    return done.returncode, done.stderr


def check(file, options):
    """What is wrong with one file; nothing where all is well."""
    reason = re.search(r"^// REASON: (.+)$", file.read_text(encoding="utf-8"), re.M)
    if not reason:
        return "has no line `// REASON: …`"
    status, text = errors_of(file, options, ["-DPASSING"])
    if status:
        return "doesn't compile with -DPASSING either:\n" + text
    status, text = errors_of(file, options, [])
    if status == 0:
        return "compiles"
    said = "\n".join(line for line in text.splitlines() if re.search(r"\b(error|note): ", line))
    if not re.search("|".join(re.escape(part) for part in reason[1].split("|")), said):
        return f"is refused, but for another reason than {reason[1]}:\n{text}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--include", type=Path, default=ROOT / "include")
    parser.add_argument("--folder", type=Path, default=ROOT / "tests" / "must_not_compile")
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.cpp"))
    with ThreadPoolExecutor(2) as pool:
        wrong = list(pool.map(lambda file: check(file, options), files))
    for file, what in zip(files, wrong):
        if what:
            print(f"{file.name}: {what}")
    failed = sum(what is not None for what in wrong)
    print(f"{len(files) - failed} passed, {failed} failed")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
