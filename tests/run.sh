#!/bin/sh
# Installs what is missing, builds in build*/, and runs every test: the unit programs and corpora (make check) and the
# real mounts. Ends with one line, "N passed, N failed, N skipped"; fails if a test did.
#
#   sh tests/run.sh                the plain build (--plain)
#   sh tests/run.sh --sanitize     all of it under AddressSanitizer and UBSan
#   sh tests/run.sh --tsan         the unit tests under ThreadSanitizer
#   sh tests/run.sh --peers        first gets what others made and tests compare with, to $FINEWEB_PEERS (~/.cache/fineweb-peers): an S3
#                                  server that checks signatures, tiktoken, tokenizers, datasets. Then --plain, which uses what is there
#   sh tests/run.sh --torch        what needs PyTorch: gigabytes, in a venv at $TORCH_VENV (~/.cache/fineweb-venv)
#   sh tests/run.sh --deb          the Debian package, built, and installed in a system of its own (debootstrap)
#
# More than one may be given; the last line is then their sum.
set -u
cd "$(dirname "$0")/.." || exit 1
. tests/packages.sh

passed=0
failed=0
skipped=0

finish() {
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
	exit
}

fatal() {
	echo "$1"
	[ $# -lt 2 ] || tail -n 40 "$2"
	failed=$((failed + 1))
	finish
}

# build FOLDER CONFIGURE-ARGUMENTS...
build() {
	dir=$1
	shift
	echo "building in $dir/"
	mkdir -p "$dir"
	[ ! -e config.status ] || fatal "the source tree itself is configured: run make distclean first"
	[ -x configure ] || ./autogen.sh >"$dir/autogen.log" 2>&1 || fatal "autogen.sh failed" "$dir/autogen.log"
	if [ ! -e "$dir/config.status" ]; then
		(cd "$dir" && ../configure --quiet --prefix="$PWD/stage" "$@" >configure.log 2>&1) ||
			fatal "configure failed" "$dir/configure.log"
	fi
	{ make -C "$dir" -j "$jobs" && make -C "$dir" install; } >"$dir/make.log" 2>&1 || fatal "make failed" "$dir/make.log"
	! grep -i 'warning:' "$dir/make.log"
}

# Unit programs and corpora: the numbers are those of automake's own summary.
unit() {
	$wrap make -C "$1" -k -j "$jobs" check >"$1/check.log" 2>&1
	status=$?
	number() {
		sed -n "s/^# $1: *\([0-9][0-9]*\)\$/\1/p" "$dir/check.log" | tail -n 1
	}
	total=$(number TOTAL)
	[ -n "$total" ] || fatal "make check did not run" "$1/check.log"
	p=$(($(number PASS) + $(number XFAIL)))
	f=$(($(number FAIL) + $(number XPASS) + $(number ERROR)))
	s=$(number SKIP)
	[ "$status" = 0 ] || [ "$f" != 0 ] || f=1
	echo "make check: $p passed, $f failed, $s skipped"
	[ "$f" = 0 ] || grep -hE -A 12 '^(not ok|Bail out|.*(AddressSanitizer|ThreadSanitizer|runtime error))' "$1"/test-suite.log |
		head -n 200
	passed=$((passed + p))
	failed=$((failed + f))
	skipped=$((skipped + s))
}

# One file of TAP: prints "passed failed skipped". A test that says fewer or more lines than it planned has failed.
read_tap() {
	awk -v status="$2" '
		/^ok .*# SKIP/ { s++; n++; next }
		/^ok /         { p++; n++; next }
		/^not ok /     { f++; n++; next }
		/^1\.\.0/      { s++; planned = n = 0; seen = 1; next }
		/^1\.\.[0-9]/  { planned = substr($1, 4) + 0; seen = 1 }
		END {
			if (!seen || planned != n || (status != 0 && !f))
				f++
			print p + 0, f + 0, s + 0
		}' "$1"
}

# script FOLDER tests/GROUP/NAME.sh: one test that is a shell script, with the program that was built in FOLDER.
script() {
	name=$(basename "$(dirname "$2")")/$(basename "$2" .sh)
	log=$1/$(echo "$name" | tr / -).log
	begun=$(date +%s)
	if [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; then
		as_root env FINEWEB="$PWD/$1/stage/bin/fineweb" PYTHON_TORCH="${PYTHON_TORCH-}" PYTHON_PEERS="${PYTHON_PEERS-}" \
			VERSITYGW="${VERSITYGW-}" MOTO="${MOTO-}" HOME="${HOME-/}" \
			timeout -k 30 900 sh "$2" >"$log" 2>&1
	else
		echo "1..0 # SKIP needs root" >"$log"
	fi
	set -- "$1" $(read_tap "$log" $?)
	echo "$name: $2 passed, $3 failed, $4 skipped ($(($(date +%s) - begun)) s)"
	sed -n 's/^1\.\.0 # SKIP/  skipped:/p; s/.*# SKIP/  skipped:/p' "$log" | sort -u
	if [ "$3" != 0 ]; then
		grep -E -A 12 '^(not ok|Bail out)' "$log" || tail -n 5 "$log"
	fi
	passed=$((passed + $2))
	failed=$((failed + $3))
	skipped=$((skipped + $4))
}

mounts() {
	echo "mount tests with $1/stage/bin/fineweb"
	for t in tests/mount/*.sh; do
		[ "$(basename "$t")" = functions.sh ] || script "$1" "$t"
	done
}

# What others made, once; what cannot be had is named, and its tests are skipped.
peers() {
	peers=${FINEWEB_PEERS-${HOME-/root}/.cache/fineweb-peers}
	mkdir -p "$peers"
	install_packages python3-venv || fatal "could not install packages"
	if [ ! -x "$peers/venv/bin/moto_server" ]; then
		echo "installing tiktoken, tokenizers, pyarrow, datasets, moto in $peers"
		python3 -m venv "$peers/venv" && "$peers/venv/bin/pip" install -q numpy tiktoken tokenizers pyarrow datasets \
			huggingface_hub prometheus-client 'moto[server]' >"$peers/pip.log" 2>&1 || tail -n 2 "$peers/pip.log"
	fi
	if [ ! -x "$peers/versitygw" ] && command -v go >/dev/null; then
		echo "installing versitygw in $peers"
		GOBIN=$peers go install github.com/versity/versitygw/cmd/versitygw@latest >"$peers/go.log" 2>&1 || tail -n 2 "$peers/go.log"
	fi
}

# Names those that are there.
find_peers() {
	peers=${FINEWEB_PEERS-${HOME-/root}/.cache/fineweb-peers}
	[ ! -x "$peers/venv/bin/python" ] || PYTHON_PEERS=$peers/venv/bin/python
	[ ! -x "$peers/venv/bin/moto_server" ] || MOTO=$peers/venv/bin/moto_server
	[ ! -x "$peers/versitygw" ] || VERSITYGW=$peers/versitygw
	export PYTHON_PEERS VERSITYGW MOTO
}

# PyTorch from PyPI, once; where it cannot be had the test says so and is skipped.
torch() {
	venv=${TORCH_VENV-${HOME-/root}/.cache/fineweb-venv}
	if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -c 'import torch, datasets' 2>/dev/null; then
		echo "installing torch in $venv"
		install_packages python3-venv
		python3 -m venv "$venv" && "$venv/bin/pip" install -q numpy torch datasets transformers accelerate jax >"$1/pip.log" 2>&1 ||
			tail -n 2 "$1/pip.log"
	fi
	PYTHON_TORCH=$venv/bin/python
	script "$1" tests/trainers/torch.sh
	PYTHON_TORCH=
}

[ $# -gt 0 ] || set -- --plain
for mode in "$@"; do
	case $mode in
	--plain | --peers | --sanitize | --tsan | --torch | --deb) ;;
	*)
		echo "usage: sh tests/run.sh [--plain] [--peers] [--sanitize] [--tsan] [--torch] [--deb]" >&2
		exit 2
		;;
	esac
done

install_packages $BUILD_PACKAGES $TEST_PACKAGES || fatal "could not install packages"
jobs=$(nproc)
wrap=
PYTHON_PEERS=
VERSITYGW=
MOTO=
find_peers
for mode in "$@"; do
	case $mode in
	--plain | --peers)
		if [ "$mode" = --peers ]; then
			peers
			find_peers
		fi
		build build
		unit build
		mounts build
		;;
	--sanitize)
		ASAN_OPTIONS=detect_stack_use_after_return=0:abort_on_error=0
		UBSAN_OPTIONS=print_stacktrace=1
		export ASAN_OPTIONS UBSAN_OPTIONS
		build build-asan --enable-sanitize=address,undefined CFLAGS='-O1 -g'
		unit build-asan
		mounts build-asan
		;;
	--tsan)
		build build-tsan --enable-sanitize=thread CFLAGS='-O1 -g'
		# The sanitizer's shadow memory wants addresses that are not randomised.
		wrap="setarch -R"
		unit build-tsan
		wrap=
		;;
	--torch)
		build build
		torch build
		;;
	--deb)
		build build
		install_packages $DEB_PACKAGES || fatal "could not install packages"
		script build tests/deb/deb.sh
		;;
	esac
done
finish
