"""prepare.py: the bytes of shards against the ids of tiktoken, of every kind of source, however it is stopped."""
import array
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

from tap import DATA, FINEWEB, TMP, batches, equal, ok, options_of, run, sources

PIECES = json.loads((DATA / "expected/pieces.json").read_text())
SAMPLE = DATA / "sample/10BT"
JSONL = DATA / "jsonl/plain"
WORK = TMP / "work"
WORK.mkdir()


def prepare(*words, folder="out", **named):
    return run("prepare", *words, "-o", WORK / folder, "-q", **named)


def fresh(folder="out"):
    shutil.rmtree(WORK / folder, ignore_errors=True)
    return WORK / folder


def manifest(folder="out"):
    return json.loads((WORK / folder / "dataset.json").read_text())


def tokens(path, skip=0):
    return path.read_bytes()[skip:]


def stream(folder="out", skip=0):
    """The bytes of all shards, the held-out ones first."""
    return b"".join(tokens(WORK / folder / s["file"], skip) for s in manifest(folder)["shards"])


def snapshot(folder):
    """Every file of a folder by SHA-256."""
    return {str(p.relative_to(WORK / folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in sorted((WORK / folder).rglob("*")) if p.is_file()}


def wrong_pieces(data, files):
    """Those whose bytes are not the ids that pieces.json has."""
    out, at = [], 0
    for f in files:
        for i, p in enumerate(PIECES[f]):
            part = data[at:at + 2 * p["tokens"]]
            at += len(part)
            if hashlib.sha256(part).hexdigest() != p["sha256"]:
                out.append((f, i))
    return out + ([] if at == len(data) else ["%d bytes, not %d" % (len(data), at)])


def names(prefix):
    return [f for f in PIECES if f.startswith(prefix)]


def kinds():
    for source, files in (("sample/10BT", "sample/10BT/"), ("jsonl/plain", "jsonl/plain/"), ("jsonl/gz", "jsonl/plain/"),
                          ("jsonl/zst", "jsonl/plain/")):
        fresh()
        code, out, err = prepare(DATA / source, "--shard-tokens", 50000)
        ok(code == 0 and out == b"", "prepare %s" % source, err)
        equal(wrong_pieces(stream(), names(files)), [], "%s: its bytes are tiktoken's ids" % source)
        j = manifest()
        equal((j["tokens"], j["documents"], len(j["shards"])), (244148, 398, 5), "%s: counts" % source)
        equal(sorted(p.name for p in (WORK / "out").iterdir()),
              ["dataset.json"] + ["fineweb_train_%06d.bin" % i for i in range(5)] + ["pieces.fwc"],
              "%s: no other file stays" % source)
        equal([s["sha256"] for s in j["shards"]],
              [hashlib.sha256((WORK / "out" / s["file"]).read_bytes()).hexdigest() for s in j["shards"]],
              "%s: SHA-256" % source)
    want = (DATA / "tokens/raw/fineweb_train_000000.bin").read_bytes()
    for source in ("tokens/raw", "tokens/llmc", "tokens/npy"):
        fresh()
        prepare(DATA / source)
        equal(stream() == want, True, "%s: its ids" % source)


def documents():
    """Ids as the rows of the JSON lines have them."""
    ids = [json.loads(line)["id"] for f in sorted(JSONL.iterdir()) for line in f.read_text().splitlines()
           if json.loads(line)["text"]]
    fresh()
    prepare(SAMPLE, "--shard-tokens", 50000)
    shards = manifest()["shards"]
    equal(sum(s["documents"] for s in shards), len(ids), "documents of all shards")
    at, wrong = 0, []
    for s in shards:
        first = ids[at] if (WORK / "out" / s["file"]).read_bytes()[:2] == b"\x50\xc4" else ids[at - 1]
        at += s["documents"]
        if (s["first_document"], s["last_document"]) != (first, ids[at - 1]):
            wrong.append(s["file"])
    equal(wrong, [], "first and last document of each shard")


def forms():
    fresh()
    prepare(SAMPLE)
    want = stream()
    for form, skip, name in (("llmc", 1024, "fineweb_train_%06d.bin"), ("npy", 128, "edufineweb_train_%06d.npy"),
                             ("nanogpt", 0, "train.bin")):
        fresh()
        code, _, err = prepare(SAMPLE, "--format", form, "--shard-tokens", 100000, "--val-tokens", 60000)
        j = manifest()
        val = [s for s in j["shards"] if s["val"]]
        train = sorted({s["file"] for s in j["shards"] if not s["val"]})
        data = b"".join(tokens(WORK / "out" / f, skip) for f in [val[0]["file"]] + train)
        ok(code == 0 and data == want, "%s: the same tokens" % form, err)
        equal(train, [name % i for i in range(2)] if "%" in name else [name], "%s: names" % form)
        equal(val[0]["tokens"], sum(p["tokens"] for p in PIECES["sample/10BT/000_00000.parquet"][:2]),
              "%s: the held-out part ends with a piece" % form)
        head = (WORK / "out" / train[-1]).read_bytes()[:skip]
        n = len(tokens(WORK / "out" / train[-1], skip)) // 2
        if form == "llmc":
            equal([int.from_bytes(head[i:i + 4], "little") for i in (0, 4, 8, 12)], [20240520, 1, n, 0],
                  "llmc: the header of the last shard")
        if form == "npy":
            ok(head[:10] == b"\x93NUMPY\x01\x00\x76\x00" and b"'<u2'" in head and b"(%d,)" % n in head,
               "npy: the header of the last shard", head)


def target():
    fresh()
    prepare(SAMPLE)
    want = stream()
    for text, n in (("100000", 100000), ("1e5", 100000), ("0.15M", 150000), ("244148", 244148), ("1B", 244148)):
        fresh()
        code, _, err = prepare(SAMPLE, "--target-tokens", text, "--shard-tokens", 30000)
        ok(code == 0 and stream() == want[:2 * n], "--target-tokens %s" % text, err)
    fresh("other")
    prepare(SAMPLE, "--target-tokens", "100000", "--shard-tokens", 30000, folder="other")
    for i in (0, 1, 3):
        fresh()
        stop_after(i, SAMPLE, "--target-tokens", "100000", "--shard-tokens", 30000)
        prepare(SAMPLE, "--target-tokens", "100000", "--shard-tokens", 30000)
        equal(snapshot("out"), snapshot("other"), "a target, stopped after %d shards" % i)


def stop_after(shards, *words):
    """As if it had been killed: what a run leaves when only so many shards are whole."""
    code, _, err = prepare(*words)
    assert code == 0, err
    whole = WORK / "out"
    keep = manifest()["shards"][:shards]
    for p in whole.iterdir():
        if p.name not in [s["file"] for s in keep]:
            p.unlink()
    if not keep:
        return
    # The records of those shards are what a stopped run has: make them by a target that ends there.
    shutil.rmtree(whole)
    p = subprocess.Popen([FINEWEB, "prepare", *map(str, words), "-o", str(whole), "-q"])
    until = time.monotonic() + 20
    while p.poll() is None and time.monotonic() < until:
        if len(list(whole.glob("*.bin"))) >= shards:
            break
        time.sleep(0.0005)
    p.kill()
    p.wait()


def many(n):
    """A source that takes a second: n files of JSON lines, three and a bit megabytes each."""
    folder = WORK / "many"
    folder.mkdir(exist_ok=True)
    whole = b"".join(f.read_bytes() for f in sorted(JSONL.iterdir()))
    for i in range(n):
        (folder / ("%03d.jsonl" % i)).write_bytes(whole * 2)
    return folder


def kills(n):
    source = many(6)
    words = [source, "--shard-tokens", 100000, "--val-tokens", 300000]
    fresh("whole")
    begun = time.monotonic()
    prepare(*words, "--threads", 1, folder="whole")
    took = time.monotonic() - begun
    want = snapshot("whole")
    equal(len(stream("whole")), 2 * 12 * 244148, "many files: all their tokens")
    fresh()
    prepare(*words, "--threads", 3)
    equal(snapshot("out"), want, "three threads give the same bytes")
    rng = random.Random(7)
    wrong, stopped = [], 0
    for i in range(n // 2):
        fresh()
        for attempt in range(2):
            p = subprocess.Popen([FINEWEB, "prepare", *map(str, words), "-o", str(WORK / "out"), "-q", "--threads",
                                  str(rng.choice((1, 2, 5)))], stderr=subprocess.DEVNULL)
            time.sleep(rng.random() * took * 0.8)
            if p.poll() is None:
                p.send_signal(rng.choice((signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM)))
                stopped += 1
            p.wait()
        code, _, err = prepare(*words)
        if code != 0 or snapshot("out") != want:
            wrong.append((i, code, err))
    equal(wrong, [], "killed at %d random moments (%d met it): the same bytes" % (n, stopped))
    equal([p.name for p in (WORK / "out").glob("*.part")], [], "no .part stays")


def resumed():
    """What is whole is not made again."""
    fresh()
    words = [WORK / "many", "--shard-tokens", 100000]
    p = subprocess.Popen([FINEWEB, "prepare", *map(str, words), "-o", str(WORK / "out"), "-q", "--threads", "1"])
    until = time.monotonic() + 20
    while len(list((WORK / "out").glob("*.bin"))) < 4 and time.monotonic() < until:
        time.sleep(0.001)
    p.kill()
    p.wait()
    before = {f.name: f.stat().st_ino for f in (WORK / "out").glob("*.bin")}
    prepare(*words)
    whole = sorted(before)[:3]
    equal([(WORK / "out" / f).stat().st_ino for f in whole], [before[f] for f in whole], "whole shards stay as they are")


def verify():
    fresh()
    words = [SAMPLE, "--shard-tokens", 50000]
    prepare(*words)
    want = snapshot("out")
    code, out, err = prepare(*words, "--verify")
    ok(code == 0, "--verify of a whole folder", err)
    path = WORK / "out/fineweb_train_000002.bin"
    inode = (WORK / "out/fineweb_train_000001.bin").stat().st_ino
    data = bytearray(path.read_bytes())
    data[12345] ^= 1
    path.write_bytes(data)
    code, out, err = prepare(*words, "--verify")
    ok(code == 1 and b"fineweb_train_000002.bin: is damaged" in err and b"000001" not in err,
       "--verify names the damaged shard", code, err)
    code, out, err = prepare(*words)
    ok(code == 0 and snapshot("out") == want, "prepare makes it again", code, err)
    equal((WORK / "out/fineweb_train_000001.bin").stat().st_ino, inode, "and no other")
    path.unlink()
    code, out, err = prepare(*words, "--verify")
    ok(code == 1 and b"fineweb_train_000002.bin: is missing" in err, "--verify names a missing shard", err)
    prepare(*words)
    equal(snapshot("out"), want, "it is made again too")
    fresh()
    prepare(*words, "--format", "nanogpt")
    want = snapshot("out")
    with open(WORK / "out/train.bin", "r+b") as f:
        f.seek(250000)
        f.write(b"\xff\xff")
    code, out, err = prepare(*words, "--format", "nanogpt", "--verify")
    ok(code == 1 and b"train.bin" in err, "--verify of nanogpt's one file", err)
    prepare(*words, "--format", "nanogpt")
    equal(snapshot("out"), want, "a part of it is made again")


def changed():
    """A damaged shard cannot be made of a source whose middle is another than it was."""
    folder = WORK / "changing"
    folder.mkdir()
    source = folder / "a.jsonl"
    source.write_bytes(b"".join(f.read_bytes() for f in sorted(JSONL.iterdir())) * 3)
    fresh()
    words = [folder, "--shard-tokens", 2000000]
    prepare(*words)
    data = bytearray(source.read_bytes())
    at = data.index(b" the ", len(data) // 2)
    data[at:at + 5] = b" THE "
    source.write_bytes(data)
    shard = WORK / "out/fineweb_train_000000.bin"
    shard.write_bytes(b"damaged")
    code, _, err = prepare(*words)
    ok(code == 1 and b"not what it was" in err, "a source that changed cannot mend a shard", code, err)
    equal((shard.read_bytes(), list((WORK / "out").glob("*.part"))), (b"damaged", []), "and what was made has no name")


def refused():
    fresh()
    prepare(SAMPLE, "--shard-tokens", 50000)
    for words, name in ((["--shard-tokens", 40000], b"shard_tokens=50000"), (["--val-tokens", 5], b"val_tokens"),
                        (["--tokenizer", "cl100k"], b"tokenizer=gpt2"), (["--format", "npy"], b"format=raw"),
                        (["--target-tokens", 5000], b"target_tokens"), (["--eos", 50256], b"eos=none"),
                        (["--counts", "exact"], b"counts=column")):
        words = ["--shard-tokens", 50000] + words
        code, out, err = prepare(SAMPLE, *words)
        ok(code == 1 and name in err and err.count(b"\n") == 1, "other options are refused by name: %s" % name.decode(),
           code, err)
    code, out, err = prepare(JSONL, "--shard-tokens", 50000, "--counts", "exact")
    ok(code == 1 and b"prepared" in err, "another source is refused", err)
    fresh()
    (WORK / "out").mkdir()
    (WORK / "out/other.bin").write_bytes(b"12")
    code, out, err = prepare(SAMPLE)
    ok(code == 1 and b"other.bin" in err, "a folder with somebody's shards is refused", err)
    code, out, err = run("prepare", SAMPLE)
    ok(code == 2 and b"-o DIR" in err, "no folder is usage", code, err)
    fresh()
    code, out, err = prepare(SAMPLE, "--val-tokens", "10M")
    ok(code == 2 and b"holds out everything" in err, "everything held out", code, err)
    code, out, err = run("prepare", SAMPLE, "-o", "/proc/nothing")
    ok(code == 1 and err.count(b"\n") == 1, "a folder that cannot be made", code, err)


def damaged():
    bad = [DATA / "bad/good.parquet", DATA / "bad/page_damaged.parquet"]
    fresh()
    code, out, err = prepare(*bad)
    ok(code == 1 and b"page_damaged.parquet" in err, "it stops at a damaged piece and names it", err)
    equal(list((WORK / "out").glob("*.bin")), [], "and nothing of it has a final name")
    code, out, err = prepare(*bad, "--on-error", "skip", folder="skip")
    j = manifest("skip")
    ok(code == 0 and len(j["left_out"]) >= 1 and "page_damaged" in j["left_out"][0]["cause"],
       "on_error=skip lists what it left out", err, j["left_out"])
    fresh("skip")


def damaged_tasks(*options, index=False):
    """Tasks of which some meet damage that the others do not know of."""
    folder = WORK / "partly"
    fresh("partly").mkdir()
    for i, f in enumerate([SAMPLE / "000_00000.parquet", DATA / "bad/page_damaged.parquet", SAMPLE / "000_00001.parquet",
                           DATA / "bad/good.parquet", DATA / "bad/page_damaged.parquet", SAMPLE / "000_00002.parquet"]):
        shutil.copy(f, folder / ("%03d_00000.parquet" % i))
    words = [folder, "--on-error", "skip", "--shard-tokens", 20000, *options]
    fresh("whole")
    code, _, err = prepare(*words, folder="whole")
    ok(code == 0 and len(manifest("whole")["left_out"]) == 2, "two damaged pieces: %s" % (options,), err)
    fresh()
    words += ["--cache", WORK / "cold"]
    fresh("cold")
    if index:
        for i in range(3):
            code, _, err = run("index", *words[:3], *options, "--cache", WORK / "cold", "--task", "%d/3" % i)
            ok(code == 0, "index --task %d/3 passes over them" % i, err)
    # The last task ends before the first one finds damage: it must be run once more.
    for i in (2, 1, 0):
        code, _, err = prepare(*words, "--task", "%d/3" % i)
        ok(code == 0, "task %d/3 goes on behind damage" % i, err)
    code, _, err = prepare(*words, "--join")
    if not index:
        ok(code == 1 and b"run all tasks again" in err, "--join knows what does not fit", code, err)
        for i in range(3):
            prepare(*words, "--task", "%d/3" % i)
        code, _, err = prepare(*words, "--join")
    ok(code == 0 and snapshot("out") == snapshot("whole"), "and the result is that of one process", code, err)


def damaged_tokens():
    """The same of token files, where the neighbours of a damaged piece share their tokens with it."""
    source = fresh("ids")
    source.mkdir()
    rng = random.Random(1)
    for name, n, bad in (("a.bin", 4200000, (1100000, 3300000)), ("b.bin", 2500000, (2100000,)), ("c.bin", 1000, ())):
        ids = array.array("H", (rng.randrange(50257) for _ in range(n)))
        for i in bad:
            ids[i] = 60000
        (source / name).write_bytes(ids.tobytes())
    for more in (["--target-tokens", "4M"], ["--format", "llmc", "--val-tokens", "1500000"]):
        words = [source, "--on-error", "skip", "--shard-tokens", 300000, *more]
        fresh("whole")
        prepare(*words, folder="whole")
        fresh()
        codes = []
        for i in (2, 0, 1, 2, 0, 1):
            codes.append(prepare(*words, "--task", "%d/3" % i)[0])
        code, _, err = prepare(*words, "--join")
        ok(codes + [code] == [0] * 7 and snapshot("out") == snapshot("whole"), "damaged ids and tasks: %s" % more, err)
    shutil.rmtree(source)


def tasks(n):
    words = [SAMPLE, "--shard-tokens", 30000, "--val-tokens", 60000]
    fresh("whole")
    prepare(*words, folder="whole")
    want = snapshot("whole")
    fresh()
    for i in reversed(range(n)):
        if i != 1:
            code, _, err = prepare(*words, "--task", "%d/%d" % (i, n))
            ok(code == 0, "task %d/%d" % (i, n), err)
    code, _, err = prepare(*words, "--join")
    ok(code == 1 and b"missing" in err and b"train_000002" in err, "--join names the shards that are missing", err)
    env = dict(os.environ, SLURM_ARRAY_TASK_ID="5", SLURM_ARRAY_TASK_COUNT=str(n), SLURM_ARRAY_TASK_MIN="4")
    code, _, err = prepare(*words, env=env)
    ok(code == 0, "a task of a Slurm array that begins at 4", err)
    code, _, err = prepare(*words, "--join")
    ok(code == 0, "--join", err)
    equal(snapshot("out"), want, "the output does not depend on the number of tasks")
    wrong = []
    for attempt in range(5):
        fresh()
        at_once = [subprocess.Popen([FINEWEB, "prepare", *map(str, words), "-o", str(WORK / "out"), "-q", "--task",
                                     "%d/5" % i], stderr=subprocess.PIPE) for i in range(5)]
        wrong += [e for p in at_once for e in [p.communicate()[1]] if p.returncode != 0]
        code, _, err = prepare(*words, "--join")
        if code != 0 or snapshot("out") != want:
            wrong.append(err)
    equal(wrong, [], "tasks that begin at the same time")
    fresh()
    code, _, err = prepare(JSONL, "--task", "0/2", "--cache", WORK / "cold")
    ok(code == 2 and b"fineweb index --task 0/2" in err, "where counts cost tokenising, it says to count first", err)
    words = [JSONL, "--shard-tokens", 30000]
    for i in range(2):
        run("index", JSONL, "--task", "%d/2" % i)
    fresh("whole")
    prepare(*words, folder="whole")
    fresh()
    for i in range(2):
        env = dict(os.environ, JOB_COMPLETION_INDEX=str(i), JOB_COMPLETIONS="2")
        prepare(*words, env=env)
    code, _, err = prepare(*words, "--join")
    ok(code == 0 and snapshot("out") == snapshot("whole"), "an indexed job of Kubernetes, after index", err)
    for wrong in ("2/2", "x", "1/0", "-1/2"):
        code, _, err = prepare(*words, "--task", wrong)
        ok(code == 2, "--task %s is usage" % wrong, err)


def served():
    """A prepared folder serves the batches of its source."""
    wrong, compared = [], 0
    for entry in batches():
        o = options_of(entry)
        if "fail" in o.get("on_error", "fail") and any("bad/" in s for s in entry["source"]):
            continue
        fresh()
        given = ["--%s=%s" % (k.replace("_", "-"), o[k]) for k in ("seq_len", "val_tokens", "eos", "on_error") if k in o]
        code, _, err = prepare(*sources(entry), *given, "--shard-tokens", 33333, "--format", "llmc")
        if code != 0:
            wrong.append((entry["source"], err))
            continue
        for path, want in list(entry["sha256"].items())[::3]:
            view, rank, batch = path.split("/")[-3:]
            words = ["--val"] if view == "val" else []
            options = dict(o)
            if view != "val" and view != "epoch_" + o.get("epoch", "0"):
                options.pop("start", None)
                options["epoch"] = view[6:]
            code, out, err = run("cat", WORK / "out", "-o", ",".join("%s=%s" % x for x in options.items()), "--rank",
                                 rank[5:], "--batch", int(batch[6:-4]), *words)
            compared += 1
            if (hashlib.sha256(out).hexdigest() if code == 0 else "EBADMSG") != want:
                wrong.append((entry["source"], entry["options"], path, err))
    equal(wrong[:4], [], "a prepared folder serves the batches of its source (%d compared)" % compared)
    code, _, err = run("cat", WORK / "out", "--tokenizer", "cl100k", "--bos", "1")
    ok(code == 2 and b"was prepared with tokenizer=gpt2" in err, "and refuses another tokenizer", code, err)
    for path in (WORK / "out").glob("*.bin"):
        path.write_bytes(path.read_bytes()[:-2])
    code, _, err = run("cat", WORK / "out", "-o", entry["options"])
    ok(code == 1 and b"fineweb_" in err and b"bytes, not" in err, "a shard that is shorter is named", code, err)


def again():
    """A prepared folder is a source as well."""
    fresh("other")
    prepare(SAMPLE, "--shard-tokens", 50000, folder="other")
    want = stream("other")
    fresh()
    code, _, err = prepare(WORK / "other", "--format", "npy")
    ok(code == 0 and stream("out", 128) == want, "a prepared folder is prepared in another form", err)


tasks(2)
damaged_tasks()
verify()
damaged_tokens()
