"""The tokenizers of the families' checkpoints: their tokenizer.json and the tokenizer_config.json beside it.

Small ones, with pieces that are written down or those of tests/data/text, go with the goldens; `trained` learns larger
ones of each kind from lines of text. All are pure functions of their arguments.
"""

import json
import pathlib
from typing import Any

import tiny

TEXT_DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "tests" / "data" / "text"
BERT_NAMES = {f"{token[1:-1].lower()}_token": token for token in tiny.SPECIAL_TOKENS}
ROBERTA_NAMES = {"bos_token": "<s>", "eos_token": "</s>", "sep_token": "</s>", "cls_token": "<s>"}
ROBERTA_NAMES |= {"unk_token": "<unk>", "pad_token": "<pad>", "mask_token": "<mask>"}

# Of each kind the class that transformers reads it with, the names of its special tokens, and whether it lowers letters.
KINDS: dict[str, tuple[str, dict[str, str], bool | None]] = {
    "bert": ("BertTokenizer", BERT_NAMES, True),
    "bert-cased": ("BertTokenizer", BERT_NAMES, False),
    "distilbert": ("DistilBertTokenizer", BERT_NAMES, False),
    "mpnet": ("MPNetTokenizer", {**ROBERTA_NAMES, "unk_token": "[UNK]"}, True),
    "roberta": ("RobertaTokenizer", ROBERTA_NAMES, None),
    # Not CamembertTokenizer and XLMRobertaTokenizer, which transformers builds anew from scores that Python has parsed:
    # `tokenizers` parses some of them to other last bits, so that where two cuttings are worth the same they may differ.
    "camembert": ("PreTrainedTokenizerFast", ROBERTA_NAMES, None),
    "xlm-roberta": ("PreTrainedTokenizerFast", ROBERTA_NAMES, None),
    "modernbert": ("PreTrainedTokenizerFast", BERT_NAMES, None),
}


def configuration(kind: str, limit: int) -> dict[str, Any]:
    """tokenizer_config.json of a model that reads at most `limit` tokens."""
    name, names, lowers = KINDS[kind]
    config = {"tokenizer_class": name, **names}
    if lowers is not None:
        config = {"do_lower_case": lowers, **config, "strip_accents": None, "tokenize_chinese_chars": True}
    if kind == "roberta":
        config |= {"add_prefix_space": False, "trim_offsets": True}
    return {**config, "model_max_length": limit}


def mpnet(words: list[str]) -> dict[str, Any]:
    """MPNet's tokenizer.json: BERT's pieces between RoBERTa's special tokens."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *words, "<mask>"]
    ids = {piece: number for number, piece in enumerate(pieces)}
    value = tiny.tokenizer_json(words, True)
    flags = {"single_word": False, "rstrip": False, "special": True}
    special = ("<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>")
    value["added_tokens"] = [
        {"id": ids[token], "content": token, **flags, "lstrip": token == "<mask>", "normalized": token == "<unk>"}
        for token in sorted(special, key=lambda token: ids[token])
    ]
    value["padding"]["pad_id"], value["padding"]["pad_token"] = ids["<pad>"], "<pad>"
    value["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", ids["</s>"]],
        "cls": ["<s>", ids["<s>"]],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    value["model"]["vocab"] = ids
    return value


def small(kind: str) -> dict[str, Any]:
    """The tokenizer.json that goes with a golden."""
    if kind == "mpnet":
        return mpnet(tiny.vocabulary(tiny.UNCASED)[:400])
    if kind == "distilbert":
        return tiny.tokenizer_json(tiny.vocabulary(tiny.CASED), False)
    return json.loads((TEXT_DATA / kind / "tokenizer.json").read_text(encoding="utf-8"))


def trained(kind: str, lines: list[str], pieces: int) -> dict[str, Any]:
    """A tokenizer.json of about so many pieces, learnt from lines."""
    import text_goldens

    single = [line for line in lines if "\n" not in line and "\0" not in line]  # as the trainer of Unigram wants them
    if kind in ("roberta", "modernbert"):
        tokenizer = text_goldens.byte_level(lines, kind == "modernbert", pieces)
    elif kind in ("xlm-roberta", "camembert"):
        tokenizer = text_goldens.unigram(single, pieces, kind == "camembert")
    else:
        tokenizer = text_goldens.wordpiece(lines, KINDS[kind][2] is True, pieces)
    value = json.loads(tokenizer.to_str())
    if kind == "mpnet":
        vocabulary = value["model"]["vocab"]
        return mpnet(sorted(vocabulary, key=vocabulary.get))
    return value


def ids_of(value: dict[str, Any]) -> dict[str, int]:
    """The ids of a tokenizer.json's pieces."""
    vocabulary = value["model"]["vocab"]
    if isinstance(vocabulary, list):  # Unigram's pieces and scores
        return {piece: number for number, (piece, _) in enumerate(vocabulary)}
    return vocabulary
