#!/bin/sh
# A data set of thousands of files of 726 row groups: what is known of them is small. SIMULATED=25000 is FineWeb's size
# (make soak-files).
. "$(dirname "$0")/functions.sh"

taps "$PYTHON" "$here/simulated.py" "${SIMULATED-2000}"
finish
