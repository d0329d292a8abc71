#!/bin/sh
# From a fresh clone to batches of tokens: installs what is missing, builds, installs to /usr/local, mounts the bundled sample
# at /mnt/fw (or the folder that is given) and looks at it. As root or through sudo; may be run again.
set -eu
cd "$(dirname "$0")/.."
. tests/packages.sh
mnt=${1-/mnt/fw}
PATH=/usr/local/bin:$PATH
again=$(mktemp -d)

say() {
	if [ -t 1 ]; then
		printf '\n\033[1m%s\033[0m\n' "$*"
	else
		printf '\n%s\n' "$*"
	fi
}

# Unmounts what an earlier run left, and nothing else.
unmount_ours() {
	kind=$(awk -v m="$1" '$2 == m { kind = $3 } END { print kind }' /proc/self/mounts)
	case $kind in
	"") ;;
	fuse.fineweb) as_root umount "$1" ;;
	*)
		echo "$1 is in use by another filesystem ($kind)" >&2
		exit 1
		;;
	esac
}
trap 'unmount_ours "$again/mnt"; as_root rm -rf "$again"' EXIT

say "1. Packages"
install_packages $BUILD_PACKAGES $SHOW_PACKAGES
echo "all there"

say "2. Build and install"
mkdir -p build
[ -x configure ] || ./autogen.sh >build/autogen.log 2>&1
mkdir -p build/quickstart
(
	cd build/quickstart
	[ -e config.status ] || ../../configure --quiet --prefix=/usr/local --sysconfdir=/etc
	make --quiet -j "$(nproc)" >make.log 2>&1 || { tail -n 20 make.log; exit 1; }
	as_root make --quiet install >/dev/null
)
command -v fineweb

say "3. Mount the sample: two ranks, batches of 4 sequences"
unmount_ours "$mnt"
as_root mkdir -p "$mnt"
echo "\$ mount -t fuse fineweb $mnt -o world_size=2,batch_size=4"
as_root mount -t fuse fineweb "$mnt" -o world_size=2,batch_size=4

say "4. The tree"
ls "$mnt"
echo "\$ find $mnt/rank_0 -type f | sort | head -n 3"
find "$mnt/rank_0" -type f | sort | head -n 3
echo "... $(ls "$mnt/rank_0" | wc -l) batches of $(stat -c %s "$mnt/rank_0/batch_0000.bin") bytes for each rank"

say "5. A batch: 4 rows of 1025 tokens, uint16, little-endian"
echo "\$ hexdump -C $mnt/rank_0/batch_0000.bin | head -n 4"
hexdump -C "$mnt/rank_0/batch_0000.bin" | head -n 4

say "6. The same, decoded"
echo "\$ head -c 96 $mnt/rank_0/batch_0000.bin | fineweb decode --format u16"
head -c 96 "$mnt/rank_0/batch_0000.bin" | fineweb decode --format u16
echo

say "7. Another rank has another batch"
(cd "$mnt" && sha256sum rank_0/batch_0000.bin rank_1/batch_0000.bin)
! cmp -s "$mnt/rank_0/batch_0000.bin" "$mnt/rank_1/batch_0000.bin"

say "8. A second mount, with an empty cache, has the same bytes"
mkdir "$again/mnt"
as_root mount -t fuse fineweb "$again/mnt" -o world_size=2,batch_size=4,cache="$again/cache"
diff -r "$mnt/rank_0" "$again/mnt/rank_0"
diff -r "$mnt/rank_1" "$again/mnt/rank_1"
echo "every batch of both ranks is identical"

say "It stays mounted at $mnt. To unmount it: umount $mnt"
