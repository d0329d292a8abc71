#!/bin/sh
# Faults of a server that pass are not seen; a reader that waits can be interrupted, and nobody waits with it, not for a text either.
. "$(dirname "$0")/functions.sh"

taps "$PYTHON" "$here/server.py" retried flipped interrupted texts
check "nothing is left mounted" nothing_mounted
finish
