#!/bin/sh
# Trainers' own loading code (tests/trainers/) gives on a mount what it gives on the files of their own preparation scripts.
. "$(dirname "$0")/functions.sh"
trainers=$top/tests/trainers
mkdir "$tmp/two"
cp "$data/sample/10BT/000_00001.parquet" "$data/sample/10BT/000_00002.parquet" "$tmp/two"
with=val_tokens=20000,shard_tokens=20000,world_size=2,batch_size=4,seq_len=256

same() {
	"$@" "$tmp/real/$form$pattern" >"$tmp/real.out" 2>&1 || { cat "$tmp/real.out"; return 1; }
	"$@" "$mnt/shards$pattern" >"$tmp/mount.out" 2>&1 || { cat "$tmp/mount.out"; return 1; }
	[ "$(wc -l <"$tmp/real.out")" -gt 20 ] && diff "$tmp/real.out" "$tmp/mount.out"
}
# trainer FORM PATTERN WHAT COMMAND...
trainer() {
	form=$1
	pattern=$2
	what=$3
	shift 3
	if [ -d "$tmp/real" ]; then check "$what" same "$@"; else skip "$what" "no numpy"; fi
}

# The first piece of the two files has 22,869 tokens: it is held out.
"$PYTHON" -c 'import numpy' 2>/dev/null &&
	"$PYTHON" "$trainers/write.py" "$data/tokens/raw/fineweb_train_000000.bin" 22869 20000 "$tmp/real"
for form in nanogpt npy llmc raw; do
	fineweb "$tmp/two" "$mnt" -o $with,shards=$form || exit 99
	case $form in
	nanogpt) trainer nanogpt "" "nanoGPT: get_batch" "$PYTHON" "$trainers/nanogpt.py" ;;
	npy) trainer npy "" "build-nanogpt: DataLoaderLite" "$PYTHON" "$trainers/build_nanogpt.py" ;;
	llmc)
		trainer llmc "" "modded-nanogpt: distributed_data_generator" "$PYTHON" "$trainers/modded_nanogpt.py"
		check "llm.c's loader compiles" "${CC-cc}" -std=c17 -Wall -Wextra -Werror -D_GNU_SOURCE -O2 -o "$tmp/llmc" "$trainers/llmc.c"
		trainer llmc "/fineweb_train_*.bin" "llm.c: dataloader.h" "$tmp/llmc"
		;;
	raw)
		trainer raw "" "nanochat: documents into a buffer of tokens" "$PYTHON" "$trainers/nanochat.py"
		trainer raw "" "the course guide: ShardedDataLoader" "$PYTHON" "$trainers/guide.py"
		;;
	esac
	[ $form = raw ] || unmount
done

# The batch files themselves, in five languages: the same number of batches, the same sum of tokens.
if "$PYTHON" -c 'import numpy' 2>/dev/null; then
	check "NumPy: fromfile, memmap, np.load(mmap_mode), epoch.bin" sh -c '"$PYTHON" "$1/mapped.py" "$mnt" 1 >"$tmp/want"' - "$trainers"
else
	skip "NumPy: fromfile, memmap, np.load(mmap_mode), epoch.bin" "no numpy"
fi
# A shell one-liner: od writes the tokens, awk adds them.
shell_sum() {
	cat "$mnt"/rank_1/batch_*.bin | od -An -v -tu2 --endian=little | awk '{ for (i = 1; i <= NF; i++) s += $i } END { print s }' >"$tmp/shell"
	n=$(ls "$mnt/rank_1" | wc -l)
	line="$n batches of 4 x 257, sum $(cat "$tmp/shell")"
	[ -e "$tmp/want" ] || echo "$line" >"$tmp/want"
	echo "$line" | diff - "$tmp/want"
}
check "a shell one-liner" shell_sum
c_sum() {
	"${CC-cc}" -std=c17 -Wall -Wextra -Werror -O2 -o "$tmp/read_c" "$top/examples/read.c" && "$tmp/read_c" "$mnt/rank_1" 4 256 >"$tmp/out" &&
		[ "$(sed 's/.*sum //' "$tmp/out")" = "$(cat "$tmp/shell")" ]
}
check "a C program" c_sum
go_sum() {
	# Its standard library is compiled once, not in each run of the tests.
	GOCACHE=${GOCACHE-$home/.cache/go-build} GOFLAGS=-mod=mod go run "$trainers/read.go" "$mnt" 1 >"$tmp/out" && diff "$tmp/out" "$tmp/want"
}
if command -v go >/dev/null; then check "a Go program" go_sum; else skip "a Go program" "no go"; fi
rust_sum() {
	rustc -O -o "$tmp/read_rust" "$trainers/read.rs" && "$tmp/read_rust" "$mnt/rank_1" 4 257 >"$tmp/out" && diff "$tmp/out" "$tmp/want"
}
# rustup's shim looks for its toolchain in HOME.
if HOME=$home rustc --version >/dev/null 2>&1; then
	HOME=$home
	check "a Rust program" rust_sum
	HOME=$tmp/home
else
	skip "a Rust program" "no rustc"
fi
unmount
check "nothing is left mounted" nothing_mounted
finish
