"""prepare.py BUILD-FOLDER SCRATCH MEGABYTES [TEXT]: called by prepare.sh.

Rows of the table; all read the same files, and write ids to disk:
- fineweb prepare: of Parquet as FineWeb is (snappy, 1000 rows a row group), of the same without compression, of JSON lines.
- the tokenizer alone: bench_token -0, as many threads, the same documents in memory, nothing else.
- nanoGPT: datasets.map(encode_ordinary, num_proc), then one memmap (data/openwebtext/prepare.py).
- build-nanogpt: a pool of processes with tiktoken, imap over the documents, shards as they fill (fineweb.py).
- datatrove: ParquetReader and DocumentTokenizer in LocalPipelineExecutor, as many tasks and workers.
- the course guide: documents one after another through the GPT2 tokenizer of Hugging Face, a shard when it is full.
Slow ones take the first of the files only: the table says which part. A tokenizer.json is made of the vocabulary that
fineweb ships.
"""
import base64
import json
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

BUILD, TMP, SIZE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(float(sys.argv[3]) * 1e6)
TOP = pathlib.Path(__file__).resolve().parent.parent.parent
RANKS = TOP / "src/token/vocab/r50k_base.tiktoken"
CPUS = len(os.sched_getaffinity(0))
FILES = 8 * CPUS
EOT = 50256
MISSING = []
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"

try:
    import numpy
    import tiktoken
    ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in RANKS.read_bytes().splitlines() if line)}
    ENCODING = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": EOT})
except ImportError as e:
    numpy = ENCODING = None
    MISSING.append("nanoGPT's and build-nanogpt's way: %s" % e)
try:
    import pyarrow
    import pyarrow.parquet
except ImportError as e:
    pyarrow = None
    MISSING.append("Parquet: %s" % e)


# ---- the text ----

def documents():
    """SIZE bytes of documents, no two the same, as in a data set."""
    if len(sys.argv) > 4:
        whole = pathlib.Path(sys.argv[4]).read_text(errors="replace").replace("\0", " ")
        texts = [whole[i:i + 4096] for i in range(0, len(whole), 4096)]
    else:
        texts = [json.loads(line)["text"] for f in sorted((TOP / "tests/data/jsonl/plain").glob("*.jsonl"))
                 for line in open(f, encoding="utf-8")]
    texts = [t for t in texts if t]
    done = i = 0
    while done < SIZE:
        text = texts[i % len(texts)]
        if i >= len(texts):
            text = "%d. %s" % (i, text)
        i += 1
        done += len(text.encode())
        yield text


def counts(texts):
    return [len(ids) for ids in ENCODING.encode_ordinary_batch(texts, num_threads=CPUS)] if ENCODING else None


def write_parquet(path, texts, first, compression):
    n = len(texts)
    table = {"text": texts, "id": ["<urn:uuid:%032x>" % (first + i) for i in range(n)], "dump": ["CC-MAIN-2024-10"] * n,
             "url": ["https://example.org/%d" % (first + i) for i in range(n)], "date": ["2024-02-21T00:00:00Z"] * n,
             "file_path": ["s3://commoncrawl/crawl-data/CC-MAIN-2024-10/%05d.warc.gz" % (i // 1000) for i in range(n)],
             "language": ["en"] * n, "language_score": [0.9 + i % 100 / 1000 for i in range(n)]}
    tokens = counts(texts)
    if tokens:
        table["token_count"] = tokens
    pyarrow.parquet.write_table(pyarrow.table(table), path, compression=compression, row_group_size=1000,
                                dictionary_pagesize_limit=1 << 24, data_page_version="1.0")


def make_sources():
    """The same documents in each form; how many bytes and documents each file has."""
    texts = list(documents())
    each = -(-len(texts) // FILES)
    parts = [texts[i:i + each] for i in range(0, len(texts), each)]
    for kind in ("snappy", "none", "jsonl"):
        (TMP / kind).mkdir()
    with open(TMP / "text", "wb") as all_text:
        for k, part in enumerate(parts):
            with open(TMP / ("jsonl/000_%05d.jsonl" % k), "w", encoding="utf-8") as f:
                for text in part:
                    f.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
                    all_text.write(text.encode() + b"\0")
            if pyarrow:
                for kind in ("snappy", "none"):
                    write_parquet(TMP / kind / ("000_%05d.parquet" % k), part, k * each, kind)
    return [(len(p), sum(len(t.encode()) for t in p)) for p in parts]


def make_tokenizer_json():
    """What a .tiktoken file does not say is which two tokens each one is merged of."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {b: chr(b) for b in printable}
    letters.update({b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in letters)})

    def name(token):
        return "".join(letters[b] for b in token)

    def parts(token, rank):
        pieces = [bytes([b]) for b in token]
        while len(pieces) > 2:
            best = min(range(len(pieces) - 1), key=lambda i: ranks.get(pieces[i] + pieces[i + 1], rank))
            pieces[best:best + 2] = [pieces[best] + pieces[best + 1]]
        return name(pieces[0]), name(pieces[1])

    merges = [parts(token, rank) for token, rank in sorted(ranks.items(), key=lambda x: x[1]) if len(token) > 1]
    t = Tokenizer(models.BPE(vocab={name(token): rank for token, rank in ranks.items()}, merges=merges))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken("<|endoftext|>", special=True)])
    path = TMP / "tokenizer.json"
    t.save(str(path))
    return path


# ---- the ways ----

def fineweb(kind):
    out = TMP / ("out." + kind)
    shutil.rmtree(out, ignore_errors=True)
    said = subprocess.run([BUILD / "fineweb", "prepare", TMP / kind, "-o", out, "--threads", str(CPUS), "--json"], check=True,
                          capture_output=True, text=True).stdout
    share = json.loads(said.splitlines()[-1])["tokenizer_share"]
    return json.loads((out / "dataset.json").read_text())["tokens"], share


def alone():
    said = subprocess.run([BUILD / "tests/bench/bench_token", "-0", "-r", "0", "-t", str(CPUS), "gpt2", TMP / "text"],
                          check=True, capture_output=True, text=True).stdout
    tokens, seconds = re.search(r": (\d+) tokens, cold ([\d.]+) s", said).groups()
    return int(tokens) + DOCUMENTS, float(seconds)


def load(files, streaming=False):
    from datasets import load_dataset
    return load_dataset("parquet", data_files=[str(f) for f in files], split="train", streaming=streaming)


def encode_row(row):
    ids = ENCODING.encode_ordinary(row["text"])
    ids.append(EOT)
    return {"ids": ids, "len": len(ids)}


def nanogpt(files):
    data = load(files)
    made = data.map(encode_row, remove_columns=data.column_names, num_proc=CPUS, load_from_cache_file=False)
    total = int(numpy.sum(made["len"], dtype=numpy.uint64))
    out = numpy.memmap(TMP / "train.bin", dtype=numpy.uint16, mode="w+", shape=(total,))
    at = 0
    for i in range(64):
        batch = numpy.concatenate(made.shard(num_shards=64, index=i, contiguous=True).with_format("numpy")["ids"])
        out[at:at + len(batch)] = batch
        at += len(batch)
    out.flush()
    return total


def tokenize(row):
    ids = [EOT]
    ids.extend(ENCODING.encode_ordinary(row["text"]))
    return numpy.array(ids).astype(numpy.uint16)


def build_nanogpt(files):
    total = filled = 0
    shard = numpy.empty((100_000_000,), dtype=numpy.uint16)
    with multiprocessing.Pool(CPUS) as pool:
        for ids in pool.imap(tokenize, load(files), chunksize=16):
            if filled + len(ids) > len(shard):
                raise OverflowError("more than a shard")
            shard[filled:filled + len(ids)] = ids
            filled += len(ids)
            total += len(ids)
    numpy.save(TMP / "edufineweb_train_000001.npy", shard[:filled])
    return total


def guide(files, tokenizer):
    """prepare_training_data of the guide: ids in a list, a shard of 100,000,000 when they are there."""
    ids, total = [], 0
    for row in load(files, streaming=True):
        ids.extend(tokenizer.encode(row["text"]))
        total = len(ids)
    numpy.array(ids, dtype=numpy.uint16).tofile(TMP / "fineweb_train_000000.bin")
    return total


def datatrove(files, tokenizer):
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import ParquetReader
    from datatrove.pipeline.tokens import DocumentTokenizer
    folder, out = TMP / "datatrove.in", TMP / "datatrove.out"
    for f in (folder, out, TMP / "datatrove.log"):
        shutil.rmtree(f, ignore_errors=True)
    folder.mkdir()
    for f in files:
        (folder / f.name).symlink_to(f)
    LocalPipelineExecutor(
        [ParquetReader(str(folder)),
         DocumentTokenizer(str(out), tokenizer_name_or_path=str(tokenizer), eos_token="<|endoftext|>", shuffle_documents=False)],
        tasks=len(files), workers=CPUS, logging_dir=str(TMP / "datatrove.log")).run()
    return sum(f.stat().st_size // 2 for f in out.rglob("*.ds"))


# ---- the table ----

rows = []
PARTS, DOCUMENTS, counts_of = [], 0, []


def note(label, part, tokens, seconds, text):
    rows.append((label, part, tokens / seconds, text / seconds))


def peer(label, part, run, *more):
    """Runs a way on the first `part` files."""
    files = sorted((TMP / "snappy").iterdir())[:part]
    text, number = sum(p[1] for p in PARTS[:part]), sum(p[0] for p in PARTS[:part])
    try:
        begun = time.monotonic()
        tokens = run(files, *more)
        seconds = time.monotonic() - begun
    except Exception as e:
        print("without %s: %s" % (label, (str(e) or repr(e)).splitlines()[0]))
        return
    # Each document's ids with one end-of-text, or none.
    want = sum(counts_of[:part])
    if tokens not in (want, want - number):
        print("%s: %d tokens, not %d" % (label, tokens, want))
    note(label, "%d/%d" % (part, len(PARTS)), tokens, seconds, text)


def main():
    global PARTS, DOCUMENTS, counts_of
    for what in MISSING:
        print("without " + what)
    PARTS = make_sources()
    DOCUMENTS, size = sum(p[0] for p in PARTS), sum(p[1] for p in PARTS)
    kinds = (["snappy", "none"] if pyarrow else []) + ["jsonl"]
    best, shares, lone = {}, {}, None
    for _ in range(3):
        for kind in kinds:
            begun = time.monotonic()
            tokens, share = fineweb(kind)
            seconds = time.monotonic() - begun
            if kind not in best or seconds < best[kind][1]:
                best[kind], shares[kind] = (tokens, seconds), share
        tokens, seconds = alone()
        lone = (tokens, seconds) if lone is None or seconds < lone[1] else lone
    if len({t for t, _ in best.values()} | {lone[0]}) != 1:
        print("the numbers of tokens differ: %r" % (best,))
    labels = {"snappy": "fineweb prepare, Parquet (snappy)", "none": "fineweb prepare, Parquet, not compressed",
              "jsonl": "fineweb prepare, JSON lines"}
    for kind in kinds:
        note(labels[kind], "all", *best[kind], size)
    note("fineweb's tokenizer alone, %d threads" % CPUS, "all", *lone, size)
    if pyarrow and ENCODING:
        import warnings
        warnings.simplefilter("ignore")
        counts_of = [sum(1 + int(n) for n in pyarrow.parquet.read_table(f, columns=["token_count"])["token_count"].to_pylist())
                     for f in sorted((TMP / "snappy").iterdir())]
        peer("tiktoken, datasets.map (nanoGPT)", CPUS, nanogpt)
        peer("tiktoken, a pool (build-nanogpt)", CPUS, build_nanogpt)
        try:
            path = make_tokenizer_json()
            from transformers import PreTrainedTokenizerFast
            fast = PreTrainedTokenizerFast(tokenizer_file=str(path))
        except ImportError as e:
            print("without datatrove and the guide's loop: %s" % e)
        else:
            peer("datatrove, DocumentTokenizer", CPUS, datatrove, path)
            peer("GPT2 tokenizer, one loop (the guide)", 1, guide, fast)
        data = b"".join(f.read_bytes() for f in sorted((TMP / "out.snappy").glob("*.bin")))
        if (TMP / "edufineweb_train_000001.npy").exists():
            theirs = numpy.load(TMP / "edufineweb_train_000001.npy").tobytes()
            print("build-nanogpt's ids are %s" % ("the same" if data.startswith(theirs) else "DIFFERENT"))
    load_now = open("/proc/loadavg").read().split()[0]
    print("%d documents, %.0f MB of text, %d CPUs, load %s" % (DOCUMENTS, size / 1e6, CPUS, load_now))
    print("%-42s %6s %12s %8s %14s" % ("", "of it", "tokens/s", "MB/s", "prepare is"))
    for label, part, speed, text in rows:
        print("%-42s %6s %12.0f %8.1f %13.2fx" % (label, part, speed, text / 1e6, rows[0][2] / speed))
    print("share of its time that prepare's threads encoded: " + ", ".join("%s %.0f %%" % (k, 100 * shares[k]) for k in kinds))


if __name__ == "__main__":  # pools of others import this file
    main()
