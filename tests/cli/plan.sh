#!/bin/sh
# fineweb plan: numbers worked out by hand from the published formulas.
. "$(dirname "$0")/functions.sh"

# has WORDS ARGUMENT...: they stand in what it prints.
has() {
	words=$1
	shift
	"$FINEWEB" plan "$@" >"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
	grep -qF -e "$words" "$tmp/out" || { cat "$tmp/out"; return 1; }
}
check "the guide's value" has "calculate_memory_requirement(32, 1024, 50257, 768, 12) = 1.87 GiB"
check "GPT-2's parameters" has "124,439,808 parameters"
check "those of the largest" has "1,557,611,200 parameters" --model gpt2-1558M
check "sizes alone are names" has "gpt2-774M" --model 774M
check "Llama's parameters" has "8,030,261,248 parameters" --model llama-3-8b
check "mount options" has "fineweb SOURCE MOUNTPOINT -o seq_len=2048,batch_size=16,world_size=4" \
	--seq-len 2048 --batch-size=16 -o world_size=4
check "other shapes" has "calculate_memory_requirement(1, 1, 100, 10, 2) = 0.00" --layers 2 --hidden 10 --heads 2 --vocab 100 \
	--seq-len 1 --batch-size 1
taps plan.py
finish
