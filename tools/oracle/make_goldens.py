#!/usr/bin/env python3
"""Makes what lies under tests/data from the reference libraries, or checks that what lies there is what they answer.

    make_goldens.py [PART]…       the parts named, or all: the keys of PARTS below
    make_goldens.py --check                                        the same into a scratch folder, then compares

Run by build/oracle/bin/python, see README.md; `minilm` and `codepoints` need tools/fetch_model.py all-MiniLM-L6-v2,
`mpnet` needs tools/fetch_model.py all-mpnet-base-v2.
`--check` wants files of text to be equal, and of tensors the integers equal and the floats within 1e-6 (another
processor may sum in another order). Exit status 1 on a difference.
"""

import argparse
import json
import pathlib
import shutil
import sys
import tempfile
import unicodedata
from typing import Any

sys.dont_write_bytecode = True

import numpy as np  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "models" / "all-MiniLM-L6-v2"
MPNET = ROOT / "models" / "all-mpnet-base-v2"
STATES_TEXTS = 22  # of at most so many texts are states kept for a real model


def escaped(value: Any) -> str:
    """JSON on one line in which whatever an editor could show wrongly or change is an escape."""
    shown = []
    for character in json.dumps(value, ensure_ascii=False):
        plain = character.isprintable() and unicodedata.category(character)[0] != "M"
        plain = plain and unicodedata.normalize("NFC", character) == character and not "\u1100" <= character <= "\u11ff"
        shown.append(character if plain else json.dumps(character)[1:-1])
    return "".join(shown)


def write_texts(path: pathlib.Path, records: list[dict[str, str]]) -> None:
    path.write_text("".join(escaped(record) + "\n" for record in records), encoding="utf-8")


def chosen_for_states(counts: list[int], tokens: int, step: int) -> list[int]:
    """Texts spread over the whole list, of so many tokens at most, none of them long but one."""
    chosen, total = [], 0
    long = next((index for index, count in enumerate(counts) if 80 <= count <= 110 and count <= tokens), 0)
    for index in [long, *range(3, len(counts), step)]:
        if index not in chosen and (counts[index] <= 40 or index == long) and total + counts[index] <= tokens:
            chosen.append(index)
            total += counts[index]
        if len(chosen) == STATES_TEXTS:
            break
    return sorted(chosen)


def make_real(folder: pathlib.Path, model: pathlib.Path, texts: list[dict[str, str]], tokens: int, step: int) -> None:
    """A real model's answers, with the states of some texts, of so many tokens at most."""
    from reference import Reference, ragged, read_texts, save_golden, sha256_of

    folder.mkdir(parents=True, exist_ok=True)
    write_texts(folder / "texts.jsonl", texts)
    reference = Reference(model)
    answers = [reference.answer(text) for text in read_texts(folder / "texts.jsonl")]
    offsets, ids = ragged(answer.ids for answer in answers)
    chosen = chosen_for_states([len(answer.ids) for answer in answers], tokens, step)
    tensors = {
        "offsets": offsets,
        "ids": ids,
        "cut": np.array([answer.cut for answer in answers], dtype=np.uint32),
        "embeddings": np.stack([answer.embedding for answer in answers]).astype(np.float32),
        "states_texts": np.array(chosen, dtype=np.uint32),
        "states": np.concatenate([answers[index].states for index in chosen]).astype(np.float32),
    }
    about = {
        "texts_sha256": sha256_of(folder / "texts.jsonl"),
        "weights_sha256": sha256_of(model / "model.safetensors"),
        "precision": "float64, cast to float32",
    }
    save_golden(folder / "golden.safetensors", tensors, about)


def make_minilm(out: pathlib.Path) -> None:
    from minilm_texts import records

    make_real(out / "minilm", MODEL, records(), tokens=520, step=11)


def make_mpnet(out: pathlib.Path) -> None:
    from minilm_texts import records
    from reference import text_of

    # A third of the texts, the long ones of them but one left out, and few states: its rows have 768 columns.
    texts = records()[2::3]
    long = [record for record in texts if len(text_of(record)) > 200]
    longest = max(long, key=lambda record: len(text_of(record).split()))
    chosen = [record for record in texts if record not in long or record is longest]
    make_real(out / "mpnet", MPNET, chosen, tokens=72, step=7)


def make_codepoints(out: pathlib.Path) -> None:
    from codepoints import make

    (out / "minilm").mkdir(parents=True, exist_ok=True)
    make(MODEL / "tokenizer.json", out / "minilm" / "codepoints.json")


def pooled(case: dict[str, Any], states: list[np.ndarray]) -> np.ndarray:
    """What sentence-transformers makes of states with a case's 1_Pooling/config.json."""
    import torch
    from sentence_transformers.models import Normalize, Pooling

    with tempfile.TemporaryDirectory() as scratch:
        pathlib.Path(scratch, "config.json").write_text(json.dumps(case["config"]), encoding="utf-8")
        modules = [Pooling.load(scratch), *([Normalize()] if case["normalize"] else [])]
    rows = []
    for text in states:
        tokens = torch.from_numpy(text)[None]
        features: dict[str, Any] = {
            "token_embeddings": tokens,
            "attention_mask": torch.ones(tokens.shape[:2], dtype=torch.int64),
        }
        for module in modules:
            features = module(features)
        rows.append(features["sentence_embedding"][0].numpy())
    return np.stack(rows)


def make_tiny(out: pathlib.Path) -> None:
    import tiny
    from reference import Reference, ragged, save_golden, sha256_of

    for checkpoint in tiny.CHECKPOINTS:
        folder = out / checkpoint.name
        tiny.write_checkpoint(folder, checkpoint)
        write_texts(folder / "texts.jsonl", [{"text": text} for text in tiny.TEXTS])
        reference = Reference(folder)
        answers = [reference.answer(text) for text in tiny.TEXTS]
        states = [answer.states for answer in answers]
        offsets, ids = ragged(answer.ids for answer in answers)
        tensors = {
            "offsets": offsets,
            "ids": ids,
            "cut": np.array([answer.cut for answer in answers], dtype=np.uint32),
            "states": np.concatenate(states),
            "embeddings": np.stack([answer.embedding for answer in answers]),
        }
        cases = tiny.pooling_cases(checkpoint.hidden, few=checkpoint is not tiny.UNCASED)
        tensors |= {f"embeddings.{case['case']}": pooled(case, states) for case in cases}
        tensors = {
            name: tensor.astype(np.float32) if tensor.dtype == np.float64 else tensor
            for name, tensor in tensors.items()
        }
        lines = ",\n".join("  " + json.dumps(case) for case in cases)
        (folder / "poolings.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        lowered(checkpoint, folder, tensors)
        about = {
            "texts_sha256": sha256_of(folder / "texts.jsonl"),
            "weights_sha256": sha256_of(folder / "model.safetensors"),
            "precision": "float64, cast to float32",
            "spread": round(spread(tensors["embeddings"]), 3),
        }
        save_golden(folder / "golden.safetensors", tensors, about)


def lowered(checkpoint: Any, folder: pathlib.Path, tensors: dict[str, np.ndarray]) -> None:
    """Adds the ids under `"do_lower_case": true` in sentence_bert_config.json, for the cased checkpoint."""
    import tiny
    from reference import Reference, ragged

    if checkpoint.lowercase:
        return
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch, "model")
        shutil.copytree(folder, copy)
        limits = {"max_seq_length": checkpoint.max_seq_length, "do_lower_case": True}
        tiny.write_json(copy / "sentence_bert_config.json", limits)
        reference = Reference(copy, expect_same_ids=False)
        offsets, ids = ragged(reference.answer(text).ids for text in tiny.TEXTS)
    tensors |= {"offsets.do_lower_case": offsets, "ids.do_lower_case": ids}


def spread(embeddings: np.ndarray) -> float:
    """1 - the mean cosine between different texts: near 0 a checkpoint tells nothing apart."""
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    cosines = unit @ unit.T
    return float(1 - (cosines.sum() - len(unit)) / (len(unit) * (len(unit) - 1)))


def make_wordpiece(out: pathlib.Path) -> None:
    from wordpiece import write_goldens

    write_goldens(out / "wordpiece", write_texts)


def make_families(out: pathlib.Path) -> None:
    from families import make_families as make

    make(out)


def make_scalars(out: pathlib.Path) -> None:
    from scalars import make

    make(out)


def make_attended(out: pathlib.Path) -> None:
    from attended import make

    make(out)


def make_heads(out: pathlib.Path) -> None:
    from heads import make

    make(out)


def make_outputs(out: pathlib.Path) -> None:
    from outputs import HEADS, make

    make(out / "outputs", [*HEADS, "conversions"])


PARTS = {
    "minilm": make_minilm,
    "mpnet": make_mpnet,
    "codepoints": make_codepoints,
    "tiny": make_tiny,
    "wordpiece": make_wordpiece,
    "families": make_families,
    "scalars": make_scalars,
    "attended": make_attended,
    "heads": make_heads,
    "outputs": make_outputs,
}


def difference(made: pathlib.Path, kept: pathlib.Path) -> str:
    """What is different, or nothing."""
    if not kept.exists():
        return "missing"
    if made.suffix != ".safetensors":
        return "" if made.read_bytes() == kept.read_bytes() else "different text"
    new, old = load_file(made), load_file(kept)
    if new.keys() != old.keys():
        return f"different tensors: {sorted(new.keys() ^ old.keys())}"
    for name, tensor in new.items():
        if tensor.shape != old[name].shape or tensor.dtype != old[name].dtype:
            return f"{name}: different shape or type"
        if not np.allclose(tensor, old[name], rtol=0, atol=1e-6 if tensor.dtype == np.float32 else 0, equal_nan=True):
            return f"{name}: different values"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all if none is named")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "tests" / "data", help="default: tests/data")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args()
    if unknown := sorted(set(options.parts) - set(PARTS)):
        parser.error(f"unknown part {', '.join(unknown)}; known are: {', '.join(PARTS)}")
    parts = options.parts or list(PARTS)
    for model, needed in ((MODEL, {"minilm", "codepoints"}), (MPNET, {"mpnet"})):
        if not model.is_dir() and needed & set(parts):
            parser.error(f"a model is missing; run tools/fetch_model.py {model.name}")

    with tempfile.TemporaryDirectory() as scratch:
        target = pathlib.Path(scratch) if options.check else options.out
        for part in parts:
            print(f"{part} …", file=sys.stderr, flush=True)
            PARTS[part](target)
        if not options.check:
            return 0
        wrong = 0
        for path in sorted(path for path in target.rglob("*") if path.is_file()):
            relative = path.relative_to(target)
            if what := difference(path, options.out / relative):
                wrong += 1
                print(f"{relative}: {what}")
        print(f"{wrong} files differ" if wrong else "all files agree")
        return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
