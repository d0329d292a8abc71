#!/usr/bin/env python3
"""decode.py BATCH [N] [VOCABULARY]: prints the first N tokens of a batch file as text (GPT-2). Standard library only."""
import base64
import sys
from pathlib import Path

END_OF_TEXT = 50256


def vocabulary(path):
    pairs = (line.split() for line in Path(path).read_bytes().splitlines())
    return {int(rank): base64.b64decode(token) for token, rank in pairs}


def main():
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 64
    default = Path(__file__).resolve().parent.parent / "src/token/vocab/r50k_base.tiktoken"
    words = vocabulary(sys.argv[3] if len(sys.argv) > 3 else default)
    words[END_OF_TEXT] = b"<|endoftext|>"
    with open(sys.argv[1], "rb") as f:
        head = f.read(2 * count)
    ids = [head[i] | head[i + 1] << 8 for i in range(0, len(head), 2)]
    print(b"".join(words[i] for i in ids).decode("utf-8", "replace"))


main()
