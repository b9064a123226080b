#!/usr/bin/env python3
"""Compares this library with its peers on one machine in one run, and prints Markdown for docs/benchmarks.md.

    build/oracle/bin/python benchmarks/compare.py [--rounds 5] [--texts 2000] [--threads 1 2] [--peers …]
    build/oracle/bin/python benchmarks/compare.py --rounds 1 --texts 200          to try it
    build/oracle/bin/python benchmarks/compare.py --tokenise [FOLDER …]           tokenizers alone, on one thread

Set-up: tools/fetch_model.py all-MiniLM-L6-v2; tools/oracle/setup.sh benchmarks/requirements.txt; and the program
build/benchmarks/passages, which is left out, and said to be, where it is not built.

Each engine is a process of its own, pinned to the first N processors, with N threads, at its best settings: graph
optimisations on, texts sorted by length in batches where it pads. After a warm-up the engines take turns, round by
round. Printed are medians and, in brackets, the spread (largest less smallest, over the median).

passages   all texts, from strings to unit vectors, tokenising included for every engine; "engine" is the same from ready
           batches of ids, where an engine can be asked so
query      single texts of 8 to 32 tokens, from the string to the vector
tokenise   all texts to ids, in MB of UTF-8 a second
cold       process start to the first vector, files in the page cache
memory     resident bytes after all texts

Cosines are with sentence-transformers in float32 in the same run: the smallest over all texts.

With --tokenise, this library's tokenizer (the program build/release/benchmarks/tokenize) and Hugging Face `tokenizers`,
in the fastest of its ways to be called, take turns on one processor over 12 MB of texts of all languages, for each
folder; without folders for all-MiniLM-L6-v2, where it was fetched, and for tokenizers of the sizes of published ones,
made under build/tokenizers at the first run (corpus.py). Loading is from the file to a tokenizer that is ready, in a
process that did so before. The second table is of one text each: a word of random letters, and one letter again and
again; a time of a byte that doesn't grow with the text is linear time. All ids of both are compared in the same run: any
difference is printed, and makes the exit status 1.
"""

import argparse
import gc
import json
import os
import pathlib
import platform
import random
import statistics
import string
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Optional

sys.dont_write_bytecode = True

import corpus  # noqa: E402
import numpy as np  # noqa: E402
import tokenizers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
EXPORTS = ROOT / "build" / "benchmarks" / "peers"
MINILM = ROOT / "models" / "all-MiniLM-L6-v2"
OURS = "uform"
PEERS = ("onnxruntime", "onnxruntime-fused", "openvino", "ctranslate2", "torch")
REFERENCE = "torch"
QUERIES = 16  # texts of the query workload
QUERY_REPEATS = 4  # times each, per round
SETTLE_SECONDS = 0.2  # before a turn: threads of the engine before it may still spin
MIXED_BYTES = 12_000_000  # of the texts that tokenizers are compared on
BATCH_TEXTS = 256  # of a batch of the reference's tokenizer, where batches are faster than all at once
LONG_SIZES = (250_000, 500_000, 1_000_000, 2_000_000)  # bytes of the texts that are one word
MARKS = {"WordPiece": 5, "BPE": 3, "Unigram": 3}  # times the reference's speed
LOAD_MARK, LOAD_MARK_PIECES = 0.25, 250_000  # of the reference's time, for vocabularies as large or larger
SHOWN_SETS = ("avx2", "f16c", "fma", "avx512f", "avx512_bf16", "avx512_vnni", "avx_vnni", "amx_bf16", "amx_int8")


class Engine:
    """A running engine, asked a line at a time."""

    def __init__(self, name: str, threads: int, options: argparse.Namespace, texts: pathlib.Path) -> None:
        self.name = name
        common = [str(options.model), str(threads), str(texts)]
        if name == OURS:
            command = [str(options.ours), *common, str(options.our_batch)]
        else:
            command = [sys.executable, str(HERE / "peer.py"), name, common[0], str(EXPORTS), *common[1:], str(options.batch)]
        variables = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(variables, str(threads)), "HF_HUB_OFFLINE": "1"}
        environment |= {"TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false", "PYTHONDONTWRITEBYTECODE": "1"}
        processors = sorted(os.sched_getaffinity(0))[:threads]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if options.verbose else subprocess.DEVNULL,
            text=True,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, processors),
        )
        self._read()

    def _read(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with status {self.process.wait()}; --verbose shows its messages")
        return line.strip()

    def ask(self, command: str) -> str:
        print(command, file=self.process.stdin, flush=True)
        return self._read()

    def timed(self, command: str) -> Optional[tuple[float, int]]:
        """Seconds and tokens, or nothing where the engine does not do that."""
        answer = self.ask(command)
        if answer == "-":
            return None
        seconds, tokens = answer.split()
        return float(seconds), int(tokens)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def spread(values: list[float]) -> str:
    return f"({100 * (max(values) - min(values)) / statistics.median(values):.0f} %)"


def measure(threads: int, names: list[str], options: argparse.Namespace, texts: pathlib.Path, queries: list[int]) -> dict:
    """All figures of one thread count, by engine."""
    engines = [Engine(name, threads, options, texts) for name in names]
    figures: dict[str, dict[str, Any]] = {name: {"run": [], "engine": [], "query": [], "tokenise": []} for name in names}
    for engine in engines:  # warm-up, and the vectors
        path = texts.with_name(f"{engine.name}-{threads}.f32")
        engine.ask(f"vectors {path}")
        figures[engine.name]["vectors"] = np.fromfile(path, dtype="<f4").reshape(options.texts, -1)
        path.unlink()
        for index in queries:
            engine.ask(f"query {index}")
        figures[engine.name]["version"] = engine.ask("version")
    for number in range(options.rounds):
        turn = engines[number % len(engines) :] + engines[: number % len(engines)]
        for kind in ("run", "engine", "tokenise"):
            for engine in turn:
                time.sleep(SETTLE_SECONDS)
                if (answer := engine.timed(kind)) is not None:
                    figures[engine.name][kind].append(answer)
        for engine in turn:
            time.sleep(SETTLE_SECONDS)
            seconds = [engine.timed(f"query {index}")[0] for _ in range(QUERY_REPEATS) for index in queries]
            figures[engine.name]["query"].append(statistics.median(seconds))
        print(f"threads {threads}, round {number + 1} of {options.rounds}", file=sys.stderr)
    if options.unsorted:
        for engine in engines:
            figures[engine.name]["unsorted"] = engine.timed("unsorted")
    for engine in engines:
        figures[engine.name]["resident"] = int(engine.ask("rss"))
        engine.close()
    return figures


def cold_starts(threads: int, names: list[str], options: argparse.Namespace, texts: pathlib.Path, query: int) -> dict:
    """Seconds from process start to the first vector; the first start only fills the page cache."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for number in range(max(options.rounds, 1) + 1):
        for name in names:
            start = time.perf_counter()
            engine = Engine(name, threads, options, texts)
            engine.ask(f"query {query}")
            taken = time.perf_counter() - start
            engine.close()
            if number:
                seconds[name].append(taken)
    return seconds


def machine() -> str:
    """Processor, instruction sets, kernel."""
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in fields.items()}
    sets = [name for name in SHOWN_SETS if name in fields.get("flags", "").split()]
    where = f"family {fields.get('cpu family')}, model {fields.get('model')}"
    usable = len(os.sched_getaffinity(0))
    return f"{fields.get('model name', platform.machine())} ({where}), {usable} processors, {' '.join(sets)}; Linux {platform.release()}, Python {platform.python_version()}"


def table(threads: int, figures: dict, cold: dict, options: argparse.Namespace, size: int) -> str:
    """A Markdown table, an engine a row."""
    speeds = {name: [tokens / seconds for seconds, tokens in f["run"]] for name, f in figures.items()}
    peers = [name for name in figures if name != OURS]
    best = max((statistics.median(speeds[name]) for name in peers), default=0)
    fastest = min((statistics.median(figures[name]["query"]) for name in peers), default=0)
    reference = figures[REFERENCE]["vectors"] if REFERENCE in figures else None
    lines = ["| engine | passages, tokens/s | of the best peer | engine only | query, ms | of the best peer | tokenise, MB/s | cold, s | resident, MB | smallest cosine |"]
    lines += ["|---|---|---|---|---|---|---|---|---|---|"]
    for name, f in figures.items():
        only = [tokens / seconds for seconds, tokens in f["engine"]]
        megabytes = [size / seconds / 1e6 for seconds, _ in f["tokenise"]]
        query = statistics.median(f["query"])
        cells = [f["version"] + (" (fused)" if name.endswith("-fused") else "")]
        cells += [f"{statistics.median(speeds[name]):,.0f} {spread(speeds[name])}"]
        cells += [f"{statistics.median(speeds[name]) / best:.2f} ×" if best else "–"]
        cells += [f"{statistics.median(only):,.0f} {spread(only)}" if only else "–"]
        cells += [f"{1e3 * query:.2f} {spread(f['query'])}", f"{query / fastest:.2f} ×" if fastest else "–"]
        cells += [f"{statistics.median(megabytes):.1f} {spread(megabytes)}" if megabytes else "–"]
        cells += [f"{statistics.median(cold[name]):.2f} {spread(cold[name])}" if cold else "–"]
        cells += [f"{f['resident'] / 1e6:.0f}"]
        if reference is None:
            cells += ["–"]
        elif name == REFERENCE:
            cells += ["the reference"]
        else:
            cells += [f"{cosines(f['vectors'], reference).min():.7f}"]
        lines.append("| " + " | ".join(cells) + " |")
    unsorted = [
        f"{name} {f['unsorted'][1] / f['unsorted'][0]:,.0f}" for name, f in figures.items() if f.get("unsorted")
    ]
    note = f"\nUnsorted, tokens/s: {', '.join(unsorted)}." if unsorted else ""
    return f"### {threads} thread{'s' if threads > 1 else ''}\n\n" + "\n".join(lines) + "\n" + note


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    one, other = one.astype(np.float64), other.astype(np.float64)
    return (one * other).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)


class OurTokenizer:
    """The program `tokenize` with a folder, asked a line at a time."""

    def __init__(self, program: pathlib.Path, folder: pathlib.Path) -> None:
        self.process = subprocess.Popen(
            [str(program), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read()

    def _read(self) -> str:
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"tokenize ended with status {self.process.wait()}")
        return line.strip()

    def _ask(self, command: str) -> str:
        print(command, file=self.process.stdin, flush=True)
        return self._read()

    def version(self) -> str:
        return self._ask("version")

    def load(self) -> float:
        return float(self._ask("load"))

    def read(self, path: pathlib.Path, texts: list[str]) -> None:
        count = int(self._ask(f"texts {path}"))
        if count != len(texts):
            raise SystemExit(f"tokenize sees {count} texts of {len(texts)}")

    def seconds(self) -> float:
        return float(self._ask("pass").split()[0])

    def ids(self, path: pathlib.Path) -> list[np.ndarray]:
        self._ask(f"ids {path}")
        values, each, place = np.fromfile(path, dtype=np.uint32), [], 0
        while place < len(values):
            end = place + 1 + int(values[place])
            each.append(values[place + 1 : end])
            place = end
        return each

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class TheirTokenizer:
    """`tokenizers` with a folder, in this process."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = str(folder / "tokenizer.json")
        self.tokenizer = tokenizers.Tokenizer.from_file(self.path)
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.texts: list[str] = []
        self.way: Callable[[], None] = self._all

    @staticmethod
    def version() -> str:
        return f"tokenizers {tokenizers.__version__}"

    def load(self) -> float:
        start = time.perf_counter()
        tokenizer = tokenizers.Tokenizer.from_file(self.path)
        taken = time.perf_counter() - start
        del tokenizer  # untimed, as ours
        return taken

    def _all(self) -> None:
        self.tokenizer.encode_batch_fast(self.texts)

    def _batches(self) -> None:
        for first in range(0, len(self.texts), BATCH_TEXTS):
            self.tokenizer.encode_batch_fast(self.texts[first : first + BATCH_TEXTS])

    def _singles(self) -> None:
        for text in self.texts:
            self.tokenizer.encode(text)

    def read(self, texts: list[str]) -> None:
        self.texts = texts

    def choose(self) -> str:
        """Answers the name of the fastest way to be called, which is used from now on; `ids` was the warm-up."""
        ways = {"encode_batch_fast": self._all, "encode": self._singles}
        if len(self.texts) > BATCH_TEXTS:
            ways[f"encode_batch_fast of {BATCH_TEXTS}"] = self._batches
        taken = {}
        for name, self.way in ways.items():
            taken[name] = self.seconds()
        name = min(taken, key=taken.get)
        self.way = ways[name]
        return name

    def seconds(self) -> float:
        start = time.perf_counter()
        self.way()
        return time.perf_counter() - start

    def ids(self) -> list[np.ndarray]:
        each = []
        for first in range(0, len(self.texts), BATCH_TEXTS):
            encodings = self.tokenizer.encode_batch_fast(self.texts[first : first + BATCH_TEXTS])
            each += (np.array(encoding.ids, dtype=np.uint32) for encoding in encodings)
        return each


class TokenizerPair:
    """Ours and theirs with a folder, which take turns over the same texts."""

    def __init__(self, folder: pathlib.Path, options: argparse.Namespace, scratch: pathlib.Path) -> None:
        self.folder, self.rounds, self.scratch = folder, options.rounds, scratch
        self.ours, self.theirs = OurTokenizer(options.ours, folder), TheirTokenizer(folder)
        self.kind = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]["type"]
        self.way = ""
        self.different = 0

    def read(self, texts: list[str]) -> None:
        """Gives both the texts, warms both up, and compares the ids."""
        path = self.scratch / "texts.txt"
        path.write_bytes("".join(text + "\n" for text in texts).encode())
        self.ours.read(path, texts)
        self.theirs.read(texts)
        ours, theirs = self.ours.ids(self.scratch / "ids.u32"), self.theirs.ids()
        if not len(ours) == len(theirs) == len(texts):
            raise SystemExit(f"{self.folder.name}: ids of {len(ours)} and {len(theirs)} texts of {len(texts)}")
        wrong = [text for text, one, other in zip(texts, ours, theirs) if not np.array_equal(one, other)]
        for text in wrong[:3]:
            print(f"DIFFERENT: {self.folder.name}, {text[:200]!r}.\n")
        self.different += len(wrong)
        self.way = self.theirs.choose()

    def turns(self, ours: Callable[[], float], theirs: Callable[[], float]) -> tuple[list[float], list[float]]:
        """Seconds of both, a round each, after one to warm up; who is first changes."""
        ours()
        theirs()
        taken: tuple[list[float], list[float]] = ([], [])
        for number in range(self.rounds):
            for side in (0, 1) if number % 2 else (1, 0):
                taken[side].append((ours, theirs)[side]())
        return taken

    def pass_seconds(self) -> tuple[list[float], list[float]]:
        return self.turns(self.ours.seconds, self.theirs.seconds)

    def mixed_row(self, texts: list[str], size: int) -> str:
        """A row of the first table."""
        loads = self.turns(self.ours.load, self.theirs.load)
        self.read(texts)
        passes = self.pass_seconds()
        pieces = self.theirs.tokenizer.get_vocab_size()
        speeds = [[size / seconds / 1e6 for seconds in side] for side in passes]
        ours, theirs = map(statistics.median, speeds)
        our_load, their_load = map(statistics.median, loads)
        cells = [f"{self.folder.name} ({self.kind})", f"{pieces:,}"]
        cells += [f"{ours:.1f} {spread(speeds[0])}", f"{theirs:.2f} {spread(speeds[1])}"]
        cells += [f"{ours / theirs:.1f} ×", f"≥ {MARKS[self.kind]} ×" if self.kind in MARKS else "–"]
        cells += [f"{1e3 * our_load:.1f} {spread(loads[0])}", f"{1e3 * their_load:.1f} {spread(loads[1])}"]
        cells += [f"{our_load / their_load:.3f} ×", f"≤ {LOAD_MARK} ×" if pieces >= LOAD_MARK_PIECES else "–"]
        return "| " + " | ".join([*cells, "equal" if not self.different else f"{self.different} differ", self.way]) + " |"

    def long_row(self, name: str, texts: list[str]) -> str:
        """A row of the second table: the same kind of text, longer and longer."""
        before, self.different = self.different, 0
        ours, theirs = [], []
        for text in texts:
            self.read([text])
            passes = self.pass_seconds()
            ours.append(1e9 * statistics.median(passes[0]) / len(text))
            theirs.append(1e9 * statistics.median(passes[1]) / len(text))
        cells = [f"{self.folder.name} ({self.kind})", name, *(f"{value:.2f}" for value in ours)]
        cells += [f"{ours[-1] / ours[0]:.2f} ×", *(f"{value:.1f}" for value in theirs), f"{theirs[-1] / theirs[0]:.2f} ×"]
        cells += ["equal" if not self.different else f"{self.different} differ"]
        self.different += before
        return "| " + " | ".join(cells) + " |"


def compare_tokenizers(options: argparse.Namespace) -> int:
    """All of --tokenise; answers the exit status."""
    os.environ |= {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    missing = []
    folders = options.tokenise
    if not folders:
        folders = corpus.make_tokenizers(ROOT / "build" / "tokenizers")
        if (MINILM / "tokenizer.json").exists():
            folders.insert(0, MINILM)
        else:
            missing.append("all-MiniLM-L6-v2 is not there; run tools/fetch_model.py all-MiniLM-L6-v2")
    texts = corpus.mixed(MIXED_BYTES)
    size = sum(len(text.encode()) for text in texts)
    source = random.Random(5)
    word = "".join(source.choices(string.ascii_lowercase, k=LONG_SIZES[-1]))
    long_texts = {"random letters": word, "one letter": "a" * LONG_SIZES[-1]}
    gc.disable()  # the collector would only cost the reference time

    rows, long_rows, different, versions = [], [], 0, ""
    with tempfile.TemporaryDirectory() as scratch:
        for folder in folders:
            pair = TokenizerPair(folder, options, pathlib.Path(scratch))
            versions = f"{pair.ours.version()} and {pair.theirs.version()}"
            rows.append(pair.mixed_row(texts, size))
            for name, text in long_texts.items():
                long_rows.append(pair.long_row(name, [text[:length] for length in LONG_SIZES]))
            different += pair.different
            pair.ours.close()
            print(f"{folder.name} is done", file=sys.stderr)

    print(f"Machine: {machine()}.\n")
    median = statistics.median(len(text.encode()) for text in texts)
    print(f"{versions}, one thread each; {len(texts):,} texts, {size / 1e6:.1f} MB, median {median:g} bytes; {options.rounds} rounds.")
    print(f"Command: {' '.join(['benchmarks/compare.py', *sys.argv[1:]])}\n")
    for line in missing:
        print(f"SKIPPED: {line}.\n")
    columns = ["tokenizer", "pieces", "ours, MB/s", "theirs, MB/s", "ratio", "mark", "ours loads, ms", "theirs, ms", "ratio"]
    print_rows([*columns, "mark", "ids", "theirs is called by"], rows)
    print("One word, ns a byte:\n")
    sizes = [f"{length / 1e6:g} MB" for length in LONG_SIZES]
    growth = f"{sizes[-1]} to {sizes[0]}"
    ours = [f"ours, {sizes[0]}", *sizes[1:], growth]
    print_rows(["tokenizer", "word", *ours, f"theirs, {sizes[0]}", *sizes[1:], growth, "ids"], long_rows)
    print(f"Load average at the end: {os.getloadavg()[1]:.1f} over five minutes, where 1 or less is a quiet machine.")
    return 1 if different else 0


def print_rows(columns: list[str], rows: list[str]) -> None:
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    print("\n".join(rows) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="default: 5")
    parser.add_argument("--texts", type=int, default=2000, help="default: 2000")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default: 1 2")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS), help="default: all")
    parser.add_argument("--batch", type=int, default=32, help="texts a batch for the peers, default 32")
    parser.add_argument("--our-batch", type=int, default=256, help="texts a call for ours, 0 for all; default 256")
    parser.add_argument("--unsorted", action="store_true", help="also run the peers once with texts as they come (slow)")
    parser.add_argument("--no-cold", action="store_true", help="leave out the cold starts")
    parser.add_argument("--model", type=pathlib.Path, default=MINILM)
    parser.add_argument("--ours", type=pathlib.Path, help="default: build/benchmarks/passages, or see --tokenise")
    parser.add_argument("--tokenise", type=pathlib.Path, nargs="*", metavar="FOLDER", help="compare tokenizers alone")
    parser.add_argument("--verbose", action="store_true", help="show what the engines print")
    options = parser.parse_args()
    if options.tokenise is not None:
        options.ours = options.ours or ROOT / "build" / "release" / "benchmarks" / "tokenize"
        for path in (options.ours, *(folder / "tokenizer.json" for folder in options.tokenise)):
            if not path.exists():
                parser.error(f"{path} isn't there")
        return compare_tokenizers(options)
    options.ours = options.ours or ROOT / "build" / "benchmarks" / "passages"
    if not (options.model / "model.safetensors").exists():
        parser.error(f"{options.model} holds no model; run tools/fetch_model.py all-MiniLM-L6-v2")
    usable = len(os.sched_getaffinity(0))
    if max(options.threads) > usable:
        parser.error(f"only {usable} processors may be used")

    subprocess.run([sys.executable, str(HERE / "export.py"), str(options.model), str(EXPORTS)], check=True)
    tokenizer = tokenizers.Tokenizer.from_file(str(options.model / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    count_of = lambda text: len(tokenizer.encode(text).ids)  # noqa: E731
    texts = corpus.make(options.texts, count_of)
    counts = [count_of(text) for text in texts]
    queries = [index for index, count in enumerate(counts) if 8 <= count <= 32][:QUERIES]

    names, missing = [], []
    if options.ours.exists():
        names.append(OURS)
    else:
        missing.append(f"{options.ours.name} is not built")
    needed = {"onnxruntime-fused": "fused.onnx", "ctranslate2": "ctranslate2"}
    for name in options.peers:
        file = "config.json" if name == "torch" else needed.get(name, "plain.onnx")
        if (options.model / file).exists() if name == "torch" else (EXPORTS / file).exists():
            names.append(name)
        else:
            missing.append(f"{name} has no {file}")

    print(f"Machine: {machine()}.\n")
    lengths = f"{min(counts)} to {max(counts)} tokens, median {statistics.median(counts):g}, mean {statistics.mean(counts):.0f}"
    print(f"{len(texts):,} texts of {lengths}; {options.rounds} rounds; peers sorted in batches of {options.batch}, ours {options.our_batch or 'all'} texts a call.")
    print(f"Queries: {len(queries)} texts of 8 to 32 tokens, median {statistics.median(counts[i] for i in queries):g}. Tokenising is part of passages and of query, for all.")
    print(f"Command: {' '.join(['benchmarks/compare.py', *sys.argv[1:]])}\n")
    for line in missing:
        print(f"SKIPPED: {line}.\n")

    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch, "texts.txt")
        path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
        for threads in options.threads:
            figures = measure(threads, names, options, path, queries)
            cold = {} if options.no_cold else cold_starts(threads, names, options, path, queries[0])
            print(table(threads, figures, cold, options, path.stat().st_size), flush=True)
    wanted = max(options.threads)
    print(f"Load average at the end: {os.getloadavg()[1]:.1f} over five minutes, where {wanted} or less is a quiet machine.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
