#!/bin/sh
# Several mounts on one host with one cache: each piece is fetched once, whoever they are and in whichever namespace, and
# who dies while it fetches holds up nobody.
. "$(dirname "$0")/functions.sh"

control=$tmp/control
requests=$tmp/requests
: >"$control"
mkdir "$tmp/www"
cp "$data"/sample/10BT/*.parquet "$tmp/www"
start "$PYTHON" "$top/tests/faultserver.py" "$tmp/www" --log "$requests" --control "$control" >"$tmp/port"
wait_for 5 grep -q '^port' "$tmp/port"
url=http://127.0.0.1:$(sed 's/port //' "$tmp/port")
for f in "$tmp"/www/*.parquet; do echo "$url/$(basename "$f")"; done >"$tmp/urls.txt"

expected sample/10BT >"$tmp/sums"
options=$(cat "$tmp/options")
right_in() {
	(cd "$1" && sha256sum --quiet -c "$tmp/sums")
}

# new_cache: one that everybody may write to.
new_cache() {
	rm -rf "$tmp/cache"
	mkdir -m 1777 "$tmp/cache"
	: >"$requests"
}
# Row groups of texts that were asked for twice; a column of counts, a footer may be asked for by each.
fetched_twice() {
	"$PYTHON" - "$requests" "$tmp/www" <<-'END'
		import collections, os, sys
		seen = collections.Counter()
		for line in open(sys.argv[1]):
		    method, path, wanted, status = line.split("\t")[:4]
		    if method != "GET" or status != "206" or "=" not in wanted:
		        continue
		    first, _, last = wanted.split("=")[1].partition("-")
		    size = os.path.getsize(sys.argv[2] + "/" + path.lstrip("/").split("?")[0].split("/")[-1])
		    # Texts are the largest columns by far: 20 KB and more here.
		    if first and last and int(last) - int(first) > 20000 and int(last) < size - 8:
		        seen[path, int(first)] += 1
		print(sum(seen.values()), "requests for texts,", [k for k, n in seen.items() if n > 1], "twice")
		sys.exit(not seen or max(seen.values()) > 1)
	END
}
made() {
	total=0
	for m in "$@"; do total=$((total + $(stat_of pieces_tokenized "$m"))); done
	[ "$total" = 9 ] || { echo "$total pieces were made, not 9"; return 1; }
}

# Four mounts, all read at once.
together() {
	for i in 1 2 3 4; do
		mkdir -p "$tmp/m$i"
		fineweb "$tmp/urls.txt" "$tmp/m$i" -o "$options" || return
	done
	for i in 1 2 3 4; do
		right_in "$tmp/m$i" >"$tmp/right$i" 2>&1 &
		readers="${readers-} $!"
	done
	for p in $readers; do wait "$p" || { cat "$tmp"/right?; return 1; }; done
	made "$tmp/m1" "$tmp/m2" "$tmp/m3" "$tmp/m4"
}
new_cache
check "four mounts read at once: right bytes, each piece made once" together
check "and each text fetched once" fetched_twice
for i in 1 2 3 4; do unmount "$tmp/m$i"; done

# Two users, and root. Each has its own mount; the folder of the cache is everybody's.
users() {
	for u in 65534 1; do
		mkdir -p "$tmp/u$u" "$tmp/home$u"
		chown "$u" "$tmp/u$u" "$tmp/home$u"
		setpriv --reuid=$u --regid=$u --clear-groups env HOME="$tmp/home$u" "$FINEWEB" "$tmp/urls.txt" "$tmp/u$u" \
			-o "$options,cache=$tmp/cache" || return
	done
	fineweb "$tmp/urls.txt" "$mnt" -o "$options" || return
	for u in 65534 1; do
		setpriv --reuid=$u --regid=$u --clear-groups sh -c 'cd "$1" && sha256sum --quiet -c "$2" && cp stats.json "$3"' - \
			"$tmp/u$u" "$tmp/sums" "$tmp/home$u" >"$tmp/right$u" 2>&1 &
	done
	right_in "$mnt" || return
	wait_for 20 test -s "$tmp/home65534/stats.json" && wait_for 20 test -s "$tmp/home1/stats.json" ||
		{ cat "$tmp"/right*; return 1; }
	made "$mnt" "$tmp/home65534" "$tmp/home1"
}
mode=$(stat -c %a /dev/fuse)
chmod 666 /dev/fuse
if setpriv --reuid=65534 --regid=65534 --clear-groups test -w /dev/fuse -a -x "$FINEWEB"; then
	new_cache
	check "root and two users share a cache: right bytes, each piece made once" users
	check "by users, too: each text fetched once" fetched_twice
	for u in 65534 1; do unmount "$tmp/u$u"; done
	unmount
else
	skip "root and two users share a cache" "another user cannot reach the program or /dev/fuse"
fi
chmod "$mode" /dev/fuse

# Two containers, each with its own processes: both mounts are number 1 or 2 there.
in_container() {
	unshare --pid --fork --mount-proc sh -c '
		fineweb "$1" "$2" -o "$3" && cd "$2" && sha256sum --quiet -c "$4" && cp stats.json "$5/stats.json"
		cd /; umount "$2"' - "$tmp/urls.txt" "$1" "$options" "$tmp/sums" "$2"
}
containers() {
	mkdir -p "$tmp/c1" "$tmp/c2" "$tmp/o1" "$tmp/o2"
	in_container "$tmp/c1" "$tmp/o1" >"$tmp/said1" 2>&1 &
	first=$!
	in_container "$tmp/c2" "$tmp/o2" || return
	wait "$first" || { cat "$tmp/said1"; return 1; }
	made "$tmp/o1" "$tmp/o2"
}
if unshare --pid --fork --mount-proc true 2>/dev/null; then
	new_cache
	check "two PID namespaces share a cache: right bytes, each piece made once" containers
	check "in containers, too: each text fetched once" fetched_twice
else
	skip "two PID namespaces share a cache" "no namespaces here"
fi

# The one that fetches is stopped by the server, holds the lock, and is killed: the other one goes on.
killed() {
	echo '*000_00001.parquet stall;first=1;at=30000;seconds=600' >"$control"
	mkdir -p "$tmp/k1" "$tmp/k2"
	start fineweb "$tmp/urls.txt" "$tmp/k1" -f -o "$options,ready_timeout=600" 2>"$tmp/log1"
	one=$pid
	wait_for 20 test -e "$tmp/k1/rank_0" && (cat "$tmp"/k1/rank_?/batch_*.bin >"$tmp/got" 2>&1 &)
	wait_for 20 sh -c 'find "$1/cache" -name "*.lock" | grep -q .' - "$tmp" || { echo "nothing is fetched"; cat "$requests" "$tmp/log1"; return 1; }
	wait_for 20 grep -q stall "$requests" || { cat "$requests"; return 1; }
	fineweb "$tmp/urls.txt" "$tmp/k2" -o "$options" &
	two=$!
	sleep 0.5
	kill -9 "$one"
	begun=$(date +%s)
	wait "$two" && right_in "$tmp/k2" || return
	took=$(($(date +%s) - begun))
	echo "took $took s"
	[ "$took" -lt 15 ]
}
new_cache
check "one is killed while it fetches: the other finishes" killed
umount -l "$tmp/k1" 2>/dev/null
unmount "$tmp/k2"
finish
