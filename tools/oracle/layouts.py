#!/usr/bin/env python3
"""Makes folders without tokenizer.json, of the older kinds, with the reference's answers: tests/data/text/layouts/.

    layouts.py tests/data/text/layouts                  write the files below
    layouts.py --fuzz 20000 [--program build/tokens]    compare random strings over every case
    layouts.py --folders 2000 [--program build/tokens]  compare random JSON files beside the vocabularies

    roberta/        vocab.json and merges.txt
    sentencepiece/  sentencepiece.bpe.model, with a small map of characters, control and user-defined pieces
    wordpiece/      vocab.txt, with the special tokens of BERT and of MPNet
    cases.jsonl     a case a line: its name, which of the vocabularies, and the JSON files beside it, by name
    golden.safetensors
        digests.CASE  U32 [55, 8]: SHA-256 of the ids of each 20 of ../texts.jsonl
        traced.CASE, decoded.CASE, pairs.CASE  U32 [8]: of the first and last bytes of all tokens, of the decoded bytes,
                      and of ids and segments of the texts 7 i and 7 i + 3
        offsets.CASE, ids.CASE  for three of them: ids of every fifth text

A pure function of its code: with these versions, the same bytes.
"""

import argparse
import collections
import contextlib
import hashlib
import io
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np  # noqa: E402
import tokenizers  # noqa: E402
import transformers  # noqa: E402
from components import serialise  # noqa: E402
from fuzz_tokenizers import ROOT, Texts, bytes_of, expected_of, program  # noqa: E402
from reference import ragged  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from script_texts import script_texts  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: E402

PIECES = 700
BLOCK = 20
STRIPS = {"content": "<mask>", "lstrip": True, "rstrip": False, "normalized": False, "single_word": False}


def token(content: str, **flags: bool) -> dict[str, Any]:
    names = ("lstrip", "rstrip", "single_word", "normalized", "special")
    return {"content": content, **{name: flags.get(name, False) for name in names}}


CASES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "roberta",
        "roberta",
        {"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizer"}, "special_tokens_map.json": {"mask_token": STRIPS}},
    ),
    ("roberta-model-type", "roberta", {"config.json": {"model_type": "roberta"}}),
    (
        "roberta-prefix",
        "roberta",
        {"tokenizer_config.json": {"tokenizer_class": "RobertaTokenizerFast", "add_prefix_space": True}},
    ),
    (
        "roberta-untrimmed",
        "roberta",
        {
            "config.json": {"model_type": "roberta", "tokenizer_class": "RobertaTokenizer"},
            "tokenizer_config.json": {"add_prefix_space": True, "trim_offsets": False},
        },
    ),
    (
        "roberta-listed",
        "roberta",
        {
            "config.json": {"model_type": "roberta"},
            "tokenizer_config.json": {
                "sep_token": "<tail>",
                "cls_token": "<unk>",
                "mask_token": "fox",
                "extra_special_tokens": ["dog", "<new>"],
                "added_tokens_decoder": {
                    "706": token("quick", single_word=True, normalized=True),
                    "705": token("<tail>", lstrip=True, rstrip=True),
                    "4": token("fox", rstrip=True, special=True),
                },
            },
            "special_tokens_map.json": {"sep_token": "</s>", "mask_token": STRIPS},
        },
    ),
    (
        "roberta-added",
        "roberta",
        {
            "config.json": {"model_type": "roberta"},
            "tokenizer_config.json": {"my_token": "brown", "pad_token": None},
            "special_tokens_map.json": {
                "additional_special_tokens": ["lazy"],
                "other_token": {"content": "jumps", "lstrip": True, "rstrip": True, "normalized": False},
            },
            "added_tokens.json": {"over": 706, "lazy": 705, "<mask>": 704},
        },
    ),
    (
        "xlm-roberta",
        "sentencepiece",
        {
            "tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizer"},
            "special_tokens_map.json": {"mask_token": STRIPS},
        },
    ),
    ("xlm-roberta-model-type", "sentencepiece", {"config.json": {"model_type": "xlm-roberta"}}),
    (
        "xlm-roberta-unprefixed",
        "sentencepiece",
        {"tokenizer_config.json": {"tokenizer_class": "XLMRobertaTokenizerFast", "add_prefix_space": False}},
    ),
    (
        "xlm-roberta-renamed",
        "sentencepiece",
        {
            "config.json": {"model_type": "xlm-roberta"},
            "tokenizer_config.json": {"bos_token": "<first>", "unk_token": "<what>", "eos_token": "the", "mask_token": "fox"},
            "special_tokens_map.json": {"pad_token": token("<fill>", lstrip=True)},
            "added_tokens.json": {"quick": 720},
        },
    ),
    (
        "xlm-roberta-listed",
        "sentencepiece",
        {
            "config.json": {"model_type": "xlm-roberta"},
            "tokenizer_config.json": {
                "extra_special_tokens": ["dog"],
                "added_tokens_decoder": {"1": token("<pad>", special=True), "3": token("brown", normalized=True)},
            },
        },
    ),
    ("camembert", "sentencepiece", {"tokenizer_config.json": {"tokenizer_class": "CamembertTokenizer"}}),
    (
        "camembert-mask",
        "sentencepiece",
        {
            "config.json": {"model_type": "camembert"},
            "tokenizer_config.json": {"add_prefix_space": False, "unk_token": "<pad>"},
            "special_tokens_map.json": {"mask_token": {**STRIPS, "lstrip": False, "rstrip": True}},
        },
    ),
    ("mpnet", "wordpiece", {"tokenizer_config.json": {"tokenizer_class": "MPNetTokenizer"}}),
    ("mpnet-model-type", "wordpiece", {"config.json": {"model_type": "mpnet"}, "tokenizer_config.json": {"do_lower_case": False}}),
    (
        "mpnet-renamed",
        "wordpiece",
        {
            "config.json": {"model_type": "mpnet", "tokenizer_class": "MPNetTokenizer"},
            "tokenizer_config.json": {"cls_token": "[CLS]", "strip_accents": False, "tokenize_chinese_chars": False},
            "special_tokens_map.json": {"sep_token": "[SEP]", "mask_token": {**STRIPS, "lstrip": False, "rstrip": True}},
        },
    ),
    ("bert-model-type", "wordpiece", {"config.json": {"model_type": "bert"}}),
    (
        "electra-of-mpnet",
        "wordpiece",
        {"config.json": {"model_type": "mpnet"}, "tokenizer_config.json": {"tokenizer_class": "ElectraTokenizerFast"}},
    ),
]
WITH_IDS = ("roberta", "xlm-roberta", "camembert", "mpnet")


def byte_level(lines: list[str]) -> dict[str, bytes]:
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    learned.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=PIECES, initial_alphabet=alphabet, show_progress=False)
    )
    model = json.loads(learned.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].get)
    names = ["<s>", "<pad>", "</s>", "<unk>", *pieces, "<mask>"]
    vocabulary = json.dumps({name: number for number, name in enumerate(names)}, ensure_ascii=False)
    merges = "".join(f"{left} {right}\n" for left, right in model["merges"])
    return {"vocab.json": vocabulary.encode(), "merges.txt": f"#version: 0.2\n{merges}".encode()}


def sentencepiece_model(lines: list[str]) -> dict[str, bytes]:
    import sentencepiece

    characters = sorted(set("".join(lines)) | set("ﬀﬁﬂﬃﬄ½¼¾²³№℃Ⅳⅷ①⑳㎏㍿ｱｶﾞ！Ａｚ"))
    forms = {c: unicodedata.normalize("NFKC", c) for c in characters}
    rules = [(c, form) for c, form in forms.items() if c != form] + [("e\u0301", "é"), ("A\u030a", "Å"), ("\u200b", "")]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # the model has the path of the rules in it
        path = pathlib.Path("rules.tsv")
        spelled = ("\t".join(" ".join(f"{ord(c):X}" for c in side) for side in rule) for rule in rules)
        path.write_text("\n".join(spelled) + "\n", encoding="utf-8")
        buffer = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([line for line in lines if "\n" not in line and "\0" not in line]),
            model_writer=buffer, model_type="unigram", vocab_size=PIECES, num_threads=1, hard_vocab_limit=False,
            character_coverage=0.98, normalization_rule_tsv=str(path), minloglevel=2,
            control_symbols=["<ctl>"], user_defined_symbols=["tok", "re-en"],
        )
    return {"sentencepiece.bpe.model": buffer.getvalue()}


def word_pieces(lines: list[str]) -> dict[str, bytes]:
    lower = [unicodedata.normalize("NFC", line.lower()) for line in lines]
    words = collections.Counter(word for line in lower for word in line.split() if word.isalpha()).most_common(300)
    characters = collections.Counter("".join(line for line in lower)).most_common(400)
    singles = [c for c, _ in characters if not c.isspace() and c.isprintable()]
    pieces = [word for word, _ in words] + singles + [f"##{c}" for c in singles] + ["##ing", "##er", "The", "É"]
    special = ["<s>", "<pad>", "</s>", "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
    return {"vocab.txt": "".join(f"{piece}\n" for piece in dict.fromkeys([*special, *pieces, "<mask>"])).encode()}


def vocabularies() -> dict[str, dict[str, bytes]]:
    lines = script_texts()
    pieces = [*SPECIAL, *sorted({word for line in lines[:200] for word in line.split() if word.isalpha()})[:300]]
    return {
        "roberta": byte_level(lines),
        "sentencepiece": sentencepiece_model(lines),
        "wordpiece": word_pieces(lines),
        "vocab.txt": {"vocab.txt": "\n".join(dict.fromkeys(pieces)).encode()},  # for random folders only
    }


SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "aeinrst")]


def write_folder(folder: pathlib.Path, vocabulary: dict[str, bytes], files: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in vocabulary.items():
        (folder / name).write_bytes(content)
    for name, value in files.items():
        (folder / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")


def published(folder: pathlib.Path, files: dict[str, Any]) -> Any:
    """What the reference makes of a folder. It asks for a config.json, which says nothing of the tokenizer here."""
    if "config.json" in files:
        return transformers.AutoTokenizer.from_pretrained(folder)
    name = files["tokenizer_config.json"]["tokenizer_class"].removesuffix("Fast")
    return getattr(transformers, name).from_pretrained(folder)


def reference(folder: pathlib.Path, files: dict[str, Any]) -> Tokenizer:
    return published(folder, files)._tokenizer


def lacks_a_role(tokenizer: Any) -> bool:
    """Whether a token with a role gets an id past the vocabulary: the reference seeks it, and this library warns."""
    known = tokenizer._tokenizer.get_vocab(with_added_tokens=False)
    roles = [tokenizer._special_tokens_map[role] for role in tokenizer.SPECIAL_TOKENS_ATTRIBUTES[:7]]
    return any(role is not None and str(role) not in known for role in roles)


def sha(lists: list[list[int]]) -> np.ndarray:
    return np.frombuffer(hashlib.sha256(serialise(lists)).digest(), ">u4").astype(np.uint32)


def write(out: pathlib.Path) -> None:
    texts = script_texts()
    made = vocabularies()
    for name in ("roberta", "sentencepiece", "wordpiece"):
        write_folder(out / name, made[name], {})
    tensors: dict[str, np.ndarray] = {}
    for case, vocabulary, files in CASES:
        with tempfile.TemporaryDirectory() as folder:
            write_folder(pathlib.Path(folder), made[vocabulary], files)
            tokenizer = reference(pathlib.Path(folder), files)
        encodings = [tokenizer.encode(text) for text in texts]
        ids = [encoding.ids for encoding in encodings]
        blocks = [sha(ids[at : at + BLOCK]) for at in range(0, len(texts), BLOCK)]
        tensors[f"digests.{case}"] = np.stack(blocks)
        tensors[f"traced.{case}"] = sha(
            [
                [byte for offsets in encoding.offsets for byte in bytes_of(text, *offsets)]
                for text, encoding in zip(texts, encodings, strict=True)
            ]
        )
        tensors[f"decoded.{case}"] = sha([list(tokenizer.decode(row, True).encode()) for row in ids])
        pairs = [tokenizer.encode(first, second) for first, second in zip(texts[::7], texts[3::7])]
        tensors[f"pairs.{case}"] = sha([row for pair in pairs for row in (pair.ids, pair.type_ids)])
        if case in WITH_IDS:
            tensors[f"offsets.{case}"], tensors[f"ids.{case}"] = ragged(ids[::5])
        print(case, tokenizer.get_vocab_size(), sum(map(len, ids)))
    lines = (json.dumps({"case": c, "vocabulary": v, "files": f}, ensure_ascii=False) for c, v, f in CASES)
    (out / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    versions = [f"{library.__name__}=={library.__version__}" for library in (tokenizers, transformers)]
    path = out / "golden.safetensors"
    save_file(tensors, path, {"about": json.dumps({"versions": versions})})
    path.chmod(0o644)


def ask(path: pathlib.Path, folder: pathlib.Path, mode: str, lines: list[str]) -> list[str] | str:
    """The program's answers, or why it refuses the folder."""
    answer = subprocess.run([path, folder, mode], input="\n".join(lines) + "\n", capture_output=True, text=True)
    return answer.stderr.strip() or "it failed" if answer.returncode else answer.stdout.split("\n")[: len(lines)]


def differences(path: pathlib.Path, folder: pathlib.Path, tokenizer: Tokenizer, mode: str, items: list) -> int:
    lines = [
        f"{item[0]} {item[1]} {item[2].encode().hex()} {item[3].encode().hex()}" if mode == "pairs" else item.encode().hex()
        for item in items
    ]
    found = ask(path, folder, mode, lines)
    expected = expected_of(tokenizer, mode, items)
    if isinstance(found, str):
        print(f"{folder}: refused: {found}")
        return len(items)
    wrong = [row for row in zip(items, expected, found, strict=True) if row[1] != row[2]]
    for item, right, answer in wrong[:3]:
        print(f"{folder}: {mode}: {item!r}\n  reference {right}\n  here      {answer}", flush=True)
    return len(wrong)


def fuzz(path: pathlib.Path, count: int, seed: int) -> int:
    made, failed = vocabularies(), 0
    for case, vocabulary, files in CASES:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_folder(folder, made[vocabulary], files)
            tokenizer = reference(folder, files)
            texts = Texts(tokenizer, seed, script_texts())
            wrong = 0
            for mode in ("ids", "offsets", "decode"):
                wrong += differences(path, folder, tokenizer, mode, [texts.text() for _ in range(count // 4)])
            cuts = ("longest_first", "only_first", "only_second")
            items = [
                (texts.random.randrange(40), texts.random.choice(cuts), texts.text(), texts.text())
                for _ in range(count // 4)
            ]
            wrong += differences(path, folder, tokenizer, "pairs", items)
            print(f"{case}: {count} texts, {wrong} differ", flush=True)
            failed += wrong
    return failed


def random_files(source: random.Random, kind: str, pieces: list[str]) -> dict[str, Any]:
    """JSON files that name tokens of the vocabulary in roles, which it must have, and any in other places."""
    news = ["<new>", "quick", "fox", "Été", " dog", "the", "<ctl>", "tok", *source.sample(pieces, 3)]

    def flags(content: str, typed: bool) -> dict[str, Any]:
        names = source.sample(("lstrip", "rstrip", "single_word", "normalized"), source.randrange(5))
        value: dict[str, Any] = {"content": content, **{name: source.random() < 0.5 for name in names}}
        return {"__type": "AddedToken", **value} if typed else value

    def any_token(names: list[str], typed: bool) -> Any:
        content = source.choice(names)
        return content if source.random() < 0.5 else flags(content, typed)

    def maybe(chance: float, table: dict[str, Any], key: str, value: Any) -> None:
        if source.random() < chance:
            table[key] = value()

    roles = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
    if kind in ("vocab.txt", "wordpiece"):
        roles.remove("unk_token")  # the reference's WordPiece wants its piece
    free = kind == "sentencepiece"  # bos, eos, unk, pad and mask become pieces
    config: dict[str, Any] = {"add_prefix_space": source.random() < 0.5} if source.random() < 0.5 else {}
    special: dict[str, Any] = {}
    for table, typed in ((config, True), (special, False)):
        for role in roles:
            names = [*pieces[:40], "<mask>"] if not free or role in ("sep_token", "cls_token") else news
            maybe(0.15, table, role, lambda: any_token([n for n in names if n in pieces or names is news], typed))
        maybe(0.2, table, "extra_special_tokens", lambda: [any_token(news, typed) for _ in range(source.randrange(3))])
        maybe(0.1, table, "extra_special_tokens", lambda: {"x_token": source.choice(news)})
        maybe(0.2, table, "additional_special_tokens", lambda: [source.choice(news) for _ in range(source.randrange(3))])
        maybe(0.2, table, "my_token", lambda: any_token(news, typed))
    listed = {str(source.randrange(900)): flags(name, False) for name in source.sample(news, source.randrange(5))}
    for value in listed.values():
        maybe(0.5, value, "special", lambda: source.random() < 0.5)
    maybe(0.3, config, "added_tokens_decoder", lambda: listed)
    files: dict[str, Any] = {"tokenizer_config.json": config}
    maybe(0.6, files, "special_tokens_map.json", lambda: special)
    names = source.sample([*news, "<mask>", "[MASK]", "<s>"], source.randrange(5))
    ids = source.sample(range(900), len(names))
    maybe(0.4, files, "added_tokens.json", lambda: dict(zip(names, ids)))
    types = {"roberta": ["roberta"], "sentencepiece": ["xlm-roberta", "camembert"], "vocab.txt": ["bert"], "wordpiece": ["mpnet"]}
    return {"config.json": {"model_type": source.choice(types[kind])}, **files}


def compare_folders(path: pathlib.Path, count: int, seed: int) -> int:
    made, failed, refused = vocabularies(), 0, {}
    source = random.Random(seed)
    pieces = {
        "roberta": list(json.loads(made["roberta"]["vocab.json"])),
        "vocab.txt": made["vocab.txt"]["vocab.txt"].decode().split("\n"),
        "wordpiece": made["wordpiece"]["vocab.txt"].decode().split("\n")[:-1],
        "sentencepiece": ["<s>", "</s>", "<unk>", "<pad>", "<mask>"],
    }
    for number in range(count):
        kind = source.choice(list(pieces))
        files = random_files(source, kind, pieces[kind])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            write_folder(folder, made[kind], files)
            try:
                model = published(folder, files)
                tokenizer = model._tokenizer
            except Exception as why:  # the reference has no narrower one
                refused[f"reference: {type(why).__name__}"] = refused.get(f"reference: {type(why).__name__}", 0) + 1
                continue
            if lacks_a_role(model):
                refused["no piece of a role"] = refused.get("no piece of a role", 0) + 1
                continue
            texts = Texts(tokenizer, number, script_texts()[:300])
            texts.pieces = [*texts.added, *news_texts()]
            items = [texts.text() for _ in range(25)]
            found = ask(path, folder, "ids", [item.encode().hex() for item in items])
            if isinstance(found, str):
                why = found.removeprefix(name)[:40]
                refused[why] = refused.get(why, 0) + 1
                continue
            wrong = differences(path, folder, tokenizer, "ids", items)
            if kind not in ("vocab.txt", "wordpiece"):  # where lower-casing respells a special token it is no longer one to the reference
                wrong += differences(path, folder, tokenizer, "decode", items)
            if wrong:
                print(json.dumps(files, ensure_ascii=False), flush=True)
            failed += wrong > 0
    print(f"{count} folders, {failed} differ; refused: {refused}")
    return failed


def news_texts() -> list[str]:
    return ["quick", "fox", "été", "<new>", "dog", "the", "[mask]", "<mask>", " <s> ", "tok", "<ctl>", "ÉTÉ", "FOX"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--fuzz", type=int, default=0, metavar="COUNT")
    parser.add_argument("--folders", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build" / "tokens")
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    failed = 0
    if options.out:
        write(options.out)
    if options.fuzz:
        failed += fuzz(program(options.program), options.fuzz, options.seed)
    if options.folders:
        failed += compare_folders(program(options.program), options.folders, options.seed)
    return int(failed != 0)


if __name__ == "__main__":
    sys.exit(main())
