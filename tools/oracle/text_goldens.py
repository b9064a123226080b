#!/usr/bin/env python3
"""Trains small tokenizers of four kinds and writes them with the reference's answers: tests/data/text/<kind>/.

    text_goldens.py tests/data/text [--kind roberta ...]

    tokenizer.json      byte-level BPE as RoBERTa and ModernBERT have it, Unigram as XLM-R, WordPiece as a cased BERT
    codepoints.json     digests of the ids of every Unicode scalar value (codepoints.py)
    golden.safetensors  ids of each text of ../fuzz.jsonl, which are random strings (fuzz_tokenizers.py), and digests of
                        the ids of each 20 of ../texts.jsonl and of pairs of the random strings

A pure function of its code: with these versions, the same bytes.
"""

import argparse
import hashlib
import io
import json
import os
import pathlib
import random
import subprocess
import sys
from typing import Any

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np  # noqa: E402
import tokenizers  # noqa: E402
from components import serialise  # noqa: E402
from fuzz_tokenizers import Texts  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from script_texts import script_texts  # noqa: E402
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

KINDS = ("roberta", "modernbert", "xlm-roberta", "bert-cased")
PIECES = 1200
SAMPLE = 2000
BLOCK = 20


def special(content: str, normalized: bool = False, lstrip: bool = False) -> AddedToken:
    return AddedToken(content, normalized=normalized, lstrip=lstrip, special=True)


def template(cls: str, sep: str, ids: dict[str, int], pair: str) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0", pair=pair, special_tokens=[(cls, ids[cls]), (sep, ids[sep])]
    )


def byte_level(lines: list[str], modern: bool, pieces: int = PIECES) -> Tokenizer:
    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    learned.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=pieces, initial_alphabet=alphabet, show_progress=False)
    )
    model = json.loads(learned.to_str())["model"]
    learnt = sorted(model["vocab"], key=model["vocab"].get)
    if modern:
        blanks = [" " * run for run in range(8, 1, -1)]
        vocabulary = ["<|padding|>", *learnt, *blanks, "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"]
        added = [special("<|padding|>"), *(AddedToken(run, normalized=True) for run in blanks)]
        added += [*map(special, ("[UNK]", "[CLS]", "[SEP]", "[PAD]")), special("[MASK]", lstrip=True)]
    else:
        vocabulary = ["<s>", "<pad>", "</s>", "<unk>", *learnt, "<mask>"]
        added = [*(special(token, normalized=True) for token in vocabulary[:4]), special("<mask>", lstrip=True)]
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.BPE(ids, [tuple(merge) for merge in model["merges"]]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    if modern:
        tokenizer.normalizer = normalizers.NFC()
        pair = "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
        tokenizer.post_processor = template("[CLS]", "[SEP]", ids, pair)
    else:
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), True, False)
    return tokenizer


def unigram(lines: list[str], pieces: int = PIECES, camembert: bool = False) -> Tokenizer:
    """XLM-R's; or CamemBERT's, which keeps fairseq's tokens beside its own <s> and </s>, 5 and 6."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    buffer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=buffer, model_type="unigram", vocab_size=pieces, num_threads=1,
        hard_vocab_limit=False, character_coverage=0.995, normalization_rule_name="nmt_nfkc", minloglevel=2,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(buffer.getvalue())
    first = ["<s>", "<pad>", "</s>", "<unk>"]
    if camembert:
        first = ["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>"]
    learnt = [(piece.piece, piece.score) for piece in proto.pieces][3:]
    rows = [*((token, 0.0) for token in first), *learnt, ("<mask>", 0.0)]
    tokenizer = Tokenizer(models.Unigram(rows, unk_id=3, byte_fallback=False))
    tokenizer.normalizer = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    meta = {"replacement": "\u2581", "prepend_scheme": "always"}
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(**meta)]
    )
    tokenizer.decoder = decoders.Metaspace(**meta)
    tokenizer.add_special_tokens([*map(special, first), special("<mask>", lstrip=True)])
    pair = "<s>:0 $A:0 </s>:0 </s>:0 $B:0 </s>:0"
    tokenizer.post_processor = template("<s>", "</s>", {token: n for n, token in enumerate(first)}, pair)
    return tokenizer


def wordpiece(lines: list[str], lowercase: bool = False, pieces: int = PIECES) -> Tokenizer:
    normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    characters: set[str] = set()
    counts: dict[str, int] = {}
    for line in lines:
        for word, _ in pre_tokenizers.BertPreTokenizer().pre_tokenize_str(normalizer.normalize_str(line)):
            characters.update(word)
            for size in (2, 3, len(word)):
                for prefix, part in (("", word[:size]), ("##", word[-size:])):
                    counts[prefix + part] = counts.get(prefix + part, 0) + 1
    letters = [c for n, c in enumerate(sorted(characters)) if c.isascii() or n % 5]
    common = sorted(counts, key=lambda piece: (-counts[piece], piece))[:pieces]
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*names, *letters, *("##" + c for c in letters), *common]
    ids = {piece: number for number, piece in enumerate(dict.fromkeys(vocabulary))}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.add_special_tokens([*map(special, names)])
    tokenizer.post_processor = template("[CLS]", "[SEP]", ids, "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1")
    return tokenizer


def fuzz_texts(tokenizer: Tokenizer) -> list[str]:
    """Short random strings, of pieces of one tokenizer; all are asked about all."""
    texts = Texts(tokenizer, 11, [])
    texts.random = random.Random(11)
    return ["".join(texts.part() for _ in range(texts.random.choice((1, 2, 3, 5, 8)))) for _ in range(SAMPLE)]


def pair_answers(tokenizer: Tokenizer, fuzz: list[str]) -> list[list[int]]:
    """Ids and segments of pairs of texts, cut to limits of 0 to 39 by each strategy; [-1] where the reference refuses."""
    rows: list[list[int]] = []
    special = tokenizer.num_special_tokens_to_add(True)
    for n in range(SAMPLE):
        limit, strategy = n * 13 % 40, ("longest_first", "only_first", "only_second")[n % 3]
        try:
            if limit < special:
                raise ValueError
            tokenizer.enable_truncation(limit, strategy=strategy)
            encoding = tokenizer.encode(fuzz[n], fuzz[(n * 7 + 3) % SAMPLE])
            rows += [encoding.ids, encoding.type_ids]
        except Exception:  # the reference has no narrower one
            rows.append([0xFFFFFFFF])
    tokenizer.no_truncation()
    return rows


def write_lines(path: pathlib.Path, texts: list[str]) -> None:
    lines = (json.dumps({"text": text}, ensure_ascii=False, separators=(",", ":")) for text in texts)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--kind", choices=KINDS, action="append")
    options = parser.parse_args()
    texts = script_texts()
    made: dict[str, Any] = {
        "roberta": lambda: byte_level(texts, False),
        "modernbert": lambda: byte_level(texts, True),
        "xlm-roberta": lambda: unigram([text for text in texts if "\n" not in text and "\0" not in text]),
        "bert-cased": lambda: wordpiece(texts),
    }
    fuzz = fuzz_texts(made["roberta"]())
    write_lines(options.out / "fuzz.jsonl", fuzz)
    for kind in options.kind or KINDS:
        folder = options.out / kind
        folder.mkdir(parents=True, exist_ok=True)
        tokenizer = made[kind]()
        tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
        lists = [tokenizer.encode(text).ids for text in fuzz]
        offsets = np.cumsum([0, *map(len, lists)]).astype(np.uint32)
        ids = np.concatenate([np.asarray(row, np.uint32) for row in lists])
        blocks = [
            hashlib.sha256(serialise([tokenizer.encode(text).ids for text in texts[at : at + BLOCK]])).digest()
            for at in range(0, len(texts), BLOCK)
        ]
        pairs = hashlib.sha256(serialise(pair_answers(tokenizer, fuzz))).digest()
        tensors = {"pairs": np.frombuffer(pairs, ">u4").astype(np.uint32)}
        tensors |= {"offsets": offsets, "ids": ids, "digests": np.frombuffer(b"".join(blocks), ">u4").astype(np.uint32)}
        path = folder / "golden.safetensors"
        save_file(tensors, path, {"about": json.dumps({"versions": [f"tokenizers=={tokenizers.__version__}"]})})
        path.chmod(0o644)
        table = [sys.executable, str(pathlib.Path(__file__).with_name("codepoints.py"))]
        table += ["make", str(folder / "tokenizer.json"), str(folder / "codepoints.json")]
        subprocess.run(table, check=True)
        print(kind, tokenizer.get_vocab_size(), sum(map(len, lists)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
