"""stats.py counts|prometheus|watch MOUNT: what stats.json and stats.prom say, and how `fineweb info --watch` shows it on a terminal."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from tap import FINEWEB, code, equal, ok, read, say

mnt = Path(sys.argv[2])


def stats():
    return json.loads(read(mnt / "stats.json"))


def drop_caches():
    Path("/proc/sys/vm/drop_caches").write_text("3")


def grown(before, kind=None):
    """How much reads and bytes have grown since; of all reads or of a kind."""
    now = stats()
    if kind is None:
        return now["reads"] - before["reads"], now["bytes_read"] - before["bytes_read"]
    return tuple(now["kinds"][kind][k] - before["kinds"][kind][k] for k in ("reads", "bytes"))


def counts():
    """A file is read once from the mount, however much is gathered ahead of its reader; from the kernel's pages not at all."""
    names = sorted(os.listdir(mnt / "rank_0"))
    size = (mnt / "rank_0" / names[0]).stat().st_size
    for again in range(2):  # once while pieces are made, once from the cache
        drop_caches()
        before = stats()
        for name in names:
            read(mnt / "rank_0" / name)
        equal(grown(before, "batch"), (len(names), len(names) * size), "batches read one after another count once each")
        equal(grown(before), (len(names), len(names) * size), "and so in all")
    now = stats()
    ok(now["ahead_bytes"] > before["ahead_bytes"] and now["ahead_reads"] > before["ahead_reads"], "what was gathered ahead stands apart",
       before, now)
    before = now
    for name in names:
        read(mnt / "rank_0" / name)
    equal(grown(before), (0, 0), "what the kernel has kept costs no read")
    drop_caches()
    for kind, path in (("epoch", "rank_1/epoch.bin"), ("shard", "shards/fineweb_train_000000.bin"), ("batch", "rank_1/batch_0003.npy"),
                       ("text", "rank_1/batch_0003.txt"), ("text", "rank_1/batch_0003.json")):
        before = stats()
        n = len(read(mnt / path))
        equal(grown(before, kind)[1], n, "%s: its bytes count for %s" % (path, kind))
        equal(grown(before)[1], n, "and in all")
    before = stats()
    read(mnt / "README.txt")
    read(mnt / "dataset.json")
    equal((grown(before), stats()["errors"], code(os.stat, mnt / "rank_0/batch_9999.bin")), ((0, 0), 0, "ENOENT"), "the pages of the mount itself do not")
    s = stats()
    for kind, v in s["kinds"].items():
        ok(v["p50_us"] <= v["p90_us"] <= v["p99_us"] <= v["max_us"] and (v["reads"] == 0) == (v["max_us"] == 0), "percentiles of %s" % kind, v)
    ok(0 < s["read_p50_us"] <= s["read_p90_us"] <= s["read_p99_us"] <= s["read_max_us"], "percentiles of all", s)
    equal(s["reads"], sum(v["reads"] for k, v in s["kinds"].items() if k != "waited"), "all reads are those of the kinds")


def prometheus():
    from prometheus_client.parser import text_string_to_metric_families
    before, text, after = stats(), read(mnt / "stats.prom").decode(), stats()
    families = {f.name: f for f in text_string_to_metric_families(text)}
    ok(len(families) >= 20 and all(f.name.startswith("fineweb_") and f.documentation for f in families.values()), "Prometheus' own parser reads stats.prom",
       *families)
    wrong, gauges = [], {"blocks_counted", "memory_bytes", "queue_length", "flight_bytes", "window_bytes", "uptime_seconds"}
    for key, low in before.items():
        if key.startswith("read_") or key == "kinds":
            continue
        f = families.get("fineweb_" + key)
        if f is None or f.type != ("gauge" if key in gauges else "counter") or len(f.samples) != 1 or \
                f.samples[0].labels != {"mount": str(mnt)} or not low <= f.samples[0].value <= after[key]:
            wrong.append((key, low, f, after[key]))
    ok(not wrong, "each number of stats.json is there, a counter or a gauge", *wrong[:5])
    f = families["fineweb_read_seconds"]
    have = {(s.name, s.labels["kind"], s.labels.get("quantile")): s.value for s in f.samples}
    wrong = []
    for kind in ("batch", "epoch", "shard", "text"):
        v = before["kinds"][kind]
        want = {("fineweb_read_seconds", kind, q): v[k] / 1e6 for q, k in (("0.5", "p50_us"), ("0.9", "p90_us"), ("0.99", "p99_us"), ("1", "max_us"))}
        want["fineweb_read_seconds_count", kind, None] = v["reads"]
        wrong += [(k, w, have.get(k)) for k, w in want.items() if have.get(k) is None or abs(have[k] - w) > 1e-6]
    ok(f.type == "summary" and not wrong, "and how long reads took, as a summary of each kind", *wrong[:5])
    f = families["fineweb_waited_read_seconds"]
    equal((f.type, [s.value for s in f.samples if s.name.endswith("_count")]), ("summary", [before["kinds"]["waited"]["reads"]]), "and those that waited")


class Terminal:
    """`fineweb info --watch` on a terminal of its own."""

    def __init__(self, columns, rows):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))
            os.execv(FINEWEB, [FINEWEB, "info", str(mnt), "--watch"])
        self.said = b""

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def hear(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], left)[0]:
                break
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                return
            if not more:
                return
            self.said += more

    def frames(self):
        """The lines of each time that it was drawn."""
        return [[re.sub("\033\\[[0-9?]*[A-Za-z]", "", line) for line in part.replace("\r", "").rstrip("\n").split("\n")]
                for part in self.said.decode().split("\033[H")[1:]]

    def wait(self):
        self.hear(3)
        return os.waitpid(self.pid, 0)[1]


def watch():
    t = Terminal(80, 24)
    t.hear(0.5)
    drop_caches()
    for name in sorted(os.listdir(mnt / "rank_0")):
        read(mnt / "rank_0" / name)
    t.hear(1.7)
    frames = t.frames()
    last = frames[-1] if frames else []
    ok(len(frames) >= 2 and max(map(len, last)) <= 80, "on a terminal of 80 columns no line is longer", *last)
    batches = [line.split() for line in last if line.startswith("batches")]
    rows = {line.split()[0] for line in last if line}
    ok({"batches", "epoch.bin", "shards", "texts", "waited", "cache", "network", "errors"} <= rows and
       any(line.split() == ["reads/s", "B/s", "reads", "p50", "p90", "p99", "max"] for line in last), "it has each kind of read, cache, network, errors", *last)
    ok(any(int(f.split()[1].replace(",", "")) > 0 for frame in frames for f in frame if f.startswith("batches")) and batches[0][-1] in ("us", "ms", "s"),
       "reads of the last second, and their times", *frames)
    n = len(t.said)
    t.resize(40, 8)
    t.hear(0.5)
    drawn = t.said[n:].decode().split("\033[H")
    ok(len(drawn) >= 2, "a terminal that changes is drawn at once", drawn)
    small = t.frames()[-1]
    ok(max(map(len, small)) <= 40 and len(small) <= 8, "40 columns and 8 rows have what there is room for", *small)
    t.resize(200, 50)
    t.hear(0.5)
    ok(any(line.startswith("errors") for line in t.frames()[-1]), "200 columns and 50 rows have all again", *t.frames()[-1])
    os.write(t.fd, b"\x03")
    begun = time.monotonic()
    status = t.wait()
    ok(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT and time.monotonic() - begun < 1, "Ctrl-C ends it at once", status)
    screen = t.said.decode().split("\033[?1049l")
    ok(t.said.startswith(b"\033[?1049h") and len(screen) == 2 and "\033[?25h" in t.said.decode() and "errors" in screen[1],
       "the terminal is as it was, with the last numbers", screen[1:])
    t = Terminal(80, 24)
    t.hear(1.2)
    subprocess.run(["umount", str(mnt)], check=True)
    status = t.wait()
    ok(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 1 and ("%s is not mounted any more" % mnt).encode() in t.said.split(b"\033[?1049l")[-1],
       "a mount that goes away ends it with one line", status, t.said[-300:])


{"counts": counts, "prometheus": prometheus, "watch": watch}[sys.argv[1]]()
say("# end")
