"""s3.py versitygw|moto: mounts what is in an S3 store and compares with expected/batches.json."""
import contextlib
import datetime
import hashlib
import hmac
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

from expect import ENTRIES, entry
from tap import DATA, TMP, Mount, code, digest, equal, ok, read, say, until

NONE = "world_size=1,batch_size=8,seq_len=256,seed=42,shuffle=none"
KEY, SECRET = "AKIDTESTTESTTEST", "aSecret/thatNobody+MaySee"
REGION = "us-east-1" if sys.argv[1] == "moto" else "eu-test-1"
number = 0


def request(method, url, body=b"", key=KEY, secret=SECRET, acl=""):
    """AWS Signature Version 4, as its documentation has it; nothing of libcurl's."""
    u = urllib.parse.urlsplit(url)
    now = datetime.datetime.utcnow().strftime("%Y%m%dT%H%M%SZ")
    digest_ = hashlib.sha256(body).hexdigest()
    headers = {"host": u.netloc, "x-amz-content-sha256": digest_, "x-amz-date": now}
    if acl:
        headers["x-amz-acl"] = acl
    names = ";".join(sorted(headers))
    canonical = "\n".join([method, u.path, u.query, "".join("%s:%s\n" % (k, headers[k]) for k in sorted(headers)), names, digest_])
    scope = "%s/%s/s3/aws4_request" % (now[:8], REGION)
    text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    k = ("AWS4" + secret).encode()
    for part in (now[:8], REGION, "s3", "aws4_request"):
        k = hmac.new(k, part.encode(), "sha256").digest()
    headers["Authorization"] = "AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        key, scope, names, hmac.new(k, text.encode(), "sha256").hexdigest())
    headers["Content-Type"] = "application/octet-stream"
    with urllib.request.urlopen(urllib.request.Request(url, body if method == "PUT" else None, headers, method=method)) as r:
        return r.read()


def quoted(key):
    return urllib.parse.quote(key, safe="/-_.~")


@contextlib.contextmanager
def store(which):
    """A store with the bucket `fineweb`: sample/, and keys that need care."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    top = TMP / ("store." + which)
    (top / "data").mkdir(parents=True)
    (top / "side").mkdir()
    env = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
    command = [os.environ["MOTO"], "-H", "127.0.0.1", "-p", str(port)] if which == "moto" else [
        os.environ["VERSITYGW"], "--port", "127.0.0.1:%d" % port, "--region", REGION, "posix", "--sidecar", str(top / "side"),
        str(top / "data")]
    log = open(TMP / "store.log", "wb")
    p = subprocess.Popen(command, env=env, stdout=log, stderr=log)
    url = "http://127.0.0.1:%d" % port

    def up():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0
    try:
        until(20, up)
        acl = "public-read" if which == "moto" else ""
        request("PUT", url + "/fineweb")
        for f in sorted((DATA / "sample/10BT").iterdir()):
            request("PUT", "%s/fineweb/sample/10BT/%s" % (url, f.name), f.read_bytes(), acl=acl)
        for name in (" a b+c&d.jsonl", "ü%25'.jsonl"):
            request("PUT", "%s/fineweb/odd/%s" % (url, quoted(name)), b'{"text":"' + b"word " * 600 + b'"}\n', acl=acl)
        request("PUT", url + "/fineweb/sample/10BT/_notes/x.parquet", b"not data")
        yield url, top / "data/fineweb"
    finally:
        p.kill()
        p.wait()


def fresh():
    global number
    number += 1
    path = TMP / ("%s.cold%d" % (sys.argv[1], number))
    path.mkdir(parents=True)
    return "cache=%s" % path


def wrong(m, expected):
    return ["%s: %s" % (p, have) for p, want in expected.items() if (have := digest(m / p)) != want]


def refused(sources, options, *words, **env):
    try:
        with Mount(sources, options, timeout=60, **env):
            return "it is mounted"
    except RuntimeError as e:
        return "" if all(w in str(e) for w in words) and SECRET not in str(e) else str(e)


def same(url, **env):
    for e in ENTRIES:
        if e["source"] == ["sample/10BT"]:
            with Mount(["s3://fineweb/sample/10BT"], "%s,endpoint=%s" % (e["options"], url), **env) as m:
                w = wrong(m, e["sha256"])
                ok(not w, "s3://, a folder: %s" % e["options"], *w[:5])
    want = entry("sample/10BT", NONE)["sha256"]
    with Mount(["s3://fineweb/sample/*/000_*.parquet"], NONE, AWS_ENDPOINT_URL=url, **env) as m:
        ok(not wrong(m, want), "s3://, a glob, AWS_ENDPOINT_URL")
    files = ["s3://fineweb/sample/10BT/000_0000%d.parquet" % i for i in range(4)]
    with Mount(files, NONE + ",endpoint=" + url, **env) as m:
        ok(not wrong(m, want), "s3://, single objects")
    with Mount(["s3://fineweb/odd"], "seq_len=64,batch_size=1,counts=exact,endpoint=%s,%s" % (url, fresh()), **env) as m:
        until(10, lambda: m.dataset()["documents"] == 2)
        equal(m.dataset()["documents"], 2, "keys with blanks, '+', '&', '%' and beyond ASCII")


def signed(url, folder):
    env = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}
    same(url, **env)
    want = entry("sample/10BT", NONE)["sha256"]
    source, options = ["s3://fineweb/sample/10BT"], NONE + ",endpoint=" + url
    aws = TMP / "home/.aws"
    aws.mkdir(parents=True, exist_ok=True)
    (aws / "credentials").write_text("[default]\naws_access_key_id = nobody\naws_secret_access_key = nothing\n\n"
                                     "[lab]\naws_access_key_id=%s\naws_secret_access_key=%s\n" % (KEY, SECRET))
    (aws / "config").write_text("[default]\nregion = us-west-1\n[profile lab]\ns3 =\n  region = nowhere\nregion = %s\nendpoint_url = %s\n" %
                                (REGION, url))
    with Mount(source, NONE + "," + fresh(), AWS_PROFILE="lab", foreground=True) as m:
        ok(not wrong(m, want), "keys, region and endpoint of a profile")
        shown = [m.log.read_text(), read(m / "stats.json").decode(), read(m / "dataset.json").decode(), read(m / "README.txt").decode()]
        ok(not any(SECRET in s or KEY in s for s in shown), "neither key nor secret is in a file or the log")
    equal(refused(source, options + "," + fresh(), "s3://fineweb"), "", "a key that is not known")
    equal(refused(source, options + "," + fresh(), "does not give access", **{**env, "AWS_SECRET_ACCESS_KEY": "wrong"}), "",
          "a wrong secret: says so")
    equal(refused(source, options, "AWS_PROFILE=none", AWS_PROFILE="none"), "", "a profile that is not there")
    (aws / "credentials").unlink()
    (aws / "config").unlink()
    equal(refused(source, options + "," + fresh(), "not signed", AWS_REGION=REGION), "", "without a key: says so")
    equal(refused(["s3://fineweb/none"], options, "s3://fineweb/none", **env), "", "a folder that is not there")
    equal(refused(["s3://other/x"], options, "s3://other/x", **env), "", "a bucket that is not there")
    equal(refused(["s3://UP..per?/x"], options, "s3://BUCKET", **env), "", "what is no bucket's name")
    pages(url, folder, env)
    changed(url, env, want)
    pins(url, env, want)


def pages(url, folder, env):
    (folder / "many").mkdir()
    for i in range(2005):
        (folder / "many" / ("%05d.jsonl" % i)).write_text('{"text":"one two three four five six seven eight nine"}\n')
    options = "seq_len=4,batch_size=1,counts=exact,endpoint=%s,%s" % (url, fresh())
    with Mount(["s3://fineweb/many/*[05]00.jsonl"], options, **env) as m:
        ok(until(20, lambda: m.dataset()["documents"] == 5), "2,005 objects over three pages, five of them match", m.dataset()["documents"])


def changed(url, env, want):
    one = "%s/fineweb/sample/10BT/000_00003.parquet" % url
    body = (DATA / "sample/10BT/000_00003.parquet").read_bytes()
    with Mount(["s3://fineweb/sample/10BT"], "%s,endpoint=%s,%s,block=1,retry=2" % (NONE, url, fresh()), **env) as m:
        digest(m / "rank_0/batch_0000.bin")
        request("PUT", one, body[:-1] + b"X")
        last = "rank_0/batch_%04d.bin" % (entry("sample/10BT", NONE)["counts"]["batches"] - 1)
        equal(code(read, m / last), "ESTALE", "an object that was put anew is ESTALE")
    request("PUT", one, body)


def pins(url, env, want):
    cache = fresh()
    options = "%s,endpoint=%s,%s" % (NONE, url, cache)
    with Mount(["s3://fineweb/sample/10BT"], options, **env) as m:
        ok(not wrong(m, want), "the first mount")
        first = m.dataset()["fingerprint"]
    request("PUT", url + "/fineweb/sample/10BT/000_00009.parquet", (DATA / "sample/10BT/000_00003.parquet").read_bytes())
    with Mount(["s3://fineweb/sample/10BT"], options, **env) as m:
        equal(m.dataset()["fingerprint"], first, "another object: the first list stays")
        ok(not wrong(m, want), "with its batches")
    with Mount(["s3://fineweb/sample/10BT"], options + ",repin", **env) as m:
        ok(m.dataset()["fingerprint"] != first, "repin: the new list")


def main():
    which = sys.argv[1]
    for name in list(os.environ):
        if name.startswith("AWS_"):
            del os.environ[name]
    with store(which) as (url, folder):
        if which == "moto":
            same(url)
        else:
            signed(url, folder)


main()
say("# end")
