#!/usr/bin/env python3
"""Holds what must not compile: each file of tests/must_not_compile/ is refused for its reason, and compiles with -DPASSING.

    python3 tests/check_must_not_compile.py [--compiler g++] [--include include]

Lines of a file say what is expected of it:

    // REASON: a|b        parts of an error's text, in the words of either compiler, of which each error must have one
    // COMPILER: clang    only this family of compilers sees it; under another its lines are skipped
    // WARNS              warnings, which only a build with -Werror refuses: without, it must compile
    … // REFUSED          each line that ends so must be refused, and no other; without them, the file once

An error, with its notes, must fit a tall screen of 50 lines. Prints what is wrong, then how many passed, failed and were
skipped: each refused line counts, and each file's twin. Exit status 0: nothing failed.
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
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]
SCREEN = 50  # lines
ERROR = re.compile(r"\berror: ")
# What a compiler says before an error, of where it is.
CONTEXT = re.compile(r"^In file included from |^ +from |: In [\w ]+ '|: In instantiation of |: +required (from|by|for) ")


def compile(file, options, *flags):
    """The compiler's exit status, and what it says of a file."""
    command = [options.compiler, "-std=c++20", *WARNINGS, "-I", str(options.include), *flags, "-fsyntax-only", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", env=ENGLISH)
    return done.returncode, done.stderr


def errors_of(file, text):
    """Each error as its lines, its notes among them, with the line of the file that it is about; 0: it follows from another."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if ERROR.search(line)]
    for k, start in enumerate(starts):
        if k == 0:
            starts[k] = 0
        while starts[k] > 0 and CONTEXT.search(lines[starts[k] - 1]):
            starts[k] -= 1
    for start, end in zip(starts, starts[1:] + [len(lines)]):
        error = lines[start:end]
        said = next(line for line in error if ERROR.search(line))
        found = re.search(re.escape(str(file)) + r":(\d+):", "\n".join([said, *error]))
        yield int(found[1]) if found else 0, error


def check(file, options, family):
    """What is wrong with each part of one file, a text or None each; or how many parts are skipped."""
    source = file.read_text(encoding="utf-8")
    said = dict(re.findall(r"^// ([A-Z]+)(?:: (.+))?$", source, re.M))
    refused = [i for i, line in enumerate(source.splitlines(), 1) if line.endswith("// REFUSED")]
    if not said.get("REASON") or not said.keys() <= {"REASON", "COMPILER", "WARNS"}:
        return [f"has no line `// REASON: …`, or one that is no marker: {', '.join(said)}"]
    if said.get("COMPILER", family) != family:
        return 1 + max(1, len(refused))

    wrong = []
    status, text = compile(file, options, "-Werror", "-DPASSING")
    wrong.append("doesn't compile with -DPASSING either:\n" + text if status else None)
    if "WARNS" in said:
        status, text = compile(file, options)
        wrong.append("is refused without -Werror too, though it says WARNS:\n" + text if status else None)

    limit = ["-ferror-limit=0"] if family == "clang" else []
    status, text = compile(file, options, "-Werror", *limit)
    errors = list(errors_of(file, text))
    parts = said["REASON"].split("|")

    def judge(error):
        if not any(part in "\n".join(error) for part in parts):
            return f"is refused, but for another reason than {said['REASON']}:\n" + "\n".join(error)
        if len(error) > SCREEN:
            return f"takes {len(error)} lines to say why, and a screen has {SCREEN}:\n" + "\n".join(error)
        return None

    if not refused:
        return wrong + [judge(errors[0][1]) if status and errors else "compiles"]
    for line in refused:
        mine = [error for at, error in errors if at == line]
        what = judge(mine[0]) if mine else "compiles"
        wrong.append(f"line {line} {what}" if what else None)
    wrong += [f"line {at} is refused, and isn't marked:\n" + "\n".join(e) for at, e in errors if at and at not in refused]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--include", type=Path, default=ROOT / "include")
    parser.add_argument("--folder", type=Path, default=ROOT / "tests" / "must_not_compile")
    parser.add_argument("--only", default="", metavar="WORD", help="only the files with it in their name")
    options = parser.parse_args()
    version = subprocess.run([options.compiler, "--version"], capture_output=True, text=True, check=True).stdout
    family = "clang" if "clang" in version else "gcc"

    files = [file for file in sorted(options.folder.glob("*.cpp")) if options.only in file.name]
    passed, failed, skipped = 0, 0, 0
    with ThreadPoolExecutor(2) as pool:
        for file, wrong in zip(files, pool.map(lambda file: check(file, options, family), files)):
            if isinstance(wrong, int):
                print(f"SKIPPED: {file.name}: {family} doesn't see it")
                skipped += wrong
                continue
            for what in filter(None, wrong):
                print(f"{file.name}: {what}")
            failed += sum(what is not None for what in wrong)
            passed += sum(what is None for what in wrong)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
