#!/usr/bin/env python3
"""Holds the floors of the headers: what may include what, guards, macros, and the first line.

    python3 tests/check_floors.py [--include include]

Prints what is wrong, one thing a line, then how many headers passed and failed. Exit status 0: nothing failed.
"""

import argparse
import re
import sys
from pathlib import Path

# A header includes lower floors, or its own without cycles. A room that is a folder has one floor for all its files,
# and rooms that are on the same floor don't include each other. A new header is added here.
FLOORS = {
    "version.hpp": 0,
    "config.hpp": 0,
    "status.hpp": 1,
    "scalar.hpp": 1,
    "outputs.hpp": 1,
    "index_iterator.hpp": 1,
    "list.hpp": 1,
    "first_word.hpp": 1,
    "math.hpp": 1,
    "monotonic.hpp": 1,
    "process_mark.hpp": 1,
    "recovery.hpp": 1,
    "buffer.hpp": 1,
    "tape.hpp": 1,
    "architecture.hpp": 1,
    "residency.hpp": 2,
    "ram.hpp": 2,
    "placement.hpp": 2,
    "file.hpp": 2,
    "json.hpp": 2,
    "lease.hpp": 3,
    "serving_thread.hpp": 3,
    "view.hpp": 3,
    "arena_storage.hpp": 3,
    "draft.hpp": 3,
    "arena.hpp": 3,
    "team.hpp": 4,
    "sort.hpp": 1,
    "state_pool.hpp": 4,
    "call_queue.hpp": 4,
    "executor.hpp": 4,
    "deferred.hpp": 4,
    "workspace.hpp": 4,
    "text/": 4,
    "checkpoint/": 4,
    "kernels/": 4,
    "encoder/": 5,
    "options.hpp": 6,
    "calls/": 6,
    "encode.hpp": 6,
    "deferred_encode.hpp": 6,
    "encoded.hpp": 6,
    "model.hpp": 6,
    "interop/": 6,
    "uform.hpp": 7,
}
# Beside the floors: these may include anything, and nothing else includes them.
BESIDE = ("cuda/", "cuda.hpp")
# The files that define macros other than their guard, and the macros of the second kind.
MACROS = {
    "config.hpp": r"UFORM_\w+",
    "version.hpp": r"UFORM_VERSION_(MAJOR|MINOR|PATCH)",
    "kernels/intrinsics.hpp": r"_IMMINTRIN_H_INCLUDED", # a compiler's own: its parts ask for it
    "interop/arrow.hpp": r"ARROW_(C_DATA_INTERFACE|FLAG_(DICTIONARY_ORDERED|NULLABLE|MAP_KEYS_SORTED))", # Arrow's own
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>|(\w+))')
DEFINE = re.compile(r"^\s*#\s*(?:define|undef)\s+(\w+)")
CONDITION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b(.*)")


def room_of(path):
    """The entry of FLOORS that a header belongs to: its own, or that of its folder."""
    return path if path in FLOORS or "/" not in path else path.split("/")[0] + "/"


def is_beside(path):
    return path.startswith("cuda/") or path in BESIDE


def without_comments(text):
    """The text with every comment blanked, and as many lines as before. String literals stay."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"'
    blank = lambda match: match[0] if match[0].startswith('"') else re.sub(r"[^\n]", " ", match[0])
    return re.sub(pattern, blank, text, flags=re.S)


def check_text(path, text, report):
    """What a header's own text must be; answers the headers of ours that it includes, with their lines."""
    lines = text.split("\n")
    guard = "UFORM_" + re.sub(r"[/.]", "_", path).upper()
    if not re.match(r"/// [A-Z0-9`].*", lines[0]):
        report(1, "the first line isn't a `///` sentence that says the file's job")
    else:
        block = [line for line in lines[: next((i for i, l in enumerate(lines) if not l.startswith("///")), len(lines))]]
        if not any(line.rstrip().endswith((".", "?")) for line in block):
            report(1, "the sentence of the first line doesn't end")
    code = without_comments(text).split("\n")
    directives = [(i, line) for i, line in enumerate(code, 1) if line.strip().startswith("#")]
    opening = [line.strip() for _, line in directives[:2]]
    if opening != [f"#ifndef {guard}", f"#define {guard}"]:
        report(directives[0][0] if directives else 1, f"the guard isn't #ifndef {guard}, #define {guard}")
    if next((line for line in reversed(lines) if line.strip()), "") != f"#endif // {guard}":
        report(len(lines), f"the last line isn't #endif // {guard}")

    included = []
    for number, line in directives:
        if re.match(r"\s*#\s*pragma\s+once", line):
            report(number, "#pragma once: guards only, as the single header and the folder may meet")
        if (found := DEFINE.match(line)) and found[1] != guard:
            if not re.fullmatch(MACROS.get(path, r"(?!)"), found[1]):
                report(number, f"macro {found[1]}: every macro is config.hpp's")
        if (found := CONDITION.match(line)) and path != "config.hpp":
            for name in re.findall(r"\b[A-Za-z_]\w*", found[1]):
                if name.startswith("_"):  # what compilers and systems define; a library's own names may be asked for
                    report(number, f"a switch on {name}: every compiler switch is config.hpp's")
        if found := INCLUDE.match(line):
            ours, foreign, macro = found.groups()
            if ours and not ours.startswith("uform/"):
                report(number, f'"{ours}": our headers are included by their full path, "uform/…"')
            elif ours:
                included.append((number, ours[len("uform/") :]))
            elif foreign and foreign.startswith("uform/"):
                report(number, f"<{foreign}>: our headers are included in quotes")
            elif macro and not macro.startswith("UFORM_"):
                report(number, f"#include {macro}: not a macro of config.hpp's")
    for number, line in enumerate(code, 1):
        if re.match(r"using\s+namespace\b", line):
            report(number, "using namespace at namespace scope")
    return included


def check_edge(path, to, known, report):
    """Whether one header may include another."""
    if to not in known:
        return report(f"includes uform/{to}, which isn't there")
    if is_beside(to):
        return is_beside(path) or report(f"includes uform/{to}: nothing outside cuda/ does")
    if is_beside(path):
        return None
    mine, other = room_of(path), room_of(to)
    if mine not in FLOORS or other not in FLOORS:
        return None  # told once, as an unknown file
    if FLOORS[other] > FLOORS[mine]:
        report(f"on floor {FLOORS[mine]} includes uform/{to} of floor {FLOORS[other]}")
    if mine != other and mine.endswith("/") and other.endswith("/") and FLOORS[mine] == FLOORS[other]:
        report(f"in room {mine} includes uform/{to} of room {other}: rooms don't include each other")
    return None


def find_cycles(edges):
    """The cycles of a graph, each once, as lists that end where they start."""
    cycles, done = [], set()

    def visit(path, trail):
        if path in trail:
            cycles.append(trail[trail.index(path) :] + [path])
        elif path not in done:
            for to in edges.get(path, ()):
                visit(to, trail + [path])
            done.add(path)

    for path in sorted(edges):
        visit(path, [])
    return cycles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--include", type=Path, default=Path(__file__).resolve().parent.parent / "include")
    root = parser.parse_args().include / "uform"
    files = sorted(p for p in root.rglob("*") if p.is_file())
    known = {p.relative_to(root).as_posix() for p in files}
    failed, edges = set(), {}
    for path in sorted(known):

        def say(line, what, path=path):
            print(f"include/uform/{path}:{line}: {what}")
            failed.add(path)

        if not path.endswith((".hpp", ".cuh")):
            say(1, "not a header: what lies under include/ ends in .hpp, or in .cuh under cuda/")
            continue
        if not is_beside(path) and room_of(path) not in FLOORS:
            say(1, "on no floor: add it to FLOORS at the top of tests/check_floors.py, and to docs and design if it is a room")
        included = check_text(path, (root / path).read_text(encoding="utf-8"), say)
        for line, to in included:
            check_edge(path, to, known, lambda what, line=line: say(line, what))
        edges[path] = [to for _, to in included]
    for cycle in find_cycles(edges):
        print("a cycle of includes: " + " → ".join(cycle))
        failed.update(cycle)
    if not known:
        print(f"no headers in {root}")
    print(f"{len(known - failed)} passed, {len(failed)} failed")
    return 1 if failed or not known else 0


if __name__ == "__main__":
    sys.exit(main())
