"""batches.py local|URL: mounts the sources of expected/batches.json and compares every listed batch by SHA-256."""
import json
import operator
import os
import sys

from tap import DATA, TMP, Mount, code, digest, equal, ok, read, say, until

COUNTS = ("documents", "tokens", "sequences", "dropped_tokens", "batches", "batches_known")


def local(name):
    return TMP / name if name.startswith("long/") else DATA / name


def differing(m, expected):
    """Paths whose bytes (or errno) are not the expected ones."""
    out = []
    for path, want in expected.items():
        have = digest(m / path)
        if have != want:
            out.append("%s: %s, expected %s" % (path, have, want))
    return out


def counts_of(entry, part=None):
    return {k: v for k, v in entry[part or "counts"].items() if k in COUNTS}


def known(d, entry):
    have = {k: d.get(k) for k in COUNTS}, {k: (d.get("val") or {}).get(k) for k in COUNTS} if "val" in entry else None
    return have, (counts_of(entry), counts_of(entry, "val") if "val" in entry else None)


def options_of(entry):
    return dict(o.split("=") for o in entry["options"].split(","))


def wrong_listing(m, entry):
    """What of the listing is wrong: names, sizes, or the first batch that is not there; "" if nothing."""
    o = options_of(entry)
    B, T, W = int(o["batch_size"]), int(o["seq_len"]), int(o["world_size"])
    n = entry["counts"]["batches"]
    if n is None:
        return ""
    for r in range(W):
        names = sorted(os.listdir(m / ("rank_%d" % r)))
        if names != ["batch_%04d.bin" % k for k in range(n)]:
            return "rank_%d: %d batches, the last %s" % (r, len(names), names[-1:])
        if any(os.stat(m / ("rank_%d/batch_%04d.bin" % (r, k))).st_size != B * (T + 1) * 2 for k in (0, n - 1)):
            return "rank_%d: size" % r
    later = code(os.stat, m / ("rank_0/batch_%04d.bin" % n))
    return "" if later == "ENOENT" else "the batch behind the last: %s" % later


def check(entry, sources, what):
    try:
        with Mount(sources, entry["options"]) as m:
            wrong = differing(m, entry["sha256"])
            ok(not wrong, what, "%d of %d differ" % (len(wrong), len(entry["sha256"])), *wrong[:8])
            until(5, lambda: operator.eq(*known(m.dataset(), entry)))
            equal(*known(m.dataset(), entry), "%s: counts" % what)
            equal(wrong_listing(m, entry), "", "%s: listing" % what)
            if entry["counts"]["batches"] is None:
                later = "rank_0/batch_%04d.bin" % (entry["counts"]["batches_known"] + 3)
                equal(code(read, m / later), "EBADMSG", "%s: a batch that cannot be counted" % what)
    except (RuntimeError, OSError) as e:
        ok(False, what, e)


def main():
    where = sys.argv[1]
    entries = json.loads((DATA / "expected/batches.json").read_text())
    if where == "local":
        for e in entries:
            check(e, [local(s) for s in e["source"]], "%s %s" % (" ".join(e["source"]), e["options"]))
        same = {"jsonl/plain": ["jsonl/gz", "jsonl/zst"], "tokens/llmc": ["tokens/raw", "tokens/npy"]}
        for e in entries:
            for other in same.get(e["source"][0], []) if len(e["source"]) == 1 else []:
                check(e, [DATA / other], "%s as %s" % (other, e["source"][0]))
        return
    chosen = [1, 9, 15, 16, 19, 22, 23]
    for i in chosen:
        e = entries[i]
        urls = ["%s/%s" % (where, f) for f in e["files"]]
        listing = TMP / ("urls%d.txt" % i)
        listing.write_text("# files of %s\n\n%s\n" % (" ".join(e["source"]), "\n".join(urls)))
        check(e, [listing], "HTTP, .txt of URLs: %s %s" % (" ".join(e["source"]), e["options"]))
    e = entries[1]
    check(e, ["%s/%s" % (where, f) for f in e["files"]], "HTTP, URLs: %s %s" % (" ".join(e["source"]), e["options"]))
    say("# %d sources over HTTP" % (len(chosen) + 1))


main()
say("# end")
