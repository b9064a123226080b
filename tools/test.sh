#!/usr/bin/env bash
# Builds everything with GCC, warnings being errors, and runs every test. The last line is `N passed, N failed`.
#   tools/test.sh [WORD]      WORD: only the tests with it in their name
# Installs what is missing on Debian or Ubuntu, and fetches the model that some tests need.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install.sh g++ meson ninja-build pkg-config catch2 rapidjson-dev python3 python3-venv abigail-tools

if ! tools/fetch_model.py all-MiniLM-L6-v2; then
  echo "the model can't be had: tests that need it are skipped"
fi
tools/fetch_usearch.py || echo "an example that needs USearch is skipped"

build=build/tests-gcc
[ -e "$build/build.ninja" ] || CXX=${CXX:-g++} meson setup "$build" -Dtests=enabled >/dev/null || { cat "$build/meson-logs/meson-log.txt" >&2; exit 1; }
meson compile -C "$build"
tools/run_tests.py "$build" --only "${1:-}"
