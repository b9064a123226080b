#!/usr/bin/env python3
"""What including a header costs: time and preprocessed lines against the unit `<vector> <string> <memory>`.

    compile.py [--compiler g++] [--rounds 9]

Syntax only, alternating the units within a round, processor time of the compiler; the median of the rounds. The last
line is a unit that calls `text_encode`, compiled at -O2, against the same reference unit, syntax only.
"""

import argparse
import pathlib
import resource
import statistics
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = "#include <memory>\n#include <string>\n#include <vector>\n"
CALL = """#include <uform/uform.hpp>
int main() {
    auto model = uform::Model::load("models/all-MiniLM-L6-v2").value();
    uform::Arena<uform::Ram> arena;
    return static_cast<int>(model.text_encode("a", uform::Outputs::embeddings, uform::Scalar::f32, arena)->texts());
}
"""


def seconds(command: list[str]) -> float:
    """Processor time of a command and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, cwd=ROOT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    base = [options.compiler, "-std=c++20", "-Iinclude"]
    units = {
        "<vector> <string> <memory>": (REFERENCE, ["-fsyntax-only"]),
        "uform/arena.hpp": ("#include <uform/arena.hpp>\n", ["-fsyntax-only"]),
        "uform/uform.hpp": ("#include <uform/uform.hpp>\n", ["-fsyntax-only"]),
        "a call of text_encode, -O2": (CALL, ["-O2", "-c", "-o", "/dev/null"]),
    }
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for index, (name, (text, _)) in enumerate(units.items()):
            paths[name] = pathlib.Path(folder) / f"unit{index}.cpp"
            paths[name].write_text(text)
        times: dict[str, list[float]] = {name: [] for name in units}
        for _ in range(options.rounds):
            for name, (_, flags) in units.items():
                times[name].append(seconds([*base, *flags, str(paths[name])]))
        reference = statistics.median(times["<vector> <string> <memory>"])
        print(f"{subprocess.run([options.compiler, '--version'], capture_output=True, text=True).stdout.splitlines()[0]}, "
              f"{options.rounds} rounds\n")
        print("| unit | seconds | spread | ratio | lines |\n|---|---|---|---|---|")
        for name, values in times.items():
            lines = subprocess.run([*base, "-E", "-P", str(paths[name])], capture_output=True, text=True, cwd=ROOT).stdout.count("\n")
            median = statistics.median(values)
            print(f"| {name} | {median:.3f} | {min(values):.3f}–{max(values):.3f} | {median / reference:.2f} | {lines:,} |")


if __name__ == "__main__":
    main()
