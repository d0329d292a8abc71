"""nanochat.py FOLDER: batches of two ranks as nanochat's streaming loader gives them: documents, one after another, fill a
buffer of tokens; each rank takes every second group of 32 documents, and for ever. Here the documents are those of raw shards."""
import sys
from collections import deque
from glob import glob

import numpy as np

BOS = 50256


def document_batches(folder, rank, world_size):
    """Lists of up to 32 documents; the group of a rank is like a row group of a Parquet file there."""
    while True:
        group, document = [], []
        k = 0
        for path in sorted(glob(folder + "/fineweb_train_*.bin")):
            for token in np.memmap(path, dtype=np.uint16, mode="r").tolist():
                if token == BOS and document:
                    group.append(document)
                    document = []
                    if len(group) == 32:
                        if k % world_size == rank:
                            yield group
                        group = []
                        k += 1
                document.append(token)


def tokenizing_distributed_data_loader(B, T, folder, rank, world_size):
    needed_tokens = B * T + 1
    token_buffer = deque()
    batches = document_batches(folder, rank, world_size)
    while True:
        while len(token_buffer) < needed_tokens:
            for tokens in next(batches):
                token_buffer.extend(tokens)
        tokens = [token_buffer.popleft() for _ in range(needed_tokens)]
        scratch = np.array(tokens, dtype=np.int64)
        yield scratch[:-1].reshape(B, T), scratch[1:].reshape(B, T)


for rank in range(2):
    loader = tokenizing_distributed_data_loader(4, 256, sys.argv[1], rank, 2)
    for step in range(60):  # more than an epoch
        x, y = next(loader)
        print(rank, step, int(x.sum()), int((x == BOS).sum()), x[0, :3].tolist(), y[-1, -3:].tolist())
