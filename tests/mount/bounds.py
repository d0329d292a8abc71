"""Memory and right bytes where one row, one row group or many readers want more than `memory`."""
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
import parquet
from expect import RAW
from tap import DATA, TMP, Mount, equal, ok, read, say, skip

try:
    import numpy as np
except ImportError:
    say("ok - # SKIP no numpy")
    say("# end")
    sys.exit()

FULL = os.environ.get("BOUNDS") == "full"
SANITIZED = b"__asan_init" in Path(os.environ["FINEWEB"]).read_bytes()
BESIDE = 64 << 20  # what the manual says the program needs beside `memory`, with gpt2
BOS, END = 50256, 198
T = 8192

# A text of many lines whose ids are known: no line begins or ends with white space, so each end of line is a token of its
# own, whatever stands around it, and the text repeated has the ids repeated.
TEXTS = [t for x in (DATA / "jsonl/plain/000_00001.jsonl").read_text().splitlines() if (t := json.loads(x)["text"])]
IDS = np.split(np.frombuffer(RAW, "<u2"), np.flatnonzero(np.frombuffer(RAW, "<u2") == BOS))[1:]


def unit():
    text, ids = max(((t, i[1:]) for t, i in zip(TEXTS, IDS) if len(t) < 20000 and t == t.strip()
                     and t[0].isalpha()), key=lambda x: len(x[0]))
    return text + "\n", np.append(ids, END).astype("<u2")


TEXT, TEXT_IDS = unit()


def proof():
    what = "tiktoken: the ids of the text repeated are its ids repeated"
    try:
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe
    except ImportError:
        skip(what, "no tiktoken")
        return
    e = tiktoken.Encoding("gpt2", special_tokens={}, mergeable_ranks=load_tiktoken_bpe(
        str(Path(__file__).parent.parent.parent / "src/token/vocab/r50k_base.tiktoken")),
        pat_str=r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""")
    equal(e.encode_ordinary(TEXT * 5), list(np.tile(TEXT_IDS, 5)), what)


class Peak(threading.Thread):
    """with Peak(pid) as p: p.bytes is the most RssAnon of a process meanwhile."""
    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.bytes, self.done = pid, 0, False

    def run(self):
        while not self.done:
            try:
                status = Path("/proc/%d/status" % self.pid).read_text()
            except OSError:
                break
            m = re.search(r"RssAnon:\s+(\d+)", status)
            if m:
                self.bytes = max(self.bytes, int(m.group(1)) << 10)
            time.sleep(0.01)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *unused):
        self.done = True
        self.join()
        return False


class Watched(Mount):
    """A mount whose memory is looked at from its first moment."""
    def __enter__(self):
        started = subprocess.Popen

        def popen(*args, **named):
            process = started(*args, **named)
            self.peak = Peak(process.pid)
            self.peak.start()
            return process
        subprocess.Popen = popen
        try:
            return super().__enter__()
        finally:
            subprocess.Popen = started

    def __exit__(self, *unused):
        self.peak.done = True
        return super().__exit__()


def bounded(m, memory, what):
    most = memory + BESIDE
    if SANITIZED:
        return skip("%s: memory" % what, "a sanitizer has memory of its own")
    ok(m.peak.bytes <= most, "%s: %d MiB in memory" % (what, m.peak.bytes >> 20), "%d MiB are allowed" % (most >> 20))


def rows_of(ids):
    """Rows of T + 1 tokens of a piece, without a copy."""
    return np.lib.stride_tricks.as_strided(ids, ((len(ids) - 1) // T, T + 1), (2 * T, 2))


def wrong(m, want):
    """Batches (of 32 rows, in canonical order) that differ."""
    out = []
    rows = rows_of(want)
    for k in range(len(rows) // 32):
        have = np.frombuffer(read(m / ("rank_0/batch_%04d.bin" % k)), "<u2")
        if not np.array_equal(have, rows[32 * k:32 * k + 32].reshape(-1)):
            out.append(k)
    return out if len(rows) >= 32 else "nothing to compare"


OPTIONS = "shuffle=none,counts=exact,seq_len=%d,batch_size=32,ready_timeout=600,memory=%%d" % T


def one_row(size, memory, enough):
    """One text of `size` bytes; `enough`: with so much memory it needs no disk."""
    times = size // len(TEXT)
    first, last = (TEXTS[i].encode() for i in (0, 2))
    want = np.concatenate([IDS[0], [BOS], np.tile(TEXT_IDS, times), IDS[2]]).astype("<u2")
    text = TEXT.encode() * times
    for codec, name in (parquet.NONE, "plain"), (parquet.GZIP, "gzip"):
        with parquet.Writer(TMP / ("row_%s.parquet" % name), [(b"text", parquet.BYTE_ARRAY)], codec) as w:
            w.group({b"text": [first, text, last]})
    with open(TMP / "row.jsonl", "w") as f:
        for t in first, text, last:
            json.dump({"text": t.decode()}, f)
            f.write("\n")
    del text
    options = OPTIONS % memory
    # A line of JSONL belongs to the piece in which it starts: all three are the first one's.
    for name in "row_plain.parquet", "row_gzip.parquet", "row.jsonl":
        what = "%s, %d MB in one row, memory=%dM" % (name, size // 1000000, memory >> 20)
        if name == "row.jsonl":
            want = np.concatenate([IDS[0], [BOS], np.tile(TEXT_IDS, times)]).astype("<u2")
        cache = TMP / "bounds"
        with Watched([TMP / name], options + ",cache=%s" % cache, True, 600) as m:
            equal(wrong(m, want), [], what + ": right bytes by way of the disk")
            bounded(m, memory, what)
        subprocess.run(["rm", "-rf", str(cache)])
        try:
            with Mount([TMP / name], options + ",cache=/proc/none", timeout=600):
                said = "it is mounted"
        except RuntimeError as e:
            said = str(e)
        ok("no disk that takes them: give more `memory` or a `cache`" in said, what + ": without a disk it is ENOTSUP", said)
        with Watched([TMP / name], OPTIONS % enough + ",cache=/proc/none", True, 600) as m:
            equal(wrong(m, want), [], what.replace(str(memory >> 20), str(enough >> 20)) + ": right bytes without a disk")
            bounded(m, enough, what.replace(str(memory >> 20), str(enough >> 20)))
        (TMP / name).unlink()


def many_rows(memory):
    """A row group of a million rows."""
    known = [json.loads(x) for x in (DATA / "tokens/gpt2.jsonl").read_text().splitlines()]
    line, ids = max(((k["text"].encode(), k["ids"]) for k in known
                     if "text" in k and len(k["text"]) < 60 and k["text"].isascii()), key=lambda x: len(x[0]))
    rows = 1000000
    body = parquet.plain([line]) * rows
    path = TMP / "million.parquet"
    with parquet.Writer(path, [(b"text", parquet.BYTE_ARRAY)]) as w:
        w.group({b"text": (rows, body)})
    want = np.tile(np.concatenate([[BOS], ids]).astype("<u2"), rows)
    what = "a row group of 1,000,000 rows, one page of %d MB, memory=%dM" % (len(body) // 1000000, memory >> 20)
    del body
    with Watched([path], OPTIONS % memory, True) as m:
        equal(wrong(m, want), [], what + ": right bytes")
        bounded(m, memory, what)
    path.unlink()


def cold_ranks(memory, ranks=64):
    """Ranks that all read their first batches at once, from a server."""
    www = TMP / "www"
    body = (TEXT.encode() * (3000000 // len(TEXT) + 1))
    text_ids = np.tile(TEXT_IDS, 3000000 // len(TEXT) + 1)
    for f in range(4):
        with parquet.Writer(www / ("%d.parquet" % f), [(b"text", parquet.BYTE_ARRAY), (b"token_count", parquet.INT64)]) as w:
            for g in range(12):
                w.group({b"text": [body], b"token_count": [len(text_ids)]})
    want = np.concatenate([[BOS], text_ids]).astype("<u2")
    rows = {r.tobytes() for r in np.lib.stride_tricks.as_strided(want, ((len(want) - 1) // 512, 513), (1024, 2))}
    (TMP / "urls.txt").write_text("".join("%s/%d.parquet\n" % (os.environ["nginx"], f) for f in range(4)))
    what = "%d ranks read cold, memory=%dM" % (ranks, memory >> 20)
    for cache, where in ("", ""), (",cache=/proc/none", ", without a disk"):
        options = "seq_len=512,batch_size=32,world_size=%d,memory=%d%s" % (ranks, memory, cache)
        with Watched([TMP / "urls.txt"], options, True) as m:
            bad, threads = [], []

            def rank(r):
                try:
                    for k in range(2):
                        b = np.frombuffer(read(m / ("rank_%d/batch_%04d.bin" % (r, k))), "<u2").reshape(32, 513)
                        bad.extend("rank %d: a row of no piece" % r for row in b if row.tobytes() not in rows)
                except OSError as e:
                    bad.append("rank %d: %s" % (r, e))
            for r in range(ranks):
                threads.append(threading.Thread(target=rank, args=(r,)))
                threads[-1].start()
            for t in threads:
                t.join()
            equal(bad, [], what + where + ": right rows")
            bounded(m, memory, what + where)


def main():
    proof()
    if FULL:
        one_row(1000000000, 1 << 30, 4 << 30)
    else:
        one_row(80000000, 64 << 20, 320 << 20)
        many_rows(256 << 20)
        if os.environ.get("nginx"):
            cold_ranks(256 << 20)
        else:
            skip("many ranks read cold", "no nginx")


main()
say("# end")
