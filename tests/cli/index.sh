#!/bin/sh
# fineweb index: counts, their export, what is damaged, tasks.
. "$(dirname "$0")/functions.sh"

python3 "$data/long.py" "$tmp/long" || exit 99
taps index.py
finish
