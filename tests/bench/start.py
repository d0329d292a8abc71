#!/usr/bin/env python3
"""From `fineweb SOURCE DIR` to the first batch, and the first touch of an epoch far into it.

usage: start.py FINEWEB SOURCE MOUNTPOINT LABEL [REPS]

Prints medians: seconds from exec to the mount's ready, to the first batch read; of epoch 3 the first touch of a batch in its last
tenth, then the median of 20 other batches and of its batches 0 to 19 (each read for the first time); RssAnon of the daemon after all that."""
import json
import os
import re
import statistics as st
import subprocess
import sys
import tempfile
import time

program, source, mountpoint, label = sys.argv[1:5]
reps = int(sys.argv[5]) if len(sys.argv) > 5 else 3


def timed(path):
    t = time.perf_counter()
    with open(path, "rb", buffering=0) as f:
        while f.read(1 << 20):
            pass
    return time.perf_counter() - t


def daemon_anon():
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if mountpoint.encode() in f.read().split(b"\0") and b"start.py" not in open(f"/proc/{pid}/cmdline", "rb").read():
                    return int(re.search(r"RssAnon:\s+(\d+)", open(f"/proc/{pid}/status").read()).group(1)) / 1024
        except OSError:
            pass
    return float("nan")


rows = []
with tempfile.TemporaryDirectory() as cache:
    for k in range(reps):
        t = time.perf_counter()
        # Each repetition has a new cache: nothing is remembered from the one before.
        subprocess.run([program, source, mountpoint, "-o", f"cache={cache}/{k}"], check=True)
        ready = time.perf_counter() - t
        timed(f"{mountpoint}/rank_0/batch_0000.bin")
        first = time.perf_counter() - t
        batches = json.load(open(f"{mountpoint}/dataset.json"))["batches"]
        far = batches * 9 // 10
        touch = timed(f"{mountpoint}/epoch_3/rank_0/batch_{far}.bin")
        others = st.median(timed(f"{mountpoint}/epoch_3/rank_0/batch_{(far + i * 7919) % batches}.bin") for i in range(1, 21))
        zero = st.median(timed(f"{mountpoint}/epoch_3/rank_0/batch_{i}.bin") for i in range(20))
        rows.append((ready, first, touch, others, zero, daemon_anon()))
        subprocess.run(["umount", mountpoint], check=True)
r = [st.median(c) for c in zip(*rows)]
print(f"{label:28s} ready {r[0] * 1e3:8.1f} ms   first batch {r[1] * 1e3:8.1f} ms   far touch {r[2] * 1e3:7.1f} ms   "
      f"any batch {r[3] * 1e6:6.0f} us   batch 0 ... 19 {r[4] * 1e6:6.0f} us   RssAnon {r[5]:5.1f} MB", flush=True)
