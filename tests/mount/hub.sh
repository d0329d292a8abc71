#!/bin/sh
# Data sets of the Hub, through real mounts of tests/hubserver.py: the same batches as from the disk, and what happens when the
# Hub refuses, is away, or has another version.
. "$(dirname "$0")/functions.sh"

taps "$PYTHON" "$here/hub.py"
finish
