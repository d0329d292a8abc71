#!/usr/bin/env python3
"""simulated.py FILES: a server of FILES Parquet files of 726 row groups each, all with the same bytes, for tests of memory.

Every row group of the file stands on the same two chunks, a text of about 4 MB that gzip makes small and its token_count, and
the footer has ten columns with statistics, as large as those of FineWeb: 3 MB. Prints "port N", serves until it is killed.
It speaks as much of S3 as an anonymous reader needs: s3://bucket/ with endpoint=http://127.0.0.1:PORT lists the objects
00000.parquet and on, a thousand a page. SIGUSR1 prints the number of requests and bytes so far.
"""
import json
import re
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import parquet
from parquet import BYTE_ARRAY, GZIP, I64, INT64

GROUPS = 726
COLUMNS = [b"text", b"id", b"dump", b"url", b"date", b"file_path", b"language", b"language_score", b"token_count", b"score"]
NUMBERS = {b"language_score", b"token_count", b"score"}
ETAG = '"simulated-1"'
SENT = [0, 0]


def build(text, tokens, groups=GROUPS):
    """The bytes of one file."""
    out, chunks = bytearray(b"PAR1"), {}
    for name in COLUMNS:
        kind = INT64 if name in NUMBERS else BYTE_ARRAY
        value = text if name == b"text" else tokens if name == b"token_count" else 1 if kind == INT64 else b"x"
        packed, size = parquet.page(parquet.plain([value]), 1, GZIP)
        c = parquet.chunk(name, kind, GZIP, len(out), 1, size, len(packed))
        c[3][12] = {1: b"m" * 200, 2: b"n" * 200}
        chunks[name] = c
        out += packed
    group = parquet.value({1: [chunks[n] for n in COLUMNS], 2: I64(len(out)), 3: I64(1)})[1]
    columns = [(n, INT64 if n in NUMBERS else BYTE_ARRAY) for n in COLUMNS]
    out += parquet.footer(columns, groups, (groups, group * groups))
    return bytes(out)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_):
        pass

    def do_GET(self):
        if "list-type=2" in self.path:
            return self.list()
        m = re.fullmatch(r"/bucket/(\d{5,})\.parquet", self.path)
        if not m or int(m.group(1)) >= self.server.files:
            self.send_response(404)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body, size = self.server.body, len(self.server.body)
        first, last, status = 0, size - 1, 200
        r = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range", ""))
        if r:
            status = 206
            first = int(r.group(1)) if r.group(1) else max(0, size - int(r.group(2)))
            last = min(int(r.group(2)), size - 1) if r.group(1) and r.group(2) else size - 1
        self.send_response(status)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("ETag", ETAG)
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.send_header("Accept-Ranges", "bytes")
        if r:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, last, size))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(memoryview(body)[first:last + 1])
        SENT[0] += 1
        SENT[1] += last - first + 1

    def list(self):
        at = re.search(r"continuation-token=(\d+)", self.path)
        first = int(at.group(1)) if at else 0
        last = min(first + 1000, self.server.files)
        more = last < self.server.files
        rows = "".join("<Contents><Key>%05d.parquet</Key><Size>%d</Size><ETag>&quot;simulated-1&quot;</ETag></Contents>"
                       % (i, len(self.server.body)) for i in range(first, last))
        page = ('<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
                "<Name>bucket</Name><KeyCount>%d</KeyCount><IsTruncated>%s</IsTruncated>%s%s</ListBucketResult>"
                % (last - first, str(more).lower(), "<NextContinuationToken>%d</NextContinuationToken>" % last if more else "",
                   rows)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    do_HEAD = do_GET


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
        pass


def main():
    files, text, tokens = int(sys.argv[1]), open(sys.argv[2], "rb").read(), int(sys.argv[3])
    server = Server(("127.0.0.1", 0), Handler)
    server.files, server.body = files, build(text, tokens)
    signal.signal(signal.SIGUSR1, lambda *_: print(json.dumps(SENT), flush=True))
    print("port %d size %d" % (server.server_address[1], len(server.body)), flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
