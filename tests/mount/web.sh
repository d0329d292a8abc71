#!/bin/sh
# Folders of web servers by their index pages: nginx's, and those of Python's http.server, which has no ranges.
. "$(dirname "$0")/functions.sh"

mkdir -p "$tmp/www/deep/er one/_hidden" "$tmp/www/empty"
cp -r "$data/sample" "$tmp/www/sample"
cp "$data/jsonl/plain/000_00000.jsonl" "$tmp/www/deep/er one/a&b.jsonl"
cp "$data/jsonl/plain/000_00001.jsonl" "$tmp/www/deep/x.jsonl"
cp "$data/jsonl/plain/000_00001.jsonl" "$tmp/www/deep/er one/_hidden/x.jsonl"
echo hello >"$tmp/www/deep/notes.html"

port=$(free_port)
start "$PYTHON" -m http.server --bind 127.0.0.1 --directory "$tmp/www" "$port" >"$tmp/said.python" 2>&1
wait_for 5 answers "$port"
taps "$PYTHON" "$here/web.py" "http://127.0.0.1:$port" "http.server"
if command -v nginx >/dev/null; then
	start_nginx "$tmp/www" "autoindex on;"
	taps "$PYTHON" "$here/web.py" "$nginx" "nginx"
else
	skip "the same from nginx" "no nginx"
fi
finish
