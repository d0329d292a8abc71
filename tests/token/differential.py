#!/usr/bin/env python3
"""Ids of the library against those of tiktoken and of Hugging Face's tokenizers, on texts made to differ.

usage: differential.py AGREE TOKENIZER[:PATTERN]...

AGREE is the program tests/token/agree, which makes the texts (texts.h says of what) and compares. TOKENIZER is gpt2, cl100k, o200k or
a .tiktoken file with its pattern (against tiktoken), or a tokenizer.json (against tokenizers). Every path of the encoder is held
against the same ids, and with one string of four a cache of words that is full, one that is off, a stream cut anywhere, the decoder.

First come the documents of tests/data and ../shared/data whole (at most one for ten strings), then FUZZ_STRINGS strings (100,000) that
FUZZ_SEED (1) chooses. FUZZ_TEXTS names text files with more documents. Prints a line for each tokenizer and path, and a difference as
the shortest string in hex that still has it; exits with 1 if there is one. Needs tiktoken or tokenizers (PyPI); reads Parquet where
pyarrow is.
"""
import array
import base64
import glob
import gzip
import itertools
import json
import os
import struct
import subprocess
import sys
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
VOCAB = TOP + "/src/token/vocab/"
DATA = [TOP + "/tests/data", os.environ.get("FINEWEB_SHARED", TOP + "/../shared") + "/data"]
FILES = {"gpt2": "r50k_base.tiktoken", "cl100k": "cl100k_base.tiktoken", "o200k": "o200k_base.tiktoken"}
CHUNK = 8192  # strings that are made and compared at once
SHOWN = 5     # differences of a tokenizer that are made short


def ranks_of(path):
    return {base64.b64decode(a): int(b) for a, b in (line.split() for line in open(path, "rb"))}


def tiktoken_oracle(name, pattern):
    import tiktoken
    from tiktoken_ext import openai_public
    # The patterns of the installed version, without its download of the vocabulary.
    openai_public.load_tiktoken_bpe = lambda *a, **k: {}
    known = {"gpt2": openai_public.r50k_base, "cl100k": openai_public.cl100k_base, "o200k": openai_public.o200k_base}
    if (pattern or name) in known:
        pat = known[pattern or name]()["pat_str"]
    else:
        # As the tokenizer.json files of these models have them.
        from expect import SHAPES
        pat = SHAPES[pattern][0]["pretokenizers"][0]["pattern"]["Regex"]
    encoding = tiktoken.Encoding("oracle", pat_str=pat, special_tokens={},
                                 mergeable_ranks=ranks_of(VOCAB + FILES[name] if name in FILES else name))
    return lambda texts: [encoding.encode_ordinary(t) for t in texts]


def hf_oracle(path):
    from tokenizers import Tokenizer
    # Special tokens in a text are text here.
    parsed = json.load(open(path, encoding="utf-8"))
    parsed["added_tokens"] = []
    parsed["post_processor"] = None
    tokenizer = Tokenizer.from_str(json.dumps(parsed))
    tokenizer.no_truncation()
    return lambda texts: [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def hf_normalize(path):
    """What a text is to the file's normalizer, or None where it has none."""
    from tokenizers import Tokenizer
    normalizer = Tokenizer.from_file(path).normalizer
    return normalizer.normalize_str if normalizer is not None else None


def texts_of(path):
    """The documents of a data file: bytes."""
    if path.endswith(".parquet"):
        try:
            import pyarrow.parquet
        except ImportError:
            return
        try:
            table = pyarrow.parquet.read_table(path)
        except (OSError, ValueError):
            return
        for name in ("text", "raw_content", "content"):
            if name in table.column_names:
                yield from (t.encode() for t in table.column(name).to_pylist() if isinstance(t, str))
        return
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        try:
            lines = f.read().split(b"\n")
        except (OSError, EOFError):
            return
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        row = row if isinstance(row, dict) else {}
        if isinstance(row.get("hex"), str):
            yield bytes.fromhex(row["hex"])
        for name in ("text", "raw_content", "content"):
            if isinstance(row.get(name), str):
                yield row[name].encode("utf-8", "surrogatepass")


def documents():
    paths = [p for top in DATA for kind in ("parquet", "jsonl", "jsonl.gz")
             for p in sorted(glob.glob(f"{glob.escape(top)}/**/*.{kind}", recursive=True))]
    found = dict.fromkeys(t for p in paths for t in texts_of(p))
    for path in os.environ.get("FUZZ_TEXTS", "").split():
        text = open(path, "rb").read()
        found.update(dict.fromkeys(text[i:i + 20000] for i in range(0, len(text), 20000)))
    return list(found)


def packed(texts):
    return struct.pack("<I", len(texts)) + array.array("I", map(len, texts)).tobytes() + b"".join(texts)


class Died(Exception):
    pass


class Agree:
    """The program, and what it counted."""

    def __init__(self, program, name, pattern):
        self.p = subprocess.Popen([program, name, pattern], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.checks = self.p.stdout.readline().decode().split()
        if not self.checks:
            sys.exit(f"{program} {name} {pattern} failed")
        self.totals = [[0] * 5 for _ in self.checks]

    def read(self, n):
        got = self.p.stdout.read(n)
        if len(got) < n:
            raise Died(f"died, status {self.p.wait()}")
        return got

    def send(self, *parts):
        for part in parts:
            self.p.stdin.write(part)
        self.p.stdin.flush()

    def make(self, seed, chunk, n):
        self.send(b"M", struct.pack("<QQI", seed, chunk, n))
        n = struct.unpack("<I", self.read(4))[0]
        lengths = array.array("I", self.read(4 * n))
        ends = list(itertools.accumulate(lengths))
        all_bytes = self.read(ends[-1])
        return [all_bytes[end - k:end] for end, k in zip(ends, lengths)]

    def start(self, texts, plain, ids):
        flat = array.array("I", itertools.chain.from_iterable(ids)).tobytes()
        self.send(b"C", packed(texts), packed(plain), struct.pack("<I", len(ids)),
                  array.array("I", map(len, ids)).tobytes(), flat)

    def answer(self, count=True):
        """The differences, (text, check) each."""
        for total in self.totals:
            for i, v in enumerate(struct.unpack("<5Q", self.read(40))):
                total[i] += v if count else 0
        shown = struct.unpack("<I", self.read(4))[0]
        return [struct.unpack("<II", self.read(8)) for _ in range(shown)]


class Run:
    def __init__(self, program, tokenizer):
        self.tokenizer = os.path.basename(tokenizer)
        name, _, pattern = tokenizer.partition(":")
        self.how = (program, name, pattern)
        self.agree = Agree(*self.how)
        self.oracle = hf_oracle(name) if name.endswith(".json") else tiktoken_oracle(name, pattern)
        self.normalize = hf_normalize(name) if name.endswith(".json") else None
        self.oracle_seconds = 0
        self.shown = 0

    def judged(self, texts):
        """What the texts are when they are decoded again, and their ids."""
        begin = time.monotonic()
        plain = [t.decode("utf-8", "replace") for t in texts]
        ids = self.oracle(plain)
        if self.normalize:
            plain = [p if p.isascii() else self.normalize(p) for p in plain]
        self.oracle_seconds += time.monotonic() - begin
        return [p.encode() for p in plain], ids

    def take(self, texts):
        try:
            differences = self.agree.answer()
        except Died as e:
            sys.exit(f"{self.tokenizer}: {e} on {self.deadly(texts).hex()}")
        for text, check in differences:
            if self.shown < SHOWN:
                self.shown += 1
                self.show(texts[text], check)

    def deadly(self, texts):
        """The text on which the program dies."""
        while len(texts) > 1:
            half = texts[:len(texts) // 2]
            texts = half if self.dies(half) else texts[len(half):]
        return texts[0]

    def dies(self, texts):
        again = Agree(*self.how)
        again.start(texts, *self.judged(texts))
        try:
            again.answer()
        except Died:
            return True
        again.p.stdin.close()
        again.p.wait()
        return False

    def differs(self, text, check):
        plain, ids = self.judged([text])
        self.agree.start([text], plain, ids)
        return any(c == check for _, c in self.agree.answer(False))

    def show(self, text, check):
        again = self.differs(text, check)
        n = len(text) // 2 if again else 0
        while n > 0:
            i, before = 0, len(text)
            while i < len(text):
                less = text[:i] + text[i + n:]
                if self.differs(less, check):
                    text = less
                else:
                    i += n
            n = n // 2 if n > 1 or len(text) == before else 1
        print(f"{self.tokenizer} {self.agree.checks[check]}: differs{'' if again else ', but not once more'}: {text.hex()}\n"
              f"  theirs: {self.judged([text])[1][0][:40]}", flush=True)

    def chunks(self, documents, strings, seed):
        for i in range(0, len(documents), 256):
            yield documents[i:i + 256]
        for i in range(0, strings, CHUNK):
            yield self.agree.make(seed, i // CHUNK, min(CHUNK, strings - i))

    def all(self, documents, strings, seed):
        begin = said = time.monotonic()
        self.agree.send(b"D", packed(documents))
        documents = documents[::len(documents) * 10 // max(strings, 1) + 1]
        before = None
        for texts in itertools.chain(self.chunks(documents, strings, seed), [None]):
            # The program compares what was judged before, while the next is judged.
            if before:
                self.agree.start(*before)
            now = (texts, *self.judged(texts)) if texts else None
            if before:
                self.take(before[0])
            before = now
            if time.monotonic() - said > 60:
                said = time.monotonic()
                print(f"{self.tokenizer}: {self.agree.totals[0][0]} strings after {said - begin:.0f} s", file=sys.stderr, flush=True)
        return self.report(len(documents), seed, time.monotonic() - begin)

    def report(self, documents, seed, seconds):
        differences = 0
        for check, (strings, size, ids, different, ns) in zip(self.agree.checks, self.agree.totals):
            differences += different
            print(f"{self.tokenizer:12} {check:10} {strings} strings {size} bytes {ids} ids {different} differences {ns / 1e9:.1f} s")
        print(f"{self.tokenizer:12} {documents} documents whole, seed {seed}, oracle {self.oracle_seconds:.0f} s, all {seconds:.0f} s",
              flush=True)
        self.agree.p.stdin.close()
        return differences + (self.agree.p.wait() != 0)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    strings = int(os.environ.get("FUZZ_STRINGS", 100_000))
    seed = int(os.environ.get("FUZZ_SEED", 1))
    texts = documents()
    sys.exit(sum(Run(sys.argv[1], t).all(texts, strings, seed) for t in sys.argv[2:]) > 0)


if __name__ == "__main__":
    main()
