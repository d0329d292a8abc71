#!/bin/sh
# The tokenizers that a user would pick instead, beside ours: token_peers.py in a venv that has them.
# usage: tokens.sh BENCH_TOKEN [what token_peers.py takes]
# The venv is in $FINEWEB_PEERS (~/.cache/fineweb-peers); where cargo is gigatoken is also built for this machine, which takes many minutes:
# an empty GIGATOKEN_NATIVE leaves it out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
peers=${FINEWEB_PEERS-${HOME-/root}/.cache/fineweb-peers}
venv=$peers/tokens
mkdir -p "$peers"
if [ ! -x "$venv/bin/gigatoken" ]; then
	echo "installing tiktoken, tokenizers, gigatoken, snaptokens, tokie, fastokens in $venv" >&2
	python3 -m venv "$venv"
	for p in numpy pyarrow tiktoken tokenizers gigatoken snaptokens tokie fastokens; do
		"$venv/bin/pip" install -q "$p" >"$peers/tokens.log" 2>&1 || tail -n 1 "$peers/tokens.log" >&2
	done
fi
GIGATOKEN_NATIVE=${GIGATOKEN_NATIVE-$peers/gigatoken-native}
if [ -n "$GIGATOKEN_NATIVE" ] && [ ! -e "$GIGATOKEN_NATIVE" ] && command -v cargo >/dev/null; then
	echo "building gigatoken for this machine in $GIGATOKEN_NATIVE" >&2
	RUSTFLAGS="-C target-cpu=native" timeout 1800 "$venv/bin/pip" install -q --no-deps --no-binary gigatoken \
		--target "$GIGATOKEN_NATIVE" gigatoken >"$peers/tokens.log" 2>&1 || tail -n 1 "$peers/tokens.log" >&2
fi
[ -e "$GIGATOKEN_NATIVE" ] || GIGATOKEN_NATIVE=
export GIGATOKEN_NATIVE
PYTHONDONTWRITEBYTECODE=1 exec "$venv/bin/python" "$here/token_peers.py" "$@"
