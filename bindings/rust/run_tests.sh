#!/bin/sh
# Runs every check of the Rust binding, offline and without a crate; ends with `N passed, N failed`, and what was skipped.
#   run_tests.sh            UFORM_LIB_DIR: a built library's folder, else the library is compiled; CARGO_TARGET_DIR: where to
set -u
cd "$(dirname "$0")" || exit 1
PATH=$PATH:$HOME/.cargo/bin
passed=0 failed=0 skipped=0

finish() {
    [ "$skipped" -eq 0 ] && echo "$passed passed, $failed failed" || echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
skip() {
    echo "SKIPPED: $1"
    skipped=$((skipped + 1))
}

if ! cargo --version >/dev/null 2>&1; then
    skip "cargo isn't installed"
    finish
fi
version=$(rustc --version | sed 's/^rustc 1\.\([0-9]*\)\..*/\1/')
if [ "${version:-0}" -lt 85 ]; then
    skip "$(rustc --version) is older than 1.85"
    finish
fi

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}" CARGO_NET_OFFLINE=true CARGO_TERM_COLOR=never
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

# Adds up the `test result` lines of a command, of which there must be one; or counts it as one check, if it has none by
# its nature.
count_results() {
    name=$1 counted=$2
    shift 2
    echo "$name"
    "$@" >"$log" 2>&1
    code=$?
    grep -E '^(test .*(FAILED|failed)|test result|error|warning|    .*FAILED)' "$log"
    counts=$(sed -n 's/^test result: .* \([0-9]*\) passed; \([0-9]*\) failed; \([0-9]*\) ignored.*/\1 \2 \3/p' "$log" |
        awk '{ p += $1; f += $2; i += $3; n += 1 } END { if (n) print p, f, i }')
    if [ "$counted" = one ]; then
        if [ "$code" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && tail -n 60 "$log"; fi
        return
    fi
    if [ -z "$counts" ]; then
        echo "  no test result"
        failed=$((failed + 1)) && tail -n 60 "$log"
        return
    fi
    # shellcheck disable=SC2086
    set -- $counts
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ "$code" -ne 0 ]; then
        tail -n 60 "$log"
        [ "$2" -gt 0 ] || failed=$((failed + 1)) # it crashed, after what it counted
    fi
}
tests() {
    name=$1
    shift
    count_results "$name" many "$@"
}
step() {
    name=$1
    shift
    count_results "$name" one "$@"
}

# A command that must fail, and say these words.
refused() {
    name=$1 words=$2
    shift 2
    echo "$name"
    if "$@" >"$log" 2>&1; then
        echo "  it wasn't refused"
        failed=$((failed + 1))
    elif grep -qF -- "$words" "$log"; then
        passed=$((passed + 1))
    else
        echo "  it doesn't say: $words"
        failed=$((failed + 1)) && tail -n 20 "$log"
    fi
}

tests "tests" cargo test --lib --tests --no-fail-fast
# Stable rustdoc ignores the error code of a compile_fail example; with this variable a wrong code fails.
tests "examples in the documents, with the codes of those that must not compile" env RUSTC_BOOTSTRAP=1 cargo test --doc
step "programs" cargo build --examples
step "documents" env RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
if cargo clippy --version >/dev/null 2>&1; then
    step "clippy" cargo clippy --all-targets -- -D warnings
else
    skip "clippy isn't installed"
fi
if cargo fmt --version >/dev/null 2>&1; then
    step "format" cargo fmt --check
else
    skip "rustfmt isn't installed"
fi

no_unsafe() { ! grep -rnE '\bunsafe\b( |\{|$)' src --include='*.rs' --exclude-dir=ffi; }
step "unsafe code is in one module" no_unsafe

refused "a folder without a library" "neither $work/empty/libuform.so nor $work/empty/libuform.a is there" \
    env UFORM_LIB_DIR="$work/empty" CARGO_TARGET_DIR="$work/refused" cargo check
refused "a library's folder by a relative path" "UFORM_LIB_DIR is \"some/libraries\", and has to be an absolute path" \
    env UFORM_LIB_DIR="some/libraries" CARGO_TARGET_DIR="$work/refused" cargo check
refused "a package that isn't installed" "this failed" \
    env -u UFORM_LIB_DIR UFORM_SYSTEM=1 PKG_CONFIG="$work/no-pkg-config" CARGO_TARGET_DIR="$work/refused" cargo check
refused "a folder that isn't there" "search: io: no/such/folder: no such folder" "$CARGO_TARGET_DIR/debug/examples/search" no/such/folder
if [ -n "${UFORM_LIB_DIR:-}" ] && [ -e "$UFORM_LIB_DIR/libuform.so" ]; then
    echo 'unsigned uform_abi_version(void) { return 7; }' >"$work/other.c"
    ${CC:-cc} -shared -fPIC "$work/other.c" -o "$work/other.so"
    refused "a library of another interface" "has interface 7, and this crate" \
        env LD_PRELOAD="$work/other.so" "$CARGO_TARGET_DIR/debug/examples/search" ../../tests/data/tiny
else
    skip "a library of another interface: it takes a shared one, in UFORM_LIB_DIR"
fi

# Builds the unpacked crate from its own copy of the sources, whatever library the tests had.
step "the package, built from its own files" env -u UFORM_LIB_DIR cargo package --allow-dirty

finish
