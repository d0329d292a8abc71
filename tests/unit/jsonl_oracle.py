#!/usr/bin/env python3
"""What Python's json makes of lines: the expectation of test_jsonl.c, which shares nothing with it.

jsonl_oracle.py list DATA         a line for each row of the JSONL files below DATA: file, SHA-256 of the text
                                  or null, id; expected/jsonl.txt is what it printed
jsonl_oracle.py mutate SEED N     N damaged lines with what they hold, as test_jsonl.c reads them: u32 size, line, a
                                  letter (t text, n null or absent, e error, b blank), u32 size, text, u32 size, id

Where Python is laxer than RFC 8259 (NaN, Infinity) the line is an error. Bytes that are no UTF-8 pass through:
each byte of 0x80 and up is moved into a private code point before parsing and back after it.
"""
import hashlib
import json
import random
import struct
import sys
from pathlib import Path

PRIVATE = 0x10F700


class Number(str):
    """A number as it is written."""


def refuse(name):
    raise ValueError(name)


def parse(line):
    text = "".join(chr(b if b < 0x80 else PRIVATE + b) for b in line)
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=refuse)


def encode(text):
    out = bytearray()
    for c in text:
        code = ord(c)
        if PRIVATE + 0x80 <= code <= PRIVATE + 0xFF:
            out.append(code - PRIVATE)
        elif 0xD800 <= code <= 0xDFFF:
            out += b"\xef\xbf\xbd"
        else:
            out += c.encode()
    return bytes(out)


def verdict(line):
    if not line.strip(b" \t\r\n"):
        return "b", b"", b""
    try:
        row = parse(line)
    except (ValueError, RecursionError):
        return "e", b"", b""
    if not isinstance(row, dict):
        return "e", b"", b""
    column = next((k for k in ("text", "raw_content", "content") if k in row), "content")
    text, name = row.get(column), row.get("id")
    name = encode(name) if isinstance(name, str) else b""
    if text is None:
        return "n", b"", name
    if not isinstance(text, str) or isinstance(text, Number):
        return "e", b"", b""
    return "t", encode(text), name


PARTS = [b'"', b"\\", b"{", b"}", b"[", b"]", b":", b",", b"null", b"true", b"false", b"NaN", b"-Infinity", b"0", b"-1",
         b"1.5e+3", b"01", b"1.", b"\\u0041", b"\\ud83d\\ude00", b"\\ud83d", b"\\ude00", b"\\u00", b"\\n", b"\\x",
         b"\t", b" ", b"\r", b"\0", b"\x1f", b"\x7f", b"\xff", b"\xe2\x82\xac", b'"text"', b'"te\\u0078t"', b'"id"',
         b'"raw_content":', b'"text":"twice",', b'"a":[{"b":[1,{}]}],', b"{}", b"[]", b"/", b"\\/"]

SEEDS = [
    b'{"text":"abc","id":"i1","url":"http://x"}',
    b'{"id": 12, "text": "line\\nand \\"quote\\" \\u00e9\\ud83d\\ude00", "n": -1.5e-3}',
    b'{"raw_content":"raw","content":"c","list":[1,[2,{"text":"inner"}],null,true]}',
    b'{"content":null,"meta":{"text":"no","deep":{"a":[]}},"id":"\\u0061"}',
    b' { "text" : "' + b"plain words " * 6 + b'" , "score" : 0.25 } ',
    '{"text":"日本語 \U0001f600 ü","id":"é"}'.encode(),
    b'{"text":"first","text":"second","x":false}',
    b"{}",
]


def mutate(rng):
    line = bytearray(rng.choice(SEEDS))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3, 6))):
        at = rng.randrange(len(line) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            line[at:at] = rng.choice(PARTS)
        elif kind == 1:
            part = rng.choice(PARTS)
            line[at:at + len(part)] = part
        elif kind == 2:
            del line[at:at + rng.randrange(1, 5)]
        elif kind == 3:
            line[at:at + 1] = bytes([rng.randrange(256)])
        else:
            other = rng.choice(SEEDS)
            line[at:at] = other[rng.randrange(len(other)):][:rng.randrange(1, 20)]
    return bytes(line).replace(b"\n", b" ")


def field(data):
    return struct.pack("<I", len(data)) + data


def main(argv):
    if argv[1] == "mutate":
        rng = random.Random(int(argv[2]))
        for _ in range(int(argv[3])):
            line = mutate(rng)
            kind, text, name = verdict(line)
            sys.stdout.buffer.write(field(line) + kind.encode() + field(text) + field(name))
        return
    data = Path(argv[2])
    for path in sorted(p for d in ("jsonl/plain", "redpajama2") for p in (data / d).iterdir()):
        for line in open(path, "rb"):
            kind, text, name = verdict(line)
            assert kind in "tn", path
            shown = hashlib.sha256(text).hexdigest() if kind == "t" else "null"
            print(path.relative_to(data), shown, name.decode() or "-")


main(sys.argv)
