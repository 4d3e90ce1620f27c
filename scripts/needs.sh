#!/usr/bin/env bash
# Sees to it that the tests find what they need beside Go: a C compiler for the
# race detector, and Chromium for the tests of the phone page. Installs from
# Debian what is missing, saying so; fails with what to do when it cannot.
set -euo pipefail

have() { command -v "$1" >/dev/null 2>&1; }
browser() { have chromium || have chromium-browser || have google-chrome || have google-chrome-stable; }
compiler() { have gcc || have clang; }

stop() {
	printf 'needs: %s\n' "$*" >&2
	exit 1
}

have go || stop 'Go is missing: https://go.dev/doc/install'

missing=()
compiler || missing+=(gcc libc6-dev)
browser || missing+=(chromium)
[ ${#missing[@]} -gt 0 ] || exit 0

have apt-get || stop "the tests need ${missing[*]}, and this is no Debian system: install them and try again"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
	have sudo || stop "the tests need ${missing[*]}. As root: apt-get install -y ${missing[*]}"
	as_root=(sudo)
fi

printf 'needs: installing %s from Debian\n' "${missing[*]}"
install() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}
if ! install; then
	printf 'needs: the package lists may be old; fetching new ones\n'
	"${as_root[@]}" apt-get update
	install
fi
compiler || stop 'there is still no C compiler'
browser || stop 'there is still no Chromium'
