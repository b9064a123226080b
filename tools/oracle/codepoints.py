#!/usr/bin/env python3
"""Digests of the ids of every Unicode scalar value, so that a test can compare all 1,112,064 of them with the reference.

    codepoints.py make   TOKENIZER.json DIGESTS.json
    codepoints.py verify TOKENIZER.json DIGESTS.json      exit status 1 if a block differs
    codepoints.py show   TOKENIZER.json BLOCK             the ids behind one digest, a line a scalar value

Block n holds the code points n · 4096 to n · 4096 + 4095 without the surrogates; there are 272. For each of its scalar
values c, rising, and for each template ("c" alone, then "c" between a and b) the text's ids with special tokens,
neither cut nor padded, are written as their count and then the ids, all as little-endian u32. A digest is the SHA-256
of a block's bytes.
"""

import argparse
import hashlib
import json
import pathlib
import struct
import sys

import tokenizers
from reference import load_tokenizer

BLOCK_SIZE = 4096
TEMPLATES = ("{c}", "a{c}b")


def block_ids(tokenizer: tokenizers.Tokenizer, block: int, templates: list[str]) -> dict[int, list[list[int]]]:
    """Scalar value -> the ids of its text in each template."""
    first = block * BLOCK_SIZE
    scalars = [c for c in range(first, first + BLOCK_SIZE) if not 0xD800 <= c < 0xE000]
    columns = []
    for template in templates:
        encodings = tokenizer.encode_batch_fast([template.replace("{c}", chr(c)) for c in scalars])
        columns.append([encoding.ids for encoding in encodings])
    return {c: [column[row] for column in columns] for row, c in enumerate(scalars)}


def block_digest(tokenizer: tokenizers.Tokenizer, block: int, templates: list[str]) -> str:
    digest = hashlib.sha256()
    for lists in block_ids(tokenizer, block, templates).values():
        for ids in lists:
            digest.update(struct.pack("<I", len(ids)) + struct.pack(f"<{len(ids)}I", *ids))
    return digest.hexdigest()


def digests(path: pathlib.Path, templates: list[str]) -> list[str]:
    tokenizer = load_tokenizer(path)
    return [block_digest(tokenizer, block, templates) for block in range(0x110000 // BLOCK_SIZE)]


def verify(path: pathlib.Path, against: pathlib.Path) -> list[int]:
    """The blocks that differ."""
    table = json.loads(against.read_text(encoding="utf-8"))
    found = digests(path, table["templates"])
    return [block for block, (one, other) in enumerate(zip(found, table["blocks"], strict=True)) if one != other]


def make(path: pathlib.Path, out: pathlib.Path) -> None:
    table = {
        "what": "SHA-256 per block of 4096 code points; see tools/oracle/codepoints.py",
        "serialisation": "per scalar value c, rising, surrogates left out, per template: the ids with special tokens, "
        "as their count and then the ids, each a little-endian u32",
        "templates": list(TEMPLATES),
        "tokenizer_json_sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "library": f"tokenizers=={tokenizers.__version__}",
        "block_size": BLOCK_SIZE,
        "blocks": digests(path, list(TEMPLATES)),
    }
    out.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("make", "verify", "show"))
    parser.add_argument("tokenizer", type=pathlib.Path, metavar="TOKENIZER.json")
    parser.add_argument("what", metavar="DIGESTS.json | BLOCK")
    options = parser.parse_args()
    if options.command == "make":
        make(options.tokenizer, pathlib.Path(options.what))
    elif options.command == "verify":
        different = verify(options.tokenizer, pathlib.Path(options.what))
        print(f"blocks that differ: {different}" if different else "all blocks agree")
        return int(bool(different))
    else:
        for c, lists in block_ids(load_tokenizer(options.tokenizer), int(options.what, 0), list(TEMPLATES)).items():
            print(f"U+{c:04X}", *(" ".join(map(str, ids)) for ids in lists), sep="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main())
