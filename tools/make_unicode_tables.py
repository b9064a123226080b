#!/usr/bin/env python3
"""Writes include/uform/text/unicode_tables.hpp: what BERT's tokenizer asks of every code point.

    make_unicode_tables.py                       writes the header from the sources below
    make_unicode_tables.py --check               exit 1 if the committed header is not what would be written
    make_unicode_tables.py --ask                 asks the reference anew and rewrites tools/unicode/, then the header

Sources. Debian's package `unicode-data` (15.0: UnicodeData.txt, DerivedAge.txt, PropList.txt) gives categories,
decompositions, combining classes and lower-casing, and its ages cut each table back to the version that the reference
carries. The reference, PyPI's `tokenizers==0.23.3`, mixes versions of Unicode, and no package gives the old ones, so
`--ask` asks it about every scalar value, one at a time, and commits the answers that the Debian files don't give, as
text in tools/unicode/:

    corrections.txt    code points where the cut table and the reference differ, table by table
    word.txt           the ranges of `\\w` in the pattern language of the reference (Unicode 16), for `single_word` tokens

Tables, and the version that the reference has them in:

    mark         removed by strip_accents where the code point does not decompose: general category Mn, Unicode 8.0
    removed      removed by clean_text: Cc, Cf, Co of Unicode 8.0, NUL and U+FFFD, but no tab, LF or CR
    whitespace   White_Space, the same in every version since 6.3
    punctuation  P* of Unicode 8.0, and all of ASCII's marks and signs
    ideograph    the ranges that handle_chinese_chars spaces; a list in the reference's code, so asked of it
    combining    canonical combining class, Unicode 9.0
    decomposed   full canonical decomposition, Unicode 9.0; Hangul syllables by arithmetic, not in the table
    lower        lower-casing of one code point, Unicode 17, no context; only U+0130 gives two

The output depends on nothing but these files: no clock, no machine, no order of hashing.
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include" / "uform" / "text" / "unicode_tables.hpp"
DATA = ROOT / "tools" / "unicode"
DEBIAN = pathlib.Path("/usr/share/unicode")
SCALARS = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
BLOCK_BITS = 7
BLOCK = 1 << BLOCK_BITS
HANGUL = range(0xAC00, 0xAC00 + 11172)
ASCII_PUNCTUATION = set(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))


# What the Debian files say


def ages() -> dict[int, tuple[int, int]]:
    """The version in which each code point was assigned."""
    table: dict[int, tuple[int, int]] = {}
    for line in (DEBIAN / "DerivedAge.txt").read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) != 2:
            continue
        first, _, last = fields[0].partition("..")
        major, _, minor = fields[1].partition(".")
        for c in range(int(first, 16), int(last or first, 16) + 1):
            table[c] = (int(major), int(minor))
    return table


def debian_tables() -> dict[str, dict[int, tuple[int, ...]]]:
    """Each table cut back to its age, as code point → value; absent means no."""
    age = ages()
    tables: dict[str, dict[int, tuple[int, ...]]] = {
        name: {} for name in ("mark", "removed", "whitespace", "punctuation", "ideograph", "combining", "decomposed", "lower")
    }
    canonical: dict[int, tuple[int, ...]] = {}
    first = None
    for line in (DEBIAN / "UnicodeData.txt").read_text(encoding="utf-8").splitlines():
        fields = line.split(";")
        code = int(fields[0], 16)
        if fields[1].endswith(", First>"):
            first = code
            continue
        codes = range(first, code + 1) if first is not None else [code]
        first = None
        for c in codes:
            if c not in age or 0xD800 <= c <= 0xDFFF:
                continue
            category = fields[2]
            if age[c] <= (8, 0):
                if category == "Mn":
                    tables["mark"][c] = (1,)
                if category in ("Cc", "Cf", "Co"):
                    tables["removed"][c] = (1,)
                if category.startswith("P"):
                    tables["punctuation"][c] = (1,)
            if age[c] <= (9, 0):
                if int(fields[3]):
                    tables["combining"][c] = (int(fields[3]),)
                if fields[5] and not fields[5].startswith("<"):
                    canonical[c] = tuple(int(part, 16) for part in fields[5].split())
            if fields[13]:
                tables["lower"][c] = (int(fields[13], 16),)

    def full(c: int) -> tuple[int, ...]:
        return tuple(part for d in canonical[c] for part in full(d)) if c in canonical else (c,)

    for c in canonical:
        tables["decomposed"][c] = full(c)
    for c in (0x09, 0x0A, 0x0D):
        tables["removed"].pop(c, None)
    for line in (DEBIAN / "PropList.txt").read_text(encoding="utf-8").splitlines():
        fields = [field.strip() for field in line.partition("#")[0].split(";")]
        if len(fields) == 2 and fields[1] == "White_Space":
            low, _, high = fields[0].partition("..")
            for c in range(int(low, 16), int(high or low, 16) + 1):
                tables["whitespace"][c] = (1,)
    for c in ASCII_PUNCTUATION:
        tables["punctuation"][c] = (1,)
    return tables


# What the reference says


def reference_tables(combining: dict[int, tuple[int, ...]]) -> tuple[dict[str, dict[int, tuple[int, ...]]], list[int]]:
    """The same tables, asked of the reference one scalar value at a time, and the code points of `\\w`.

    A combining class can't be asked for, only compared: the canonical order of a mark and a known mark of class k shows
    whether its class is above or below k. Two known marks of each class place it.
    """
    import tokenizers
    from tokenizers import normalizers, pre_tokenizers

    if tokenizers.__version__ != "0.23.3":
        sys.exit(f"tokenizers {tokenizers.__version__} is not the reference, 0.23.3 is")

    def bert(**flags: bool):
        off = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
        return normalizers.BertNormalizer(**{**off, **flags}).normalize_str

    clean, space, strip = bert(clean_text=True), bert(handle_chinese_chars=True), bert(strip_accents=True)
    nfd, lower = normalizers.NFD().normalize_str, normalizers.Lowercase().normalize_str
    words = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    tables: dict[str, dict[int, tuple[int, ...]]] = {
        name: {} for name in ("mark", "removed", "whitespace", "punctuation", "ideograph", "combining", "decomposed", "lower")
    }
    probes: dict[int, int] = {}
    for c, (k,) in sorted(combining.items()):
        probes.setdefault(k, c)
    classes = sorted(probes)
    for c in SCALARS:
        text = chr(c)
        parts = nfd(text)
        if parts != text and c not in HANGUL:
            tables["decomposed"][c] = tuple(map(ord, parts))
        if strip(text) == "" and parts == text:
            tables["mark"][c] = (1,)
        cleaned = clean(text)
        if cleaned == "":
            tables["removed"][c] = (1,)
        pieces = [piece for piece, _ in words("a" + text + "b")]
        if pieces == ["a", "b"]:
            tables["whitespace"][c] = (1,)
        elif len(pieces) == 3:
            tables["punctuation"][c] = (1,)
        if space(text) != text:
            tables["ideograph"][c] = (1,)
        low = lower(text)
        if low != text:
            tables["lower"][c] = tuple(map(ord, low))
        if parts == text:
            # Class k stands before a mark of class k' > k. c has a class if some mark moves over it, or it over one.
            def moves_before(a: int, b: int) -> bool:
                return nfd(chr(a) + chr(b)) == chr(b) + chr(a) and a != b

            lowest, highest = probes[classes[0]], probes[classes[-1]]
            if moves_before(c, lowest) or moves_before(highest, c):
                below = [k for k in classes if moves_before(c, probes[k])]
                above = [k for k in classes if moves_before(probes[k], c)]
                equal = [k for k in classes if k not in below and k not in above]
                if len(equal) != 1:
                    sys.exit(f"U+{c:04X}: its combining class is not one that a known mark has")
                tables["combining"][c] = (equal[0],)

    single = tokenizers.Tokenizer(tokenizers.models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    single.add_tokens([tokenizers.AddedToken("%", single_word=True, normalized=False)])
    word = [c for c in SCALARS if 1 not in single.encode(chr(c) + "%").ids]
    return tables, word


def ranges(codes: list[int]) -> list[tuple[int, int]]:
    result: list[tuple[int, int]] = []
    for c in sorted(codes):
        if result and result[-1][1] == c - 1:
            result[-1] = (result[-1][0], c)
        else:
            result.append((c, c))
    return result


def ask() -> None:
    """Rewrites tools/unicode/ with what the reference says and the Debian files don't."""
    ours = debian_tables()
    theirs, word = reference_tables(ours["combining"])
    lines = [
        "# Where the reference (tokenizers==0.23.3) differs from Debian's unicode-data 15.0 cut back by age.",
        "# Asked of it one code point at a time by `tools/make_unicode_tables.py --ask`.",
        "# table; first..last; value (0: not in the table; else 1, a combining class, or code points)",
    ]
    for name, table in theirs.items():
        changed = [c for c in SCALARS if table.get(c) != ours[name].get(c)]
        for low, high in ranges(changed):
            c = low
            while c <= high:
                end = c
                while end < high and table.get(end + 1) == table.get(c):
                    end += 1
                value = table.get(c, (0,))
                if name in ("decomposed", "lower") and c in table:
                    text = " ".join(f"{part:04X}" for part in value)
                else:
                    text = str(value[0])
                lines.append(f"{name}; {c:04X}..{end:04X}; {text}")
                c = end + 1
    DATA.mkdir(exist_ok=True)
    (DATA / "corrections.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (DATA / "word.txt").write_text(
        "# The code points of `\\w` in the reference (tokenizers==0.23.3), asked one at a time by\n"
        "# `tools/make_unicode_tables.py --ask`: those that stop a single_word token which follows them.\n"
        + "".join(f"{low:04X}..{high:04X}\n" for low, high in ranges(word)),
        encoding="utf-8",
    )


# The tables of the header


def corrected_tables() -> tuple[dict[str, dict[int, tuple[int, ...]]], set[int]]:
    tables = debian_tables()
    for line in (DATA / "corrections.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        name, span, value = (field.strip() for field in line.split(";"))
        low, _, high = span.partition("..")
        base = 16 if name in ("decomposed", "lower") else 10
        parts = tuple(int(part, base) for part in value.split())
        for c in range(int(low, 16), int(high, 16) + 1):
            if parts == (0,):
                tables[name].pop(c, None)
            else:
                tables[name][c] = parts
    word: set[int] = set()
    for line in (DATA / "word.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            low, _, high = line.partition("..")
            word.update(range(int(low, 16), int(high, 16) + 1))
    return tables, word


def two_stages(values: list[int]) -> tuple[list[int], list[int]]:
    """Blocks of 128 values, each block once, and the number of each code point's block."""
    numbers: dict[tuple[int, ...], int] = {}
    first: list[int] = []
    for start in range(0, len(values), BLOCK):
        block = tuple(values[start : start + BLOCK])
        first.append(numbers.setdefault(block, len(numbers)))
    while len(first) > 1 and first[-1] == first[-2]:  # the planes at the end are alike: the reader clamps
        first.pop()
    return first, [value for block in numbers for value in block]


def array(kind: str, name: str, docstring: str, values: list[int], hexadecimal: bool = False) -> str:
    # Decimal is shorter for what is small; a line holds up to 120 columns.
    words = [f"0x{value:X}" if hexadecimal and value > 9 else str(value) for value in values]
    lines, line = [], "   "
    for word in words:
        if len(line) + len(word) + 2 > 120:
            lines.append(line)
            line = "   "
        line += " " + word + ","
    lines.append(line)
    return f"/// {docstring}\ninline constexpr {kind} {name}[{len(values)}] = {{\n" + "\n".join(lines) + "\n};\n\n"


def header() -> str:
    tables, word = corrected_tables()
    flags = {"mark": 1, "removed": 2, "whitespace": 4, "punctuation": 8, "ideograph": 16}
    properties = [0] * 0x110000
    for name, bit in flags.items():
        for c in tables[name]:
            properties[c] |= bit
    for c in tables["decomposed"]:
        properties[c] |= 32
    for c in HANGUL:
        properties[c] |= 32
    for c in tables["lower"]:
        properties[c] |= 64
    for c in word:
        properties[c] |= 128
    for c, (k,) in tables["combining"].items():
        properties[c] |= k << 8

    # Combinations of flags and class are few, so that a block holds one byte a code point.
    kinds = sorted(set(properties))
    assert kinds[0] == 0 and len(kinds) <= 256
    number = {value: n for n, value in enumerate(kinds)}
    kind_blocks, kind_values = two_stages([number[value] for value in properties])

    data: list[int] = [0]
    decomposition = [0] * 0x110000
    for c, parts in sorted(tables["decomposed"].items()):
        decomposition[c] = len(data)
        data += [len(parts) << 24 | parts[0], *parts[1:]]
    decomposition_blocks, decomposition_values = two_stages(decomposition)

    changes = sorted({parts[0] - c for c, parts in tables["lower"].items() if len(parts) == 1})
    assert len(changes) < 255
    lower = [0] * 0x110000
    for c, parts in tables["lower"].items():
        if len(parts) == 1:
            lower[c] = changes.index(parts[0] - c) + 1
        else:
            assert (c, parts) == (0x130, (0x69, 0x307))  # the one code point that becomes two; `lower_case` knows it
            lower[c] = len(changes) + 1
    changes = [0, *changes, 0x69 - 0x130]
    lower_blocks, lower_values = two_stages(lower)

    text = (
        "/// The Unicode tables of BERT's normalisation and splitting, in the versions that the reference carries.\n"
        "///\n"
        "/// Made by tools/make_unicode_tables.py, whose docstring says from what; not to be edited. A table has two stages:\n"
        "/// the number of each block of 128 code points, then the blocks; a block past the end is the last one.\n"
        "#ifndef UFORM_TEXT_UNICODE_TABLES_HPP\n#define UFORM_TEXT_UNICODE_TABLES_HPP\n\n#include <cstdint>\n\n"
        "// clang-format off\n\nnamespace uform::unicode {\n\n"
        f"inline constexpr unsigned block_bits_k = {BLOCK_BITS};\n\n"
    )
    small = "std::uint8_t" if max(kind_blocks) < 256 else "std::uint16_t"
    text += array(small, "kind_blocks", "The block of kinds of each 128 code points.", kind_blocks)
    text += array("std::uint8_t", "kind_values", "The kind of each code point of a block.", kind_values)
    text += array(
        "std::uint16_t", "kinds", "The flags of a kind in the low byte (`Property`), its combining class in the high.", kinds
    )
    text += array(
        "std::uint8_t", "decomposition_blocks", "The block of decompositions of each 128 code points.", decomposition_blocks
    )
    text += array(
        "std::uint16_t",
        "decomposition_values",
        "Where each code point's decomposition starts; 0: it has none here.",
        decomposition_values,
    )
    text += array(
        "std::uint32_t",
        "decompositions",
        "Code points end to end; the first of each decomposition has their number in its high byte.",
        data,
        hexadecimal=True,
    )
    text += array("std::uint8_t", "lower_blocks", "The block of lower-casings of each 128 code points.", lower_blocks)
    text += array("std::uint8_t", "lower_values", "Which change lower-cases each code point.", lower_values)
    text += array(
        "std::int32_t", "lower_changes", "What is added to a code point. The last is U+0130's, which U+0307 follows.", changes
    )
    return text + "} // namespace uform::unicode\n\n// clang-format on\n\n#endif // UFORM_TEXT_UNICODE_TABLES_HPP\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ask", action="store_true", help="ask the reference anew (needs tokenizers==0.23.3)")
    parser.add_argument("--check", action="store_true", help="compare with the committed header, write nothing")
    options = parser.parse_args()
    if not (DEBIAN / "UnicodeData.txt").exists():
        sys.exit("Debian's package unicode-data is not installed")
    if options.ask:
        ask()
    text = header()
    if options.check:
        same = HEADER.read_text(encoding="utf-8") == text
        print("the header is up to date" if same else f"{HEADER} is not what its sources give")
        return int(not same)
    HEADER.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
