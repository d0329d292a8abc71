#!/bin/sh
# fineweb cat: every batch of expected/batches.json, the other forms, where rows are from, and the way back.
. "$(dirname "$0")/functions.sh"

python3 "$data/long.py" "$tmp/long" || exit 99
taps cat.py
taps origin.py

sample=$data/sample/10BT
"$FINEWEB" cat "$sample" -o batch_size=2 --batch 0-9 >"$tmp/ten"
check "a range is the batches one after another" sh -c '
	for i in 0 1 2 3 4 5 6 7 8 9; do "$FINEWEB" cat "$1" --batch_size=2 --batch $i; done | cmp - "$2"' - "$sample" "$tmp/ten"
check "N- goes to the end" sh -c '"$FINEWEB" cat "$1" --batch 0- | sha256sum >"$2" &&
	"$FINEWEB" cat "$1" --batch 0-6 | sha256sum | cmp - "$2"' - "$sample" "$tmp/sum"
{ "$FINEWEB" cat "$sample" -o batch_size=2 --batch 0- 2>"$tmp/err"; echo $? >"$tmp/code"; } | head -c 1 >"$tmp/byte"
check "head -c 1 ends it quietly" sh -c '[ "$(cat "$1/code")" = 0 ] && [ ! -s "$1/err" ] && [ -s "$1/byte" ]' - "$tmp"
{ "$FINEWEB" cat "$sample" --where --batch 0- 2>"$tmp/err"; echo $? >"$tmp/code"; } | head -n 1 >"$tmp/byte"
check "so does head -n 1 of --where" sh -c '[ "$(cat "$1/code")" = 0 ] && [ ! -s "$1/err" ] && [ -s "$1/byte" ]' - "$tmp"
if [ -c /dev/full ]; then
	"$FINEWEB" cat "$sample" >/dev/full 2>"$tmp/err"
	echo $? >"$tmp/code"
	check "a full disk is one line and 1" sh -c '[ "$(cat "$1/code")" = 1 ] && [ "$(wc -l <"$1/err")" = 1 ] &&
		grep -q "No space" "$1/err"' - "$tmp"
fi
finish
