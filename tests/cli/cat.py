"""cat.py: the batches of expected/batches.json by SHA-256, and the forms of a batch."""
import hashlib
import re
import struct

from tap import DATA, batches, equal, lines, load, ok, options_of, run, sources


def views(entry):
    """{(epoch or None for val, rank): {batch: wanted}}"""
    out = {}
    for path, want in entry["sha256"].items():
        m = re.fullmatch(r"(?:epoch_(\d+)|val)/rank_(\d+)/batch_(\d+)\.bin", path)
        out.setdefault((m[1], int(m[2])), {})[int(m[3])] = want
    return out


def words(entry, epoch, rank):
    """start belongs to the epoch that is mounted alone."""
    options = options_of(entry)
    if epoch is not None and epoch != options.get("epoch", "0"):
        options.pop("start", None)
        options["epoch"] = epoch
    return sources(entry) + ["-o", ",".join("%s=%s" % o for o in options.items()), "--rank", rank] + (
        ["--val"] if epoch is None else [])


def one_line(result):
    code, out, err = result
    return code == 1 and out == b"" and err.count(b"\n") == 1 and err.endswith(b"\n")


def differing(entry, epoch, rank, wanted):
    """Good batches in one run; damaged ones each say one line and 1."""
    o = options_of(entry)
    size = int(o["batch_size"]) * (int(o["seq_len"]) + 1) * 2
    out = []
    good = [k for k, want in wanted.items() if want != "EBADMSG"]
    whole = len(good) == len(wanted) == max(wanted) + 1
    if whole:
        code, data, err = run("cat", *words(entry, epoch, rank), "--batch", "0-%d" % max(wanted))
        if code != 0 or len(data) != size * len(wanted):
            out.append((code, len(data), err))
    for k, want in wanted.items():
        if whole:
            part = data[k * size:(k + 1) * size]
        elif want == "EBADMSG":
            if k < 8 and not one_line(run("cat", *words(entry, epoch, rank), "--batch", k)):
                out.append((k, "EBADMSG"))
            continue
        else:
            part = run("cat", *words(entry, epoch, rank), "--batch", k)[1]
        if hashlib.sha256(part).hexdigest() != want:
            out.append((k, want))
    return out


def forms():
    entry = batches()[1]
    w = words(entry, "0", 1)
    raw = run("cat", *w, "--batch", "2-3")[1]
    npy = run("cat", *w, "--batch", "2-3", "--format", "npy")[1]
    head = b"{'descr': '<u2', 'fortran_order': False, 'shape': (8, 1025), }"
    equal(npy[:10], b"\x93NUMPY\x01\x00" + struct.pack("<H", 118), "npy: magic and length")
    equal(npy[10:128].rstrip(b" \n"), head, "npy: shape of a range")
    equal(npy[128:], raw, "npy: the same bytes")
    text = run("cat", *w, "--batch", 2, "--format", "text")[1].decode("utf-8")
    rows = re.split(r"^=== rank \d+, row \d+: .*\n", text, flags=re.M)
    equal(len(rows), 5, "text: four rows")
    mark, inside = "<|endoftext|>", 0
    for k in range(4):
        want = run("decode", "--format", "u16", input=raw[2050 * k:2050 * (k + 1)])[1].decode("utf-8")
        want = want[:1] + re.sub(r"(?<!\n)" + re.escape(mark), "\n" + mark, want[1:])
        inside += ("\n" + mark) in want
        equal(rows[k + 1], want + "\n", "text: row %d is what decode makes of its ids, documents begin lines" % k)
    ok(inside > 0, "text: documents begin inside of rows")
    text = run("cat", *w, "-o", "bos=none,eos=50256", "--batch", 2, "--format", "text")[1].decode("utf-8")
    ok(all(re.search(re.escape(mark) + r"(\n|$)", x) for x in text.split("\n") if mark in x) and text.count(mark) > 3,
       "text: behind eos, where that is what divides them", text)
    where = lines("cat", *w, "--batch", 2, "--where")
    ok(all(re.match(r"batch 2 row \d+: 000_0000\d.parquet piece \d+ sequence \d+$", x) for x in where if x[0] != " "),
       "--where: a line for each row", *where[:3])
    equal(load("cat", *w, "--batch", 2, "--where", "--json"), load("cat", *w, "--batch", 2, "--format", "json"),
          "--where --json is --format json")


for entry in batches():
    name = "%s %s" % (" ".join(entry["source"]), entry["options"])
    wrong = [(v, differing(entry, *v, wanted)) for v, wanted in views(entry).items()]
    ok(not any(d for _, d in wrong), name, *[w for w in wrong if w[1]][:4])
    rows = entry.get("rows_of_rank_0_batch_0")
    if rows and entry["sha256"].get("epoch_%s/rank_0/batch_0000.bin" % options_of(entry).get("epoch", 0)) != "EBADMSG":
        epoch = options_of(entry).get("epoch", "0")
        have = load("cat", *words(entry, epoch, 0), "--where", "--json")["rows"]
        files = entry["files"]
        equal([[next(i for i, f in enumerate(files) if f.endswith(r["file"])), r["piece"], r["sequence"]] for r in have],
              rows, "%s: where the rows of the first batch are from" % name)
forms()
print("# end")
