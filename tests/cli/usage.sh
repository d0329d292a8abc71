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
	"$FINEWEB" bench --seconds 20 --size 8M --folder "$1" "$2" >"$1.out" 2>"$1.err" &
	for i in $(seq 200); do [ -e "$1"/fineweb-bench-*/tokens.bin ] && break; sleep 0.05; done
	kill -TERM $!; wait $!; [ $? = 1 ] || exit 1
	grep -q stopped "$1.err" && [ ! -s "$1.out" ] && [ -z "$(ls "$1")" ]' - "$tmp/bench" "$sample"

# What goes with nothing, what is nothing, and what is 0.
check "no folder to prepare to" fails 2 "-o DIR" prepare
check "an empty one" fails 2 "--output DIR" prepare "$sample" -o ""
check "no tokens" fails 2 "--target-tokens 0 above" prepare "$sample" -o "$tmp/none" --target-tokens 0
check "a part of a token" fails 2 "--target-tokens 1.5 38e9" prepare "$sample" -o "$tmp/none" --target-tokens 1.5
check "a shard of no tokens" fails 2 "shard_tokens=0 1" prepare "$sample" -o "$tmp/none" --shard-tokens 0
check "no thread" fails 2 "threads=0 1" prepare "$sample" -o "$tmp/none" --threads 0
check "a form of shards that is none" fails 2 "xml nanogpt" prepare "$sample" -o "$tmp/none" --format xml
check "verify and join" fails 2 "--verify --join" prepare "$sample" -o "$tmp/none" --verify --join
check "to verify what is not there" fails 1 "$tmp/none such" prepare "$sample" -o "$tmp/none" --verify
check "to join what is not there" fails 1 "$tmp/none such" prepare "$sample" -o "$tmp/none" --join
mkdir "$tmp/else"
check "to verify what is something else" fails 1 "$tmp/else prepare" prepare "$sample" -o "$tmp/else" --verify
check "a file for a folder" fails 1 "README.md directory" prepare "$sample" -o "$top/README.md"
check "nothing of all that was made" sh -c '[ ! -e "$1/none" ] && [ -z "$(ls -A "$1/else")" ]' - "$tmp"
check "a damaged source is one line" fails 1 "no_magic.parquet PAR1" prepare "$data/bad/no_magic.parquet" -o "$tmp/else"
check "a damaged line too" fails 1 "line_3.jsonl line" index "$data/bad/line_3.jsonl"
check "ids behind the vocabulary" fails 1 "id_out_of_range 50257" prepare "$data/bad/id_out_of_range.bin" -o "$tmp/bad"
check "none of it has a name" sh -c '[ -z "$(ls "$1/else" "$1/bad" | grep -v :)" ]' - "$tmp"
"$FINEWEB" prepare "$sample" -o "$tmp/whole" -q --shard-tokens 100000
cp -r "$tmp/whole" "$tmp/broken"
echo '{' >"$tmp/broken/dataset.json"
check "dataset.json of something else" fails 1 "broken/dataset.json prepare" prepare "$sample" -o "$tmp/broken" --shard-tokens 100000
cp "$tmp/whole/dataset.json" "$tmp/broken"
echo x >"$tmp/broken/pieces.fwc"
check "pieces.fwc that is damaged" fails 1 "broken/pieces.fwc damaged folder" prepare "$sample" -o "$tmp/broken" --shard-tokens 100000
rm "$tmp/broken/pieces.fwc"
check "pieces.fwc that is gone" fails 1 "broken/pieces.fwc gone folder" prepare "$sample" -o "$tmp/broken" --shard-tokens 100000
mkdir -p "$tmp/begun/.prepare"
echo '{' >"$tmp/begun/.prepare/terms.json"
check "a damaged record of a run before" fails 1 "begun/.prepare/terms.json prepare" prepare "$sample" -o "$tmp/begun"
check "a folder in the place of a shard" sh -c 'rm -r "$1" && cp -r "$2" "$1" && rm "$1/fineweb_train_000001.bin" &&
	mkdir "$1/fineweb_train_000001.bin" && ! "$FINEWEB" prepare "$3" -o "$1" --shard-tokens 100000 2>"$1.err" &&
	grep -q "fineweb_train_000001.bin: cannot get this name" "$1.err"' - "$tmp/broken" "$tmp/whole" "$sample"
check "to export to a folder" fails 1 "--export $tmp folder" index "$sample" --export "$tmp"
check "to export to where nothing is" fails 1 "--export /nowhere such" index "$sample" --export /nowhere/x
check "to export to nothing" fails 2 "--export FILE" index "$sample" --export ""
check "to verify and to export" fails 2 "--verify --export" index "$sample" --verify --export "$tmp/x"
check "to verify a part" fails 2 "--verify --task" index "$sample" --verify --task 0/2
check "JSON of bytes" fails 2 "--json --format" cat "$sample" --json
check "where in another form" fails 2 "--where --format" cat "$sample" --where --format npy
check "to find in a batch" fails 2 "--find --batch" cat "$sample" --find x --batch 5
check "to find nothing" fails 2 "--find ID" cat "$sample" --find ""
check "a rank below 0" fails 2 "--rank -1 number" cat "$sample" --rank -1
check "a number that is too long" fails 2 "--batch 99999999999999999999" cat "$sample" --batch 99999999999999999999
check "no column of this name" fails 1 "parquet 'nope'" cat "$sample" --column nope
check "what is no file of options" fails 2 "/etc/passwd:1 key" cat "$sample" --config /etc/passwd
for flag in --layers --hidden --heads --vocab --gpus --tokens --global-batch-tokens --gpu-flops --gpu-mem; do
	check "plan $flag 0" fails 2 "$flag 0 expected" plan $flag 0
done
check "epochs of no tokens" fails 2 "--tokens 0 above" info "$sample" --tokens 0
check "no ranks of a node" fails 2 "--node-ranks 0 above" info "$sample" --node-ranks 0
check "a bench of no time" fails 2 "--seconds 0 above" bench "$sample" --seconds 0
check "a bench in no folder" fails 2 "--folder FOLDER" bench "$sample" --folder ""
check "a bench of no tokenizer" fails 2 "nope gpt2" bench "$sample" --tokenizer nope
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	# Root may write anywhere: as somebody else.
	unprivileged() {
		setpriv --reuid 65534 --regid 65534 --clear-groups "$FINEWEB" "$@" >"$tmp/out" 2>"$tmp/err"
		echo "# $* -> $?"
		cat "$tmp/err"
		[ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "Permission denied" "$tmp/err" && [ ! -s "$tmp/out" ]
	}
	mkdir -m 777 "$tmp/nobody"
	FINEWEB_CACHE=$tmp/nobody
	chmod 755 "$tmp"
	mkdir -m 755 "$tmp/closed"
	cp "$data/jsonl/plain/000_00000.jsonl" "$tmp/closed/a.jsonl"
	chmod 600 "$tmp/closed/a.jsonl"
	check "a folder that may not be written" unprivileged prepare "$sample" -o "$tmp/closed/out"
	check "a file that may not be read" unprivileged prepare "$tmp/closed/a.jsonl" -o "$tmp/closed"
	check "a text that may not be read" unprivileged encode "$tmp/closed/a.jsonl"
	check "a bench where nothing may be written" unprivileged bench --folder "$tmp/closed" "$sample"
	check "an export where nothing may be written" unprivileged index "$sample" --export "$tmp/closed/x"
	FINEWEB_CACHE=$tmp/cache
fi

# The EXAMPLES of the manual, as somebody would paste them: those that need neither a mount nor a network.
mkdir "$tmp/paste"
awk '/^\.Sh EXAMPLES/ { on = 1; next } /^\.Sh/ { on = 0 } on' "$top/doc/fineweb.1" |
	grep -E '^(fineweb (cat|plan|prepare|index|bench) |echo .* \| fineweb )' |
	sed "s|/data/fineweb-edu|$sample|g; s|/data/text|$data/jsonl/plain|g; s|/data/edu|$tmp/paste/edu|g
		s|/shared|$tmp/paste|g; s/^fineweb bench /&--seconds 1 --size 8M --folder . /; s/| less/| cat/
		s/-o world_size=8 /-o seq_len=64,world_size=8 /; s|--batch 5|--batch 3|" >"$tmp/paste/commands"
mkdir "$tmp/paste/bin"
ln -s "$FINEWEB" "$tmp/paste/bin/fineweb"
paste() {
	(cd "$tmp/paste" && PATH=$tmp/paste/bin:$PATH sh -e -c "$1") >"$tmp/out" 2>&1 && [ -s "$tmp/out" ] && return 0
	case $1 in *">bench.json") [ -s "$tmp/paste/bench.json" ] && return 0 ;; esac
	cat "$tmp/out"
	return 1
}
check "the manual has examples of subcommands" [ "$(wc -l <"$tmp/paste/commands")" -ge 14 ]
while IFS= read -r line; do
	check "pasted: $(echo "$line" | sed "s|$tmp/paste|...|g; s|$data|...|g" | cut -c 1-90)" paste "$line"
done <"$tmp/paste/commands"

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
	"$FINEWEB" --help | sed -n 's/^  \([a-z][a-z_]*\)  *[^ ].*/--\1/p' | grep -vx -e --fineweb | tr _ - >"$tmp/options"
	for c in $subcommands; do
		"$FINEWEB" $c --help | grep -oE '^  (-[a-z], )?--[a-z-]+' | grep -oE -e '--[a-z-]+' >"$tmp/flags"
		check "completes each of $c" offers "fineweb $c --" --help $(cat "$tmp/flags" "$tmp/options")
	done
	check "completes what has begun" same "--batch
--batch-size
" complete "fineweb cat --bat"
	check "completes options of -o" offers "fineweb cat x -o seed=1,stri" 1,stride=
	check "completes values" same "sequence
piece
" complete "fineweb cat x -o stride="
	check "completes values of a flag" same "bin
npy
text
json
" complete "fineweb cat x --format "
	check "and those that have begun" same "selective
" complete "fineweb plan --recompute sel"
	mkdir "$tmp/completed"
	check "prepare -o takes a folder" same "$tmp/completed
" complete "fineweb prepare x -o $tmp/complet"
fi
finish
