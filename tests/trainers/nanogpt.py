"""nanogpt.py FOLDER: batches as nanoGPT's train.py gets them, get_batch, of train.bin and val.bin."""
import os
import sys

import numpy as np

data_dir, block_size, batch_size = sys.argv[1], 256, 8
random = np.random.RandomState(1337)


def get_batch(split):
    # A new memmap for every batch, as nanoGPT does against a leak.
    data = np.memmap(os.path.join(data_dir, "train.bin" if split == "train" else "val.bin"), dtype=np.uint16, mode="r")
    ix = random.randint(len(data) - block_size, size=batch_size)
    x = np.stack([data[i:i + block_size].astype(np.int64) for i in ix])
    y = np.stack([data[i + 1:i + 1 + block_size].astype(np.int64) for i in ix])
    return x, y


for step in range(200):
    x, y = get_batch("val" if step % 10 == 0 else "train")
    assert x.shape == y.shape == (batch_size, block_size) and (x[:, 1:] == y[:, :-1]).all() and x.max() < 50257
    print(step, int(x.sum()), int((x * np.arange(1, block_size + 1)).sum()), y[:, -1].tolist())
