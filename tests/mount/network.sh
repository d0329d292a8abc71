#!/bin/sh
# Names, addresses, proxies, certificates and servers that hang: what a network has between a reader and its bytes.
. "$(dirname "$0")/functions.sh"

if ! other_network || ! unshare -m true 2>/dev/null; then
	echo "1..0 # SKIP needs network namespaces"
	exit 0
fi
mkdir "$tmp/www"
cp -r "$data/sample" "$tmp/www/sample"
both=$(free_port) tls=$(free_port)
certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -addext "subjectAltName=DNS:$1" -keyout "$tmp/$1.key" \
		-out "$tmp/$1.cert" >"$tmp/openssl" 2>&1
}
command -v openssl >/dev/null && certificate dual.test || tls=
if ! start_nginx "$tmp/www" "listen $far:$both; ${far6:+listen [$far6]:$both;}
	${tls:+listen $far:$tls ssl; ssl_certificate $tmp/dual.test.cert; ssl_certificate_key $tmp/dual.test.key;}"; then
	echo "1..0 # SKIP no nginx"
	exit 0
fi
printf '127.0.0.1 localhost\n%s dual.test other.test\n%s dual.test\n' "$far" "${far6:-$far}" >"$tmp/hosts"
printf 'nameserver %s\noptions timeout:1\n' "$near" >"$tmp/resolv.conf"
export both tls port
nginx_pid=$pid
export nginx_pid
# Names are looked up in files of our own, in a mount namespace that ends with the program.
taps unshare -m sh -c 'mount --bind "$tmp/hosts" /etc/hosts && mount --bind "$tmp/resolv.conf" "$(realpath /etc/resolv.conf)" &&
	exec "$PYTHON" "$0"' "$here/network.py"
finish
