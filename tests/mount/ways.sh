#!/bin/sh
# All the ways in and out, exit codes, and one-line messages.
. "$(dirname "$0")/functions.sh"
sample=$data/sample/10BT
fast=batch_size=4,seq_len=256
first=$tmp/first
link_program

# reads_right DIR: the first batch is there and is the one that every way must give; then it is unmounted.
reads_right() {
	is_mounted "$1" || { echo "$1 is not mounted"; return 1; }
	if [ ! -e "$first" ]; then cp "$1/rank_0/batch_0000.bin" "$first" || return 1; fi
	cmp "$1/rank_0/batch_0000.bin" "$first" && unmount "$1" && nothing_mounted
}

by_mount() {
	mount "$@" && reads_right "$mnt"
}
by_fineweb() {
	fineweb "$@" && reads_right "$mnt"
}

check "fineweb SRC DIR -o OPTIONS" by_fineweb "$sample" "$mnt" -o $fast
check "fineweb -o source=SRC DIR, options before the folder" by_fineweb -o source="$sample",$fast "$mnt"
check "fineweb -o twice" by_fineweb "$sample" -o batch_size=4 -o seq_len=256 "$mnt"
check "mount -t fuse.fineweb SRC DIR -o OPTIONS" by_mount -t fuse.fineweb "$sample" "$mnt" -o $fast
check "mount -t fuse fineweb#SRC DIR -o OPTIONS" by_mount -t fuse "fineweb#$sample" "$mnt" -o $fast
check "mount -t fuse fineweb DIR -o source=SRC" by_mount -t fuse fineweb "$mnt" -o source="$sample",$fast
check "all that mount(8) and fstab pass" by_mount -t fuse.fineweb "$sample" "$mnt" \
	-o $fast,defaults,noauto,_netdev,nofail,relatime,lazytime,nodiratime,users,group,comment=x,x-systemd.automount,nosuid

bare() {
	mount -t fuse fineweb "$mnt" 2>"$tmp/err" && is_mounted "$mnt" || { cat "$tmp/err"; return 1; }
	grep -qi sample "$tmp/err" || { echo "no warning on stderr"; return 1; }
	head -n 1 "$mnt/README.txt" | grep -qi sample || { echo "README.txt: no warning in the first line"; return 1; }
	"$PYTHON" -c 'import json, sys; assert json.load(open(sys.argv[1]))["sample"] is True' "$mnt/dataset.json" || return 1
	[ "$(wc -c <"$mnt/rank_0/batch_0000.bin")" = 65600 ] && unmount && nothing_mounted
}
check "mount -t fuse fineweb DIR mounts the sample, and says so" bare

cat >"$tmp/fstab" <<-END
	$sample $mnt fuse.fineweb defaults,nofail,_netdev,x-systemd.automount,$fast 0 0
	fineweb#$sample $tmp/second fuse noatime,$fast 0 0
	fineweb $tmp/third fuse ro,source=$sample,$fast 0 0
END
mkdir "$tmp/second" "$tmp/third"
by_fstab() {
	mount -a -T "$tmp/fstab" || return
	unmount "$tmp/second" && cmp "$tmp/third/rank_0/batch_0000.bin" "$first" && unmount "$tmp/third" && reads_right "$mnt"
}
check "/etc/fstab and mount -a" by_fstab
check "mount DIR, the rest from fstab" sh -c 'mount -T "$tmp/fstab" "$tmp/second" && umount "$tmp/second"'

by_environment() {
	FINEWEB_SEQ_LEN=256 FINEWEB_BATCH_SIZE=9 fineweb "$sample" "$mnt" -o batch_size=4 && reads_right "$mnt"
}
check "options from the environment, the command line wins" by_environment
printf '# a comment\nseq_len = 256\nbatch_size = 9\n' >"$tmp/fineweb.conf"
by_file() {
	FINEWEB_BATCH_SIZE=4 fineweb "$sample" "$mnt" -o config="$tmp/fineweb.conf" && reads_right "$mnt"
}
check "options from a file, the environment wins" by_file

in_foreground() {
	start fineweb "$sample" "$mnt" -f -o $fast
	wait_for 20 is_mounted "$mnt" && wait_for 20 cmp -s "$mnt/rank_0/batch_0000.bin" "$first" || return
	kill -TERM "$pid"
	wait "$pid"
	status=$?
	[ "$status" = 0 ] || { echo "SIGTERM: exit $status"; return 1; }
	nothing_mounted
}
check "-f stays in the foreground; SIGTERM unmounts" in_foreground
busy() {
	start fineweb "$sample" "$mnt" -f -o $fast
	daemon=$pid
	wait_for 20 cmp -s "$mnt/rank_0/batch_0000.bin" "$first" || return
	start sleep 60 <"$mnt/rank_0/batch_0001.bin"
	kill -TERM "$daemon"
	wait_for 5 not_mounted "$mnt" || return
	kill "$pid"
	wait "$daemon"
}
check "SIGTERM unmounts a busy mount too" busy
by_fusermount() {
	fineweb "$sample" "$mnt" -o $fast && fusermount3 -u "$mnt" && nothing_mounted
}
check "fusermount3 -u" by_fusermount
no_daemon_left() {
	! pgrep -f "$mnt -o $fast" >/dev/null
}
check "the daemon ends with its mount" wait_for 5 no_daemon_left

# An ordinary user.
user="setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=$tmp/user/home"
mkdir -p "$tmp/user/home" "$tmp/user/mnt" "$tmp/user/bin"
cp "$FINEWEB" "$tmp/user/bin/fineweb"
cp -r "$sample" "$tmp/user/src"
chmod -R a+rX "$tmp/user"
chown -R 65534:65534 "$tmp/user/home" "$tmp/user/mnt"
by_user() {
	$user FINEWEB_CACHE= env -u FINEWEB_CACHE "$tmp/user/bin/fineweb" "$tmp/user/src" "$tmp/user/mnt" -o $fast || return
	$user cmp "$tmp/user/mnt/rank_0/batch_0000.bin" "$first" || return
	if cat "$tmp/user/mnt/README.txt" 2>/dev/null; then echo "root may read it"; return 1; fi
	[ -d "$tmp/user/home/.cache/fineweb" ] || { echo "no cache in XDG's folder"; return 1; }
	$user fusermount3 -u "$tmp/user/mnt" && nothing_mounted
}
if [ -w /dev/fuse ] && $user test -w /dev/fuse; then
	check "fineweb SRC DIR as an ordinary user" by_user
else
	mode=$(stat -c %a /dev/fuse)
	chmod 666 /dev/fuse
	check "fineweb SRC DIR as an ordinary user" by_user
	chmod "$mode" /dev/fuse
fi

# What cannot be mounted: one line, the right code, nothing left.
mkdir "$tmp/empty"
check "a mistyped option names itself and the nearest" fail_with 1 "sede seed" fineweb "$sample" "$mnt" -o sede=1
check "and through mount(8)" fail_with 1 "batchsize batch_size" mount -t fuse.fineweb "$sample" "$mnt" -o batchsize=4
check "a value of the wrong kind" fail_with 1 "seq_len many" fineweb "$sample" "$mnt" -o seq_len=many
check "a value out of range" fail_with 1 "world_size 0" fineweb "$sample" "$mnt" -o world_size=0
check "options that exclude each other" fail_with 1 "stride torch" fineweb "$sample" "$mnt" -o stride=piece,shuffle=torch
check "a missing source" fail_with 32 "$tmp/none" fineweb "$tmp/none" "$mnt"
check "a missing source through mount(8)" fail_with 32 "$tmp/none" mount -t fuse.fineweb "$tmp/none" "$mnt"
check "an empty folder" fail_with 32 "$tmp/empty" fineweb "$tmp/empty" "$mnt"
check "a batch size that gives no batch" fail_with 32 "234 500" fineweb "$sample" "$mnt" -o batch_size=500
check "start behind the end" fail_with 32 "234 1000" fineweb "$sample" "$mnt" -o start=1000
check "everything held out" fail_with 32 "val_tokens" fineweb "$sample" "$mnt" -o val_tokens=1B
check "more ranks than pieces" fail_with 32 "9 10" fineweb "$sample" "$mnt" -o stride=piece,world_size=10,seq_len=8,batch_size=1
check "a mountpoint that is not there" fail_with 32 "$tmp/nowhere" fineweb "$sample" "$tmp/nowhere"
check "a mountpoint that is a file" fail_with 32 "$tmp/first" fineweb "$sample" "$tmp/first"
check "no mountpoint at all" fail_with 1 "" fineweb
check "a configuration file that is not there" fail_with 32 "$tmp/none.conf" fineweb "$sample" "$mnt" -o config="$tmp/none.conf"
check "a server that is not there" fail_with 32 "127.0.0.1" \
	fineweb "http://127.0.0.1:$(free_port)/x.parquet" "$mnt" -o retry=1,ready_timeout=3
check "a fingerprint that differs" fail_with 32 "00000000" fineweb "$sample" "$mnt" -o fingerprint=00000000

remount() {
	fineweb "$sample" "$mnt" -o $fast || return
	mount -o remount,seed=3 "$mnt" >"$tmp/out" 2>&1
	status=$?
	cat "$tmp/out"
	[ "$status" = 1 ] && grep -q "unmount first" "$tmp/out" && reads_right "$mnt"
}
check "remount is refused: unmount first" remount

# One fingerprint for the same bytes and options anywhere: a copy has another inode and another date.
fingerprint() {
	fineweb "$1" "$mnt" -o $2 && "$PYTHON" -c 'import json, sys; print(json.load(open(sys.argv[1]))["fingerprint"])' "$mnt/dataset.json"
	unmount
}
one=$(fingerprint "$sample" $fast)
touch "$tmp/user/src"/*
two=$(fingerprint "$tmp/user/src" $fast)
other=$(fingerprint "$sample" $fast,seed=1)
check "a copy of the source has the same fingerprint" [ -n "$one" -a "$one" = "$two" ]
check "another seed has another" [ "$one" != "$other" ]
check "fingerprint=HEX of it mounts" by_fineweb "$tmp/user/src" "$mnt" -o $fast,fingerprint="$one"
check "nothing is left mounted" nothing_mounted
finish
