"""loader.py: a PyTorch Dataset over the batch files of one rank. `python3 loader.py MOUNT` (or under torchrun) shows the first."""
import json
import os
import sys
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Batches(Dataset):
    def __init__(self, mount, epoch=None):
        """epoch: None is the mounted one; any other can be had too, without mounting again."""
        mount = Path(mount)
        self.facts = json.loads((mount / "dataset.json").read_text())
        rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        # With another number of ranks some rows would be read twice or never: mount with world_size= of the run.
        assert self.facts["world_size"] == world_size, f"mounted for {self.facts['world_size']} ranks, WORLD_SIZE={world_size}"
        self.folder = mount / (f"rank_{rank}" if epoch is None else f"epoch_{epoch}/rank_{rank}")

    def __len__(self):
        return self.facts["batches"]  # null until all is counted: then open batches by their names, without len()

    def __getitem__(self, k):
        dtype = np.dtype(self.facts["dtype"]).newbyteorder("<")
        a = np.fromfile(self.folder / f"batch_{k:04d}.bin", dtype).reshape(self.facts["shape"])
        rows = torch.from_numpy(a.astype(np.int64))
        return rows[:, :-1], rows[:, 1:]  # T tokens, and for each the one that follows


if __name__ == "__main__":
    # batch_size=None: a file is a batch already. Workers are not needed, the mount prepares what comes next; they do no harm.
    for x, y in DataLoader(Batches(sys.argv[1]), batch_size=None, pin_memory=torch.cuda.is_available()):
        print(x.shape, y.shape, x[0, :8].tolist())
        break
