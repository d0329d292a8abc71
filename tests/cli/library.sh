#!/bin/sh
# The tokenizer as a library: installed, found by pkg-config, and used by the example.
. "$(dirname "$0")/functions.sh"

CC=${CC-cc}
if ! command -v pkg-config >/dev/null || [ ! -e libfineweb-token.a ]; then
	echo "1..0 # SKIP no pkg-config, or no library in this folder"
	exit 0
fi
# Its objects are made as the program's are.
for what in address thread; do
	! nm libfineweb-token.a 2>/dev/null | grep -q "__$(printf %.1s $what)san_init" || CC="$CC -fsanitize=$what,undefined"
done

check "it installs" make -s install-token DESTDIR="$tmp/root"
PKG_CONFIG_PATH=$(dirname "$(find "$tmp/root" -name fineweb-token.pc)")
export PKG_CONFIG_PATH
prefix=$tmp/root$(pkg-config --variable=prefix fineweb-token)
uses() {
	$CC -std=c17 -Wall -Wextra -Wpedantic -Werror "$top/examples/encode.c" \
		$(pkg-config --define-variable=prefix="$prefix" --cflags --libs fineweb-token) -o "$tmp/encode"
}
check "the example compiles without a warning" uses
check "it gives the ids of the program" sh -c '[ "$("$1/encode" "Hello, world!" | xargs)" = "15496 11 995 0" ]' - "$tmp"
# Names that nobody would expect in a library are not in it.
check "its names are those of its headers" sh -c '! nm -g --defined-only libfineweb-token.a | awk "NF == 3 { print \$3 }" |
	grep -vE "^(tokenizer|encoder|textstream|decoder|buffer)_"' - "$tmp"
finish
