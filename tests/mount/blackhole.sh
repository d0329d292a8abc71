#!/bin/sh
# The network goes away without a word while a mount is read: what is cached stays fast, what is not ends in time.
. "$(dirname "$0")/functions.sh"

if ! other_network; then
	network=
	echo "1..0 # SKIP needs network namespaces"
	exit 0
fi
mkdir "$tmp/www"
cp -r "$data/sample" "$tmp/www/sample"
if ! start_nginx "$tmp/www" "autoindex on;"; then
	echo "1..0 # SKIP no nginx"
	exit 0
fi
taps "$PYTHON" "$here/blackhole.py" "$nginx"
check "nothing is left mounted" nothing_mounted
finish
