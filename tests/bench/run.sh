#!/bin/sh
# What the machine and this program can do, in one table. usage: run.sh BUILD_DIR [SCRATCH_DIR]
# Needs root, /dev/fuse and about 2.5 GB in SCRATCH_DIR (default: a folder in /var/tmp). BENCH_TOKENS (default 1e9) sets the size.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
scratch=${2:-/var/tmp/fineweb-bench}
tokens=${BENCH_TOKENS:-1000000000}
mkdir -p "$scratch/tokens" "$scratch/mnt" "$scratch/sparse150" "$scratch/sparse150k"
trap 'umount "$scratch/mnt" 2>/dev/null || :' EXIT INT TERM

echo "# $(uname -sr), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1 /proc/loadavg)"

# Shards of 1e8 ids that look like nothing in particular, and sparse ones for the simulated sizes.
python3 - "$scratch" "$tokens" <<'P'
import array
import os
import sys

scratch, tokens = sys.argv[1], int(float(sys.argv[2]))
part = array.array("H", ((i * 2654435761 % (1 << 32) >> 7) % 50257 for i in range(1_000_000))).tobytes()
for n in range(-(-tokens // 100_000_000)):
    want = min(100_000_000, tokens - n * 100_000_000) * 2
    path = f"{scratch}/tokens/fineweb_train_{n:06d}.bin"
    if not os.path.exists(path) or os.path.getsize(path) != want:
        with open(path, "wb") as f:
            for at in range(0, want, len(part)):
                f.write(part[:want - at])
for folder, files, size in (("sparse150", 150, 200_000_000_000), ("sparse150k", 150_000, 200_000_000)):
    for n in range(files):
        fd = os.open(f"{scratch}/{folder}/fineweb_train_{n:06d}.bin", os.O_CREAT | os.O_WRONLY, 0o644)
        os.ftruncate(fd, size)
        os.close(fd)
P
cat "$scratch"/tokens/*.bin >/dev/null

"$build/tests/bench/bench_order"
# Text of the tests' data: a megabyte, so that warm is very warm; give bench_token a larger file of your own.
python3 - "$here/../.." >"$scratch/text.txt" <<'P'
import json
import pathlib
import sys

top = pathlib.Path(sys.argv[1])
for data in (top / "tests/data/jsonl/plain", top / "../shared/data/jsonl/plain"):
    for path in sorted(data.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            print(json.loads(line)["text"])
    if data.exists():
        break
P
"$build/tests/bench/bench_token" gpt2 "$scratch/text.txt"

"$build/fineweb" "$scratch/tokens" "$scratch/mnt" -o "cache=$scratch/cache"
bdi=/sys/class/bdi/$(mountpoint -d "$scratch/mnt")/read_ahead_kb
echo "read_ahead_kb $(cat "$bdi")"
"$build/tests/bench/bench_read" "$scratch/mnt" "$scratch/tokens"
umount "$scratch/mnt"
# A new mount: what was read through the old one is in the kernel's page cache.
"$build/fineweb" "$scratch/tokens" "$scratch/mnt" -o "cache=$scratch/cache"
"$build/tests/bench/bench_read" "$scratch/mnt" "$scratch/tokens" 3 200 --cold
umount "$scratch/mnt"

python3 "$here/start.py" "$build/fineweb" "$scratch/tokens" "$scratch/mnt" "1e9 tokens"
python3 "$here/start.py" "$build/fineweb" "$scratch/sparse150" "$scratch/mnt" "15e12: 150 files of 1e11"
python3 "$here/start.py" "$build/fineweb" "$scratch/sparse150k" "$scratch/mnt" "15e12: 150,000 files of 1e8"
