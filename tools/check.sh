#!/usr/bin/env bash
# What takes longer than the tests: the same tests under Clang, AddressSanitizer with UndefinedBehaviorSanitizer, and
# ThreadSanitizer, and with -march=native; planted faults; a minute of each fuzz target; then the formatter and the
# linter. Run it before a change is called done.
#   tools/check.sh [STEP…]     steps: clang sanitize threads native mutants fuzz format tidy; all where none is named
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install.sh g++ clang libclang-rt-14-dev clang-format clang-tidy meson ninja-build pkg-config catch2 rapidjson-dev python3 python3-venv
tools/fetch_model.py all-MiniLM-L6-v2 || echo "the model can't be had: tests that need it are skipped"

steps=("$@")
[ ${#steps[@]} -gt 0 ] || steps=(clang sanitize threads native mutants fuzz format tidy)
failed=()

# build and test in a folder of their own: name, compiler, options of meson
variant() {
  local build=build/check-$1
  [ -e "$build/build.ninja" ] || CXX=$2 meson setup "$build" -Dtests=enabled -Dbenchmarks=false -Dexamples=false "${@:3}" >/dev/null
  meson compile -C "$build" && tools/run_tests.py "$build"
}

for step in "${steps[@]}"; do
  echo "== $step"
  case $step in
  clang) variant clang clang++ || failed+=("$step") ;;
  sanitize) variant sanitize g++ -Dcpp_args=-Wno-maybe-uninitialized,-fno-sanitize-recover=all -Doptimization=1 -Ddebug=true -Db_sanitize=address,undefined -Db_lundef=false || failed+=("$step") ;;
  threads) variant threads clang++ -Doptimization=1 -Ddebug=true -Db_sanitize=thread -Db_lundef=false || failed+=("$step") ;;
  native) variant native g++ -Dcpp_args=-march=native || failed+=("$step") ;;
  mutants) tests/explorer/mutants.py || failed+=("$step") ;;
  fuzz) fuzz/run.sh 60 || failed+=("$step") ;;
  format) git ls-files '*.hpp' '*.cpp' | grep -v unicode_tables | xargs clang-format --dry-run --Werror || failed+=("$step") ;;
  tidy) for unit in examples/*.cpp; do clang-tidy --quiet "$unit" -- -std=c++20 -Iinclude || failed+=("$step $unit"); done ;;
  *) echo "no such step: $step" >&2; exit 2 ;;
  esac
done

echo
if [ ${#failed[@]} -gt 0 ]; then echo "failed: ${failed[*]}"; exit 1; fi
echo "all steps passed: ${steps[*]}"
