"""blackhole.py URL: reads through a network that drops every packet, and that comes back."""
import contextlib
import os
import shutil
import signal
import statistics
import subprocess
import sys
import time

from expect import BY_PIECE, SAMPLE, differing, touching
from tap import FINEWEB, TMP, Mount, code, digest, equal, ok, read, say, until

CARD, FAR, FAR6 = os.environ["card"], os.environ["far"], os.environ["far6"]
URL = sys.argv[1]
RETRY = 3
# Says when it begins, then with what and when its read ended; a signal that is caught interrupts the read.
READER = """
import errno, os, signal, sys, time
signal.signal(signal.SIGINT, lambda *_: os.write(1, b""))
signal.siginterrupt(signal.SIGINT, True)
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
print("begins", flush=True)
fd = libc.open(sys.argv[1].encode(), os.O_RDONLY)
n = libc.pread(fd, buffer, ctypes.c_size_t(100), ctypes.c_long(int(sys.argv[2]))) if fd >= 0 else -1
end = time.monotonic()
print("ok" if n >= 0 else errno.errorcode[ctypes.get_errno()], end, flush=True)
"""


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def cut():
    """Every packet goes to a card that is not there: no answer, no refusal, no carrier lost."""
    for a in (FAR, FAR6) if FAR6 else (FAR,):
        ip("neigh", "replace", a, "lladdr", "02:00:00:00:00:99", "dev", CARD, "nud", "permanent")


def heal():
    for a in (FAR, FAR6) if FAR6 else (FAR,):
        ip("neigh", "del", a, "dev", CARD)


@contextlib.contextmanager
def away():
    cut()
    try:
        yield
    finally:
        heal()


class Reader:
    def __init__(self, path, at=0):
        self.p = subprocess.Popen([sys.executable, "-c", READER, str(path), str(at)], stdout=subprocess.PIPE, text=True)
        self.p.stdout.readline()
        self.begun = time.monotonic()

    def end(self):
        """What the read ended with, and when."""
        word, at = self.p.stdout.readline().split()
        self.p.wait()
        self.p.stdout.close()
        return word, float(at)


def batch(m, k, zeros=""):
    return m / ("rank_0/batch_%s%04d.bin" % (zeros, k))


def fresh(name):
    path = TMP / ("hole." + name)
    path.mkdir()
    return "cache=%s" % path


def seconds(function, *args):
    begun = time.monotonic()
    function(*args)
    return time.monotonic() - begun


def read_anew(path):
    """Through the program: what the kernel has of the file is dropped first."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.read(fd, 1 << 20)
    os.close(fd)


def median_us(function, things):
    return 1e6 * statistics.median(seconds(function, t) for t in things)


def speeds(m, warm, zeros):
    """Microseconds: a cached read, stat of a name that was not looked up before, ls of a rank, ls of the root."""
    n = SAMPLE["counts"]["batches"]
    return {
        "read": median_us(read_anew, [batch(m, k) for k in warm] * 8),
        "stat": median_us(os.stat, [batch(m, k, zeros) for k in range(n)]),
        "ls rank_0": median_us(os.listdir, [m / "rank_0"] * 50),
        "ls": median_us(os.listdir, [m.path] * 50),
    }


def in_time(readers, what):
    """All of them end with ETIMEDOUT, when retry is over."""
    ends = [r.end() for r in readers]
    first, last = min(at for _, at in ends) - readers[0].begun, max(at - r.begun for r, (_, at) in zip(readers, ends))
    say("# %s: %d reads ended after %.2f to %.2f s, retry=%d" % (what, len(ends), first, last, RETRY))
    equal({w for w, _ in ends}, {"ETIMEDOUT"}, "%s: a read of what is not cached is ETIMEDOUT" % what)
    ok(first > RETRY - 0.5, "%s: and not before retry" % what, first)
    ok(last < RETRY + 2, "%s: nor much later, whoever else waits" % what, last)


def mounted_while_away(m, streaming):
    """Both have retry=RETRY and everything counted; of m some of file 0 is cached, files 2 and 3 are cold; in the memory of the
    other no piece has room, so that who makes one fetches it."""
    warm = [k for k in range(max(touching(0, {0})))]
    cold = sorted(touching(2) | touching(3))
    for k in warm:
        read(batch(m, k))
    until(10, lambda: m.stats()["queue_length"] == 0)
    reads = m.stats()["reads"]
    before = speeds(m, warm, "0")
    ok(m.stats()["reads"] >= reads + 8 * len(warm), "what is measured is the program", reads, m.stats()["reads"])
    cut()
    begun = time.monotonic()
    readers = [Reader(batch(m, k)) for k in cold[1:49:2]]
    others = [Reader(batch(streaming, max(touching(f, {p})) - 1)) for f in (1, 3) for p in (0, 1, 2) if touching(f, {p})]
    during = speeds(m, warm, "00")
    say("# microseconds before %s, during %s" % tuple(", ".join("%s %.0f" % i for i in s.items()) for s in (before, during)))
    ok(during["read"] < 4 * before["read"] + 300, "a cached batch reads as fast as before, while %d readers wait" % len(readers), before, during)
    ok(max(during[k] for k in during if k != "read") < 1000, "ls and stat take less than a millisecond", during)
    in_time(readers, "fetched ahead")
    in_time(others, "streamed")
    say("# the network was away for %.1f s" % (time.monotonic() - begun))


def uncounted():
    """The second file is on a server that is not there from the start: nothing behind the first can be counted."""
    dead = FAR.rsplit(".", 1)[0] + ".%d" % (int(FAR.rsplit(".", 1)[1]) + 1)
    ip("neigh", "replace", dead, "lladdr", "02:00:00:00:00:99", "dev", CARD, "nud", "permanent")
    urls = ["%s/sample/10BT/000_00000.parquet" % URL, "%s/sample/10BT/000_00001.parquet" % URL.replace(FAR, dead)]
    with Mount(urls, "%s,%s,list=all,retry=%d" % (BY_PIECE, fresh("uncounted"), RETRY), foreground=True) as m:
        known = sorted(touching(0))[:-1]
        equal([digest(batch(m, k)) for k in known], [SAMPLE["sha256"]["epoch_0/rank_0/batch_%04d.bin" % k] for k in known],
              "what is counted before a server that is not there reads right")
        us = median_us(os.stat, [batch(m, k, "000") for k in known])
        ok(us < 1000, "and stat takes less than a millisecond", us)
        p = subprocess.Popen(["ls", str(m / "rank_0")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        p.send_signal(signal.SIGINT)
        took = seconds(p.wait, 30)
        ok(p.returncode == -signal.SIGINT and took < 0.5, "SIGINT ends a listing that waits", p.returncode, took)
        beyond = batch(m, max(touching(1)))
        for what, function, path in (("ls", os.listdir, m / "rank_0"), ("stat", os.stat, beyond), ("epoch.bin", os.stat, m / "rank_0/epoch.bin")):
            begun = time.monotonic()
            have = code(function, path)
            took = time.monotonic() - begun
            say("# %s: %s after %.1f s" % (what, have, took))
            ok(have in ("ETIMEDOUT", "EIO") and took < RETRY + 2, "%s beyond it fails, in time" % what, have, took)
        until(5, lambda: not subprocess.run(["umount", str(m.path)]).returncode)
        took = seconds(m.process.wait, 30)
        ok(took < 1.5, "and it can be unmounted at once", took)


def interrupted(m):
    """m has a long retry: who waits is interrupted at once."""
    cold = sorted(touching(2) | touching(3))
    for what, path, at in (("a batch", batch(m, cold[3]), 0), ("epoch.bin", m / "rank_0/epoch.bin", 4112 * cold[9]),
                           ("the words of a batch", str(batch(m, cold[5])).replace(".bin", ".txt"), 0)):
        late = []
        for _ in range(3):
            r = Reader(path, at)
            time.sleep(0.4)
            sent = time.monotonic()
            r.p.send_signal(signal.SIGINT)
            word, ended = r.end()
            late.append(1000 * (ended - sent))
        say("# EINTR after %s ms" % ", ".join("%.1f" % x for x in late))
        ok(word == "EINTR" and statistics.median(late) < 100, "%s: SIGINT is EINTR within 100 ms" % what, word, late)


def new_mounts():
    """Mounts and subcommands over the network that is away, all at once: each in time, and says what is wrong."""
    (TMP / "www/list.txt").write_text("sample/10BT/000_00000.parquet\n")
    sources = (("a folder", URL + "/sample/", {}), ("a file", URL + "/sample/10BT/000_00000.parquet", {}),
               ("a list", URL + "/list.txt", {}), ("a data set of the Hub", "hf://datasets/a/b", {"HF_ENDPOINT": URL}),
               ("a bucket", "s3://bucket/sample", {"FINEWEB_ENDPOINT": URL}))
    runs = []
    for n, (what, source, env) in enumerate(sources):
        for kind, status in (("mount", 32), ("index", 1)):
            options = ["-o", "ready_timeout=3,retry=2," + fresh("new%d%s" % (n, kind))]
            (TMP / ("new%d" % n)).mkdir(exist_ok=True)
            command = [source, str(TMP / ("new%d" % n)), *options] if kind == "mount" else ["index", source, *options]
            runs.append(("%s: a new %s" % (what, kind), status, time.monotonic(), subprocess.Popen(
                [FINEWEB, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                env={**os.environ, **env})))
    for what, status, begun, p in runs:
        said = p.communicate(timeout=90)[1]
        took = time.monotonic() - begun
        ok(p.returncode == status and FAR in said and took < 6, "%s says what is wrong, in time" % what, took, p.returncode, said)
    say("# the last of them after %.1f s: %s" % (took, said.strip()))


def given_up():
    """Whoever waits for a mount and is tired of it."""
    late = []
    for n, signal_ in enumerate((signal.SIGINT, signal.SIGTERM)):
        p = subprocess.Popen([FINEWEB, URL + "/sample/", str(TMP / "new0"), "-o", fresh("tired%d" % n)], stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        late.append(seconds(lambda: (p.send_signal(signal_), p.wait(30))))
        ok(p.returncode == 32 and late[-1] < 5, "%s ends a mount that is not ready yet" % signal_.name, p.returncode, late)
    say("# after %.2f and %.2f s" % tuple(late))


def goes_on(m, reader, k):
    """The network is back: a read that waits all the while gets its bytes, and so does everything else."""
    begun = time.monotonic()
    word, at = reader.end()
    say("# a waiting read had its bytes %.1f s after the network was back" % (at - begun))
    ok(word == "ok" and at - begun < 12, "a read that waits while the network is away ends well when it is back", word, at - begun)
    wrong = differing(m)
    ok(not wrong, "and the mount reads right, without a remount", *wrong[:6])


def leaves(m):
    """umount while the network is away and something is being fetched."""
    with away():
        r = Reader(batch(m, max(touching(3))))
        time.sleep(0.3)
        r.p.send_signal(signal.SIGINT)
        r.end()
        begun = time.monotonic()
        equal(subprocess.run(["umount", str(m.path)]).returncode, 0, "umount while the network is away")
        unmounted = time.monotonic() - begun
        m.process.wait(30)
        gone = time.monotonic() - begun
        say("# umount took %.3f s, the process ended after %.3f s" % (unmounted, gone))
        ok(unmounted < 1 and gone < 1.5, "takes less than a second", unmounted, gone)


def main():
    sources = ["%s/sample/10BT/000_0000%d.parquet" % (URL, i) for i in range(4)]
    k = max(touching(2))
    with Mount(sources, "%s,%s,retry=60" % (BY_PIECE, fresh("long")), foreground=True) as long, \
            Mount(sources, "%s,%s,retry=%d" % (BY_PIECE, fresh("short"), RETRY), foreground=True) as short, \
            Mount(sources, "%s,%s,retry=%d,memory=500K" % (BY_PIECE, fresh("stream"), RETRY), foreground=True) as streaming, \
            Mount(sources, "%s,%s,retry=60" % (BY_PIECE, fresh("leave")), foreground=True) as leave:
        for m in (long, short, streaming, leave):
            until(20, lambda: m.dataset()["batches"] is not None)
        with away():
            mounted_while_away(short, streaming)
            interrupted(long)
            reader = Reader(batch(long, k))
            new_mounts()
            given_up()
        goes_on(long, reader, k)
        wrong = []
        until(11, lambda: not wrong_of(short, wrong))
        ok(not wrong, "what failed while it was away is fetched again, without a remount", *wrong[:6])
        leaves(leave)
    uncounted()


def wrong_of(m, wrong):
    wrong[:] = differing(m)
    return wrong


main()
say("# end")
