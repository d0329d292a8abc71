#!/usr/bin/env python3
"""One of Python's ways to read text lazily over HTTP, in a process of its own; for lazy.py.

usage: lazy_peer.py first|sustained NAME URL TOKENIZER_JSON RANKS [DOCUMENTS]

first: seconds from the end of the imports to the first batch, 32 x 1025 ids of GPT-2 (the tokenizer is open by then). sustained: seconds and
bytes of text of the whole file, or of DOCUMENTS. One thread. Prints one line of JSON."""
import json
import os
import sys
import time

os.environ.update(RAYON_NUM_THREADS="1", POLARS_MAX_THREADS="1", TOKENIZERS_PARALLELISM="false", HF_HUB_DISABLE_TELEMETRY="1")
what, name, url, tokenizer_json, ranks = sys.argv[1:6]
most = int(sys.argv[6]) if len(sys.argv) > 6 else 1 << 62
WANT = 32 * 1024 + 1
BOS = 50256


def huggingface():
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(tokenizer_json)
    return lambda texts: [e.ids for e in t.encode_batch_fast(texts, add_special_tokens=False)]


def first_ids(texts, encode):
    """Ids of as many texts, 16 at a time, as the first batch takes."""
    import numpy as np
    ids, batch, texts = [], [], iter(texts)
    while len(ids) < WANT:
        batch = [t for t, _ in zip(texts, range(16))]
        if not batch:
            sys.exit("the file has no whole batch")
        for part in encode(batch):
            ids.append(BOS)
            ids.extend(part)
    return np.array(ids[:WANT], np.int64)


def from_datasets(**options):
    import datasets

    def texts():
        for row in datasets.load_dataset("parquet", data_files=url, split="train", streaming=True, **options):
            yield row["text"]
    return texts


def from_pyarrow():
    import fsspec
    import pyarrow.parquet as pq

    def texts():
        f = pq.ParquetFile(fsspec.filesystem("http").open(url), pre_buffer=True)
        for g in range(f.num_row_groups):
            yield from f.read_row_group(g, columns=["text"]).column("text").to_pylist()
    return texts


def from_polars():
    import polars as pl

    def texts():
        yield from pl.scan_parquet(url).select("text").slice(0, 100).collect()["text"].to_list()
    return texts


FIRST = {
    "datasets, streaming": from_datasets,
    "datasets, columns=text": lambda: from_datasets(columns=["text"]),
    "pyarrow": from_pyarrow,
    "polars": from_polars,
}


def datasets_tokenizers():
    import datasets
    encode = huggingface()

    def run():
        size = seen = 0
        rows = datasets.load_dataset("parquet", data_files=url, split="train", streaming=True, columns=["text"])
        for batch in rows.batch(100):
            size += sum(len(t.encode()) for t in batch["text"])
            encode(batch["text"])
            seen += len(batch["text"])
            if seen >= most:
                break
        return size
    return run


def pyarrow_gigatoken():
    import fsspec
    import gigatoken
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    t = gigatoken.Tokenizer.from_tiktoken(ranks)

    def run():
        size = 0
        f = pq.ParquetFile(fsspec.filesystem("http").open(url), pre_buffer=False)
        for g in range(f.num_row_groups):
            column = f.read_row_group(g, columns=["text"], use_threads=False).column("text").combine_chunks()
            column = column.chunk(0) if isinstance(column, pa.ChunkedArray) else column
            _, ends, data = column.buffers()
            ends, data = np.frombuffer(ends, np.int32)[:len(column) + 1], memoryview(data)
            size += int(ends[-1] - ends[0])
            ids = t.encode_batch([bytes(data[a:z]) for a, z in zip(ends[:-1], ends[1:])], parallel=False)
            np.asarray(ids.layout.content.data).astype(np.uint16)
        return size
    return run


SUSTAINED = {"datasets + tokenizers": datasets_tokenizers, "pyarrow + gigatoken": pyarrow_gigatoken}

if what == "first":
    import numpy  # noqa: F401
    texts, encode = FIRST[name](), huggingface()
    begun = time.time()
    first_ids(texts(), encode)
    print(json.dumps({"begun": begun, "ended": time.time()}), flush=True)
else:
    run = SUSTAINED[name]()
    begun, used = time.time(), time.process_time()
    size = run()
    print(json.dumps({"begun": begun, "ended": time.time(), "cpu": time.process_time() - used, "text": size}), flush=True)
# Threads of an event loop that waits for its connections would hold up the end.
os._exit(0)
