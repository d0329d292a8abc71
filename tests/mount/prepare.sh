#!/bin/sh
# What `fineweb prepare` writes against shards/ of a mount, and a mount of it against expected/batches.json.
. "$(dirname "$0")/functions.sh"

"$PYTHON" "$data/long.py" "$tmp/long" || exit 99
taps "$PYTHON" "$here/prepare.py"
finish
