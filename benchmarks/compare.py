#!/usr/bin/env python3
"""Compares this library with its peers on one machine in one run, and prints Markdown for docs/benchmarks.md.

    build/oracle/bin/python benchmarks/compare.py [--rounds 5] [--texts 2000] [--threads 1 2] [--peers …]
    build/oracle/bin/python benchmarks/compare.py --rounds 1 --texts 200          to try it

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
"""

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Optional

sys.dont_write_bytecode = True

import corpus  # noqa: E402
import numpy as np  # noqa: E402
import tokenizers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "benchmarks"
EXPORTS = ROOT / "build" / "benchmarks" / "peers"
OURS = "uform"
PEERS = ("onnxruntime", "onnxruntime-fused", "openvino", "ctranslate2", "torch")
REFERENCE = "torch"
QUERIES = 16  # texts of the query workload
QUERY_REPEATS = 4  # times each, per round
SETTLE_SECONDS = 0.2  # before a turn: threads of the engine before it may still spin
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
    parser.add_argument("--model", type=pathlib.Path, default=ROOT / "models" / "all-MiniLM-L6-v2")
    parser.add_argument("--ours", type=pathlib.Path, default=ROOT / "build" / "benchmarks" / "passages")
    parser.add_argument("--verbose", action="store_true", help="show what the engines print")
    options = parser.parse_args()
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
