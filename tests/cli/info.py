"""info.py: --json of every source of expected/batches.json, and of token files."""
import json

from tap import DATA, batches, equal, load, ok, options_of, run, sources

KEYS = ("documents", "tokens", "sequences", "dropped_tokens", "batches", "batches_known")
for entry in batches():
    name = "%s %s" % (" ".join(entry["source"]), entry["options"])
    if len(entry["files"]) == 1 and entry["files"][0].endswith((".bin", ".npy")) and len(entry["source"]) == 1 \
            and entry["source"][0].endswith((".bin", ".npy")):
        continue
    code, out, err = run("info", *sources(entry), "-o", entry["options"], "--json")
    have, want = json.loads(out), entry["counts"]
    if want["batches"] is None:
        ok(code == 1 and err.count(b"\n") == 1 and have["note"], "%s: what can not be counted" % name, code, err, have)
    else:
        equal(code, 0, "%s: succeeds" % name)
    equal({k: have[k] for k in KEYS}, {k: want[k] for k in KEYS}, "%s: counts" % name)
    equal((have["files"], have["final"]), (len(entry["files"]), want["batches"] is not None), "%s: files" % name)
    if "val" in entry:
        equal({k: have["val"][k] for k in have["val"]}, {k: entry["val"][k] for k in have["val"]}, "%s: val" % name)
    if want["batches"] is not None and "val" not in entry:
        equal(have["pieces"], want["pieces"], "%s: pieces" % name)

o = "seq_len=512,batch_size=4,world_size=4"
have = load("info", DATA / "sample/10BT", "-o", o, "--json", "--tokens", "1M", "--node-ranks", 2)
used = have["batches"] * 16
equal(have["unused_sequences"], have["sequences"] - used, "sequences in no batch")
equal(round(have["tail_loss"], 9), round((have["dropped_tokens"] + 512 * have["unused_sequences"]) / have["tokens"], 9), "tail loss")
equal(round(have["run_epochs"], 9), round(1e6 / (used * 512), 9), "epochs of a run")
fetch = have["fetch"]
ok(0 < fetch["sequence"] < have["bytes"] and fetch["piece"] == (fetch["sequence"] + 1) // 2, "what a node fetches", fetch)
equal((have["row_groups"], have["rows"]), (9, 398), "row groups and rows")
lines = load("info", DATA / "jsonl/plain", "--json")
equal((lines["kind"], lines["fetch"]["sequence"]), ("JSON lines", lines["bytes"]), "JSON lines are fetched whole")

for path in ("tokens/raw/fineweb_train_000000.bin", "tokens/llmc/fineweb_train_000001.bin", "tokens/npy/edufineweb_train_000001.npy",
             "tokens/nanogpt/train.bin"):
    have = load("info", DATA / path, "--json")
    # 50256 stands before (or behind) each of the 170 documents; 175468 bytes are 87734 ids.
    equal((have["tokens"], have["documents"], have["max_id"], have["outside_vocabulary"], have["sequences"]),
          (87734, 170, 50256, 0, 87733 // 1024), path)
print("# end")
