"""Small random heads of every family, and the scores that transformers gives for random states.

    heads.py [OUT]            writes OUT/heads/HEAD/; OUT is tests/data if it is left out

A folder has the configuration of a whole model, but of its weights only those of the head, and of the encoder those
that a head reads: the pooler, and the table of words where it is the last layer's.
"""

import dataclasses
import pathlib
import sys
from typing import Any

import numpy as np
import reference  # noqa: F401  (sets the environment)
import tiny
import torch
import transformers
from families import draw
from reference import save_golden
from safetensors.numpy import save_file
from transformers.modeling_outputs import BaseModelOutputWithPooling

HIDDEN, VOCABULARY, TEXTS, TOKENS = 12, 37, 3, 4
SIZES: dict[str, Any] = {
    "hidden_size": HIDDEN,
    "intermediate_size": 24,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "max_position_embeddings": 40,
    "vocab_size": VOCABULARY,
    "hidden_dropout_prob": 0.1,
}
DISTILBERT = {"dim": HIDDEN, "hidden_dim": 24, "n_heads": 2, "n_layers": 1, "max_position_embeddings": 40}
# By model_type: the prefix of its classes and what its config.json has.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", {**SIZES, "hidden_act": "gelu", "layer_norm_eps": 1e-3}),
    "roberta": ("Roberta", {**SIZES, "hidden_act": "relu", "layer_norm_eps": 1e-2, "pad_token_id": 1}),
    "camembert": ("Camembert", {**SIZES, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "pad_token_id": 1}),
    "xlm-roberta": ("XLMRoberta", {**SIZES, "hidden_act": "gelu", "layer_norm_eps": 1e-5, "pad_token_id": 1}),
    "distilbert": ("DistilBert", {**DISTILBERT, "vocab_size": VOCABULARY, "activation": "gelu"}),
    "mpnet": ("MPNet", {**SIZES, "hidden_act": "relu", "layer_norm_eps": 1e-3, "pad_token_id": 1}),
    "modernbert": ("ModernBert", {**SIZES, "norm_eps": 1e-3, "pad_token_id": 0, "cls_token_id": 1, "sep_token_id": 2}),
    "nomic_bert": ("NomicBert", {**SIZES, "hidden_act": "silu", "layer_norm_eps": 1e-3, "pad_token_id": 0}),
}
CLASSES = {"classifier": "SequenceClassification", "token-classifier": "TokenClassification", "masked": "MaskedLM"}


@dataclasses.dataclass(frozen=True)
class Case:
    """One head's folder."""

    family: str
    kind: str  # of CLASSES
    suffix: str = ""  # of the folder's name
    labels: int = 3
    more: dict[str, Any] = dataclasses.field(default_factory=dict)  # of config.json


CASES = [Case(family, kind) for family in FAMILIES for kind in CLASSES]
CASES += [
    Case("bert", "classifier", "-one", labels=1),
    Case("bert", "masked", "-untied", more={"tie_word_embeddings": False, "hidden_act": "gelu_new"}),
    Case("distilbert", "masked", "-relu", more={"activation": "relu"}),
    Case(
        "modernbert",
        "classifier",
        "-mean",
        more={"classifier_pooling": "mean", "classifier_activation": "silu"}
        | {"classifier_bias": True, "norm_bias": True},
    ),
    Case(
        "modernbert",
        "masked",
        "-biased",
        more={"classifier_activation": "relu", "classifier_bias": True, "norm_bias": True, "decoder_bias": False},
    ),
]


class Given(torch.nn.Module):
    """Takes the place of an encoder and answers states, which its pooler has gone over where there is one."""

    def __init__(self, states: torch.Tensor, pooler: torch.nn.Module | None) -> None:
        super().__init__()
        self.states, self.pooler = states, pooler

    def forward(self, *_: Any, **__: Any) -> BaseModelOutputWithPooling:
        pooled = self.pooler(self.states) if self.pooler is not None else None
        return BaseModelOutputWithPooling(last_hidden_state=self.states, pooler_output=pooled)


def make_case(folder: pathlib.Path, case: Case) -> None:
    prefix, sizes = FAMILIES[case.family]
    name = f"{prefix}For{CLASSES[case.kind]}"
    folder.mkdir(parents=True, exist_ok=True)
    config: dict[str, Any] = {"model_type": case.family, "architectures": [name], **sizes, **case.more}
    if case.kind != "masked":
        config["id2label"] = {str(label): f"label {label}" for label in range(case.labels)}
        config["label2id"] = {f"label {label}": label for label in range(case.labels)}
    tiny.write_json(folder / "config.json", config)
    model = getattr(transformers, name)(transformers.AutoConfig.from_pretrained(folder)).eval()

    base = model.base_model_prefix
    kept = {}
    for key, value in model.named_parameters():  # names a tied tensor once, by the encoder's name
        drawn = draw(folder.name, key, tuple(value.shape))
        value.data = torch.from_numpy(drawn)
        is_words = "word_embeddings" in key or "tok_embeddings" in key
        if not key.startswith(base + ".") or f"{base}.pooler." in key or (case.kind == "masked" and is_words):
            kept[key] = drawn
    if case.kind == "masked" and not case.more.get("tie_word_embeddings", True):
        kept.pop("cls.predictions.bias")  # a parameter of its own here, which nothing reads
    save_file(kept, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes for the owner only

    stream = np.random.RandomState(len(folder.name))
    states = stream.standard_normal((TEXTS, TOKENS, HIDDEN)).astype(np.float32)
    model = model.double()
    encoder = getattr(model, base)
    setattr(model, base, Given(torch.from_numpy(states).double(), getattr(encoder, "pooler", None)))
    ids = torch.ones((TEXTS, TOKENS), dtype=torch.long)
    scores = model(input_ids=ids, attention_mask=ids).logits.numpy()
    tensors = {"states": states, "scores": scores.astype(np.float32)}
    save_golden(folder / "golden.safetensors", tensors, {"precision": "float64, cast to float32"})


def make(out: pathlib.Path) -> None:
    for case in CASES:
        make_case(out / "heads" / f"{case.family.replace('_', '-')}-{case.kind}{case.suffix}", case)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "tests" / "data")
