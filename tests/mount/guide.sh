#!/bin/sh
# The example programs run on a mount: the course guide's loaders, the training loops, the C reader.
. "$(dirname "$0")/functions.sh"
examples=$top/examples

fineweb "$data/sample/10BT" "$mnt" -o world_size=2,batch_size=4,seq_len=1024,shard_tokens=30000 || exit 99

if "$PYTHON" -c 'import numpy' 2>/dev/null; then
	check "the guide's get_shard_path, load_data_shard and ShardedDataLoader read shards/" \
		"$PYTHON" "$examples/guide.py" "$mnt/shards"
	"$PYTHON" "$examples/guide.py" "$mnt/shards" >"$tmp/guide"
	check "two ranks take alternate shards, and all of them" sh -c '
		grep -q "^rank 0 of 2: shards 0 2 4 6 8" "$tmp/guide" && grep -q "^rank 1 of 2: shards 1 3 5 7" "$tmp/guide"'
	check "its batches are the tokens of the shards" grep -q "^targets are inputs moved by one" "$tmp/guide"
	check "the NumPy loop reads rank_0" sh -c '"$PYTHON" "$top/examples/loop_numpy.py" "$mnt" 0 >"$tmp/loop" &&
		[ "$(wc -l <"$tmp/loop")" = 29 ] && grep -q "(4, 1024) (4, 1024)" "$tmp/loop"'
else
	skip "the guide's loaders" "no numpy"
	skip "the NumPy loop" "no numpy"
fi
if "$PYTHON" -c 'import torch' 2>/dev/null; then
	check "the PyTorch loop reads rank_0" "$PYTHON" "$examples/loop.py" "$mnt" 0
else
	skip "the PyTorch loop" "no torch"
fi

check "the C program compiles without a warning" "${CC-cc}" -std=c17 -Wall -Wextra -Werror -O2 -o "$tmp/read" "$examples/read.c"
check "the C program reads every batch of rank_1" sh -c '"$tmp/read" "$mnt/rank_1" 4 1024 >"$tmp/c" && grep -q "^29 batches" "$tmp/c"'
check "and sums the tokens that are there" sh -c '
	sum=$("$PYTHON" -c "
import array, glob, sys
a = array.array(\"H\")
for f in sorted(glob.glob(sys.argv[1] + \"/*.bin\")):
    a.frombytes(open(f, \"rb\").read())
if sys.byteorder == \"big\":
    a.byteswap()
print(sum(a))" "$mnt/rank_1"); grep -q "sum $sum\$" "$tmp/c"'
check "decode shows what a batch says" sh -c '
	head -c 96 "$mnt/rank_0/batch_0000.bin" | fineweb decode --format u16 | tr -d "\n" | wc -c | grep -qE "^[0-9]{3}$"'
unmount
finish
