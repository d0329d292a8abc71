#!/bin/sh
# The whole program against the reference of the order, tiktoken and pyarrow, on options drawn at random.
peers=${PYTHON_PEERS:-python3}
order=${FINEWEB_SHARED-}
. "$(dirname "$0")/functions.sh"

ORDER=${order:-$top/../shared}/oracle/order.py
export ORDER
if [ ! -r "$ORDER" ]; then
	echo "1..0 # SKIP no order.py"
	exit 0
fi
if ! "$peers" -c 'import tiktoken, pyarrow' 2>/dev/null; then
	echo "1..0 # SKIP no python with tiktoken and pyarrow (sh tests/run.sh --peers)"
	exit 0
fi
python3() {
	"$peers" "$@"
}
taps drawn.py
finish
