#!/usr/bin/env python3
"""Fetches USearch's headers into build/usearch/include, for examples/usearch_index.cpp.

    tools/fetch_usearch.py

They are those of its source package on PyPI, pinned and checked by SHA-256. Needs pip, or the venv module to make one.
Exit status: 0 they are there; 3 they can't be had, with what was tried.
"""

import hashlib
import pathlib
import sys
import tarfile
import tempfile

from fetch_model import Unavailable, download

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "build" / "usearch" / "include" / "usearch"
PACKAGE = "usearch==2.26.6"
SHA256 = "eefb8dc019ad5a184f6089b22f20b91b3961720e504e97ba2718ad62ed65674b"
HEADERS = ("index.hpp", "index_plugins.hpp", "index_dense.hpp")


def main() -> int:
    if all((TARGET / name).exists() for name in HEADERS):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            [archive] = download((PACKAGE,), pathlib.Path(folder), "--no-binary=usearch", "usearch-*.tar.gz")
        except Unavailable as error:
            print(f"USearch's headers can't be had:\n{error}", file=sys.stderr)
            return 3
        digest = hashlib.sha256(archive.read_bytes()).hexdigest()
        if digest != SHA256:
            print(f"{archive.name} has the SHA-256 {digest}, not {SHA256}", file=sys.stderr)
            return 3
        TARGET.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as package:
            for name in HEADERS:
                member = package.extractfile(f"{archive.name[: -len('.tar.gz')]}/include/usearch/{name}")
                assert member is not None
                part = TARGET / f"{name}.part"
                part.write_bytes(member.read())
                part.rename(TARGET / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
