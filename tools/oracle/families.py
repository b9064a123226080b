"""Tiny random checkpoints of the families of encoders, and of the modules after the pooling, with the reference's answers.

A checkpoint is a pure function of this file: each weight comes from a stream seeded by its family and its own name, at
scales near those of trained models, so that a wrong epsilon, activation, position or window shows.

Those with a tokenizer are asked about texts, through sentence-transformers. The others are asked for ids drawn at
random, padding ids among them: what is compared is the encoder.
"""

import dataclasses
import hashlib
import json
import pathlib
import shutil
import tempfile
from typing import Any

import numpy as np
import tiny
from family_tokenizers import configuration, ids_of, small
from safetensors.numpy import save_file
from script_texts import broken_texts, script_texts

ROBERTA = {
    "model_type": "roberta",
    "architectures": ["RobertaModel"],
    "hidden_act": "gelu",
    "hidden_size": 40,
    "intermediate_size": 56,
    "num_attention_heads": 5,
    "num_hidden_layers": 2,
    "max_position_embeddings": 66,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-05,
    "pad_token_id": 1,
    "bos_token_id": 0,
    "eos_token_id": 2,
    "vocab_size": 120,
}


@dataclasses.dataclass(frozen=True)
class Family:
    """One checkpoint."""

    config: dict[str, Any]  # config.json
    model: str  # the class of transformers whose weights are stored
    prefix: str = ""  # before the names in the file
    pooling: Any = "mean"
    normalize: bool = True
    max_seq_length: int | None = None
    lengths: tuple[int, ...] = (1, 2, 3, 5, 9, 17, 33, 64)  # of the texts of random ids
    tokenizer: str = ""  # a kind of family_tokenizers.py: texts instead of ids
    shared_tokenizer: bool = False  # its tokenizer.json is that of tests/data/text


FAMILIES = {
    "roberta": Family(ROBERTA, "RobertaModel"),
    "camembert": Family(
        {
            **ROBERTA,
            "model_type": "camembert",
            "architectures": ["CamembertForMaskedLM"],
            "hidden_size": 36,
            "num_attention_heads": 3,
            "num_hidden_layers": 1,
        },
        "CamembertModel",
        prefix="roberta.",
        pooling=["mean", "max"],
        normalize=False,
    ),
    "xlm-roberta": Family(
        {
            **ROBERTA,
            "model_type": "xlm-roberta",
            "architectures": ["XLMRobertaModel"],
            "hidden_size": 48,
            "intermediate_size": 72,
            "num_attention_heads": 4,
            "num_hidden_layers": 1,
            "hidden_act": "gelu_new",
            "max_position_embeddings": 130,
        },
        "XLMRobertaModel",
        pooling="cls",
        lengths=(1, 4, 7, 12, 31, 65, 128),
    ),
    "distilbert": Family(
        {
            "model_type": "distilbert",
            "architectures": ["DistilBertModel"],
            "activation": "gelu",
            "dim": 32,
            "hidden_dim": 64,
            "n_heads": 4,
            "n_layers": 2,
            "max_position_embeddings": 40,
            "sinusoidal_pos_embds": False,
            "pad_token_id": 0,
        },
        "DistilBertModel",
        prefix="distilbert.",
        pooling=["cls", "mean"],
        normalize=False,
        max_seq_length=32,
        tokenizer="distilbert",
    ),
    "mpnet": Family(
        {
            "model_type": "mpnet",
            "architectures": ["MPNetForMaskedLM"],
            "hidden_act": "gelu",
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_attention_heads": 4,
            "num_hidden_layers": 2,
            "max_position_embeddings": 164,
            "relative_attention_num_buckets": 32,
            "layer_norm_eps": 1e-05,
            "pad_token_id": 1,
            "bos_token_id": 0,
            "eos_token_id": 2,
        },
        "MPNetModel",
        tokenizer="mpnet",
        max_seq_length=160,
    ),
    "modernbert": Family(
        {
            "model_type": "modernbert",
            "architectures": ["ModernBertForMaskedLM"],
            "hidden_activation": "gelu",
            "hidden_size": 36,
            "intermediate_size": 40,
            "num_attention_heads": 3,
            "num_hidden_layers": 4,
            "max_position_embeddings": 160,
            "global_attn_every_n_layers": 3,
            "global_rope_theta": 160000.0,
            "local_attention": 10,
            "local_rope_theta": 10000.0,
            "norm_eps": 1e-05,
            "norm_bias": False,
            "attention_bias": False,
            "mlp_bias": False,
            "pad_token_id": 3,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 1,
            "sep_token_id": 2,
            "vocab_size": 120,
        },
        "ModernBertModel",
        prefix="model.",
        pooling="cls",
        lengths=(1, 2, 5, 6, 7, 12, 40, 83, 150),
    ),
    # As transformers 5 writes it, with the biases that published checkpoints don't have, and layers of its own choice.
    "modernbert-biased": Family(
        {
            "model_type": "modernbert",
            "architectures": ["ModernBertModel"],
            "hidden_activation": "silu",
            "hidden_size": 32,
            "intermediate_size": 24,
            "num_attention_heads": 2,
            "num_hidden_layers": 2,
            "max_position_embeddings": 64,
            "layer_types": ["sliding_attention", "full_attention"],
            "rope_parameters": {
                "full_attention": {"rope_type": "default", "rope_theta": 5000.0},
                "sliding_attention": {"rope_type": "default", "rope_theta": 70.0},
            },
            "local_attention": 7,
            "norm_eps": 1e-05,
            "norm_bias": True,
            "attention_bias": True,
            "mlp_bias": True,
            "pad_token_id": 3,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 1,
            "sep_token_id": 2,
            "vocab_size": 60,
        },
        "ModernBertModel",
        normalize=False,
        lengths=(1, 3, 8, 21, 50),
    ),
    "nomic-bert": Family(
        {
            "model_type": "nomic_bert",
            "architectures": ["NomicBertModel"],
            "hidden_act": "silu",
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_attention_heads": 2,
            "num_hidden_layers": 2,
            "max_position_embeddings": 96,
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1000.0},
            "pad_token_id": 0,
            "vocab_size": 100,
        },
        "NomicBertModel",
        lengths=(1, 2, 6, 19, 45, 96),
    ),
}


def with_tokenizer(name: str, positions: int, max_seq_length: int) -> Family:
    """The family as above with texts for it, in fewer layers, since its table of pieces is larger."""
    config = {**FAMILIES[name].config, "max_position_embeddings": positions}
    config |= {"hidden_size": 32, "intermediate_size": 40, "num_attention_heads": 4}
    return dataclasses.replace(
        FAMILIES[name], config=config, max_seq_length=max_seq_length, tokenizer=name, shared_tokenizer=True
    )


FAMILIES |= {
    "roberta-text": with_tokenizer("roberta", 66, 64),
    "xlm-roberta-text": with_tokenizer("xlm-roberta", 58, 48),
    "modernbert-text": with_tokenizer("modernbert", 96, 96),
}


def draw(family: str, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The weight called `name`, f32. NumPy promises that RandomState's streams never change."""
    seed = int.from_bytes(hashlib.sha256(f"{family}/{name}".encode()).digest()[:4], "little")
    noise = np.random.RandomState(seed).standard_normal(shape)
    owner, kind = name.split(".")[-2:]
    if "norm" in name.lower() or "emb_ln" in name:
        values = 0.8 + 0.2 * noise if kind == "weight" else 0.1 * noise
    elif kind == "bias":
        values = 0.1 * noise
    elif owner == "relative_attention_bias":
        values = 1.2 * noise
    elif "embeddings" in name:
        values = (0.03 if "position" in owner or "type" in owner else 0.1) * noise
    else:
        peaked = owner in ("query", "key", "q_lin", "k_lin", "q", "k", "q_proj", "k_proj", "Wqkv")
        values = (2.0 if peaked else 1.4) / np.sqrt(shape[-1]) * noise
    return values.astype(np.float32)


def published_names(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """NomicBERT's tensors as the published files have them."""
    renamed = {}
    pairs = [("embeddings.LayerNorm", "emb_ln"), ("self_attn.o_proj", "attn.out_proj"), ("up_proj", "fc11")]
    pairs += [("gate_proj", "fc12"), ("down_proj", "fc2"), ("post_attention_layernorm", "norm1")]
    pairs += [("post_mlp_layernorm", "norm2")]
    for name, weight in weights.items():
        for new, published in pairs:
            name = name.replace(new, published)
        renamed["encoder." + name if name.startswith("layers.") else name] = weight
    for name in [name for name in renamed if "self_attn.q_proj" in name]:
        parts = [renamed.pop(name.replace("q_proj", part)) for part in ("q_proj", "k_proj", "v_proj")]
        renamed[name.replace("self_attn.q_proj", "attn.Wqkv")] = np.concatenate(parts)
    return renamed


def write_checkpoint(folder: pathlib.Path, family: Family, streams: str, tokenizer: dict[str, Any] | None) -> None:
    """Writes a folder as sentence-transformers publishes one, its weights drawn from the streams called `streams`."""
    import torch
    import transformers

    (folder / "1_Pooling").mkdir(parents=True, exist_ok=True)
    config = dict(family.config)
    if tokenizer:
        ids = ids_of(tokenizer)
        config["vocab_size"] = len(ids)
        if family.tokenizer == "modernbert":
            config |= {f"{name}_token_id": ids[f"[{name.upper()}]"] for name in ("pad", "cls", "sep")}
            config |= {"bos_token_id": ids["[CLS]"], "eos_token_id": ids["[SEP]"]}
        # Positions start behind the padding id's, which is 1.
        limit = config["max_position_embeddings"] - (2 if config["pad_token_id"] == 1 else 0)
        tiny.write_json(folder / "tokenizer.json", tokenizer)
        tiny.write_json(folder / "tokenizer_config.json", configuration(family.tokenizer, limit))
    tiny.write_json(folder / "config.json", config)
    with torch.device("meta"):
        model = getattr(transformers, family.model)(transformers.AutoConfig.from_pretrained(folder))
    weights = {key: draw(streams, key, tuple(value.shape)) for key, value in sorted(model.named_parameters())}
    weights = {key: value for key, value in weights.items() if not key.startswith("pooler.")}
    if family.model == "NomicBertModel":
        weights = published_names(weights)
    save_file({family.prefix + key: value for key, value in weights.items()}, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes for the owner only
    hidden = config.get("hidden_size", config.get("dim"))
    tiny.write_json(
        folder / "1_Pooling" / "config.json", {"embedding_dimension": hidden, "pooling_mode": family.pooling}
    )
    kinds = ["Transformer", "Pooling", *(["Normalize"] if family.normalize else [])]
    paths = ["", "1_Pooling", "2_Normalize"]
    modules = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (path, kind) in enumerate(zip(paths, kinds))
    ]
    tiny.write_json(folder / "modules.json", modules)
    if family.max_seq_length:
        limits = {"max_seq_length": family.max_seq_length, "do_lower_case": False}
        tiny.write_json(folder / "sentence_bert_config.json", limits)


def random_ids(name: str) -> list[np.ndarray]:
    """Texts of the family's lengths; in those of 5 ids and more one is the padding id."""
    family = FAMILIES[name]
    seed = int.from_bytes(hashlib.sha256(f"{name}/ids".encode()).digest()[:4], "little")
    stream = np.random.RandomState(seed)
    texts = []
    for length in family.lengths:
        ids = stream.randint(0, family.config["vocab_size"], length)
        ids[ids == family.config["pad_token_id"]] += 1
        if length >= 5:
            ids[length // 2] = family.config["pad_token_id"]
        texts.append(ids)
    return texts


def answer_ids(folder: pathlib.Path, texts: list[np.ndarray], **overrides: Any) -> tuple[list[np.ndarray], list[Any]]:
    """States and embeddings of texts of ids, in float64."""
    import reference  # noqa: F401  (sets the environment)
    import torch
    import transformers
    from sentence_transformers.models import Normalize, Pooling

    # Overrides of the configuration: the weights are the same.
    config = transformers.AutoConfig.from_pretrained(folder, **overrides)
    model = transformers.AutoModel.from_pretrained(folder, config=config, dtype=torch.float32).double().eval()
    modules = [Pooling.load(str(folder / "1_Pooling"))]
    modules += [Normalize()] if len(json.loads((folder / "modules.json").read_text())) > 2 else []
    states, embeddings = [], []
    for ids in texts:
        tokens = torch.from_numpy(ids.astype(np.int64))[None]
        mask = torch.ones_like(tokens)
        output = model(input_ids=tokens, attention_mask=mask).last_hidden_state
        features: dict[str, Any] = {"token_embeddings": output, "attention_mask": mask}
        for module in modules:
            features = module(features)
        states.append(output[0].numpy())
        embeddings.append(features["sentence_embedding"][0].numpy())
    return states, embeddings


TEXTS = [*tiny.TEXTS, "a <mask> b <pad> c </s>", "<s>", "long " * 126 + "end", "time, and " * 100]
STATES_EVERY = 6  # of texts in many scripts, every so manieth has its states in the golden


def family_records(family: Family) -> list[dict[str, str]]:
    """The texts of a family with a tokenizer."""
    if not family.shared_tokenizer:
        return [{"text": text} for text in TEXTS[::2] + TEXTS[-3:]]
    texts = script_texts()[::11] + TEXTS[-4:]
    return [{"text": text} for text in texts] + [{"hex": text.hex()} for text in broken_texts(texts[10:70:10], "golden")]


def make_family(folder: pathlib.Path, name: str) -> None:
    from reference import Reference, ragged, save_golden, sha256_of, text_of

    family = FAMILIES[name]
    write_checkpoint(folder, family, name, small(family.tokenizer) if family.tokenizer else None)
    about: dict[str, Any] = {"weights_sha256": sha256_of(folder / "model.safetensors"), "precision": "float64, cast"}
    tensors: dict[str, np.ndarray] = {}
    if family.tokenizer:
        asked = Reference(folder)
        if family.shared_tokenizer:
            (folder / "tokenizer.json").unlink()
        records = family_records(family)
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / "texts.jsonl").write_text(lines, encoding="utf-8")
        answers = [asked.answer(text_of(record)) for record in records]
        offsets, ids = ragged(answer.ids for answer in answers)
        tensors["cut"] = np.array([answer.cut for answer in answers], dtype=np.uint32)
        states, embeddings = [answer.states for answer in answers], [answer.embedding for answer in answers]
        if family.shared_tokenizer:
            tensors["states_texts"] = np.arange(0, len(answers), STATES_EVERY, dtype=np.uint32)
            states = states[::STATES_EVERY]
    else:
        texts = random_ids(name)
        offsets, ids = ragged(texts)
        states, embeddings = answer_ids(folder, texts)
    if name == "roberta":
        # Positions that start at 4, and a padding id that is another.
        other, _ = answer_ids(folder, texts[:7], pad_token_id=3)
        tensors["states.pad3"] = np.concatenate(other).astype(np.float32)
    tensors |= {"offsets": offsets, "ids": ids, "states": np.concatenate(states).astype(np.float32)}
    tensors["embeddings"] = np.stack(embeddings).astype(np.float32)
    save_golden(folder / "golden.safetensors", tensors, about)


def dense(folder: pathlib.Path, inputs: int, outputs: int, activation: str | None, bias: bool = True) -> None:
    """A Dense module's folder; no activation leaves the key out."""
    folder.mkdir(parents=True)
    config: dict[str, Any] = {"in_features": inputs, "out_features": outputs, "bias": bias}
    if activation:
        config["activation_function"] = activation
    tiny.write_json(folder / "config.json", config)
    weights = {"linear.weight": draw(f"dense{outputs}", "dense.linear.weight", (outputs, inputs))}
    if bias:
        weights["linear.bias"] = draw(f"dense{outputs}", "dense.linear.bias", (outputs,))
    save_file(weights, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)


def layer_norm(folder: pathlib.Path, columns: int) -> None:
    """A LayerNorm module's folder."""
    folder.mkdir(parents=True)
    tiny.write_json(folder / "config.json", {"dimension": columns})
    weights = {f"norm.{kind}": draw("layer_norm", f"norm.{kind}", (columns,)) for kind in ("weight", "bias")}
    save_file(weights, folder / "model.safetensors")
    (folder / "model.safetensors").chmod(0o644)


TORCH = "torch.nn.modules.activation."
# What follows Pooling in each case: a kind and what it is made of. The vectors before have 48 columns.
MODULE_CASES: dict[str, list[tuple[Any, ...]]] = {
    "tanh": [("Dense", 48, 20, TORCH + "Tanh")],
    "default": [("Dense", 48, 9, None), ("Normalize",)],
    "identity": [("Dense", 48, 7, "torch.nn.modules.linear.Identity", False)],
    "relu": [("Dense", 48, 33, "torch.nn.ReLU")],
    "gelu": [("Dense", 48, 6, TORCH + "GELU"), ("Normalize",)],
    "sigmoid": [("Dense", 48, 5, TORCH + "Sigmoid")],
    "silu": [("Dense", 48, 5, TORCH + "SiLU")],
    "leaky-relu": [("Dense", 48, 5, TORCH + "LeakyReLU")],
    "elu": [("Dense", 48, 5, TORCH + "ELU")],
    "softplus": [("Dense", 48, 5, TORCH + "Softplus")],
    "mish": [("Dense", 48, 5, TORCH + "Mish")],
    "chain": [("Dense", 48, 20, TORCH + "Tanh"), ("Dense", 20, 50, "torch.nn.modules.linear.Identity", False)],
    "normalize-first": [("Normalize",), ("Dense", 48, 12, TORCH + "ReLU")],
    "layer-norm": [("LayerNorm", 48)],
    "all": [("Normalize",), ("Dense", 48, 12, TORCH + "Tanh", False), ("LayerNorm", 12), ("Normalize",)],
}
# Poolings with the prompt left out, or not, of a text after a prompt.
PROMPT_CASES = {
    f"{mode}-{'with' if included else 'without'}-prompt": {
        "embedding_dimension": 48,
        "pooling_mode": mode,
        "include_prompt": included,
    }
    for mode in ("mean", "cls", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")
    for included in (False, True)
}
PROMPT_CASES |= {
    "list-without-prompt": {
        "embedding_dimension": 48,
        "pooling_mode": ["weightedmean", "cls"],
        "include_prompt": False,
    }
}
PROMPT_TEXTS = 6  # the first of all
PROMPTS = {"query": "search a query: ", "word": "to", "nothing": "", "long": "the people of the world know " * 9}


def make_modules(folder: pathlib.Path, base: pathlib.Path) -> None:
    """The cases above, laid over the checkpoint `tiny` in `base`."""
    from reference import Reference, save_golden

    texts = tiny.TEXTS[:40:3]
    tensors: dict[str, np.ndarray] = {}
    for case, modules in MODULE_CASES.items():
        chain = [("", "Transformer"), ("1_Pooling", "Pooling")]
        shutil.rmtree(folder / case, ignore_errors=True)
        (folder / case).mkdir(parents=True)
        for number, (kind, *arguments) in enumerate(modules, 2):
            chain.append((f"{number}_{kind}", kind))
            if kind == "Dense":
                dense(folder / case / chain[-1][0], *arguments)
            elif kind == "LayerNorm":
                layer_norm(folder / case / chain[-1][0], *arguments)
        rows = [
            {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for n, (path, kind) in enumerate(chain)
        ]
        tiny.write_json(folder / case / "modules.json", rows)
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch, "model")
            shutil.copytree(base, copy)
            shutil.copytree(folder / case, copy, dirs_exist_ok=True)
            asked = Reference(copy)
            tensors[f"embeddings.{case}"] = np.stack([asked.answer(text).embedding for text in texts])
    cases = []
    for case, config in PROMPT_CASES.items():
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch, "model")
            shutil.copytree(base, copy)
            tiny.write_json(copy / "1_Pooling" / "config.json", config)
            asked = Reference(copy)
            for prompt, text_before in PROMPTS.items():
                rows = [
                    asked.model.encode([text], prompt=text_before, output_value=None, batch_size=1)[0]
                    for text in texts[:PROMPT_TEXTS]
                ]
                vectors = np.stack([row["sentence_embedding"].numpy() for row in rows])
                tensors[f"embeddings.{case}.{prompt}"] = vectors
        cases.append({"case": case, "config": config})
    tiny.write_json(folder / "prompts.json", {"prompts": PROMPTS})
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    (folder / "cases.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    tensors = {name: tensor.astype(np.float32) for name, tensor in tensors.items()}
    save_golden(folder / "golden.safetensors", tensors, {"precision": "float64, cast to float32"})


def make_families(out: pathlib.Path) -> None:
    for name in FAMILIES:
        make_family(out / "families" / name, name)
    with tempfile.TemporaryDirectory() as scratch:
        base = pathlib.Path(scratch, "tiny")
        tiny.write_checkpoint(base, tiny.UNCASED)
        make_modules(out / "families" / "modules", base)
