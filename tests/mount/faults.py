"""Random reads through tests/faultserver.py with faults by chance: every byte is right, or the errno is the one of the fault."""
import os
import random
import subprocess
import sys
import threading

from expect import GOOD, NONE, SAMPLE
from tap import DATA, TMP, Mount, digest, equal, ok, say

CONTROL, LOG = TMP / "faults.control", TMP / "faults.log"
KINDS = ("status;code=500", "status;code=502", "status;code=503", "status;code=504", "status;code=408", "status;code=429;retry=1",
         "reset", "reset;bytes=0", "truncate", "truncate;bytes=0", "more", "length", "range;kind=first", "range;kind=last",
         "range;kind=missing", "range;kind=garbage", "garbage", "headers", "late;seconds=0.3")
MOUNTS, READS = len(KINDS), 500


def serve():
    here = os.path.dirname(os.path.abspath(__file__))
    p = subprocess.Popen([sys.executable, os.path.join(here, "../faultserver.py"), str(DATA), "--control", str(CONTROL), "--log",
                          str(LOG), "--seed", "1", "--with-parent"], stdout=subprocess.PIPE, text=True)
    return p, "http://127.0.0.1:" + p.stdout.readline().split()[1]


def chance(kind, percent):
    return "+".join("%s;percent=%g" % (part, percent) for part in kind.split("+"))


def threads_of(pid):
    return len(os.listdir("/proc/%d/task" % pid))


def files_of(pid):
    return len(os.listdir("/proc/%d/fd" % pid))


def read_some(m, names, rng, wrong, allowed):
    for _ in range(READS // 4):
        name = rng.choice(names)
        have = digest(m / name)
        if have not in (SAMPLE["sha256"]["epoch_0/" + name], *allowed):
            wrong.append("%s: %s" % (name, have))


def by_chance(url):
    """Each mount meets other kinds of faults, and starts cold; four readers at once."""
    names = [p.removeprefix("epoch_0/") for p in SAMPLE["sha256"] if p.startswith("epoch_0/")]
    sources = ["%s/sample/10BT/000_0000%d.parquet" % (url, i) for i in range(4)]
    wrong, grown = [], []
    faults = 0
    for n in range(MOUNTS):
        LOG.write_text("")
        CONTROL.write_text("sample/* %s\n" % chance(KINDS[n % len(KINDS)], 25))
        cache = TMP / ("faults.cold%d" % n)
        cache.mkdir()
        with Mount(sources, "%s,cache=%s,block=1" % (NONE, cache), foreground=True) as m:
            parts = [[] for _ in range(4)]
            readers = [threading.Thread(target=read_some, args=(m, names, random.Random(n * 4 + i), parts[i], ())) for i in range(4)]
            for t in readers:
                t.start()
            for t in readers:
                t.join()
            wrong += ["%s: %s" % (KINDS[n % len(KINDS)], w) for p in parts for w in p]
            before = threads_of(m.process.pid), files_of(m.process.pid)
            read_some(m, names, random.Random(n), wrong, ())
            after = threads_of(m.process.pid), files_of(m.process.pid)
            if after[0] > before[0] or after[1] > before[1] + 2:
                grown.append("%s: threads and files %s, then %s" % (KINDS[n % len(KINDS)], before, after))
        faults += sum(len(line.split("\t")) > 4 and line.split("\t")[4] != "-" for line in LOG.read_text().splitlines())
    CONTROL.write_text("")
    ok(not wrong, "%d random reads over %d mounts with %d faults: every byte is right" % (MOUNTS * READS * 5 // 4, MOUNTS, faults), *wrong[:8])
    ok(faults >= 100, "there were faults", faults)
    ok(not grown, "no thread and no file is lost", *grown[:8])


def covers(asked, at):
    first, last = asked.removeprefix("bytes=").split("-") if asked != "-" else ("1", "0")
    return first != "" and int(first) <= at <= int(last)


def flipped(url):
    """A byte that is wrong once is noticed by its page's checksum and fetched again, on another connection."""
    CONTROL.write_text("bad/good_crc.parquet flip;first=1;at=24569\n")
    cache = TMP / "faults.flip"
    cache.mkdir()
    options = "world_size=1,batch_size=2,seq_len=128,block=12000,shuffle=none,cache=%s" % cache
    with Mount([url + "/bad/good_crc.parquet"], options, foreground=True) as m:
        have = [digest(m / ("rank_0/batch_%04d.bin" % k)) for k in range(len(GOOD))]
        equal(have, GOOD, "a byte that is wrong once: the page's checksum says so, and the second fetch is right")
        lines = [line.split("\t") for line in LOG.read_text().splitlines()]
        bad = next((i for i, line in enumerate(lines) if "flip" in line[4]), None)
        if ok(bad is not None, "it was wrong", LOG.read_text()[-1000:]):
            old = {line[6] for line in lines[:bad + 1]}
            again = [line for line in lines[bad + 1:] if covers(line[2], 24569)]
            # The next request for the file has it; that may be another piece's, by a thread that was quicker.
            ok(again and any(line[6] not in old for line in lines[bad + 1:]), "a second fetch came, and a new connection", again, sorted(old))
    CONTROL.write_text("bad/good_crc.parquet flip;at=24569\n")
    cache = TMP / "faults.flip2"
    cache.mkdir()
    with Mount([url + "/bad/good_crc.parquet"], options.replace("faults.flip", "faults.flip2"), foreground=True) as m:
        have = [digest(m / ("rank_0/batch_%04d.bin" % k)) for k in range(len(GOOD))]
        ok("EBADMSG" in have and all(h in (g, "EBADMSG") for h, g in zip(have, GOOD)), "one that is wrong for ever is EBADMSG, the "
           "others are right", have[:4])
    CONTROL.write_text("")


def main():
    CONTROL.write_text("")
    p, url = serve()
    try:
        flipped(url)
        by_chance(url)
    finally:
        p.kill()
        p.wait()


main()
say("# end")
