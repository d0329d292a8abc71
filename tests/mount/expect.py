"""What the batches of some sources must be, from expected/ and from token files alone: used by the tests of errors."""
import hashlib
import json

from tap import DATA, digest

ENTRIES = json.loads((DATA / "expected/batches.json").read_text())


def entry(source, options):
    """The entry of batches.json of one source with exactly these options."""
    return next(e for e in ENTRIES if e["source"] == source.split() and e["options"] == options)


def batches_of(ids, T, B):
    """SHA-256 of the batches of one piece in canonical order, for one rank; ids as uint16 little-endian bytes."""
    rows = [ids[2 * i:2 * (i + T + 1)] for i in range(0, len(ids) // 2 - T, T)]
    return [hashlib.sha256(b"".join(rows[k:k + B])).hexdigest() for k in range(0, len(rows) - B + 1, B)]


# tokens/raw is the ids of sample/10BT (and jsonl/plain) 000_00001 and 000_00002, the first 64,966 of them of the first file.
RAW = (DATA / "tokens/raw/fineweb_train_000000.bin").read_bytes()
JSONL_2 = RAW[2 * 64966:]

# sample/10BT in canonical order: world_size=1, batch_size=8, seq_len=256.
NONE = "world_size=1,batch_size=8,seq_len=256,seed=42,shuffle=none"
SAMPLE = entry("sample/10BT", NONE)
# The same with a block for each piece, so that what is made ahead of a reader is one piece: the order none does not depend on it.
BY_PIECE = NONE + ",block=1000"
# bad/good.parquet and good_crc.parquet (the same texts) in canonical order: world_size=1, batch_size=2, seq_len=128.
GOOD = [v for k, v in sorted(entry("bad/good.parquet bad/page_damaged.parquet", "world_size=1,batch_size=2,seq_len=128,block=12000,"
                                   "shuffle=none,on_error=skip")["sha256"].items())][:26]


def touching(file, pieces=None):
    """Batches of SAMPLE that have a row of a file (or of some of its pieces)."""
    at, out = 0, set()
    for f, counts in enumerate(SAMPLE["piece_tokens"]):
        for p, n in enumerate(counts):
            q = (n - 1) // 256
            if f == file and (pieces is None or p in pieces):
                out.update(k // 8 for k in range(at, at + q))
            at += q
    return {k for k in out if k < SAMPLE["counts"]["batches"]}


def differing(m, failing=(), names=()):
    """Batches of a mount of SAMPLE that are neither right nor, where they should fail, fail with one of the errno names."""
    out = []
    for k in range(SAMPLE["counts"]["batches"]):
        want = [SAMPLE["sha256"]["epoch_0/rank_0/batch_%04d.bin" % k]] if k not in failing else list(names)
        have = digest(m / ("rank_0/batch_%04d.bin" % k))
        if have not in want:
            out.append("batch %d: %s, expected %s" % (k, have, " or ".join(want)))
    return out
