# What the tests of real mounts share. Each tests/mount/*.sh reads this first, says TAP, and ends with `finish`.
#
# FINEWEB names the program (default: the one of build/). Every test has a folder of its own, $tmp, and a cache in
# it; whatever the test mounts below $tmp is unmounted, and whatever it started is ended, when it is over.

set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
FINEWEB=${FINEWEB-$top/build/stage/bin/fineweb}
if [ -d "$top/tests/data/expected" ]; then data=$top/tests/data; else data=$top/../shared/data; fi

if [ "$(id -u)" != 0 ] || [ ! -c /dev/fuse ]; then
	echo "1..0 # SKIP needs root and /dev/fuse"
	exit 0
fi
if [ ! -x "$FINEWEB" ]; then
	echo "Bail out! no program at $FINEWEB"
	exit 99
fi

# python3-numpy belongs to the distribution's own python, which need not come first.
PYTHON=python3
for p in python3 /usr/bin/python3; do
	if "$p" -c 'import numpy' 2>/dev/null; then
		PYTHON=$p
		break
	fi
done

tmp=$(mktemp -d "${TMPDIR:-/tmp}/fineweb.XXXXXX")
chmod 755 "$tmp"
mnt=$tmp/mnt
mkdir "$mnt" "$tmp/cache" "$tmp/home"
umask 022

PATH=$(dirname "$FINEWEB"):$PATH
FINEWEB_CACHE=$tmp/cache
FINEWEB_CONFIG=/dev/null
home=${HOME-/}
HOME=$tmp/home
PYTHONDONTWRITEBYTECODE=1
export PATH FINEWEB FINEWEB_CACHE FINEWEB_CONFIG HOME PYTHON PYTHONDONTWRITEBYTECODE data tmp mnt top
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy

started=
linked=
count=0

# mount(8) takes PATH away, and sh then looks for `fineweb` in its standard folders only, this one first.
link_program() {
	linked=/usr/local/sbin/fineweb
	[ ! -e "$linked" ] && ln -s "$FINEWEB" "$linked" || linked=
}

# Mounts below $tmp, the last first.
mounts() {
	awk -v t="$tmp/" 'index($2, t) == 1 { print $2 }' /proc/self/mounts | sort -r
}

cleanup() {
	for p in $started; do
		kill -9 "$p" 2>/dev/null
	done
	for m in $(mounts); do
		umount "$m" 2>/dev/null || umount -l "$m" 2>/dev/null
	done
	[ -z "$linked" ] || rm -f "$linked"
	[ -z "${network-}" ] || { ip link del "$card"; ip netns del "$network"; } 2>/dev/null
	rm -rf "$tmp"
}
trap cleanup EXIT
trap 'exit 129' HUP INT TERM

ok() {
	count=$((count + 1))
	echo "ok $count - $*"
}

# not_ok WHAT [FILE with what was said]
not_ok() {
	count=$((count + 1))
	echo "not ok $count - $1"
	[ $# -lt 2 ] || sed 's/^/# /' "$2" | head -n 20
}

# skip WHAT REASON
skip() {
	count=$((count + 1))
	echo "ok $count - $1 # SKIP $2"
}

# check WHAT COMMAND...: ok if the command succeeds; what it says stands below a failure.
check() {
	what=$1
	shift
	if "$@" >"$tmp/said" 2>&1; then ok "$what"; else not_ok "$what" "$tmp/said"; fi
}

# taps COMMAND...: passes on the unnumbered TAP lines of a command (tests/mount/tap.py), and counts them.
taps() {
	"$@" 2>"$tmp/taps.err" | tee "$tmp/taps"
	count=$((count + $(grep -cE '^(not )?ok ' "$tmp/taps")))
	if ! grep -qx '# end' "$tmp/taps"; then not_ok "$(basename "$2") comes to its end" "$tmp/taps.err"; fi
}

finish() {
	echo "1..$count"
	exit 0
}

# fail_with CODE WORDS COMMAND...: the command must exit with CODE, say one line, and all WORDS (one argument,
# separated by blanks) must stand in it.
fail_with() {
	code=$1
	words=$2
	shift 2
	timeout 90 "$@" </dev/null >"$tmp/out" 2>"$tmp/err"
	status=$?
	echo "# $* -> $status"
	cat "$tmp/out" "$tmp/err"
	[ "$status" = "$code" ] || { echo "exit $status, expected $code"; return 1; }
	[ "$(wc -l <"$tmp/err")" = 1 ] || { echo "not one line"; return 1; }
	for w in $words; do
		grep -qiF -e "$w" "$tmp/err" || { echo "no '$w' in it"; return 1; }
	done
	nothing_mounted
}

nothing_mounted() {
	[ -z "$(mounts)" ] || { echo "left mounted: $(mounts)"; return 1; }
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
	tries=$(($1 * 20))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || return 1
		sleep 0.05
	done
}

is_mounted() {
	awk -v m="$1" '$2 == m { found = 1 } END { exit !found }' /proc/self/mounts
}

not_mounted() {
	! is_mounted "$1"
}

# start COMMAND...: runs it in the background, to be ended with the test; its id is then in $pid.
start() {
	"$@" &
	pid=$!
	started="$started $pid"
}

# unmount [DIR]: waits a little for a reader that is just going.
unmount() {
	wait_for 5 umount "${1-$mnt}" 2>/dev/null || umount "${1-$mnt}"
}

# expected SOURCE: the checksums of epoch 0 that a source's batches must have with the options that then stand in
# $tmp/options, for sha256sum -c.
expected() {
	"$PYTHON" - "$1" <<-'END'
		import json, os, sys
		for e in json.load(open(os.environ["data"] + "/expected/batches.json")):
		    if e["source"] == [sys.argv[1]] and "shuffle" not in e["options"] and e["options"].startswith("world_size=2"):
		        open(os.environ["tmp"] + "/options", "w").write(e["options"])
		        for path, digest in e["sha256"].items():
		            if path.startswith("epoch_0/"):
		                print(digest, "", path)
		        break
	END
}

# stat_of NAME [DIR]: a number of stats.json.
stat_of() {
	"$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1] + "/stats.json"))[sys.argv[2]])' "${2-$mnt}" "$1"
}

# A port that nobody listens on just now.
free_port() {
	"$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# answers PORT [ADDRESS]
answers() {
	"$PYTHON" -c 'import socket, sys; socket.create_connection((sys.argv[2], int(sys.argv[1])), 1)' "$1" "${2-127.0.0.1}" 2>/dev/null
}

# start_nginx FOLDER [SETTINGS]: serves it on 127.0.0.1, or in the other network; the address is then in $nginx.
start_nginx() {
	command -v nginx >/dev/null || return 1
	port=$(free_port)
	mkdir -p "$tmp/nginx"
	cat >"$tmp/nginx/nginx.conf" <<-END
		user root;
		master_process off;
		daemon off;
		error_log $tmp/nginx/error.log;
		pid $tmp/nginx/pid;
		events { worker_connections 64; }
		http {
			access_log off;
			client_body_temp_path $tmp/nginx/body;
			proxy_temp_path $tmp/nginx/proxy;
			fastcgi_temp_path $tmp/nginx/fastcgi;
			uwsgi_temp_path $tmp/nginx/uwsgi;
			scgi_temp_path $tmp/nginx/scgi;
			server { listen ${far-127.0.0.1}:$port; root $1; ${2-} }
		}
	END
	start ${network:+ip netns exec "$network"} nginx -p "$tmp/nginx" -c "$tmp/nginx/nginx.conf" >"$tmp/nginx/said" 2>&1
	nginx=http://${far-127.0.0.1}:$port
	wait_for 5 answers "$port" "${far-127.0.0.1}"
}

# other_network: a network namespace, $network, behind a pair of virtual cards: $near here and $far there are its addresses,
# $near6 and $far6 the same of IPv6, $card is ours. Fails where the kernel or its rules have none.
other_network() {
	command -v ip >/dev/null || return 1
	network=fw$$
	card=fw$$n
	net=$(($$ / 64 % 256)).$(($$ % 64 * 4))
	near=198.18.${net%.*}.$((${net#*.} + 1))
	far=198.18.${net%.*}.$((${net#*.} + 2))
	near6=2001:db8:$(printf %x $(($$ % 65536)))::1
	far6=${near6%1}2
	ip netns add "$network" 2>/dev/null || return 1
	ip link add "$card" type veth peer name far netns "$network" 2>/dev/null &&
		ip addr add "$near/30" dev "$card" && ip link set "$card" up &&
		ip -n "$network" addr add "$far/30" dev far && ip -n "$network" link set far up && ip -n "$network" link set lo up || return 1
	ip addr add "$near6/64" dev "$card" nodad 2>/dev/null && ip -n "$network" addr add "$far6/64" dev far nodad 2>/dev/null || near6= far6=
	export network card near far near6 far6
}
