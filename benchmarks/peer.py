#!/usr/bin/env python3
"""One peer of the benchmark as a process: reads commands, answers one line each. Started by compare.py.

    peer.py ENGINE MODEL_FOLDER EXPORT_FOLDER THREADS TEXTS_FILE BATCH

    run            encodes all texts, from strings to unit vectors        -> seconds tokens
    engine         the same from ready batches of ids, pooling included   -> seconds tokens, or - where there is none
    unsorted       `run` with the texts in the order given                -> seconds tokens, or -
    query INDEX    encodes that text alone, from the string               -> seconds tokens
    tokenise       all texts to ids                                       -> seconds tokens
    vectors PATH   writes f32 [texts, dimensions], in the order given     -> ok
    rss            resident bytes of the process                          -> bytes
    version        name and version                                       -> text
    quit

Texts are sorted by length in batches, since these engines pad. TEXTS_FILE holds a text a line. compare.py pins the
process and sets the environment's thread counts.
"""

import os
import pathlib
import sys
import time
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

LIMIT = 256  # tokens, as sentence_bert_config.json has it


class Batch(NamedTuple):
    rows: list[int]  # which texts
    ids: np.ndarray  # [texts, longest] int64
    mask: np.ndarray  # the same shape
    lists: list[list[int]]  # the same ids, not padded


class States:
    """Tokenising with `tokenizers`, mean pooling and normalising around an engine that answers states."""

    def __init__(self, model_folder: pathlib.Path, threads: int, batch: int) -> None:
        import tokenizers

        os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
        os.environ["RAYON_NUM_THREADS"] = str(threads)
        self.batch = batch
        self.tokenizer = tokenizers.Tokenizer.from_file(str(model_folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LIMIT)

    def states(self, batch: Batch) -> np.ndarray:
        raise NotImplementedError

    def tokenise(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts)]

    def batches(self, lists: list[list[int]], is_sorted: bool) -> list[Batch]:
        order = sorted(range(len(lists)), key=lambda row: -len(lists[row])) if is_sorted else list(range(len(lists)))
        made = []
        for first in range(0, len(order), self.batch):
            rows = order[first : first + self.batch]
            ids = np.zeros((len(rows), max(len(lists[row]) for row in rows)), dtype=np.int64)
            mask = np.zeros_like(ids)
            for place, row in enumerate(rows):
                ids[place, : len(lists[row])] = lists[row]
                mask[place, : len(lists[row])] = 1
            made.append(Batch(rows, ids, mask, [lists[row] for row in rows]))
        return made

    def vectors(self, batches: list[Batch]) -> np.ndarray:
        parts, rows = [], []
        for batch in batches:
            states, mask = self.states(batch), batch.mask.astype(np.float32)
            sums = np.matmul(mask[:, None, :], states)[:, 0]
            means = sums / mask.sum(axis=1, keepdims=True)
            parts.append(means / np.linalg.norm(means, axis=1, keepdims=True))
            rows += batch.rows
        result = np.empty((len(rows), parts[0].shape[1]), dtype=np.float32)
        result[rows] = np.concatenate(parts)
        return result

    def encode(self, texts: list[str], is_sorted: bool = True) -> np.ndarray:
        return self.vectors(self.batches(self.tokenise(texts), is_sorted))


class Onnx(States):
    file = "plain.onnx"

    def __init__(self, model_folder: pathlib.Path, exports: pathlib.Path, threads: int, batch: int) -> None:
        import onnxruntime

        super().__init__(model_folder, threads, batch)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self.session = onnxruntime.InferenceSession(
            str(exports / self.file), options, providers=["CPUExecutionProvider"]
        )
        self.version = f"onnxruntime {onnxruntime.__version__}"

    def states(self, batch: Batch) -> np.ndarray:
        return self.session.run(None, {"input_ids": batch.ids, "attention_mask": batch.mask})[0]


class FusedOnnx(Onnx):
    file = "fused.onnx"


class OpenVino(States):
    def __init__(self, model_folder: pathlib.Path, exports: pathlib.Path, threads: int, batch: int) -> None:
        import openvino

        super().__init__(model_folder, threads, batch)
        hints = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        core = openvino.Core()
        self.model = core.compile_model(core.read_model(str(exports / "plain.onnx")), "CPU", hints)
        self.version = f"openvino {openvino.__version__.partition('-')[0]}"

    def states(self, batch: Batch) -> np.ndarray:
        return self.model([batch.ids, batch.mask])[0]


class CTranslate2(States):
    def __init__(self, model_folder: pathlib.Path, exports: pathlib.Path, threads: int, batch: int) -> None:
        import ctranslate2

        super().__init__(model_folder, threads, batch)
        self.encoder = ctranslate2.Encoder(
            str(exports / "ctranslate2"), device="cpu", intra_threads=threads, inter_threads=1, compute_type="float32"
        )
        self.version = f"ctranslate2 {ctranslate2.__version__}"

    def states(self, batch: Batch) -> np.ndarray:
        return np.asarray(self.encoder.forward_batch(batch.lists).last_hidden_state)


class SentenceTransformers:
    """torch through sentence-transformers, which tokenises, sorts and pads itself."""

    def __init__(self, model_folder: pathlib.Path, exports: pathlib.Path, threads: int, batch: int) -> None:
        import sentence_transformers
        import torch

        torch.set_num_threads(threads)
        self.batch = batch
        self.model = sentence_transformers.SentenceTransformer(
            str(model_folder), device="cpu", model_kwargs={"dtype": torch.float32}
        )
        torch_version = torch.__version__.partition("+")[0]
        self.version = f"sentence-transformers {sentence_transformers.__version__}, torch {torch_version}"

    def tokenise(self, texts: list[str]) -> list[list[int]]:
        return self.model.tokenizer(texts, truncation=True, max_length=LIMIT)["input_ids"]

    def encode(self, texts: list[str]) -> np.ndarray:
        return self.model.encode(texts, batch_size=self.batch, show_progress_bar=False)


ENGINES: dict[str, Any] = {
    "onnxruntime": Onnx,
    "onnxruntime-fused": FusedOnnx,
    "openvino": OpenVino,
    "ctranslate2": CTranslate2,
    "torch": SentenceTransformers,
}


def timed(work: Callable[[], Any], tokens: int) -> str:
    start = time.perf_counter()
    work()
    return f"{time.perf_counter() - start:.9f} {tokens}"


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    if len(sys.argv) != 7 or sys.argv[1] not in ENGINES:
        print(__doc__, file=sys.stderr)
        return 2
    name, model_folder, exports, threads, texts_file, batch = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints must not be taken for an answer
    texts = pathlib.Path(texts_file).read_text(encoding="utf-8").split("\n")[:-1]
    engine = ENGINES[name](pathlib.Path(model_folder), pathlib.Path(exports), int(threads), int(batch))
    counts: Optional[list[int]] = None
    ready: Optional[list[Batch]] = None
    print("ready", file=answers)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command == "query":
            text = texts[int(argument)]
            print(timed(lambda: engine.encode([text]), 0), file=answers)
            continue
        if command in ("run", "engine", "unsorted", "tokenise") and counts is None:
            counts = [len(ids) for ids in engine.tokenise(texts)]
        total = sum(counts or [])
        if command == "run":
            print(timed(lambda: engine.encode(texts), total), file=answers)
        elif command == "engine" and isinstance(engine, States):
            ready = ready or engine.batches(engine.tokenise(texts), True)
            print(timed(lambda: engine.vectors(ready), total), file=answers)
        elif command == "unsorted" and isinstance(engine, States):
            print(timed(lambda: engine.encode(texts, False), total), file=answers)
        elif command in ("engine", "unsorted"):
            print("-", file=answers)
        elif command == "tokenise":
            print(timed(lambda: engine.tokenise(texts), total), file=answers)
        elif command == "vectors":
            np.ascontiguousarray(engine.encode(texts), dtype="<f4").tofile(argument)
            print("ok", file=answers)
        elif command == "rss":
            print(resident_bytes(), file=answers)
        elif command == "version":
            print(engine.version, file=answers)
        elif command == "quit":
            break
    return 0


if __name__ == "__main__":
    sys.exit(main())
