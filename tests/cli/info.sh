#!/bin/sh
# fineweb info: counts of expected/batches.json, token files, and what is damaged.
. "$(dirname "$0")/functions.sh"

python3 "$data/long.py" "$tmp/long" || exit 99
taps info.py

# has WORDS FILE: `info FILE` succeeds and says so.
has() {
	"$FINEWEB" info "$2" >"$tmp/out" 2>&1 || { cat "$tmp/out"; return 1; }
	grep -qF -e "$1" "$tmp/out" || { cat "$tmp/out"; return 1; }
}
check "columns" has "columns           text (texts), id, dump, url, date, file_path, language, language_score, token_count (counts)" \
	"$data/sample/10BT"
check "first words" has "first words       <|endoftext|>We recently reported on a decision" "$data/tokens/raw/fineweb_train_000000.bin"
check "llm.c's header" has "llm.c, magic 20240520, version 1" "$data/tokens/llmc/fineweb_train_000001.bin"
check "NumPy's header" has ".npy, <u2" "$data/tokens/npy/edufineweb_train_000001.npy"
check "ids outside the vocabulary" has "2 ids, the first is token 3: 50257" "$data/bad/id_out_of_range.bin"
check "less than a batch is no error" sh -c '"$FINEWEB" info "$1" -o world_size=100 | grep -q "^batches  *0 a rank"' - "$data/edu"
check "a damaged header" fails 1 "odd.bin 3" info "$data/bad/odd.bin"
check "too few ids" fails 1 "llmc_short.bin" info "$data/bad/llmc_short.bin"
check "no Parquet" fails 1 "no_magic.parquet PAR1" info "$data/bad/no_magic.parquet"
check "--watch and --json" fails 2 "--watch --json" info --watch --json "$data/edu"
check "--watch wants a mount" fails 2 "--watch mounted" info --watch "$data/edu"
finish
