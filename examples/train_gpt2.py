#!/usr/bin/env python3
"""train_gpt2.py MOUNT: trains a GPT-2 on the batch files of a mount, on one GPU, on many, or on the CPU. Pure PyTorch.

    fineweb /data/fineweb /mnt/fw -o world_size=8,batch_size=32
    torchrun --nproc_per_node=8 train_gpt2.py /mnt/fw --steps 20000 --checkpoint gpt2.pt

To stop and go on, perhaps with another number of GPUs: the checkpoint says how many sequences were consumed, and the mount
is made anew with start= that number. The run then reads on exactly where it was."""
import argparse
import math
import os
import time
from contextlib import nullcontext
from itertools import count

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from loader import Batches


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (a.view(B, T, self.heads, C // self.heads).transpose(1, 2) for a in self.qkv(self.norm1(x)).split(C, 2))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, T, C)
        x = x + self.out(a)
        return x + self.mlp(self.norm2(x))


class GPT2(nn.Module):
    def __init__(self, vocabulary, length, width, heads, layers):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        for name, p in self.named_parameters():
            if p.dim() > 1:  # the sum over layers should not grow: GPT-2 scales what is added to the stream
                nn.init.normal_(p, std=0.02 / (math.sqrt(2 * layers) if name.endswith(("out.weight", "mlp.2.weight")) else 1))

    def forward(self, x, y):
        h = self.tokens(x) + self.places(torch.arange(x.shape[1], device=x.device))
        logits = self.head(self.norm(self.blocks(h)))
        return F.cross_entropy(logits.flatten(0, 1), y.flatten())


def arguments():
    p = argparse.ArgumentParser(description="Trains a GPT-2 on a mount of fineweb.")
    p.add_argument("mount")
    p.add_argument("--steps", type=int, default=1000, help="of the whole run, those before a checkpoint with them")
    p.add_argument("--stop", type=int, help="stop after this step, as an interrupted run would")
    p.add_argument("--layers", type=int, default=12)
    p.add_argument("--heads", type=int, default=12)
    p.add_argument("--width", type=int, default=768)
    p.add_argument("--rate", type=float, default=6e-4)
    p.add_argument("--checkpoint", help="file to go on from, if it is there, and to write at the end")
    return p.parse_args()


def rate_of(step, a):
    """A warm-up of at most 100 steps, then a cosine down to a tenth."""
    warm = min(100, a.steps // 10)
    if step < warm:
        return a.rate * (step + 1) / warm
    return a.rate * (0.1 + 0.45 * (1 + math.cos(math.pi * (step - warm) / max(1, a.steps - warm))))


def main():
    a = arguments()
    many = int(os.environ.get("WORLD_SIZE", 1)) > 1
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if cuda else torch.device("cpu")
    if many:
        dist.init_process_group("nccl" if cuda else "gloo")
    first = not many or dist.get_rank() == 0

    data = Batches(a.mount)
    B, T = data.facts["shape"][0], data.facts["seq_len"]
    each = B * data.facts["world_size"]  # sequences of a step

    torch.manual_seed(1337)  # the same model in every rank
    raw = GPT2(50304, T, a.width, a.heads, a.layers).to(device)  # 50,257, rounded up to what a GPU likes
    optimizer = torch.optim.AdamW(raw.parameters(), lr=a.rate, betas=(0.9, 0.95), weight_decay=0.1)
    step = consumed = 0
    if a.checkpoint and os.path.exists(a.checkpoint):
        saved = torch.load(a.checkpoint, map_location=device)
        raw.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step, consumed = saved["step"], saved["consumed"]
    # Batch 0 of the mount is sequence start= of the epoch: the run is `ahead` sequences behind it.
    ahead = consumed - data.facts["start"]
    assert ahead >= 0 and ahead % each == 0, f"mount with start={consumed}: that many sequences are consumed"
    model = DistributedDataParallel(raw, device_ids=[device.index] if cuda else None) if many else raw

    for k in count(ahead // each):
        if step >= a.steps or step == a.stop:
            break
        begun = time.monotonic()
        try:
            x, y = data[k]
        except FileNotFoundError:  # behind the last batch of the epoch: mount or open the next, epoch_E
            break
        # What was read, whatever the division into ranks: a number that only depends on the rows of all ranks together.
        read = (x * torch.arange(1, T + 1)).sum().to(device)
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        for group in optimizer.param_groups:
            group["lr"] = rate_of(step, a)
        with torch.autocast("cuda", torch.bfloat16) if cuda else nullcontext():
            loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(raw.parameters(), 1.0)
        optimizer.step()
        shown = loss.detach()
        if many:
            dist.all_reduce(shown, dist.ReduceOp.SUM)
            shown /= dist.get_world_size()
            dist.all_reduce(read, dist.ReduceOp.SUM)
        step, consumed = step + 1, consumed + each
        if first:
            took = time.monotonic() - begun
            print(f"step {step} loss {shown.item():.4f} read {read.item()} {each * T / took:.0f} tokens/s", flush=True)

    if a.checkpoint and first:
        torch.save({"model": raw.state_dict(), "optimizer": optimizer.state_dict(), "step": step, "consumed": consumed}, a.checkpoint)
        print(f"{a.checkpoint}: {step} steps; to go on, mount with start={consumed}")
    if many:
        dist.destroy_process_group()


main()
