"""simulated.py FILES: mounts the data set of tests/simulated.py, reads at random places, and looks at the memory of the mount."""
import hashlib
import json
import os
import random
import re
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from parquet import varint
from simulated import GROUPS
from tap import DATA, TMP, Mount, equal, ok, read, say, skip

FILES = int(sys.argv[1])
FULL = FILES >= 25000
RAW = (DATA / "tokens/raw/fineweb_train_000000.bin").read_bytes()
T, B = 1024, 32
MOST = 200 << 20


def text():
    """A text of about a megabyte, and its ids: a document, whose ids are known, line after line (see bounds.py)."""
    line = json.loads((DATA / "jsonl/plain/000_00001.jsonl").read_text().splitlines()[0])["text"]
    ids = RAW[2:2 + 2 * next(i for i in range(1, len(RAW)) if RAW[2 * i:2 * i + 2] == struct.pack("<H", 50256)) - 2]
    times = 1000000 // len(line.encode())
    assert line == line.strip()
    return (line + "\n").encode() * times, struct.pack("<H", 50256) + (ids + struct.pack("<H", 198)) * times


TEXT, IDS = text()
TOKENS = len(IDS) // 2
ROWS = {IDS[2 * i:2 * (i + T + 1)] for i in range(0, TOKENS - T, T)}


def h(*parts):
    s = hashlib.sha256()
    for p in parts:
        s.update(struct.pack("<Q", p % 2**64) if isinstance(p, int) else
                 struct.pack("<Q", len(p)) + p.encode() if isinstance(p, str) else p)
    return s.digest()


def index(path, size, tokenizer):
    """What `fineweb index --export` would write, from the descriptions in src/store/archive.h, counts.h and src/dataset/pin.c."""
    numbers = varint(TOKENS + 1) * GROUPS + varint(2) * GROUPS
    record = b"FWC1" + struct.pack("<IQII", 1, GROUPS, 2 * GROUPS, 0) + numbers
    out = bytearray(b"FWRECORD" + struct.pack("<II", 1, FILES))
    for i in range(FILES):
        name = "/bucket/%05d.parquet" % i
        pin = h("http pin 2", name, size, '"simulated-1"', 0)
        out += h("counts 1", pin, 1, tokenizer, "", 50256, -1, 1, "") + struct.pack("<I", len(record)) + record
    path.write_bytes(out + hashlib.sha256(out).digest())


class Memory:
    def __init__(self, m):
        self.status = Path("/proc/%d/status" % m.process.pid)

    def now(self):
        s = self.status.read_text()
        return {k: int(re.search(r"%s:\s+(\d+)" % k, s).group(1)) << 10 for k in ("RssAnon", "RssFile", "VmHWM")}


def wrong(m, batches):
    bad = []
    for k in batches:
        b = read(m / ("rank_0/batch_%d.bin" % k))
        rows = [b[i:i + 2 * (T + 1)] for i in range(0, len(b), 2 * (T + 1))]
        if len(rows) != B or any(r not in ROWS for r in rows):
            bad.append(k)
    return bad


def reads(m, what, last, beside):
    """Random batches below `last`, twenty at a time; RSS must be flat."""
    memory, seen = Memory(m), []
    dice = random.Random(7)
    rounds, each = (4, 10) if FULL else (2, 4)
    for _ in range(rounds):
        begun = time.monotonic()
        bad = wrong(m, [dice.randrange(last) for _ in range(each)])
        now = memory.now()
        seen.append(now["RssAnon"])
        say("# %s: %d batches in %.1f s, RssAnon %d MiB, RssFile %d MiB, memory_bytes %d MiB" % (
            what, each, time.monotonic() - begun, now["RssAnon"] >> 20, now["RssFile"] >> 20, m.stats()["memory_bytes"] >> 20))
        equal(bad, [], what + ": right rows")
    if b"__asan_init" in Path(os.environ["FINEWEB"]).read_bytes():
        return skip("%s: memory" % what, "a sanitizer has memory of its own")
    ok(max(seen) <= MOST + beside, "%s: %d MiB at most" % (what, max(seen) >> 20), "%d and the buffers are allowed" % (MOST >> 20))
    # Two rounds begin before the buffers are full.
    ok(seen[-1] <= seen[0] + (32 << 20 if FULL else beside), "%s: flat" % what, [s >> 20 for s in seen])


def main():
    (TMP / "text").write_bytes(TEXT)
    server = subprocess.Popen([sys.executable, str(Path(__file__).parent.parent / "simulated.py"), str(FILES), str(TMP / "text"),
                               str(TOKENS - 1)], stdout=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline().split()
        port, size = line[1], int(line[3])
        say("# %d files of %d row groups, footer of %d KB, %d tokens in all" % (FILES, GROUPS, size >> 10, FILES * GROUPS * TOKENS))
        env = {k: "" for k in os.environ if k.startswith("AWS_")}
        options = "endpoint=http://127.0.0.1:%s,memory=128M,cache_size=4G,seq_len=%d,batch_size=%d" % (port, T, B)
        # Twenty blocks of min(2^28, 2^(20 + c)) tokens.
        last = sum(min(1 << 28, 1 << (20 + c)) for c in range(20)) // (T * B) - 1
        begun = time.monotonic()
        with Mount(["s3://bucket/"], options + ",block=268435456", True, 120, **env) as m:
            took = time.monotonic() - begun
            log = m.log.read_text()
            say("# mounted after %.2f s, the listing among them" % took)
            ok(took < 20, "mounted", log)
            sha = m.dataset()["tokenizer_sha256"]
            reads(m, "the first 20 blocks", min(last, last if FULL else 1500), 128 << 20)
        index(TMP / "index", size, sha)
        begun = time.monotonic()
        with Mount(["s3://bucket/"], options + ",index=%s,cache=%s" % (TMP / "index", TMP / "other"), True, 120, **env) as m:
            say("# mounted with an index after %.2f s" % (time.monotonic() - begun))
            total = FILES * GROUPS * ((TOKENS - 1) // T) // B - 1
            begun = time.monotonic()
            equal(wrong(m, [total - 1]), [], "with an index: the last batch but one")
            say("# the last batch after %.2f s" % (time.monotonic() - begun))
            reads(m, "all of it", total, 128 << 20)
    finally:
        server.kill()


main()
say("# end")
