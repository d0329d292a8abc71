"""tree.py MOUNT [shards SOURCE]: looks at a mount of sample/10BT (its options are tree.sh's) from Python."""
import hashlib
import json
import mmap
import os
import stat
import sys
from pathlib import Path

from tap import DATA, code, equal, ok, read, say, skip, until

mnt = Path(sys.argv[1])
W, B, T = 2, 4, 256
BATCH = B * (T + 1) * 2


def names():
    expected = ["README.txt", "dataset.json", "epoch_0", "epoch_1", "rank_0", "rank_1", "shards", "stats.json", "val"]
    equal(sorted(os.listdir(mnt)), expected, "the root lists what it should")
    equal(sorted(os.listdir(mnt / "epoch_1")), ["rank_0", "rank_1"], "an epoch lists its ranks")
    batches = sorted(os.listdir(mnt / "rank_0"))
    equal(batches, ["batch_%04d.bin" % k for k in range(len(batches))], "a rank lists batches in order, nothing else")
    equal(os.listdir(mnt / "rank_0"), batches, "readdir itself gives them in order")
    equal(sorted(os.listdir(mnt / "val/rank_1")), ["batch_%04d.bin" % k for k in range(26)], "val/ lists the held-out batches")
    ok((mnt / "epoch_4095/rank_1/batch_0000.bin").stat().st_size == BATCH, "an epoch that is not listed can be opened")
    ok(os.stat(mnt / "rank_0/batch_1.bin").st_ino == os.stat(mnt / "rank_0/batch_00000001.bin").st_ino ==
       os.stat(mnt / "rank_0/batch_0001.bin").st_ino, "any number of leading zeros, the same inode")
    absent = ["rank_2", "rank_00", "rank_-1", "rank_", "epoch_4096", "epoch_00", "rank_0/batch_9999.bin", "rank_0/batch_.bin",
              "rank_0/batch_0000", "rank_0/batch_0000.BIN", "rank_0/batch_-001.bin", "rank_0/batch_0000.bin.gz", "rank_0/x",
              "rank_0/batch_99999999999999999999.bin", "rank_0/batch_0x00.bin", "rank_0/ batch_0000.bin", "val/rank_2",
              "epoch_0/README.txt", "shards/fineweb_train_999999.bin", "shards/x.bin", ".hidden", "lost+found", "x" * 255, "x" * 300]
    wrong = [a for a in absent if code(os.stat, mnt / a) != "ENOENT"]
    ok(not wrong, "%d names that are not there are ENOENT" % len(absent), wrong)
    equal(code(os.listdir, mnt / "README.txt"), "ENOTDIR", "listing a file")
    equal(code(read, mnt / "rank_0"), "EISDIR", "reading a folder")


def writes():
    f = mnt / "rank_0/batch_0000.bin"
    tries = {
        "open to write": lambda: open(f, "r+b"),
        "create": lambda: open(mnt / "new", "xb"),
        "truncate": lambda: os.truncate(f, 0),
        "unlink": lambda: os.unlink(f),
        "rename": lambda: os.rename(f, mnt / "rank_0/other"),
        "mkdir": lambda: os.mkdir(mnt / "folder"),
        "rmdir": lambda: os.rmdir(mnt / "shards"),
        "symlink": lambda: os.symlink("x", mnt / "link"),
        "link": lambda: os.link(f, mnt / "rank_0/other"),
        "chmod": lambda: os.chmod(f, 0o600),
        "chown": lambda: os.chown(f, 1, 1),
        "utime": lambda: os.utime(f),
        "setxattr": lambda: os.setxattr(f, "user.x", b"1"),
    }
    for what, call in tries.items():
        equal(code(call), "EROFS", "%s is EROFS" % what)


def attributes():
    f, s = mnt / "rank_1/batch_0002.bin", os.stat(mnt / "rank_1/batch_0002.bin")
    equal((stat.filemode(s.st_mode), s.st_size, s.st_blocks, s.st_nlink), ("-r--r--r--", BATCH, -(-BATCH // 512), 1), "a batch's stat")
    d = os.stat(mnt / "rank_1")
    equal((stat.filemode(d.st_mode), d.st_nlink), ("dr-xr-xr-x", 1), "a folder's stat")
    ok(s.st_mtime == d.st_mtime > 1e9, "everything has the date of the pin", s.st_mtime, d.st_mtime)
    have = {n: os.getxattr(f, n) for n in os.listxattr(f)}
    equal(have, {"user.fineweb.epoch": b"0", "user.fineweb.rank": b"1", "user.fineweb.batch": b"2", "user.fineweb.dtype": b"uint16",
                 "user.fineweb.shape": b"4,257"}, "a batch's extended attributes")
    equal(code(os.getxattr, f, "user.fineweb.none"), "ENODATA", "an attribute that is not there")
    equal(os.listxattr(mnt / "README.txt"), [], "README.txt has none")
    seen = {}
    for folder, _, files in os.walk(mnt):
        if Path(folder).relative_to(mnt).parts[:1] == ("epoch_0",):
            continue  # rank_N and epoch_0/rank_N may share inodes
        for name in files:
            seen.setdefault(os.stat(os.path.join(folder, name)).st_ino, []).append(folder + "/" + name)
    double = [n for n in seen.values() if len(n) > 1]
    ok(not double, "inodes are unique", double[:4])
    v = os.statvfs(mnt)
    ok(v.f_blocks * v.f_frsize > 400000 and v.f_bfree == 0 and v.f_flag & os.ST_RDONLY, "statfs reports the dataset", v)
    first = [os.stat(mnt / "rank_0" / n).st_ino for n in sorted(os.listdir(mnt / "rank_0"))[:3]]
    equal([e.inode() for e in sorted(os.scandir(mnt / "rank_0"), key=lambda e: e.name)[:3]], first, "readdir's inodes are stat's")


def texts():
    d = json.loads(read(mnt / "dataset.json"))
    equal((d["dtype"], d["shape"], d["world_size"], d["seq_len"], d["batch_size"], d["shuffle"]),
          ("uint16", [B, T + 1], W, T, B, "block"), "dataset.json names dtype, shape and options")
    for key in ("name", "split", "column", "tokenizer", "bos", "eos", "counts", "seed", "epoch", "epochs", "stride", "tail",
                "on_error", "block", "mix_files", "start", "max_tokens", "val_tokens", "shards", "shard_tokens", "list",
                "tokenizer_sha256", "source", "fingerprint", "batches", "batches_known", "val"):
        if key not in d:
            ok(False, "dataset.json has %s" % key)
    equal(d["tokenizer_sha256"], "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930", "tokenizer_sha256 is the published file's")
    ok(len(d["fingerprint"]) == 64 and not d.get("sample"), "a fingerprint, and not the sample")
    readme = read(mnt / "README.txt").decode()
    ok("4" in readme and "257" in readme and "uint16" in readme and "batch_" in readme, "README.txt speaks of this mount", readme)
    size = os.stat(mnt / "stats.json").st_size
    one = read(mnt / "stats.json")
    read(mnt / "rank_0/batch_0005.bin")
    until(2, lambda: json.loads(read(mnt / "stats.json"))["bytes_read"] > 0)
    two = read(mnt / "stats.json")
    ok(len(one) == len(two) == size == os.stat(mnt / "stats.json").st_size, "stats.json keeps its size", len(one), len(two), size)
    have = json.loads(two)
    want = {"reads", "bytes_read", "cache_hits", "cache_misses", "pieces_fetched", "pieces_tokenized", "pieces_cut", "pieces_filled",
            "ahead_reads", "ahead_bytes", "bytes_fetched", "requests", "retries", "errors", "cache_errors", "blocks_counted", "memory_bytes", "queue_length", "flight_bytes", "window_bytes", "uptime_seconds",
            "read_p50_us", "read_p90_us", "read_p99_us", "read_max_us", "kinds"}
    equal(set(have), want, "stats.json has its keys")
    ok(have["bytes_read"] > json.loads(one)["bytes_read"] and have["blocks_counted"] >= 1, "stats.json is made anew for each read", one.strip(), two.strip())


def forms():
    raw = read(mnt / "rank_0/batch_0003.bin")
    npy = mnt / "rank_0/batch_0003.npy"
    b = read(npy)
    n = b[8] | b[9] << 8
    header = b[10:10 + n].decode("latin-1")
    ok(b[:8] == b"\x93NUMPY\x01\x00" and (10 + n) % 64 == 0 and header.endswith("\n"), "batch_0003.npy has NumPy's header", header)
    equal(eval(header), {"descr": "<u2", "fortran_order": False, "shape": (B, T + 1)}, "and says dtype and shape")
    ok(b[10 + n:] == raw and npy.stat().st_size == len(b), "and has the same bytes")
    ok("batch_0003.npy" not in os.listdir(mnt / "rank_0") and "epoch.bin" not in os.listdir(mnt / "rank_0"), "other forms are not listed")
    try:
        import numpy
        a = numpy.load(npy, mmap_mode="r")
        e = numpy.memmap(mnt / "rank_1/epoch.bin", "<u2", "r").reshape(-1, B, T + 1)
        ok(a.shape == (B, T + 1) and a.dtype == numpy.uint16 and a.tobytes() == raw, "np.load(mmap_mode='r') works")
        equal((a[:, :-1].shape, a[:, 1:].shape), ((B, T), (B, T)), "x and y")
        ok(all(e[k].tobytes() == read(mnt / ("rank_1/batch_%04d.bin" % k)) for k in range(len(e))), "np.memmap of epoch.bin")
    except ImportError:
        skip("numpy reads them", "no numpy")
    for view in ("rank_0", "epoch_1/rank_1", "epoch_77/rank_0", "val/rank_0"):
        k, whole = 0, read(mnt / view / "epoch.bin")
        parts = []
        while code(os.stat, mnt / view / ("batch_%04d.bin" % k)) == "ok":
            parts.append(read(mnt / view / ("batch_%04d.bin" % k)))
            k += 1
        ok(b"".join(parts) == whole and k > 20, "%s/epoch.bin is its %d batches, one after another" % (view, k))
    with open(mnt / "rank_0/batch_0003.bin", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        ok(m[:] == raw, "mmap reads a batch (MAP_SHARED)")
    with open(mnt / "rank_0/epoch.bin", "rb") as f:
        at = [os.pread(f.fileno(), n, off) for n, off in ((10, BATCH - 5), (1, 7), (5000, 3 * BATCH - 1), (100, 10**9))]
    whole = read(mnt / "rank_0/epoch.bin")
    equal(at, [whole[BATCH - 5:BATCH + 5], whole[7:8], whole[3 * BATCH - 1:3 * BATCH + 4999], b""], "pread at any place")


def shards(source):
    pieces = json.loads((DATA / "expected/pieces.json").read_text())
    files = sorted(os.listdir(mnt / "shards"))
    equal(files, ["fineweb_train_%06d.bin" % i for i in range(3)], "shards/ lists fineweb_train_%06d.bin")
    equal([os.stat(mnt / "shards" / f).st_size for f in files], [200000, 200000, 88296], "of shard_tokens tokens each")
    whole, at, wrong = b"".join(read(mnt / "shards" / f) for f in files), 0, []
    for name in sorted(n for n in pieces if n.startswith(source + "/")):
        for i, p in enumerate(pieces[name]):
            part = whole[at:at + 2 * p["tokens"]]
            at += 2 * p["tokens"]
            if hashlib.sha256(part).hexdigest() != p["sha256"]:
                wrong.append("%s piece %d" % (name, i))
    ok(not wrong and at == len(whole), "all tokens, tails included, in canonical order", wrong, at, len(whole))
    with open(mnt / "shards/fineweb_train_000001.bin", "rb") as f, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
        ok(m[:] == whole[200000:400000], "mmap reads a shard")


if len(sys.argv) > 2:
    shards(sys.argv[3])
else:
    names()
    writes()
    attributes()
    texts()
    forms()
say("# end")
