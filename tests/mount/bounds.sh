#!/bin/sh
# What `memory` bounds: one text longer than it, a row group of a million rows, many ranks that read cold. BOUNDS=full makes
# the text a gigabyte (make soak-memory).
. "$(dirname "$0")/functions.sh"

mkdir "$tmp/www"
start_nginx "$tmp/www" && export nginx
taps "${PYTHON_PEERS:-$PYTHON}" "$here/bounds.py"
finish
