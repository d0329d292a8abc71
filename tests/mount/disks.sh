#!/bin/sh
# A cache whose disk fails, or knows no locks: never an error to the reader. And its bound, looked at while many read.
. "$(dirname "$0")/functions.sh"

expected sample/10BT >"$tmp/sums"
options=$(cat "$tmp/options")
control=$tmp/control
: >"$control"

right() {
	(cd "$mnt" && sha256sum --quiet -c "$tmp/sums") && return
	cat "$mnt/stats.json"
	return 1
}
has() {
	[ "$(stat_of "$1")" -ge "$2" ] || { echo "$1 is $(stat_of "$1"), not $2 or more"; return 1; }
}
is() {
	[ "$(stat_of "$1")" = "$2" ] || { echo "$1 is $(stat_of "$1"), not $2"; return 1; }
}

# failing FOLDER [nolock]: a cache at $tmp/disk that fails when the file $control says so.
failing() {
	mkdir -p "$1" "$tmp/disk"
	start "$tmp/faultfs" "$1" "$control" "$tmp/disk" ${2-} 2>"$tmp/faultfs.said"
	wait_for 5 is_mounted "$tmp/disk" || { cat "$tmp/faultfs.said"; return 1; }
}
gone() {
	: >"$control"
	unmount 2>/dev/null
	umount "$tmp/disk"
}
mount_here() {
	start fineweb "$data/sample/10BT" "$mnt" -f -o "$options,cache=$tmp/disk$1" 2>"$tmp/log"
	daemon=$pid
	wait_for 20 test -e "$mnt/rank_0"
}

if ! command -v cc >/dev/null || ! pkg-config --exists fuse3 ||
	! cc -o "$tmp/faultfs" "$here/faultfs.c" $(pkg-config --cflags --libs fuse3) 2>"$tmp/cc.said"; then
	skip "disks that fail" "no compiler or libfuse to make one"
else
	failing "$tmp/back" && mount_here ""
	check "a cache on a filesystem without shared mappings: right bytes" right
	check "and each piece made once" is pieces_tokenized 9
	unmount
	mount_here ""
	check "a second mount has them from there" right
	check "all of them" is pieces_tokenized 0
	check "without an error of the disk" is cache_errors 0
	gone

	for fault in write sync; do
		rm -rf "$tmp/back"
		failing "$tmp/back"
		echo $fault >"$control"
		mount_here ""
		check "EIO at each $fault: right bytes" right
		check "EIO at each $fault: counted" has cache_errors 9
		check "EIO at each $fault: the log says so" grep -q "the cache does not take a piece" "$tmp/log"
		: >"$control"
		gone
	done

	# Pieces that were in the cache, and are not given back: from the start, and while they are being read.
	rm -rf "$tmp/back"
	failing "$tmp/back" && mount_here "" && right && unmount
	echo read >"$control"
	mount_here ""
	check "EIO when a cached piece is opened: right bytes" right
	check "EIO when a cached piece is opened: counted" has cache_errors 1
	: >"$control"
	unmount
	mount_here ""
	head -n 3 "$tmp/sums" | (cd "$mnt" && sha256sum --quiet -c -)
	echo read >"$control"
	check "EIO when an open piece is read: right bytes" right
	check "EIO when an open piece is read: counted" has cache_errors 1
	check "and the log says so" grep -q "cache's disk fails" "$tmp/log"
	check "and no reader had an error" is errors 0
	gone

	# All at once, in the middle, and a piece that is streamed to disk: one row of 8 MB.
	rm -rf "$tmp/back"
	failing "$tmp/back"
	"$PYTHON" - <<-'END'
		import json, os
		text = "\n".join(json.loads(x)["text"] for x in open(os.environ["data"] + "/jsonl/plain/000_00001.jsonl"))
		with open(os.environ["tmp"] + "/long.jsonl", "w") as f:
		    json.dump({"text": text * (8000000 // len(text))}, f)
	END
	long() {
		fineweb "$tmp/long.jsonl" "$mnt" -o "counts=exact,shuffle=none,memory=32M,cache=$1" || return
		cat "$mnt"/rank_0/batch_*.bin | sha256sum
		unmount
	}
	long "$tmp/cache" >"$tmp/want" 2>"$tmp/log"
	[ "$(wc -l <"$tmp/want")" = 1 ] || not_ok "a row of 8 MB" "$tmp/log"
	echo write >"$control"
	check "EIO while a large piece goes to disk: right bytes" sh -c '[ "$1" = "$2" ]' - "$(cat "$tmp/want")" "$(long "$tmp/disk")"
	gone

	# A disk that fails wholly while ranks read.
	rm -rf "$tmp/back"
	failing "$tmp/back" && mount_here ""
	(sleep 0.1; echo all >"$control") &
	check "a disk that fails in the middle of it all: right bytes" right
	wait $!
	gone

	# A network filesystem without locks, shared by two mounts.
	rm -rf "$tmp/back"
	failing "$tmp/back" nolock
	mkdir "$tmp/second"
	mount_here ""
	start fineweb "$data/sample/10BT" "$tmp/second" -f -o "$options,cache=$tmp/disk" 2>"$tmp/log2"
	wait_for 20 test -e "$tmp/second/rank_0"
	cat "$tmp/second"/rank_?/batch_*.bin >/dev/null &
	check "a cache without locks, shared: right bytes" right
	wait $!
	check "it says once that there are no locks" sh -c '[ "$(grep -c "no locks" "$1")" = 1 ]' - "$tmp/log"
	unmount "$tmp/second"
	unmount
	mount_here ""
	check "and each piece is right" right
	check "and is there" is pieces_tokenized 0
	gone
fi

# The bound of the cache, looked at every few milliseconds while four ranks read.
check "the cache keeps its bound under load" "$PYTHON" "$here/disks.py"
finish
