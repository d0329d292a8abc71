#!/usr/bin/env python3
"""How fast texts become GPT-2's ids: ours, and the tokenizers that Python has, in one interleaved run.

usage: token_peers.py BENCH_TOKEN FILE ... [rounds=3] [names=ours,gigatoken,...] [json=GPT2_TOKENIZER_JSON]

BENCH_TOKEN is the program tests/bench/bench_token. Peers that are installed take part (PyPI: tiktoken gigatoken tokenizers snaptokens tokie
fastokens); those that read a tokenizer.json only with json=. Each round starts every one anew, one after another, on one thread: cold is its
first pass, warm the best of three more; MB per second of CPU time, best and median of the rounds. Texts are cut into documents of 4 KiB at
ends of line. tokens/byte shows whether the ids differ in number.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
RANKS = HERE + "/../../src/token/vocab/r50k_base.tiktoken"
PEERS = ["tiktoken", "tokenizers", "gigatoken", "snaptokens", "tokie", "fastokens"]
NEED_JSON = {"tokenizers", "snaptokens", "tokie", "fastokens"}


def documents(path):
    data, out, at = open(path, "rb").read(), [], 0
    while at < len(data):
        end = min(at + 4096, len(data))
        line = data.rfind(b"\n", at, end)
        end = line + 1 if line >= 0 else end
        out.append(data[at:end].decode("utf-8", "replace"))
        at = end
    return out


def open_peer(name, path):
    """A function from documents to the number of ids."""
    if name == "tiktoken":
        sys.path.insert(0, HERE + "/../token")
        from differential import tiktoken_oracle
        encode = tiktoken_oracle("gpt2", "")
        return lambda docs: sum(map(len, encode(docs)))
    if name == "tokenizers":
        from tokenizers import Tokenizer
        t = Tokenizer.from_file(path)
        return lambda docs: sum(len(e.ids) for e in t.encode_batch_fast(docs, add_special_tokens=False))
    if name == "gigatoken":
        import gigatoken
        t = gigatoken.Tokenizer.from_tiktoken(RANKS)
        return lambda docs: len(t.encode_batch([d.encode() for d in docs], parallel=False).layout.content)
    module = __import__(name)
    t = module.Tokenizer.from_json(path) if name == "tokie" else module.Tokenizer.from_file(path)
    count = lambda ids: len(ids) // 4 if isinstance(ids, (bytes, bytearray, memoryview)) else len(ids)
    return lambda docs: count(t.encode_batch_flat(docs, add_special_tokens=False)[0])


def peer(name, path, text):
    docs = documents(text)
    size = sum(len(d.encode()) for d in docs)
    limit = {"tokenizers": 3_000_000, "tiktoken": 10_000_000}.get(name)
    while limit and size > limit:
        size -= len(docs.pop().encode())
    # What is loaded at the first call is no part of the first pass.
    open_peer(name, path)(["x"])
    run = open_peer(name, path)
    speeds = []
    for _ in range(4):
        start = time.process_time()
        tokens = run(docs)
        speeds.append(size / 1e6 / (time.process_time() - start))
    print(json.dumps({"cold": speeds[0], "warm": max(speeds[1:]), "tokens": tokens, "size": size}))


def measure(name, program, path, text):
    environment = dict(os.environ, RAYON_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")
    if name == "ours":
        out = subprocess.check_output([program, "-r", "3", "gpt2", text], text=True)
        cold, warm, ratio = (float(x) for x in re.search(r"cold (\S+) MB/s, warm (\S+) MB/s.* (\S+) tokens/byte", out).groups())
        size = os.path.getsize(text)
        return {"cold": cold, "warm": warm, "tokens": round(ratio * size), "size": size}
    out = subprocess.run([sys.executable, __file__, "--peer", name, path, text], env=environment, capture_output=True, text=True)
    return json.loads(out.stdout) if out.returncode == 0 else None


def main():
    options = dict(a.split("=", 1) for a in sys.argv[2:] if "=" in a)
    files = [a for a in sys.argv[2:] if "=" not in a]
    if not files:
        sys.exit(__doc__)
    path = options.get("json", "")
    names = options["names"].split(",") if "names" in options else ["ours"] + [p for p in PEERS if path or p not in NEED_JSON]
    for text in files:
        results = {n: [] for n in names}
        for _ in range(int(options.get("rounds", 3))):
            for n in names:
                got = measure(n, sys.argv[1], path, text)
                if got:
                    results[n].append(got)
        print(f"{os.path.basename(text)}, {os.path.getsize(text) / 1e6:.1f} MB: best (median) MB/s of CPU time")
        for n, rows in results.items():
            if not rows:
                print(f"  {n:12} not there")
                continue
            cold, warm = [r["cold"] for r in rows], [r["warm"] for r in rows]
            print(f"  {n:12} cold {max(cold):6.1f} ({statistics.median(cold):6.1f})  warm {max(warm):6.1f} ({statistics.median(warm):6.1f})  "
                  f"{rows[0]['tokens'] / rows[0]['size']:.4f} tokens/byte", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        peer(*sys.argv[2:])
    else:
        main()
