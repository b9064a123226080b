#!/bin/sh
# Makes build/oracle, the virtual environment of the reference (about 2 GB, a few minutes the first time).
#
#     tools/oracle/setup.sh [MORE_REQUIREMENTS.txt ...]
#
# Extra files, such as benchmarks/requirements.txt, are installed into the same environment, also without dependencies.
# PYTHON names the interpreter to start from (3.11 or later; default python3). Needs cc, nm and ldd on x86-64 Linux.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
here=$root/tools/oracle
venv=$root/build/oracle

"${PYTHON:-python3}" -c 'import sys; sys.exit("Python 3.11 or later is needed") if sys.version_info < (3, 11) else None'
[ -x "$venv/bin/pip" ] || "${PYTHON:-python3}" -m venv "$venv"
for requirements in "$here/requirements.txt" "$@"; do
    "$venv/bin/pip" install --disable-pip-version-check --quiet --no-deps -r "$requirements"
done
"$venv/bin/python" "$here/torch_without_cuda.py"
"$venv/bin/python" -c '
import sentence_transformers, tokenizers, torch, transformers
for library in (sentence_transformers, tokenizers, torch, transformers):
    print(f"{library.__name__} {library.__version__}")'
