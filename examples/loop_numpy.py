#!/usr/bin/env python3
"""loop_numpy.py MOUNT RANK [FIRST]: goes over the batch files of one rank, from batch FIRST on."""
import itertools
import json
import sys
from pathlib import Path

import numpy as np

mount, rank, first = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 0
shape = json.loads((mount / "dataset.json").read_text())["shape"]
for k in itertools.count(first):
    path = mount / f"rank_{rank}/batch_{k:04d}.bin"  # by number: sorted by name, batch 10000 would follow 1000
    if not path.exists():
        break
    rows = np.fromfile(path, "<u2").reshape(shape)
    x, y = rows[:, :-1], rows[:, 1:]  # a batch is B rows of T + 1 tokens
    print(path.name, x.shape, y.shape, x[0, :6])
