#!/bin/sh
# Ids of some ten thousand strings against tiktoken's and tokenizers', on every path, where Python has them (tests/run.sh --peers gets them);
# `make fuzz-tokens` takes ten million. What was found stays in tests/data/tokens, for machines without them.
top=${srcdir:-.}
agree=${AGREE:-tests/token/agree}
python=${PYTHON_PEERS:-python3}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
n=0

# agrees STRINGS MODULE WHAT TOKENIZER...
agrees() {
	strings=$1
	module=$2
	what=$3
	shift 3
	n=$((n + 1))
	if ! "$python" -c "import $module" 2>/dev/null; then
		echo "ok $n - $what # SKIP no Python with $module (sh tests/run.sh --peers)"
	elif FUZZ_STRINGS=$strings "$python" "$top/tests/token/differential.py" "$agree" "$@" >"$said" 2>&1; then
		sed 's/^/# /' "$said"
		echo "ok $n - $what"
	else
		sed 's/^/# /' "$said"
		echo "not ok $n - $what"
	fi
}

said=$(mktemp) || exit 99
trap 'rm -f "$said"' EXIT
echo 1..2
agrees 20000 tiktoken "gpt2, cl100k and o200k are tiktoken's" gpt2 cl100k o200k
agrees 3000 tokenizers "files of every shape are tokenizers'" "$top"/tests/data/tokens/hf/*.json
