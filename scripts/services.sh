#!/usr/bin/env bash
# Runs a command beside a PostgreSQL and a Redis of its own: services.sh CMD...
#
# Both listen on a free port of 127.0.0.1, keep what they have in a temporary
# folder, and are stopped and removed when the command ends, however it ends.
# The command finds them by its environment:
#   RATIBA_TEST_POSTGRES  URL of the database postgres, for its superuser
#   RATIBA_TEST_PG_BIN, RATIBA_TEST_PG_DATA  for pg_ctl, which may restart it
#   RATIBA_TEST_REDIS     URL of the Redis server
# A server whose URL is already set is not started, nor is one that
# RATIBA_WITHOUT names (postgres, redis). RATIBA_PG_FSYNC=off lets PostgreSQL
# forget a power cut, which is faster; processes may still be killed.
set -euo pipefail
# shellcheck source=scripts/servers.sh
. "$(dirname "$0")/servers.sh"

dir='' command='' bin='' redis_port=''

say() { printf 'services: %s\n' "$*" >&2; }
stop() {
	say "$*"
	exit 1
}

# The servers refuse or ought not to run as root. With them goes a signal that
# ends them, should this process be killed before it can.
# as NAME SIGNAL sets the array prefix.
as() {
	prefix=()
	if [ "$(id -u)" -eq 0 ]; then
		have setpriv || stop 'as root this needs setpriv, which is in util-linux'
		prefix=(setpriv "--reuid=$1" "--regid=$1" --clear-groups --pdeathsig "$2" --)
	elif have setpriv; then
		prefix=(setpriv --pdeathsig "$2" --)
	fi
}

# own NAME makes a folder in $dir that belongs to whom the server runs as.
own() {
	mkdir -m 700 "$dir/$1"
	if [ "$(id -u)" -eq 0 ]; then chown "$1:" "$dir/$1"; fi
}

end() {
	trap '' INT TERM HUP
	if [ -n "$command" ]; then
		# The command's whole group: what it started must not outlive its servers.
		kill -TERM -- "-$command" 2>/dev/null || true
		for _ in {1..100}; do
			kill -0 -- "-$command" 2>/dev/null || break
			sleep 0.05
		done
		kill -KILL -- "-$command" 2>/dev/null || true
	fi
	[ -n "$dir" ] || return 0
	if [ -e "$dir/postgres/data/postmaster.pid" ]; then
		as postgres KILL
		"${prefix[@]}" "$bin/pg_ctl" stop --silent --mode immediate --pgdata "$dir/postgres/data" || true
	fi
	if [ -n "$redis_port" ]; then redis-cli -p "$redis_port" shutdown nosave >/dev/null 2>&1 || true; fi
	rm -rf "$dir"
}

# free_port moves port on to one that nobody answers on, below those the system
# gives to outgoing connections. It begins where the checkout's path says, so
# that a URL is mostly the one of the last run, and Go's cached results hold.
# Somebody may still take it first; then the server ends, and its caller tries
# the next.
port=$((20000 + $(cd "$(dirname "$0")" && pwd | cksum | cut -d' ' -f1) % 12000))
free_port() {
	while :; do
		port=$((port + 1))
		(: <>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || return 0
	done
}

# answers PID TEST... waits until TEST succeeds; fails when PID is gone.
answers() {
	local pid=$1
	shift
	for _ in {1..600}; do
		kill -0 "$pid" 2>/dev/null || return 1
		if "$@" >/dev/null 2>&1; then return 0; fi
		sleep 0.02
	done
	return 1
}

postgres_ready() { sed -n 8p "$dir/postgres/data/postmaster.pid" | grep -q ready; }
redis_ready() { redis-cli -p "$port" info server | grep -q "^process_id:$1[^0-9]*\$"; }

start_postgres() {
	local data fsync=${RATIBA_PG_FSYNC:-on}
	[[ $fsync == on || $fsync == off ]] || stop "RATIBA_PG_FSYNC is on or off, not $fsync"
	bin=$(postgres_bin) || stop 'PostgreSQL 15 or newer with pg_trgm and btree_gist is missing. scripts/needs.sh installs it; RATIBA_WITHOUT=postgres does without'
	own postgres
	data=$dir/postgres/data
	as postgres INT
	(cd "$dir/postgres" && "${prefix[@]}" "$bin/initdb" --pgdata "$data" --username postgres --auth trust --encoding UTF8 --locale C \
		--no-sync --no-instructions) >"$dir/initdb.log" 2>&1 || stop "initdb failed: $(tail -n 3 "$dir/initdb.log")"
	for _ in {1..10}; do
		free_port
		cat >>"$data/postgresql.conf" <<-CONF
			listen_addresses = '127.0.0.1'
			port = $port
			unix_socket_directories = ''
			max_connections = 200
			shared_buffers = 64MB
			fsync = $fsync
			full_page_writes = $fsync
			timezone = 'UTC'
		CONF
		(cd "$data" && exec "${prefix[@]}" "$bin/postgres" -D "$data") >>"$dir/postgres/log" 2>&1 </dev/null &
		if answers $! postgres_ready; then
			export RATIBA_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port/postgres" RATIBA_TEST_PG_BIN=$bin RATIBA_TEST_PG_DATA=$data
			say "a private PostgreSQL on 127.0.0.1:$port in $data, fsync $fsync"
			return
		fi
	done
	stop "PostgreSQL does not start: $(tail -n 3 "$dir/postgres/log")"
}

start_redis() {
	redis_7 || stop 'Redis 7 is missing. scripts/needs.sh installs it; RATIBA_WITHOUT=redis does without'
	own redis
	as redis TERM
	for _ in {1..10}; do
		free_port
		"${prefix[@]}" redis-server --bind 127.0.0.1 --port "$port" --dir "$dir/redis" --save '' --appendonly no --databases 1024 \
			>>"$dir/redis.log" 2>&1 </dev/null &
		if answers $! redis_ready $!; then
			redis_port=$port
			export RATIBA_TEST_REDIS="redis://127.0.0.1:$port"
			say "a private Redis on 127.0.0.1:$port, nothing kept"
			return
		fi
	done
	stop "Redis does not start: $(tail -n 3 "$dir/redis.log")"
}

[ $# -gt 0 ] || stop 'what command? For example: scripts/services.sh go test ./internal/store'
known

trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
dir=$(mktemp -d "${TMPDIR:-/tmp}/ratiba-services.XXXXXX")
chmod 711 "$dir"

# Each server in a process group of its own: a terminal's interrupt is for the command.
set -m
if [ -z "${RATIBA_TEST_POSTGRES:-}" ] && ! without postgres; then start_postgres; fi
if [ -z "${RATIBA_TEST_REDIS:-}" ] && ! without redis; then start_redis; fi

if [ -t 0 ]; then
	# Whoever types needs the terminal, as in: scripts/services.sh bash
	set +m
	"$@"
else
	"$@" &
	command=$!
	wait "$command"
fi
