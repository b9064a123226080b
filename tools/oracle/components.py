#!/usr/bin/env python3
"""Every component of tokenizer.json with its options, one at a time, and what the reference makes of texts with it.

    components.py --write tests/data/text        cases.jsonl: fragments, and digests of ids, offsets and decoded texts
    components.py --folders build/components     a folder a case, for fuzz_tokenizers.py

A case is a tokenizer whose BPE has a token for each character, and another for one that ends a word, so that ids show
every character and every cut. Digests are SHA-256 of what `serialise` says, so that many texts cost nothing.
"""

import argparse
import base64
import hashlib
import json
import pathlib
import random
import struct
import sys
from typing import Any

import tokenizers
from script_texts import script_texts

SPECIAL = ["<unk>", "<s>", "</s>", "<mask>", "[CLS]", "[SEP]", "tok", "Été"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT2_SHORT = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
ONE_DIGIT = CL100K.replace("{1,3}", "")
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


def character_map(entries: dict[str, str]) -> str:
    """A precompiled character map, base64: a double array that is wide rather than dense."""
    blob = b""
    places: dict[str, int] = {}
    for text in dict.fromkeys(entries.values()):
        places[text] = len(blob)
        blob += text.encode() + b"\0"
    trie: dict = {}
    for key, text in entries.items():
        node = trie
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = places[text]
    units: dict[int, int] = {0: 0}
    free = [256]

    def lay(node: dict, place: int, label: int) -> None:
        # Children of a node lie in a block of their own, its value at the block's first place.
        base = free[0]
        free[0] += 256
        offset = place ^ base
        assert offset < 1 << 21
        units[place] = offset << 10 | label | (256 if None in node else 0)
        if None in node:
            units[base] = 1 << 31 | node[None]
        for byte, child in node.items():
            if byte is not None:
                lay(child, base ^ byte, byte)

    lay(trie, 0, 0)
    array = struct.pack(f"<{free[0]}I", *(units.get(place, 0) for place in range(free[0])))
    return base64.b64encode(struct.pack("<I", len(array)) + array + blob).decode()


MAP = character_map(
    {"\u0001": "", "\u200b": " ", "\u3000": " ", "\t": " ", "\ufb01": "fi", "\u00e9": "E", "e\u0301": "\u00e9\u00e9",
     "\u00bd": "1\u20442", "\u0301": "", "A\u030a": "\u00c5", "\uff21": "A", "\u0600": "N", "\u2460": "(1)", "\u4e2d": ""}
)


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []

    def add(name: str, **parts: Any) -> None:
        found.append({"case": name, **parts})

    def normalizer(name: str, *steps: dict[str, Any]) -> None:
        one = steps[0] if len(steps) == 1 else {"type": "Sequence", "normalizers": list(steps)}
        add(f"normalizer {name}", normalizer=one, pre_tokenizer={"type": "WhitespaceSplit"})

    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel"):
        normalizer(name, {"type": name})
    for lower in (True, False):
        for strip in (True, False, None):
            normalizer(f"Bert {lower} {strip}", {**bert, "lowercase": lower, "strip_accents": strip})
    normalizer("Bert raw", {**bert, "clean_text": False, "handle_chinese_chars": False, "lowercase": True})
    for left in (True, False):
        for right in (True, False):
            strip = {"type": "Strip", "strip_left": left, "strip_right": right}
            add(f"normalizer Strip {left} {right}", normalizer=strip)
    for pattern, content in (("a", "bb"), ("ab", ""), ("\u00e9", "e"), (" ", "\u2581"), ("``", '"'), ("aa", "a"), ("e", "")):
        normalizer(f"Replace {pattern} {content}", {"type": "Replace", "pattern": {"String": pattern}, "content": content})
    for pattern, content in ((" {2,}", " "), (r"\s+", " "), (" {2,}", "\u2581"), (r"\s+", "")):
        replace = {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
        add(f"normalizer Replace {pattern} {content}", normalizer=replace)
    for content in ("\u2581", "ab", " ", ""):
        add(f"normalizer Prepend {content}", normalizer={"type": "Prepend", "prepend": content})
    precompiled = {"type": "Precompiled", "precompiled_charsmap": MAP}
    normalizer("Precompiled", precompiled)
    normalizer("empty", *[{"type": "Sequence", "normalizers": []}])
    lower, nfkd, accents = {"type": "Lowercase"}, {"type": "NFKD"}, {"type": "StripAccents"}
    both = {"type": "Strip", "strip_left": True, "strip_right": True}
    normalizer("ALBERT", {"type": "Replace", "pattern": {"String": "``"}, "content": '"'}, nfkd, accents, lower, precompiled)
    normalizer("T5", precompiled, both, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"})
    normalizer("nested", {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"}]}, both)
    normalizer("Llama", {"type": "Prepend", "prepend": "\u2581"},
               {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})
    normalizer("Bert twice", {**bert, "lowercase": True}, {**bert, "lowercase": False}, {"type": "NFC"})
    normalizer("lower Bert", lower, {**bert, "lowercase": False})
    normalizer("NFC ByteLevel", {"type": "NFC"}, {"type": "ByteLevel"})

    def splits(name: str, *steps: dict[str, Any], **more: Any) -> None:
        one = steps[0] if len(steps) == 1 else {"type": "Sequence", "pretokenizers": list(steps)}
        add(f"pre_tokenizer {name}", pre_tokenizer=one, **more)

    add("pre_tokenizer none")
    for name in ("BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation"):
        splits(name, {"type": name})
    for behavior in BEHAVIORS:
        splits(f"Punctuation {behavior}", {"type": "Punctuation", "behavior": behavior})
        for invert in (False, True):
            split = {"type": "Split", "behavior": behavior, "invert": invert}
            splits(f"Split a {behavior} {invert}", {**split, "pattern": {"String": "a"}})
            splits(f"Split space {behavior} {invert}", {**split, "pattern": {"String": " "}})
            splits(f"Split spaces {behavior} {invert}", {**split, "pattern": {"Regex": r"\s+"}})
            splits(f"Split blanks {behavior} {invert}", {**split, "pattern": {"Regex": " {2,}"}})
            splits(f"Split GPT-2 {behavior} {invert}", {**split, "pattern": {"Regex": GPT2}})
    split = {"type": "Split", "behavior": "Isolated", "invert": False}
    for name, pattern in (("GPT-2 short", GPT2_SHORT), ("cl100k", CL100K), ("one digit", ONE_DIGIT)):
        splits(f"Split {name}", {**split, "pattern": {"Regex": pattern}})
    splits("Split CLIP", {**split, "behavior": "Removed", "invert": True, "pattern": {"Regex": CLIP}})
    for individual in (True, False):
        splits(f"Digits {individual}", {"type": "Digits", "individual_digits": individual})
    for delimiter in ("-", "\u2581", " "):
        splits(f"CharDelimiterSplit {delimiter}", {"type": "CharDelimiterSplit", "delimiter": delimiter})
    white, byte_level = {"type": "WhitespaceSplit"}, {"type": "ByteLevel", "trim_offsets": True}
    for scheme in ("always", "first", "never"):
        for cut in (True, False):
            meta = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": cut}
            splits(f"Metaspace {scheme} {cut}", meta)
            splits(f"WhitespaceSplit Metaspace {scheme} {cut}", white, meta)
            splits(f"Strip Metaspace {scheme} {cut}", meta, normalizer=both)
    splits("Metaspace old", {"type": "Metaspace", "replacement": "_", "add_prefix_space": True})
    splits("Metaspace Digits", {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"},
           {"type": "Digits", "individual_digits": True})
    for prefix in (True, False):
        for cut in (True, False):
            splits(f"ByteLevel {prefix} {cut}", {**byte_level, "add_prefix_space": prefix, "use_regex": cut})
    splits("Qwen", {**split, "pattern": {"Regex": ONE_DIGIT}}, {**byte_level, "add_prefix_space": False, "use_regex": False})
    splits("Digits ByteLevel", {"type": "Digits", "individual_digits": True}, {**byte_level, "add_prefix_space": True})
    splits("ByteLevel Digits", {**byte_level, "add_prefix_space": True}, {"type": "Digits", "individual_digits": False})
    splits("Whitespace Punctuation Digits", {"type": "Whitespace"}, {"type": "Punctuation"},
           {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}]})

    template = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 3}}, {"Sequence": {"id": "A", "type_id": 2}},
                   {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
        "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 4}}, {"Sequence": {"id": "B", "type_id": 2}},
                 {"SpecialToken": {"id": "[SEP]", "type_id": 1}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [4, 1], "tokens": ["[CLS]", "<s>"]},
                           "[SEP]": {"id": "[SEP]", "ids": [5], "tokens": ["[SEP]"]}},
    }
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 1]}
    words = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
    for name, post in (
        ("none", None),
        ("Template", template),
        ("Bert", {"type": "BertProcessing", "sep": ["[SEP]", 5], "cls": ["[CLS]", 4]}),
        ("Roberta", {**roberta, "trim_offsets": True, "add_prefix_space": True}),
        ("Roberta no prefix", {**roberta, "trim_offsets": True, "add_prefix_space": False}),
        ("Roberta untrimmed", {**roberta, "trim_offsets": False, "add_prefix_space": True}),
        ("ByteLevel", words),
        ("ByteLevel untrimmed", {**words, "trim_offsets": False}),
        ("Sequence", {"type": "Sequence", "processors": [{**words, "add_prefix_space": False}, template]}),
    ):
        for prefix in (True, False):
            add(f"post_processor {name} {prefix}", post_processor=post, pre_tokenizer={**words, "add_prefix_space": prefix})

    meta = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    fuse, fallback = {"type": "Fuse"}, {"type": "ByteFallback"}
    for name, decoder in (
        ("WordPiece", {"type": "WordPiece", "prefix": "##", "cleanup": True}),
        ("WordPiece unclean", {"type": "WordPiece", "prefix": "a", "cleanup": False}),
        ("ByteLevel", {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}),
        ("Metaspace", meta),
        ("Metaspace never", {**meta, "prepend_scheme": "never"}),
        ("BPEDecoder", {"type": "BPEDecoder", "suffix": "</w>"}),
        ("Fuse", fuse),
        ("Strip", {"type": "Sequence", "decoders": [fuse, {"type": "Strip", "content": " ", "start": 2, "stop": 0}]}),
        ("Replace", {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}),
        ("Replace Regex", {"type": "Sequence", "decoders": [fuse, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": "_"}]}),
        ("Llama", {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
                                                     fallback, fuse, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}),
    ):
        cut = words if name == "ByteLevel" else meta
        add(f"decoder {name}", decoder=decoder, pre_tokenizer=cut)
    return found


MODELS = {
    "BPE fallback": {"type": "BPE", "byte_fallback": True},
    "BPE fused": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": True},
    "BPE unfused": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": False},
    "BPE silent": {"type": "BPE"},
    "BPE prefix": {"type": "BPE", "unk_token": "<unk>", "continuing_subword_prefix": "##"},
    "BPE prefix suffix": {"type": "BPE", "unk_token": "<unk>", "continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"},
    "BPE whole": {"type": "BPE", "unk_token": "<unk>", "ignore_merges": True},
    "BPE old": {"type": "BPE", "unk_token": "<unk>", "dropout": 0.0},
    "Unigram": {"type": "Unigram", "unk_id": 0, "byte_fallback": False},
    "Unigram fallback": {"type": "Unigram", "unk_id": 0, "byte_fallback": True},
    "Unigram ties": {"type": "Unigram", "unk_id": 0, "byte_fallback": False},
    "WordLevel": {"type": "WordLevel", "unk_token": "<unk>"},
    "WordPiece": {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##", "max_input_chars_per_word": 9},
}
WORDS = ["the", "an", "in", "er", "on", "re", "he", "th", "at", "en", "ing", "and", "tion", "st", "ed", "aa", "aaaa", "ab", "ba",
         "the</w>", "er</w>", "##er", "##in", "##ing", "\u2581the", "\u2581a", "\u2581", "\u043d\u0430", "\u0441\u0442", "\u4e2d\u56fd", "xyz"]


def model_of(name: str, characters: list[str]) -> dict[str, Any]:
    """A model over an eighth of the characters, so that the others are unknown."""
    model = dict(MODELS[name])
    known = [c for n, c in enumerate(characters) if c.isascii() or n % 8 == 0]
    if model["type"] == "Unigram":
        tie = name.endswith("ties")
        words = [word for word in WORDS if "#" not in word and "<" not in word] + ["aaa", "bab", "abab"]
        rows = [("<unk>", 0.0)] + [(c, -8.0 if tie else -6.0 - n % 7 / 3) for n, c in enumerate(known)]
        rows += [(word, -8.0 * (1 if tie else len(word)) + (0 if tie else len(word) * 3.1)) for word in words]
        rows += [(f"<0x{byte:02X}>", -20.0) for byte in range(256)]
        rows += [("\u00fc\u00fc\u00fc", -500.0), (words[0], -1.5)]  # worse than unknown; a piece that is there twice
        return {**model, "vocab": rows}
    pieces = ["<unk>", *known, *("##" + c for c in known), *(c + "</w>" for c in known), *("##" + c + "</w>" for c in known)]
    if model["type"] == "BPE":
        pieces += [f"<0x{byte:02X}>" for byte in range(256) if name != "BPE fallback" or byte % 8 != 7]
        prefix, merges = model.get("continuing_subword_prefix") or "", []
        sources = [("t", "h"), ("h", "e"), ("i", "n"), ("e", "r"), ("a", "a"), ("aa", "aa"), ("a", "b"), ("b", "a"), ("th", "e"),
                   ("in", "g"), ("r", "e"), ("a", "n"), ("an", "d"), ("o", "n"), ("ab", "ab"), ("a", "n"), ("t", "he"), ("aa", "a")]
        for left, right in sources:
            for before in {"", prefix}:
                merges.append([before + left, prefix + right])
                if model.get("end_of_word_suffix"):
                    merges.append([before + left, prefix + right + "</w>"])
        for left, right in merges:
            pieces += [left, right, left + right[len(prefix) :]]
        model["merges"] = [" ".join(merge) for merge in merges] if name == "BPE old" else merges
    return {**model, "vocab": {piece: n for n, piece in enumerate(dict.fromkeys([*pieces, *WORDS]))}}


def added() -> list[dict[str, Any]]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    rows = [{"id": n, "content": token, **flags} for n, token in enumerate(SPECIAL)]
    rows[3]["lstrip"] = True
    rows[6] |= {"special": False, "single_word": True, "rstrip": True, "normalized": True}
    rows[7] |= {"special": False, "normalized": True}
    return rows


def tokenizer_of(case: dict[str, Any], vocabulary: dict[str, int]) -> dict[str, Any]:
    model = case.get("model") or {"type": "BPE", "unk_token": "<unk>", "end_of_word_suffix": "</w>", "vocab": vocabulary, "merges": []}
    parts = {name: case.get(name) for name in ("normalizer", "pre_tokenizer", "post_processor", "decoder")}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added() if "model" not in case else [], **parts, "model": model}


def load(case: dict[str, Any], vocabulary: dict[str, int]) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer_of(case, vocabulary)))


def vocabulary_of(texts: list[str]) -> dict[str, int]:
    """Each character that any case makes of the texts, and the same with an end."""
    characters: set[str] = set()
    for case in cases():
        tokenizer = load({**case, "post_processor": None}, {"<unk>": 0})
        for text in texts:
            normal = tokenizer.normalizer.normalize_str(text) if tokenizer.normalizer else text
            characters.update(normal)
            if tokenizer.pre_tokenizer:
                for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
                    characters.update(word)
    pieces = [*SPECIAL, *sorted(characters), *(c + "</w>" for c in sorted(characters))]
    return {piece: n for n, piece in enumerate(dict.fromkeys(pieces))}


def all_cases(texts: list[str]) -> tuple[dict[str, int], list[dict[str, Any]]]:
    vocabulary = vocabulary_of(texts)
    characters = sorted({c for text in texts for c in text if not c.isspace()})
    meta = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    models = [
        {"case": f"model {name} {cut}", "pre_tokenizer": pre, "model": model_of(name, characters)}
        for name in MODELS
        for cut, pre in (("words", {"type": "WhitespaceSplit"}), ("whole", None), ("meta", meta))
    ]
    return vocabulary, cases() + models


def numbers(count: int) -> list[tuple[str, float]]:
    """Scores as they are written and as the reference reads them, which is not always the nearest double."""
    source = random.Random(3)
    written = [repr(-source.random() * 10 ** source.choice((-12, -3, 0, 1, 1, 1, 2, 5))) for _ in range(count)]
    # Where the digits stop to fit into 64 bits, before, at and behind the point.
    most = 2**64 - 1
    written += [f"{most + n}{tail}" for n in range(-3, 4) for tail in ("", "0", ".0", ".5", ".6", ".50", "e-3", "5.25e-21")]
    written += [f"{(most + n) // 10}.{(most + n) % 10}{tail}" for n in range(-3, 4) for tail in ("", "0", "9", "e5")]
    digits = "".join(source.choice("0123456789") for _ in range(400))
    for size in (17, 18, 19, 20, 21, 25, 40, 100):
        written += [f"-0.{digits[:size]}", f"-1{digits[:size]}", f"{digits[0]}.{digits[:size]}E+{size}"]
        written += [f"-1{digits[:size]}.{digits[size : 2 * size]}", f"1{digits[:size]}.{digits[:size]}e-{size}"]
    written += [f"-{digits[:1]}.{digits[1:4]}e{n}" for n in (-400, -325, -324, -323, -320, -310, -309, -308, -307, -100, -50)]
    written += [f"-{digits[:1]}.{digits[1:17]}e{n}" for n in (-49, -48, -47, -24, -23, -22, 22, 23, 48, 49, 100, 200, 291, 300)]
    written += [f"0.{'0' * n}{digits[4:9]}e{e}" for n in (10, 300, 330, 400) for e in (0, 20, 300)]
    written += [f"-0.{'0' * 100}e400"]
    written += ["-5", "0", "-0.0", "0.0e300", "1e-99999999999", "-1e-99999999999", "1e308", "1.7976931348623157e308"]
    pieces = ",".join(f'["p{n}",{score}]' for n, score in enumerate(written))
    model = f'{{"type":"Unigram","unk_id":0,"vocab":[{pieces}]}}'
    read = json.loads(tokenizers.Tokenizer.from_str(f'{{"version":"1.0","added_tokens":[],"model":{model}}}').to_str())
    return list(zip(written, (score for _, score in read["model"]["vocab"]), strict=True))


def serialise(lists: list[list[int]]) -> bytes:
    """Each list as its count and its numbers, little-endian u32."""
    return b"".join(struct.pack(f"<{len(row) + 1}I", len(row), *row) for row in lists)


def digests(tokenizer: tokenizers.Tokenizer, texts: list[str]) -> dict[str, str]:
    encodings = tokenizer.encode_batch(texts)
    pairs = [tokenizer.encode(a, b) for a, b in zip(texts[::7], texts[3::7])]
    offsets = [
        [len(text[:at].encode()) for first_last in encoding.offsets for at in first_last]
        for text, encoding in zip(texts, encodings, strict=True)
    ]
    decoded = [list(tokenizer.decode(encoding.ids, False).encode()) for encoding in encodings]
    found = {
        "ids": serialise([encoding.ids for encoding in encodings]),
        "segments": serialise([encoding.type_ids for encoding in encodings]),
        "offsets": serialise(offsets),
        "pairs": serialise([row for encoding in pairs for row in (encoding.ids, encoding.type_ids)]),
        "decoded": serialise(decoded),
    }
    return {name: hashlib.sha256(value).hexdigest() for name, value in found.items()}


def spell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("--folders", type=pathlib.Path)
    options = parser.parse_args()
    texts = script_texts()
    vocabulary, found = all_cases(texts)
    if options.folders:
        for n, case in enumerate(found):
            folder = options.folders / f"{n:03} {case['case']}".replace("/", "_").replace("\\", "")
            folder.mkdir(parents=True, exist_ok=True)
            table = json.dumps(tokenizer_of(case, vocabulary), ensure_ascii=False)
            (folder / "tokenizer.json").write_text(table, encoding="utf-8")
    if options.write:
        # What the fragments of a case stand for is written by Python, so that a test need not write JSON.
        main_model = tokenizer_of({}, vocabulary)["model"]
        models: dict[str, str] = {"": spell(main_model)}
        rows = []
        for case in found:
            name = case["case"].split(" ", 1)[1].rsplit(" ", 1)[0] if "model" in case else ""
            if name:
                models[name] = spell(case["model"])
            row = {"case": case["case"], "model": name, "added": not name}
            row |= {part: spell(case.get(part)) for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder")}
            rows.append({**row, **digests(load(case, vocabulary), texts)})
        lines = [spell({"models": models}), *(spell(row) for row in rows)]
        (options.write / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (options.write / "added.json").write_text(spell(added()) + "\n", encoding="utf-8")
        pairs = (f"{written} {struct.pack('>d', read).hex()}" for written, read in numbers(300))
        (options.write / "numbers.txt").write_text("\n".join(pairs) + "\n", encoding="utf-8")
        texts_lines = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
        (options.write / "texts.jsonl").write_text("\n".join(texts_lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
