#!/usr/bin/env python3
"""Writes words.txt, the most frequent English words, and for each vocabulary NAME.words, their ids.

usage: mkwords.py          (beside the .tiktoken files; needs the packages wordfreq 3.1.1, msgpack and tiktoken of PyPI)

words.txt has a word of small letters a line, the most frequent first. NAME.words has for each of them four forms, " word", " Word", "word" and
"Word": a byte that counts ids, and the ids in two bytes each (three in a vocabulary of more than 65,536), little-endian. The count is 0 where the
form is a token itself or has more than 15 bytes or more ids than fit (seven, three). The ids are tiktoken's.
"""
import gzip
import importlib.util
import os
import re
import sys

import msgpack

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../../tests/token")
from differential import tiktoken_oracle  # noqa: E402

COUNT = 60_000
data = os.path.dirname(importlib.util.find_spec("wordfreq").origin) + "/data/large_en.msgpack.gz"
buckets = msgpack.load(gzip.open(data), raw=False)[1:]
words = [w for bucket in buckets for w in bucket if re.fullmatch("[a-z]{2,14}", w)][:COUNT]
open(HERE + "/words.txt", "w").write("\n".join(words) + "\n")
forms = [f for w in words for f in (" " + w, " " + w.capitalize(), w, w.capitalize())]
for name, file, width, most in (("gpt2", "r50k_base", 2, 7), ("cl100k", "cl100k_base", 3, 3), ("o200k", "o200k_base", 3, 3)):
    out = bytearray()
    for form, ids in zip(forms, tiktoken_oracle(name, "")(forms)):
        keep = len(form) <= 15 and 1 < len(ids) <= most
        out.append(len(ids) if keep else 0)
        for i in ids if keep else ():
            out += i.to_bytes(width, "little")
    open(f"{HERE}/{file}.words", "wb").write(out)
    print(file, len(out))
