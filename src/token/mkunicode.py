#!/usr/bin/env python3
"""Writes unicode.c: the class of each code point, from Unicode 16.0.

usage: mkunicode.py > unicode.c
Needs the package unicodedata2 16.0.0 (PyPI), whose data are UnicodeData.txt and PropList.txt of Unicode 16.0.0.
"""
import hashlib
import sys

import unicodedata2 as ucd

assert ucd.unidata_version == "16.0.0", ucd.unidata_version

# White_Space of PropList.txt; the two of a line's end have a class of their own.
SPACE = {0x09, 0x0B, 0x0C, 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000}
CLASS = {"Lu": 1, "Lt": 1, "Ll": 2, "Lm": 3, "Lo": 3, "Mn": 4, "Mc": 4, "Me": 4, "Nd": 5, "Nl": 5, "No": 5}


def klass(c):
    if c in (0x0A, 0x0D):
        return 7
    if c in SPACE:
        return 6
    category = ucd.category(chr(c))
    if category[0] == "P":
        return 8
    if category[0] == "S":
        return 9
    return CLASS.get(category, 0)


def rows(values, width):
    for i in range(0, len(values), width):
        yield "\t" + "".join(f"{v}," for v in values[i:i + width])


classes = bytes(klass(c) for c in range(0x110000))
# Behind INDEXED only the variation selectors of plane 14 have a class; the header knows them.
INDEXED = 0x32400
assert all(classes[c] == (4 if 0xE0100 <= c < 0xE01F0 else 0) for c in range(INDEXED, 0x110000))
blocks, index, seen = [], [], {}
for at in range(0, INDEXED, 128):
    block = classes[at:at + 128]
    if block not in seen:
        seen[block] = len(blocks)
        blocks.append(block)
    index.append(seen[block])
out = ["/* Written by mkunicode.py from Unicode 16.0.0. SHA-256 of the classes, one byte a code point:",
       f" * {hashlib.sha256(classes).hexdigest()} */", '#include "token/unicode.h"', "",
       f"const uint16_t unicode_index[{len(index)}] = {{", *rows(index, 27), "};", "",
       f"const uint8_t unicode_block[{128 * len(blocks)}] = {{", *rows(b"".join(blocks), 51), "};", ""]
sys.stdout.write("\n".join(out))
print(len(index), len(blocks), file=sys.stderr)
