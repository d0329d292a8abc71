#!/bin/sh
# The Debian package: built, looked at by lintian, installed in a system that has never seen the sources, and used there.
# DEB names a package that is built already. Needs the network for debootstrap (its packages are kept in DEB_CACHE).
. "$(dirname "$0")/../mount/functions.sh"
for need in dpkg-buildpackage debootstrap dpkg-deb; do
	command -v $need >/dev/null || { echo "1..0 # SKIP no $need"; exit 0; }
done
build=$(cd "$(dirname "$FINEWEB")/../.." && pwd)
PATH=$PATH:/usr/sbin:/sbin

make_deb() {
	(cd "$build" && HOME=$home make deb) >"$tmp/deb.log" 2>&1 || { tail -n 30 "$tmp/deb.log"; return 1; }
	DEB=$(ls "$build"/fineweb_*.deb)
}
DEB=${DEB-}
[ -n "$DEB" ] || check "make deb" make_deb
[ -e "$DEB" ] || { finish; }
echo "# $(basename "$DEB"), $(stat -c %s "$DEB") bytes"
no_errors() {
	lintian --fail-on error --tag-display-limit 0 "$DEB"
}
if command -v lintian >/dev/null; then
	check "lintian finds no error" no_errors
	sed 's/^/# /' "$tmp/said"
else
	skip "lintian finds no error" "no lintian"
fi
for file in ./usr/bin/fineweb ./usr/share/man/man1/fineweb.1.gz ./usr/share/man/man8/mount.fineweb.8.gz ./etc/fineweb.conf \
	./usr/share/bash-completion/completions/fineweb ./lib/systemd/system/fineweb@.service ./sbin/mount.fineweb; do
	check "it has $file" sh -c 'dpkg-deb -c "$1" | grep -qF " $2"' - "$DEB" "$file"
done

# A system of its own. HTTP caches and mirrors are those of this one.
root=$tmp/root
mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)*\(http[^ ]*\) .*/\2/p' /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | head -n 1)
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
cache=${DEB_CACHE-$home/.cache/fineweb-debs}
mkdir -p "$cache" "$root"
bootstrap() {
	HOME=$home debootstrap --variant=minbase --cache-dir="$cache" "$release" "$root" "$mirror" >"$tmp/bootstrap.log" 2>&1 ||
		{ tail -n 5 "$tmp/bootstrap.log"; return 1; }
	# apt's own settings for this machine's way to the mirror.
	cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" && cp /etc/resolv.conf "$root/etc/resolv.conf"
	rm -rf "$root"/etc/apt/sources.list.d "$root/etc/apt/sources.list"
	cp -r /etc/apt/sources.list* "$root/etc/apt/"
	mkdir -p "$root/usr/share/keyrings" && cp -rn /usr/share/keyrings/. "$root/usr/share/keyrings/"
	mkdir -p "$root/mnt/fw" && cp "$DEB" "$root/root/"
}
if ! bootstrap >"$tmp/said" 2>&1; then
	skip "a system of its own" "debootstrap: $(tail -n 1 "$tmp/said")"
	finish
fi
ok "debootstrap makes a system of $release"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
inside() {
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C DEBIAN_FRONTEND=noninteractive \
		${http+http_proxy="$http"} chroot "$root" "$@"
}
install() {
	inside apt-get -q update && inside sh -c 'apt-get -q -y install --no-install-recommends /root/fineweb_*.deb'
}
check "apt install ./fineweb_*.deb" install
inside apt-get clean
here_is() {
	[ "$(inside cat /proc/self/mounts | grep -c ' /mnt/fw fuse.fineweb ro,')" = 1 ] && inside head -n 3 /mnt/fw/README.txt &&
		inside sh -c 'od -An -tu2 -N 32 /mnt/fw/rank_0/batch_0000.bin && [ "$(ls /mnt/fw/rank_0 | wc -l)" = 7 ]' &&
		inside umount /mnt/fw
}
way() {
	inside "$@" && here_is
}
check "mount -t fuse fineweb /mnt/fw" way mount -t fuse fineweb /mnt/fw
check "mount -t fineweb none /mnt/fw" way mount -t fineweb none /mnt/fw
check "mount -t fineweb -sv, with options" way mount -s -v -t fineweb none /mnt/fw -o ro,seed=1,noexec
check "fineweb /mnt/fw" way fineweb /mnt/fw
printf 'none /mnt/fw fineweb noauto,world_size=1 0 0\n' >"$root/etc/fstab"
check "mount /mnt/fw, of fstab" way mount /mnt/fw
fake() {
	inside mount -f -t fineweb none /mnt/fw -o seed=1 && ! inside grep -q /mnt/fw /proc/self/mounts &&
		! inside mount -t fineweb none /mnt/fw -o sede=1
}
check "mount -f mounts nothing, and a mistyped option is found" fake
check "fineweb.conf is read" sh -c 'echo "seq_len = 8191" >>"$1/etc/fineweb.conf"' - "$root"
conf() {
	inside mount -t fuse fineweb /mnt/fw -o batch_size=1 && [ "$(inside stat -c %s /mnt/fw/rank_0/batch_0000.bin)" = 16384 ]
	status=$?
	inside umount /mnt/fw
	return $status
}
check "and decides" conf
sed -i '/^seq_len/d' "$root/etc/fineweb.conf"
# The card of commands in the README, typed there.
card() {
	inside sh -ec '
		s=/usr/share/finewebfs/sample
		cd /tmp
		fineweb --help >/dev/null
		[ "$(fineweb cat $s --rank 0 --batch 5 | od -An -tu2 | wc -l)" = 4100 ]
		fineweb cat $s --batch 5-6 --format npy >five.npy
		[ "$(stat -c %s five.npy)" = 131328 ]
		fineweb cat $s --batch 5 --where | grep -q "^batch 5 row 0: 000_0000"
		fineweb cat $s -o world_size=2 --find 000_00001.parquet:77 | grep -q "rank"
		fineweb info $s | grep -qi tokens
		fineweb plan --model gpt2 --gpu-mem 80G --gpus 8 --tokens 10B >/dev/null
		[ "$(echo "Hello, world!" | fineweb encode)" = "15496 11 995 0 198" ]
		[ "$(echo "Hello, world!" | fineweb encode | fineweb decode)" = "Hello, world!" ]'
}
check "the card of commands in the README" card
# And each of its lines as it stands there, on the sample and a mount of it.
typed() {
	awk '/^## Without a mount/ { in_it = 1 } in_it && /^```/ { if (code++) exit; next } code' "$top/README.md" |
		sed 's/  *#.*//; s#/data/parquet#/usr/share/finewebfs/sample#g; s#/data/shards#/tmp/shards#; s/5-9/5-6/' >"$root/tmp/card"
	# hexdump is not in the smallest system.
	inside apt-get -q -y install --no-install-recommends bsdextrautils || return 1
	[ "$(wc -l <"$root/tmp/card")" -ge 10 ] && inside mount -t fuse fineweb /mnt/fw || return 1
	wrong=0
	while read -r line; do
		case $line in
		*--watch) line="timeout 3 $line; [ \$? = 124 ]" ;;
		*bench) line="$line --help" ;;
		esac
		inside sh -c "cd /tmp && $line" </dev/null >"$tmp/typed" 2>&1 && [ -s "$tmp/typed" ] && ! grep -q "not found" "$tmp/typed" || case $line in
		*">"*) [ -s "$root/tmp/five.npy" ] ;;
		*) false ;;
		esac || { echo "$line"; cat "$tmp/typed"; wrong=1; }
	done <"$root/tmp/card"
	inside umount /mnt/fw && return $wrong
}
check "each of its lines as it stands there" typed
remove() {
	inside dpkg -r fineweb && [ ! -e "$root/usr/bin/fineweb" ] && [ ! -L "$root/sbin/mount.fineweb" ]
}
check "it can be removed" remove
umount "$root/dev" "$root/proc"
check "nothing is left mounted" nothing_mounted
finish
