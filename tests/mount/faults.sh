#!/bin/sh
# Ten thousand random batch reads through a server of which one request in ten goes wrong, in every way that a reader can notice.
. "$(dirname "$0")/functions.sh"

taps "$PYTHON" "$here/faults.py"
finish
