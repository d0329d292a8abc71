"""prepare.py: what `fineweb prepare` writes is what shards/ of a mount shows, and a mount of it is a mount of the source."""
import json
import subprocess

from tap import DATA, FINEWEB, TMP, Mount, digest, equal, ok


def prepare(sources, folder, *words):
    return subprocess.run([FINEWEB, "prepare", *map(str, sources), "-o", str(folder), "-q", *map(str, words)],
                          capture_output=True, text=True, timeout=300)


def options_of(entry):
    return dict(o.split("=") for o in entry["options"].split(","))


def given(options):
    return ["--%s=%s" % (k, options[k]) for k in ("seq_len", "val_tokens", "eos", "on_error") if k in options]


def compare(entry, number):
    o = options_of(entry)
    sources = [TMP / s if s.startswith("long/") else DATA / s for s in entry["source"]]
    what = "%s %s" % (" ".join(entry["source"]), entry["options"])
    folder = TMP / ("prepared%d" % number)
    r = prepare(sources, folder, *given(o), "--shard-tokens", 50000)
    if not ok(r.returncode == 0, "prepare %s" % what, r.stderr):
        return
    with Mount([folder], entry["options"]) as m:
        wrong = [p for p, want in entry["sha256"].items() if digest(m / p) != want]
        equal(wrong[:4], [], what)
        have = json.loads((m / "dataset.json").read_text())["fingerprint"]
    with Mount(sources, entry["options"]) as m:
        equal(have, json.loads((m / "dataset.json").read_text())["fingerprint"], "its fingerprint is the source's")


def shards(form):
    folder = TMP / ("form-" + form)
    r = prepare([DATA / "sample/10BT"], folder, "--format", form, "--shard-tokens", 40000, "--val-tokens", 60000)
    ok(r.returncode == 0, "prepare --format %s" % form, r.stderr)
    names = {s["file"] for s in json.loads((folder / "dataset.json").read_text())["shards"]}
    with Mount([DATA / "sample/10BT"], "shards=%s,shard_tokens=40000,val_tokens=60000" % form) as m:
        equal(sorted(p.name for p in (m / "shards").iterdir()), sorted(names), "%s: names are those of shards/" % form)
        equal([n for n in names if digest(m / "shards" / n) != digest(folder / n)], [], "%s: so are the bytes" % form)


entries = json.loads((DATA / "expected/batches.json").read_text())
for i, e in enumerate(entries):
    if "fail" in options_of(e).get("on_error", "fail") and any("bad/" in s for s in e["source"]):
        continue
    if i % 3 == 1 or "val_tokens" in e["options"] or "skip" in e["options"]:
        compare(e, i)
for f in ("raw", "llmc", "npy", "nanogpt"):
    shards(f)
print("# end")
