#!/bin/sh
# An S3 store that checks signatures (versitygw, a Go program: `go install github.com/versity/versitygw/cmd/versitygw@latest`),
# and one that does not (moto, from PyPI): the same batches as from the disk.
. "$(dirname "$0")/functions.sh"

VERSITYGW=${FINEWEB_TEST_VERSITYGW-$(command -v versitygw || command -v "$(go env GOPATH 2>/dev/null)/bin/versitygw")}
if [ -z "$VERSITYGW" ]; then
	skip "S3 with signatures" "no versitygw in PATH (FINEWEB_TEST_VERSITYGW)"
else
	export VERSITYGW
	taps "$PYTHON" "$here/s3.py" versitygw
fi
MOTO=${FINEWEB_TEST_MOTO-$(command -v moto_server)}
if [ -z "$MOTO" ]; then
	skip "S3 without signatures" "no moto_server in PATH (FINEWEB_TEST_MOTO)"
else
	export MOTO
	taps "$PYTHON" "$here/s3.py" moto
fi
finish
