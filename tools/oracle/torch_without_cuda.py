#!/usr/bin/env python3
"""Makes `import torch` work on a machine that has none of the CUDA libraries.

The x86-64 wheel of torch on PyPI is the CUDA build: its shared objects name libraries (cudart, cublas, cudnn …) that
`pip install --no-deps` does not bring, so that loading them fails before a line of Python runs. The loader is content
once each library exists and defines each symbol, so this script compiles one shared object in which every symbol that
torch lacks answers 100 (cudaErrorNoDevice), and links it under each missing library's name beside torch's own, where
torch looks first. torch then finds no device and computes on the CPU, which the stand-in takes no part in.

Run it with the interpreter of the virtual environment, after pip; running it twice is harmless. A torch that already
loads all its libraries is left alone. `--undo` removes the stand-in. Needs a C compiler, nm and ldd.
"""

import argparse
import collections
import importlib.util
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Iterator

STAND_IN = "libno_cuda.so"
NO_DEVICE = 100
GPU_SYMBOL = re.compile(r"_{0,2}(cu|nccl|nv)", re.IGNORECASE)
# The symbols whose answer is read as text.
TEXT_SYMBOLS = ("cudaGetErrorString", "cudaGetErrorName", "cublasGetStatusString", "ncclGetErrorString")


def output_of(*command: str) -> str:
    """What a command prints; its failure is ours."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def dynamic_symbols(library: pathlib.Path) -> Iterator[tuple[bool, str, str]]:
    """Each dynamic symbol as (defined here?, name, version or "")."""
    for line in output_of("nm", "--dynamic", "--format=posix", str(library)).splitlines():
        symbol, kind, *_ = line.split()
        name, _, version = symbol.partition("@")
        yield kind not in ("U", "w", "v"), name, version.lstrip("@")


def remove_stand_in(folder: pathlib.Path) -> None:
    for entry in folder.iterdir():
        if entry.name == STAND_IN or (entry.is_symlink() and entry.readlink().name == STAND_IN):
            entry.unlink()


def missing_libraries(libraries: list[pathlib.Path]) -> list[str]:
    """Names that the loader could not find for any of the libraries."""
    names: set[str] = set()
    for library in libraries:
        names.update(re.findall(r"^\s*(\S+) => not found$", output_of("ldd", str(library)), re.MULTILINE))
    return sorted(names)


def compile_stand_in(target: pathlib.Path, wanted: dict[str, str]) -> None:
    """A shared object that defines each wanted name under its version."""
    by_version = collections.defaultdict(list)
    source = []
    for name, version in sorted(wanted.items()):
        by_version[version].append(name)
        answer = '"no CUDA here"' if name in TEXT_SYMBOLS else f"(void*){NO_DEVICE}L"
        source.append(f"void* {name}(void) {{ return {answer}; }}\n")
    nodes = [f"{version} {{ {' '.join(f'{name};' for name in names)} }};\n" for version, names in by_version.items() if version]
    with tempfile.TemporaryDirectory() as scratch:
        code, script = pathlib.Path(scratch, "stand_in.c"), pathlib.Path(scratch, "stand_in.map")
        code.write_text("".join(source))
        script.write_text("".join(nodes))
        flags = ["-shared", "-fPIC", "-fno-builtin", "-w", f"-Wl,--version-script={script}"]
        output_of("cc", *flags, "-o", str(target), str(code))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--undo", action="store_true", help="remove the stand-in again")
    options = parser.parse_args()

    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        print(f"{sys.executable} has no torch; install requirements.txt first", file=sys.stderr)
        return 1
    package = pathlib.Path(spec.origin).parent
    folder = package / "lib"
    remove_stand_in(folder)
    if options.undo:
        return 0
    for tool in ("cc", "nm", "ldd"):
        if shutil.which(tool) is None:
            print(f"{tool} is needed and was not found", file=sys.stderr)
            return 1

    libraries = sorted([*folder.glob("*.so"), *package.glob("_C*.so")])
    missing = missing_libraries(libraries)
    if not missing:
        print("torch finds all its libraries; nothing to do")
        return 0
    wanted: dict[str, str] = {}
    defined: set[str] = set()
    for library in libraries:
        for is_defined, name, version in dynamic_symbols(library):
            if is_defined:
                defined.add(name)
            elif GPU_SYMBOL.match(name):
                wanted[name] = version
    wanted = {name: version for name, version in wanted.items() if name not in defined}
    compile_stand_in(folder / STAND_IN, wanted)
    for name in missing:
        (folder / name).symlink_to(STAND_IN)
    print(f"{len(missing)} missing CUDA libraries stand in as {STAND_IN}, {len(wanted)} symbols")
    return 0


if __name__ == "__main__":
    sys.exit(main())
