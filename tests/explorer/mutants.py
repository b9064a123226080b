#!/usr/bin/env python3
"""Plants faults in headers, one at a time, and says which test catches each.

    python3 tests/explorer/mutants.py [--compiler g++] [--jobs 2] [--texts] [GROUP or part of a mutant's name ...]

Each mutant is one text of a header replaced by another, in a copy, against which the group's program is built and run.
Prints a line a mutant: caught and by which test, or equivalent and why; then how many passed and failed. With all
groups it takes about an hour; under ThreadSanitizer a machine may want `setarch -R` before it. A mutant that is
neither, one that is called equivalent and is caught, one whose text isn't in the header any more, and a program that
can't be built or doesn't end are errors. Exit status 0: there is none.

A further group goes into GROUPS: a list of `Mutant` in a module of its own, and how its program is built (mutant.py says
what each field means). A group whose program is one of the Catch2 tests says

    Group(name="arena", header="uform/arena.hpp", mutants=arena_mutants.MUTANTS,
          sources=["tests/arena_contract.cpp", "tests/arena_lease.cpp"], objects=["tests/main.cpp"],
          options=["-Itests", '-DUFORM_SOURCE_ROOT="…"'], arguments=["--abort", "[arena]"], catch=CATCH2)
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import arena_mutants
import lease_mutants
from mutant import Group

ROOT = Path(__file__).resolve().parent.parent.parent
FLAGS = ["-std=c++20", "-O1", "-w"]  # a mutant may well have warnings
CATCH2 = r"-{70,}\n(.+)\n-{70,}\n"   # its console names the test case that failed between two lines
EXPLORER = r"(?m)^scenario  (\S+) .*(FAULT: .*)$"

GROUPS = [
    Group(name="lease", header="uform/lease.hpp", mutants=lease_mutants.MUTANTS,
          sources=["tests/explorer/lease_scenarios.cpp"],
          catch=EXPLORER, orders=True),
    *arena_mutants.GROUPS,
]


def run(command, limit_s):
    """Status and output; the status is None where it didn't end in time."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=limit_s)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return None, ""


def build_and_run(group, header, folder, objects, compiler):
    """Builds and runs a group's program against a header's text. Answers status and output; status "build" where it
    doesn't compile."""
    copy = folder / "include" / group.header
    copy.parent.mkdir(parents=True)
    copy.write_text(header, encoding="utf-8")
    program = folder / "program"
    status, text = run([compiler, *FLAGS, *group.options, "-I", folder / "include", "-I", ROOT / "include",
                        *(ROOT / source for source in group.sources), *objects, "-pthread", "-o", program], 600)
    if status != 0:
        return "build", text
    return run([program, *group.arguments], group.limit_s)


def judge(group, mutant, folder, objects, compiler):
    """What became of a mutant: whether that is as it should be, and a line about it."""
    header = (ROOT / "include" / group.header).read_text(encoding="utf-8")
    try:
        mutated = mutant.apply(header)
    except ValueError as drifted:
        return False, str(drifted)
    if mutated == header:
        return False, f"`{mutant.name}` changes nothing"
    status, text = build_and_run(group, mutated, folder, objects, compiler)
    line = f"{group.name:6} {mutant.name:50} "
    if status == "build":
        return False, line + "DOESN'T COMPILE\n" + text[:2000]
    if status is None:
        return False, line + f"DIDN'T END in {group.limit_s} seconds"
    argument = mutant.verdict.argument
    if status == 0:
        if argument:
            return True, line + "equivalent: " + argument
        return False, line + "SURVIVED: no test fails"
    found = re.search(group.catch, text)
    if not found:
        return False, line + f"FAILED with status {status}, and no test says why\n" + text[-500:]
    caught = ": ".join(found.groups())
    if argument:
        return False, line + "called equivalent, and CAUGHT by " + caught
    return True, line + "caught by " + caught


def unplanted_orders(group):
    """Memory orders of the header that no mutant touches."""
    header = (ROOT / "include" / group.header).read_text(encoding="utf-8")
    spans = [span for mutant in group.mutants for span in mutant.places(header)]
    for found in re.finditer(r"memory_order_(?:acquire|release|acq_rel|seq_cst|consume)\b", header):
        if not any(start < found.end() and found.start() < end for start, end in spans):
            line = header.count("\n", 0, found.start()) + 1
            yield f"{group.name:6} line {line}: no mutant weakens {found.group(0)}"


def check_texts():
    """Whether each mutant's text is in its header as often as it says, and each is told by its name."""
    wrong, good = [], 0
    for group in GROUPS:
        header = (ROOT / "include" / group.header).read_text(encoding="utf-8")
        for mutant in group.mutants:
            try:
                changes = mutant.apply(header) != header
            except ValueError as drifted:
                changes = False
                wrong.append(str(drifted))
            good += changes
        if group.orders:
            wrong += unplanted_orders(group)
    print(*wrong, sep="\n")
    print(f"{good} passed, {len(wrong)} failed")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--texts", action="store_true", help="build nothing: only look that each is still in its header")
    parser.add_argument("only", nargs="*", help="a group, or a part of a mutant's name")
    options = parser.parse_args()
    if options.texts:
        return check_texts()
    begun = time.monotonic()
    wrong, counts = [], {"caught": 0, "equivalent": 0}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(options.jobs) as pool:
        for group in GROUPS:
            chosen = [mutant for mutant in group.mutants if not options.only or group.name in options.only or
                      any(part in mutant.name for part in options.only)]
            if not chosen:
                continue
            names = [mutant.name for mutant in group.mutants]
            wrong += [f"{group.name:6} two mutants are called `{name}`" for name in set(names) if names.count(name) > 1]
            if group.orders:
                wrong += unplanted_orders(group)
            objects = []
            for source in group.objects:
                objects.append(Path(scratch) / (group.name.replace("/", "_") + "_" + Path(source).stem + ".o"))
                status, text = run([options.compiler, *FLAGS, *group.options, "-I", ROOT / "include", "-c",
                                    ROOT / source, "-o", objects[-1]], 600)
                if status != 0:
                    sys.exit(f"{source} doesn't compile\n{text}")
            header = (ROOT / "include" / group.header).read_text(encoding="utf-8")
            status, text = build_and_run(group, header, Path(scratch) / (group.name.replace("/", "_") + "_as_it_is"), objects, options.compiler)
            if status != 0:
                sys.exit(f"{group.name}: fails without any mutant, so it can catch none\n{text[-2000:]}")
            for good, line in pool.map(
                    lambda at: judge(group, at[1], Path(scratch) / f"{group.name.replace('/', '_')}_{at[0]}", objects, options.compiler),
                    enumerate(chosen)):
                print(line, flush=True)
                if good:
                    counts["equivalent" if " equivalent: " in line else "caught"] += 1
                else:
                    wrong.append(line)
    if wrong:
        print("\nWhat is wrong:")
        for line in wrong:
            print(line)
    print(f"mutants: {counts['caught']} caught, {counts['equivalent']} equivalent, {len(wrong)} wrong, "
          f"{time.monotonic() - begun:.0f} s")
    print(f"{sum(counts.values())} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
