#!/bin/sh
# What needs PyTorch: its loaders on a mount, and a training run of two ranks that goes on with one. PYTHON_TORCH names a python that has it.
. "$(dirname "$0")/../mount/functions.sh"
trainers=$top/tests/trainers
python=${PYTHON_TORCH-python3}
if ! "$python" -c 'import torch, numpy' 2>/dev/null; then
	echo "1..0 # SKIP no torch in $python"
	exit 0
fi
mkdir "$tmp/two"
cp "$data/sample/10BT/000_00001.parquet" "$data/sample/10BT/000_00002.parquet" "$tmp/two"
"$python" "$trainers/write.py" "$data/tokens/raw/fineweb_train_000000.bin" 22869 20000 "$tmp/real"
fineweb "$tmp/two" "$mnt" -o val_tokens=20000,shard_tokens=20000,world_size=2,batch_size=4,seq_len=256 || exit 99
taps "$python" "$trainers/torch_loaders.py" "$mnt" "$tmp/real"
check "examples/loop.py" "$python" "$top/examples/loop.py" "$mnt" 0
check "examples/loader.py asserts WORLD_SIZE" sh -c '! "$1" "$top/examples/loader.py" "$mnt" 2>"$tmp/said" && grep -q "mounted for 2 ranks, WORLD_SIZE=1" "$tmp/said"' - "$python"
check "examples/loader.py reads a rank" env RANK=1 WORLD_SIZE=2 "$python" "$top/examples/loader.py" "$mnt"
unmount

# A small GPT, 50 steps on the sample: two ranks under torchrun; then stopped at 25 and continued by one rank.
small="--steps 50 --layers 2 --heads 2 --width 64 --rate 3e-3"
OMP_NUM_THREADS=1
export OMP_NUM_THREADS
# run RANKS OUTPUT ARGUMENTS...
run() {
	ranks=$1
	out=$2
	shift 2
	"$python" -m torch.distributed.run --standalone --nproc_per_node="$ranks" "$top/examples/train_gpt2.py" "$mnt" $small "$@" >"$out" 2>"$out.err" ||
		{ tail -n 20 "$out.err"; return 1; }
}
two=seq_len=128,world_size=2,batch_size=4
fineweb "$data/sample/10BT" "$mnt" -o $two || exit 99
check "two ranks under torchrun take 50 steps" run 2 "$tmp/whole"
falls() {
	tail -n 3 "$tmp/whole"
	[ "$(grep -c '^step' "$tmp/whole")" = 50 ] && awk '/^step/ { n++; if (n <= 5) a += $4; if (n > 45) b += $4 }
		END { printf "mean loss of the first 5 steps %.3f, of the last 5 %.3f\n", a / 5, b / 5; exit !(b < a - 5) }' "$tmp/whole"
}
check "the loss falls" falls
echo "# $(falls | tail -n 1)"
check "they stop after 25" run 2 "$tmp/part" --stop 25 --checkpoint "$tmp/gpt.pt"
unmount
check "the checkpoint says start=" grep -q "start=200$" "$tmp/part"
fineweb "$data/sample/10BT" "$mnt" -o seq_len=128,world_size=1,batch_size=8,start=200 || exit 99
check "one rank goes on from there" run 1 "$tmp/rest" --checkpoint "$tmp/gpt.pt"
follows() {
	cat "$tmp/part" "$tmp/rest" | awk '/^step/ { print $2, $6 }' >"$tmp/read"
	awk '/^step/ { print $2, $6 }' "$tmp/whole" | diff - "$tmp/read"
}
check "and reads what the two would have read, step by step" follows
near() {
	cat "$tmp/part" "$tmp/rest" | awk '/^step/ { print $4 }' | paste - "$tmp/losses" |
		awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > m) m = d } END { print "largest difference of a loss", m + 0; exit !(m < 0.02) }'
}
awk '/^step/ { print $4 }' "$tmp/whole" >"$tmp/losses"
check "with the same losses" near
echo "# $(near)"
unmount
check "nothing is left mounted" nothing_mounted
finish
