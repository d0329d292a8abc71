#!/bin/sh
# The manual has an entry for each option of the program, with its default, and none for another.
top=${srcdir-.}
page=$top/doc/fineweb.1
n=0
failed=0

# report WHAT FINDINGS: no findings are a pass.
report() {
	n=$((n + 1))
	if [ -z "$2" ]; then
		echo "ok $n - $1"
	else
		echo "not ok $n - $1"
		echo "$2" | sed 's/^/# /'
		failed=1
	fi
}

if [ ! -x ./fineweb ]; then
	echo "1..0 # SKIP the program is not built in this folder"
	exit 0
fi

# "name<TAB>default" of each option that --help lists: a line with the name, then one with "; default ...".
options=$(./fineweb --help | awk '
	/^  [a-z][a-z_]* / { name = $1; next }
	name != "" && sub(/.*; default /, "") { print name "\t" $0; name = "" }')
# The same of each entry of the manual; the default is the rest of the line behind "Default: ".
entries=$(awk '
	/^\.It Cm / { name = $3 }
	/^\.(El|Sh|Ss)/ { name = "" }
	name != "" && sub(/^Default: /, "") { print name "\t" $0; name = "" }' "$page")

report "the program lists its options" "$([ "$(echo "$options" | wc -l)" -gt 30 ] || echo "$options")"
report "each has an entry with its default" "$(echo "$options" | while IFS='	' read -r name value; do
	echo "$entries" | awk -F '\t' -v name="$name" -v value="$value" '
		$1 == name && index($2, value) == 1 && substr($2, length(value) + 1) ~ /^[.,]/ { found = 1 }
		END { exit !found }' || echo "$name: expected an entry with \"Default: $value\""
done)"
report "no entry is for something else" "$(echo "$entries" | while IFS='	' read -r name _; do
	echo "$options" | grep -q "^$name	" || echo "$name is no option"
done)"
report "fineweb.conf is what conf.awk makes of the options" \
	"$(./fineweb --help | awk -f "$top/doc/conf.awk" | diff - "$top/doc/fineweb.conf" 2>&1)"
# Flags of each subcommand, in its own section.
report "each flag of a subcommand is named" "$(./fineweb --help | sed -n 's/^  fineweb \([a-z]*\) .*/\1/p' | while read -r name; do
	section=$(awk -v name="$name" '/^\.S[sh]/ { in_it = $1 == ".Ss" && $2 == "fineweb" && $3 == name } in_it' "$page")
	[ -n "$section" ] || echo "no section for fineweb $name"
	./fineweb "$name" --help | sed -n 's/^  \(-[a-z], \)\{0,1\}--\([a-z][a-z-]*\).*/\2/p' | while read -r flag; do
		echo "$section" | grep -qE "^\.It (.*, )?Fl (. , Fl )?-$flag( |\$)" || echo "fineweb $name --$flag"
	done
done)"
# What stands between ``` and ``` in the two READMEs, without remarks and the picture of the tree.
code_of() {
	awk '/^```/ { in_it = !in_it; next } in_it && !/├|│|└/ { sub(/ +#.*/, ""); print }' "$1"
}
report "the Korean README has the same commands and the same output" "$(code_of "$top/README.md" >code.en && code_of "$top/README.ko.md" | diff code.en -
	rm -f code.en)"
if command -v groff >/dev/null 2>&1; then
	report "groff has no complaint" "$(groff -mandoc -Tascii -ww -z "$page" "$top/doc/mount.fineweb.8" 2>&1)"
else
	n=$((n + 1))
	echo "ok $n - groff has no complaint # SKIP no groff"
fi
echo "1..$n"
exit $failed
