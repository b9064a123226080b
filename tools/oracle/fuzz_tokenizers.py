#!/usr/bin/env python3
"""Compares this library's ids with the reference's on random texts.

    fuzz_tokenizers.py --tokenizer FOLDER ... [--count 100000] [--seed 1] [--mode ids|offsets|decode|pairs]
                       [--program build/tokens] [--corpus FILE] [--sample N FILE]

A folder has a tokenizer.json. Texts are strings of random code points, mixed from all planes, from what is odd (marks,
joiners, spaces, controls, Hangul, emoji), and from pieces of the vocabulary and its added tokens; `--corpus` adds a
file's lines. Prints how many texts were compared and each of the first that differ; exit status 1 if any does.
`--sample` writes N texts with their ids for a test instead. The program is tokens.cpp, compiled into build/ if there is
none.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

import tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ODD = (
    "\u0000\u0001\t\n\u000b\u000c\r\u001c\u001f \u007f\u0085\u00a0\u00ad\u1680\u2000\u2028\u2029\u202f\u205f\u3000"
    "\u200b\u200c\u200d\u200e\u2060\ufeff\ufffd\ufe0f\U000e0001\u0300\u0301\u0302\u0308\u0323\u0327\u031b\u0345\u3099"
    "\u0591\u05b0\u064b\u0651\u0670\u093c\u094d\u0915\u0937\u0b95\u0bcd\u0e33\u0e48\u0f71\u0f74\u1100\u1161\u11a8"
    "\uac00\uac01\ud7a3\u1112\u115f\u0600\u06dd\u070f\u08e2\u00e9\u00c5\u212b\u1e9b\ufb01\ufdfa\u00bd\u2460\u33a5"
    "\u017f\u212a\u0130\u0131\u00df\u1e9e\u03c3\u03a3\u0345\u2581\u0120\u010a\u00a9\u00ae\u2600\u2764\U0001f468"
    "\U0001f469\U0001f3fd\U0001f1e9\U0001f1ea\U0001d15e\U0001d165\U0001d16d\u0344\u0958\u2adc\U0002f800\uf900\ue000"
    "\u4e2d\u6587\u3042\u30ab\uff76\uff9e\uff21\uff11\u0966\u0661\u00b2\u2167\U00020000\U0010ffff\u0378\u1ab0\u16ea"
    "'\u2019\"!.,;:-_/\\()[]{}<>@#$%^&*+=|~`"
)
SCALARS = [(0x20, 0x7F), (0xA0, 0x250), (0x250, 0x800), (0x800, 0x2000), (0x2000, 0x3000), (0x3000, 0xA000),
           (0xA000, 0xD800), (0xE000, 0x10000), (0x10000, 0x20000), (0x20000, 0x110000)]


class Texts:
    """Random texts as a pure function of the seed and the tokenizer."""

    def __init__(self, tokenizer: tokenizers.Tokenizer, seed: int, corpus: list[str]) -> None:
        self.random = random.Random(seed)
        self.pieces = sorted(tokenizer.get_vocab())
        self.added = sorted(token.content for token in tokenizer.get_added_tokens_decoder().values())
        self.corpus = corpus

    def part(self) -> str:
        choice = self.random.random()
        if choice < 0.3:
            return self.random.choice(ODD)
        if choice < 0.55:
            low, high = self.random.choice(SCALARS)
            c = self.random.randrange(low, high)
            return chr(c) if not 0xD800 <= c < 0xE000 else ""
        if choice < 0.65:
            return " " * self.random.choice((1, 1, 1, 2, 3, 9))
        if choice < 0.8:
            return self.random.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
        if choice < 0.93:
            return self.random.choice(self.pieces).replace("##", "").replace("\u2581", " ").replace("\u0120", " ")
        if choice < 0.95 and self.added:
            return self.random.choice(self.added)
        if choice < 0.97:
            return self.random.choice(("'s", "'T", "'re", "'LL", "'\u017f", "'ve", "don't", "\r\n", "\n\n", " \n ", "..."))
        return self.random.choice(ODD) * self.random.choice((2, 3, 40))

    def text(self) -> str:
        if self.corpus and self.random.random() < 0.2:
            line = self.random.choice(self.corpus)
            at = self.random.randrange(len(line) + 1)
            return line[:at] + self.part() + line[at : at + 200]
        return "".join(self.part() for _ in range(self.random.choice((1, 2, 3, 5, 8, 13, 30))))


def program(path: pathlib.Path) -> pathlib.Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        source = pathlib.Path(__file__).with_name("tokens.cpp")
        subprocess.run(["g++", "-std=c++20", "-O2", f"-I{ROOT}/include", str(source), "-o", str(path)], check=True)
    return path


def bytes_of(text: str, first: int, last: int) -> tuple[int, int]:
    return len(text[:first].encode()), len(text[:last].encode())


def expected_of(tokenizer: tokenizers.Tokenizer, mode: str, items: list) -> list[str]:
    if mode == "pairs":
        lines = []
        for limit, strategy, first, second in items:
            tokenizer.no_truncation()
            special = tokenizer.num_special_tokens_to_add(True)
            tokenizer.enable_truncation(max_length=limit, strategy=strategy)
            try:
                if limit < special:
                    raise ValueError
                encoding = tokenizer.encode(first, second)
                lines.append("".join(f"{i}:{t} " for i, t in zip(encoding.ids, encoding.type_ids, strict=True)))
            except Exception:  # the reference's own
                lines.append("ERR ")
        tokenizer.no_truncation()
        return lines
    encodings = tokenizer.encode_batch(items) if mode != "ids" else tokenizer.encode_batch_fast(items)
    if mode == "ids":
        return ["".join(f"{i} " for i in encoding.ids) for encoding in encodings]
    if mode == "offsets":
        return [
            "".join(
                "{}:{}-{}:{} ".format(i, *bytes_of(text, *offsets), t)
                for i, offsets, t in zip(encoding.ids, encoding.offsets, encoding.type_ids, strict=True)
            )
            for text, encoding in zip(items, encodings, strict=True)
        ]
    return [tokenizer.decode(encoding.ids, mode == "decode").encode().hex() for encoding in encodings]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", type=pathlib.Path, action="append", required=True)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=("ids", "offsets", "decode", "decode_all", "pairs"), default="ids")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "tokens")
    parser.add_argument("--corpus", type=pathlib.Path)
    parser.add_argument("--sample", nargs=2, metavar=("N", "FILE"))
    options = parser.parse_args()
    corpus = options.corpus.read_text(encoding="utf-8").split("\n") if options.corpus else []
    failed = 0
    for folder in options.tokenizer:
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        texts = Texts(tokenizer, options.seed, corpus)
        if options.sample:
            rows = [texts.text() for _ in range(int(options.sample[0]))]
            lines = [
                json.dumps({"text": text, "ids": tokenizer.encode(text).ids}, ensure_ascii=True, separators=(",", ":"))
                for text in rows
            ]
            pathlib.Path(options.sample[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")
            continue
        compared = different = 0
        while compared < options.count:
            size = min(20_000, options.count - compared)
            if options.mode == "pairs":
                strategies = ("longest_first", "only_first", "only_second")
                items = [
                    (texts.random.randrange(0, 40), texts.random.choice(strategies), texts.text(), texts.text())
                    for _ in range(size)
                ]
                lines = [f"{n} {s} {a.encode().hex()} {b.encode().hex()}" for n, s, a, b in items]
            else:
                items = [texts.text() for _ in range(size)]
                lines = [item.encode().hex() for item in items]
            expected = expected_of(tokenizer, options.mode, items)
            answers = subprocess.run(
                [program(options.program), folder, options.mode], input="\n".join(lines) + "\n", capture_output=True, text=True,
                check=True,
            ).stdout.split("\n")
            for item, right, answer in zip(items, expected, answers, strict=False):
                if right != answer:
                    different += 1
                    if different <= 5:
                        print(f"{folder}: {item!r}\n  reference {right}\n  here      {answer}", flush=True)
            compared += size
        print(f"{folder}: {options.mode}: {compared} texts compared, {different} differ", flush=True)
        failed += different
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
