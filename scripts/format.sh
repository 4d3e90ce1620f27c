#!/usr/bin/env bash
# Fails when a Go file is not formatted as gofmt would.
set -euo pipefail
cd "$(dirname "$0")/.."
unformatted=$(gofmt -l cmd internal oracles bench)
if [ -n "$unformatted" ]; then
	printf 'format: run gofmt -w on these files:\n%s\n' "$unformatted" >&2
	exit 1
fi
