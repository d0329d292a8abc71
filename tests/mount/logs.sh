#!/bin/sh
# What is logged, and where: stderr with -f, syslog when a daemon; one line an event; -d says more.
. "$(dirname "$0")/functions.sh"
sample=$data/sample/10BT

# logged FILE ARGUMENTS...: mounts in the foreground, reads two batches, ends; stderr is then in FILE.
logged() {
	to=$1
	shift
	start fineweb "$@" "$mnt" -f 2>"$to"
	wait_for 20 test -e "$mnt/rank_0/batch_0001.bin" && cat "$mnt"/rank_0/batch_000[01].bin >/dev/null || return
	kill -TERM "$pid"
	wait "$pid"
}
check "-f logs to stderr" logged "$tmp/plain" "$sample" -o batch_size=4
check "the mount and its source stand in one line" grep -q "$sample" "$tmp/plain"
check "each line begins with the program's name" sh -c '! grep -v "^fineweb" "$tmp/plain"'
check "-d says more" logged "$tmp/debug" "$sample" -d -o batch_size=4
check "and each line is still one event" sh -c '[ "$(wc -l <"$tmp/debug")" -gt "$(wc -l <"$tmp/plain")" ] && ! grep -v "^fineweb" "$tmp/debug"'

mkdir "$tmp/bad"
cp "$data/bad/page_damaged.parquet" "$tmp/bad"
damaged() {
	start fineweb "$tmp/bad" "$mnt" -f -o batch_size=2,seq_len=128 2>"$tmp/damage"
	wait_for 20 test -e "$mnt/rank_0" || return
	for i in 1 2 3; do
		cat "$mnt"/rank_0/batch_*.bin >/dev/null 2>&1
	done
	kill -TERM "$pid"
	wait "$pid"
	cat "$tmp/damage"
	[ "$(grep page_damaged.parquet "$tmp/damage" | grep -c "piece 1")" = 1 ]
}
check "a damaged piece logs one line: path, piece, offset, cause" damaged

if [ ! -e /dev/log ] && [ -w /dev ]; then
	start "$PYTHON" -c '
import os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
with open(sys.argv[1], "wb", buffering=0) as f:
    while True:
        f.write(s.recv(65536) + b"\n")' "$tmp/syslog"
	listener=$pid
	wait_for 5 test -S /dev/log
	fineweb "$sample" "$mnt" -o batch_size=4 2>"$tmp/stderr"
	check "a daemon logs to syslog as fineweb" sh -c 'grep -q "fineweb.*: .*$1" "$tmp/syslog"' - "$sample"
	check "and is silent on stderr" [ ! -s "$tmp/stderr" ]
	unmount
	kill "$listener"
	rm -f /dev/log
else
	skip "a daemon logs to syslog" "there is a syslog already"
fi
finish
