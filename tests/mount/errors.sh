#!/bin/sh
# Each errno that local files can cause, and that the neighbours of what is damaged still read right.
. "$(dirname "$0")/functions.sh"

taps "$PYTHON" "$here/errors.py"
check "nothing is left mounted" nothing_mounted
finish
