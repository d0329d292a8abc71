#!/usr/bin/env python3
"""hubserver: a small Hugging Face Hub for tests, with data sets from folders.

usage: hubserver.py ROOT [--page N] [--private NS/NAME=TOKEN]... [--gated NS/NAME=TOKEN]... [--control FILE] [--log FILE]
                    [--with-parent]

ROOT/NS/NAME is a data set; its commit is made of what is in the folder, is looked at anew whenever "main" is asked for,
and older commits stay. Prints "port N" (the Hub) and "storage M" (where it redirects to), both on 127.0.0.1.

The Hub:      GET /api/datasets/ID[/revision/REV], /api/datasets/ID/tree/REV[/PATH][?recursive=true] (N entries a page, Link:
              rel="next"), POST /api/datasets/ID/paths-info/REV, GET and HEAD /datasets/ID/resolve/REV/PATH.
              Data files are large files: 302 to the storage with X-Repo-Commit, X-Linked-Size, X-Linked-Etag; others come
              at once. 401, 403 and 404 say X-Error-Code and X-Error-Message.
The storage:  /ID/SHA256?Expires=...&Signature=..., with ranges, If-Match and ETags of its own; 403 when the signature is
              over or wrong, 400 to whoever shows a token there.
The control file is read anew for each request; lines of:
    lifetime SECONDS     how long new signatures are good (3600)
    revoke N             signatures made while this line had another N are over
    limit N SECONDS      of each such line, the first N requests to the Hub are answered 429 with RateLimit
    down                 the Hub answers 503
    linked TEXT          X-Linked-Etag is TEXT now
    storage TEXT         ETags of the storage begin with TEXT

Log: METHOD PATH?QUERY-without-signature RANGE STATUS "hub" or "storage" "token" or "-", divided by tabs.
"""
import argparse
import hashlib
import hmac
import json
import os
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

SECRET = b"a secret of the storage"
LARGE = (".parquet", ".jsonl", ".gz", ".zst", ".bin", ".npy")
lock = threading.Lock()
commits = {}  # (id, sha) -> {path: bytes}
blobs = {}    # sha256 -> bytes
limited = {}
args = None
storage_port = 0


def control():
    try:
        lines = [line.split() for line in Path(args.control).read_text().splitlines() if line.strip()]
    except (OSError, TypeError):
        lines = []
    return lines


def setting(name, default):
    for words in control():
        if words[0] == name:
            return words[1] if len(words) > 1 else True
    return default


def snapshot(repo):
    """The commit of what is in a data set's folder now; None when there is none."""
    top = Path(args.root) / repo
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repo) or not top.is_dir():
        return None
    files = {str(p.relative_to(top)): p.read_bytes() for p in sorted(top.rglob("*")) if p.is_file()}
    sha = hashlib.sha1(repr([(k, hashlib.sha256(v).digest()) for k, v in files.items()]).encode()).hexdigest()
    with lock:
        commits[repo, sha] = files
        for v in files.values():
            blobs[hashlib.sha256(v).hexdigest()] = v
    return sha


def is_large(path):
    return path.endswith(LARGE)


def git_oid(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def entry(path, data):
    e = {"type": "file", "oid": git_oid(data), "size": len(data), "path": path}
    if is_large(path):
        pointer = git_oid(b"version https://git-lfs\n" + path.encode())
        e.update(oid=pointer, lfs={"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 134},
                 xetHash=hashlib.sha256(b"xet" + data).hexdigest())
    return e


def folder(path):
    return {"type": "directory", "oid": hashlib.sha1(path.encode()).hexdigest(), "size": 0, "path": path}


def sign(path, expires, generation):
    return hmac.new(SECRET, ("%s %s %s" % (path, expires, generation)).encode(), "sha256").hexdigest()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    where = "hub"

    def log_message(self, *unused):
        pass

    def note(self, status):
        if args.log:
            path = self.path.split("Signature=")[0]
            token = "token" if self.headers.get("Authorization") else "-"
            with lock, open(args.log, "a") as f:
                f.write("\t".join([self.command, path, self.headers.get("Range") or "-", str(status), self.where, token]) + "\n")

    def send(self, status, body=b"", headers=()):
        self.note(status)
        self.send_response(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def refuse(self, status, code, message, headers=()):
        self.send(status, json.dumps({"error": message}).encode(),
                  [("Content-Type", "application/json"), ("X-Error-Code", code), ("X-Error-Message", message), *headers])

    def answer(self, value, headers=()):
        self.send(200, json.dumps(value).encode(), [("Content-Type", "application/json"), *headers])

    def data(self, data, etag, headers=()):
        """A body, or the range of it that is asked for."""
        match = self.headers.get("If-Match")
        headers = [("ETag", etag), ("Accept-Ranges", "bytes"), *headers]
        if match is not None and match != etag:
            return self.send(412, b"", headers)
        m = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if not m:
            return self.send(200, data, headers)
        n = len(data)
        first = int(m[1]) if m[1] else max(0, n - int(m[2]))
        last = min(int(m[2]), n - 1) if m[1] and m[2] else n - 1
        if first > last:
            return self.send(416, b"", [("Content-Range", "bytes */%d" % n)])
        return self.send(206, data[first:last + 1], [("Content-Range", "bytes %d-%d/%d" % (first, last, n)), *headers])

    def limit(self):
        for words in control():
            if words[0] == "limit":
                with lock:
                    done = limited.get(tuple(words), 0)
                    limited[tuple(words)] = done + 1
                if done < int(words[1]):
                    return int(words[2])
        return None

    def files_of(self, repo, revision):
        """(commit, files) of a revision, or None after an answer."""
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        sha = revision if (repo, revision) in commits else snapshot(repo)
        for kind, table in (("private", args.private), ("gated", args.gated)):
            want = dict(x.split("=", 1) for x in table).get(repo)
            if want is not None and token != want:
                if kind == "private" or not token:
                    self.refuse(401, "RepoNotFound" if kind == "private" else "GatedRepo", "Invalid username or password.")
                else:
                    self.refuse(403, "GatedRepo", "Access to dataset %s is restricted and you are not in the authorized list." % repo)
                return None
        if sha is None:
            self.refuse(404, "RepoNotFound", "Repository not found")
            return None
        if revision == "main":
            revision = sha
        if (repo, revision) not in commits:
            self.refuse(404, "RevisionNotFound", "Invalid rev id: %s" % revision)
            return None
        return revision, commits[repo, revision]

    def info(self, repo, revision):
        found = self.files_of(repo, revision)
        if found:
            self.answer({"_id": "0", "id": repo, "sha": found[0], "private": False, "gated": False, "disabled": False, "tags": [],
                         "downloads": 0, "likes": 0, "lastModified": "2026-01-02T03:04:05.000Z", "createdAt":
                         "2026-01-02T03:04:05.000Z", "siblings": [{"rfilename": p} for p in sorted(found[1])]})

    def tree(self, repo, revision, path, query):
        found = self.files_of(repo, revision)
        if not found:
            return
        recursive = query.get("recursive", ["false"])[0].lower() in ("true", "1")
        below = path + "/" if path else ""
        names = set()
        for p in found[1]:
            if not p.startswith(below):
                continue
            rest = p[len(below):].split("/")
            names.update(below + "/".join(rest[:i]) for i in range(1, len(rest) if recursive else min(2, len(rest))))
            if recursive or len(rest) == 1:
                names.add(p)
        if path and not names:
            return self.refuse(404, "EntryNotFound", "%s does not exist on %s" % (path, revision))
        names = sorted(names)
        at = int(query.get("cursor", ["0"])[0])
        headers = [("X-Repo-Commit", found[0])]
        if at + args.page < len(names):
            more = "http://%s%s?recursive=%s&cursor=%d" % (self.headers["Host"], urlsplit(self.path).path, str(recursive).lower(),
                                                           at + args.page)
            headers.append(("Link", '<%s>; rel="next"' % more))
        self.answer([entry(n, found[1][n]) if n in found[1] else folder(n) for n in names[at:at + args.page]], headers)

    def paths_info(self, repo, revision, body):
        found = self.files_of(repo, revision)
        if not found:
            return
        try:
            paths = json.loads(body)["paths"]
        except ValueError:
            paths = parse_qs(body.decode())["paths"]
        out = []
        for p in [paths] if isinstance(paths, str) else paths:
            if p in found[1]:
                out.append(entry(p, found[1][p]))
            elif any(f.startswith(p + "/") for f in found[1]):
                out.append(folder(p))
        self.answer(out)

    def resolve(self, repo, revision, path):
        found = self.files_of(repo, revision)
        if not found:
            return
        data = found[1].get(path)
        if data is None:
            return self.refuse(404, "EntryNotFound", "Entry not found", [("X-Repo-Commit", found[0])])
        if not is_large(path):
            return self.data(data, '"%s"' % git_oid(data), [("X-Repo-Commit", found[0])])
        sha = hashlib.sha256(data).hexdigest()
        target = "/%s/%s" % (repo, sha)
        expires, generation = int(time.time() + float(setting("lifetime", 3600))), setting("revoke", 0)
        url = "http://127.0.0.1:%d%s?Expires=%d&Policy=_&Signature=%s" % (storage_port, target, expires,
                                                                          sign(target, expires, generation))
        return self.send(302, b"Found", [("Location", url), ("X-Repo-Commit", found[0]), ("X-Linked-Size", str(len(data))),
                                         ("X-Linked-Etag", '"%s"' % setting("linked", sha)), ("Vary", "Accept")])

    def route(self):
        u = urlsplit(self.path)
        path, query = u.path, parse_qs(u.query)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        seconds = self.limit()
        if seconds is not None:
            return self.refuse(429, "RateLimit", "Too many requests", [("RateLimit", '"api";r=0;t=%d' % seconds)])
        if setting("down", False):
            return self.refuse(503, "Down", "Service unavailable")
        if m := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)", path):
            return self.info(m[1], "main")
        if m := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/revision/([^/]+)", path):
            return self.info(m[1], unquote(m[2]))
        if m := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)(?:/(.*))?", path):
            return self.tree(m[1], unquote(m[2]), unquote(m[3] or ""), query)
        if m := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/paths-info/([^/]+)", path):
            return self.paths_info(m[1], unquote(m[2]), body)
        if m := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            return self.resolve(m[1], unquote(m[2]), unquote(m[3]))
        return self.refuse(404, "NotFound", "Sorry, we can't find the page you are looking for.")

    do_GET = do_HEAD = do_POST = route


class Storage(Handler):
    where = "storage"

    def route(self):
        u = urlsplit(self.path)
        query = {k: v[0] for k, v in parse_qs(u.query).items()}
        expires, signature = query.get("Expires", "0"), query.get("Signature", "")
        blob = blobs.get(u.path.rsplit("/", 1)[-1])
        if self.headers.get("Authorization"):
            return self.send(400, b"Only one auth mechanism allowed")
        if int(expires) < time.time() or signature != sign(u.path, expires, setting("revoke", 0)):
            return self.send(403, b"AccessDenied: Request has expired")
        if blob is None:
            return self.send(404, b"NoSuchKey")
        return self.data(blob, '"%s%s-5"' % (setting("storage", ""), hashlib.md5(blob).hexdigest()))

    do_GET = do_HEAD = route


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *unused):
        """Who asked has gone."""


def main():
    global args, storage_port
    p = argparse.ArgumentParser()
    p.add_argument("root")
    p.add_argument("--page", type=int, default=1000)
    p.add_argument("--private", action="append", default=[])
    p.add_argument("--gated", action="append", default=[])
    p.add_argument("--control")
    p.add_argument("--log")
    p.add_argument("--with-parent", action="store_true")
    args = p.parse_args()
    storage = Server(("127.0.0.1", 0), Storage)
    hub = Server(("127.0.0.1", 0), Handler)
    storage_port = storage.server_address[1]
    for server in (storage, hub):
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print("port %d" % hub.server_address[1], flush=True)
    print("storage %d" % storage_port, flush=True)
    parent = os.getppid()
    while not args.with_parent or os.getppid() == parent:
        time.sleep(0.5)


main()
