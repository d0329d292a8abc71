#!/usr/bin/env python3
"""Writes the expectations of tests/unit/test_token.c with tiktoken 0.14 and Hugging Face's tokenizers 0.23, not with our own code.

usage: expect.py DIR        (DIR is tests/data/tokens, which has gpt2.jsonl)

cl100k.jsonl and o200k.jsonl: ids of the texts of gpt2.jsonl and of found(). codepoints.json: of these two, SHA-256 of the ids of each 4096 code points
in a template. long.json: of words of 20,000 letters. hf/NAME.json: small tokenizer.json files in the shapes that models are published in; hf/ids.jsonl: what tokenizers makes of texts.
"""
import hashlib
import json
import os
import struct
import sys

from differential import tiktoken_oracle

TEMPLATE = "{c}'s {c} a{c}'ll {c}{c}12{c}\n{c}A/"
FOLD = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
MODERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
UP, LOW = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
O200K = (rf"[^\r\n\p{{L}}\p{{N}}]?{UP}*{LOW}+{FOLD}?|[^\r\n\p{{L}}\p{{N}}]?{UP}+{LOW}*{FOLD}?|\p{{N}}{{1,3}}"
         r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK = ["\\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
            "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
            "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"]


def split(pattern, inverted=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Removed" if inverted else "Isolated", "invert": inverted}


def byte_level(cuts):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": cuts}


def sequence(*parts):
    return {"type": "Sequence", "pretokenizers": list(parts)}


SHAPES = {
    "gpt2": (byte_level(True), None, False, "text"),
    "llama3": (sequence(split(FOLD + "|" + MODERN % r"\p{N}{1,3}"), byte_level(False)), None, True, "text"),
    "qwen2": (sequence(split(FOLD + "|" + MODERN % r"\p{N}"), byte_level(False)), {"type": "NFC"}, False, "list"),
    "olmo2": (sequence(split(FOLD + "|" + MODERN % r"\p{N}{1,3}", True), byte_level(False)), None, False, "text"),
    "smollm2": (sequence({"type": "Digits", "individual_digits": True}, byte_level(True)), None, False, "list"),
    "deepseek3": (sequence(*map(split, DEEPSEEK), byte_level(False)), {"type": "Sequence", "normalizers": []}, False, "text"),
    "o200k": (sequence(split(O200K, True), byte_level(False)), None, False, "text"),
}


def letters():
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {b: chr(b) for b in plain}
    for b in range(256):
        if b not in table:
            table[b] = chr(0x100 + len(table) - len(plain))
    return table


def train(texts):
    """A small vocabulary: bytes, and the pairs that are most frequent in the texts."""
    table = letters()
    words = [[table[b] for b in (" " + w).encode()] for t in texts for w in t.split(" ")]
    vocab, merges = sorted(table.values()), []
    while len(merges) < 250:
        count = {}
        for w in words:
            for pair in zip(w, w[1:]):
                count[pair] = count.get(pair, 0) + 1
        best = max((p for p in count if "".join(p) not in vocab), key=lambda p: (count[p], p))
        merges.append(best)
        vocab.append("".join(best))
        for w in words:
            i = 0
            while i + 1 < len(w):
                if (w[i], w[i + 1]) == best:
                    w[i:i + 2] = ["".join(best)]
                i += 1
    return vocab, merges


def across(vocab, merges):
    """Also tokens that reach from the last byte of a kana or sign to the first of the next: they show where a word was cut."""
    table = letters()
    pairs = [(table[b], table[0xE3]) for b in (0xA2, 0xA3, 0xBB, 0x9B, 0x80, 0x98, 0x99, 0xAD, 0x87)]
    return vocab + [a + b for a, b in pairs], merges + pairs


def tokenizer_json(shape, vocab, merges):
    pre, normalizer, ignore, form = shape
    vocab = list(vocab)
    if ignore:
        # As Llama 3 has it: every cut of a token, and a token that no pair makes.
        order = {t: i for i, t in enumerate(vocab)}
        merges = [(t[:i], t[i:]) for t in vocab[256:] for i in range(1, len(t)) if t[:i] in order and t[i:] in order]
        vocab.append("\u0120whole")
    ids = {t: i for i, t in enumerate(vocab)}
    ids["<|endoftext|>"] = len(ids)
    return {"version": "1.0", "truncation": None, "padding": None,
            "added_tokens": [{"id": len(ids) - 1, "content": "<|endoftext|>", "single_word": False, "lstrip": False, "rstrip": False,
                              "normalized": False, "special": True}],
            "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": None, "decoder": byte_level(True),
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": ignore, "vocab": ids,
                      "merges": [list(m) if form == "list" else " ".join(m) for m in merges]}}


def long_words():
    """Words of 20,000 letters: one letter again and again, and letters drawn by a generator that the test has too."""
    x = 1
    for alphabet in ("a", "^", "ab", "abcdefghijklmnopqrstuvwxyz", "0123456789", "\u0301", "etaoin"):
        drawn = []
        for _ in range(20_000):
            x = (x * 1664525 + 1013904223) % 2**32
            drawn.append(alphabet[(x >> 16) % len(alphabet)])
        yield alphabet, "".join(drawn)


def found():
    """Texts like those that once had other ids."""
    # A contraction with a small and a capital letter, which begins no word there, just before what a block of bytes does not tell.
    for tail in ("lL", "rE", "vE", "Ll"):
        for n in range(5):
            yield f"town of Rapid'{tail}AB{'c' * n}" + "\ufffd" * 15
    for n in range(40, 60):
        yield f"{'e' * n}'lLABc and words behind it, so that they fill the block"


def main():
    folder = sys.argv[1]
    lines = [json.loads(line) for line in open(f"{folder}/gpt2.jsonl", encoding="utf-8")]
    lines = [line for line in lines if len(line.get("text", "")) <= 400 and "surrogate in JSON" not in line["why"]]
    raw = [bytes.fromhex(line["hex"]) if "hex" in line else line["text"].encode() for line in lines]
    texts = [b.decode("utf-8", "replace") for b in raw]
    hashes = {"template": TEMPLATE, "block": 4096}
    for name in ("cl100k", "o200k"):
        encode = tiktoken_oracle(name, "")
        with open(f"{folder}/{name}.jsonl", "w", encoding="utf-8") as out:
            for line, ids in zip(lines, encode(texts)):
                kind = "hex" if "hex" in line else "text"
                out.write(json.dumps({kind: line[kind], "ids": ids}) + "\n")
            for text, ids in zip(found(), encode(found())):
                out.write(json.dumps({"text": text, "ids": ids}) + "\n")
        hashes[name] = []
        for at in range(0, 0x110000, 4096):
            points = [c for c in range(at, at + 4096) if not 0xD800 <= c < 0xE000]
            h = hashlib.sha256()
            for ids in encode([TEMPLATE.replace("{c}", chr(c)) for c in points]):
                h.update(struct.pack(f"<{len(ids)}I", *ids))
            hashes[name].append(h.hexdigest())
    words = []
    for name in ("gpt2", "cl100k", "o200k"):
        encode = tiktoken_oracle(name, "")
        for alphabet, text in long_words():
            ids = encode([text])[0]
            words.append({"tokenizer": name, "alphabet": alphabet, "count": len(ids),
                          "sha256": hashlib.sha256(struct.pack(f"<{len(ids)}I", *ids)).hexdigest()})
    json.dump(words, open(f"{folder}/long.json", "w"), indent=0)
    json.dump(hashes, open(f"{folder}/codepoints.json", "w"), indent=0)

    from tokenizers import Tokenizer
    os.makedirs(f"{folder}/hf", exist_ok=True)
    vocab, merges = train([t for t in texts if t.isascii() and "<|" not in t][:300])
    extra = ["e\u0301 \u212b \u1100\u1161\u11a8 a\u0323\u0307\u0301", "\u30ab\u3099 \u4e2d\u6587\u306a\u306e", " whole whole1 2 34567",
             "x \u4e2d1 \u4e2d \t\u4e2d\n", "!abc \x01\x02a \x01 \x01\x02", "HTTPServer's A\u0301B\u02b0c \u01c5a", "1\n2\r\n \n  3   ",
             "\u30a2\u30fb\u30a2 \u30a2\u309b\u30a2 \u3063\u3040 \u3040\u30a2\u3097\u3098\u30a2 \u3063\u3099\u30a2\u3042 \u30a0\u30fb",
             "\u3063\u3040\u3040 a\u30a2 \u30a21\u30a2 \u30fba\u30fb! !\u30a2 \u4e2d\u30fb\u6587\u309c\u3099\u3099\u3040\u3099",
             "\u30fb\n\t\t\n \u30fb\r\n\n \u30a2\n\n\u30a2\n"]
    sample = [t for i, t in enumerate(texts) if i % 4 == 0] + extra
    with open(f"{folder}/hf/ids.jsonl", "w", encoding="utf-8") as out:
        for name, shape in SHAPES.items():
            made = tokenizer_json(shape, *across(vocab, merges) if name == "deepseek3" else (vocab, merges))
            with open(f"{folder}/hf/{name}.json", "w", encoding="utf-8") as f:
                json.dump(made, f, ensure_ascii=name == "smollm2", indent=None)
            made["added_tokens"] = []
            tokenizer = Tokenizer.from_str(json.dumps(made))
            for t in sample:
                ids = tokenizer.encode(t, add_special_tokens=False).ids
                out.write(json.dumps({"file": f"{name}.json", "text": t, "ids": ids}) + "\n")


if __name__ == "__main__":
    main()
