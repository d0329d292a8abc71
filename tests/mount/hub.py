"""Mounts data sets of a small Hub (tests/hubserver.py) and compares with expected/batches.json."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

from expect import ENTRIES, entry
from tap import DATA, FINEWEB, TMP, Mount, code, digest, equal, ok, read, say, skip, until

ROOT, CONTROL, LOG = TMP / "hub", TMP / "hub.control", TMP / "hub.log"
NONE = "world_size=1,batch_size=8,seq_len=256,seed=42,shuffle=none"
TOKEN = "hf_aTokenThatNobodyMaySee"
CARD = """---
license: odc-by
configs:
- config_name: default
  data_files:
  - split: train
    path: data/*/*
- config_name: sample-10BT
  data_files:
  - split: train
    path: sample/10BT/*
- config_name: parts
  data_files:
  - split: train
    path: "sample/**/*_00000.parquet"
  - split: test
    path: ["sample/10BT/000_00001.parquet", "sample/10BT/000_0000[2-3].parquet"]
---
# FineWeb
"""
number = 0


@contextlib.contextmanager
def server():
    LOG.write_text("")
    control("")
    here = os.path.dirname(os.path.abspath(__file__))
    p = subprocess.Popen([sys.executable, os.path.join(here, "../hubserver.py"), str(ROOT), "--page", "3", "--control", str(CONTROL),
                          "--log", str(LOG), "--private", "org/private=" + TOKEN, "--gated", "org/gated=" + TOKEN, "--with-parent"],
                         stdout=subprocess.PIPE, text=True)
    os.environ["HF_ENDPOINT"] = "http://127.0.0.1:" + p.stdout.readline().split()[1]
    p.stdout.readline()
    try:
        yield p
    finally:
        p.kill()
        p.wait()


def control(text):
    CONTROL.write_text(text + "\n")


def requests():
    return [line.split("\t") for line in LOG.read_text().splitlines()]


def asked(where="hub", what=""):
    return [r for r in requests() if r[4] == where and what in r[1]]


def fresh():
    global number
    number += 1
    path = TMP / ("hubcold%d" % number)
    path.mkdir()
    return "cache=%s" % path


def make():
    for name in ("fw", "private", "gated"):
        (ROOT / "org" / name).mkdir(parents=True)
    for part in ("sample", "data"):
        shutil.copytree(DATA / part, ROOT / "org/fw" / part)
    (ROOT / "org/fw/README.md").write_text(CARD)
    for name in ("private", "gated"):
        shutil.copytree(DATA / "sample", ROOT / "org" / name / "sample")
    shutil.copytree(DATA / "split", ROOT / "org/split")
    shutil.copytree(DATA / "jsonl", ROOT / "org/jsonl")


def wrong(m, expected):
    return ["%s: %s" % (p, have) for p, want in expected.items() if (have := digest(m / p)) != want]


def refused(sources, options, *words, **env):
    """The mount fails, and all words stand in what it says."""
    try:
        with Mount(sources, options, timeout=60, **env):
            return "it is mounted"
    except RuntimeError as e:
        return "" if all(w in str(e) for w in words) and TOKEN not in str(e) else str(e)


def batches():
    """Every way to name sample/10BT gives its batches."""
    for e in ENTRIES:
        if e["source"] == ["sample/10BT"]:
            with Mount(["hf://datasets/org/fw"], e["options"] + ",name=sample-10BT") as m:
                w = wrong(m, e["sha256"])
                ok(not w, "hf://, name=sample-10BT: %s" % e["options"], *w[:5])
    want = entry("sample/10BT", NONE)["sha256"]
    for what, source in (("a folder", "org/fw/sample/10BT"), ("a glob", "org/fw@main/sample/*/000_*.parquet")):
        with Mount(["hf://datasets/" + source], NONE) as m:
            ok(not wrong(m, want), "hf:// with %s behind it: the same batches" % what)
    files = ["hf://datasets/org/fw/sample/10BT/000_0000%d.parquet" % i for i in range(4)]
    with Mount(files, NONE) as m:
        ok(not wrong(m, want), "hf:// with files behind it: the same batches")
    ok(all(r[5] == "-" for r in requests()), "no token is shown where there is none")


def choices():
    """The files that the card or the names choose, in the order of their names."""
    def files(source, options):
        with Mount([source], NONE.replace("batch_size=8", "batch_size=1") + "," + options + "," + fresh()) as m:
            return m.dataset()["tokens"]

    def local(*names):
        with Mount([DATA / n for n in names], NONE.replace("batch_size=8", "batch_size=1")) as m:
            return m.dataset()["tokens"]

    s = ["sample/10BT/000_0000%d.parquet" % i for i in range(4)]
    fw = "hf://datasets/org/fw"
    equal(files(fw, "name=parts"), local(s[0]), "name=parts, split=train by default")
    equal(files(fw, "name=parts,split=test"), local(*s[1:]), "name=parts, split=test")
    equal(files(fw, "split=train"), local("data"), "without name: the default configuration")
    equal(files("hf://datasets/org/split", "tokenizer=gpt2"), local("split"), "without a card: the names' split words")
    equal(refused([fw], "name=other", "name=other", "sample-10BT", "parts"), "", "a name that is not there: those that are, are listed")
    equal(refused([fw], "name=parts,split=validation", "validation", "train", "test"), "", "a split that is not there: likewise")
    equal(refused([fw + "/nothing"], "", "nothing"), "", "a folder that is not there")
    equal(refused(["hf://datasets/org/none"], "", "org/none"), "", "a data set that is not there")
    equal(refused([fw + "@nonesuch"], "", "nonesuch"), "", "a revision that is not there")
    equal(refused(["hf://models/org/fw"], "", "hf://datasets/"), "", "what is no data set")
    equal(refused([fw + "/sample"], "name=parts", "name=parts"), "", "name= and a path do not go together")


def signed():
    """One question to the Hub for a file, not for a range; anew when the signature is over, and once when it is refused."""
    want = entry("sample/10BT", NONE)["sha256"]
    LOG.write_text("")
    with Mount(["hf://datasets/org/fw/sample/10BT"], NONE + "," + fresh()) as m:
        ok(not wrong(m, want), "batches with signed URLs")
        n = len(asked("hub", "/resolve/"))
        ok(n <= 4, "four files, at most four questions where they are", n)
        ok(len(asked("storage")) > 4, "and more ranges", len(asked("storage")))
    LOG.write_text("")
    with Mount(["hf://datasets/org/fw/sample/10BT"], NONE + "," + fresh() + ",block=1") as m:
        digest(m / "rank_0/batch_0000.bin")
        control("revoke 1")
        ok(not wrong(m, want), "signatures that are refused are renewed")
        ok(len([r for r in asked("storage") if r[3] == "403"]) <= 4 + 2, "each once", *asked("storage"))
        ok(len(asked("hub", "/resolve/")) <= 8, "with one more question for each file", len(asked("hub", "/resolve/")))
    control("")
    with Mount(["hf://datasets/org/fw/sample/10BT"], NONE + "," + fresh() + ",block=1") as m:
        digest(m / "rank_0/batch_0000.bin")
        control("storage other")
        ok(not wrong(m, want), "another ETag of the storage alone is no other file")
    control("")


def changed():
    """Another file behind the same commit is ESTALE, whatever signs it."""
    with Mount(["hf://datasets/org/fw/sample/10BT"], NONE + "," + fresh() + ",block=1,retry=2") as m:
        begun = digest(m / "rank_0/batch_0000.bin")
        control("revoke 1\nlinked other")
        last = "rank_0/batch_%04d.bin" % (entry("sample/10BT", NONE)["counts"]["batches"] - 1)
        equal(code(read, m / last), "ESTALE", "a file that the Hub calls another one now is ESTALE")
        equal(digest(m / "rank_0/batch_0000.bin"), begun, "what is cached stays")
    control("")


def tokens():
    private = "hf://datasets/org/private"
    want = entry("sample/10BT", NONE)["sha256"]
    equal(refused([private], NONE, "org/private", "no token"), "", "a private data set without a token: says so")
    equal(refused([private], NONE, "org/private", "token that was sent", HF_TOKEN="hf_wrong"), "", "with a wrong token: says so")
    equal(refused(["hf://datasets/org/gated"], NONE, "org/gated", "restricted", HF_TOKEN="hf_wrong"), "", "gated: what the Hub says")
    (TMP / "home/hf").mkdir(parents=True, exist_ok=True)
    (TMP / "home/hf/token").write_text(TOKEN + "\n")
    ways = (("HF_TOKEN", {"HF_TOKEN": TOKEN}), ("HF_TOKEN_PATH", {"HF_TOKEN_PATH": str(TMP / "home/hf/token")}),
            ("HF_HOME", {"HF_HOME": str(TMP / "home/hf")}))
    for what, env in ways:
        LOG.write_text("")
        with Mount([private], NONE + "," + fresh(), foreground=True, **env) as m:
            ok(not wrong(m, want), "a private data set with %s" % what)
            ok(all(r[5] == "token" for r in asked("hub")) and all(r[5] == "-" for r in asked("storage")),
               "%s: the Hub is shown the token, the storage is not" % what, *requests()[:20])
            pid = m.process.pid
            shown = [m.log.read_text(), read(m / "stats.json").decode(), read(m / "dataset.json").decode(), read(m / "README.txt").decode(),
                     open("/proc/%d/cmdline" % pid).read(), open("/proc/%d/environ" % pid).read()]
            ok(not any(TOKEN in s for s in shown), "%s: the token is in no file, no log, no command line and no environment" % what)
            ok("Signature" not in shown[0], "%s: nor is a signature" % what)
            limits = open("/proc/%d/status" % pid).read()
            owner = os.stat("/proc/%d/environ" % pid).st_uid
            ok(owner == 0 and "CoreDumping" in limits, "%s: the process is not dumpable" % what)


def environment():
    """What the kernel shows of a process's environment is the memory in which it was given, whatever the program does later."""
    private = "hf://datasets/org/private"
    secrets = {"HF_TOKEN": TOKEN, "AWS_SECRET_ACCESS_KEY": "aKeyThatNobodyMaySee", "AWS_SESSION_TOKEN": "aSessionThatNobodyMaySee"}
    with Mount([private], NONE + "," + fresh(), **secrets) as m:
        daemon = [p for p in os.listdir("/proc") if p.isdigit() and str(m.path).encode() in cmdline(p)]
        ok(len(daemon) == 1 and "HOME=" in environ(daemon[0]), "a daemon, and its environment", daemon)
        ok(not any(s in environ(p) for p in daemon for s in secrets.values()), "a daemon shows no token and no key in its environment")
    with subprocess.Popen([FINEWEB, "cat", private, "--batch", "0-", "-o", NONE + "," + fresh()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, **secrets}) as p:
        begun = p.stdout.read(1)
        shown = environ(p.pid)
        ok(begun and "HOME=" in shown and not any(s in shown for s in secrets.values()), "nor does fineweb cat, which uses it", shown)
        p.kill()


def cmdline(pid):
    try:
        with open("/proc/%s/cmdline" % pid, "rb") as f:
            return f.read()
    except OSError:
        return b""


def environ(pid):
    with open("/proc/%s/environ" % pid) as f:
        return f.read()


def limits():
    want = entry("sample/10BT", NONE)["sha256"]
    LOG.write_text("")
    control("limit 1 2")
    begun = time.monotonic()
    with Mount(["hf://datasets/org/fw/sample/10BT"], NONE + "," + fresh()) as m:
        ok(time.monotonic() - begun >= 1.9, "429 with RateLimit: the mount waits as long as it is told", time.monotonic() - begun)
        equal(len([r for r in requests() if r[3] == "429"]), 1, "and asks only once")
        ok(not wrong(m, want), "then the batches are right")
    control("")


def pins():
    """What is mounted first stays until repin, also when the Hub is away."""
    source, cache = ["hf://datasets/org/fw/sample/10BT"], fresh()
    want = entry("sample/10BT", NONE)["sha256"]
    readme = ROOT / "org/fw/README.md"
    with Mount(source, NONE + "," + cache) as m:
        first = m.dataset()
        ok(not wrong(m, want), "the first mount")
        pinned = first["source"][0]
        ok(pinned.startswith("hf://datasets/org/fw@") and pinned.endswith("/sample/10BT"), "dataset.json has the exact source", pinned)
    moved = ROOT / "org/fw/sample/10BT/000_00003.parquet"
    moved.rename(ROOT / "moved.parquet")
    LOG.write_text("")
    with Mount(source, NONE + "," + cache) as m:
        again = m.dataset()
        equal((again["source"], again["fingerprint"]), (first["source"], first["fingerprint"]), "another commit: the first one stays")
        ok(not wrong(m, want), "with its batches")
        equal([r for r in requests() if r[4] == "hub"], [], "and nothing is asked of the Hub")
    with Mount(source, NONE + "," + cache, HF_HUB_OFFLINE="1") as m:
        ok(not wrong(m, want), "HF_HUB_OFFLINE: what is remembered and cached is read")
    with Mount(source, NONE + "," + cache + ",repin") as m:
        ok(m.dataset()["source"] != first["source"], "repin: the new commit", m.dataset()["source"])
        ok(wrong(m, want), "with other batches")
    with Mount(source, NONE + "," + cache) as m:
        ok(m.dataset()["source"] != first["source"], "which stays in turn")
    with Mount([pinned], NONE + "," + fresh() + ",fingerprint=" + first["fingerprint"]) as m:
        ok(not wrong(m, want), "the exact source on another node: the same fingerprint and batches")
    (ROOT / "moved.parquet").rename(moved)
    why = refused(source, NONE + ",ready_timeout=3," + fresh(), "HF_HUB_OFFLINE", HF_HUB_OFFLINE="1")
    equal(why, "", "HF_HUB_OFFLINE and nothing remembered: says so")
    return source, cache, want


def away(source, cache, want):
    with Mount(source, NONE + "," + cache + ",repin") as m:
        ok(not wrong(m, want), "mounted anew")


def gone(source, cache, want):
    """No server at all."""
    with Mount(source, NONE + "," + cache) as m:
        ok(not wrong(m, want), "the Hub is away: what is remembered and cached is read")
    begun = time.monotonic()
    why = refused(["hf://datasets/org/fw"], NONE + ",ready_timeout=3," + fresh(), "hf://datasets/org/fw")
    equal(why, "", "the Hub is away and nothing is remembered: fails, and names the source")
    ok(time.monotonic() - begun < 15, "within ready_timeout", time.monotonic() - begun)


def real():
    """huggingface_hub and datasets list and read from the server what is mounted."""
    python = os.environ.get("PYTHON_PEERS") or sys.executable
    program = """
import hashlib, json, sys
from datasets import load_dataset
from huggingface_hub import HfApi
out = {"tree": sorted((f.path, f.size) for f in HfApi().list_repo_tree("org/fw", repo_type="dataset", recursive=True)
                      if hasattr(f, "size") and hasattr(f, "blob_id"))}
for name, split in ((None, "train"), ("sample-10BT", "train"), ("parts", "train"), ("parts", "test")):
    rows = load_dataset("org/fw", name=name, split=split, streaming=True)
    out["%s %s" % (name, split)] = [r["text"] for r in rows]
rows = load_dataset("org/jsonl", data_dir="plain", split="train", streaming=True)
json.dump(out, sys.stdout)
"""
    env = {**os.environ, "HF_HOME": str(TMP / "hfhome"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    p = subprocess.run([python, "-c", program], env=env, capture_output=True, text=True, timeout=240)
    if p.returncode and "No module named" in p.stderr:
        return skip("the real datasets reads what is mounted", "no Python with datasets (sh tests/run.sh --peers)")
    if p.returncode:
        return ok(False, "the real datasets reads the server", p.stderr[-2000:])
    have = json.loads(p.stdout)
    sizes = sorted([str(f.relative_to(ROOT / "org/fw")), f.stat().st_size] for f in (ROOT / "org/fw").rglob("*") if f.is_file())
    equal(have["tree"], sizes, "huggingface_hub lists the server's files over its pages")
    for what, texts in have.items():
        if what == "tree":
            continue
        name, split = what.split()
        options = "counts=exact,bos=50256,seq_len=8,batch_size=1,list=all,split=%s%s" % (split, "" if name == "None" else ",name=" + name)
        with Mount(["hf://datasets/org/fw"], options + "," + fresh()) as m:
            until(20, lambda: m.dataset()["batches"] is not None)
            equal(m.dataset()["documents"], len([t for t in texts if t]), "datasets has as many texts: name=%s, split=%s" % (name, split))
    return None


def main():
    make()
    with server():
        batches()
        choices()
        signed()
        changed()
        tokens()
        environment()
        limits()
        real()
        source, cache, want = pins()
        away(source, cache, want)
    gone(source, cache, want)


main()
say("# end")
