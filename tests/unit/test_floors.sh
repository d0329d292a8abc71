#!/bin/sh
# No file includes upward or sideways, each foreign library is met in its own room only, and the style that a machine can see.
cd "${srcdir-.}" || exit 99

rooms="base:0 io:1 format:2 token:2 order:2 store:2 fetch:3 dataset:4 tree:5 cli:6 mount:6"
files=$(find src mount -name '*.[chS]' | sort)
n=0

# report WHAT FINDINGS: no findings are a pass.
report() {
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "$2" | sed 's/^/# /' | head -n 40
	fi
}
# "file line header" of each #include "..." and <...>
includes() {
	awk '/^[ \t]*#[ \t]*include[ \t]/ {
		header = $0
		sub(/^[ \t]*#[ \t]*include[ \t]*/, "", header)
		sub(/[ \t]*(\/[*\/].*)?$/, "", header)
		print FILENAME, FNR, header
	}' $files
}
list=$(mktemp)
includes >"$list"
trap 'rm -f "$list"' EXIT

report "there are files, and they include others" "$([ "$(wc -l <"$list")" -gt 20 ] || echo "$(wc -l <"$list") includes")"

# mount/main.c alone joins the two rooms of floor 6.
report "no file includes upward or sideways" "$(awk -v rooms="$rooms" '
	BEGIN {
		n = split(rooms, list, " ")
		for (i = 1; i <= n; i++) {
			split(list[i], pair, ":")
			floor[pair[1]] = pair[2]
		}
	}
	function room(path,   part) {
		sub(/^src\//, "", path)
		split(path, part, "/")
		return part[1]
	}
	$3 ~ /^"/ && $3 != "\"config.h\"" {
		to = substr($3, 2, length($3) - 2)
		a = room($1)
		b = room(to)
		if (to !~ /\// || !(b in floor)) {
			if (to !~ /\.(inc|h)$/ || to ~ /\//)
				print $1 ":" $2 ": " to " is in no room"
			else
				print $1 ":" $2 ": " to " is not written from src/ (room/file.h)"
		} else if (a != b && floor[b] >= floor[a] && $1 != "mount/main.c")
			print $1 ":" $2 ": " a " (floor " floor[a] ") includes " to " (floor " floor[b] ")"
	}
	{
		a = room($1)
		if (!(a in floor))
			print $1 ": no such room"
	}' "$list")"

report "each foreign library has one room" "$(awk '
	# Where a header may be included, as a pattern of file names.
	BEGIN {
		allowed["curl/"] = "^src/io/(http|transfer|hop|loop|answer)\\.[ch]$"
		allowed["lmdb.h"] = "^src/store/index\\.c$"
		allowed["zstd"] = allowed["brotli/"] = allowed["lz4"] = allowed["snappy"] = "^src/io/codec"
		allowed["zlib.h"] = "^src/(io/codec|format/parquet|store/(index|record|header))"
		allowed["fuse"] = "^mount/"
		allowed["yaml.h"] = "^src/io/card\\.c$"
		allowed["jansson.h"] = "^src/(io/hubpage\\.c|dataset/prepared\\.c|tree/|token/|cli/)"
		allowed["openssl/"] = "^src/base/hash\\.c$"
		allowed["CUnit/"] = "^$"
	}
	$3 ~ /^</ {
		header = substr($3, 2)
		for (start in allowed)
			if (index(header, start) == 1 && $1 !~ allowed[start])
				print $1 ":" $2 ": " $3 " belongs into " allowed[start]
	}' "$list")"

report "only floor 6 prints" "$(grep -nE '(^|[^a-z_])(printf|puts|putchar|perror)[ ]*\(' $(echo "$files" | grep -E '^src/' | grep -vE '^src/(cli|base/log)') /dev/null)"

report "no file has more than 700 lines" "$(wc -l $files $(find tests examples -name '*.[ch]' -o -name '*.py' -o -name '*.sh') |
	awk '$2 != "total" && $1 > 700 { print $2 ": " $1 }')"

report "no line has more than 130 columns" "$(awk '{ line = $0; gsub(/\t/, "        ", line) } length(line) > 130 { print FILENAME ":" FNR }' \
	$(echo "$files" | grep '\.c$'))"

words='TO''DO|FIX''ME|XX''X:'
report "nothing is left open" "$(grep -rnE "$words" $files tests/*.sh tests/unit tests/mount tests/fuzz/*.c examples/*.* README.md CONTRIBUTING.md \
	configure.ac Makefile.am --include='*' -I 2>/dev/null)"

machine='/ho''me/[a-z]|/wo''rk/|/ro''ot/'
report "no path of one machine" "$(grep -nE "$machine" $files tests/unit/*.[ch] tests/unit/*.sh tests/fuzz/*.c tests/mount/* \
	examples/*.* tests/run.sh README.md CONTRIBUTING.md configure.ac Makefile.am 2>/dev/null)"

report "every header has a guard" "$(for f in $(echo "$files" | grep '\.h$'); do
	grep -qE '^#ifndef FW_[A-Z0-9_]+_H$' "$f" || echo "$f"
done)"

report "every header says what it is" "$(for f in $(echo "$files" | grep '\.h$'); do
	head -n 1 "$f" | grep -qE '^/\* [a-z0-9_]+: ' || echo "$f: $(head -n 1 "$f")"
done)"

echo "1..$n"
