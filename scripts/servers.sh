# What needs.sh and services.sh both have to know about the two servers the
# tests stand on. Sourced, never run.
# shellcheck shell=bash

RATIBA_WITHOUT=${RATIBA_WITHOUT:-}

have() { command -v "$1" >/dev/null 2>&1; }

# known fails, with the reason, when RATIBA_WITHOUT names what is no server.
known() {
	local name
	for name in ${RATIBA_WITHOUT//,/ }; do
		case $name in
		postgres | redis) ;;
		*)
			printf 'RATIBA_WITHOUT names postgres or redis or both, separated by a comma, not %q\n' "$name" >&2
			return 1
			;;
		esac
	done
}

# without NAME: did somebody ask by name to do without this server?
without() { [[ ",$RATIBA_WITHOUT," == *",$1,"* ]]; }

# postgres_bin prints the folder of the newest PostgreSQL that is at least
# version 15 and has pg_trgm and btree_gist.
postgres_bin() {
	local bin version share
	for bin in $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) "$(pg_config --bindir 2>/dev/null)"; do
		[[ -x $bin/initdb && -x $bin/postgres && -x $bin/pg_ctl ]] || continue
		version=$("$bin/postgres" --version | grep -oE '[0-9]+' | head -n 1)
		[ "$version" -ge 15 ] || continue
		share=$("$bin/pg_config" --sharedir 2>/dev/null) || continue
		[[ -e $share/extension/pg_trgm.control && -e $share/extension/btree_gist.control ]] || continue
		printf '%s\n' "$bin"
		return
	done
	return 1
}

# redis_7 tells whether a Redis server of at least version 7 and its client are there.
redis_7() {
	local version
	have redis-server && have redis-cli || return 1
	version=$(redis-server --version | grep -oE 'v=[0-9]+' | cut -d= -f2)
	[ "$version" -ge 7 ]
}
