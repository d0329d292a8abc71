#!/bin/sh
# tests/bench/prepare.sh [BUILD-FOLDER] [MEGABYTES] [TEXT]: `fineweb prepare` against the tokenizer alone and against the
# usual Python ways, on the same text and CPUs. prepare.py beside it says what they are.
#
# TEXT is a file of text, cut into documents of 4 KB; without it the test data is taken again and again (default 100 MB).
# PYTHON names the Python to use, in whose environment pyarrow, tiktoken, datasets, transformers and datatrove are looked
# for; what is not there is left out. Everything is made in $TMPDIR (/tmp) and removed again; nothing is downloaded.
set -eu
build=$(cd "${1:-build}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
for program in fineweb tests/bench/bench_token; do
	[ -x "$build/$program" ] || { echo "no program at $build/$program: make fineweb tests/bench/bench_token" >&2; exit 1; }
done
tmp=$(mktemp -d "${TMPDIR:-/tmp}/fineweb.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP INT TERM
FINEWEB_CACHE=$tmp/cache
FINEWEB_CONFIG=/dev/null
HF_HOME=$tmp/hf
HF_HUB_OFFLINE=1
HF_DATASETS_DISABLE_PROGRESS_BARS=1
TOKENIZERS_PARALLELISM=false
export FINEWEB_CACHE FINEWEB_CONFIG HF_HOME HF_HUB_OFFLINE HF_DATASETS_DISABLE_PROGRESS_BARS TOKENIZERS_PARALLELISM
"${PYTHON:-python3}" "$here/prepare.py" "$build" "$tmp" "${2:-100}" ${3+"$3"}
