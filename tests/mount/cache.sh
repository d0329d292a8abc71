#!/bin/sh
# The cache and the index: nothing twice, nothing wrong after a kill, a flipped byte or a full disk.
. "$(dirname "$0")/functions.sh"

expected sample/10BT >"$tmp/sums"
options=$(cat "$tmp/options")
expected jsonl/plain >"$tmp/jsonl.sums"
jsonl=$(cat "$tmp/options")

right() {
	(cd "$mnt" && sha256sum --quiet -c "$tmp/sums") && return
	cat "$mnt/stats.json"
	return 1
}
is() {
	[ "$(stat_of "$1")" = "$2" ] || { echo "$1 is $(stat_of "$1"), not $2"; return 1; }
}
pieces() {
	find "$FINEWEB_CACHE" -name '*.tok'
}

fineweb "$data/sample/10BT" "$mnt" -o "$options"
check "a first mount gives the right bytes" right
check "and tokenises each of the 9 pieces once" is pieces_tokenized 9
check "and keeps them" sh -c '[ "$(find "$FINEWEB_CACHE" -name "*.tok" | wc -l)" = 9 ]'
unmount

fineweb "$data/sample/10BT" "$mnt" -o "$options"
check "a second mount gives the same" right
check "and tokenises nothing" is pieces_tokenized 0
check "and fetches nothing" is pieces_fetched 0
check "and opens what is cached" sh -c 'grep -q "\"cache_hits\": *[1-9]" "$mnt/stats.json"'
unmount

fineweb "$data/sample/10BT" "$mnt" -o "$options,seed=99,world_size=1,seq_len=100"
cat "$mnt"/rank_0/batch_*.bin >/dev/null
check "nor does one with another order and shape" is pieces_tokenized 0
unmount

cp "$tmp/sums" "$tmp/parquet.sums"
cp "$tmp/jsonl.sums" "$tmp/sums"
fineweb "$data/jsonl/plain" "$mnt" -o "$jsonl"
check "JSONL, counted by tokenising: right bytes" right
check "each of its 4 pieces is tokenised once" is pieces_tokenized 4
unmount
fineweb "$data/jsonl/plain" "$mnt" -o "$jsonl"
check "a second mount of it gives the same" right
check "and tokenises nothing, though counts were exact" is pieces_tokenized 0
unmount
cp "$tmp/parquet.sums" "$tmp/sums"

# One flipped byte in the ids of one piece, and one in the header of another.
flip() {
	"$PYTHON" - "$1" "$2" <<-'END'
		import sys
		with open(sys.argv[1], "r+b") as f:
		    f.seek(int(sys.argv[2]))
		    b = f.read(1)
		    f.seek(-1, 1)
		    f.write(bytes([b[0] ^ 4]))
	END
}
flipped() {
	file=$(pieces | sort | sed -n "$1p")
	rm -rf "$tmp/before"
	cp -p "$file" "$tmp/before"
	flip "$file" "$2"
	fineweb "$data/sample/10BT" "$mnt" -o "$options" || return
	right && [ "$(($(stat_of pieces_tokenized) > 0))" = 1 ] && cmp "$file" "$tmp/before"
	status=$?
	unmount
	return $status
}
# The sample's pieces and those of jsonl/ lie side by side: only the first kind is read, so flip one of each half.
rm -rf "$FINEWEB_CACHE"
fineweb "$data/sample/10BT" "$mnt" -o "$options" && right && unmount
check "a flipped id is found, the piece made again" flipped 2 3001
check "a flipped byte of the header too" flipped 5 17
check "a flipped last byte too" flipped 7 "$(($(stat -c %s "$(pieces | sort | sed -n 7p)") - 1))"
truncated() {
	file=$(pieces | sort | sed -n 3p)
	cp "$file" "$tmp/before"
	truncate -s 5000 "$file"
	fineweb "$data/sample/10BT" "$mnt" -o "$options" || return
	right && cmp "$file" "$tmp/before"
	status=$?
	unmount
	return $status
}
check "a truncated piece too" truncated
garbage() {
	unmount 2>/dev/null
	find "$FINEWEB_CACHE" -path '*index*' -type f -exec sh -c 'head -c 20000 /dev/urandom >"$1"' - {} \;
	find "$FINEWEB_CACHE" -name '*.cnt' -exec sh -c 'head -c 90 /dev/urandom >"$1"' - {} \;
	fineweb "$data/sample/10BT" "$mnt" -o "$options" || return
	right
	status=$?
	unmount
	return $status
}
check "an index and counts of random bytes are made anew" garbage

# kill -9 while pieces are made.
"$PYTHON" - >"$tmp/delays" <<-END
	import random
	print(*(round(random.uniform(0.005, 0.4), 3) for _ in range(12)))
END
killed() {
	rm -rf "$FINEWEB_CACHE"
	for delay in $(cat "$tmp/delays"); do
		start fineweb "$data/sample/10BT" "$mnt" -f -o "$options" 2>/dev/null
		daemon=$pid
		(wait_for 10 test -e "$mnt/rank_0" && cat "$mnt"/rank_1/batch_00*.bin >/dev/null 2>&1) &
		reader=$!
		sleep "$delay"
		kill -9 "$daemon"
		wait "$daemon" "$reader" 2>/dev/null
		umount -l "$mnt" 2>/dev/null
	done
	fineweb "$data/sample/10BT" "$mnt" -o "$options" || return
	right || { cat "$tmp/delays"; return 1; }
	unmount
	[ -z "$(find "$FINEWEB_CACHE" -name '*.tok' -size -65c)" ]
}
check "kill -9 at twelve random moments, then the right bytes" killed
check "at most the pieces in work were lost: nothing to do for a third mount" sh -c '
	fineweb "$data/sample/10BT" "$mnt" -o "$1" && cat "$mnt"/rank_?/batch_*.bin >/dev/null &&
	grep -q "\"pieces_tokenized\": *0" "$mnt/stats.json"' - "$options"
unmount

# Disks that take nothing.
mkdir "$tmp/small"
mount -t tmpfs -o size=200k tmpfs "$tmp/small"
fineweb "$data/sample/10BT" "$mnt" -o "$options,cache=$tmp/small"
check "a cache disk that fills up never fails a read" right
unmount
umount "$tmp/small"
mount -t tmpfs -o size=8m tmpfs "$tmp/small"
mount -o remount,ro "$tmp/small"
fineweb "$data/sample/10BT" "$mnt" -o "$options,cache=$tmp/small"
check "nor does a read-only one" right
unmount
umount "$tmp/small"

# Two mounts of one cache at once: each piece is made once for both.
rm -rf "$FINEWEB_CACHE"
mkdir "$tmp/second"
both() {
	fineweb "$data/sample/10BT" "$mnt" -o "$options" && fineweb "$data/sample/10BT" "$tmp/second" -o "$options" || return
	cat "$mnt"/rank_0/batch_*.bin >"$tmp/a" &
	cat "$tmp/second"/rank_0/batch_*.bin >"$tmp/b"
	wait $!
	cmp "$tmp/a" "$tmp/b" && right || return
	made=$(stat_of pieces_tokenized)
	unmount
	made=$((made + $("$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["pieces_tokenized"])' "$tmp/second/stats.json")))
	unmount "$tmp/second"
	[ "$made" = 9 ] || { echo "made $made pieces, not 9"; return 1; }
}
check "two mounts share a cache, and make each piece once" both
for m in $(mounts); do umount "$m"; done
finish
