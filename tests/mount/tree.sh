#!/bin/sh
# The mounted tree: names, sizes, attributes, forms, and what plain tools see.
. "$(dirname "$0")/functions.sh"

fineweb "$data/sample/10BT" "$mnt" -o world_size=2,batch_size=4,seq_len=256,epochs=2,val_tokens=30000 || exit 99
taps "$PYTHON" "$here/tree.py" "$mnt"

check "find sees every listed file" sh -c '[ "$(find "$mnt" -name "batch_*.bin" | wc -l)" -gt 600 ]'
check "find -size agrees with stat" sh -c '[ -z "$(find "$mnt/rank_0" -type f ! -size 2056c)" ]'
check "ls -lR ends well" sh -c 'ls -lR "$mnt" >"$tmp/ls"; [ "$(grep -c batch_ "$tmp/ls")" -gt 600 ]'
check "cp -r copies a rank" sh -c 'cp -r "$mnt/rank_0" "$tmp/copy" && diff -r "$mnt/rank_0" "$tmp/copy"'
check "tar archives the same bytes" sh -c 'tar -C "$mnt" -cf - rank_1 | tar -C "$tmp" -xf - && diff -r "$mnt/rank_1" "$tmp/rank_1"'
check "cmp: two ranks differ" sh -c '! cmp -s "$mnt/rank_0/batch_0000.bin" "$mnt/rank_1/batch_0000.bin"'
check "cmp: rank_N is the mounted epoch" cmp "$mnt/rank_1/batch_0003.bin" "$mnt/epoch_0/rank_1/batch_0003.bin"
check "cat of all batches is epoch.bin" sh -c 'cat "$mnt"/rank_0/batch_*.bin | cmp - "$mnt/rank_0/epoch.bin"'
check "hexdump shows the head" sh -c 'hexdump -C "$mnt/rank_0/batch_0000.bin" | head -n 3 | grep -q "^00000010"'
check "dd in odd steps reads the same" sh -c 'dd if="$mnt/rank_0/epoch.bin" bs=777 2>/dev/null | cmp - "$mnt/rank_0/epoch.bin"'
check "head -c ends in the middle of a token" sh -c 'head -c 1001 "$mnt/rank_0/batch_0001.bin" | wc -c | grep -qx 1001'
check "df shows the dataset's size" sh -c '[ "$(stat -f -c %b "$mnt")" -gt 0 ] && [ "$(stat -f -c %a "$mnt")" = 0 ]'
check "mounted read-only as fuse.fineweb" sh -c 'grep -q " $mnt fuse.fineweb ro,nosuid,nodev," /proc/self/mounts'
check "any user may read" setpriv --reuid 65534 --regid 65534 --clear-groups cmp "$mnt/rank_0/batch_0000.bin" "$tmp/copy/batch_0000.bin"
check "umount" unmount

fineweb "$data/sample/10BT" "$mnt" -o batch_size=250,seq_len=256,val_tokens=1000 || exit 99
check "a view without a batch is empty" sh -c '[ -d "$mnt/val/rank_0" ] && [ -z "$(find "$mnt/val" -type f)" ]'
check "and has no epoch.bin" sh -c '[ -e "$mnt/rank_0/epoch.bin" ] && [ ! -e "$mnt/val/rank_0/epoch.bin" ]'
unmount

fineweb "$data/sample/10BT" "$mnt" -o batch_size=4,epoch=1,epochs=3 || exit 99
check "rank_N is the epoch of the option" cmp "$mnt/rank_0/batch_0000.bin" "$mnt/epoch_1/rank_0/batch_0000.bin"
check "epochs of them are listed" sh -c '[ "$(ls -d "$mnt"/epoch_* | wc -l)" = 3 ] && [ -d "$mnt/epoch_3" ]'
check "each epoch is shuffled anew" sh -c '! cmp -s "$mnt/epoch_0/rank_0/batch_0000.bin" "$mnt/epoch_1/rank_0/batch_0000.bin"'
unmount

fineweb "$data/sample/10BT" "$mnt" -o shard_tokens=100000,batch_size=4 || exit 99
taps "$PYTHON" "$here/tree.py" "$mnt" shards sample/10BT
unmount
fineweb "$data/tokens/raw" "$mnt" -o shard_tokens=30000,batch_size=4 || exit 99
check "shards/ of a raw shard are its own bytes" sh -c 'cat "$mnt"/shards/*.bin | cmp - "$data/tokens/raw/fineweb_train_000000.bin"'
unmount
fineweb "$data/sample/10BT" "$mnt" -o batch_size=4,val_tokens=30000 || exit 99
check "shards/ keeps validation apart" sh -c '
	cat "$mnt"/shards/fineweb_val_*.bin "$mnt"/shards/fineweb_train_*.bin | wc -c | grep -qx 488296 &&
	cat "$mnt"/shards/fineweb_val_*.bin | wc -c | grep -qx 107360'
unmount
check "nothing is left mounted" nothing_mounted
finish
