#!/usr/bin/env bash
# Installs Debian or Ubuntu packages that are missing, as root or through sudo. Says what it installs; does nothing otherwise.
#   install.sh PACKAGE…
set -euo pipefail

missing=()
for package in "$@"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

run=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || { echo "install.sh: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
  run=(sudo)
fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
install() { "${run[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >"$log" 2>&1; }
log=$(mktemp)
# A package list may be old or empty: it is refreshed where the first try fails.
if ! install; then
  "${run[@]}" apt-get update -qq >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
  install || { cat "$log" >&2; exit 1; }
fi
rm -f "$log"
