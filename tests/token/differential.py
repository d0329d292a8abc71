#!/usr/bin/env python3
"""Ids of the library against those of tiktoken and of Hugging Face's tokenizers, on texts made to differ.

usage: differential.py IDS TOKENIZER[:PATTERN][@PATH] [COUNT] [SEED] [FILE ...]

IDS is the program tests/token/ids. TOKENIZER is gpt2, cl100k, o200k or a .tiktoken file with its pattern (against tiktoken), or a
tokenizer.json (against tokenizers). PATH is an instruction set as encoder_paths names it. COUNT strings (100,000) are made of the lines of
the FILEs, of every Unicode block, of mutations, splices, invalid UTF-8 and repeats. Prints the first differences and exits with 1 if there
are any. Needs tiktoken or tokenizers (PyPI).
"""
import base64
import os
import random
import struct
import subprocess
import sys
import time

VOCAB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/token/vocab/")
FILES = {"gpt2": "r50k_base.tiktoken", "cl100k": "cl100k_base.tiktoken", "o200k": "o200k_base.tiktoken"}


def tiktoken_oracle(name, pattern):
    import tiktoken
    from tiktoken_ext import openai_public
    # The patterns of the installed version, without its download of the vocabulary.
    openai_public.load_tiktoken_bpe = lambda *a, **k: {}
    definition = {"gpt2": openai_public.r50k_base, "cl100k": openai_public.cl100k_base,
                  "o200k": openai_public.o200k_base}[pattern or name]()
    path = VOCAB + FILES[name] if name in FILES else name
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in open(path, "rb"))}
    encoding = tiktoken.Encoding("oracle", pat_str=definition["pat_str"], mergeable_ranks=ranks, special_tokens={})
    return lambda texts: [encoding.encode_ordinary(t) for t in texts]


def hf_oracle(path):
    import json
    from tokenizers import Tokenizer
    # Special tokens in a text are text here.
    parsed = json.load(open(path, encoding="utf-8"))
    parsed["added_tokens"] = []
    parsed["post_processor"] = None
    tokenizer = Tokenizer.from_str(json.dumps(parsed))
    return lambda texts: [e.ids for e in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


BLOCKS = [(0, 0x80), (0x80, 0x250), (0x250, 0x370), (0x370, 0x530), (0x530, 0x700), (0x700, 0x900), (0x900, 0xE00),
          (0xE00, 0x1200), (0x1200, 0x1700), (0x1700, 0x1E00), (0x1E00, 0x2000), (0x2000, 0x2100), (0x2100, 0x2C00),
          (0x2C00, 0x3000), (0x3000, 0x3400), (0x4E00, 0xA000), (0xA000, 0xAC00), (0xAC00, 0xD7FF), (0xE000, 0xF900),
          (0xF900, 0x10000), (0x10000, 0x11000), (0x11000, 0x14000), (0x16000, 0x17000), (0x1D000, 0x1D800),
          (0x1E000, 0x1F000), (0x1F000, 0x20000), (0x20000, 0x32400), (0xE0000, 0xE0200), (0x10FF00, 0x110000)]
SNIPS = ["'s", "'S", "'\u017f", "'ll", "'LL", "'Ve", "'re", "'d", "'m", "''", " ", "  ", "\t", "\n", "\r\n", "\n\n", " \n", "\u3000",
         "\u00a0", "\u0085", "\u2028", "/", "//\n", "1", "12", "123", "1234", "\u0661", "\u00bd", "\u2167", "a", "A", "aB", "Ab", "ABC",
         "\u0301", "\u01c5", "\u02b0", "\u4e00", "\u3042", "\u30fb", "\u3099", "!", "...", "(", "\u2014", "$", "\u0378", "\x00", "\u200d",
         "\ufeff", "\ufffd", "<|endoftext|>", "\U0001f600", "\U0001f468\u200d\U0001f469", "_", "e\u0301", "\u1100\u1161\u11a8", "\u212b"]


class Maker:
    def __init__(self, seed, files):
        self.r = random.Random(seed)
        self.lines = [line for f in files for line in open(f, encoding="utf-8", errors="replace", newline="")]
        self.lines = self.lines or ["The quick brown fox doesn't jump over 12345 lazy dogs.\n"]

    def point(self):
        low, high = self.r.choice(BLOCKS)
        c = self.r.randrange(low, high)
        return "\ufffd" if 0xD800 <= c < 0xE000 else chr(c)

    def block(self):
        low, high = self.r.choice(BLOCKS)
        return "".join(chr(c) for c in (self.r.randrange(low, high) for _ in range(self.r.randrange(1, 30)))
                       if not 0xD800 <= c < 0xE000)

    def line(self):
        text = self.r.choice(self.lines)
        at = self.r.randrange(len(text))
        return text[at:at + self.r.randrange(1, 200)]

    def mutated(self):
        text = list(self.line())
        for _ in range(self.r.randrange(1, 6)):
            at = self.r.randrange(len(text) + 1)
            text[at:at + self.r.randrange(3)] = self.r.choice(SNIPS) if self.r.random() < .6 else self.point()
        return "".join(text)

    def snips(self):
        return "".join(self.r.choice(SNIPS) for _ in range(self.r.randrange(1, 16)))

    def repeat(self):
        unit = self.r.choice(SNIPS) if self.r.random() < .7 else self.block()
        text = unit * self.r.randrange(1, 5000 if self.r.random() < .01 else 90)
        return self.r.choice(SNIPS) + text + self.r.choice(SNIPS) if self.r.random() < .5 else text

    def spliced(self):
        return "".join(self.r.choice([self.line, self.snips, self.block])() for _ in range(self.r.randrange(2, 5)))

    def letters(self):
        alphabet = self.r.choice(["ab", "etaoinshrdlu", "abcdefghijklmnopqrstuvwxyz", "aA", "aA1 ", "\u00e9e", "^=-", " \n\ta"])
        n = self.r.randrange(1, 3000 if self.r.random() < .01 else 60)
        return "".join(self.r.choice(alphabet) for _ in range(n))

    def invalid(self):
        text = bytearray(self.spliced().encode())
        for _ in range(self.r.randrange(1, 5)):
            at = self.r.randrange(len(text) + 1)
            text[at:at + self.r.randrange(2)] = self.r.choice([b"\xff", b"\x80", b"\xc3", b"\xe2\x82", b"\xf0\x9f\x98", b"\xed\xa0\x80",
                                                               b"\xc0\xaf", b"\xf4\x90\x80\x80", bytes([self.r.randrange(256)])])
        return bytes(text)

    def make(self):
        made = self.r.choice([self.line, self.mutated, self.mutated, self.snips, self.repeat, self.spliced, self.letters,
                              self.block, self.invalid])()
        return made if isinstance(made, bytes) else made.encode()


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    program, tokenizer = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 100_000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    maker = Maker(seed, sys.argv[5:])
    name, _, path = tokenizer.rpartition("@")
    if not name or "/" in path:
        name, path = tokenizer, ""
    name, _, pattern = name.partition(":")
    oracle = hf_oracle(name) if name.endswith(".json") else tiktoken_oracle(name, pattern)
    ours = subprocess.Popen([program, name, pattern, *([path] if path else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    done = different = 0
    start = time.time()
    while done < count:
        texts = [maker.make() for _ in range(min(200, count - done))]
        want = oracle([t.decode("utf-8", "replace") for t in texts])
        for text, ids in zip(texts, want):
            ours.stdin.write(struct.pack("<I", len(text)) + text)
            ours.stdin.flush()
            head = ours.stdout.read(4)
            if len(head) < 4:
                sys.exit(f"{program} died on {text!r}")
            n = struct.unpack("<I", head)[0]
            got = list(struct.unpack(f"<{n}I", ours.stdout.read(4 * n)))
            if got != list(ids):
                different += 1
                if different <= 10:
                    at = next((i for i, (a, b) in enumerate(zip(got, ids)) if a != b), min(len(got), len(ids)))
                    print(f"differs: {text[:300]!r}\n  ours {got[at:at + 8]}, theirs {list(ids)[at:at + 8]}, from id {at}", flush=True)
        done += len(texts)
    ours.stdin.close()
    print(f"{tokenizer}: {done} strings, seed {seed}, {different} different, {time.time() - start:.0f} s", flush=True)
    sys.exit(different > 0 or ours.wait() != 0)


if __name__ == "__main__":
    main()
