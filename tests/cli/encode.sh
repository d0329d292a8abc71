#!/bin/sh
# fineweb encode and decode: ids of tiktoken's, their bytes, streams, and what is cut.
. "$(dirname "$0")/functions.sh"

say() {
	text=$1
	shift
	printf '%s' "$text" | "$FINEWEB" "$@"
}
check "Hello, world!" same '15496 11 995 0
' say 'Hello, world!' encode
check "raw uint16" sh -c '[ "$(printf "Hello, world!" | "$FINEWEB" encode --format u16 | od -An -tx1 | tr -d " \n")" = 883c0b00e3030000 ]'
check "raw uint32" sh -c '[ "$(printf Hello | "$FINEWEB" encode --format=u32 | od -An -tx1 | tr -d " \n")" = 883c0000 ]'
check "only the number" same '4
' say 'Hello, world!' encode --count
check "a literal special token is text" same '27 91 437 1659 5239 91 29
' say '<|endoftext|>' encode
check "nothing" same '
' say '' encode
check "cl100k" same '9906 11 1917 0
' say 'Hello, world!' encode --tokenizer=cl100k
check "options of the environment count" sh -c '[ "$(printf "Hello, world!" | FINEWEB_TOKENIZER=cl100k "$FINEWEB" encode)" = "9906 11 1917 0" ]'
check "the command line is later" sh -c '[ "$(printf Hello | FINEWEB_TOKENIZER=cl100k "$FINEWEB" encode -o tokenizer=gpt2)" = 15496 ]'
printf 'tokenizer = cl100k\n' >"$tmp/conf"
check "a file of options counts" sh -c '[ "$(printf "Hello, world!" | "$FINEWEB" encode --config "$1")" = "9906 11 1917 0" ]' - "$tmp/conf"

printf 'Hello' >"$tmp/a"
printf ', world!' >"$tmp/b"
check "files, a line each" same '15496
11 995 0
' "$FINEWEB" encode "$tmp/a" "$tmp/b"
check "numbers of files" same "1 $tmp/a
3 $tmp/b
" "$FINEWEB" encode --count "$tmp/a" "$tmp/b"
check "- is stdin" sh -c '[ "$(printf Hello | "$FINEWEB" encode -)" = 15496 ]'

check "decode" same 'Hello, world!' say '15496 11 995 0' decode
check "decode takes lists" same 'Hello, world!' say '[15496, 11,
995,0]' decode
check "decode of a special id" same 'Hello<|endoftext|>' say '15496 50256' decode
# U+1F600 is 47249 222: its first three bytes, and the last.
check "a character of two tokens" same '😀' say '47249 222' decode
check "cut at the end" same 'a�' say '64 47249' decode
check "cut at the beginning" same '�a' say '222 64' decode
check "cut in the middle" same 'a�b' say '64 47249 65' decode
check "what is decoded appears at once" sh -c '
	{ printf "15496 11 "; sleep 2; printf "995"; } | "$FINEWEB" decode | { read -r -n 6 x 2>/dev/null || x=$(head -c 6); [ "$x" = "Hello," ]; }'
taps encode.py
finish
