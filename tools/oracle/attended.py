"""The states of texts of which only the first tokens are attended to, with segments, from the tiny checkpoints.

    attended.py [OUT]         writes OUT/attended/golden.safetensors; OUT is tests/data if it is left out

A query that is filled up with [MASK] has such states: the reference's attention mask is 0 where a token isn't looked
at, and every token has a state all the same.
"""

import pathlib
import sys

import numpy as np
import reference  # noqa: F401  (sets the environment)
import torch
import transformers
from reference import ragged, save_golden

DATA = pathlib.Path(__file__).parents[2] / "tests" / "data"
# A checkpoint, whether it has two segments, and (tokens, attended) of each text. ModernBERT's layers that see 5 places
# to each side have queries from 17 on that see nothing at all, in its third text.
CASES = {
    "tiny": (True, [(1, 1), (6, 2), (17, 17), (33, 1), (40, 32)]),
    "families/roberta": (False, [(5, 5), (33, 7)]),
    "families/distilbert": (False, [(32, 9), (3, 1)]),
    "families/mpnet": (False, [(4, 3), (70, 40)]),
    "families/modernbert": (False, [(3, 2), (10, 5), (40, 12), (64, 50)]),
    "families/nomic-bert": (True, [(7, 6), (32, 20)]),
}


def answer(folder: pathlib.Path, ids: np.ndarray, segments: np.ndarray, attended: np.ndarray, texts: int) -> np.ndarray:
    """States of some texts of the same length, in float64."""
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).double().eval()
    tokens = torch.from_numpy(ids.astype(np.int64)).reshape(texts, -1)
    mask = torch.arange(tokens.shape[1])[None] < torch.from_numpy(attended.astype(np.int64))[:, None]
    more = {}
    if segments.any():
        more["token_type_ids"] = torch.from_numpy(segments.astype(np.int64)).reshape(texts, -1)
    return model(input_ids=tokens, attention_mask=mask.long(), **more).last_hidden_state.numpy()


def make(out: pathlib.Path) -> None:
    folder = out / "attended"
    folder.mkdir(parents=True, exist_ok=True)
    tensors: dict[str, np.ndarray] = {}
    for name, (has_segments, lengths) in CASES.items():
        stream = np.random.RandomState(len(name))
        texts = [stream.randint(5, 60, tokens) for tokens, _ in lengths]  # ids of no special token
        segments = [(np.arange(len(text)) > len(text) // 3) * has_segments for text in texts]
        states = [
            answer(DATA / name, text, of_text, np.array([seen]), 1)[0]
            for text, of_text, (_, seen) in zip(texts, segments, lengths)
        ]
        key = name.removeprefix("families/")
        tensors[f"{key}.offsets"], tensors[f"{key}.ids"] = ragged(texts)
        tensors[f"{key}.segments"] = np.concatenate(segments).astype(np.uint8)
        tensors[f"{key}.attended"] = np.array([seen for _, seen in lengths], dtype=np.uint32)
        tensors[f"{key}.states"] = np.concatenate(states).astype(np.float32)
    save_golden(folder / "golden.safetensors", tensors, {"precision": "float64, cast to float32"})


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
