#!/usr/bin/env python3
"""Makes tests/conformance/cases.json and cases.txt: what every language's binding must answer, by the reference.

    conformance.py             writes both
    conformance.py --check     fails where what is committed isn't what this makes

Needs nothing but Python. What is expected of values comes from the goldens in tests/data, which the reference made; what
is expected of statuses and arenas is the contract of docs/arena.md. `cases.json` is for readers and for languages that
parse it; `cases.txt` has the same cases in lines, for those that don't.

cases.txt: words parted by one blank, a case from `case` to `end`. Bytes are hexadecimal, `-` where there are none.

    case ID
    model FOLDER              below tests/data
    scenario NAME             one of the scenarios below; absent: one call
    verb encode | classify | classify_pairs | rerank
    outputs N                 of `encode`; the numbers are those of the interface
    scalar N
    texts COUNT BYTES...      the tape; of pairs the first texts
    second COUNT BYTES...     of pairs the second ones
    tape BYTES OFFSET...      in the place of `texts`: the bytes, and the offsets as they are
    executor THREADS          absent: on the calling thread
    deferred                  through a deferred call
    option NAME VALUE         truncate, normalize, role, activation, dimensions, tokens_per_call: a number; prompt: bytes
    status N                  what the call answers; what follows stands only where that is 0
    shape OUTPUT ROWS COLUMNS
    offsets OUTPUT N...       [texts + 1]
    truncated N...            [texts]
    token_ids N...
    ids OUTPUT N...           values that are `u32`
    sum OUTPUT VALUE TOLERANCE
    check NAME N              of a scenario: the status, or number, at that point
    end

OUTPUT is a field of the result: embeddings, probabilities, states, token_vectors, token_probabilities, sparse_ids,
sparse_weights. Its sum is taken over all values v[i] in their order, row by row, as v[i] * (1 + i % 7), in double; of
`b1` a value is a bit, 0 or 1, the first column in the most significant bit, and those that fill up a byte are left out.

The scenarios take the case's model and texts, f32 embeddings, and no executor unless one is named. `first` and `second`
in `sum` are the embeddings of text 0 alone and of text 1 alone.

    stale        Text 0 into an arena, then text 1. `read_first` is the status of reading the first result's embeddings
                 then, `read_second` that of the second's, which has the sum `second`.
    freed        Text 0 into an arena, which is freed: `read` is that of its embeddings. Then text 1 into a new arena:
                 `read_again` is that of the old result, `read_new` of the new one, with the sum `second`.
    busy         Text 0 through a deferred call on an executor of one thread: `submit`. Before it is waited for, text 1
                 into the same arena: `call`, and through a deferred call: `call_deferred`. Then `wait`, with its pin, and
                 `read` with the sum `first`; text 1 again while the pin lives: `call_pinned`, and after it: `call_after`,
                 with the sum `second`.
    dropped      All texts through a deferred call, whose arena is freed at once: `submit`, `wait`, and `read`, which is
                 refused, as the arena has gone. A new arena then serves text 0: `call`, with the sum `first`.
    each_own     Each text through a deferred call with an arena of its own, all submitted before the first wait: `wait`
                 is the largest status, `sum_I` (a `sum` with that OUTPUT) that of text I.
    description  An arena without an executor: `residency`, `device` (-1: none); one of an executor of two threads:
                 `executor_residency`, `executor_device`.
    device       An executor of device 0: `executor` is 5 where there is no device, and then a message says why, else 0.
                 `read_device` is the status of reading rows of device memory on the host, where the language can form
                 such a view. With a device: `describe_residency`, `describe_device` of its arena, `call_host` of a call
                 on the host into that arena, `call_device` of one on the device, `call_mixed` of one on the device into
                 host pages.
    limit        Text 0 into an arena, whose limit is then set to 8 bytes: `call` is that of text 1, `read` of the old
                 result, with the sum `first`; without the limit: `call_after`, with the sum `second`.
    pinned       Text 0 into an arena, and a pin: `pin`. `call` is that of text 1, `read` of the old result, with the sum
                 `first`; after the pin: `call_after`, with the sum `second`; a pin of the old result then: `pin_stale`.
    cancelled    Text 0 into an arena; `call` is that of text 1 with a flag that is set, `read` of the old result, with
                 the sum `first`; with the flag taken back: `call_after`, with the sum `second`.
    own_input    Text 0 into an arena, then a call on it whose tape is the bytes of its own rows: `call`; `read` of the
                 old result, with the sum `first`.
    taken        Text 0 through a deferred call: `wait`, and `wait_again`.
"""

import argparse
import array
import json
import math
import pathlib
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests" / "data"
FOLDER = ROOT / "tests" / "conformance"

SUCCESS, INVALID, DEVICE, CONTENDED, OUT_OF_MEMORY, UNSUPPORTED, CORRUPT, IO, CANCELLED = range(9)
F32, F16, BF16, I8, B1, U8, U32, U64 = range(8)
EMBEDDINGS, STATES, TOKEN_VECTORS, PROBABILITIES, SPARSE = 1, 2, 4, 8, 16
RAGGED = ("states", "token_vectors", "token_probabilities", "sparse_ids", "sparse_weights")


class Golden:
    """The tensors of a safetensors file, as flat lists with their shapes."""

    FORMATS = {"F32": "f", "U32": "I", "U16": "H", "U8": "B", "I8": "b"}

    def __init__(self, name: str) -> None:
        content = (DATA / name / "golden.safetensors").read_bytes()
        (size,) = struct.unpack_from("<Q", content)
        self.header = json.loads(content[8 : 8 + size])
        self.data = content[8 + size :]

    def shape(self, name: str) -> list[int]:
        return self.header[name]["shape"]

    def read(self, name: str) -> list:
        entry = self.header[name]
        first, last = entry["data_offsets"]
        values = array.array(self.FORMATS[entry["dtype"]], self.data[first:last])
        if sys.byteorder == "big":
            values.byteswap()
        return values.tolist()

    def rows(self, name: str) -> list[list]:
        values, width = self.read(name), self.shape(name)[-1]
        return [values[i : i + width] for i in range(0, len(values), width)]


def texts_of(path: str, key: str = "text") -> list[bytes]:
    lines = (DATA / path).read_text(encoding="utf-8").splitlines()
    items = [json.loads(line) for line in lines if line]
    return [bytes.fromhex(item["hex"]) if key == "text" and "hex" in item else item[key].encode() for item in items]


def weighted(values: list[float]) -> float:
    return math.fsum(value * (1 + i % 7) for i, value in enumerate(values))


def sum_of(values: list[float]) -> dict:
    """A sum of floats, and how far the library may be from it: a millionth of the largest value in each, at random."""
    largest = max((abs(value) for value in values), default=0.0)
    return {"value": weighted(values), "tolerance": 20e-6 * max(largest, 1e-3) * math.sqrt(max(len(values), 1))}


def ragged(rows: list[list], offsets: list[int], texts: list[int]) -> tuple[list[int], list[list]]:
    """The rows of some texts, and their offsets from 0."""
    picked, starts = [], [0]
    for text in texts:
        picked += rows[offsets[text] : offsets[text + 1]]
        starts.append(len(picked))
    return starts, picked


def flat(rows: list[list]) -> list:
    return [value for row in rows for value in row]


def expect_rows(expected: dict, output: str, rows: list[list], columns: int, offsets: list[int] | None = None) -> None:
    expected.setdefault("shape", {})[output] = [len(rows), columns]
    expected.setdefault("sum", {})[output] = sum_of(flat(rows))
    if offsets is not None:
        expected.setdefault("offsets", {})[output] = offsets


def hexes(texts: list[bytes]) -> list[str]:
    return [text.hex() for text in texts]


def half(bits: int) -> float:
    return struct.unpack("<e", struct.pack("<H", bits))[0]


def brain(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def tiny_cases() -> list[dict]:
    cases = []
    for name, picked in (("tiny", [2, 3, 9, 33]), ("tiny-cased", [2, 0, 7, 30])):
        golden, texts = Golden(name), texts_of(f"{name}/texts.jsonl")
        offsets, ids, cut = (golden.read(key) for key in ("offsets", "ids", "cut"))
        embeddings, states = golden.rows("embeddings"), golden.rows("states")
        columns = golden.shape("embeddings")[1]

        def call(outputs: int) -> dict:
            expected: dict = {"status": SUCCESS}
            if outputs & EMBEDDINGS:
                expect_rows(expected, "embeddings", [embeddings[text] for text in picked], columns)
            if outputs & STATES:
                starts, rows = ragged(states, offsets, picked)
                expect_rows(expected, "states", rows, columns, starts)
                expected["token_ids"] = [one for text in picked for one in ids[offsets[text] : offsets[text + 1]]]
            expected["truncated"] = [cut[text] for text in picked]
            return {"model": name, "verb": "encode", "outputs": outputs, "scalar": F32, "texts": hexes([texts[text] for text in picked]), "expect": expected}

        cases += [
            {"id": f"{name}-embeddings", **call(EMBEDDINGS)},
            {"id": f"{name}-states", **call(STATES)},
            {"id": f"{name}-both", **call(EMBEDDINGS | STATES)},
            {"id": f"{name}-threads", **call(EMBEDDINGS | STATES), "executor": 2},
            {"id": f"{name}-deferred", **call(EMBEDDINGS | STATES), "executor": 1, "deferred": True},
            {"id": f"{name}-in-parts", **call(EMBEDDINGS | STATES), "options": {"tokens_per_call": 64}},
        ]
    long = next(text for text, cut in zip(texts_of("tiny/texts.jsonl"), Golden("tiny").read("cut")) if cut)
    plain = {"model": "tiny", "verb": "encode", "outputs": EMBEDDINGS, "scalar": F32}
    some = hexes(texts_of("tiny/texts.jsonl")[1:4])
    refused = lambda status, **more: {**plain, "texts": some, **more, "expect": {"status": status}}
    cases += [
        {"id": "no-texts", **plain, "texts": [], "expect": {"status": SUCCESS, "shape": {"embeddings": [0, 48]}, "truncated": []}},
        {"id": "refuse-no-output", **refused(INVALID, outputs=0)},
        {"id": "refuse-unknown-output", **refused(INVALID, outputs=64)},
        {"id": "refuse-output-of-other-models", **refused(UNSUPPORTED, outputs=TOKEN_VECTORS)},
        {"id": "refuse-scalar-that-no-verb-writes", **refused(UNSUPPORTED, scalar=U32)},
        {"id": "refuse-long-text", **refused(INVALID, texts=hexes([long]), options={"truncate": 1})},
        {"id": "refuse-dimensions", **refused(INVALID, options={"dimensions": 49})},
        {"id": "refuse-dimensions-of-states", **refused(INVALID, outputs=STATES, options={"dimensions": 8})},
        {"id": "refuse-tokens-per-call", **refused(INVALID, options={"tokens_per_call": 1})},
        {"id": "refuse-prompt", **refused(INVALID, options={"prompt": b"nothing".hex()})},
        {"id": "refuse-classifying", **refused(UNSUPPORTED, verb="classify")},
        {"id": "refuse-reranking", **refused(UNSUPPORTED, verb="rerank", second=some)},
        {"id": "refuse-falling-offsets", **refused(INVALID), "texts": None, "tape": {"bytes": b"abcdef".hex(), "offsets": [0, 4, 2]}},
        {"id": "refuse-offsets-past-the-end", **refused(INVALID), "texts": None, "tape": {"bytes": b"abcdef".hex(), "offsets": [0, 4, 7]}},
        {"id": "refuse-missing-folder", **refused(IO, model="no-such-folder")},
        {"id": "refuse-tokenizer-alone", **refused(IO, model="text/roberta")},
    ]
    return cases


def scalar_cases() -> list[dict]:
    golden, cases = Golden("outputs/conversions"), []
    for name in ("tiny", "tiny-cased"):
        texts = texts_of(f"{name}/texts.jsonl")[::2]
        for scalar, key, decode, step in ((F16, "f16", half, 2.0**-11), (BF16, "bf16", brain, 2.0**-8), (I8, "i8", float, None), (B1, "b1", None, None)):
            columns = {"tiny": 48, "tiny-cased": 40}[name]
            rows = golden.rows(f"{name}.{key}")
            if scalar == B1:
                values = [float(row[i // 8] >> (7 - i % 8) & 1) for row in rows for i in range(columns)]
            else:
                values = [decode(value) for value in flat(rows)]
            doubts = flat(golden.rows(f"{name}.{key}.doubt"))
            room = math.fsum(7 * doubt * (1.0 if step is None else abs(value) * 2 * step) for value, doubt in zip(values, doubts))
            expected = {
                "status": SUCCESS,
                "shape": {"embeddings": [len(rows), columns]},
                "sum": {"embeddings": {"value": weighted(values), "tolerance": room + 1e-6}},
            }
            cases.append({"id": f"{name}-{key}", "model": name, "verb": "encode", "outputs": EMBEDDINGS, "scalar": scalar, "texts": hexes(texts), "expect": expected})
        for columns in (8, 20):
            rows = golden.rows(f"{name}.f32.{columns}")
            expected = {"status": SUCCESS}
            expect_rows(expected, "embeddings", rows, columns)
            cases.append({"id": f"{name}-{columns}-columns", "model": name, "verb": "encode", "outputs": EMBEDDINGS, "scalar": F32, "texts": hexes(texts), "options": {"dimensions": columns}, "expect": expected})
    return cases


def head_cases() -> list[dict]:
    cases = []
    texts, first, second = texts_of("outputs/texts.jsonl"), texts_of("outputs/pairs.jsonl"), texts_of("outputs/pairs.jsonl", "pair")
    for name in ("bert-classifier", "modernbert-classifier"):
        golden = Golden(f"outputs/{name}")
        labels = golden.shape("texts.probabilities")[1]
        call = {"model": f"outputs/{name}", "scalar": F32}
        expected: dict = {"status": SUCCESS, "truncated": golden.read("texts.cut")}
        expect_rows(expected, "probabilities", golden.rows("texts.probabilities"), labels)
        cases.append({"id": f"{name}-texts", **call, "verb": "classify", "texts": hexes(texts), "expect": expected})
        expected = {"status": SUCCESS, "truncated": golden.read("pairs.cut")}
        expect_rows(expected, "probabilities", golden.rows("pairs.probabilities"), labels)
        cases.append({"id": f"{name}-pairs", **call, "verb": "classify_pairs", "texts": hexes(first), "second": hexes(second), "expect": expected})
        expected = {"status": SUCCESS}
        expect_rows(expected, "probabilities", golden.rows("texts.logits"), labels)
        cases.append({"id": f"{name}-scores", **call, "verb": "classify", "texts": hexes(texts), "options": {"activation": 1}, "executor": 1, "deferred": True, "expect": expected})
        cases.append({"id": f"{name}-refuse-bits", **call, "scalar": B1, "verb": "classify", "texts": hexes(texts), "expect": {"status": UNSUPPORTED}})
    golden = Golden("outputs/bert-tokens")
    expected = {"status": SUCCESS, "truncated": golden.read("texts.cut"), "token_ids": golden.read("texts.ids")}
    expect_rows(expected, "token_probabilities", golden.rows("texts.probabilities"), golden.shape("texts.probabilities")[1], golden.read("texts.offsets"))
    cases.append({"id": "bert-tokens", "model": "outputs/bert-tokens", "verb": "classify", "scalar": F32, "texts": hexes(texts), "expect": expected})
    for name in ("bert-reranker", "xlm-roberta-reranker"):
        golden = Golden(f"outputs/{name}")
        call = {"model": f"outputs/{name}", "verb": "rerank", "scalar": F32, "texts": hexes(first), "second": hexes(second)}
        expected = {"status": SUCCESS, "truncated": golden.read("pairs.cut")}
        expect_rows(expected, "probabilities", golden.rows("pairs.probabilities"), 1)
        cases += [
            {"id": name, **call, "expect": expected},
            {"id": f"{name}-deferred", **call, "executor": 2, "deferred": True, "expect": expected},
            {"id": f"{name}-refuse-unequal-counts", **call, "second": hexes(second[:3]), "expect": {"status": INVALID}},
        ]
    golden = Golden("outputs/colbert-pylate")
    for kind, role in (("queries", 1), ("documents", 0)):
        expected = {"status": SUCCESS}
        offsets = golden.read(f"{kind}.vector_offsets")
        expect_rows(expected, "token_vectors", golden.rows(f"{kind}.vectors"), golden.shape(f"{kind}.vectors")[1], offsets)
        cases.append({"id": f"colbert-pylate-{kind}", "model": "outputs/colbert-pylate", "verb": "encode", "outputs": TOKEN_VECTORS, "scalar": F32, "texts": hexes(texts_of(f"outputs/{kind}.jsonl")), "options": {"role": role}, "expect": expected})
    golden = Golden("outputs/splade-bert")
    ids, weights, offsets = golden.read("sparse.ids"), golden.read("sparse.weights"), golden.read("sparse.offsets")
    picked = [2, 5, 8]
    starts, entries = ragged([[one] for one in ids], offsets, picked)
    expected = {"status": SUCCESS, "ids": {"sparse_ids": flat(entries)}, "shape": {"sparse_ids": [len(entries), 1]}, "offsets": {"sparse_ids": starts}}
    expect_rows(expected, "sparse_weights", ragged([[one] for one in weights], offsets, picked)[1], 1, starts)
    cases.append({"id": "splade-bert", "model": "outputs/splade-bert", "verb": "encode", "outputs": SPARSE, "scalar": F32, "texts": hexes([texts[text] for text in picked]), "expect": expected})
    return cases


def scenario_cases() -> list[dict]:
    golden, texts = Golden("tiny"), texts_of("tiny/texts.jsonl")
    embeddings = golden.rows("embeddings")
    picked = [3, 5, 2, 23]
    sums = {name: sum_of(embeddings[picked[i]]) for i, name in enumerate(("first", "second"))}
    checks = {
        "stale": {"read_first": INVALID, "read_second": SUCCESS},
        "freed": {"read": INVALID, "read_again": INVALID, "read_new": SUCCESS},
        "busy": {"submit": SUCCESS, "call": CONTENDED, "call_deferred": CONTENDED, "wait": SUCCESS, "read": SUCCESS, "call_pinned": CONTENDED, "call_after": SUCCESS},
        "dropped": {"submit": SUCCESS, "wait": SUCCESS, "read": INVALID, "call": SUCCESS},
        "each_own": {"wait": SUCCESS},
        "description": {"residency": 0, "device": -1, "executor_residency": 0, "executor_device": -1},
        "device": {"executor": UNSUPPORTED, "read_device": DEVICE, "describe_residency": 1, "describe_device": 0, "call_host": INVALID, "call_device": UNSUPPORTED, "call_mixed": INVALID},
        "limit": {"call": OUT_OF_MEMORY, "read": SUCCESS, "call_after": SUCCESS},
        "pinned": {"pin": SUCCESS, "call": CONTENDED, "read": SUCCESS, "call_after": SUCCESS, "pin_stale": INVALID},
        "cancelled": {"call": CANCELLED, "read": SUCCESS, "call_after": SUCCESS},
        "own_input": {"call": INVALID, "read": SUCCESS},
        "taken": {"wait": SUCCESS, "wait_again": INVALID},
    }
    cases = []
    for name, expected in checks.items():
        these = {f"sum_{i}": sum_of(embeddings[text]) for i, text in enumerate(picked)} if name == "each_own" else sums
        cases.append({"id": f"arena-{name}", "model": "tiny", "scenario": name, "texts": hexes([texts[text] for text in picked]), "expect": {"check": expected, "sum": these}})
    return cases


def number(value: float) -> str:
    return repr(float(value))


def lines_of(case: dict) -> list[str]:
    word = lambda text: text or "-"
    lines = [f"case {case['id']}", f"model {case['model']}"]
    for key in ("scenario", "verb", "outputs", "scalar"):
        if key in case:
            lines.append(f"{key} {case[key]}")
    for key in ("texts", "second"):
        if case.get(key) is not None:
            lines.append(" ".join([key, str(len(case[key])), *map(word, case[key])]))
    if "tape" in case:
        lines.append(" ".join(["tape", word(case["tape"]["bytes"]), *map(str, case["tape"]["offsets"])]))
    if "executor" in case:
        lines.append(f"executor {case['executor']}")
    if case.get("deferred"):
        lines.append("deferred")
    lines += [f"option {key} {value}" for key, value in case.get("options", {}).items()]
    expected = case["expect"]
    if "status" in expected:
        lines.append(f"status {expected['status']}")
    lines += [f"shape {key} {rows} {columns}" for key, (rows, columns) in expected.get("shape", {}).items()]
    lines += [" ".join(["offsets", key, *map(str, values)]) for key, values in expected.get("offsets", {}).items()]
    lines += [" ".join([key, *map(str, expected[key])]) for key in ("truncated", "token_ids") if key in expected]
    lines += [" ".join(["ids", key, *map(str, values)]) for key, values in expected.get("ids", {}).items()]
    lines += [f"sum {key} {number(one['value'])} {number(one['tolerance'])}" for key, one in expected.get("sum", {}).items()]
    lines += [f"check {key} {value}" for key, value in expected.get("check", {}).items()]
    return [*lines, "end"]


def make() -> dict[pathlib.Path, str]:
    cases = tiny_cases() + scalar_cases() + head_cases() + scenario_cases()
    assert len({case["id"] for case in cases}) == len(cases)
    for case in cases:
        if "tape" in case:
            del case["texts"]
        if case.get("verb", "encode") != "encode":
            case.pop("outputs", None)
    text = "\n".join(["# Made by tools/oracle/conformance.py, which says what the words mean.", *(line for case in cases for line in lines_of(case)), ""])
    document = "[\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]\n"
    return {FOLDER / "cases.json": document, FOLDER / "cases.txt": text}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    failed = 0
    for path, content in make().items():
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != content:
            print(f"{path} isn't what the goldens say")
            failed += 1
    if check:
        print(f"{2 - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
