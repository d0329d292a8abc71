#!/bin/sh
# A long run through a faulty network: READS (10000) random batch reads, of whose requests PERCENT (5) go wrong, then a run in
# which files change; `make soak`. Ends with a table and a verdict; what it measures is soak.py's to say.
. "$(dirname "$0")/../mount/functions.sh"

PYTHONPATH=$top/tests/mount
READS=${READS-10000} PERCENT=${PERCENT-5} SEED=${SEED-1}
export PYTHONPATH READS PERCENT SEED
taps "$PYTHON" "$here/soak.py"
check "nothing is left mounted" nothing_mounted
failed=$(grep -c '^not ok' "$tmp/taps")
[ "$failed" = 0 ] && echo "# soak: all is well" || echo "# soak: $failed checks failed"
echo "1..$count"
[ "$failed" = 0 ]
