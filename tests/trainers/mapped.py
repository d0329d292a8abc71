"""mapped.py MOUNT RANK: the batches of a rank in every way NumPy has, all equal. Prints what read.go and read.rs print."""
import json
import sys
from pathlib import Path

import numpy as np

mount, rank = Path(sys.argv[1]), "rank_" + sys.argv[2]
d = json.loads((mount / "dataset.json").read_text())
paths = sorted((mount / rank).glob("batch_*.bin"))
assert len(paths) == d["batches"]
whole = np.memmap(mount / rank / "epoch.bin", "<u2", "r").reshape(-1, *d["shape"])
assert len(whole) == len(paths)
total = 0
for k, path in enumerate(paths):
    a = np.fromfile(path, "<u2").reshape(d["shape"])
    npy = np.load(path.with_suffix(".npy"), mmap_mode="r")
    assert npy.dtype == np.uint16 and npy.shape == a.shape and (npy == a).all()
    assert (np.load(path.with_suffix(".npy")) == a).all() and (np.memmap(path, "<u2", "r").reshape(a.shape) == a).all()
    assert (whole[k] == a).all()
    total += int(a.sum())
print("%d batches of %d x %d, sum %d" % (len(paths), *d["shape"], total))
