#!/usr/bin/env bash
# Sees to it that the tests find what they need beside Go: a C compiler for the
# race detector, Chromium for the tests of the phone page, PostgreSQL and Redis
# for those that stand on them. Installs from Debian what is missing, saying
# so; fails with what to do when it cannot. RATIBA_WITHOUT=postgres,redis does
# without the servers it names.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=scripts/servers.sh
. scripts/servers.sh

browser() { have chromium || have chromium-browser || have google-chrome || have google-chrome-stable; }
compiler() { have gcc || have clang; }
postgres() { without postgres || postgres_bin >/dev/null; }
redis() { without redis || redis_7; }

stop() {
	printf 'needs: %s\n' "$*" >&2
	exit 1
}

# forgo NAME CALL says which tests are not run for want of a server: those that
# make the call.
forgo() {
	without "$1" || return 0
	printf 'needs: without %s, as RATIBA_WITHOUT asks. Not run are the tests that stand on it, in:%s\n' "$1" \
		"$(grep -rlE "dbtest\.($2)\(" --include='*_test.go' internal cmd | xargs -r dirname | sort -u | sed 's/^/ /' | tr -d '\n')"
}

have go || stop 'Go is missing: https://go.dev/doc/install'
known
forgo postgres 'Postgres|Server'
forgo redis Redis

missing=() services=()
compiler || missing+=(gcc libc6-dev)
browser || missing+=(chromium)
postgres || missing+=(postgresql postgresql-contrib)
redis || missing+=(redis-server)
[ ${#missing[@]} -gt 0 ] || exit 0
for service in postgresql redis-server; do
	[ -e "/etc/init.d/$service" ] || services+=("$service")
done

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

# Debian starts a server that it installs. The tests start their own, so one
# that was not there before is stopped; one that was is somebody's.
for service in "${services[@]}"; do
	[ -e "/etc/init.d/$service" ] || continue
	printf 'needs: stopping the system service %s that came with its package; it stays off\n' "$service"
	"${as_root[@]}" service "$service" stop
	"${as_root[@]}" update-rc.d "$service" disable
done

compiler || stop 'there is still no C compiler'
browser || stop 'there is still no Chromium'
postgres || stop 'there is still no PostgreSQL 15 or newer with pg_trgm and btree_gist; RATIBA_WITHOUT=postgres does without'
redis || stop 'there is still no Redis 7 or newer; RATIBA_WITHOUT=redis does without'
