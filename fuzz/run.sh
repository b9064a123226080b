#!/usr/bin/env bash
# Builds the fuzz targets into build/fuzz and runs them, each from its corpus. What is new lands in build/fuzz, as does an
# input that breaks a promise.
#   fuzz/run.sh [TARGET] [SECONDS]     all targets, 600 seconds each, where nothing is named
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

targets=(tokenizer_configuration texts safetensors)
seconds=600
for argument in "$@"; do
  case $argument in
  *[!0-9]*) targets=("$argument") ;;
  *) seconds=$argument ;;
  esac
done

# The targets write the files that they load there, and libFuzzer ends them without their cleaning up.
place=/dev/shm
[ -w "$place" ] || place=${TMPDIR:-/tmp}
TMPDIR=$(mktemp -d "$place/uform-fuzz-XXXXXX")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

for target in "${targets[@]}"; do
  [ -e "fuzz/$target.cpp" ] || { echo "no such target: $target" >&2; exit 2; }
  program=build/fuzz/$target
  mkdir -p "$program.found" "$program.broken"
  clang++ -std=c++20 -O2 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Wall -Wextra -Wpedantic \
    -Wshadow -Wconversion -Werror -Iinclude -DUFORM_SOURCE_ROOT="\"$PWD\"" "fuzz/$target.cpp" -o "$program"
  dictionary=()
  [ ! -e "fuzz/$target.dict" ] || dictionary=("-dict=fuzz/$target.dict")
  echo "== $target, $seconds seconds"
  "$program" "$program.found" "fuzz/corpus/$target" "${dictionary[@]}" -max_total_time="$seconds" -max_len=8192 \
    -rss_limit_mb=2048 -timeout=10 -artifact_prefix="$program.broken/" -print_final_stats=1 2>"$program.log" ||
    { tail -n 60 "$program.log" >&2; exit 1; }
  grep -E 'stat::(number_of_executed_units|peak_rss_mb)|DONE' "$program.log" | tail -n 3
done
