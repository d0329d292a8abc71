# What the tests of the subcommands share. Each tests/cli/*.sh reads this first, says TAP, and ends with `finish`.
#
# They need no root and no /dev/fuse. FINEWEB names the program (default: the one of the folder where they run). Every
# test has a folder of its own, $tmp, with a cache in it.

set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
FINEWEB=${FINEWEB-$PWD/fineweb}
if [ -d "$top/tests/data/expected" ]; then data=$top/tests/data; else data=$top/../shared/data; fi

if [ ! -x "$FINEWEB" ]; then
	echo "1..0 # SKIP the program is not built in this folder"
	exit 0
fi
if ! python3 -c '' 2>/dev/null; then
	echo "1..0 # SKIP no python3"
	exit 0
fi

tmp=$(mktemp -d "${TMPDIR:-/tmp}/fineweb.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 129' HUP INT TERM
mkdir "$tmp/cache" "$tmp/home"

# No option of whoever runs the tests counts.
for name in $(env | sed -n 's/^\(FINEWEB_[A-Z_]*\)=.*/\1/p'); do
	unset "$name"
done
FINEWEB_CACHE=$tmp/cache
FINEWEB_CONFIG=/dev/null
HOME=$tmp/home
PYTHONDONTWRITEBYTECODE=1
export FINEWEB FINEWEB_CACHE FINEWEB_CONFIG HOME PYTHONDONTWRITEBYTECODE data tmp top
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY all_proxy COLUMNS

count=0
failed=0

ok() {
	count=$((count + 1))
	echo "ok $count - $*"
}

# not_ok WHAT [FILE with what was said]
not_ok() {
	count=$((count + 1))
	failed=1
	echo "not ok $count - $1"
	[ $# -lt 2 ] || sed 's/^/# /' "$2" | head -n 20
}

# check WHAT COMMAND...: ok if the command succeeds; what it says stands below a failure.
check() {
	what=$1
	shift
	if "$@" >"$tmp/said" 2>&1; then ok "$what"; else not_ok "$what" "$tmp/said"; fi
}

# taps FILE.py: passes on the unnumbered TAP lines of a program (tests/cli/tap.py), and numbers them.
taps() {
	python3 "$here/$1" >"$tmp/taps" 2>"$tmp/taps.err"
	while IFS= read -r line; do
		case $line in
		"ok - "*) ok "${line#ok - }" ;;
		"not ok - "*) not_ok "${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done <"$tmp/taps"
	if ! grep -qx '# end' "$tmp/taps"; then not_ok "$1 comes to its end" "$tmp/taps.err"; fi
}

# same WANTED COMMAND...: the command prints just this text.
same() {
	want=$1
	shift
	"$@" >"$tmp/have" 2>"$tmp/err"
	printf '%s' "$want" | cmp - "$tmp/have" && return 0
	head -c 400 "$tmp/have"
	cat "$tmp/err"
	return 1
}

# fails CODE WORDS ARGUMENT...: the program exits with CODE, prints nothing, and says one line on stderr with all WORDS
# (one argument, separated by blanks) in it.
fails() {
	code=$1
	words=$2
	shift 2
	timeout 60 "$FINEWEB" "$@" </dev/null >"$tmp/out" 2>"$tmp/err"
	status=$?
	echo "# $* -> $status"
	cat "$tmp/err"
	[ "$status" = "$code" ] || { echo "exit $status, expected $code"; return 1; }
	[ ! -s "$tmp/out" ] || { echo "something on stdout"; return 1; }
	[ "$(wc -l <"$tmp/err")" = 1 ] || { echo "not one line"; return 1; }
	for w in $words; do
		grep -qiF -e "$w" "$tmp/err" || { echo "no '$w' in it"; return 1; }
	done
}

finish() {
	echo "1..$count"
	exit $failed
}
