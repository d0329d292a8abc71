#!/usr/bin/env python3
"""loop.py MOUNT RANK: a training loop in PyTorch over the batch files of one rank."""
import json
import sys
from pathlib import Path

import torch

mount, rank = Path(sys.argv[1]), sys.argv[2]
shape = json.loads((mount / "dataset.json").read_text())["shape"]
model = torch.nn.Sequential(torch.nn.Embedding(50257, 32), torch.nn.Linear(32, 50257))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(3):
    path = mount / f"rank_{rank}/batch_{step:04d}.bin"  # by number: sorted by name, batch 10000 would follow 1000
    rows = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint16).long().view(*shape)
    x, y = rows[:, :-1], rows[:, 1:]
    loss = torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, path.name, round(loss.item(), 3))
