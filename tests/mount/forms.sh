#!/bin/sh
# Batches for eyes: batch_XXXX.txt and .json, what plain tools make of every part of the tree.
. "$(dirname "$0")/functions.sh"

source=$data/sample/10BT
fineweb "$source" "$mnt" -o world_size=2,batch_size=4,seq_len=256,epochs=2,val_tokens=30000 || exit 99
options="--world-size 2 --batch-size 4 --seq-len 256 --val-tokens 30000"

# The same texts without a mount: tests/cli/cat.sh compares those with numbers that are not ours.
same() {
	fineweb cat "$source" $options "$@" >"$tmp/want" && cmp "$tmp/want" "$mnt/$file" &&
		[ "$(stat -c %s "$mnt/$file")" = "$(stat -c %s "$tmp/want")" ]
}
file=rank_1/batch_0007.txt
check "a batch as text, with its true size" same --rank 1 --batch 7 --format text
file=rank_1/batch_0007.json
check "where its rows are from" same --rank 1 --batch 7 --format json
file=epoch_3/rank_0/batch_00002.txt
check "of an epoch that is not listed, with more zeros" same --rank 0 --batch 2 --format text --epoch 3
file=val/rank_1/batch_0003.json
check "of the held-out part" same --rank 1 --batch 3 --format json --val
lines() {
	grep -c '^=== rank 1, row [0-3]: 000_0000[0-3].parquet, piece [0-9]*, sequence [0-9]*$' "$mnt/rank_1/batch_0007.txt"
	[ "$(cat "$tmp/said")" = 4 ] && for k in 0 1 2 3 4 5; do cat "$mnt/rank_0/batch_000$k.txt"; done | grep -q '<|endoftext|>'
}
check "each row begins with a line that says where it is from; documents are marked" lines
rows() {
	"$PYTHON" - "$mnt" <<-'END'
		import json, sys
		from pathlib import Path
		mnt = Path(sys.argv[1])
		n = 0
		for k in range(20):
		    j = json.loads((mnt / f"rank_0/batch_{k:04d}.json").read_text())
		    b = (mnt / f"rank_0/batch_{k:04d}.bin").read_bytes()
		    ids = [b[i] | b[i + 1] << 8 for i in range(0, len(b), 2)]
		    assert len(j["rows"]) == 4
		    for r, row in enumerate(j["rows"]):
		        starts = [i for i in range(257) if ids[257 * r + i] == 50256]
		        assert [d["offset"] for d in row["documents"] if d["skipped"] == 0] == starts, (k, r)
		        assert all(d["skipped"] == 0 or d["offset"] == 0 for d in row["documents"])
		        assert all(d["id"].startswith("<urn:uuid:") and d["url"].startswith("http") for d in row["documents"])
		        n += len(starts)
		assert n > 20, n
	END
}
check "the documents of .json begin where the batch has their first id" rows
absent() {
	for f in rank_0/batch_9999.txt rank_0/batch_9999.json val/rank_0/batch_9999.txt rank_0/batch_0000.text rank_2/batch_0000.txt \
		epoch_0/batch_0000.txt shards/batch_0000.txt; do
		[ ! -e "$mnt/$f" ] || { echo "$f"; return 1; }
	done
	[ -z "$(find "$mnt" -name 'batch_*.txt' -o -name 'batch_*.json' -o -name '*.prom')" ]
}
check "beyond the end they are not there; they are not listed" absent
many() {
	for k in $(seq 0 39); do f=$(printf "rank_0/batch_%04d.txt" "$k"); sha256sum "$mnt/$f" || return 1; done >"$tmp/one"
	echo 3 >/proc/sys/vm/drop_caches
	for k in $(seq 0 39); do f=$(printf "rank_0/batch_%04d.txt" "$k"); sha256sum "$mnt/$f" || return 1; done | cmp - "$tmp/one"
}
check "forty of them, read again after the caches are empty, are the same" many
part() {
	[ "$(dd if="$mnt/rank_0/batch_0001.txt" bs=7 skip=20 count=3 2>/dev/null)" = "$(tail -c +141 "$mnt/rank_0/batch_0001.txt" | head -c 21)" ]
}
check "dd and tail read parts" part
# More texts than are kept: some are given up before their readers have read them, and made once more.
side_by_side() {
	for k in $(seq 0 39); do printf 'rank_0/batch_%04d.txt\nrank_1/batch_%04d.json\n' "$k" "$k"; done >"$tmp/names"
	(cd "$mnt" && xargs sha256sum <"$tmp/names" | sort) >"$tmp/one"
	echo 3 >/proc/sys/vm/drop_caches
	(cd "$mnt" && xargs -P 24 -n 1 sha256sum <"$tmp/names" | sort) | cmp - "$tmp/one"
}
check "many readers at once" side_by_side

# tool NAME COMMAND...: skipped where it is not installed.
tool() {
	if command -v "$1" >/dev/null; then check "$1: $2" sh -c "$3"; else skip "$1: $2" "not installed"; fi
}
tool less "shows a text" 'less -FX "$mnt/rank_0/batch_0000.txt" </dev/null | grep -q "^=== rank 0, row 0"'
tool jq "reads .json and dataset.json" '[ "$(jq ".rows | length" "$mnt/rank_0/batch_0000.json")" = 4 ] && [ "$(jq -c .shape "$mnt/dataset.json")" = "[4,257]" ]'
tool head "begins" '[ "$(head -n 1 "$mnt/rank_0/batch_0000.txt" | cut -c 1-17)" = "=== rank 0, row 0" ]'
tool hexdump "shows a .npy" 'hexdump -C "$mnt/rank_0/batch_0000.npy" | head -n 1 | grep -q "93 4e 55 4d 50 59"'
tool od "shows tokens" '[ "$(od -An -v -tu2 -w2 "$mnt/rank_0/batch_0000.bin" | wc -l)" = 1028 ]'
tool cmp "finds .npy and .bin equal behind the header" 'cmp -i 128:0 "$mnt/rank_0/batch_0004.npy" "$mnt/rank_0/batch_0004.bin"'
tool rsync "copies all of it" 'rsync -a "$mnt/" "$tmp/rsync" && diff -r --exclude=stats.json "$mnt" "$tmp/rsync"'
tool rsync "has nothing to do the second time" '[ -z "$(rsync -a -i "$mnt/" "$tmp/rsync" | grep -v " stats.json$")" ]'
tool tar "archives all of it and says nothing" '[ -z "$(tar -C "$mnt" -cf "$tmp/all.tar" . 2>&1)" ] &&
	[ "$(tar -tf "$tmp/all.tar" | wc -l)" = "$(find "$mnt" | wc -l)" ] &&
	mkdir "$tmp/untar" && tar -C "$tmp/untar" -xf "$tmp/all.tar" && diff -r --exclude=stats.json "$mnt" "$tmp/untar" && rm "$tmp/all.tar"'
tool cp "copies all of it" 'cp -r "$mnt" "$tmp/copy" && diff -r --exclude=stats.json "$mnt" "$tmp/copy"'
tool cmp "finds every part equal to its copy" 'cd "$tmp/copy" && find . -type f ! -name stats.json -exec cmp {} "$mnt/{}" \;'
tool find "finds every kind of thing" '[ "$(find "$mnt" -type d | wc -l)" = 13 ] && [ "$(find "$mnt" -name "batch_0003.bin" | wc -l)" = 8 ] &&
	[ -z "$(find "$mnt" ! -type d ! -type f)" ] && [ -z "$(find "$mnt" -perm /222)" ]'
tool find "finds every file with its size" '[ "$(find "$mnt/epoch_1" -type f -printf "%s\n" | sort -u)" = 2056 ]'
tool du "adds up" '[ "$(du -sb --apparent-size "$mnt/rank_0/batch_0000.bin" | cut -f 1)" = 2056 ] &&
	[ "$(du -sb --apparent-size "$mnt/epoch_1" | cut -f 1)" = "$(find "$mnt/epoch_1" -type f -printf "%s\n" | awk "{ s += \$1 } END { print s }")" ] &&
	du -sh "$mnt" | grep -q "[0-9]M"'
tool grep "searches all of it" 'grep -rq endoftext "$mnt/rank_0" "$mnt/val" "$mnt/epoch_1"; [ $? = 1 ] && grep -rlm 1 fingerprint "$mnt" | grep -q "dataset.json$"'
tool file "tells NumPy data" 'file "$mnt/rank_0/batch_0000.npy" | grep -qi numpy'
unmount

fineweb "$data/tokens/raw" "$mnt" -o batch_size=4,seq_len=256 || exit 99
check "token files have texts, and no documents" sh -c 'grep -q "^=== rank 0, row 3: fineweb_train_000000.bin" "$mnt/rank_0/batch_0001.txt" &&
	grep -q "\"documents\": \[\]" "$mnt/rank_0/batch_0001.json"'
unmount

# A damaged row: the text fails with the batch's errno, other texts do not.
taps "$PYTHON" "$here/forms.py"
check "nothing is left mounted" nothing_mounted
finish
