#!/bin/sh
# Help, completion, and one clear line with the right exit code for each mistake.
. "$(dirname "$0")/functions.sh"

"$FINEWEB" --help >"$tmp/help"
subcommands=$(sed -n 's/^  fineweb \([a-z]*\) .*/\1/p' "$tmp/help")
check "help lists subcommands" sh -c 'for c in prepare index cat info plan encode decode bench; do echo "$1" | grep -qx $c || exit 1; done' - "$subcommands"
for c in $subcommands; do
	check "$c --help fits a screen" sh -c '"$FINEWEB" '"$c"' --help >"$1" && awk "length > 80 { wide = 1; print } END { exit wide || NR > 24 || NR < 5 }" "$1"' \
		- "$tmp/out"
	check "$c -h is the same" sh -c '"$FINEWEB" '"$c"' -h | cmp - "$1"' - "$tmp/out"
	check "$c: an option that is none" fails 2 "--sed-len did you mean '--seq-len'" $c --sed-len 4
	check "$c: a letter that is none" fails 2 "-Z $c --help" $c -Z
	check "$c: a value that is none" fails 2 "seq_len=many number" $c --seq-len many
	# prepare -o DIR
	[ $c = prepare ] || check "$c: an option of a list that is none" fails 2 "batchsize batch_size" $c -o seq_len=4,batchsize=2
	check "$c: a file of options that is none" fails 1 "/nowhere.conf" $c --config /nowhere.conf
done

sample=$data/sample/10BT
check "a missing value" fails 2 "--seq-len value" cat --seq-len
check "a switch with a value" fails 2 "--val no value" cat "$sample" --val=1
check "no source there" fails 1 "/nowhere such" cat /nowhere
check "no batch there" fails 1 "99 7" cat "$sample" --batch 99
check "a range that ends behind the end" fails 1 "99 7" cat "$sample" --batch 0-99
check "a range backwards" fails 2 "5-3 range" cat "$sample" --batch 5-3
check "a word for a number" fails 2 "--batch x" cat "$sample" --batch x
check "no such rank" fails 2 "--rank 4 world_size=4" cat "$sample" --rank 4 --world-size 4
check "nothing held out" fails 2 "--val val_tokens" cat "$sample" --val
check "a form that is none" fails 2 "--format xml npy" cat "$sample" --format xml
check "not a batch" fails 1 "world_size=999 sequences" cat "$sample" --world-size 999
check "no such document" fails 1 "nobody" cat "$sample" --find nobody
check "no such row" fails 1 "000_00000.parquet:100000" cat "$sample" --find 000_00000.parquet:100000
check "documents of token files" fails 1 "token" cat "$data/tokens/raw" --find 'x:1'
check "another fingerprint" fails 1 "fingerprint deadbeef" cat "$sample" --fingerprint deadbeef
check "options that do not go together" fails 2 "stride start" cat "$sample" -o stride=piece,start=5
check "two kinds in one source" fails 2 "one kind" cat "$sample" "$data/tokens/raw"
check "damaged JSON" fails 1 "line_3.jsonl line" cat "$data/bad/line_3.jsonl" -o seq_len=16,batch_size=1
check "an encrypted file" fails 1 "encrypted" cat "$data/bad/encrypted_footer.parquet" -o seq_len=16,batch_size=1
check "a tokenizer that is none" fails 2 "gpt5 gpt2" encode --tokenizer gpt5
check "a tokenizer file that is none" fails 1 "/nowhere.json" encode --tokenizer /nowhere.json
mkfifo "$tmp/pipe.json"
check "a pipe for a tokenizer" fails 2 "pipe.json not a file" encode --tokenizer "$tmp/pipe.json"
check "a file that is none" fails 1 "/nowhere such" encode /nowhere
check "a folder for a file" fails 1 "directory" encode "$data"
check "u16 of a large vocabulary" fails 2 "u16 u32 100277" encode --tokenizer cl100k --format u16
check "u16 of a large vocabulary, decoded" fails 2 "u16 u32 100277" decode --tokenizer cl100k --format u16
check "count and json" fails 2 "--count --json" encode --count --json
check "count and a form" fails 2 "--count --format u16" encode --count --format u16
check "json and a form" fails 2 "--json --format u32" encode --json --format u32
check "a .tiktoken file without a pattern" fails 2 "r50k_base.tiktoken needs pattern gpt2 llama3" \
	encode --tokenizer "$top/src/token/vocab/r50k_base.tiktoken"
check "a pattern that is none" fails 2 "p50k r50k_base.tiktoken not known qwen2" \
	encode --tokenizer "$top/src/token/vocab/r50k_base.tiktoken" --pattern p50k
printf '15496 50257' >"$tmp/ids"
check "an id that is none" sh -c '"$FINEWEB" decode "$1/ids" >"$1/text" 2>"$1/err"; [ $? = 1 ] && [ "$(cat "$1/text")" = Hello ] &&
	grep -q 50257 "$1/err"' - "$tmp"
printf 'abc' >"$tmp/ids"
check "ids that are words" fails 1 "found 'a'" decode "$tmp/ids"
printf '\210\074' >"$tmp/raw"
check "raw ids for numbers" fails 1 "0x88 --format" decode "$tmp/raw"
check "half an id" sh -c '"$FINEWEB" decode --format u16 "$1/ids" >"$1/text" 2>"$1/err"; [ $? = 1 ] && grep -q "inside an id" "$1/err"' - "$tmp"
check "a model that is none" fails 2 "--model gpt9 llama-3-8b" plan --model gpt9
check "a unit that is none" fails 2 "--gpu-mem 80Q size" plan --gpu-mem 80Q
check "tokens that are none" fails 2 "--tokens 1X 38e9" plan --tokens 1X
check "a share above 1" fails 2 "--mfu 1.5" plan --mfu 1.5
check "no GPU" fails 2 "--gpus 0" plan --gpus 0
check "a bench that is none" fails 1 "/nowhere such" plan --bench /nowhere
check "a bench of something else" fails 1 "--bench README.md bench --json" plan --bench "$top/README.md"
check "a word too many" fails 2 "'gpt2'" plan gpt2
check "too many ranks of a node" fails 2 "--node-ranks 3" info "$sample" --node-ranks 3
check "no folder for the file" fails 1 "/nowhere" bench --folder /nowhere "$sample"
check "a file too small" fails 2 "--size 1000" bench --size 1000 "$sample"
mkdir "$tmp/bench"
check "bench prints JSON" sh -c '"$FINEWEB" bench --seconds 1 --size 8M --json --folder "$1" "$2" | python3 -c "
import json, sys
d = json.load(sys.stdin)
assert all(d[k][\"bytes_per_second\"] > 0 for k in (\"raw_warm\", \"raw_cold\", \"batches_warm\", \"batches_cold\", \"tokenizer_again\"))
assert all(d[k] is None or d[k][\"bytes_per_second\"] > 0 for k in (\"mount_first\", \"mount_again\"))
assert d[\"order\"][\"nanoseconds_per_row\"] > 0" && [ -z "$(ls "$1")" ]' - "$tmp/bench" "$sample"
check "bench that is stopped leaves nothing" sh -c '
	timeout -s INT 3 "$FINEWEB" bench --seconds 9 --size 8M --folder "$1" "$2" 2>"$1.err"; [ $? = 124 ] || exit 1
	grep -q stopped "$1.err" && [ -z "$(ls "$1")" ]' - "$tmp/bench" "$sample"

# complete LINE: what bash offers for its last word.
complete() {
	bash -c '. "$1" || exit 1; compopt() { :; }; COMP_LINE=$2; COMP_POINT=${#2}
		read -ra COMP_WORDS <<<"${2//=/ = }"; case $2 in *" ") COMP_WORDS+=("") ;; esac
		COMP_WORDS[0]=$FINEWEB; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _fineweb; printf "%s\n" "${COMPREPLY[@]}"' \
		- "$top/completions/fineweb" "$1"
}
# offers LINE WORD...: all of these are among them.
offers() {
	complete "$1" >"$tmp/offered"
	shift
	for w in "$@"; do
		grep -qxF -e "$w" "$tmp/offered" || { echo "no '$w' in:"; cat "$tmp/offered"; return 1; }
	done
}
if command -v bash >/dev/null; then
	check "completes subcommands" offers "fineweb " $subcommands
	check "completes flags and options" offers "fineweb cat --" --rank --batch --where --seq-len --world-size --help
	check "completes what has begun" same "--batch
--batch-size
" complete "fineweb cat --bat"
	check "completes options of -o" offers "fineweb cat x -o seed=1,stri" 1,stride=
	check "completes values" same "sequence
piece
" complete "fineweb cat x -o stride="
fi
finish
