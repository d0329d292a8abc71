"""index.py: what a source has, counted ahead; exported and read by another node."""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from tap import DATA, FINEWEB, TMP, batches, equal, ok, options_of, run, sources

WORK = TMP / "work"
WORK.mkdir()
JSONL = DATA / "jsonl/plain"
TOP = Path(os.environ["top"])


def counts():
    wrong, n = [], 0
    for entry in batches():
        o = options_of(entry)
        want = entry["counts"]
        if want["batches"] is None or any("bad/" in s for s in entry["source"]):
            continue
        code, out, err = run("index", *sources(entry), "-o", entry["options"], "--json")
        have = json.loads(out) if code == 0 else {}
        n += 1
        for key in ("files", "pieces", "documents", "tokens", "sequences", "batches", "dropped_tokens"):
            if key in want and have.get(key) != want[key] and not (key in ("files", "pieces") and "val" in entry):
                wrong.append((entry["source"], entry["options"], key, have.get(key), want[key], err))
    equal(wrong[:4], [], "counts of %d sources" % n)


def exported():
    node = WORK / "node"
    code, out, err = run("index", JSONL, "--export", WORK / "counts", "--seq-len", 256)
    ok(code == 0 and b"documents  398" in out and b"tokens     244148" in out, "index --export", err)
    words = ["cat", JSONL, "--cache", node, "--stride", "piece", "--world-size", 2, "--seq-len", 256, "--batch-size", 2]
    code, out, err = run(*words)
    ok(code == 2 and b"fineweb index" in err, "without counts stride=piece names index", err)
    code, data, err = run(*words, "--index", WORK / "counts")
    ok(code == 0 and len(data) == 2 * 257 * 2, "with index=FILE it is served", err)
    shutil.rmtree(node)
    broken = bytearray((WORK / "counts").read_bytes())
    broken[40] ^= 1
    (WORK / "broken").write_bytes(broken)
    code, _, err = run(*words, "--index", WORK / "broken")
    ok(code == 1 and b"broken" in err and b"checksum" in err, "a damaged one is named", code, err)
    code, _, err = run(*words, "--index", JSONL / "000_00000.jsonl")
    ok(code == 1 and err.count(b"\n") == 1, "and what is no index", code, err)
    code, _, err = run("index", JSONL, "--export", WORK / "nowhere/counts")
    ok(code == 1 and b"nowhere" in err, "a folder that is not there", err)


def verified():
    cache = WORK / "cache"
    run("cat", JSONL, "--cache", cache)
    run("index", JSONL, "--cache", cache)
    code, out, err = run("index", JSONL, "--cache", cache, "--verify", "--json")
    have = json.loads(out)
    ok(code == 0 and have["files"] == 4 and have["pieces"] >= 1 and have["damaged"] == 0, "--verify", have, err)
    for p in cache.rglob("*.tok"):
        data = bytearray(p.read_bytes())
        data[1000] ^= 1
        p.chmod(0o644)
        p.write_bytes(data)
        break
    code, out, err = run("index", JSONL, "--cache", cache, "--verify")
    ok(code == 1 and b"1 damaged" in err, "--verify finds a damaged piece", code, out, err)
    code, out, err = run("index", JSONL, "--cache", cache, "--verify")
    ok(code == 0, "which is gone then", err)


def tasks():
    cache = WORK / "tasks"
    for i in range(3):
        code, out, err = run("index", JSONL, "--cache", cache, "--task", "%d/3" % i)
        ok(code == 0, "task %d/3" % i, err)
    code, out, err = run("index", JSONL, "--cache", cache, "--verify", "--json")
    equal(json.loads(out)["files"], 4, "all files are counted, in one cache")


def stops():
    bad = DATA / "bad/line_3.jsonl"
    code, out, err = run("index", bad, "--cache", WORK / "bad")
    ok(code == 1 and b"line_3.jsonl" in err, "a damaged piece is named", code, err)
    code, out, err = run("index", bad, JSONL, "--cache", WORK / "bad", "--on-error", "skip", "--json")
    ok(code == 0 and json.loads(out)["tokens"] == 244148, "on_error=skip counts the rest", code, out, err)


def kept():
    """Text of a server is fetched once by index, and not again by prepare."""
    log, cache = WORK / "requests", WORK / "kept"
    server = subprocess.Popen([sys.executable, TOP / "tests/faultserver.py", DATA, "--log", log, "--with-parent"],
                              stdout=subprocess.PIPE, text=True)
    url = "http://127.0.0.1:" + server.stdout.readline().split()[1]
    for source, size in (("jsonl/plain", ""), ("sample/10BT", ""), ("sample/10BT", "300K")):
        shutil.rmtree(cache, ignore_errors=True)
        names = sorted(p.name for p in (DATA / source).iterdir())
        words = ["%s/%s/%s" % (url, source, n) for n in names] + ["--counts", "exact", "--cache", cache]
        words += ["--cache-size", size, "--block", "50000"] if size else []
        want = WORK / ("want" + source.replace("/", "_"))
        run("prepare", DATA / source, "--counts", "exact", "-o", want, "-q")
        code, _, err = run("index", *words, "-q")
        ok(code == 0, "index of %s %s on a server" % (source, size), err)
        log.write_text("")
        code, out, err = run("prepare", *words, "-o", WORK / "kept_out")
        found = int(re.search(r"(\d+) pieces were in the cache", out.decode() + "; 0 pieces were in the cache").group(1))
        have = [(WORK / "kept_out" / p.name).read_bytes() == p.read_bytes() for p in want.glob("*.bin")]
        mine, theirs = (json.loads((f / "dataset.json").read_text())["shards"] for f in (WORK / "kept_out", want))
        ok(code == 0 and all(have) and mine == theirs, "prepare writes the same of what is in the cache", err, mine, theirs)
        asked = log.read_text().splitlines()
        if size:
            used = sum(p.stat().st_size for p in cache.rglob("*.tok"))
            ok(0 < found and used <= 300 * 1024 and asked, "a small cache keeps a part of it", found, used, len(asked))
        else:
            equal((found > 0, asked), (True, []), "and asks for no text again")
        shutil.rmtree(WORK / "kept_out")
    server.kill()
    server.wait()


for part in (counts, exported, verified, tasks, stops, kept):
    part()
print("# end")
