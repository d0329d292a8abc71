"""guide.py FOLDER: batches of three ranks as the course guide's ShardedDataLoader gives them (examples/guide.py has its code)."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from guide import ShardedDataLoader, get_shard_path, load_data_shard  # noqa: E402

print(load_data_shard(get_shard_path(0, sys.argv[1]))[:32].tolist())
for rank in range(3):
    for step, (x, y) in enumerate(ShardedDataLoader(sys.argv[1], 4, rank, 3, seq_len=256)):
        print(rank, step, int(x.sum()), x[0, :3].tolist(), y[-1, -3:].tolist())
