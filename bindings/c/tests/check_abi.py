#!/usr/bin/env python3
"""Holds the C interface to its accepted description, and the library to the interface.

    check_abi.py LIBRARY                what the library exports, its soname and size; the header against bindings/c/abi
    check_abi.py LIBRARY --accept       writes the description anew

`abi/uform.txt` has every function as it is declared, every constant's number, and the size of every structure with the
place of its fields. `abi/uform.abi` is libabigail's description, which `abidiff` compares where abigail-tools is
installed. Any difference fails: an addition is accepted with --accept, and a change raises UFORM_ABI_VERSION too.
Then changes are planted in copies of the header, each of which must be found. $CC is the compiler, or cc.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

C = pathlib.Path(__file__).resolve().parent.parent
HEADER = C / "uform.h"
TEXT, DESCRIPTION = C / "abi" / "uform.txt", C / "abi" / "uform.abi"
MOST_BYTES = 3 * 1024 * 1024
COMPILER = os.environ.get("CC", "cc").split()

# What a header's author might change by mistake: what it is, the text, and what takes its place.
PLANTED = [
    ("a field is wider", "    uint32_t offset_bytes;", "    uint64_t offset_bytes;"),
    ("a field has another name", "    uint64_t rows; ", "    uint64_t rows_; "),
    ("a constant has another number", "uform_status_contended_k = 3,", "uform_status_contended_k = 9,"),
    ("a parameter is of another type", "uform_executor_init_ram(size_t threads,", "uform_executor_init_ram(uint32_t threads,"),
    ("a parameter is gone", "uform_arena_trim(uform_arena_t arena, char const **error_message)", "uform_arena_trim(uform_arena_t arena)"),
    ("a function is gone", "UFORM_API void uform_rows_unpin(uform_pin_t pin);", ""),
    ("a function is new", "UFORM_API void uform_rows_unpin(uform_pin_t pin);", "UFORM_API void uform_rows_unpin(uform_pin_t pin);\nUFORM_API void uform_more(void);"),
]


def run(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True)


def without_comments(header: str) -> str:
    return re.sub(r"//[^\n]*", "", header)


def functions(header: str) -> dict[str, str]:
    """Every declared function by its name, in one line."""
    found = {}
    for declared in re.findall(r"UFORM_API\s+([^;{]*?\))\s*;", without_comments(header), re.S):
        line = re.sub(r"\s+", " ", declared).strip()
        name = re.search(r"(uform_\w+)\(", line)
        assert name, line
        found[name.group(1)] = line
    return found


def describe(header: pathlib.Path) -> str:
    """The description of a header: its text, and what the compiler makes of its layouts."""
    text = without_comments(header.read_text(encoding="utf-8"))
    version = re.search(r"UFORM_ABI_VERSION (\d+)", text)
    lines = [f"abi version {version and version.group(1)}"]
    lines += sorted(f"function {declared}" for declared in functions(header.read_text(encoding="utf-8")).values())
    typedefs = re.findall(r"typedef\s+(?!struct\s+\w+\s*\{)([^;{}]+?)\s+(\*?\w+);", text)
    lines += sorted(f"type {name} = {' '.join(meaning.split())}" for meaning, name in typedefs)
    prints = []
    for constants in re.findall(r"enum\s*\{(.*?)\}", text, re.S):
        for name in re.findall(r"(uform_\w+_k)", constants):
            prints.append(f'printf("constant {name} %lld\\n", (long long){name});')
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.S):
        prints.append(f'printf("structure {name} %zu\\n", sizeof({name}));')
        for kind, field in re.findall(r"([\w ]+?[\w*] \**|[\w ]+ \*?)(\w+);", body):
            kind = re.sub(r"\s+", " ", kind).strip()
            prints.append(f'printf("field {name}.{field} %zu %zu {kind}\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "layouts.c", pathlib.Path(folder) / "layouts"
        source.write_text(f'#include "{header}"\n#include <stdio.h>\nint main(void) {{\n' + "\n".join(prints) + "\nreturn 0; }\n", encoding="utf-8")
        built = run(*COMPILER, "-std=c99", source, "-o", program)
        if built.returncode:
            return "doesn't compile: " + built.stderr
        return "\n".join(lines) + "\n" + run(program).stdout


def stand_in(header: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A library of empty functions as the header declares them, with what a debugger knows of their types."""
    source, library = folder / "stand_in.c", folder / "libuform.so"
    bodies = []
    for declared in functions(header.read_text(encoding="utf-8")).values():
        body = "" if declared.startswith("void ") else "return 0;"
        bodies.append(f"{declared} {{ {body} }}")
    source.write_text(f'#include "{header}"\n' + "\n".join(bodies) + "\n", encoding="utf-8")
    built = run(*COMPILER, "-std=c99", "-g", "-shared", "-fPIC", "-w", source, "-o", library, "-Wl,-soname,libuform.so.0")
    if built.returncode:
        raise SystemExit(built.stderr)
    return library


def abigail_differs(header: pathlib.Path) -> str:
    """What abidiff says of a header against the accepted description; empty for nothing."""
    with tempfile.TemporaryDirectory() as folder:
        library = stand_in(header, pathlib.Path(folder))
        said = run("abidiff", "--no-show-locs", DESCRIPTION, library)
        return said.stdout + said.stderr if said.returncode else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--accept", action="store_true")
    options = parser.parse_args()
    results: list[bool] = []
    skipped = 0

    def check(what: str, holds: bool, seen: object = "") -> None:
        results.append(holds)
        if not holds:
            print(f"{what}: {seen}")

    has_abigail = bool(shutil.which("abidiff") and shutil.which("abidw"))
    if options.accept:
        TEXT.parent.mkdir(exist_ok=True)
        TEXT.write_text(describe(HEADER), encoding="utf-8")
        if has_abigail:
            with tempfile.TemporaryDirectory() as folder:
                library = stand_in(HEADER, pathlib.Path(folder))
                made = run("abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash", library)
                DESCRIPTION.write_text(made.stdout, encoding="utf-8")
        else:
            print("abigail-tools isn't installed: its description is as it was")

    declared = set(functions(HEADER.read_text(encoding="utf-8")))
    listed = run("nm", "-D", "--defined-only", options.library).stdout
    exported = {line.split()[-1] for line in listed.splitlines() if line}
    check("what the library exports is what the header declares", exported == declared, sorted(exported ^ declared))
    print(f"{len(exported)} symbols are exported")
    dynamic = run("readelf", "-d", options.library).stdout
    check("the soname", "soname: [libuform.so.0]" in dynamic, dynamic)
    check("the library stays loaded, as views outlive it", "NODELETE" in dynamic, dynamic)
    with tempfile.TemporaryDirectory() as folder:
        stripped = pathlib.Path(folder) / "stripped.so"
        run("strip", "-s", "-o", stripped, options.library)
        size = stripped.stat().st_size
        print(f"{size} bytes stripped")
        if re.search(r" __(asan|tsan|ubsan)_", run("nm", "-D", options.library).stdout):
            skipped += 1
            print("SKIPPED: the library's size: it is built with a sanitizer")
        else:
            check("the library's size", size <= MOST_BYTES, size)

    check("the header is as it was accepted", describe(HEADER) == TEXT.read_text(encoding="utf-8"), "see --accept")
    if has_abigail:
        differs = abigail_differs(HEADER)
        check("abidiff finds nothing", not differs, differs)
    else:
        skipped += 1
        print("SKIPPED: abidiff: abigail-tools isn't installed")

    header = HEADER.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        planted = pathlib.Path(folder) / "uform.h"
        for what, text, other in PLANTED:
            check(f"{what}: the text is there once", header.count(text) == 1, text)
            planted.write_text(header.replace(text, other), encoding="utf-8")
            check(f"{what}: it is found", describe(planted) != TEXT.read_text(encoding="utf-8"))
            if has_abigail and "constant" not in what and "name" not in what:  # it sees types, not what they are called
                check(f"{what}: abidiff finds it", bool(abigail_differs(planted)))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, {skipped} skipped")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
