"""boundary.py WWW URL MILLISECONDS: eight ranks read on at a million tokens a second, a round trip away from the server; after the
first block no read waits longer than that."""
import json
import os
import random
import sys
import threading
import time

from tap import DATA, TMP, Mount, ok, say

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from parquet import BYTE_ARRAY, INT64, Writer  # noqa: E402

RANKS, B, T, PER_SECOND = 8, 4, 1024, 1000000
FILES, GROUPS, SECONDS = 3, 8, 6
STEP = RANKS * B * T
NOISE = 0.05  # of a machine that does other things


def write(path, dice, rows):
    """A file of FineWeb's shape: row groups of 1000 texts and their token_count. How many tokens each group has."""
    pieces = []
    with Writer(path, [(b"text", BYTE_ARRAY), (b"token_count", INT64)]) as w:
        for _ in range(GROUPS):
            drawn = dice.choices(rows, k=1000)
            w.group({b"text": [t for t, _ in drawn], b"token_count": [n for _, n in drawn]})
            pieces.append(sum(n + 1 for _, n in drawn))
    return pieces


def rank(m, r, begin, waits):
    """waits: how long each read took, begun when it is due or when the one before it ended."""
    buffer = bytearray(2 * B * (T + 1))
    for k in range(SECONDS * PER_SECOND // STEP):
        time.sleep(max(0, begin + k * STEP / PER_SECOND - time.monotonic()))
        begun = time.monotonic()
        fd = os.open(m / ("rank_%d/batch_%04d.bin" % (r, k)), os.O_RDONLY)
        if os.readv(fd, [buffer]) != len(buffer):
            raise RuntimeError("a short read")
        os.close(fd)
        waits.append(time.monotonic() - begun)


def run(urls, first, cache):
    """Seconds that each read from batch `first` on took, the longest last."""
    cache.mkdir()
    with Mount(urls, "world_size=%d,batch_size=%d,seq_len=%d,cache=%s" % (RANKS, B, T, cache)) as m:
        parts = [[] for _ in range(RANKS)]
        begin = time.monotonic()
        readers = [threading.Thread(target=rank, args=(m, r, begin, parts[r])) for r in range(RANKS)]
        for t in readers:
            t.start()
        for t in readers:
            t.join()
        took, stats = time.monotonic() - begin, m.stats()
    waits = sorted(w for p in parts for w in p[first:])
    longest = max(range(first, len(parts[0])), key=lambda k: max(p[k] for p in parts))
    say("# %.2f million tokens in %.1f s, blocks of 1, 2, 4 million; %d requests, %d pieces made" % (
        len(parts[0]) * STEP / 1e6, took, stats["requests"], stats["pieces_tokenized"]))
    say("# %d reads after the first block: median %.2f ms, 99th percentile %.1f, 99.9th %.1f, longest %.1f ms at token %.2f million" % (
        len(waits), 1000 * waits[len(waits) // 2], 1000 * waits[-len(waits) // 100], 1000 * waits[-len(waits) // 1000],
        1000 * waits[-1], longest * STEP / 1e6))
    if len(waits) != RANKS * (len(parts[0]) - first):
        raise RuntimeError("a reader ended early")
    return waits


def main():
    www, url, rtt = sys.argv[1], sys.argv[2], float(sys.argv[3]) / 1000
    lines = [json.loads(line) for f in sorted((DATA / "jsonl/plain").glob("*.jsonl")) for line in open(f, encoding="utf-8")]
    rows, dice = [(r["text"].encode(), r["metadata"]["token_count"]) for r in lines if r["text"]], random.Random(1)
    pieces = [n for i in range(FILES) for n in write("%s/000_%05d.parquet" % (www, i), dice, rows)]
    if not 2**19 <= min(pieces) or 2**20 <= max(pieces):
        raise RuntimeError("the first block is not two pieces: %s" % pieces)
    urls = ["%s/000_%05d.parquet" % (url, i) for i in range(FILES)]
    first = 2 * min(pieces) // STEP
    waits = run(urls, first, TMP / "cold1")
    for n in (2, 3):
        if waits[-1] > rtt + NOISE:
            say("# once more, as others may have been in the way")
            waits = run(urls, first, TMP / ("cold%d" % n))
    ok(waits[-1] <= rtt + NOISE, "the block boundary is not felt: no read waits longer than a round trip", waits[-20:])


main()
say("# end")
