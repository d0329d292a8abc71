#!/usr/bin/env python3
"""Writes NAME.cuts beside each NAME.tiktoken given: for each id, in a byte, after how many of its bytes the two tokens meet that become it.

Whenever byte-pair encoding makes a token it makes it from the same two, those that are left when only its own bytes are encoded. 0 says that
there are none: a single byte, or a token that is only found as a whole word.
"""
import base64
import sys


def cut(token, ranks):
    parts = [token[i:i + 1] for i in range(len(token))]
    while len(parts) > 2:
        best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
        if parts[best] + parts[best + 1] not in ranks:
            return 0
        parts[best:best + 2] = [parts[best] + parts[best + 1]]
    return len(parts[0]) if len(parts) == 2 else 0


for path in sys.argv[1:]:
    ranks = {base64.b64decode(a): int(b) for a, b in (line.split() for line in open(path, "rb"))}
    cuts = bytearray(max(ranks.values()) + 1)
    for token, rank in ranks.items():
        cuts[rank] = cut(token, ranks)
    open(path.removesuffix(".tiktoken") + ".cuts", "wb").write(cuts)
