#!/bin/sh
# Where one block ends and the next begins is not felt: what will be read is fetched and made before it is.
. "$(dirname "$0")/functions.sh"

mkdir "$tmp/www"
if ! start_nginx "$tmp/www"; then
	echo "1..0 # SKIP no nginx"
	exit 0
fi
delayed=$(free_port)
start "$PYTHON" "$here/../delayproxy.py" "$delayed" "$port" 30
wait_for 5 answers "$delayed"
taps "$PYTHON" "$here/boundary.py" "$tmp/www" "http://127.0.0.1:$delayed" 30
finish
