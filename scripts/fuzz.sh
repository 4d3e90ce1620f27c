#!/usr/bin/env bash
# Runs every fuzz target for a while: fuzz.sh DURATION
set -euo pipefail
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' internal cmd | sort | while read -r file; do
	grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | cut -d' ' -f2 | while read -r target; do
		printf '== %s %s\n' "$(dirname "$file")" "$target"
		go test -run '^$' -fuzz "^${target}\$" -fuzztime "$1" "./$(dirname "$file")" </dev/null
	done
done
