"""Two tiny random BERT checkpoints in the published layout of sentence-transformers, and the poolings asked of them.

A checkpoint is a pure function of this file: each weight comes from a stream seeded by the checkpoint's and its own
name, at scales near those of trained models: small embeddings, so that the epsilon of the first layer norm shows;
attention peaked enough to matter; biases that are not zero and norms that are not one.
"""

import dataclasses
import hashlib
import json
import pathlib
import string
import unicodedata
from typing import Any

import numpy as np
from safetensors.numpy import save_file

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


@dataclasses.dataclass(frozen=True)
class Tiny:
    """One checkpoint."""

    name: str
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    max_seq_length: int
    lowercase: bool
    pooling: dict[str, Any]  # 1_Pooling/config.json
    normalize: bool


UNCASED = Tiny(
    name="tiny",
    hidden=48,
    layers=2,
    heads=3,
    intermediate=96,
    positions=40,
    max_seq_length=40,
    lowercase=True,
    pooling={
        "word_embedding_dimension": 48,
        "pooling_mode_cls_token": False,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_max_tokens": False,
        "pooling_mode_mean_sqrt_len_tokens": False,
    },
    normalize=True,
)
CASED = Tiny(
    name="tiny-cased",
    hidden=40,
    layers=2,
    heads=5,
    intermediate=72,
    positions=40,
    max_seq_length=24,
    lowercase=False,
    pooling={"embedding_dimension": 40, "pooling_mode": "cls", "include_prompt": True},
    normalize=False,
)
CHECKPOINTS = (UNCASED, CASED)

WORDS = """the of and a to in is it that for on was with as at by not be this from or an but are which were have had
one all their has more will would about out up into than them can only other new some time could these two may then do
first any my now such like our over man me even most made after also did many before must through years where much way
well down should because each just those people how too little state good very make world still own see men work long
get here between both life being under never day same another know while last might us great old year off come since
against go came right used take three token vector model layer matrix search query""".split()
PREFIXES = "un re de con pro per pre sub inter trans tok vec mat qu str ch sh wh".split()
SUFFIXES = """s ed ing er ly tion ment ness able ful less ize est al ity ive ous en or ar ist ism th on an re he in nd ha at
es of nt ea ti to it st io le is ou as de rt ve ization""".split()
ACCENTED = "äöüßéèêçñøåāžšőúí"
OTHERS = "αβγδεабвгд日本中国東京あいうかアイ한국אבגابت€£°½²"
EMOJI = "😀👍🏽❤"


def vocabulary(tiny: Tiny) -> list[str]:
    """The pieces in the order of their ids."""
    letters = string.ascii_lowercase + string.digits + OTHERS
    if not tiny.lowercase:
        letters += string.ascii_uppercase + ACCENTED
    words = WORDS if tiny.lowercase else [*WORDS[:80], *(word.capitalize() for word in WORDS[:60])]
    # As vocabularies have it that were learnt from normalised text: decomposed where accents go, else composed.
    form = "NFD" if tiny.lowercase else "NFC"
    pieces = [*SPECIAL_TOKENS, *string.punctuation, *"–—…’“”。、「」؟।"]
    pieces += [*letters, *EMOJI, *("##" + letter for letter in letters)]
    pieces += [*words, *PREFIXES, *("##" + suffix for suffix in SUFFIXES)]
    return list(dict.fromkeys(unicodedata.normalize(form, piece) for piece in pieces))


def draw(tiny: Tiny, name: str, *shape: int) -> np.ndarray:
    """The weight called `name`, f32. NumPy promises that RandomState's streams never change."""
    seed = int.from_bytes(hashlib.sha256(f"{tiny.name}/{name}".encode()).digest()[:4], "little")
    noise = np.random.RandomState(seed).standard_normal(shape)
    if "LayerNorm" in name:
        values = 0.8 + 0.2 * noise if name.endswith("weight") else 0.1 * noise
    elif name.endswith("bias"):
        values = 0.1 * noise
    elif "embeddings" in name:
        values = (0.1 if "word" in name else 0.03) * noise
    else:
        gain = 2.0 if "query" in name or "key" in name else 1.4
        values = gain / np.sqrt(shape[-1]) * noise
    return values.astype(np.float32)


def weights(tiny: Tiny) -> dict[str, np.ndarray]:
    """All tensors under the names that BertModel stores."""
    hidden, wide = tiny.hidden, tiny.intermediate
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(vocabulary(tiny)), hidden),
        "embeddings.position_embeddings.weight": (tiny.positions, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
        "embeddings.LayerNorm.weight": (hidden,),
        "embeddings.LayerNorm.bias": (hidden,),
        "pooler.dense.weight": (hidden, hidden),
        "pooler.dense.bias": (hidden,),
    }
    linears = {
        "attention.self.query": (hidden, hidden),
        "attention.self.key": (hidden, hidden),
        "attention.self.value": (hidden, hidden),
        "attention.output.dense": (hidden, hidden),
        "intermediate.dense": (wide, hidden),
        "output.dense": (hidden, wide),
    }
    for layer in range(tiny.layers):
        prefix = f"encoder.layer.{layer}."
        for name, shape in linears.items():
            shapes |= {f"{prefix}{name}.weight": shape, f"{prefix}{name}.bias": shape[:1]}
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes |= {f"{prefix}{name}.weight": (hidden,), f"{prefix}{name}.bias": (hidden,)}
    return {name: draw(tiny, name, *shape) for name, shape in shapes.items()}


def tokenizer_json(pieces: list[str], lowercase: bool) -> dict[str, Any]:
    """tokenizer.json of a BERT checkpoint, with a truncation and a padding that readers must pass over."""
    ids = {piece: number for number, piece in enumerate(pieces)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    special = lambda token: {"SpecialToken": {"id": token, "type_id": 0}}  # noqa: E731
    pair = [special("[CLS]"), {"Sequence": {"id": "A", "type_id": 0}}, special("[SEP]")]
    pair += [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 16, "strategy": "LongestFirst", "stride": 0},
        "padding": {
            "strategy": {"Fixed": 16},
            "direction": "Right",
            "pad_to_multiple_of": None,
            "pad_id": ids["[PAD]"],
            "pad_type_id": 0,
            "pad_token": "[PAD]",
        },
        "added_tokens": [{"id": ids[token], "content": token, **flags} for token in SPECIAL_TOKENS],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": True,
            "handle_chinese_chars": True,
            "strip_accents": None,
            "lowercase": lowercase,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": pair[:3],
            "pair": pair,
            "special_tokens": {
                token: {"id": token, "ids": [ids[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")
            },
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": ids,
        },
    }


def write_json(path: pathlib.Path, value: Any) -> None:
    """One top-level key a line, so that a difference is readable and a file is small."""
    if isinstance(value, dict):
        lines = [f"  {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}" for key, entry in value.items()]
        text = "{\n" + ",\n".join(lines) + "\n}\n"
    else:
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8")


def write_checkpoint(folder: pathlib.Path, tiny: Tiny) -> None:
    """Writes the folder as sentence-transformers publishes one."""
    pieces = vocabulary(tiny)
    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    save_file(weights(tiny), folder / "model.safetensors", {"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes for the owner only
    (folder / "vocab.txt").write_text("".join(piece + "\n" for piece in pieces), encoding="utf-8")
    config = {
        "architectures": ["BertModel"],
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": tiny.hidden,
        "initializer_range": 0.02,
        "intermediate_size": tiny.intermediate,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": tiny.positions,
        "model_type": "bert",
        "num_attention_heads": tiny.heads,
        "num_hidden_layers": tiny.layers,
        "pad_token_id": 0,
        "position_embedding_type": "absolute",
        "transformers_version": "4.8.2",
        "type_vocab_size": 2,
        "use_cache": True,
        "vocab_size": len(pieces),
    }
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer.json", tokenizer_json(pieces, tiny.lowercase))
    names = {f"{token[1:-1].lower()}_token": token for token in SPECIAL_TOKENS}
    tokenizer_config = {
        "do_lower_case": tiny.lowercase,
        **names,
        "tokenize_chinese_chars": True,
        "strip_accents": None,
        "model_max_length": tiny.positions,
        "tokenizer_class": "BertTokenizer",
    }
    write_json(folder / "tokenizer_config.json", tokenizer_config)
    write_json(folder / "special_tokens_map.json", names)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": tiny.max_seq_length, "do_lower_case": False})
    about = {"sentence_transformers": "2.0.0", "transformers": "4.6.1", "pytorch": "1.8.1"}
    write_json(folder / "config_sentence_transformers.json", {"__version__": about})
    paths = ["", "1_Pooling", *(["2_Normalize"] if tiny.normalize else [])]
    types = ["Transformer", "Pooling", "Normalize"]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(zip(paths, types))
    ]
    write_json(folder / "modules.json", modules)
    write_json(folder / "1_Pooling" / "config.json", tiny.pooling)


BOOLEANS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


def pooling_cases(hidden: int, few: bool) -> list[dict[str, Any]]:
    """What is asked: a name, the file 1_Pooling/config.json, and whether Normalize follows."""

    def booleans(*modes: str) -> dict[str, Any]:
        return {"word_embedding_dimension": hidden} | {key: mode in modes for mode, key in BOOLEANS.items()}

    def new(mode: Any) -> dict[str, Any]:
        return {"embedding_dimension": hidden, "pooling_mode": mode, "include_prompt": True}

    every = tuple(BOOLEANS)
    configs = {f"booleans-{mode}": booleans(mode) for mode in every}
    configs |= {f"mode-{mode}": new(mode) for mode in every}
    configs |= {
        "booleans-cls-mean": booleans("mean", "cls"),
        "booleans-max-mean-last": booleans("lasttoken", "max", "mean"),
        "booleans-sqrt-weighted": booleans("mean_sqrt_len_tokens", "weightedmean"),
        "booleans-all": booleans(*every),
        "booleans-none": booleans(),
        # As written by sentence-transformers before the last modes were known.
        "booleans-four-keys": {key: value for key, value in list(booleans("max").items())[:5]},
        "booleans-with-prompt-key": {**booleans("mean"), "include_prompt": True},
        "list-mean-cls": new(["mean", "cls"]),
        "list-last-weighted-max": new(["lasttoken", "weightedmean", "max"]),
        "list-reversed": new(list(reversed(every))),
        "list-of-one": new(["max"]),
        "both-spellings": {**booleans("cls"), "pooling_mode": "max"},
        "neither-spelling": {"word_embedding_dimension": hidden},
    }
    plain = [{"case": name, "normalize": False, "config": config} for name, config in configs.items()]
    chosen = ("booleans-mean", "booleans-max", "mode-lasttoken", "booleans-cls-mean", "list-last-weighted-max")
    if few:
        return [case for case in plain if case["case"] in ("booleans-cls-mean", "mode-weightedmean", "mode-max")]
    return plain + [{"case": f"{name}-normalized", "normalize": True, "config": configs[name]} for name in chosen]


TEXTS = [
    "",
    "a",
    "the model",
    "The search of a vector.",
    "It is not the same query, but it is like this one.",
    "people work under great state matrices",
    "a [PAD] b",
    "[CLS] first [SEP] second [MASK]",
    "unlikely tokenization, searching & ordering",
    "Straße, café, naïve, ÅNGSTRÖM",
    "cafe\u0301 caf\u00e9",
    "日本 and 東京 mixed中国",
    "αβγ абв 한국 אב ابت",
    "😀👍🏽❤ ok",
    "😈 unknown 🦄",
    "1 22 333 4444 55555",
    "x",
    "?",
    "...",
    "   spaced \t out\n",
    "Before, after; between (both) \"under\" never!",
    "qzxj vwk",
    "WE CAN SHOUT THE WORDS",
    "men made three years of work last long days",
    "the the the the the the",
    "most people know the world is old and life is little",
    "tokens vectors layers models queries",
    "a–b—c…d’e",
    "zero\u200bwidth and\u00a0spaces\u3000wide",
    "null\u0000byte \ufffd",
    "a" * 30,
    "a" * 101,
    "how do I make a good search over all the new years of state work while others still wait for their own",
    "time " * 21 + "end",
    "time " * 22 + "end",
    "time " * 37 + "end",
    "time " * 38 + "end",
    "well " * 120,
    "one two three. " * 9,
    "may I see you again? then I would go and come back here, because it was right.",
    "could these two men get the first layer, and then the last?",
]
