"""Asks the reference: one text at a time, in float64 and one thread, so that neither padding nor order touch an answer.

The reference is `sentence-transformers` on a checkpoint folder; for ids `tokenizers` on the folder's `tokenizer.json`
is asked as well, and a text on which the two disagree is an error, not a golden.
"""

import hashlib
import json
import os
import pathlib
from typing import Any, Iterable, NamedTuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # folders only
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np  # noqa: E402  (the environment comes first)
import sentence_transformers  # noqa: E402
import tokenizers  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.set_grad_enabled(False)
torch.set_num_threads(1)


class Answer(NamedTuple):
    """What the reference says of one text."""

    ids: np.ndarray  # [tokens], special tokens included
    cut: int  # tokens that truncation took away
    states: np.ndarray  # [tokens, hidden], float64
    embedding: np.ndarray  # [dimensions], float64


class Reference:
    """A checkpoint folder, read by sentence-transformers and widened to float64."""

    def __init__(self, folder: pathlib.Path, expect_same_ids: bool = True) -> None:
        # The dtype is named, since transformers 5 otherwise computes in the dtype that the file is stored in.
        self.model = sentence_transformers.SentenceTransformer(
            str(folder), device="cpu", model_kwargs={"dtype": torch.float32}
        )
        self.model = self.model.double().eval()
        self.expect_same_ids = expect_same_ids
        self.tokenizer = load_tokenizer(folder / "tokenizer.json")

    def agreed(self, text: str, ids: np.ndarray) -> int:
        """How many tokens truncation took from ids that transformers gave; `tokenizers` must say the same."""
        whole = self.tokenizer.encode(text).ids
        if self.expect_same_ids and (ids[:-1].tolist() != whole[: len(ids) - 1] or ids[-1] != whole[-1]):
            raise SystemExit(f"tokenizers and transformers disagree on {text!r}:\n{whole}\n{ids.tolist()}")
        return len(whole) - len(ids)

    def ids(self, text: str) -> np.ndarray:
        ids = self.model.preprocess([text])["input_ids"][0].numpy()
        self.agreed(text, ids)
        return ids.astype(np.uint32)

    def answer(self, text: str) -> Answer:
        row = self.model.encode([text], output_value=None, batch_size=1)[0]
        ids = row["input_ids"].numpy()
        cut = self.agreed(text, ids)
        states, embedding = row["token_embeddings"].numpy(), row["sentence_embedding"].numpy()
        assert states.dtype == embedding.dtype == np.float64
        return Answer(ids.astype(np.uint32), cut, states, embedding)


def load_tokenizer(path: pathlib.Path) -> tokenizers.Tokenizer:
    """A tokenizer.json without its own truncation and padding."""
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def text_of(record: dict[str, str]) -> str:
    """The text of a record {"text": …}, or of {"hex": …}: bytes whose ill-formed parts count as U+FFFD each."""
    return record["text"] if "text" in record else bytes.fromhex(record["hex"]).decode("utf-8", "replace")


def read_texts(path: pathlib.Path) -> list[str]:
    """The texts of a .jsonl file, a record a line."""
    return [text_of(json.loads(line)) for line in path.read_text(encoding="utf-8").split("\n") if line]


def ragged(lists: Iterable[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Lists of ids end to end: offsets u32 [lists + 1], and the ids u32."""
    arrays = [np.asarray(ids, dtype=np.uint32) for ids in lists]
    offsets = np.cumsum([0, *(len(ids) for ids in arrays)]).astype(np.uint32)
    return offsets, np.concatenate(arrays)


def sha256_of(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def versions() -> list[str]:
    libraries = (sentence_transformers, tokenizers, torch, transformers)
    return [f"{library.__name__}=={library.__version__.partition('+')[0]}" for library in libraries]


def save_golden(path: pathlib.Path, tensors: dict[str, np.ndarray], about: dict[str, Any]) -> None:
    """Writes a golden file. Its metadata has one key, since several would be written in a random order."""
    tensors = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    save_file(tensors, path, {"about": json.dumps({**about, "versions": versions()})})
    path.chmod(0o644)  # safetensors writes for the owner only
