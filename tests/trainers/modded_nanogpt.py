"""modded_nanogpt.py FOLDER: batches of two ranks as modded-nanogpt's distributed_data_generator gives them, of llm.c's files."""
import glob
import sys
from pathlib import Path

import numpy as np


def load_data_shard(file):
    header = np.fromfile(file, dtype=np.int32, count=256)
    assert header[0] == 20240520, "magic number mismatch in the data .bin file"
    assert header[1] == 1, "unsupported version"
    num_tokens = int(header[2])
    with open(file, "rb", buffering=0) as f:
        tokens = np.empty(num_tokens, dtype=np.uint16)
        f.seek(256 * 4)
        nbytes = f.readinto(tokens)
        assert nbytes == 2 * num_tokens, "number of tokens read does not match header"
    return tokens


def distributed_data_generator(filename_pattern, batch_size, rank, world_size):
    files = sorted(Path(f) for f in glob.glob(filename_pattern))
    assert batch_size % world_size == 0
    local_batch_size = batch_size // world_size
    file_iter = iter(files)
    tokens, pos = load_data_shard(next(file_iter)), 0
    while True:
        if pos + batch_size + 1 >= len(tokens):
            file = next(file_iter, None)
            if file is None:
                return
            tokens, pos = load_data_shard(file), 0
        buf = tokens[pos + rank * local_batch_size:][:local_batch_size + 1]
        yield buf[:-1].astype(np.int32), buf[1:].astype(np.int64)
        pos += batch_size


for split in "train", "val":
    for rank in range(2):
        for step, (x, y) in enumerate(distributed_data_generator(f"{sys.argv[1]}/fineweb_{split}_*.bin", 2048, rank, 2)):
            assert len(x) == len(y) == 1024 and (x[1:] == y[:-1]).all()
            print(split, rank, step, int(x.sum()), x[:3].tolist(), y[-3:].tolist())
