#!/bin/sh
# Each errno that a local or HTTP source can cause, and that the neighbours of what is damaged still read right.
. "$(dirname "$0")/functions.sh"

taps "$PYTHON" "$here/errors_local.py"
taps "$PYTHON" "$here/errors_http.py"
check "nothing is left mounted" nothing_mounted
finish
