"""What NumPy, PyTorch and ml_dtypes make of floats that are stored narrowly: halves, bfloat16, bytes and bits.

    scalars.py [OUT]          writes OUT/scalars/golden.safetensors; OUT is tests/data if it is left out
"""

import hashlib
import itertools
import math
import pathlib
import sys

import ml_dtypes
import numpy as np
import torch
from reference import save_golden

# The lower 16 bits of the floats that are narrowed, each below all 2^16 upper ones: the ties of both formats, and what
# lies beside them.
LOWER = [0x0000, 0x0001, 0x0FFF, 0x1000, 0x1001, 0x1FFF, 0x2FFF, 0x3000, 0x3001, 0x5555, 0x7FFF, 0x8000, 0x8001]
LOWER += [0x9000, 0xAAAA, 0xB000, 0xD000, 0xE001, 0xF000, 0xFFFF]


def narrowed() -> np.ndarray:
    """For every upper half and each of `LOWER`, but for NaN: the half, and above it the bfloat16."""
    upper = np.arange(65536, dtype=np.uint32)[:, None] << 16
    floats = (upper | np.array(LOWER, dtype=np.uint32)).reshape(-1).view(np.float32)
    floats = floats[~np.isnan(floats)]
    with np.errstate(over="ignore"):
        halves = floats.astype(np.float16).view(np.uint16)
    brains = torch.from_numpy(floats).to(torch.bfloat16).view(torch.int16).numpy().view(np.uint16)
    assert np.array_equal(halves, torch.from_numpy(floats).to(torch.float16).view(torch.int16).numpy().view(np.uint16))
    assert np.array_equal(brains, floats.astype(ml_dtypes.bfloat16).view(np.uint16))
    return halves.astype(np.uint32) | brains.astype(np.uint32) << 16


def rows() -> list[np.ndarray]:
    """Rows of all kinds of lengths; zeros, one value, signs, ties, subnormals, and the largest floats."""
    stream = np.random.RandomState(11)
    lengths = [1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 63, 64, 65, 72, 100, 127, 128, 129, 200]
    made = [stream.standard_normal(length) * scale for length, scale in zip(lengths, itertools.cycle([1, 0.01, 30]))]
    for length in (5, 8, 64, 70):  # values that are often zero, of either sign
        made.append(np.where(stream.rand(length) < 0.6, np.copysign(0.0, stream.standard_normal(length)), -0.5))
    made += [np.zeros(1), np.zeros(9), -np.zeros(64), np.array([-0.0, 0.0, -0.0])]
    made += [np.array([value]) for value in (1.0, -3.0, 1e-45, -1e-45, 3.4e38, 1e-13, -1e-30)]
    # Quotients of 63.5, 62.5, 61.5 and 60.5, which go to 64, 62, 62 and 60.
    # In some of them 127 / length, rounded, would lead to a product beside the tie.
    made += [np.full(4, 0.1), np.array([0.7, -0.7, 0.7, -0.7]), np.full(4, 0.011), np.full(4, -0.027)]
    made += [tie(value) for value in (125, -125, 123, 121)] + [75 * tie(125), -91 * tie(125)]
    made += [np.full(40, 3e38), np.full(65, -1e-40), np.array([1.0, 1e-3, -1e-3, 2**-8, -(2**-8)])]
    return [row.astype(np.float32) for row in made]


def tie(value: int) -> np.ndarray:
    """`value` and integers that make the row's length 254."""
    rest = 254 * 254 - value * value
    for a in range(math.isqrt(rest), -1, -1):
        for b in range(math.isqrt(rest - a * a), -1, -1):
            c = math.isqrt(rest - a * a - b * b)
            if a * a + b * b + c * c == rest:
                return np.array([value, a, b, c])
    raise ValueError(value)


def bytes_of(row: np.ndarray) -> np.ndarray:
    """127 × the row of unit length as int8, in float64."""
    wide = row.astype(np.float64)
    length = max(math.sqrt(math.fsum(wide * wide)), 1e-12)
    return np.clip(np.rint(127 * wide / length), -127, 127).astype(np.int8)


def make(out: pathlib.Path) -> None:
    folder = out / "scalars"
    folder.mkdir(parents=True, exist_ok=True)
    made = rows()
    special = [*made, np.array([np.nan, 1, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1.0, np.nan], dtype=np.float32)]
    digest = hashlib.sha256(narrowed().astype("<u4").tobytes()).digest()
    tensors = {
        "lower": np.array(LOWER, dtype=np.uint32),
        "narrowed": np.frombuffer(digest, dtype=np.uint8),
        "offsets": np.cumsum([0, *(len(row) for row in special)]).astype(np.uint32),
        "rows": np.concatenate(special),
        "i8": np.concatenate([bytes_of(row) for row in made]),  # the last row has none
        "b1": np.concatenate([np.packbits(row > 0) for row in special]),
    }
    about = {"numpy": np.__version__, "ml_dtypes": ml_dtypes.__version__}
    save_golden(folder / "golden.safetensors", tensors, about)


if __name__ == "__main__":
    make(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2] / "tests" / "data")
