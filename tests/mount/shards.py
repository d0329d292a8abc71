"""shards.py forms FORM MOUNT | large | large_remote | remote LIST: the files of shards/, read as their own readers do."""
import array
import json
import mmap
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

from tap import DATA, TMP, Mount, code, equal, ok, read, skip, words

try:
    import numpy
except ImportError:
    numpy = None

VOCABULARY = 50257
# Pieces of sample/10BT (expected/pieces.json) and their tokens: the first ones until there are 30,000 are held out.
PIECES = [p["tokens"] for name, pieces in json.loads((DATA / "expected/pieces.json").read_text()).items()
          if name.startswith("sample/10BT/") for p in pieces]


def held_out(n):
    tokens = 0
    for p in PIECES:
        if tokens >= n:
            break
        tokens += p
    return tokens


def header(path, form):
    """Checks a file's header as its reader does; gives the number of tokens and where they begin."""
    b = read(path)
    if form == "llmc":
        h = struct.unpack("<256i", b[:1024])
        ok(h[0] == 20240520 and h[1] == 1 and not any(h[3:]), "%s: llm.c's header" % path.name, h[:8])
        return h[2], 1024
    if form == "npy":
        ok(b[:8] == b"\x93NUMPY\x01\x00" and struct.unpack("<H", b[8:10]) == (118,) and b[127:128] == b"\n", "%s: NumPy's magic" % path.name)
        d = eval(b[10:128].decode("ascii"), {"__builtins__": {}})
        ok(d["descr"] == "<u2" and d["fortran_order"] is False and len(d["shape"]) == 1, "%s: NumPy's header" % path.name, d)
        return d["shape"][0], 128
    return len(b) // 2, 0


def forms(form, mount):
    shards = mount / "shards"
    stem, end = ("edufineweb", "npy") if form == "npy" else ("fineweb", "bin")
    held, total = held_out(30000), sum(PIECES)
    counts = [100000] * ((total - held) // 100000) + [(total - held) % 100000]
    train = ["%s_train_%06d.%s" % (stem, k, end) for k in range(len(counts))]
    val = "%s_val_000000.%s" % (stem, end)
    if form == "nanogpt":
        counts, train, val = [total - held], ["train.bin"], "val.bin"
    equal(sorted(os.listdir(shards)), sorted(train + [val]), "%s: every file is listed, nothing else" % form)
    for name, n in zip(train + [val], counts + [held]):
        have, head = header(shards / name, form)
        equal((have, (shards / name).stat().st_size), (n, head + 2 * n), "%s: tokens and size" % name)
    tokens = [t for name in [val] + train for t in words(shards / name)[header_words(form):]]
    equal(len(tokens), total, "%s: every token once" % form)
    ok(max(tokens) < VOCABULARY and tokens[0] == 50256, "%s: ids of the vocabulary, a document first" % form)
    # The middle two of the four files are known from elsewhere.
    known = words(DATA / "tokens/raw/fineweb_train_000000.bin")
    first = sum(p["tokens"] for p in json.loads((DATA / "expected/pieces.json").read_text())["sample/10BT/000_00000.parquet"])
    ok(tokens[first:first + len(known)] == known, "%s: files 1 and 2 are where they should be" % form)
    mapped(form, shards / train[0], tokens[held:held + counts[0]])
    absent = ["fineweb_train_%06d.bin" % 99, "fineweb_train_0.bin", "fineweb_val_000001.bin", "train.bin2", "batch_0000.bin", "val",
              "edufineweb_train_000000.bin", "fineweb_train_000000.npy"]
    equal([a for a in absent if code(os.stat, shards / a) != "ENOENT"], [], "%s: names of other forms are ENOENT" % form)
    a = array.array("H", tokens[held:])
    if sys.byteorder == "big":
        a.byteswap()
    (TMP / "train").write_bytes(a.tobytes())


def header_words(form):
    return {"llmc": 512, "npy": 64}.get(form, 0)


def mapped(form, path, want):
    head = 2 * header_words(form)
    with open(path, "rb") as f, mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as m:
        equal(m[head + 2 * 777:head + 2 * 778], struct.pack("<H", want[777]), "%s: mmap with MAP_SHARED" % form)
        ok(m[head:] == struct.pack("<%dH" % len(want), *want), "%s: every mapped byte" % form)
    if numpy is None:
        skip("%s: np.memmap" % form, "no numpy")
        return
    a = numpy.load(path, mmap_mode="r") if form == "npy" else numpy.memmap(path, "<u2", "r", offset=head)
    ok(a.tolist() == want, "%s: np.%s(mode='r') reads every token" % (form, "load" if form == "npy" else "memmap"))


def bytes_read(process):
    return int(next(x for x in Path("/proc/%d/io" % process.pid).read_text().splitlines() if x.startswith("rchar")).split()[1])


def resident(process):
    return int(next(x for x in Path("/proc/%d/status" % process.pid).read_text().splitlines() if x.startswith("VmHWM")).split()[1]) << 10


def large_folder(files, each):
    """38 billion tokens in sparse files, four of them known in each."""
    folder = TMP / "large"
    folder.mkdir(exist_ok=True)
    for k in range(files):
        with open(folder / ("fineweb_train_%06d.bin" % k), "wb") as f:
            f.truncate(2 * each)
            f.seek(2 * (k * 262_000 % (each - 8)))
            f.write(struct.pack("<4H", k, k + 1, k + 2, k + 3))
    return folder


def large():
    files, each = 380, 100_000_000
    folder = large_folder(files, each)
    begun = time.monotonic()
    with Mount([folder], "shards=nanogpt,batch_size=32", foreground=True) as m:
        train = m / "shards/train.bin"
        equal(train.stat().st_size, 2 * files * each, "a virtual train.bin of 76 GB")
        took = time.monotonic() - begun
        ok(took < 20, "is there in %.1f s" % took)
        before, begun, wrong = bytes_read(m.process), time.monotonic(), []
        with open(train, "rb") as f, mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as view:
            for k in range(files):
                at = 2 * (k * each + k * 262_000 % (each - 8))
                have = view[at:at + 8] if k % 2 else os.pread(f.fileno(), 8, at)
                if have != struct.pack("<4H", k, k + 1, k + 2, k + 3):
                    wrong.append(k)
            # Across the border of two files, and at the end.
            equal(os.pread(f.fileno(), 32, 2 * 5 * each - 16), bytes(32), "a read across two files")
            equal((len(os.pread(f.fileno(), 64, 2 * files * each - 10)), os.pread(f.fileno(), 8, 2 * files * each)), (10, b""), "and at the end")
        took, cost = time.monotonic() - begun, bytes_read(m.process) - before
        equal(wrong, [], "380 places in 76 GB have their own tokens")
        ok(cost < 380 << 21, "which read %d MB of the source, in %.1f s" % (cost >> 20, took))
        ok(resident(m.process) < 256 << 20, "in %d MB of memory" % (resident(m.process) >> 20))
        if numpy is not None:
            a = numpy.memmap(train, dtype=numpy.uint16, mode="r")
            ok(len(a) == files * each and a[379 * each + 379 * 262_000 % (each - 8)] == 379, "np.memmap of all of it")
            del a
        else:
            skip("np.memmap of all of it", "no numpy")


def large_remote():
    """The same on a server, which counts what is asked of it."""
    files, each, log, listed = 380, 100_000_000, TMP / "large.log", TMP / "large.txt"
    folder = large_folder(files, each)
    here = os.path.dirname(os.path.abspath(__file__))
    p = subprocess.Popen([sys.executable, os.path.join(here, "../faultserver.py"), str(folder), "--log", str(log), "--with-parent"],
                         stdout=subprocess.PIPE, text=True)
    url = "http://127.0.0.1:" + p.stdout.readline().split()[1]
    listed.write_text("".join("%s/fineweb_train_%06d.bin\n" % (url, k) for k in range(files)))

    def asked():
        """FILE, FIRST, LAST of each request."""
        lines = [line.split("\t") for line in log.read_text().splitlines()]
        return [(int(x[1][-10:-4]), *map(int, x[2].removeprefix("bytes=").split("-"))) for x in lines]
    with Mount([listed], "shards=nanogpt") as m:
        train = m / "shards/train.bin"
        equal(train.stat().st_size, 2 * files * each, "a virtual train.bin of 76 GB over HTTP")
        before = len(asked())
        ok(before <= 2 * files and all(last - first < 65536 for _, first, last in asked()), "counting it reads a little of each file", asked()[:3])
        with open(train, "rb") as f, mmap.mmap(f.fileno(), 0, mmap.MAP_SHARED, mmap.PROT_READ) as view:
            places, wrong = range(5, files, 20), []
            for again in range(2):
                for k in places:
                    at = 2 * (k * each + k * 262_000 % (each - 8))
                    have = view[at:at + 8] if k % 2 else os.pread(f.fileno(), 8, at)
                    if have != struct.pack("<4H", k, k + 1, k + 2, k + 3):
                        wrong.append(k)
        equal(wrong, [], "%d places in it have their own tokens" % len(places))
        time.sleep(0.3)
        got = asked()[before:]
        # A piece is 2^20 tokens and the one before them, and a place may lie across the end of one.
        equal(sorted({k for k, _, _ in got}), list(places), "only the files that they are in are asked")
        ok(len(got) <= 2 * len(places) and all(last - first < (2 << 20) + 2 for _, first, last in got), "a request for a piece each", *got[:8])
        ok(all(any(k == file and first <= 2 * (k * 262_000 % (each - 8)) <= last for file, first, last in got) for k in places),
           "which is the one that is read", *got[:8])
    p.kill()
    p.wait()


def remote(listed):
    want = words(DATA / "tokens/raw/fineweb_train_000000.bin")
    first = sum(p["tokens"] for p in json.loads((DATA / "expected/pieces.json").read_text())["sample/10BT/000_00000.parquet"])
    # Blocks of a piece, so that nothing but what is read is wanted.
    with Mount([listed], "shards=nanogpt,batch_size=1,seq_len=16,block=1,ready_timeout=60") as m:
        train = m / "shards/train.bin"
        equal(train.stat().st_size, 2 * sum(PIECES), "over HTTP train.bin has its size from column counts")
        # The first batch was counted with its piece, for who will read it; that is over when nothing comes any more.
        before = m.stats()
        while (now := (time.sleep(0.3), m.stats())[1])["pieces_fetched"] != before["pieces_fetched"] or now["queue_length"]:
            before = now
        with open(train, "rb", buffering=0) as f:
            f.seek(2 * (first + 9000))
            have = f.read(16)
        after = m.stats()
        equal(have, struct.pack("<8H", *want[9000:9008]), "a read in the middle has its tokens")
        made = after["pieces_tokenized"] - before["pieces_tokenized"]
        ok(made == 1, "one piece was made for it, of %d" % len(PIECES), before, after)


{"forms": lambda: forms(sys.argv[2], Path(sys.argv[3])), "large": large, "large_remote": large_remote, "remote": lambda: remote(sys.argv[2])}[sys.argv[1]]()
print("# end")
