"""build_nanogpt.py FOLDER: batches of two processes as build-nanogpt's DataLoaderLite gives them, of .npy shards."""
import os
import sys

import numpy as np

data_root = sys.argv[1]


def load_tokens(filename):
    return np.load(filename).astype(np.int32)


class DataLoaderLite:
    def __init__(self, B, T, process_rank, num_processes, split):
        self.B, self.T, self.process_rank, self.num_processes = B, T, process_rank, num_processes
        assert split in {"train", "val"}
        shards = sorted(s for s in os.listdir(data_root) if split in s)
        self.shards = [os.path.join(data_root, s) for s in shards]
        assert len(self.shards) > 0, f"no shards found for split {split}"
        self.reset()

    def reset(self):
        self.current_shard = 0
        self.tokens = load_tokens(self.shards[self.current_shard])
        self.current_position = self.B * self.T * self.process_rank

    def next_batch(self):
        B, T = self.B, self.T
        buf = self.tokens[self.current_position:self.current_position + B * T + 1]
        x, y = buf[:-1].reshape(B, T), buf[1:].reshape(B, T)
        self.current_position += B * T * self.num_processes
        if self.current_position + (B * T * self.num_processes + 1) > len(self.tokens):
            self.current_shard = (self.current_shard + 1) % len(self.shards)
            self.tokens = load_tokens(self.shards[self.current_shard])
            self.current_position = B * T * self.process_rank
        return x, y


for split in "train", "val":
    for rank in range(2):
        loader = DataLoaderLite(4, 256, rank, 2, split)
        print(split, "rank", rank, "shards", len(loader.shards))
        for step in range(40):  # more than an epoch
            x, y = loader.next_batch()
            assert (x[:, 1:] == y[:, :-1]).all()
            print(step, loader.current_shard, int(x.sum()), x[0, :3].tolist(), y[-1, -3:].tolist())
