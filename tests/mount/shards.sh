#!/bin/sh
# shards/ in its four forms: byte for byte what the writers of those forms made, headers, validation, mmap, 76 GB of it.
. "$(dirname "$0")/functions.sh"

# tests/data/tokens has these two files' ids as NumPy, llm.c, nanoGPT and the course guide write them.
mkdir "$tmp/two" "$tmp/whole"
cp "$data/sample/10BT/000_00001.parquet" "$data/sample/10BT/000_00002.parquet" "$tmp/two"
# one FORM OPTIONS NAME EXPECTED: the whole source as one file of shards/.
one() {
	fineweb "$tmp/two" "$mnt" -o shards="$1",batch_size=4"$2" || return 1
	ls "$mnt/shards"
	[ "$(ls "$mnt/shards")" = "$3" ] && cmp "$mnt/shards/$3" "$data/tokens/$4" &&
		[ "$(stat -c %s "$mnt/shards/$3")" = "$(stat -c %s "$data/tokens/$4")" ]
	status=$?
	unmount && return "$status"
}
check "shards=raw is the guide's file, byte for byte" one raw "" fineweb_train_000000.bin raw/fineweb_train_000000.bin
check "shards=llmc is llm.c's" one llmc "" fineweb_train_000000.bin llmc/fineweb_train_000001.bin
check "shards=npy is NumPy's" one npy "" edufineweb_train_000000.npy npy/edufineweb_train_000001.npy
check "shards=nanogpt is nanoGPT's" one nanogpt ,bos=none,eos=50256 train.bin nanogpt/train.bin

for form in raw llmc npy nanogpt; do
	fineweb "$data/sample/10BT" "$mnt" -o shards=$form,shard_tokens=100000,val_tokens=30000,batch_size=4 || exit 99
	taps "$PYTHON" "$here/shards.py" forms $form "$mnt"
	check "$form: the train files can be copied" sh -c '
		rm -rf "$tmp/whole"; mkdir "$tmp/whole" && cp "$mnt"/shards/*train* "$tmp/whole"'
	unmount
	mkdir "$tmp/again"
	check "$form: and are as good a source as what they were made of" sh -c '
		fineweb "$tmp/whole" "$tmp/again" -o shards=nanogpt,batch_size=4 && cmp "$tmp/again/shards/train.bin" "$tmp/train" &&
		umount "$tmp/again"'
	rmdir "$tmp/again"
done

# 38 billion tokens in sparse files: only what is read is touched, and nothing of it is kept in memory.
taps "$PYTHON" "$here/shards.py" large

# The same over a network: a token anywhere costs its piece.
taps "$PYTHON" "$here/shards.py" large_remote
if start_nginx "$data/sample/10BT"; then
	for k in 0 1 2 3; do echo "$nginx/000_0000$k.parquet"; done >"$tmp/files.txt"
	taps "$PYTHON" "$here/shards.py" remote "$tmp/files.txt"
else
	skip "a virtual train.bin over HTTP" "no nginx"
fi
check "nothing is left mounted" nothing_mounted
finish
