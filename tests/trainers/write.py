"""write.py TOKENS HELD SHARD FOLDER: files of tokens as each trainer's own preparation script writes them.

TOKENS is raw uint16; the first HELD tokens are validation, the others go into shards of SHARD tokens. Writes FOLDER/raw
(the course guide), llmc (llm.c's write_datafile), npy (build-nanogpt's fineweb.py) and nanogpt (its prepare.py)."""
import sys
from pathlib import Path

import numpy as np

tokens = np.fromfile(sys.argv[1], "<u2")
held, each, folder = int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
val, train = tokens[:held], tokens[held:]
shards = [("val", 0, val)] + [("train", k, train[k * each:(k + 1) * each]) for k in range(-(-len(train) // each))]
for form in "raw", "llmc", "npy", "nanogpt":
    (folder / form).mkdir(parents=True)
for split, k, part in shards:
    name = "fineweb_%s_%06d.bin" % (split, k)
    part.tofile(folder / "raw" / name)
    header = np.zeros(256, "<i4")
    header[:3] = 20240520, 1, len(part)
    with open(folder / "llmc" / name, "wb") as f:
        f.write(header.tobytes())
        f.write(part.tobytes())
    np.save(folder / "npy" / ("edufineweb_%s_%06d" % (split, k)), part)
train.tofile(folder / "nanogpt/train.bin")
val.tofile(folder / "nanogpt/val.bin")
