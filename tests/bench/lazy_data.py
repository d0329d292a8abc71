#!/usr/bin/env python3
"""Parquet files of FineWeb's shape for the benchmark of lazy reading, and GPT-2's tokenizer.json for who wants one.

usage: lazy_data.py OUT TEXT...

TEXT is a .jsonl file (its `text`) or plain text. Texts are cut at ends of line into documents of 3 to 5 KB, 1000 a row group; all nine
columns, snappy, data page v1, a dictionary. OUT/first.parquet has 30 row groups; OUT/pass1.parquet each document once, OUT/pass4.parquet
four times, each time in a new order; OUT/pass0.parquet 100 of them. OUT/sizes.json has the bytes of text of each."""
import base64
import json
import os
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

RANKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/token/vocab/r50k_base.tiktoken")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../token"))
from differential import tiktoken_oracle  # noqa: E402

out, files = sys.argv[1], sys.argv[2:]
ROWS = 1000
dice = random.Random(3)


def texts(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        if path.endswith(".jsonl"):
            for line in f:
                yield json.loads(line)["text"]
        else:
            yield f.read()


def documents():
    for path in files:
        for text in texts(path):
            document, size, want = [], 0, dice.uniform(3000, 5000)
            for line in text.splitlines(True):
                document.append(line)
                size += len(line)
                if size > want:
                    yield "".join(document)
                    document, size, want = [], 0, dice.uniform(3000, 5000)
            if size > 0:
                yield "".join(document)


def merges(ranks):
    """The pairs of parts that tokens are made of, in the order of their rank."""
    for token, rank in sorted(ranks.items(), key=lambda x: x[1]):
        parts = [token[i:i + 1] for i in range(len(token))]
        while len(parts) > 2:
            found = [ranks.get(a + b, rank) for a, b in zip(parts, parts[1:])]
            at = min(range(len(found)), key=found.__getitem__)
            if found[at] >= rank:
                break
            parts[at:at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            yield parts


def write_tokenizer(path):
    ranks = {base64.b64decode(t): int(r) for t, r in (line.split() for line in open(RANKS, "rb"))}
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letter = {b: chr(b) for b in seen} | {b: chr(256 + i) for i, b in enumerate(b for b in range(256) if b not in seen)}
    name = lambda token: "".join(letter[b] for b in token)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "vocab": {name(t): r for t, r in ranks.items()}, "merges": [[name(p) for p in m] for m in merges(ranks)]}
    with open(path, "w") as f:
        json.dump({"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": level, "post_processor": None,
                   "decoder": level, "model": model}, f)


SCHEMA = pa.schema([(name, pa.string()) for name in ("text", "id", "dump", "url", "date", "file_path", "language")] +
                   [("language_score", pa.float64()), ("token_count", pa.int64())])


def write(name, rows, groups=None):
    """rows: (text, token_count), again and again in new orders until there are `groups` row groups."""
    size, order = 0, list(range(len(rows)))
    with pq.ParquetWriter(f"{out}/{name}.parquet", SCHEMA, compression="snappy", data_page_version="1.0",
                          dictionary_pagesize_limit=1 << 24) as w:
        for g in range(groups or -(-len(rows) // ROWS)):
            while groups and len(order) < ROWS:
                order += dice.sample(range(len(rows)), len(rows))
            part, order = [rows[i] for i in order[:ROWS]], order[ROWS:]
            n = len(part)
            w.write_table(pa.table({
                "text": [t for t, _ in part],
                "id": [f"<urn:uuid:{dice.getrandbits(128):032x}>" for _ in part],
                "dump": ["CC-MAIN-2024-10"] * n,
                "url": [f"https://example.org/{dice.getrandbits(64):x}/{i}" for i in range(n)],
                "date": ["2024-02-21T00:00:00Z"] * n,
                "file_path": [f"s3://commoncrawl/crawl-data/CC-MAIN-2024-10/segments/{dice.getrandbits(40)}/warc/{g:05d}.warc.gz"] * n,
                "language": ["en"] * n,
                "language_score": [dice.random() for _ in part],
                "token_count": [c for _, c in part]}, schema=SCHEMA), row_group_size=ROWS)
            size += sum(len(t.encode()) for t, _ in part)
    return size


encode = tiktoken_oracle("gpt2", "")
distinct = list(dict.fromkeys(documents()))
dice.shuffle(distinct)
rows = [(t, len(ids)) for t, ids in zip(distinct, encode(distinct))]
four = [row for _ in range(4) for row in dice.sample(rows, len(rows))]
write_tokenizer(f"{out}/gpt2.json")
sizes = {"first": write("first", rows, 30), "pass0": write("pass0", rows[:100]), "pass1": write("pass1", rows), "pass4": write("pass4", four)}
with open(f"{out}/sizes.json", "w") as f:
    json.dump(sizes, f)
