#!/usr/bin/env bash
# Runs every test of the Mojo package. The last line is `N passed, N failed, N skipped`.
#   bindings/mojo/run_tests.sh
# MOJO           the compiler; absent: a virtual environment under build/mojo, made with pip. Where that can't be had, all
#                is skipped, and counted.
# UFORM_LIBRARY  the library; absent: it is compiled into build/mojo
# CXX, CC        the compilers for that, and for the tests' own libraries
# TESTS          a word: only the suites with it in their name, or `conformance`, or `refused`
set -u
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
build=$root/build/mojo
version=1.2.0
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); }
fail() {
  failed=$((failed + 1))
  echo "FAILED: $1"
}
finish() {
  echo "$passed passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ]
  exit
}
# Counts the tests that can't run: those of the suites, the refused files and their twins, and the rest below.
skip_all() {
  local suites cases
  suites=$(cat tests/test_*.mojo | grep -c '^def test_')
  cases=$(grep -c '^case ' "$root/tests/conformance/cases.txt" 2>/dev/null || echo 0)
  skipped=$((suites + cases + 2 * $(ls tests/refused/*.mojo | wc -l) + 6))
  echo "SKIPPED: the Mojo package: $1"
  finish
}

mkdir -p "$build"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
if [ -z "${MOJO:-}" ]; then
  MOJO=$build/venv/bin/mojo
  if ! "$MOJO" --version 2>/dev/null | grep -qF "$version"; then
    { python3 -m venv "$build/venv" && "$build/venv/bin/pip" install --quiet "mojo-compiler==$version"; } >"$scratch/pip" 2>&1 ||
      skip_all "mojo-compiler $version can't be had: $(tail -n 1 "$scratch/pip")"
  fi
fi
export MODULAR_CRASH_REPORTING_ENABLED=0 # else every run prints a warning about it
found=$("$MOJO" --version 2>&1) || skip_all "$MOJO doesn't run: $(tail -n 1 <<<"$found")"
[[ $found == *"$version"* ]] || skip_all "$MOJO is $found, and this package is for $version"

if [ -z "${UFORM_LIBRARY:-}" ]; then
  UFORM_LIBRARY=$build/libuform.so
  newest=$(find "$root/include" "$root/bindings/c" -newer "$UFORM_LIBRARY" -type f 2>/dev/null | head -n 1)
  if [ ! -e "$UFORM_LIBRARY" ] || [ -n "$newest" ]; then
    "${CXX:-g++}" -std=c++20 -O1 -fPIC -shared -fvisibility=hidden -I"$root/include" -I"$root/bindings/c" -pthread \
      "$root/bindings/c/uform.cpp" -Wl,--version-script="$root/bindings/c/uform.map" -ldl -o "$UFORM_LIBRARY" || {
      fail "the library doesn't compile"
      finish
    }
  fi
fi
recorder() { "${CC:-cc}" -std=c99 -shared -fPIC "${@:2}" tests/recorder.c -o "$scratch/$1.so" || fail "tests/recorder.c"; }
recorder recorder
recorder other_version -DOTHER_VERSION
recorder only_version -DONLY_VERSION
export UFORM_LIBRARY UFORM_DATA=$root/tests/data UFORM_RECORDER=$scratch/recorder.so
export UFORM_OTHER_VERSION=$scratch/other_version.so UFORM_ONLY_VERSION=$scratch/only_version.so

# Suites. A crash leaves no summary, so a missing one is a failure.
for suite in tests/test_*.mojo; do
  [[ $suite == *"${TESTS:-}"* ]] || continue
  "$MOJO" run -I . "$suite" >"$scratch/log" 2>&1
  code=$?
  cat "$scratch/log"
  summary=$(sed -n 's/.*tests run: \([0-9]*\) passed *, *\([0-9]*\) failed.*/\1 \2/p' "$scratch/log")
  read -r good bad <<<"${summary:-0 0}"
  passed=$((passed + good)) failed=$((failed + bad))
  if [ -z "$summary" ]; then fail "$suite ended with status $code, before its summary"; fi
  if [ -n "$summary" ] && [ "$code" -ne 0 ] && [ "$bad" -eq 0 ]; then fail "$suite ended with status $code"; fi
done

# The cases that every language runs.
cases=$root/tests/conformance/cases.txt
if [[ conformance == *"${TESTS:-}"* ]]; then
  "$MOJO" run -I . tests/conformance.mojo "$UFORM_DATA" "$cases" >"$scratch/log" 2>&1
  code=$?
  cat "$scratch/log"
  summary=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$scratch/log")
  read -r good bad <<<"${summary:-0 0}"
  passed=$((passed + good)) failed=$((failed + bad))
  if [ -z "$summary" ]; then fail "tests/conformance.mojo ended with status $code, before its summary"; fi
  if [ $((good + bad)) -ne "$(grep -c '^case ' "$cases")" ]; then fail "tests/conformance.mojo left cases out"; fi
fi

# What must not compile, with the error that its first line names. Its twin, without the marked lines, runs.
if [[ refused == *"${TESTS:-}"* ]]; then
  mkdir "$scratch/twins"
  driver=$scratch/twins/all.mojo
  printf 'from uform import Library, Model\nfrom std.os import getenv\n' >"$driver"
  run_all=
  for file in tests/refused/*.mojo; do
    name=$(basename "$file" .mojo)
    expected=$(sed -n '1s/^# expect: //p' "$file")
    {
      cat "$file"
      printf '\n\ndef main() raises:\n    var library = Library()\n    use(library, Model(library, "any"))\n'
    } >"$scratch/$name.mojo"
    if "$MOJO" build --emit object -I . -o "$scratch/object.o" "$scratch/$name.mojo" >"$scratch/log" 2>&1; then
      fail "$file compiles"
    elif [ -n "$expected" ] && grep -F 'error: ' "$scratch/log" | grep -qF -- "$expected" ||
      grep -F 'constraint failed: ' "$scratch/log" | grep -qF -- "$expected"; then
      pass
    else
      fail "$file is refused for another reason" && cat "$scratch/log"
    fi
    grep -v '# refused$' "$file" >"$scratch/twins/twin_$name.mojo"
    echo "from twin_$name import use as use_$name" >>"$driver"
    run_all+=$'\n'"    use_$name(library, model)"$'\n'"    print(\"twin $name ran\")"
  done
  printf '\n\ndef main() raises:\n    var library = Library()\n    var model = Model(library, String(getenv("UFORM_DATA"), "/tiny"))%s\n' \
    "$run_all" >>"$driver"
  "$MOJO" run -I . -I "$scratch/twins" "$driver" >"$scratch/log" 2>&1
  for file in tests/refused/*.mojo; do
    name=$(basename "$file" .mojo)
    if grep -qxF "twin $name ran" "$scratch/log"; then pass; else fail "the twin of $file doesn't run" && cat "$scratch/log"; fi
  done
fi

if [ -z "${TESTS:-}" ]; then
  # The whole package compiles, also what no test calls: bodies of imported functions are only checked when used.
  mkdir "$scratch/precompiled"
  if "$MOJO" precompile --Werror -o "$scratch/precompiled/uform.mojoc" uform >"$scratch/log" 2>&1; then
    pass
  else
    fail "mojo precompile" && cat "$scratch/log"
  fi

  # The example, against the precompiled package as an installed one would be.
  printf 'the model\n\na vector of the query\nthree years\n' >"$scratch/lines.txt"
  example=$root/examples/mojo/search.mojo
  if "$MOJO" run -I "$scratch/precompiled" "$example" "$UFORM_DATA/tiny" "$scratch/lines.txt" "the model" >"$scratch/log" 2>&1 &&
    head -n 1 "$scratch/log" | grep -q '^1\.0  *the model$' && [ "$(grep -c . "$scratch/log")" -eq 3 ]; then
    pass
  else
    fail "examples/mojo/search.mojo" && cat "$scratch/log"
  fi
  if ! "$MOJO" run -I "$scratch/precompiled" "$example" "/nowhere" "$scratch/lines.txt" "the model" >"$scratch/log" 2>&1 &&
    grep -q '^search: io: /nowhere: no such folder' "$scratch/log"; then
    pass
  else
    fail "examples/mojo/search.mojo without a model" && cat "$scratch/log"
  fi

  # Beside a package that is named by an absolute path, and by one with folders before it.
  printf 'from uform import Library\n\n\ndef main() raises:\n    _ = Library()\n' >"$scratch/loads.mojo"
  for include in "$PWD" ../mojo; do
    said="$PWD/uform/libuform.so, which isn't there;"
    [ "$include" = "$PWD" ] || said='as in -I "$PWD/../mojo";'
    if [ -e uform/libuform.so ]; then
      skipped=$((skipped + 1)) # it would be loaded
    elif ! env -u UFORM_LIBRARY "$MOJO" run -I "$include" "$scratch/loads.mojo" >"$scratch/log" 2>&1 &&
      grep -qF -- "$said" "$scratch/log"; then
      pass
    else
      fail "where the library is looked for with -I $include" && cat "$scratch/log"
    fi
  done

  # Every public name is documented.
  if "$MOJO" doc --diagnose-missing-doc-strings --Werror -o "$scratch/doc.json" uform >"$scratch/log" 2>&1; then
    pass
  else
    fail "mojo doc" && cat "$scratch/log"
  fi
fi
finish
