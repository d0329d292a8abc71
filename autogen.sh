#!/bin/sh
# Makes configure from configure.ac. Needs autoconf, automake and pkg-config.
set -eu
cd "$(dirname "$0")"
mkdir -p m4 build-aux
exec autoreconf --install --force "$@"
