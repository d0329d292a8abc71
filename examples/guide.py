#!/usr/bin/env python3
"""guide.py SHARDS: the three loaders of the course guide, as they stand there, on the folder shards/ of a mount."""
import os
import sys
from glob import glob

import numpy as np


def get_shard_path(shard_id, data_dir):
    return f"{data_dir}/fineweb_train_{shard_id:06d}.bin"


def load_data_shard(path):
    return np.memmap(path, dtype=np.uint16, mode="r")


class ShardedDataLoader:
    """Every world_size-th shard, each a read-only memmap, read forward."""

    def __init__(self, data_dir, batch_size, rank, world_size, seq_len=1024):
        self.batch_size, self.seq_len = batch_size, seq_len
        self.shards = sorted(glob(os.path.join(data_dir, "*.bin")))[rank::world_size]

    def __iter__(self):
        B, T = self.batch_size, self.seq_len
        for path in self.shards:
            tokens = load_data_shard(path)
            for at in range(0, len(tokens) - B * T, B * T):
                x = tokens[at:at + B * T].reshape(B, T)
                y = tokens[at + 1:at + B * T + 1].reshape(B, T)
                yield x.astype(np.int64), y.astype(np.int64)


if __name__ == "__main__":
    data_dir, world_size = sys.argv[1], 2
    first = load_data_shard(get_shard_path(0, data_dir))
    print("shard 0:", len(first), "tokens, from", first[:8].tolist())
    for rank in range(world_size):
        loader = ShardedDataLoader(data_dir, 4, rank, world_size)
        print(f"rank {rank} of {world_size}: shards", *[int(p[-10:-4]) for p in loader.shards])
        n = 0
        for x, y in loader:
            assert (x[:, 1:] == y[:, :-1]).all() and x.max() < 50257
            n += 1
        print(f"rank {rank}: {n} batches of {x.shape}")
    print("targets are inputs moved by one")
