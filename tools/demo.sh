#!/usr/bin/env bash
# Searches a real corpus by meaning: installs what is missing, fetches the model, builds the example and runs it.
#   tools/demo.sh                          types queries at a prompt, over a corpus of sayings that Debian packages
#   tools/demo.sh "what is love" [FILE…]   one query, over the files named (a text a line) or the same corpus
set -euo pipefail
case ${1-} in -*) sed -n '2,4s/^# *//p' "${BASH_SOURCE[0]}"; exit 2 ;; esac
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

files=()
for file in "${@:2}"; do files+=("$(realpath "$file")"); done
cd "$root"
{
  tools/install.sh g++ meson ninja-build pkg-config rapidjson-dev python3 python3-venv
  tools/fetch_model.py all-MiniLM-L6-v2
} >&2

if [ ${#files[@]} -eq 0 ]; then
  tools/install.sh fortunes-min >&2
  files=(/usr/share/games/fortunes/{fortunes,literature,riddles} --paragraphs)
fi

build=build/demo
if [ ! -e "$build/build.ninja" ]; then
  meson setup "$build" -Dtests=disabled -Dbenchmarks=false -Dbindings=false >/dev/null || { cat "$build/meson-logs/meson-log.txt" >&2; exit 1; }
fi
echo "building the example" >&2
ninja -C "$build" examples/semantic_search >/dev/null || { ninja -C "$build" examples/semantic_search >&2; exit 1; }

query=()
[ -z "${1-}" ] || query=(--query "$1")
exec "$build/examples/semantic_search" models/all-MiniLM-L6-v2 "${files[@]}" "${query[@]}"
