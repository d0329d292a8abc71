#!/bin/sh
# fineweb prepare: bytes, forms, targets, restarts, repair, tasks; and a disk that is full.
. "$(dirname "$0")/functions.sh"

python3 "$data/long.py" "$tmp/long" || exit 99
taps prepare.py

# A disk of one megabyte, where somebody may mount one.
if [ "$(id -u)" = 0 ] && mkdir "$tmp/small" && mount -t tmpfs -o size=300k tmpfs "$tmp/small" 2>/dev/null; then
	trap 'umount "$tmp/small"; rm -rf "$tmp"' EXIT
	check "a full disk is one line and 1" fails 1 "small No space left" prepare "$data/sample/10BT" -o "$tmp/small/out" \
		--shard-tokens 50000 -q
	check "shards that are whole stay, no .part does" sh -c '
		[ -e "$1/fineweb_train_000000.bin" ] && ! ls "$1" | grep -q "part$"' - "$tmp/small/out"
	mount -o remount,size=4m "$tmp/small"
	check "with room it goes on" "$FINEWEB" prepare "$data/sample/10BT" -o "$tmp/small/out" --shard-tokens 50000 -q
	"$FINEWEB" prepare "$data/sample/10BT" -o "$tmp/roomy" --shard-tokens 50000 -q
	check "to the same bytes" diff -r "$tmp/small/out" "$tmp/roomy"
else
	count=$((count + 1))
	echo "ok $count - a full disk # SKIP needs root to mount a small one"
fi

check "progress when there is no terminal: only the end" sh -c '
	"$FINEWEB" prepare "$1" -o "$2" 2>"$2.err" | grep -q "wrote 1 shard, 244K tokens, 398 documents" && [ ! -s "$2.err" ]' - \
	"$data/sample/10BT" "$tmp/one"
check "--json: one object a line, the last is done" sh -c '
	"$FINEWEB" prepare "$1" -o "$2" --json | python3 -c "
import json, sys
lines = [json.loads(l) for l in sys.stdin]
assert 0 < lines[-1][\"tokenizer_share\"] and lines[-1][\"done\"] and lines[-1][\"tokens\"] == 244148 and lines[-1][\"documents\"] == 398"' - \
	"$data/sample/10BT" "$tmp/two"
check "it tells its share of the tokenizer's speed, and what took the rest" sh -c '
	"$FINEWEB" prepare "$1" -o "$2" | python3 -c "
import re, sys
share, reading, rest = map(int, re.search(
    r\"(\d+) % of the tokenizer.s own [0-9.]+[KMB]? tokens/s on \d+ CPUs?; (\d+) % of the time went into reading, (\d+) %\",
    sys.stdin.read()).groups())
assert share > 0 and 97 <= share + reading + rest, (share, reading, rest)"' - "$data/sample/10BT" "$tmp/three"
check "of token files there is none" sh -c '
	[ "$("$FINEWEB" prepare "$1" -o "$2" | wc -l)" = 1 ] && "$FINEWEB" prepare "$1" -o "$3" --json |
		tail -n 1 | grep -q "\"tokenizer_share\":null"' - "$data/tokens/raw" "$tmp/four" "$tmp/five"
check "help fits a screen" sh -c '[ "$("$FINEWEB" prepare --help | wc -l)" -le 24 ]'
finish
