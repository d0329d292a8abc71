#!/bin/sh
# tests/bench/prepare.sh [BUILD-FOLDER] [MEGABYTES]: `fineweb prepare` against the usual Python ways, on the same text and CPUs.
#
# The text is the test data again and again (default 200 MB of JSON lines), in /tmp. Beside it: the tokenizer alone, times
# CPUs, which prepare should come near; the way of nanoGPT's and build-nanogpt's preparation scripts, tiktoken in a pool of
# processes; and the course guide's own loop, one process with the GPT2 tokenizer of Hugging Face. What is not installed in
# the python3 that runs first is left out.
set -eu
build=${1:-build}
size=${2:-200}
top=$(cd "$(dirname "$0")/../.." && pwd)
program=$build/fineweb
[ -x "$program" ] || { echo "no program at $program" >&2; exit 1; }
data=$top/tests/data/jsonl/plain
tmp=$(mktemp -d "${TMPDIR:-/tmp}/fineweb.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
FINEWEB_CACHE=$tmp/cache
FINEWEB_CONFIG=/dev/null
export FINEWEB_CACHE FINEWEB_CONFIG
exec python3 - "$program" "$data" "$tmp" "$size" <<'P'
import glob, json, multiprocessing, os, subprocess, sys, time

program, data, tmp, size = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]) * 1000000
cpus = len(os.sched_getaffinity(0))
lines = b"".join(open(f, "rb").read() for f in sorted(glob.glob(data + "/*.jsonl"))).splitlines(True)
source = tmp + "/source"
os.mkdir(source)
files = max(2 * cpus, 4)
text = documents = 0
for f in range(files):
    with open("%s/%03d.jsonl" % (source, f), "wb") as out:
        done = i = 0
        while done < size // files:
            # No two documents are the same, as in a dataset.
            j = json.loads(lines[(i + f) % len(lines)])
            j["text"] = "%d %d. %s" % (f, i, j["text"])
            line = json.dumps(j, ensure_ascii=False).encode() + b"\n"
            out.write(line)
            done += len(line)
            i += 1
            text += len(j["text"].encode())
            documents += 1
rows = []


def measure(name, run, times=3):
    best = None
    for _ in range(times):
        begun = time.monotonic()
        tokens = run()
        best = min(best or 1e9, time.monotonic() - begun)
    rows.append((name, tokens, best))


def prepare():
    subprocess.run(["rm", "-rf", tmp + "/out"], check=True)
    subprocess.run([program, "prepare", source, "-o", tmp + "/out", "-q", "--threads", str(cpus)], check=True)
    return json.load(open(tmp + "/out/dataset.json"))["tokens"]


def encode():
    with open(tmp + "/text", "rb") as f:
        out = subprocess.run([program, "encode", "--count"], stdin=f, capture_output=True, check=True).stdout
    return int(out.split()[0])


def texts():
    for f in sorted(glob.glob(source + "/*")):
        for line in open(f, encoding="utf-8"):
            yield json.loads(line)["text"]


def tokenize(doc):
    import numpy as np
    ids = [encoding._special_tokens["<|endoftext|>"]]
    ids.extend(encoding.encode_ordinary(doc))
    return np.array(ids, dtype=np.uint16)


measure("fineweb prepare", prepare)
with open(tmp + "/text", "w", encoding="utf-8") as f:
    for n, doc in enumerate(texts()):
        f.write(doc)
        if n > documents // cpus:
            break
part = os.path.getsize(tmp + "/text") / text
measure("fineweb's tokenizer, one CPU", encode)
name, tokens, seconds = rows.pop()
rows.append(("fineweb's tokenizer, %d CPUs" % cpus, tokens * cpus, seconds))
try:
    import numpy, tiktoken
    try:
        encoding = tiktoken.get_encoding("gpt2")
    except Exception:
        import base64
        ranks = {base64.b64decode(t): int(r) for t, r in
                 (l.split() for l in open(os.environ["TIKTOKEN"], "rb") if l.strip())}
        encoding = tiktoken.Encoding(
            "gpt2", pat_str=r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
            mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})

    def pool():
        n = 0
        with multiprocessing.Pool(cpus) as p, open(tmp + "/pool.bin", "wb") as out:
            for ids in p.imap(tokenize, texts(), chunksize=16):
                out.write(ids.tobytes())
                n += len(ids)
        return n

    measure("tiktoken, pool of %d (build-nanogpt)" % cpus, pool, 1)
    same = open(tmp + "/pool.bin", "rb").read() == b"".join(
        open(f, "rb").read() for f in sorted(glob.glob(tmp + "/out/*.bin")))
    print("tiktoken's bytes are %s" % ("the same" if same else "DIFFERENT"))
except (ImportError, KeyError, OSError) as e:
    print("without tiktoken: %s (TIKTOKEN= may name r50k_base.tiktoken)" % e)
try:
    from transformers import GPT2TokenizerFast
    hf = GPT2TokenizerFast.from_pretrained("gpt2")

    def loop():
        return sum(1 + len(hf.encode(doc)) for doc in texts())

    measure("GPT2TokenizerFast, one loop (the guide)", loop, 1)
except Exception as e:
    print("without the guide's loop: %s" % str(e).splitlines()[0])
first = rows[0]
print("%d documents, %.0f MB of text, %d CPUs" % (documents, text / 1e6, cpus))
print("%-42s %12s %10s %8s" % ("", "tokens/s", "MB/s", "ratio"))
for name, tokens, seconds in rows:
    speed = tokens / seconds
    print("%-42s %12.0f %10.1f %8.2f" % (name, speed, speed * text / first[1] / 1e6, first[1] / first[2] / speed))
P
