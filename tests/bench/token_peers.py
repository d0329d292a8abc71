#!/usr/bin/env python3
"""How fast texts become GPT-2's ids: ours, and the tokenizers that Python has, in one interleaved run.

usage: token_peers.py BENCH_TOKEN [FILE ...] [rounds=3] [names=ours,gigatoken,...] [whole=1] [instructions=1]

BENCH_TOKEN is the program tests/bench/bench_token. Peers that are installed take part (PyPI: tiktoken gigatoken tokenizers snaptokens tokie
fastokens; tests/bench/tokens.sh installs them); gigatoken-native is the one in the folder $GIGATOKEN_NATIVE. Each round starts every one anew,
one after another, on one thread: cold is its first pass, warm the best of three more; MB per second of CPU time, best and median of the rounds,
and million tokens a second. Texts are cut into documents of 4 KiB at ends of line, with whole=1 not at all. tokens/byte shows whether the ids
differ in number. Without a FILE the texts are those of the tests' data, the sources beside this one, and adversarial ones, which are not cut.
instructions=1 counts those of ours for each byte of warm text with valgrind, which is the same on a busy machine.
"""
import base64
import glob
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = HERE + "/../.."
RANKS = TOP + "/src/token/vocab/r50k_base.tiktoken"
PEERS = ["tiktoken", "tokenizers", "gigatoken", "gigatoken-native", "snaptokens", "tokie", "fastokens"]
SECONDS = 120  # for one peer, one text and one round


def documents(path, whole):
    data, out, at = open(path, "rb").read(), [], 0
    while at < len(data):
        end = len(data) if whole else min(at + 4096, len(data))
        line = -1 if whole else data.rfind(b"\n", at, end)
        end = line + 1 if line >= 0 else end
        out.append(data[at:end].decode("utf-8", "replace"))
        at = end
    return out


def write_json(path):
    """GPT-2's tokenizer.json, from the ranks: a token is made of the two that are left when only its own bytes are encoded."""
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in open(RANKS, "rb"))}
    plain = [b for b in range(256) if 0x21 <= b <= 0x7e or 0xa1 <= b <= 0xac or b >= 0xae]
    letter = {b: chr(b) for b in plain}
    letter.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in letter)})
    name = lambda token: "".join(letter[b] for b in token)
    merges = []
    for token, _ in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [token[i:i + 1] for i in range(len(token))]
        while len(parts) > 2:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        if len(parts) == 2:
            merges.append([name(parts[0]), name(parts[1])])
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
               "post_processor": None, "decoder": level,
               "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
                         "fuse_unk": False, "byte_fallback": False, "vocab": {name(t): r for t, r in ranks.items()},
                         "merges": [" ".join(m) for m in merges]}}, open(path, "w"))


def open_peer(name, path):
    """Two functions: from documents to what it takes, and from that to the number of ids."""
    same = lambda docs: docs
    if name == "tiktoken":
        sys.path.insert(0, TOP + "/tests/token")
        from differential import tiktoken_oracle
        encode = tiktoken_oracle("gpt2", "")
        return same, lambda docs: sum(map(len, encode(docs)))
    if name == "tokenizers":
        from tokenizers import Tokenizer
        t = Tokenizer.from_file(path)
        return same, lambda docs: sum(len(e.ids) for e in t.encode_batch_fast(docs, add_special_tokens=False))
    if name.startswith("gigatoken"):
        import gigatoken
        t = gigatoken.Tokenizer.from_tiktoken(RANKS)
        return (lambda docs: [d.encode() for d in docs]), lambda docs: len(t.encode_batch(docs, parallel=False).layout.content)
    module = __import__(name)
    t = module.Tokenizer.from_json(path) if name == "tokie" else module.Tokenizer.from_file(path)
    count = lambda ids: len(ids) // 4 if isinstance(ids, (bytes, bytearray, memoryview)) else len(ids)
    return same, lambda docs: count(t.encode_batch_flat(docs, add_special_tokens=False)[0])


def peer(name, path, text, whole):
    docs = documents(text, whole == "1")
    size = sum(len(d.encode()) for d in docs)
    limit = {"tokenizers": 3_000_000, "tiktoken": 10_000_000}.get(name)
    while limit and size > limit and len(docs) > 1:
        size -= len(docs.pop().encode())
    # What is loaded at the first call is no part of the first pass.
    open_peer(name, path)[1]([b"x" if name.startswith("gigatoken") else "x"])
    prepare, run = open_peer(name, path)
    docs = prepare(docs)
    speeds = []
    for _ in range(4):
        start = time.process_time()
        tokens = run(docs)
        speeds.append(size / 1e6 / (time.process_time() - start))
    print(json.dumps({"cold": speeds[0], "warm": max(speeds[1:]), "tokens": tokens, "size": size}))


def measure(name, program, path, text, whole):
    environment = dict(os.environ, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    if name == "ours":
        out = subprocess.check_output([program, "-r", "3", "-d", "0" if whole else "4096", "gpt2", text], text=True)
        cold, warm, ratio = (float(x) for x in re.search(r"cold (\S+) MB/s, warm (\S+) MB/s.* (\S+) tokens/byte", out).groups())
        size = os.path.getsize(text)
        return {"cold": cold, "warm": warm, "tokens": round(ratio * size), "size": size}
    if name == "gigatoken-native":
        if not os.environ.get("GIGATOKEN_NATIVE"):
            return None
        environment["PYTHONPATH"] = os.environ["GIGATOKEN_NATIVE"]
    try:
        out = subprocess.run([sys.executable, __file__, "--peer", name, path, text, "1" if whole else "0"], env=environment,
                             capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(out.stdout) if out.returncode == 0 else None


def write_texts(folder):
    """Texts for a run without any: (path, whether they are one document)."""
    r = random.Random(1)
    out = []

    def add(name, text, whole):
        path = f"{folder}/{name}"
        open(path, "w", encoding="utf-8").write(text)
        out.append((path, whole))

    lines = [json.loads(line)["text"] for f in sorted(glob.glob(TOP + "/tests/data/jsonl/plain/*.jsonl")) for line in open(f, encoding="utf-8")]
    add("web", "\n".join(lines), False)
    try:
        from pyarrow import parquet
        rows = [t for f in sorted(glob.glob(TOP + "/tests/data/multilingual/*.parquet")) for t in parquet.read_table(f)["text"].to_pylist()]
        add("multilingual", "\n".join(rows), False)
    except ImportError:
        print("multilingual: no pyarrow")
    sources = sorted(glob.glob(TOP + "/src/*/*.[ch]") + glob.glob(TOP + "/tests/*/*.[ch]") + glob.glob(TOP + "/tests/*/*.py"))
    add("code", "".join(open(f, encoding="utf-8").read() for f in sources if "tables" not in f and "unicode" not in f), False)
    million, letters = 1_000_000, "abcdefghijklmnopqrstuvwxyz"
    add("^ x 1,000,000", "^" * million, True)
    add("spaces", " " * million, True)
    add("newlines", "\n" * million, True)
    add("U+0301", "\u0301" * (million // 2), True)
    add("a x 100,000", "a" * 100_000, True)
    add("random letters", "".join(r.choices(letters, k=100_000)), True)
    add("digits", "".join(r.choices("0123456789", k=million)), True)
    add("hex", r.randbytes(million // 2).hex(), True)
    add("base64", base64.b64encode(r.randbytes(750_000)).decode(), True)
    add("emoji", "".join(chr(r.randrange(0x1F600, 0x1F650)) for _ in range(million // 8)), True)
    add("words seen once", " ".join("".join(r.choices(letters, k=r.randrange(4, 14))) for _ in range(100_000)), True)
    return out


def table(program, path, text, whole, options):
    names = options["names"].split(",") if "names" in options else ["ours"] + PEERS
    results = {n: [] for n in names}
    for _ in range(int(options.get("rounds", 3))):
        for n in names:
            got = measure(n, program, path, text, whole)
            if got:
                results[n].append(got)
    counted = ""
    if options.get("instructions") == "1":
        out = subprocess.run(["sh", HERE + "/instructions.sh", program, text], capture_output=True, text=True)
        counted = f", ours {out.stdout.split()[2]} instructions/byte warm" if out.returncode == 0 and out.stdout else ""
    print(f"{os.path.basename(text)}, {os.path.getsize(text) / 1e6:.1f} MB{counted}")
    for n, rows in results.items():
        if not rows:
            print(f"  {n:16} not there")
            continue
        cold, warm = [r["cold"] for r in rows], [r["warm"] for r in rows]
        ratio = rows[0]["tokens"] / rows[0]["size"]
        print(f"  {n:16} cold {max(cold):6.1f} ({statistics.median(cold):6.1f})  warm {max(warm):6.1f} ({statistics.median(warm):6.1f}) MB/s"
              f"  {max(warm) * ratio:6.1f} Mtokens/s  {ratio:.4f} tokens/byte", flush=True)


def main():
    options = dict(a.split("=", 1) for a in sys.argv[2:] if "=" in a)
    files = [a for a in sys.argv[2:] if "=" not in a]
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/gpt2.json"
        write_json(path)
        print("best (median) of the rounds, CPU time of one thread")
        for text, whole in [(f, options.get("whole") == "1") for f in files] or write_texts(folder):
            table(sys.argv[1], path, text, whole, options)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:])
    else:
        main()
