#!/bin/sh
# Each errno that an HTTP server can cause, within `retry`, and that what does not need it still reads right.
. "$(dirname "$0")/functions.sh"

taps "$PYTHON" "$here/server.py" refused unready silent down known
check "nothing is left mounted" nothing_mounted
finish
