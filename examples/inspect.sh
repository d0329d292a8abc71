#!/bin/sh
# inspect.sh MOUNT: a first look at a mount with what every system has. Nothing here needs Python or a GPU.
set -eu
mnt=${1-/mnt/fw}

echo "== What is it? README.txt says it in words, dataset.json for programs"
head -n 12 "$mnt/README.txt"

echo "== Ranks, and the batches of the first"
ls "$mnt"
ls "$mnt/rank_0" | head -n 3
echo "... $(ls "$mnt/rank_0" | wc -l) batches of $(stat -c %s "$mnt/rank_0/batch_0000.bin") bytes"

echo "== A batch: rows of T + 1 tokens, little-endian; -tu2 because a token is two bytes (dtype in dataset.json)"
od -An -tu2 -N 64 "$mnt/rank_0/batch_0000.bin"

echo "== How many documents begin in it? Each begins with its id 50256"
od -An -v -w2 -tu2 "$mnt/rank_0/batch_0000.bin" | grep -c 50256 || true

echo "== Which batch is a file? Extended attributes say it, too"
if command -v getfattr >/dev/null; then getfattr -d "$mnt/rank_0/batch_0000.bin" 2>/dev/null; fi

echo "== The text of its first row, and where it is from (made when somebody looks)"
head -c 600 "$mnt/rank_0/batch_0000.txt"
echo
head -c 600 "$mnt/rank_0/batch_0000.json"

echo "== What has it done so far?"
head -n 23 "$mnt/stats.json"
