"""Reads over a network whose addresses, names, proxies, certificates or servers are out of order, one at a time."""
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import threading
import time

from expect import BY_PIECE, SAMPLE, differing, touching
from tap import FINEWEB, TMP, Mount, code, digest, equal, ok, read, say, skip, until

CARD, NEAR, FAR, FAR6 = (os.environ[n] for n in ("card", "near", "far", "far6"))
PORT, BOTH, TLS = (os.environ[n] for n in ("port", "both", "tls"))
NGINX = int(os.environ["nginx_pid"])
number = 0


def fresh():
    global number
    number += 1
    path = TMP / ("net%d" % number)
    path.mkdir()
    return "cache=%s" % path


def sample(url):
    return ["%s/sample/10BT/000_0000%d.parquet" % (url, i) for i in range(4)]


def timed(function, *args, **named):
    begun = time.monotonic()
    return function(*args, **named), time.monotonic() - begun


def refused(source, options="ready_timeout=3,retry=2", **env):
    """The exit code of a mount that should fail, what it says, and the seconds that it takes."""
    r, took = timed(subprocess.run, [FINEWEB, source, str(TMP / "mnt"), "-o", "%s,%s" % (options, fresh())], stdin=subprocess.DEVNULL,
                    capture_output=True, text=True, timeout=90, env={**os.environ, **env})
    if not r.returncode:
        subprocess.run(["umount", str(TMP / "mnt")])
    return r.returncode, r.stderr.strip(), took


def reads(m):
    until(20, lambda: m.dataset()["batches"] is not None)
    return differing(m)


@contextlib.contextmanager
def black_hole(address):
    subprocess.run(["ip", "neigh", "replace", address, "lladdr", "02:00:00:00:00:99", "dev", CARD, "nud", "permanent"], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "neigh", "del", address, "dev", CARD], check=True)


# ---- addresses ----

def addresses():
    """A host with two addresses, of which the one of IPv6 comes first and is dead."""
    if not FAR6:
        return skip("IPv6 dead and IPv4 alive", "no IPv6")
    first = socket.getaddrinfo("dual.test", 80, proto=socket.IPPROTO_TCP)[0][4][0]
    equal(first, FAR6, "the address of IPv6 comes first")
    with Mount(sample("http://dual.test:" + BOTH), "%s,%s" % (BY_PIECE, fresh())) as m:
        ok(not reads(m), "both alive")
    with black_hole(FAR6):
        begun = time.monotonic()
        with Mount(sample("http://dual.test:" + BOTH), "%s,%s" % (BY_PIECE, fresh())) as m:
            mounted = time.monotonic() - begun
            have, took = timed(digest, m / "rank_0/batch_0000.bin")
            equal(have, SAMPLE["sha256"]["epoch_0/rank_0/batch_0000.bin"], "IPv6 dead and IPv4 alive: a batch")
            say("# mounted after %.2f s, the first batch came %.2f s later" % (mounted, took))
            ok(took < 1.5 and mounted < 3, "in about a second", mounted, took)
            wrong, all_ = timed(reads, m)
            ok(not wrong and all_ < 5, "and all the others", all_, *wrong[:6])
    with Mount(sample("http://dual.test:" + PORT), "%s,%s" % (BY_PIECE, fresh())) as m:
        ok(not reads(m), "IPv6 refused and IPv4 alive")
    return None


def refused_port():
    status, said, took = refused("http://%s:1/sample/10BT/000_00000.parquet" % FAR)
    ok(status == 32 and FAR in said and "connect" in said.lower() and took < 5, "a port where nobody listens: says so, in time", status, said, took)


# ---- names ----

class Names(threading.Thread):
    """A resolver: rcode None never answers, 0 answers with FAR, 2 is a failure, 3 knows no such name."""
    def __init__(self):
        super().__init__(daemon=True)
        self.rcode, self.asked = 3, 0
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((NEAR, 53))

    def run(self):
        while True:
            query, who = self.socket.recvfrom(4096)
            self.asked += 1
            if self.rcode is None:
                continue
            end = query.index(b"\0", 12) + 5
            kind = struct.unpack(">H", query[end - 4:end - 2])[0]
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4" + socket.inet_aton(FAR) if self.rcode == 0 and kind == 1 else b""
            self.socket.sendto(query[:2] + struct.pack(">HHHHH", 0x8180 | self.rcode, 1, bool(answer), 0, 0) + query[12:end] + answer, who)


def names():
    resolver = Names()
    resolver.start()
    for what, rcode in (("a name that nobody knows", 3), ("a resolver that fails", 2), ("a resolver that never answers", None)):
        resolver.rcode, resolver.asked = rcode, 0
        status, said, took = refused("http://away.test:%s/sample/10BT/000_00000.parquet" % PORT)
        ok(status == 32 and "away.test" in said and "esolv" in said and took < 6, "%s: says so, in time" % what, status, said, took)
        ok(resolver.asked > 0, "%s: it was asked" % what)
        say("# after %.1f s: %s" % (took, said))
    p = subprocess.Popen([FINEWEB, "http://away.test:%s/sample/" % PORT, str(TMP / "mnt"), "-o", fresh()], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    _, took = timed(p.wait, 60)
    ok(took < 1, "SIGINT ends a mount that waits for a resolver", took)
    mixed = sample("http://%s:%s" % (FAR, PORT))[:1] + sample("http://away.test:" + PORT)[1:2]
    with Mount(mixed, "%s,%s" % (BY_PIECE, fresh()), foreground=True) as m:
        equal(digest(m / "rank_0/batch_0000.bin"), SAMPLE["sha256"]["epoch_0/rank_0/batch_0000.bin"], "a file of another server reads right")
        waiting = subprocess.Popen(["stat", str(m / ("rank_0/batch_%04d.bin" % max(touching(1))))], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        waiting.send_signal(signal.SIGINT)
        _, took = timed(waiting.wait, 60)
        _, gone = timed(lambda: (subprocess.run(["umount", str(m.path)], check=True), m.process.wait(60)))
        say("# SIGINT ended a look-up after %.3f s, umount the process after %.3f s" % (took, gone))
        ok(took < 0.5 and gone < 1, "while the resolver hangs a look-up can be interrupted, and the mount ended", took, gone)
    resolver.rcode = None
    threading.Timer(1.5, lambda: setattr(resolver, "rcode", 0)).start()
    try:
        begun = time.monotonic()
        with Mount(sample("http://away.test:" + PORT), "%s,retry=20,%s" % (BY_PIECE, fresh())) as m:
            say("# ready after %.1f s" % (time.monotonic() - begun))
            ok(not reads(m), "a resolver that answers late: the mount is ready then")
    except RuntimeError as e:
        ok(False, "a resolver that answers late", e)


# ---- proxies ----

class Proxy(threading.Thread):
    """CONNECT, and GET of whole URLs. status: what it answers, 200 to let pass."""
    def __init__(self):
        super().__init__(daemon=True)
        self.status, self.seen = 200, []
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.socket.listen(64)
        self.port = self.socket.getsockname()[1]

    def run(self):
        while True:
            client, _ = self.socket.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                part = client.recv(65536)
                if not part:
                    return
                head += part
            method, target = head.split(b" ")[:2]
            self.seen.append((method.decode(), target.decode(), b"\r\nproxy-authorization:" in head.lower()))
            if self.status != 200:
                client.sendall(b"HTTP/1.1 %d no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % self.status)
                return
            host = target if method == b"CONNECT" else target.split(b"/")[2]
            name, port = host.decode().rsplit(":", 1)
            with socket.create_connection((FAR if name == "far.test" else name, int(port)), 10) as server:
                if method == b"CONNECT":
                    client.sendall(b"HTTP/1.1 200 so be it\r\n\r\n")
                else:
                    server.sendall(head.replace(target, b"/" + target.split(b"/", 3)[3], 1).replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
                self.pump(client, server)

    @staticmethod
    def pump(a, b):
        ways = {a: b, b: a}
        while ways:
            for s in select.select(list(ways), [], [])[0]:
                part = s.recv(65536)
                if not part:
                    return
                ways[s].sendall(part)


def proxies():
    proxy = Proxy()
    proxy.start()
    by = "http://user:aWordThatNobodyMaySee@127.0.0.1:%d" % proxy.port
    with Mount(sample("http://far.test:" + PORT), "%s,%s" % (BY_PIECE, fresh()), foreground=True, http_proxy=by) as m:
        ok(not reads(m), "http_proxy, which alone knows the server's name")
        ok(proxy.seen and all(s[0] == "GET" and s[2] for s in proxy.seen), "each request went there, with its password", *proxy.seen[:4])
        said = m.log.read_text() + read(m / "stats.json").decode() + read(m / "dataset.json").decode()
        ok("aWordThat" not in said, "which nobody sees", said)
    proxy.seen = []
    with Mount(sample("http://dual.test:" + BOTH), "%s,%s" % (BY_PIECE, fresh()), http_proxy=by, no_proxy="localhost,.test") as m:
        ok(not reads(m) and not proxy.seen, "no_proxy: it is not asked", *proxy.seen[:4])
    if TLS:
        with Mount(sample("https://dual.test:" + TLS), "%s,%s" % (BY_PIECE, fresh()), https_proxy=by, no_proxy="",
                   SSL_CERT_FILE=str(TMP / "dual.test.cert")) as m:
            ok(not reads(m), "https_proxy: through a tunnel")
            ok(proxy.seen and {s[:2] for s in proxy.seen} == {("CONNECT", "dual.test:" + TLS)}, "and nothing else", *proxy.seen[:4])
        proxy.status = 407
        status, said, took = refused("https://dual.test:%s/sample/10BT/000_00000.parquet" % TLS, https_proxy=by)
        ok(status == 32 and "407" in said and "aWordThat" not in said and took < 5, "a proxy that refuses: says so", status, said, took)
    status, said, took = refused("http://far.test:%s/sample/10BT/000_00000.parquet" % PORT, http_proxy="http://127.0.0.1:1")
    ok(status == 32 and "127.0.0.1" in said and took < 5, "a proxy that is not there: says so, in time", status, said, took)


# ---- certificates ----

def certificates():
    if not TLS:
        return skip("certificates", "no openssl")
    file = "https://dual.test:%s/sample/10BT/000_00000.parquet" % TLS
    status, said, took = refused(file, "ready_timeout=30")
    ok(status == 32 and "certificate" in said and took < 3, "a certificate that nobody signed is refused, at once", status, said, took)
    own = {"SSL_CERT_FILE": str(TMP / "dual.test.cert")}
    status, said, took = refused(file.replace("dual", "other"), "ready_timeout=30", **own)
    ok(status == 32 and "other.test" in said and took < 3, "and one of another name", status, said, took)
    with Mount(sample("https://dual.test:" + TLS), "%s,%s" % (BY_PIECE, fresh()), **own) as m:
        ok(not reads(m), "SSL_CERT_FILE: it is trusted")
    mixed = sample("http://dual.test:" + BOTH)[:1] + sample("https://dual.test:" + TLS)[1:2]
    with Mount(mixed, "%s,%s,list=all" % (BY_PIECE, fresh()), foreground=True) as m:
        k = min(touching(0)) + 1
        equal(digest(m / ("rank_0/batch_%04d.bin" % k)), SAMPLE["sha256"]["epoch_0/rank_0/batch_%04d.bin" % k], "a file before it reads right")
        have, took = timed(code, os.stat, m / ("rank_0/batch_%04d.bin" % max(touching(1))))
        ok(have == "EIO" and took < 3, "what stands behind it is EIO, at once", have, took)
        ok("certificate" in m.log.read_text(), "and the log says why", m.log.read_text())
        lines, asked = m.log.read_text().count("\n"), m.stats()["requests"]
        for k in touching(1):
            code(os.stat, m / ("rank_0/batch_%04d.bin" % k))
        ok(m.log.read_text().count("\n") <= lines + 1 and m.stats()["requests"] <= asked + 2, "once, not for each who asks",
           m.log.read_text(), asked, m.stats()["requests"])
    return None


# ---- a server that hangs ----

def hanging():
    """The kernel of a stopped server takes connections and requests, and nothing answers them."""
    with Mount(sample("http://dual.test:" + BOTH), "%s,%s,retry=2" % (BY_PIECE, fresh())) as m, \
            Mount(sample("http://dual.test:" + BOTH), "%s,%s" % (BY_PIECE, fresh())) as patient:
        for each in (m, patient):
            until(20, lambda: each.dataset()["batches"] is not None)
        os.kill(NGINX, signal.SIGSTOP)
        waiting = subprocess.Popen(["sha256sum", str(patient / "rank_0/batch_0090.bin")], stdout=subprocess.PIPE, text=True)
        have, took = timed(code, read, m / "rank_0/batch_0110.bin")
        ok(have == "ETIMEDOUT" and 1.5 < took < 4, "a server that hangs: ETIMEDOUT after retry", have, took)
        os.kill(NGINX, signal.SIGCONT)
        said, took = timed(waiting.communicate, timeout=60)
        equal(said[0].split()[0], SAMPLE["sha256"]["epoch_0/rank_0/batch_0090.bin"], "who waits for it longer gets the bytes when it goes on")
        say("# %.1f s after it went on" % took)


def handshakes():
    """Who takes a connection and says nothing: no TLS, no tunnel."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        for what, source, env in (("a server that says nothing", "https://127.0.0.1:%d/x.parquet" % port, {}),
                                  ("a proxy that says nothing", "https://dual.test:1/x.parquet", {"https_proxy": "http://127.0.0.1:%d" % port})):
            status, said, took = refused(source, **env)
            ok(status == 32 and "timeout" in said and took < 6, "%s: says so, in time" % what, status, said, took)
            say("# after %.1f s: %s" % (took, said))


def main():
    addresses()
    refused_port()
    names()
    proxies()
    certificates()
    hanging()
    handshakes()


main()
say("# end")
