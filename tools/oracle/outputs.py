#!/usr/bin/env python3
"""Makes tests/data/outputs: tiny checkpoints of every kind of head, and the reference's answers for all their outputs.

    outputs.py                 writes them
    outputs.py --check         makes them in a scratch folder and compares, as make_goldens.py does
    outputs.py --only PART     of the folders' names below, some

Run by build/oracle/bin/python. A pure function of this file, of the other makers here and of the versions in
requirements.txt. Answers are computed in float64, one text at a time, and cast to float32 at the very end. Ids are
those of transformers, and must be those of `tokenizers` on the folder's tokenizer.json.

Texts lie beside the folders, an object a line: `texts.jsonl` {"text"}, `pairs.jsonl` {"text", "pair"},
`queries.jsonl` and `documents.jsonl` {"text"}. A folder FOLDER/ is a checkpoint in published layout with its answers in
golden.safetensors. FOLDER/variants/NAME/ holds files to be laid over a copy of FOLDER; what the reference says of that
is in the same golden, each tensor's name followed by `.NAME`; a tensor that would be the folder's own is left out. The
variant called `saved` is what sentence-transformers writes when it saves the folder itself, and changes nothing.

    part           reference                                          folders
    classifiers    transformers' text-classification pipeline         *-classifier
                   (CrossEncoder.predict of the pairs gives their logits)
    tokens         transformers' token-classification model, softmax  *-tokens
    rerankers      CrossEncoder.predict                               *-reranker
    late           MultiVectorEncoder.encode_query, encode_document   colbert-*
    sparse         SparseEncoder.encode                               splade-*
    conversions    SentenceTransformer.encode, then NumPy             conversions (no checkpoint: tiny, tiny-cased)

Tensors of classifiers, under `texts.` for texts.jsonl and `pairs.` for pairs.jsonl; rerankers have `pairs.` alone:

    KIND.offsets        U32 [texts + 1]       where each text's tokens start
    KIND.ids            U32 [tokens]          special tokens included, after truncation
    KIND.segments       U32 [tokens]          0 or 1, as the model is given them
    KIND.cut            U32 [texts]           tokens that truncation took
    KIND.logits         F32 [texts, labels]   before any activation
    KIND.probabilities  F32 [texts, labels]   after the folder's activation; a reranker's have 1 label

Token classifiers: `texts.offsets`, `texts.ids`, `texts.cut` as above, and for all tokens, special ones included:

    texts.logits         F32 [tokens, labels]
    texts.probabilities  F32 [tokens, labels]   softmax

Late interaction, under `queries.` and `documents.`:

    KIND.offsets         U32 [texts + 1]      where each text's tokens start
    KIND.ids             U32 [tokens]         marker and special tokens included; queries with their filling
    KIND.kept            U8  [tokens]         1 where the token has a vector
    KIND.vector_offsets  U32 [texts + 1]      where each text's vectors start
    KIND.vectors         F32 [kept, columns]  projected, of unit length

Sparse: `texts.offsets`, `texts.ids`, `texts.cut` as above, and:

    sparse.offsets       U32 [texts + 1]      where each text's weights start
    sparse.ids           U32 [weights]        rising in each text
    sparse.weights       F32 [weights]        above 0

Conversions, CHECKPOINT being `tiny` or `tiny-cased`, for lines 0, 2, 4 … of CHECKPOINT/texts.jsonl:

    CHECKPOINT.f16, .bf16  U16 [texts, columns]       the embedding's bits, to nearest even
    CHECKPOINT.i8          I8  [texts, columns]       clip(rint(127 x / |x|), -127, 127), x the embedding
    CHECKPOINT.b1          U8  [texts, columns / 8]   packbits(x > 0)
    CHECKPOINT.SCALAR.doubt  U8 [texts, columns]      1 where a change of 1e-6 in x (of unit length for i8: 1e-4 of a
                                                      step) would round to the neighbour; for b1 where |x| < 1e-6
    CHECKPOINT.f32.N       F32 [texts, N]             the first N columns, normalised again where the folder normalises
    CHECKPOINT.i8.N, .i8.N.doubt, .b1.N               of those; the last byte of b1 is filled up with 0
    tiny.f32.16.query      F32 [texts, 16]            after the prompt `query` of families/modules/prompts.json
"""

import argparse
import dataclasses
import json
import pathlib
import shutil
import string
import sys
import tempfile
from collections.abc import Callable, Iterable
from typing import Any

import families
import numpy as np
import tiny
from make_goldens import ROOT, difference
from reference import Reference, load_tokenizer, ragged, save_golden, sha256_of
from safetensors.numpy import load_file, save_file

import sentence_transformers  # isort: skip  (reference sets the environment)
import torch  # isort: skip
import transformers  # isort: skip

Tensors = dict[str, np.ndarray]
SINGLE = {"dtype": torch.float32}  # transformers 5 else computes in the file's dtype
LIMIT = 24  # tokens that a text may have

TEXTS = [
    "",
    "a",
    "the model",
    "people work under great state matrices",
    "It is not the same query, but it is like this one.",
    "a [PAD] b [MASK] </s>",
    "   spaced \t out\n",
    "tokens, vectors; layers: models!",
    "Zürich 日本 \U0001f984",
    "time " * (LIMIT - 3) + "end",
    "time " * (LIMIT - 2) + "end",
    "never " * 60,
]
PAIRS = [
    ("", ""),
    ("a", ""),
    ("", "the state"),
    ("who are the people", "the people of the state"),
    ("the people of the state", "who are the people"),
    ("how does search work?", "A vector is made of every query, and the same one is then used to find most of them."),
    ("one two " * 5, "new years of work " * 9),
    ("new years of work " * 9, "one two " * 5),
    ("a b c " * 20, "the state of the world " * 20),
    ("the world and the people are old " * 20, "a"),
    ("one", "come back here because it was right and well made " * 8),
    ("it is " * 5 + "it", "they go " * 6),
    ("it is " * 5, "they go " * 5 + "up"),
    ("a [SEP] b", "c [CLS] </s> d"),
]
QUERIES = [
    "",
    "a",
    "who are the people of the world?",
    "  two blanks",
    "a [MASK] b [PAD] c",
    "how, why; when: what!",
    "what is the long way through all the years of life and work that one must see",
]
DOCUMENTS = [
    "",
    "!",
    "The people. They work (well), and -- never -- rest!",
    "a",
    "it's 3.5 % of all: \"more\" or <less>",
    "no punctuation here",
    "  [MASK] and [unused0] [Q] [D] in the text.",
    "First, the world; then the state; then the people; then, at last, you and me. " * 3,
]
LETTERS = string.ascii_lowercase + string.digits
PIECES = [*tiny.SPECIAL_TOKENS, "[unused0]", "[unused1]", *string.punctuation]
PIECES += [*LETTERS, *(f"##{letter}" for letter in LETTERS)]
PIECES += [*tiny.WORDS[1:90], *tiny.WORDS[-10:], *(f"##{suffix}" for suffix in ("ing", "ed", "er", "ly", "es", "ion"))]
PIECES = list(dict.fromkeys(PIECES))

SIZES = {"hidden_size": 32, "intermediate_size": 40, "num_attention_heads": 4, "num_hidden_layers": 2}
BERT = {
    "model_type": "bert",
    "hidden_act": "gelu",
    **SIZES,
    "max_position_embeddings": 40,
    "type_vocab_size": 2,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
DISTILBERT = {
    "model_type": "distilbert",
    "activation": "gelu",
    "dim": 32,
    "hidden_dim": 40,
    "n_heads": 4,
    "n_layers": 2,
    "max_position_embeddings": 40,
    "sinusoidal_pos_embds": False,
    "pad_token_id": 0,
}
ROBERTA = {**families.ROBERTA, **SIZES, "max_position_embeddings": 42}
XLM_ROBERTA = {**ROBERTA, "model_type": "xlm-roberta"}
MPNET = {**families.FAMILIES["mpnet"].config, **SIZES, "max_position_embeddings": 42}
MODERNBERT = {**families.FAMILIES["modernbert"].config, **SIZES, "global_attn_every_n_layers": 2}
MODERNBERT |= {"max_position_embeddings": 48, "local_attention": 8}
IDENTITY = "torch.nn.modules.linear.Identity"


def labels(*names: str) -> dict[str, Any]:
    return {"id2label": {str(n): name for n, name in enumerate(names)}, "label2id": {n: i for i, n in enumerate(names)}}


@dataclasses.dataclass(frozen=True)
class Head:
    """A checkpoint: the class of transformers whose weights are stored, and its config.json."""

    architecture: str
    config: dict[str, Any]
    variants: dict[str, dict[str, Any]] = dataclasses.field(default_factory=dict)  # keys over those of config.json
    single: bool = False  # weights in F32; else in F16, which widens exactly
    shift: float = 0.6  # of a decoder's bias, so that few words are above 0, as after training


MULTI_LABEL = {"problem_type": "multi_label_classification"}
HEADS = {
    "bert-classifier": Head(
        "BertForSequenceClassification",
        {**BERT, **labels("negative", "neutral", "positive")},
        {
            "multi-label": MULTI_LABEL,
            "single-label": {"problem_type": "single_label_classification"},
            "identity": {"sentence_transformers": {"activation_fn": IDENTITY, "version": "4.0.1"}},
        },
        single=True,
    ),
    "roberta-classifier": Head("RobertaForSequenceClassification", {**ROBERTA, **labels("no", "maybe", "yes")}),
    "distilbert-classifier": Head(
        "DistilBertForSequenceClassification", {**DISTILBERT, **labels("NEGATIVE", "POSITIVE")}
    ),
    "xlm-roberta-classifier": Head(
        "XLMRobertaForSequenceClassification",
        {**XLM_ROBERTA, **labels("LABEL_0")},
        {"regression": {"problem_type": "regression"}},
    ),
    "mpnet-classifier": Head("MPNetForSequenceClassification", {**MPNET, **labels("north", "east", "south", "west")}),
    "modernbert-classifier": Head(
        "ModernBertForSequenceClassification",
        {**MODERNBERT, **labels("ham", "spam"), "classifier_pooling": "cls", "classifier_bias": False},
        {"mean": {"classifier_pooling": "mean"}},
    ),
    "bert-tokens": Head("BertForTokenClassification", {**BERT, **labels("O", "B-PER", "I-PER", "B-LOC", "I-LOC")}),
    "distilbert-tokens": Head("DistilBertForTokenClassification", {**DISTILBERT, **labels("O", "NOUN", "VERB")}),
    "modernbert-tokens": Head("ModernBertForTokenClassification", {**MODERNBERT, **labels("O", "PII", "DATE", "CODE")}),
    "bert-reranker": Head(
        "BertForSequenceClassification",
        {**BERT, **labels("LABEL_0")},
        {
            "old-identity": {"sbert_ce_default_activation_function": IDENTITY},
            "new-sigmoid": {"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid"}},
        },
    ),
    "xlm-roberta-reranker": Head(
        "XLMRobertaForSequenceClassification",
        {
            **XLM_ROBERTA,
            **labels("LABEL_0"),
            "sentence_transformers": {"activation_fn": IDENTITY, "version": "4.1.0"},
        },
    ),
    "modernbert-reranker": Head(
        "ModernBertForSequenceClassification",
        {**MODERNBERT, **labels("LABEL_0"), "classifier_pooling": "mean", "classifier_bias": True, "norm_bias": True},
    ),
    "splade-bert": Head("BertForMaskedLM", BERT),
    "splade-distilbert": Head("DistilBertForMaskedLM", DISTILBERT),
    "splade-untied": Head("BertForMaskedLM", {**BERT, "tie_word_embeddings": False}, shift=1.8),
    "splade-modernbert": Head("ModernBertForMaskedLM", {**MODERNBERT, "decoder_bias": True}, shift=1.2),
    "colbert-stanford": Head("BertModel", BERT),
    "colbert-pylate": Head("BertModel", BERT),
    "colbert-modernbert": Head("ModernBertModel", MODERNBERT),
}
COLUMNS = 16  # of token vectors
QUERY_LENGTH, DOCUMENT_LENGTH = 12, 20


def draw(name: str, key: str, shape: tuple[int, ...]) -> np.ndarray:
    values = families.draw(name, key, shape)
    decoder = key in ("cls.predictions.bias", "vocab_projector.bias", "decoder.bias")
    return 4 * values - np.float32(HEADS[name].shift) if decoder else values


def save_weights(path: pathlib.Path, weights: Tensors, single: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = np.float32 if single else np.float16
    save_file({name: weight.astype(kind) for name, weight in weights.items()}, path, {"format": "pt"})
    path.chmod(0o644)  # safetensors writes for the owner only


def byte_level(modern: bool, markers: tuple[str, ...]) -> tuple[list[str], dict[str, Any]]:
    """The pieces by id, and tokenizer.json of a byte-level BPE as RoBERTa or ModernBERT have it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    learned = Tokenizer(models.BPE())
    learned.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=256 + 90, show_progress=False)
    trainer.initial_alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    learned.train_from_iterator([*tiny.TEXTS, *TEXTS, *DOCUMENTS, *(text for pair in PAIRS for text in pair)], trainer)
    model = json.loads(learned.to_str())["model"]
    learned_pieces = sorted(model["vocab"], key=model["vocab"].get)
    if modern:
        special = ("[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]")
        pieces = [*learned_pieces, *special, *markers]
    else:
        special = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
        pieces = [*special[:4], *learned_pieces, "<mask>"]
    ids = {piece: number for number, piece in enumerate(pieces)}
    added = [{"id": ids[token], **flags(token, token in (special[-1],))} for token in (*special, *markers)]
    if modern:
        post = template("[CLS]", "[SEP]", ids, 1)
    else:
        post = {"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]}
        post |= {"trim_offsets": True, "add_prefix_space": False}
    level = {"add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    value = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": sorted(added, key=lambda token: token["id"]),
        "normalizer": {"type": "NFC"} if modern else None,
        "pre_tokenizer": {"type": "ByteLevel", **level},
        "post_processor": post,
        "decoder": {"type": "ByteLevel", **level},
        "model": {**model, "vocab": ids},
    }
    return pieces, value


def flags(token: str, lstrip: bool = False) -> dict[str, Any]:
    return {"content": token, "single_word": False, "lstrip": lstrip, "rstrip": False, "normalized": False,
            "special": True}  # fmt: skip


def template(first: str, last: str, ids: dict[str, int], second_type: int, doubled: bool = False) -> dict[str, Any]:
    """A TemplateProcessing; `doubled` separates the parts by two tokens."""
    token = lambda name, kind: {"SpecialToken": {"id": name, "type_id": kind}}  # noqa: E731
    part = lambda name, kind: {"Sequence": {"id": name, "type_id": kind}}  # noqa: E731
    single = [token(first, 0), part("A", 0), token(last, 0)]
    pair = [*single, *([token(last, 0)] if doubled else []), part("B", second_type), token(last, second_type)]
    special = {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in (first, last)}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special}


def unigram() -> tuple[list[str], dict[str, Any]]:
    """The pieces by id, and tokenizer.json of a Unigram as XLM-R has it, without a character map."""
    words = [*(f"\u2581{word}" for word in tiny.WORDS[:80]), "\u2581", *tiny.SUFFIXES[:30]]
    words += [*string.ascii_lowercase, *".,;:!?'\"()[]-", *string.digits]
    words = list(dict.fromkeys(words))
    rows = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    rows += [(word, -3.0 - round(float(np.log1p(number)), 4)) for number, word in enumerate(words)]
    rows += [("<mask>", 0.0)]
    pieces = [piece for piece, _ in rows]
    ids = {piece: number for number, piece in enumerate(pieces)}
    meta = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}
    special = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
    value = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": ids[token], **flags(token, token == "<mask>")} for token in special],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, meta]},
        "post_processor": template("<s>", "</s>", ids, 0, doubled=True),
        "decoder": meta,
        "model": {"type": "Unigram", "unk_id": 3, "vocab": [list(row) for row in rows], "byte_fallback": False},
    }
    return pieces, value


def write_tokenizer(folder: pathlib.Path, kind: str, limit: int, markers: tuple[str, ...] = ()) -> list[str]:
    """Writes the tokenizer's files; answers the pieces by id."""
    first = {f"{token[1:-1].lower()}_token": token for token in tiny.SPECIAL_TOKENS}
    config: dict[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast"}
    if kind in ("bert", "distilbert"):
        pieces = [*PIECES, *markers]
        value = tiny.tokenizer_json(pieces, True)
        value["added_tokens"] += [{"id": pieces.index(marker), **flags(marker)} for marker in markers]
        names = {"bert": "BertTokenizer", "distilbert": "DistilBertTokenizer"}
        config = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}
        config["tokenizer_class"] = names[kind]
    elif kind == "mpnet":
        pieces, value = families.mpnet_tokenizer()
        config = {"do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True}
        config["tokenizer_class"] = "MPNetTokenizer"
        first = {"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>"}
        first |= {"unk_token": "[UNK]", "pad_token": "<pad>", "mask_token": "<mask>"}
    elif kind == "modernbert":
        pieces, value = byte_level(True, markers)
    else:
        pieces, value = unigram() if kind == "xlm-roberta" else byte_level(False, ())
        first = {"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>"}
        first |= {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}
    config |= {**first, "model_max_length": limit, "clean_up_tokenization_spaces": True}
    if kind == "modernbert":
        config["model_input_names"] = ["input_ids", "attention_mask"]
    tiny.write_json(folder / "tokenizer.json", value)
    tiny.write_json(folder / "tokenizer_config.json", config)
    return pieces


def write_checkpoint(folder: pathlib.Path, name: str, limit: int = LIMIT, markers: tuple[str, ...] = ()) -> Tensors:
    """Writes configuration and tokenizer, and answers the weights under transformers' own names."""
    head = HEADS[name]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    config = {**head.config, "architectures": [head.architecture]}
    pieces = write_tokenizer(folder, config["model_type"], limit, markers)
    config["vocab_size"] = len(pieces)
    if config["model_type"] == "modernbert":
        ids = {key: pieces.index(token) for key, token in (("pad", "[PAD]"), ("cls", "[CLS]"), ("sep", "[SEP]"))}
        config |= {"pad_token_id": ids["pad"], "bos_token_id": ids["cls"], "cls_token_id": ids["cls"]}
        config |= {"eos_token_id": ids["sep"], "sep_token_id": ids["sep"]}
    tiny.write_json(folder / "config.json", config)
    with torch.device("meta"):
        model = getattr(transformers, head.architecture)(transformers.AutoConfig.from_pretrained(folder))
    for variant, keys in head.variants.items():
        path = folder / "variants" / variant
        path.mkdir(parents=True)
        tiny.write_json(path / "config.json", {**config, **keys})
    weights = {key: draw(name, key, tuple(value.shape)) for key, value in sorted(model.named_parameters())}
    if "cls.predictions.decoder.bias" in weights:  # once the same parameter, and stored twice by some
        weights["cls.predictions.decoder.bias"] = weights["cls.predictions.bias"].copy()
    return weights


def variants_of(folder: pathlib.Path) -> Iterable[str]:
    place = folder / "variants"
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def with_variants(folder: pathlib.Path, ask: Callable[[pathlib.Path], Tensors]) -> Tensors:
    """The answers for a folder and for each of its variants, where these are others."""
    with Laid(folder) as laid:
        tensors = ask(laid)
    own = dict(tensors)
    for variant in variants_of(folder):
        with Laid(folder, variant) as laid:
            answers = ask(laid)
        other = {key: value for key, value in answers.items() if not np.array_equal(value, own[key])}
        assert variant != "saved" or not other, sorted(other)
        tensors |= {f"{key}.{variant}": value for key, value in other.items()}
    return tensors


class Laid:
    """A copy of a folder with a variant laid over it, for as long as the `with` lasts; the folder itself for none."""

    def __init__(self, folder: pathlib.Path, variant: str = "") -> None:
        self.folder, self.variant, self.scratch = folder, variant, tempfile.TemporaryDirectory()

    def __enter__(self) -> pathlib.Path:
        copy = pathlib.Path(self.scratch.name, "model")
        shutil.copytree(self.folder, copy, ignore=shutil.ignore_patterns("variants", "golden.safetensors"))
        if self.variant:
            shutil.copytree(self.folder / "variants" / self.variant, copy, dirs_exist_ok=True)
        return copy

    def __exit__(self, *_: Any) -> None:
        self.scratch.cleanup()


def keep_saved(folder: pathlib.Path, save: Callable[[str], None]) -> None:
    """Makes the variant `saved` of what `save` writes, without the weights, which must be the folder's."""
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch, "saved")
        save(str(made))
        for path in sorted(path for path in made.rglob("*") if path.is_file()):
            target = folder / "variants" / "saved" / path.relative_to(made)
            if path.suffix == ".safetensors":
                ours = folder / path.relative_to(made)
                if ours.exists():
                    saved, kept = load_file(path), load_file(ours)
                    assert saved.keys() == kept.keys(), sorted(saved.keys() ^ kept.keys())
                    assert all(np.array_equal(tensor, kept[name]) for name, tensor in saved.items())
                    continue
            elif path.name == "README.md" or path.name == "tokenizer.json":
                continue  # tokenizer.json is the folder's own, written anew
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.name == "config_sentence_transformers.json":
                value = json.loads(path.read_text(encoding="utf-8"))
                value["__version__"] = {key: text.partition("+")[0] for key, text in value["__version__"].items()}
                tiny.write_json(target, value)
            else:
                shutil.copyfile(path, target)
            target.chmod(0o644)


class Ids:
    """Ids, segments and cuts, as `tokenizers` has them."""

    def __init__(self, folder: pathlib.Path, limit: int) -> None:
        self.whole = load_tokenizer(folder / "tokenizer.json")
        self.cut = load_tokenizer(folder / "tokenizer.json")
        self.cut.enable_truncation(limit, strategy="longest_first")
        self.rows: list[tuple[list[int], list[int], int]] = []

    def add(self, features: dict[str, Any], *texts: str) -> None:
        """Takes the features that the reference gives a model, and sees that they are the same."""
        ids = features["input_ids"][0].tolist()
        given = self.cut.encode(*texts)
        if ids != given.ids:
            raise SystemExit(f"tokenizers and transformers disagree on {texts!r}:\n{given.ids}\n{ids}")
        segments = features["token_type_ids"][0].tolist() if "token_type_ids" in features else [0] * len(ids)
        self.rows.append((ids, segments, len(self.whole.encode(*texts).ids) - len(ids)))

    def tensors(self, kind: str, segments: bool = True) -> Tensors:
        offsets, ids = ragged(row[0] for row in self.rows)
        answer = {f"{kind}.offsets": offsets, f"{kind}.ids": ids}
        if segments:
            answer[f"{kind}.segments"] = ragged(row[1] for row in self.rows)[1]
        return answer | {f"{kind}.cut": np.array([row[2] for row in self.rows], dtype=np.uint32)}


def activated(logits: torch.Tensor, config: Any) -> torch.Tensor:
    """What transformers' pipeline does with logits, in float64."""
    if config.problem_type == "regression":
        return logits
    if config.problem_type == "multi_label_classification" or config.num_labels == 1:
        return logits.sigmoid()
    return logits.softmax(-1)


def classify(folder: pathlib.Path, inputs: list[tuple[str, ...]], kind: str) -> Tensors:
    """A classifier's answers for texts or pairs."""
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, **SINGLE).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pipeline = transformers.pipeline("text-classification", model=model, tokenizer=tokenizer, device="cpu", top_k=None)
    names = [model.config.id2label[n] for n in range(model.config.num_labels)]
    ids, logits, probabilities = Ids(folder, LIMIT), [], []
    asked = sentence_transformers.CrossEncoder(str(folder), device="cpu", model_kwargs=SINGLE).double()
    for texts in inputs:
        # As lists: transformers takes a second text that is empty for none, if it stands alone.
        lists = [[text] for text in texts]
        features = tokenizer(*lists, truncation="longest_first", max_length=LIMIT, return_tensors="pt")
        ids.add(features, *texts)
        model.double()
        row = model(**features).logits[0]
        answer = activated(row, model.config)
        model.float()
        if texts[-1] or len(texts) == 1:  # the pipeline itself, which computes in float32
            record = dict(zip(("text", "text_pair"), texts))
            rows = pipeline(record, truncation="longest_first", max_length=LIMIT)
            scores = {row["label"]: row["score"] for row in (rows[0] if isinstance(rows[0], list) else rows)}
            assert np.allclose([scores[name] for name in names], answer.numpy(), rtol=0, atol=3e-6)
        if len(texts) == 2 and model.config.num_labels > 1:
            assert torch.equal(asked.predict([texts], convert_to_tensor=True)[0], row)
        logits.append(row.numpy())
        probabilities.append(answer.numpy().reshape(-1))
    return ids.tensors(kind) | {f"{kind}.logits": np.stack(logits), f"{kind}.probabilities": np.stack(probabilities)}


def make_classifier(folder: pathlib.Path, name: str) -> Tensors:
    save_weights(folder / "model.safetensors", write_checkpoint(folder, name), HEADS[name].single)
    texts = [(text,) for text in TEXTS]
    return with_variants(folder, lambda laid: classify(laid, texts, "texts") | classify(laid, PAIRS, "pairs"))


def make_tokens(folder: pathlib.Path, name: str) -> Tensors:
    save_weights(folder / "model.safetensors", write_checkpoint(folder, name), HEADS[name].single)
    model = transformers.AutoModelForTokenClassification.from_pretrained(folder, **SINGLE).double().eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids, logits = Ids(folder, LIMIT), []
    for text in TEXTS:
        features = tokenizer(text, truncation="longest_first", max_length=LIMIT, return_tensors="pt")
        ids.add(features, text)
        logits.append(model(**features).logits[0])
    tensors = ids.tensors("texts", segments=False)
    joined = torch.cat(logits)
    return tensors | {"texts.logits": joined.numpy(), "texts.probabilities": joined.softmax(-1).numpy()}


def rerank(folder: pathlib.Path) -> Tensors:
    model = sentence_transformers.CrossEncoder(str(folder), device="cpu", model_kwargs=SINGLE).double().eval()
    ids, logits, probabilities = Ids(folder, LIMIT), [], []
    for pair in PAIRS:
        ids.add(model.preprocess([pair]), *pair)
        none = torch.nn.Identity()
        logits.append(model.predict([pair], convert_to_tensor=True, activation_fn=none).reshape(1).cpu().numpy())
        probabilities.append(model.predict([pair], convert_to_tensor=True).reshape(1).cpu().numpy())
        assert logits[-1].dtype == np.float64
    return ids.tensors("pairs") | {"pairs.logits": np.stack(logits), "pairs.probabilities": np.stack(probabilities)}


def make_reranker(folder: pathlib.Path, name: str) -> Tensors:
    save_weights(folder / "model.safetensors", write_checkpoint(folder, name), HEADS[name].single)
    if name == "bert-reranker":
        model = sentence_transformers.CrossEncoder(str(folder), device="cpu", model_kwargs=SINGLE)
        keep_saved(folder, model.save)
    return with_variants(folder, rerank)


def late(folder: pathlib.Path) -> Tensors:
    model = sentence_transformers.MultiVectorEncoder(str(folder), device="cpu", model_kwargs=SINGLE).double().eval()
    # The marker is a token after the first, and counts where it stands in a text, as other special tokens do.
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    known = tokenizer.get_vocab()
    markers = {role: text if text in known else text.strip() for role, text in model.prompts.items()}
    tokenizer.add_special_tokens(list(markers.values()))
    filling = tokenizer.token_to_id("[MASK]")
    tensors: Tensors = {}
    for kind, texts, encode in (
        ("queries", QUERIES, model.encode_query),
        ("documents", DOCUMENTS, model.encode_document),
    ):
        ids, kept, vectors = [], [], []
        marker = markers["query" if kind == "queries" else "document"]
        length = QUERY_LENGTH if kind == "queries" else DOCUMENT_LENGTH
        for text in texts:
            row = encode([text], output_value=None, batch_size=1)[0]
            mask = row["attention_mask"].bool()
            ids.append(row["input_ids"].tolist())
            whole = tokenizer.encode(text).ids
            inserted = [whole[0], tokenizer.token_to_id(marker), *whole[1:-1]][: length - 1] + [whole[-1]]
            if ids[-1] != inserted + [filling] * (len(ids[-1]) - len(inserted)):
                raise SystemExit(f"tokenizers and transformers disagree on {text!r}:\n{inserted}\n{ids[-1]}")
            kept.append(mask.numpy().astype(np.uint8))
            vectors.append(row["token_embeddings"][mask].numpy())
            assert torch.equal(encode([text], batch_size=1)[0], row["token_embeddings"][mask])
            assert vectors[-1].dtype == np.float64
        tensors[f"{kind}.offsets"], tensors[f"{kind}.ids"] = ragged(ids)
        tensors[f"{kind}.kept"] = np.concatenate(kept)
        tensors[f"{kind}.vector_offsets"] = np.cumsum([0, *map(len, vectors)]).astype(np.uint32)
        tensors[f"{kind}.vectors"] = np.concatenate(vectors)
    return tensors


def make_late(folder: pathlib.Path, name: str) -> Tensors:
    stanford = name == "colbert-stanford"
    markers = () if stanford else ("[Q] ", "[D] ")
    weights = write_checkpoint(folder, name, HEADS[name].config["max_position_embeddings"], markers)
    single = HEADS[name].single
    projection = draw(name, "projection.linear.weight", (COLUMNS, 32))
    variants: dict[str, dict[str, Any]] = {}
    if stanford:
        weights = {f"bert.{key}": value for key, value in weights.items()} | {"linear.weight": projection}
        config = json.loads((folder / "config.json").read_text())
        tiny.write_json(folder / "config.json", {**config, "architectures": ["HF_ColBERT"]})
        settings: dict[str, Any] = {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_token": "[Q]"}
        settings |= {"doc_token": "[D]", "query_maxlen": QUERY_LENGTH, "doc_maxlen": DOCUMENT_LENGTH, "dim": COLUMNS}
        settings |= {"similarity": "cosine", "mask_punctuation": True, "attend_to_mask_tokens": False}
        variants = {"attend": {"attend_to_mask_tokens": True}, "punctuation": {"mask_punctuation": False}}
        file = "artifact.metadata"
    else:
        dense = {"in_features": 32, "out_features": COLUMNS, "bias": False, "activation_function": IDENTITY}
        (folder / "1_Dense").mkdir()
        tiny.write_json(folder / "1_Dense" / "config.json", dense)
        save_weights(folder / "1_Dense" / "model.safetensors", {"linear.weight": projection}, single)
        kinds = (("", "sentence_transformers.models.Transformer"), ("1_Dense", "pylate.models.Dense.Dense"))
        rows = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(kinds)]
        tiny.write_json(folder / "modules.json", rows)
        limits = {"max_seq_length": DOCUMENT_LENGTH - 1, "do_lower_case": False}
        tiny.write_json(folder / "sentence_bert_config.json", limits)
        settings = {"__version__": {"sentence_transformers": "4.0.2", "transformers": "4.48.2", "pytorch": "2.5.1"}}
        settings |= {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim"}
        settings |= {"model_type": "ColBERT"}
        settings |= {"query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": QUERY_LENGTH}
        settings |= {"document_length": DOCUMENT_LENGTH, "attend_to_expansion_tokens": False}
        settings |= {"skiplist_words": list(string.punctuation), "do_query_expansion": True}
        variants = {
            "attend": {"attend_to_expansion_tokens": True},
            "no-expansion": {"do_query_expansion": False},
            "few-skipped": {"skiplist_words": [".", ",", "the", "absent"]},
        }
        file = "config_sentence_transformers.json"
    tiny.write_json(folder / file, settings)
    if name != "colbert-modernbert":
        for variant, keys in variants.items():
            (folder / "variants" / variant).mkdir(parents=True)
            tiny.write_json(folder / "variants" / variant / file, {**settings, **keys})
    save_weights(folder / "model.safetensors", weights, single)
    if name == "colbert-pylate":
        model = sentence_transformers.MultiVectorEncoder(str(folder), device="cpu")
        keep_saved(folder, model.save)
    return with_variants(folder, late)


def sparse(folder: pathlib.Path) -> Tensors:
    model = sentence_transformers.SparseEncoder(str(folder), device="cpu", model_kwargs=SINGLE).double().eval()
    ids, words, weights = Ids(folder, LIMIT), [], []
    for text in TEXTS:
        ids.add(model.preprocess([text]), text)
        row = model.encode([text], batch_size=1, convert_to_sparse_tensor=False)[0].cpu().numpy()
        assert row.dtype == np.float64
        # float32 holds what is compared; what it would hold as 0 is none.
        words.append(np.flatnonzero(row.astype(np.float32)))
        weights.append(row[words[-1]])
    tensors = ids.tensors("texts", segments=False)
    tensors["sparse.offsets"], tensors["sparse.ids"] = ragged(words)
    tensors["sparse.weights"] = np.concatenate(weights)
    return tensors


def make_sparse(folder: pathlib.Path, name: str) -> Tensors:
    weights = write_checkpoint(folder, name)
    save_weights(folder / "model.safetensors", weights, HEADS[name].single)
    old = "sentence_transformers.sparse_encoder.models."
    kinds = (("", old + "MLMTransformer"), ("1_SpladePooling", old + "SpladePooling"))
    rows = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(kinds)]
    tiny.write_json(folder / "modules.json", rows)
    tiny.write_json(folder / "sentence_bert_config.json", {"max_seq_length": LIMIT, "do_lower_case": False})
    pooling = {"pooling_strategy": "max", "activation_function": "relu", "word_embedding_dimension": None}
    (folder / "1_SpladePooling").mkdir()
    tiny.write_json(folder / "1_SpladePooling" / "config.json", pooling)
    about = {"sentence_transformers": "5.0.0", "transformers": "4.50.3", "pytorch": "2.6.0"}
    settings = {"model_type": "SparseEncoder", "__version__": about, "prompts": {"query": "", "document": ""}}
    settings |= {"default_prompt_name": None, "similarity_fn_name": "dot"}
    tiny.write_json(folder / "config_sentence_transformers.json", settings)
    if name == "splade-bert":
        for variant, keys in {
            "sum": {"pooling_strategy": "sum"},
            "twice": {"activation_function": "log1p_relu"},
        }.items():
            (folder / "variants" / variant / "1_SpladePooling").mkdir(parents=True)
            path = folder / "variants" / variant / "1_SpladePooling" / "config.json"
            tiny.write_json(path, {**pooling, **keys})
        keep_saved(folder, sentence_transformers.SparseEncoder(str(folder), device="cpu").save)
    return with_variants(folder, sparse)


def bits16(rows: np.ndarray, scalar: str) -> np.ndarray:
    """f16 or bf16 of float64 rows, to nearest even, as bits."""
    if scalar == "f16":
        return rows.astype(np.float16).view(np.uint16)
    wide = rows.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16)


def eight_bits(rows: np.ndarray, name: str) -> Tensors:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    steps = 127 * rows / lengths
    doubt = np.abs(np.abs(steps - np.floor(steps)) - 0.5) < 1e-4
    return {name: np.clip(np.rint(steps), -127, 127).astype(np.int8), f"{name}.doubt": doubt.astype(np.uint8)}


def make_conversions(out: pathlib.Path) -> Tensors:
    tensors: Tensors = {}
    texts = tiny.TEXTS[::2]
    for checkpoint in tiny.CHECKPOINTS:
        name = checkpoint.name
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch, name)
            tiny.write_checkpoint(folder, checkpoint)
            asked = Reference(folder)
        encode = asked.model.encode
        rows = np.stack([asked.answer(text).embedding for text in texts])
        for scalar in ("f16", "bf16"):
            tensors[f"{name}.{scalar}"] = bits16(rows, scalar)
            doubt = bits16(rows - 1e-6, scalar) != bits16(rows + 1e-6, scalar)
            tensors[f"{name}.{scalar}.doubt"] = doubt.astype(np.uint8)
        tensors |= eight_bits(rows, f"{name}.i8")
        tensors[f"{name}.b1"] = np.packbits(rows > 0, axis=1)
        tensors[f"{name}.b1.doubt"] = (np.abs(rows) < 1e-6).astype(np.uint8)
        for columns in (20, 16, 8):
            options = {"truncate_dim": columns, "normalize_embeddings": checkpoint.normalize, "batch_size": 1}
            cut = np.stack([encode([text], **options, convert_to_tensor=True)[0].numpy() for text in texts])
            assert cut.dtype == np.float64
            tensors[f"{name}.f32.{columns}"] = cut
            tensors |= eight_bits(cut, f"{name}.i8.{columns}")
            tensors[f"{name}.b1.{columns}"] = np.packbits(cut > 0, axis=1)
            if checkpoint is tiny.UNCASED and columns == 16:
                options |= {"prompt": families.PROMPTS["query"], "convert_to_tensor": True}
                tensors[f"{name}.f32.16.query"] = np.stack([encode([text], **options)[0].numpy() for text in texts])
    return tensors


PARTS: dict[str, Callable[[pathlib.Path, str], Tensors]] = {
    "classifier": make_classifier,
    "tokens": make_tokens,
    "reranker": make_reranker,
    "colbert": make_late,
    "splade": make_sparse,
}


def write_lines(path: pathlib.Path, records: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")


def make(out: pathlib.Path, names: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_lines(out / "texts.jsonl", [{"text": text} for text in TEXTS])
    write_lines(out / "pairs.jsonl", [{"text": first, "pair": second} for first, second in PAIRS])
    write_lines(out / "queries.jsonl", [{"text": text} for text in QUERIES])
    write_lines(out / "documents.jsonl", [{"text": text} for text in DOCUMENTS])
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        folder = out / name
        about: dict[str, Any] = {"precision": "float64, cast to float32"}
        if name == "conversions":
            folder.mkdir(exist_ok=True)
            tensors = make_conversions(folder)
        else:
            part = next(part for part in PARTS if part in name.split("-"))
            tensors = PARTS[part](folder, name)
            about["weights_sha256"] = sha256_of(folder / "model.safetensors")
        for key, tensor in tensors.items():
            assert tensor.dtype != np.float64 or np.isfinite(tensor).all(), key
        cast = {k: t.astype(np.float32) if t.dtype == np.float64 else t for k, t in tensors.items()}
        save_golden(folder / "golden.safetensors", cast, about)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = [*HEADS, "conversions"]
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests" / "data", help="default: tests/data")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--only", nargs="+", metavar="FOLDER", choices=known, default=known)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        target = pathlib.Path(scratch) if options.check else options.out
        make(target / "outputs", options.only)
        if not options.check:
            return 0
        wrong = 0
        for path in sorted(path for path in target.rglob("*") if path.is_file()):
            if what := difference(path, options.out / path.relative_to(target)):
                wrong += 1
                print(f"{path.relative_to(target)}: {what}")
        print(f"{wrong} files differ" if wrong else "all files agree")
        return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
