#!/bin/sh
# Every batch of expected/batches.json, through real mounts of local files and of an HTTP server.
. "$(dirname "$0")/functions.sh"

"$PYTHON" "$data/long.py" "$tmp/long" || exit 99
taps "$PYTHON" "$here/batches.py" local
if start_nginx "$data"; then
	taps "$PYTHON" "$here/batches.py" "$nginx"
	kill "$pid"
else
	skip "the same batches from nginx" "no nginx"
fi
finish
