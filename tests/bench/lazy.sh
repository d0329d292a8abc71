#!/bin/sh
# Lazy reading over HTTP against Python's ways, in two tables. usage: lazy.sh BUILD_DIR [SCRATCH_DIR [first|sustained|data [ROUNDS]]]
# Needs root, /dev/fuse, nginx, two CPUs, and 2 GB in SCRATCH_DIR (default: a folder in /var/tmp), where Python's packages are installed into a
# venv; one that cannot be is named, and its row is left out. BENCH_TEXT names .jsonl or plain text files of distinct text; otherwise it is the
# tests' own and a dictionary that Debian has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
scratch=${2:-/var/tmp/fineweb-bench-lazy}
parts=${3:-first sustained}
rounds=${4:-5}
mkdir -p "$scratch/data"
scratch=$(cd "$scratch" && pwd)

[ -x "$scratch/venv/bin/python" ] || python3 -m venv "$scratch/venv"
for package in numpy tiktoken pyarrow tokenizers polars gigatoken fsspec aiohttp datasets; do
	"$scratch/venv/bin/pip" --disable-pip-version-check -q install "$package" >"$scratch/pip.log" 2>&1 ||
		echo "$package cannot be installed: $(tail -n 1 "$scratch/pip.log")"
done

# A dictionary that Debian has, as text, without installing it.
book() {
	mkdir -p "$scratch/book"
	(cd "$scratch/book" && apt-get -q download dict-gcide && dpkg-deb -x ./*.deb .) >/dev/null 2>&1 || return 0
	gzip -dcq <"$scratch/book/usr/share/dictd/gcide.dict.dz" >"$scratch/book/gcide.txt"
}

if [ ! -e "$scratch/data/sizes.json" ]; then
	if [ -z "${BENCH_TEXT:-}" ]; then
		book
		BENCH_TEXT=$(ls "$here"/../data/jsonl/plain/*.jsonl "$scratch"/book/gcide.txt 2>/dev/null)
	fi
	# shellcheck disable=SC2086
	"$scratch/venv/bin/python" "$here/lazy_data.py" "$scratch/data" $BENCH_TEXT
	"$scratch/venv/bin/python" -c 'import sys
import pyarrow.parquet as pq
print("\n".join(pq.read_table(sys.argv[1], columns=["text"])["text"].to_pylist()))' "$scratch/data/pass1.parquet" >"$scratch/text.txt"
fi

echo "# $(uname -sr), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), load $(cut -d' ' -f1 /proc/loadavg)"
for part in $parts; do
	[ "$part" = data ] || "$scratch/venv/bin/python" "$here/lazy.py" "$part" "$build" "$scratch" "$rounds"
done
