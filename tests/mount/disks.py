"""Reads with four threads through a mount whose cache holds a third of the source, and adds up the cache's files meanwhile."""
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

from tap import DATA, TMP, Mount, read

BOUND = 12 << 20


def size(folder):
    total = 0
    for where, _, names in os.walk(folder):
        for n in names:
            try:
                total += os.lstat(os.path.join(where, n)).st_size
            except FileNotFoundError:
                pass
    return total


lines = (DATA / "jsonl/plain/000_00001.jsonl").read_bytes()
(TMP / "load.jsonl").write_bytes(lines * (60000000 // len(lines)))
cache, most, done, bad = TMP / "load", [0, 0], [False], []
options = "world_size=4,block=1000000,cache=%s,cache_size=%d,memory=64M,counts=exact,seed=5" % (cache, BOUND)


def look():
    while not done[0]:
        most[0] = max(most[0], size(cache / "v1/pieces"))
        most[1] += 1
        time.sleep(0.003)


def rank(m, r, sums):
    import hashlib
    h = hashlib.sha256()
    for name in sorted(os.listdir(m / ("rank_%d" % r))):
        h.update(read(m / ("rank_%d/%s" % (r, name))))
    sums[r] = h.hexdigest()


def run(options, looking):
    sums = {}
    with Mount([TMP / "load.jsonl"], options) as m:
        threads = [threading.Thread(target=rank, args=(m, r, sums)) for r in range(4)]
        watcher = threading.Thread(target=look)
        if looking:
            watcher.start()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        done[0] = True
        if looking:
            watcher.join()
        return sums, m.stats()


have, stats = run(options, True)
subprocess.run(["rm", "-rf", str(cache)])
want, _ = run(options.replace("cache_size=%d" % BOUND, "cache_size=1G"), False)
print("at most %d bytes in %d looks, bound %d, %d pieces made" % (*most, BOUND, stats["pieces_tokenized"]), json.dumps(stats))
sys.exit(not (have == want and most[0] <= BOUND and most[0] > BOUND // 2))
