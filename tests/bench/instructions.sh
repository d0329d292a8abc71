#!/bin/sh
# Instructions for each byte of a text that becomes ids, counted by valgrind: the same on a busy machine as on an idle one.
# usage: instructions.sh BENCH_TOKEN FILE [TOKENIZER]
set -e
program=${1:?usage: instructions.sh BENCH_TOKEN FILE [TOKENIZER]} file=${2:?a text} tokenizer=${3:-gpt2}
bytes=$(wc -c <"$file")

# count REPEATS: instructions of opening, a cold pass and so many warm ones.
count() {
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program" -r "$1" "$tokenizer" "$file" 2>&1 >/dev/null |
		awk '/Collected/ { print $NF }'
}
one=$(count 1) two=$(count 2) zero=$(count 0)
echo "$one $two $zero $bytes" | awk -v t="$tokenizer" '{
	printf "%s: warm %.2f instructions/byte, open and cold %.1f million\n", t, ($2 - $1) / $4, $3 / 1e6
}'
