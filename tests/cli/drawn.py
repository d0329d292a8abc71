"""drawn.py: the whole program against order.py, tiktoken and pyarrow, on options drawn at random.

Batches that `fineweb cat` writes are compared with what the reference of the order says of pieces that pyarrow read and tiktoken encoded; where
the reference has no batch, the program must refuse. DRAWN_SETS (25) sets of options, from DRAWN_SEED (1) on.
"""
import importlib.util
import json
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["top"], "tests/token"))
import pyarrow.parquet
from differential import tiktoken_oracle

from tap import DATA, FINEWEB, ok

spec = importlib.util.spec_from_file_location("order", os.environ["ORDER"])
order = importlib.util.module_from_spec(spec)
spec.loader.exec_module(order)

SOURCES = {
    "sample": sorted(DATA.glob("sample/**/*.parquet")),
    "edu": sorted(DATA.glob("edu/*.parquet")),
    "jsonl/plain": sorted(DATA.glob("jsonl/plain/*.jsonl")),
}
BOS = {"gpt2": 50256, "cl100k": 100257, "o200k": 199999}
encoders, encoded = {}, {}


def texts(path):
    """The texts of each row group, or of a file of lines, which is one piece."""
    if path.suffix == ".parquet":
        f = pyarrow.parquet.ParquetFile(path)
        return [f.read_row_group(g, columns=["text"])["text"].to_pylist() for g in range(f.num_row_groups)]
    return [[json.loads(line).get("text") for line in path.read_text().split("\n") if line]]


def documents(path, tokenizer):
    if (path, tokenizer) not in encoded:
        if tokenizer not in encoders:
            encoders[tokenizer] = tiktoken_oracle(tokenizer, "")
        encoded[path, tokenizer] = [encoders[tokenizer]([t for t in group if t]) for group in texts(path)]
    return encoded[path, tokenizer]


def pieces(files, o):
    """Ids of each piece of each file, as design's "Tokens" and "Pieces and sequences" have them."""
    bos = [] if o["bos"] == "none" else [int(o.get("bos") or BOS[o["tokenizer"]])]
    eos = [] if o["eos"] == "none" else [int(o["eos"])]
    out = []
    for path in files:
        groups = [[i for d in group for i in bos + d + eos] for group in documents(path, o["tokenizer"])]
        n = max(1, -(-o["seq_len"] // 16384)) if path.suffix == ".parquet" else 1
        out.append([sum(groups[i:i + n], []) for i in range(0, len(groups), n)] or [[]])
    return out


def draw(r):
    source, tokenizer = r.choice(["sample", "sample", "jsonl/plain", "edu"]), r.choice(["gpt2", "gpt2", "cl100k", "o200k"])
    T, W, B = r.choice([1, 7, 64, 100, 255, 512, 1000, 1024, 2048, 17000]), r.choice([1, 1, 2, 3, 4, 7, 8, 16]), r.choice([1, 2, 3, 5, 8, 16])
    o = {
        "seq_len": T, "world_size": W, "batch_size": B, "tokenizer": tokenizer,
        "seed": r.choice([0, 1, 42, 1234, r.getrandbits(62), 2 ** 64 - 1]),
        "shuffle": r.choice(["block", "block", "block", "none", "full", "torch"]),
        "stride": r.choice(["sequence"] * 4 + ["piece"]),
        "mix_files": r.choice([1, 2, 3, 32]),
        "block": r.choice([1, 5000, 16384, 50000, 100000, 1 << 28]),
        "tail": r.choice(["drop", "drop", "pad"]),
        "bos": r.choice([str(BOS[tokenizer])] * 3 + ["none", "5"]),
        "eos": r.choice(["none"] * 3 + ["50256", "7"]),
        "val_tokens": r.choice([0, 0, 0, 1, 30000, 120000]),
        "max_tokens": r.choice([0, 0, 0, T, 60000, 100001, 10 ** 9]),
        "start": r.choice([0, 0, 0, 1, 13, W * B, 5 * W * B + 1]),
        "epoch": r.choice([0, 0, 1, 3, 4095]),
        "counts": "exact",
    }
    if o["stride"] == "piece":
        o["start"] = 0
        o["shuffle"] = "block" if o["shuffle"] == "torch" else o["shuffle"]
    elif source != "jsonl/plain" and tokenizer == "gpt2" and r.random() < 0.5:
        o["counts"] = "column"
    if o["shuffle"] == "torch":
        o["seed"] %= 1 << 62
    return source, o, o["val_tokens"] > 0 and r.random() < 0.3


def fineweb(command, source, options, *arguments):
    line = [FINEWEB, command, str(DATA / source), "-o", ",".join("%s=%s" % kv for kv in options.items()), *arguments]
    return line, subprocess.run(line, capture_output=True, timeout=120)


def holds(source, o, val, r):
    """None, or what was wrong."""
    if o["stride"] == "piece":
        fineweb("index", source, {k: v for k, v in o.items() if k not in ("stride", "start")})
    tokens = pieces(SOURCES[source], o)
    held, rest = order.hold_out([[len(p) for p in f] for f in tokens], o["val_tokens"])
    if not rest:
        line, p = fineweb("cat", source, o, *["--val"] * val)
        return None if p.returncode else "everything is held out: %s" % " ".join(line)
    try:
        e = order.Epoch([[len(p) for p in f] for f in tokens], o["seq_len"], o["world_size"], o["batch_size"], o["seed"], o["epoch"], o["shuffle"],
                        o["stride"], o["mix_files"], o["block"], o["tail"], o["start"], o["max_tokens"], o["val_tokens"], val)
    except (ValueError, ZeroDivisionError):
        line, p = fineweb("cat", source, o, *["--val"] * val)
        return None if p.returncode else "no batch is expected: %s" % " ".join(line)
    width, n = 2 if o["tokenizer"] == "gpt2" else 4, e.batches()
    for k in (0, n - 1, r.randrange(n)):
        rank = r.randrange(o["world_size"])
        rows = [e.row(rank, k, j) for j in range(o["batch_size"])]
        want = b"".join(i.to_bytes(width, "little") for f, p, s in rows for i in tokens[f][p][s * o["seq_len"]:(s + 1) * o["seq_len"] + 1])
        line, p = fineweb("cat", source, o, "--rank", str(rank), "--batch", str(k), *["--val"] * val)
        if p.returncode or p.stdout != want:
            return "%s: %d bytes, %d expected; %s" % (" ".join(line), len(p.stdout), len(want), p.stderr.decode().strip())
    line, p = fineweb("cat", source, o, "--batch", str(n), *["--val"] * val)
    return None if p.returncode else "past the end: %s" % " ".join(line)


def main():
    first, sets = int(os.environ.get("DRAWN_SEED", 1)), int(os.environ.get("DRAWN_SETS", 25))
    wrong = []
    for i in range(first, first + sets):
        r = random.Random(i)
        source, o, val = draw(r)
        why = holds(source, o, val, r)
        if why:
            wrong.append("set %d: %s" % (i, why))
    ok(not wrong, "%d sets of options, drawn from seed %d on: every batch is as order.py, tiktoken and pyarrow say" % (sets, first), *wrong[:5])
    print("# end")


main()
