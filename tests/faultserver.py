#!/usr/bin/env python3
"""faultserver: serves the files of a folder over HTTP/1.1 with exact ranges, and faults on demand.

usage: faultserver.py ROOT [--port N] [--log FILE] [--control FILE] [--seed N] [--with-parent]

Listens on 127.0.0.1 (a free port unless --port), prints "port N" as its first line and serves until it is killed
(--with-parent: or until the process that started it is gone). Standard library only; one thread a connection.

Answers: GET and HEAD; 206 for bytes=a-b, a- and -n with Content-Range; 416 with "bytes */size"; a strong ETag made of
size and mtime; Last-Modified; If-Match (412 unless it holds, weak tags never do); 404 for what is not a file.

A fault is asked for by a first path segment that begins with ~ (the rest is the file's path), by ?fault=SPEC, or
by the control file, which is read anew for each request: lines "GLOB SPEC", first match of the file's path wins,
'#' begins a comment. Without any: ok. URL wins over the control file.

    http://127.0.0.1:PORT/~status;code=503;first=2/sample/000_00000.parquet
    sample/*.parquet    flip;at=4711;first=1

SPEC is FAULT[;KEY=VALUE]... and several can be joined with '+'. When a fault takes effect (all given must hold):
    first=N     only for the first N requests it could have hit (counted for each SPEC and file)
    after=N     only after the first N of them
    every=N     only each Nth of them
    percent=P   only with this probability (--seed)
    at=OFFSET   only for answers that hold this byte of the file
Faults, and their keys:
    ok          none
    status      answers code=N (503); retry=SECONDS or retry=date:SECONDS sends Retry-After, ratelimit=SECONDS sends
                RateLimit: "api";r=0;t=SECONDS
    silent      takes the request and never answers, for seconds=S (600)
    late        waits seconds=S (0.05) before it answers
    stall       sends bytes=N of the body (half), then nothing more for seconds=S (600)
    drip        sends the body at rate=N bytes a second (100)
    reset       sends bytes=N of the body (half), then RST
    truncate    sends bytes=N of the body (half), then closes
    flip        one bit of the byte at=OFFSET (the middle of the answer) is wrong
    more        sends 100 bytes more than the range, without Content-Length
    whole       answers 200 with the whole file to a range
    nosuffix    answers 200 with the whole file to a range from the end
    range       a wrong Content-Range: kind=first, last, total, star, missing, garbage (first)
    length      Content-Length is one byte less than the range has
    gzip        Content-Encoding: gzip, whether asked for or not
    chunked     Transfer-Encoding: chunked, no Content-Length
    unframed    neither of both: the body ends with the connection
    etag        the file has changed: tag=TEXT (changed) is its ETag now
    weak        the ETag is weak
    noetag      no ETag
    noifmatch   If-Match is not looked at
    redirect    302 to the same file without a fault; to=URL: to that URL; loop=1: to itself
    headers     never stops sending header lines
    garbage     answers with bytes that are not HTTP

Log: one line a request, written when its status is known, fields divided by tabs:
    METHOD  PATH (file's path, without fault and query)  RANGE or -  STATUS (0: none)  SPEC in effect or -  IF-MATCH or -  the client's port
"""
import argparse
import email.utils
import fnmatch
import gzip
import os
import random
import re
import socket
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
counts = {}
args = None
dice = random.Random(0)


def parse(spec):
    faults = []
    for part in spec.split("+"):
        name, *keys = part.split(";")
        faults.append((name, dict(k.split("=", 1) for k in keys), part))
    return faults


def control(path):
    try:
        with open(args.control, encoding="utf-8") as f:
            lines = f.read().splitlines()
    except (OSError, TypeError):
        return ""
    for line in lines:
        words = line.split()
        if len(words) == 2 and not line.startswith("#") and fnmatch.fnmatch(path, words[0]):
            return words[1]
    return ""


def holds(path, keys, part, first, last):
    """Whether the conditions of a fault hold for an answer with bytes first to last."""
    if "at" in keys and not first <= int(keys["at"]) <= last:
        return False
    with lock:
        n = counts[path, part] = counts.get((path, part), 0) + 1
        chance = dice.random() * 100
    return (n <= int(keys.get("first", n)) and n > int(keys.get("after", 0))
            and n % int(keys.get("every", 1)) == 0 and chance < float(keys.get("percent", 101)))


def ranges(header, size):
    """(first, last) of a Range header, None when there is none, False when it can not be satisfied."""
    m = re.fullmatch(r"bytes=(\d*)-(\d*)", header or "")
    if not m or m.group(0) == "bytes=-":
        return None
    if m.group(1) == "":
        n = min(int(m.group(2)), size)
        return (size - n, size - 1) if n > 0 else False
    first, last = int(m.group(1)), int(m.group(2)) if m.group(2) else size - 1
    if first >= size:
        return False
    return (first, min(last, size - 1)) if first <= last else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "faultserver"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def log(self, path, status, spec):
        if args.log is None:
            return
        fields = (self.command, path, self.headers.get("Range", "-"), str(status), spec or "-",
                  self.headers.get("If-Match", "-"))
        with lock, open(args.log, "a", encoding="utf-8") as f:
            f.write("\t".join([*fields, str(self.client_address[1])]) + "\n")

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        try:
            self.answer()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self):
        url = urllib.parse.urlsplit(self.path)
        path = urllib.parse.unquote(url.path).lstrip("/")
        query = urllib.parse.parse_qs(url.query, separator="&")
        spec = query.get("fault", [""])[0]
        if path.startswith("~"):
            spec, _, path = path[1:].partition("/")
        spec = spec or control(path)
        try:
            with open(os.path.join(args.root, path), "rb") as f:
                stat = os.fstat(f.fileno())
                size = stat.st_size
                asked = ranges(self.headers.get("Range"), size)
                first, last = asked or (0, size - 1)
                f.seek(first)
                body = f.read(last - first + 1)
        except (OSError, ValueError):
            stat = None
            size, asked, first, last, body = 0, None, 0, -1, b""
        self.faults = {name: keys for name, keys, part in parse(spec or "ok")
                       if holds(path, keys, part, first, last)}
        self.faults.pop("ok", None)
        self.spec = "+".join(self.faults)
        self.serve(path, stat, size, asked, first, last, body)

    def fields(self, stat, size):
        out = {}
        if stat is not None:
            tag = f"{size:x}-{stat.st_mtime_ns:x}"
            if "etag" in self.faults:
                tag = self.faults["etag"].get("tag", "changed")
            if "noetag" not in self.faults:
                out["ETag"] = ("W/" if "weak" in self.faults else "") + f'"{tag}"'
            out["Last-Modified"] = email.utils.formatdate(stat.st_mtime, usegmt=True)
            out["Accept-Ranges"] = "bytes"
        return out

    def reply(self, path, status, fields, body=b"", length=True):
        """Status line, header and body of an answer without a fault in its body."""
        self.log(path, status, self.spec)
        self.send_response(status)
        for key, value in fields.items():
            self.send_header(key, value)
        if length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, path):
        """The faults that answer without the file. True when one did."""
        on = self.faults
        if "late" in on:
            time.sleep(float(on["late"].get("seconds", 0.05)))
        if "silent" in on:
            self.log(path, 0, self.spec)
            self.close_connection = True
            self.pause(float(on["silent"].get("seconds", 600)))
            return True
        if "garbage" in on:
            self.log(path, 0, self.spec)
            self.close_connection = True
            self.wfile.write(b"\0\1\2 this is not HTTP\r\n\r\n" * 10)
            return True
        if "headers" in on:
            self.log(path, 0, self.spec)
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 206 Partial Content\r\n")
            while True:
                self.wfile.write(b"X-More: " + b"x" * 1000 + b"\r\n")
        if "status" in on:
            fields, keys = {}, on["status"]
            retry = keys.get("retry")
            if retry is not None and retry.startswith("date:"):
                retry = email.utils.formatdate(time.time() + float(retry[5:]), usegmt=True)
            if retry is not None:
                fields["Retry-After"] = retry
            if "ratelimit" in keys:
                fields["RateLimit"] = f'"api";r=0;t={keys["ratelimit"]}'
            code = int(keys.get("code", 503))
            body = code not in (204, 304)
            self.reply(path, code, fields, b"the fault that was asked for\n" if body else b"", body)
            return True
        if "redirect" in on:
            to = on["redirect"].get("to", "/" + urllib.parse.quote(path))
            if "loop" in on["redirect"]:
                to = self.path
            self.reply(path, 302, {"Location": to})
            return True
        return False

    def serve(self, path, stat, size, asked, first, last, body):
        on = self.faults
        if self.refuse(path):
            return
        fields = self.fields(stat, size)
        if stat is None:
            return self.reply(path, 404, {}, b"no such file\n")
        match = self.headers.get("If-Match")
        if match is not None and "noifmatch" not in on:
            tag = fields.get("ETag", "")
            if tag.startswith("W/") or (match != "*" and tag not in re.findall(r'(?:W/)?"[^"]*"', match)):
                return self.reply(path, 412, {}, b"")
        if "nosuffix" in on and self.headers.get("Range", "").startswith("bytes=-"):
            on["whole"] = {}
        if asked is False and "whole" not in on:
            return self.reply(path, 416, {"Content-Range": f"bytes */{size}"})
        status = 206 if asked else 200
        if "whole" in on:
            with open(os.path.join(args.root, path), "rb") as f:
                status, first, last, body = 200, 0, size - 1, f.read()
        if status == 206:
            self.content_range(fields, first, last, size)
        if "flip" in on and body:
            at = int(on["flip"].get("at", first + len(body) // 2)) - first
            body = body[:at] + bytes([body[at] ^ 1]) + body[at + 1:]
        if "gzip" in on:
            fields["Content-Encoding"] = "gzip"
            body = gzip.compress(body)
        self.send(path, status, fields, body)

    def content_range(self, fields, first, last, size):
        kind = self.faults["range"].get("kind", "first") if "range" in self.faults else ""
        if kind == "missing":
            return
        first, last = first + (kind == "first"), last - (kind == "last")
        total = "*" if kind == "star" else str(size + (kind == "total"))
        fields["Content-Range"] = "items five" if kind == "garbage" else f"bytes {first}-{last}/{total}"

    def send(self, path, status, fields, body):
        """Header and body, with the faults of a body."""
        on = self.faults
        length = len(body)
        if "more" in on:
            body += b"m" * 100
        self.log(path, status, self.spec)
        self.send_response(status)
        for key, value in fields.items():
            self.send_header(key, value)
        if "chunked" in on:
            self.send_header("Transfer-Encoding", "chunked")
        elif "more" in on or "unframed" in on:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(length - ("length" in on)))
        self.end_headers()
        if self.command == "HEAD":
            return
        for name in ("stall", "reset", "truncate"):
            if name in on:
                self.wfile.write(body[:int(on[name].get("bytes", len(body) // 2))])
                self.close_connection = True
                if name == "stall":
                    self.pause(float(on[name].get("seconds", 600)))
                if name == "reset":
                    self.wfile.flush()
                    time.sleep(0.02)
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.connection.close()
                return
        if "drip" in on:
            rate = int(on["drip"].get("rate", 100))
            step = max(1, rate // 10)
            for at in range(0, len(body), step):
                self.wfile.write(body[at:at + step])
                time.sleep(step / rate)
        elif "chunked" in on:
            for at in range(0, len(body), 10000):
                part = body[at:at + 10000]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self.wfile.write(body)

    def pause(self, seconds):
        """Waits, but no longer than the client stays."""
        self.connection.settimeout(seconds)
        try:
            self.connection.recv(1)
        except OSError:
            pass

    def finish(self):
        try:
            super().finish()
        except OSError:
            pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def main():
    global args, dice
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--port", type=int, default=0)
    p.add_argument("--log")
    p.add_argument("--control")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--with-parent", action="store_true")
    args = p.parse_args()
    dice = random.Random(args.seed)
    parent = os.getppid()
    server = Server(("127.0.0.1", args.port), Handler)
    print("port", server.server_address[1], flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    while not args.with_parent or os.getppid() == parent:
        time.sleep(0.2)


if __name__ == "__main__":
    main()
