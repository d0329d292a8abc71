# The Debian 12 and Ubuntu 24.04 packages that finewebfs needs; read by tests/run.sh and examples/quickstart.sh.

BUILD_PACKAGES="gcc libc6-dev make autoconf automake pkgconf fuse3 libfuse3-dev libcurl4-openssl-dev libssl-dev
	liblmdb-dev libzstd-dev zlib1g-dev libsnappy-dev libbrotli-dev liblz4-dev libjansson-dev libyaml-dev"
SHOW_PACKAGES="bsdextrautils"
DEB_PACKAGES="debhelper dpkg-dev lintian debootstrap fakeroot"
TEST_PACKAGES="bsdextrautils iproute2 libcunit1-dev nginx-light python3 python3-numpy util-linux less jq rsync file"

# Runs a command as root: directly, or through sudo.
as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	else
		sudo "$@"
	fi
}

# Installs those of the named packages that are missing. Needs the network only then.
install_packages() {
	missing=
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing="$missing $package"
	done
	[ -n "$missing" ] || return 0
	echo "installing$missing"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update >/dev/null &&
		as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing >/dev/null
}
