"""torch_loaders.py MOUNT FOLDER: PyTorch's and Hugging Face's ways to batches, on a mount of two ranks, (4, 257).

FOLDER has the raw shards that write.py made. Says TAP."""
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mount"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from tap import equal, ok, skip  # noqa: E402

mount, folder = Path(sys.argv[1]), Path(sys.argv[2])
facts = json.loads((mount / "dataset.json").read_text())
B, columns = facts["shape"]
T, W = columns - 1, facts["world_size"]


def rank_rows(rank, epoch=0):
    paths = sorted((mount / f"epoch_{epoch}/rank_{rank}").glob("batch_*.bin"))
    return np.stack([np.fromfile(p, "<u2").reshape(B, columns) for p in paths])


class BatchFiles(Dataset):
    """The batch files of one rank; epoch E is another folder."""

    def __init__(self, mount, rank):
        self.mount, self.rank = mount, rank
        self.set_epoch(0)

    def set_epoch(self, epoch):
        self.paths = sorted((self.mount / f"epoch_{epoch}/rank_{self.rank}").glob("batch_*.bin"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, k):
        rows = torch.from_file(str(self.paths[k]), shared=False, size=B * columns, dtype=torch.uint16).long().view(B, columns)
        return rows[:, :-1], rows[:, 1:]


class AllRows(Dataset):
    """Every row of both ranks in the order of the run: what DistributedSampler(shuffle=False) deals out again."""

    def __init__(self, mount):
        self.ranks = [np.memmap(mount / f"rank_{r}/epoch.bin", "<u2", "r").reshape(-1, columns) for r in range(W)]

    def __len__(self):
        return W * len(self.ranks[0])

    def __getitem__(self, i):
        return torch.from_numpy(self.ranks[i % W][i // W].astype(np.int64))


def workers():
    data = BatchFiles(mount, 1)
    loader = DataLoader(data, batch_size=None, num_workers=4, pin_memory=torch.cuda.is_available(), prefetch_factor=4)
    for epoch in range(2):
        data.set_epoch(epoch)
        want = torch.from_numpy(rank_rows(1, epoch).astype(np.int64))
        got = list(loader)
        ok(all((x == w[:, :-1]).all() and (y == w[:, 1:]).all() for (x, y), w in zip(got, want)) and len(got) == len(want),
           "DataLoader over batch files, 4 workers, epoch %d" % epoch)


def sampler():
    data = AllRows(mount)
    for rank in range(W):
        s = DistributedSampler(data, num_replicas=W, rank=rank, shuffle=False)
        rows = torch.cat(list(DataLoader(data, batch_size=B, sampler=s, num_workers=2)))
        ok((rows.numpy() == rank_rows(rank).reshape(-1, columns)).all(), "DistributedSampler deals rank %d its own batches" % rank)
    s = DistributedSampler(data, num_replicas=W, rank=0, shuffle=True, seed=0)
    s.set_epoch(1)
    n = sum(len(b) for b in DataLoader(data, batch_size=B, sampler=s, num_workers=2))
    equal(n, len(data) // W, "and shuffles them anew in another epoch")


def tensors():
    path = mount / "rank_0/batch_0003.bin"
    want = rank_rows(0)[3]
    ways = {
        "torch.from_file(shared=False)": lambda: torch.from_file(str(path), shared=False, size=want.size, dtype=torch.uint16),
        "torch.frombuffer": lambda: torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint16),
        "torch.from_numpy(np.load(mmap_mode))": lambda: torch.from_numpy(np.load(path.with_suffix(".npy"), mmap_mode="c")),
        "torch.UntypedStorage.from_file": lambda: torch.tensor(torch.UntypedStorage.from_file(str(path), False, 2 * want.size),
                                                               dtype=torch.uint8).view(torch.uint16),
    }
    for name, way in ways.items():
        ok((way().view(B, columns).to(torch.int64).numpy() == want).all(), name)


def nanogpt():
    """get_batch of nanoGPT, with its tensors, on rank_0/epoch.bin taken as its train.bin."""
    torch.manual_seed(1337)
    data = np.memmap(mount / "rank_0/epoch.bin", dtype=np.uint16, mode="r")
    ix = torch.randint(len(data) - T, (12,))
    x = torch.stack([torch.from_numpy(data[i:i + T].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + T].astype(np.int64)) for i in ix])
    ok(x.shape == y.shape == (12, T) and (x[:, 1:] == y[:, :-1]).all(), "nanoGPT's get_batch with tensors")


def modded():
    """modded-nanogpt reads a shard into pinned memory through numpy()."""
    path = sorted((mount / "shards").glob("fineweb_train_*.bin"))[1]
    tokens = torch.empty(path.stat().st_size // 2, dtype=torch.uint16, pin_memory=torch.cuda.is_available())
    with path.open("rb", buffering=0) as f:
        nbytes = f.readinto(tokens.numpy())
    want = np.fromfile(folder / "raw" / path.name, "<u2")
    ok(nbytes == 2 * len(tokens) and (tokens.numpy() == want).all(), "modded-nanogpt's readinto of a whole shard")


def guide():
    """The course guide's DistributedDataLoader: DistributedSampler(shuffle=True) is shuffle=torch of the mount; here its shape."""
    class DistributedDataLoader:
        def __init__(self, dataset, batch_size, rank, world_size):
            self.sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank, shuffle=True)
            self.dataloader = DataLoader(dataset, batch_size=batch_size, sampler=self.sampler, num_workers=4,
                                         pin_memory=torch.cuda.is_available())

        def set_epoch(self, epoch):
            self.sampler.set_epoch(epoch)

        def __iter__(self):
            return iter(self.dataloader)
    data, seen = AllRows(mount), []
    for rank in range(2):
        loader = DistributedDataLoader(data, B, rank, 2)
        loader.set_epoch(0)
        seen += [bytes(row.numpy().astype("<u2")) for rows in loader for row in rows]
    equal(sorted(seen), sorted(bytes(data[i].numpy().astype("<u2")) for i in range(len(data))),
          "the guide's DistributedDataLoader gives every sequence once")


def hugging_face():
    if importlib.util.find_spec("datasets") is None:
        skip("a datasets object", "no datasets")
        return
    import datasets

    def rows(rank):
        for k, path in enumerate(sorted((mount / f"rank_{rank}").glob("batch_*.bin"))):
            for row in np.fromfile(path, "<u2").reshape(B, columns).astype(np.int64):
                yield {"input_ids": row[:-1], "labels": row[:-1]}  # a causal model of transformers moves the labels itself
    d = datasets.IterableDataset.from_generator(rows, gen_kwargs={"rank": 1}).with_format("torch")
    got = torch.cat([b["input_ids"] for b in DataLoader(d, batch_size=B)])
    ok((got.numpy() == rank_rows(1).reshape(-1, columns)[:, :-1]).all(), "a datasets.IterableDataset made from the files")
    m = datasets.Dataset.from_dict({"input_ids": rank_rows(0)[0][:, :-1].astype(np.int64)}).with_format("torch")
    ok(m[2]["input_ids"].shape == (T,), "a datasets.Dataset of a batch")
    if importlib.util.find_spec("transformers") is None:
        skip("transformers.Trainer on it", "no transformers")
        return
    import tempfile

    import transformers
    config = transformers.GPT2Config(n_layer=1, n_head=2, n_embd=32, n_positions=T)
    with tempfile.TemporaryDirectory() as out:
        arguments = transformers.TrainingArguments(out, max_steps=10, per_device_train_batch_size=B, report_to=[], use_cpu=True,
                                                   logging_steps=1, learning_rate=1e-2, save_strategy="no", disable_tqdm=True)
        trainer = transformers.Trainer(transformers.GPT2LMHeadModel(config), arguments, train_dataset=d)
        trainer.train()
        losses = [h["loss"] for h in trainer.state.log_history if "loss" in h]
    ok(losses[-1] < losses[0] - 0.5, "transformers.Trainer on it: loss from %.2f to %.2f in 10 steps" % (losses[0], losses[-1]))


def jax():
    if importlib.util.find_spec("jax") is None:
        skip("jax.numpy", "no jax")
        return
    import jax.numpy as jnp
    a = jnp.asarray(np.load(mount / "rank_0/batch_0001.npy", mmap_mode="r"))
    ok(bool((a == rank_rows(0)[1]).all()), "jax.numpy.asarray of a mapped batch")


for test in workers, sampler, tensors, nanogpt, modded, guide, hugging_face, jax:
    test()
print("# end")
