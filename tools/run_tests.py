#!/usr/bin/env python3
"""Runs the built test programs and the checks written in Python, and ends with one line that counts them all.

    run_tests.py BUILD_FOLDER [--only WORD]     a WORD in a program's name runs that one alone

A Catch2 program counts by its test cases, a plain one by its exit status, a Python check by the line `N passed, N failed`
that it prints last. A test case that prints `SKIPPED: its name: reason` counts as skipped, not as passed. Exit status 0:
nothing failed.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Counts:
    """How many tests passed, failed and were skipped."""

    def __init__(self) -> None:
        self.passed, self.failed, self.skipped = 0, 0, 0

    def add(self, passed: int, failed: int, skipped: int) -> None:
        self.passed, self.failed, self.skipped = self.passed + passed, self.failed + failed, self.skipped + skipped


def run(command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Runs a command and shows its output as it comes; answers its exit status and the output."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", cwd=ROOT, env=environment
    )
    lines = []
    assert process.stdout
    for line in process.stdout:
        lines.append(line)
        if line.strip():
            print("    " + line, end="", flush=True)
    return process.wait(), "".join(lines)


def catch2(program: pathlib.Path, environment: dict[str, str], counts: Counts) -> None:
    """One Catch2 program, counted by its report."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        status, output = run([str(program), "-r", "xml", "-o", str(report)], environment)
        skip_lines = [line for line in output.splitlines() if line.startswith("SKIPPED: ")]
        try:
            cases = ElementTree.parse(report).getroot().iter("TestCase")
            results = {case.get("name", ""): case for case in cases}
        except (ElementTree.ParseError, FileNotFoundError):
            print(f"    {program.name} ended with status {status} before its report was whole")
            counts.add(0, 1, 0)
            return
    failed = 0
    for name, case in results.items():
        overall = case.find("OverallResult")
        if overall is not None and overall.get("success") == "true":
            continue
        failed += 1
        print(f"    FAILED: {name} ({case.get('filename')}:{case.get('line')})")
        for expression in case.iter("Expression"):
            if expression.get("success") == "false":
                original, expanded = (expression.findtext(tag, "").strip() for tag in ("Original", "Expanded"))
                print(f"      {expression.get('filename')}:{expression.get('line')}: {original}")
                print(f"        was {expanded[:400]}")
                for exception in expression.iter("Exception"):
                    print(f"        threw {(exception.text or '').strip()[:400]}")
        for tag in ("Exception", "FatalErrorCondition", "Failure"):
            for found in case.iter(tag):
                print(f"      {tag}: {(found.text or '').strip()[:400]}")
    if status != 0 and failed == 0:
        print(f"    {program.name} ended with status {status}, though no test case failed")
        failed = 1
    # A name may hold colons itself, so the names are sought in the lines and not the other way round.
    skips = sum(any(line.startswith(f"SKIPPED: {name}: ") for line in skip_lines) for name in results)
    if skips < len(set(skip_lines)):
        print(f"    {program.name} said SKIPPED of what is no test case's name")
        failed += 1
    if not results:
        print(f"    {program.name} has no test case")
        failed = 1
    counts.add(max(0, len(results) - failed - skips), failed, skips)


def check(command: list[str], environment: dict[str, str], counts: Counts) -> None:
    """One check that counts itself."""
    status, output = run(command, environment)
    found = re.findall(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?\s*$", output, re.MULTILINE)
    if not found:
        counts.add(0, 1, 0)
        return
    passed, failed, skipped = (int(number or 0) for number in found[-1])
    counts.add(passed, failed if status == 0 or failed else 1, skipped)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only", default="", metavar="WORD")
    options = parser.parse_args()
    build = options.build.resolve()
    environment = dict(os.environ, UFORM_BUILD_FOLDER=str(build))

    tests = [line.split("\t") for line in (build / "tests" / "tests.txt").read_text(encoding="utf-8").splitlines() if line]
    counts = Counts()
    for kind, name, *command in tests:
        if options.only not in name:
            continue
        before = (counts.passed, counts.failed, counts.skipped)
        print(f"{name}", flush=True)
        if kind == "catch2":
            catch2(pathlib.Path(command[0]), environment, counts)
        elif kind == "plain":
            passed = run(command, environment)[0] == 0
            counts.add(int(passed), int(not passed), 0)
        elif kind == "skip":
            print(f"    SKIPPED: {command[0]}")
            counts.add(0, 0, 1)
        else:
            check(command, environment, counts)
        after = (counts.passed, counts.failed, counts.skipped)
        print("  {} passed, {} failed, {} skipped".format(*(a - b for a, b in zip(after, before))), flush=True)
    print()
    skipped = f", {counts.skipped} skipped" if counts.skipped else ""
    print(f"{counts.passed} passed, {counts.failed} failed{skipped}")
    return 1 if counts.failed or not counts.passed else 0


if __name__ == "__main__":
    sys.exit(main())
