"""Random reads for a long time through tests/faultserver.py, with all kinds of faults at once.

Every read must give the right bytes; after all of them the program has as many threads and open files as before and no more
memory. What a batch must be is put together from rows of expected/batches.json: the files of sample/10BT, COPIES times one after
another, one row a batch. More pieces than a mount keeps open, in a cache that holds few of them, so that requests never cease.
"""
import hashlib
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter

from expect import GOOD, SAMPLE
from tap import DATA, TMP, Mount, code, digest, ok, read, say, until

READS, PERCENT, SEED = int(os.environ["READS"]), float(os.environ["PERCENT"]), int(os.environ["SEED"])
CONTROL, LOG = TMP / "control", TMP / "requests"
COPIES, READERS, T = 250, 8, 256
KINDS = ("status;code=500", "status;code=502", "status;code=503", "status;code=504", "status;code=408", "status;code=429;retry=1",
         "silent", "stall", "drip;rate=200", "reset", "truncate", "more", "length", "range;kind=first", "range;kind=missing", "garbage",
         "headers", "late;seconds=0.3")
# One row a batch. An attempt is cut after 2 s without bytes: a quarter of ready_timeout.
OPTIONS = "world_size=1,batch_size=1,seq_len=%d,seed=42,shuffle=none,block=1000,cache_size=2M,retry=60,ready_timeout=8" % T


def serve():
    top = os.path.dirname(os.path.abspath(__file__))
    p = subprocess.Popen([sys.executable, os.path.join(top, "../faultserver.py"), str(TMP / "www"), "--control", str(CONTROL), "--log",
                          str(LOG), "--seed", str(SEED), "--with-parent"], stdout=subprocess.PIPE, text=True)
    return p, "http://127.0.0.1:" + p.stdout.readline().split()[1]


def rows():
    """The rows of sample/10BT, each checked by the batch of eight in which it stands; the last few stand in none."""
    with Mount([DATA / "sample/10BT"], "world_size=1,batch_size=1,seq_len=%d,shuffle=none" % T) as m:
        until(20, lambda: m.dataset()["batches"] is not None)
        n = SAMPLE["counts"]["batches"] * 8
        texts = [read(m / ("rank_0/batch_%04d.bin" % k)) for k in range(n)]
    for k in range(n // 8):
        if hashlib.sha256(b"".join(texts[8 * k:8 * k + 8])).hexdigest() != SAMPLE["sha256"]["epoch_0/rank_0/batch_%04d.bin" % k]:
            raise RuntimeError("batch %d of the expectation differs" % k)
    return [hashlib.sha256(t).hexdigest() for t in texts], sum((n - 1) // T for f in SAMPLE["piece_tokens"] for n in f)


class State:
    """What the program has of the system."""
    def __init__(self, pid):
        status = dict(line.split(":", 1) for line in open("/proc/%d/status" % pid))
        self.threads = int(status["Threads"])
        self.rss = int(status["VmRSS"].split()[0]) >> 10
        self.files = len(os.listdir("/proc/%d/fd" % pid))

    def __str__(self):
        return "%d threads, %d MiB, %d open files" % (self.threads, self.rss, self.files)


def read_all(m, reads, seed, expected, ends):
    """Random reads by READERS threads; ends counts their results: right, wrong, or the name of an errno."""
    def one(r):
        dice = random.Random(seed * 1000 + r)
        for _ in range(reads // READERS):
            name, want = expected(dice)
            have = digest(m / name)
            parts[r]["right" if have == want else have if len(have) < 32 else "wrong"] += 1
    parts = [Counter() for _ in range(READERS)]
    threads = [threading.Thread(target=one, args=(r,)) for r in range(READERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    ends.update(sum(parts, Counter()))


def seen():
    """How many requests there were, and how often each fault."""
    lines = [line.split("\t") for line in LOG.read_text().splitlines()]
    LOG.write_text("")
    return len(lines), Counter(part for line in lines for part in line[4].split("+") if part != "-")


def report(what, ends, requests, faults, seconds):
    say("# %s: %d reads in %.0f s, %d requests, %d faults: %s" % (
        what, sum(ends.values()), seconds, requests, sum(faults.values()), " ".join("%s %d" % i for i in sorted(faults.items()))))
    say("# %s: right %d, wrong bytes %d, errors: %s" % (what, ends["right"], ends["wrong"], " ".join(
        "%s %d" % i for i in ends.items() if i[0] not in ("right", "wrong")) or "none"))


def faulty(url, want, per_copy):
    """Faults of all kinds at once. In the first tenth the tables and pools of the program grow to what they are."""
    def expected(dice):
        copy, row = dice.randrange(COPIES), dice.randrange(len(want))
        return "rank_0/batch_%06d.bin" % (copy * per_copy + row), want[row]
    ends, begun = Counter(), time.monotonic()
    with Mount([url + "/all.txt"], "%s,cache=%s" % (OPTIONS, TMP / "cold"), foreground=True) as m:
        until(300, lambda: m.dataset()["batches"] is not None)
        CONTROL.write_text("copy* %s\n" % "+".join("%s;percent=%g" % (k, PERCENT / len(KINDS)) for k in KINDS))
        seen()
        read_all(m, READS // 5, SEED, expected, ends)
        before = State(m.process.pid)
        read_all(m, READS - READS // 5, SEED + 1, expected, ends)
        until(30, lambda: m.stats()["queue_length"] == 0)
        after, stats = State(m.process.pid), m.stats()
        log = m.log.read_text()
    requests, faults = seen()
    report("faults", ends, requests, faults, time.monotonic() - begun)
    say("# faults: %d retries; after a fifth of the reads %s; at the end %s" % (stats["retries"], before, after))
    ok(ends["right"] == sum(ends.values()), "every byte of %d reads is right, whatever happens to requests" % sum(ends.values()), ends, log[-3000:])
    ok(sum(faults.values()) >= PERCENT / 100 * requests * 0.7 and len(faults) == len({k.split(";")[0] for k in KINDS}), "there were faults of each kind", faults)
    # Fetchers begin when they pay, 64 of them at most, each with a connection (src/fetch/piece.h).
    ok(before.threads <= after.threads <= before.threads + 16, "no thread is lost, none is left", before, after)
    ok(after.files <= before.files + 32, "no open file is left", before, after)
    ok(after.rss <= before.rss + 32, "no memory is left", before, after)


def flipped(url):
    """One bit of a page that has a checksum: fetched again, or EBADMSG when it was wrong twice."""
    ends, begun = Counter(), time.monotonic()
    for n in range(max(1, READS // 500)):
        CONTROL.write_text("good_crc* flip;at=24569;percent=30\n")
        with Mount([url + "/good_crc.parquet"], "world_size=1,batch_size=2,seq_len=128,shuffle=none,cache=%s" % (TMP / ("flip%d" % n))) as m:
            read_all(m, 80, SEED + n, lambda dice: (lambda k: ("rank_0/batch_%04d.bin" % k, GOOD[k]))(dice.randrange(len(GOOD))), ends)
    requests, faults = seen()
    report("flipped bits", ends, requests, faults, time.monotonic() - begun)
    ok(ends["wrong"] == 0 and set(ends) <= {"right", "wrong", "EBADMSG"} and faults["flip"] > 0, "a bit that flips is never served", ends)


def changed(url, want, per_copy):
    """Some of the files change while they are read: what was not cached of them is ESTALE from then on; never a mix."""
    def expected(dice):
        copy, row = dice.randrange(COPIES), dice.randrange(len(want))
        return "rank_0/batch_%06d.bin" % (copy * per_copy + row), want[row]
    ends, later, begun = Counter(), Counter(), time.monotonic()
    CONTROL.write_text("\n")
    with Mount([url + "/all.txt"], "%s,cache=%s" % (OPTIONS, TMP / "stale")) as m:
        until(300, lambda: m.dataset()["batches"] is not None)
        read_all(m, READS // 10, SEED, expected, ends)
        CONTROL.write_text("copy0* etag;tag=changed\n")
        read_all(m, READS // 5, SEED + 1, expected, later)
    requests, faults = seen()
    report("before files change", ends, 0, Counter(), 0)
    report("after some of them did", later, requests, faults, time.monotonic() - begun)
    ok(set(ends) == {"right"} and set(later) == {"right", "ESTALE"}, "a file that changes is ESTALE, never a mix", ends, later)


def main():
    want, per_copy = rows()
    names = []
    (TMP / "www").mkdir()
    for c in range(COPIES):
        folder = TMP / "www" / ("copy%03d" % c)
        folder.mkdir()
        for f in sorted((DATA / "sample/10BT").glob("*.parquet")):
            (folder / f.name).write_bytes(f.read_bytes())
            names.append("%s/%s" % (folder.name, f.name))
    (TMP / "www/all.txt").write_text("\n".join(names) + "\n")
    (TMP / "www/good_crc.parquet").write_bytes((DATA / "bad/good_crc.parquet").read_bytes())
    for name in ("cold", "stale"):
        (TMP / name).mkdir()
    CONTROL.write_text("\n")
    LOG.write_text("")
    server, url = serve()
    try:
        faulty(url, want, per_copy)
        flipped(url)
        changed(url, want, per_copy)
    finally:
        server.kill()
        server.wait()


main()
say("# end")
