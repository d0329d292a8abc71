#!/usr/bin/env python3
"""Writes nfctables.c: canonical decompositions and combining classes of the code points that Unicode 9.0 has.

usage: mknfc.py DIR > nfctables.c
DIR is the npm package @unicode/unicode-9.0.0 (2.0.7), which tells what was assigned then (node reads it); the properties, which never change
for what is assigned, are those of the package unicodedata2 16.0.0 (PyPI).
"""
import json
import os
import subprocess
import sys

import unicodedata2 as ucd

assert ucd.unidata_version == "16.0.0", ucd.unidata_version
points = os.path.abspath(sys.argv[1]) + "/General_Category/Unassigned/code-points.mjs"
unassigned = set(json.loads(subprocess.check_output(
    ["node", "-e", f"import({json.dumps(points)}).then(m => console.log(JSON.stringify([...m.default])))"])))
known = [c for c in range(0x110000) if c not in unassigned and not 0xD800 <= c < 0xE000]

decompositions, compositions, classes = [], [], []
for c in known:
    text = ucd.decomposition(chr(c))
    if text and not text.startswith("<"):
        a, *b = (int(x, 16) for x in text.split())
        b = b[0] if b else 0
        if b and ucd.normalize("NFC", chr(a) + chr(b)) == chr(c):
            compositions.append((a, b, len(decompositions)))
        decompositions.append((c, a, b))
    k = ucd.combining(chr(c))
    if k and classes and classes[-1][1] == c - 1 and classes[-1][2] == k:
        classes[-1][1] = c
    elif k:
        classes.append([c, c, k])
compositions.sort()
seconds = sorted({b for _, b, _ in compositions if ucd.combining(chr(b)) == 0})


def rows(items, width):
    return ["\t" + " ".join(items[i:i + width]) for i in range(0, len(items), width)]


out = ["/* Written by mknfc.py: Unicode 9.0's canonical decompositions and combining classes. */", '#include "token/nfctables.h"', "",
       f"const struct nfc_decomposition nfc_decomposition[NFC_DECOMPOSITIONS] = {{ /* {len(decompositions)} */",
       *rows([f"{{0x{c:X},0x{a:X},0x{b:X}}}," for c, a, b in decompositions], 4), "};", "",
       f"const uint16_t nfc_composition[NFC_COMPOSITIONS] = {{ /* {len(compositions)} */",
       *rows([f"{i}," for _, _, i in compositions], 18), "};", "",
       f"const struct nfc_class nfc_class[NFC_CLASSES] = {{ /* {len(classes)} */",
       *rows([f"{{0x{a:X},0x{b:X},{k}}}," for a, b, k in classes], 5), "};", "",
       f"const uint32_t nfc_second[NFC_SECONDS] = {{ /* {len(seconds)} */",
       *rows([f"0x{c:X}," for c in seconds], 12), "};", ""]
sys.stdout.write("\n".join(out))
