#!/bin/sh
# An S3 store that checks signatures (versitygw, a Go program: `go install github.com/versity/versitygw/cmd/versitygw@latest`),
# and one that does not (moto, from PyPI): the same batches as from the disk.
. "$(dirname "$0")/functions.sh"

VERSITYGW=${VERSITYGW:-$(command -v versitygw || command -v "$(go env GOPATH 2>/dev/null)/bin/versitygw")}
if [ -z "$VERSITYGW" ]; then
	skip "S3 with signatures" "no versitygw (sh tests/run.sh --peers)"
else
	export VERSITYGW
	taps "$PYTHON" "$here/s3.py" versitygw
fi
MOTO=${MOTO:-$(command -v moto_server)}
if [ -z "$MOTO" ]; then
	skip "S3 without signatures" "no moto_server (sh tests/run.sh --peers)"
else
	export MOTO
	taps "$PYTHON" "$here/s3.py" moto
fi
finish
