#!/usr/bin/env python3
"""Writes include/uform/text/unicode_classes_tables.hpp: what byte-level, Unigram and normal forms ask of a code point.

    make_unicode_classes.py                      writes the header from the sources below
    make_unicode_classes.py --check              exit 1 if the committed header is not what would be written
    make_unicode_classes.py --ask                asks the reference anew and rewrites tools/unicode/classes.txt

Sources, as in make_unicode_tables.py: Debian's `unicode-data` (15.0) cut back by age, and the reference (PyPI's
`tokenizers==0.23.3`) asked one code point at a time, whose answers are committed. `--ask` needs `unicodedataplus`
(PyPI, 16.0) too, for the grapheme cluster breaks; the code points where the reference is newer are asked of it with a
character map that turns each cluster into one letter.

    letter, number   `\\p{L}` and `\\p{N}` of the patterns of byte-level tokenizers, Unicode 16
    numeric          what `Digits` splits at, Unicode 17
    combining        what the normaliser StripAccents removes, Unicode 9.0
    break            Grapheme_Cluster_Break with Extended_Pictographic and the conjuncts of rule GB9c, Unicode 17
    compatible       full compatibility decomposition where it is not the canonical one, Unicode 9.0
    composed         pairs that compose, Unicode 9.0; what decomposes and is made by none is not in form C
"""

import argparse
import pathlib
import struct
import sys

from make_unicode_tables import DEBIAN, HANGUL, SCALARS, ages, array, corrected_tables, ranges, two_stages

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include" / "uform" / "text" / "unicode_classes_tables.hpp"
ANSWERS = ROOT / "tools" / "unicode" / "classes.txt"
BREAKS = (
    "other cr lf control extend zwj spacing_mark prepend l v t lv lvt regional_indicator pictographic consonant linker"
).split()
FLAGS = {"letter": 32, "number": 64, "numeric": 128, "combining": 256}


def ask() -> None:
    import tokenizers
    import unicodedataplus
    from tokenizers import Regex, normalizers, pre_tokenizers

    if tokenizers.__version__ != "0.23.3":
        sys.exit(f"tokenizers {tokenizers.__version__} is not the reference, 0.23.3 is")

    def member(split) -> list[int]:
        return [c for c in SCALARS if c != 0x7C and len(split.pre_tokenize_str("|" + chr(c) + "|")) != 1]

    tables = {
        "letter": member(pre_tokenizers.Split(Regex(r"\p{L}"), "removed")),
        "number": member(pre_tokenizers.Split(Regex(r"\p{N}"), "removed")),
        "numeric": member(pre_tokenizers.Digits(False)),
        "combining": [c for c in SCALARS if normalizers.StripAccents().normalize_str(chr(c)) == ""],
    }
    # A map in which every byte is an entry: a cluster of fewer than 6 bytes becomes one X.
    units = [0] * 1024
    units[0] = 256 << 10
    for c in range(1, 256):
        place = 256 ^ c
        units[place] = (place ^ (512 + c)) << 10 | 1 << 8 | c
        units[512 + c] = 1 << 31
    trie = struct.pack("<1024I", *units)
    clusters = normalizers.Precompiled(struct.pack("<I", len(trie)) + trie + b"X\0")

    def joined(text: str) -> bool:
        return len(clusters.normalize_str(text)) == 1

    names = {"CR": "cr", "LF": "lf", "Control": "control", "Extend": "extend", "ZWJ": "zwj", "Prepend": "prepend"}
    names |= {"SpacingMark": "spacing_mark", "L": "l", "V": "v", "T": "t", "LV": "lv", "LVT": "lvt"}
    names |= {"Regional_Indicator": "regional_indicator"}
    breaks = {}
    for c in SCALARS:
        text = chr(c)
        name = names.get(unicodedataplus.grapheme_cluster_break(text), "other")
        conjunct = unicodedataplus.indic_conjunct_break(text)
        if name == "other" and unicodedataplus.is_extended_pictographic(text):
            name = "pictographic"
        if conjunct == "Linker":
            name = "linker"
        elif conjunct == "Consonant":
            name = "consonant"
        if c != 0:  # the map ends at a zero byte
            after = joined("a" + text)
            if after != (name in ("extend", "zwj", "spacing_mark", "linker")):
                name = "extend" if after else "other"
            if joined(text + "a") != (name == "prepend"):
                name = "prepend" if joined(text + "a") else "other"
            if c < 0x10000 and name not in ("cr", "lf") and joined(text + "\u0301") == (name == "control"):
                name = "other" if joined(text + "\u0301") else "control"
        breaks[c] = name
    lines = [
        "# What the reference (tokenizers==0.23.3) says of code points, asked by `tools/make_unicode_classes.py --ask`.",
        "# table; first..last",
    ]
    for name in BREAKS[1:]:
        tables[name] = [c for c in SCALARS if breaks[c] == name and c not in HANGUL]
    for name, codes in tables.items():
        lines += [f"{name}; {low:04X}..{high:04X}" for low, high in ranges(codes)]
    ANSWERS.write_text("\n".join(lines) + "\n", encoding="utf-8")

    # The tables that Debian's files give must be the reference's.
    compatible, composed = decompositions()
    canonical = corrected_tables()[0]["decomposed"]
    nfkd, nfc = normalizers.NFKD().normalize_str, normalizers.NFC().normalize_str
    for c in SCALARS:
        mine = compatible.get(c) or canonical.get(c) or (c,)
        if c not in HANGUL and tuple(map(ord, nfkd(chr(c)))) != mine:
            sys.exit(f"U+{c:04X}: NFKD differs")
    pairs = {(a, b): c for a, b, c in composed}
    for (a, b), c in pairs.items():
        if nfc(chr(a) + chr(b)) != chr(c):
            sys.exit(f"U+{a:04X} U+{b:04X}: NFC differs")
    for c in SCALARS:
        if c in canonical and nfc(chr(c)) == chr(c) and c not in pairs.values():
            sys.exit(f"U+{c:04X}: NFC composes it")


def decompositions() -> tuple[dict[int, tuple[int, ...]], list[tuple[int, int, int]]]:
    """Full compatibility decompositions that are not canonical, and the pairs that compose, of Unicode 9.0."""
    age = ages()
    canonical = corrected_tables()[0]["decomposed"]
    first: dict[int, tuple[int, ...]] = {}
    kind: dict[int, bool] = {}
    for line in (DEBIAN / "UnicodeData.txt").read_text(encoding="utf-8").splitlines():
        fields = line.split(";")
        c = int(fields[0], 16)
        if fields[5] and age.get(c, (99, 0)) <= (9, 0):
            kind[c] = fields[5].startswith("<")
            first[c] = tuple(int(part, 16) for part in fields[5].split() if not part.startswith("<"))

    def full(c: int) -> tuple[int, ...]:
        return tuple(part for d in first[c] for part in full(d)) if c in first else (c,)

    compatible = {c: full(c) for c in first if full(c) != canonical.get(c)}
    excluded: set[int] = set()
    for line in (DEBIAN / "DerivedNormalizationProps.txt").read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) == 2 and fields[1] == "Full_Composition_Exclusion":
            low, _, high = fields[0].partition("..")
            excluded.update(range(int(low, 16), int(high or low, 16) + 1))
    composed = sorted((*first[c], c) for c in first if not kind[c] and len(first[c]) == 2 and c not in excluded)
    return compatible, composed


def header() -> str:
    classes = [0] * 0x110000
    for line in ANSWERS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, span = (field.strip() for field in line.split(";"))
        low, _, high = span.partition("..")
        for c in range(int(low, 16), int(high, 16) + 1):
            classes[c] |= FLAGS[name] if name in FLAGS else BREAKS.index(name)
    for c in HANGUL:
        classes[c] |= BREAKS.index("lvt" if (c - 0xAC00) % 28 else "lv")
    compatible, composed = decompositions()
    for c in compatible:
        classes[c] |= 512
    for first, second, _ in composed:
        classes[first] |= 1024
        classes[second] |= 2048
    for c in range(0x1161, 0x1176):
        classes[c] |= 2048
    for c in range(0x11A8, 0x11C3):
        classes[c] |= 2048
    for c in range(0x1100, 0x1113):
        classes[c] |= 1024
    for c in HANGUL:
        if (c - 0xAC00) % 28 == 0:
            classes[c] |= 1024
    for c in set(corrected_tables()[0]["decomposed"]) - {made for _, _, made in composed}:
        classes[c] |= 4096
    kinds = sorted(set(classes))
    assert kinds[0] == 0 and len(kinds) <= 90
    number = {value: n for n, value in enumerate(kinds)}
    blocks, values = two_stages([number[value] for value in classes])

    data: list[int] = []
    starts: list[int] = []
    for c, parts in sorted(compatible.items()):
        starts.append(c << 32 | len(parts) << 16 | len(data))
        data += parts
    assert len(data) < 1 << 16
    text = (
        "/// The Unicode tables of patterns, grapheme clusters and normal forms, in the versions that the reference carries.\n"
        "///\n"
        "/// Made by tools/make_unicode_classes.py, whose docstring says from what; not to be edited. Tables of two stages are\n"
        "/// those of unicode_tables.hpp.\n"
        "#ifndef UFORM_TEXT_UNICODE_CLASSES_TABLES_HPP\n#define UFORM_TEXT_UNICODE_CLASSES_TABLES_HPP\n\n"
        "#include <cstdint>\n\n// clang-format off\n\nnamespace uform::unicode {\n\n"
    )
    text += array("std::uint16_t", "class_blocks", "The block of classes of each 128 code points.", blocks)
    # A character a value is a fourth of the text that numbers would be.
    spelled = "".join(chr(35 + n + (n > 56)) for n in values)
    lines = "\n".join(f'    "{spelled[at : at + 112]}"' for at in range(0, len(spelled), 112))
    text += "/// The number of a class, by block and code point: from # on, without the backslash.\n"
    text += f"inline constexpr char class_values[{len(values) + 1}] =\n{lines};\n\n"
    text += array("std::uint16_t", "classes_by_number", "The classes: a break in the low 5 bits, then flags.", kinds, True)
    text += array(
        "std::uint64_t",
        "compatible_places",
        "Where a compatibility decomposition stands, by code point: that, 16 bits of length, 16 bits of place.",
        starts,
        True,
    )
    text += array("std::uint32_t", "compatible_parts", "The code points of those decompositions.", data, True)
    text += array(
        "std::uint64_t",
        "composed_pairs",
        "Pairs that compose, in order: 21 bits of each part and of what they make.",
        [first << 42 | second << 21 | c for first, second, c in composed],
        True,
    )
    return text + "} // namespace uform::unicode\n\n#endif // UFORM_TEXT_UNICODE_CLASSES_TABLES_HPP\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--ask", action="store_true")
    options = parser.parse_args()
    if options.ask:
        ask()
    text = header()
    if options.check:
        return int(HEADER.read_text(encoding="utf-8") != text)
    HEADER.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
