#!/usr/bin/env python3
"""Holds that each header compiles alone, in each way that units are built, and that all of them may meet in a program.

    python3 tests/check_headers.py [--compiler g++] [--include include] [--build FOLDER]

Each header alone, checked for syntax only, with all our warnings as errors: as it is, and with what units may be built
with: -fno-exceptions -fno-rtti -march=native, in one pass to be quick. Then every header twice in each of three units,
with each of these apart, that link to one program.
Prints what is wrong, then how many passed and failed. Exit status 0: nothing failed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENGLISH = dict(os.environ, LC_ALL="C")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"]
WITHOUT_EXCEPTIONS = ["-fno-exceptions", "-fno-rtti"]
NATIVE = ["-march=native"]
MODES = {"alone": [], " ".join(WITHOUT_EXCEPTIONS + NATIVE): WITHOUT_EXCEPTIONS + NATIVE}


def run(command, text=None):
    """What a compiler says, or nothing where it is content."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, errors="replace", env=ENGLISH)
    return (done.stderr or f"exit status {done.returncode}\n") if done.returncode else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default=os.environ.get("CXX", "c++"))
    parser.add_argument("--include", type=Path, default=ROOT / "include")
    parser.add_argument("--build", type=Path, help="where the units are built; a temporary folder where none is named")
    options = parser.parse_args()
    headers = [path.relative_to(options.include).as_posix() for path in sorted((options.include / "uform").rglob("*.hpp"))]
    compiler = [options.compiler, "-std=c++20", *WARNINGS, "-I", str(options.include), "-x", "c++"]
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(2) as pool:
        folder = options.build or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)

        def alone(header, flags):
            return run([*compiler, *flags, "-fsyntax-only", "-"], f'#include "{header}"\n')

        def together():
            """Three units with every header twice, and what links them: whatever isn't inline is defined more than once."""
            twice = "".join(f'#include "{header}"\n' for header in headers) * 2
            objects = []
            for name, flags, code in (
                ("one", [], "int two();\nint three();\nint main() { return two() + three(); }\n"),
                ("two", WITHOUT_EXCEPTIONS, "int two();\nint two() { return 0; }\n"),
                ("three", NATIVE, "int three();\nint three() { return 0; }\n"),
            ):
                objects.append(str(folder / f"{name}.o"))
                if said := run([*compiler, *flags, "-O0", "-c", "-", "-o", objects[-1]], twice + code):
                    return said
            return run([options.compiler, *objects, "-pthread", "-o", str(folder / "all_headers")])

        tasks = {("all headers twice, in three units", ""): pool.submit(together)}
        for header in headers:
            for mode, flags in MODES.items():
                tasks[header, mode] = pool.submit(alone, header, flags)
        results = {task: future.result() for task, future in tasks.items()}

    for (header, mode), said in results.items():
        if said:
            print(f"{header}{', ' if mode else ''}{mode}:\n{said}")
    failed = sum(bool(said) for said in results.values())
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed or not headers else 0


if __name__ == "__main__":
    sys.exit(main())
