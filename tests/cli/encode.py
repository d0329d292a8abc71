"""encode.py: texts with known ids, whole documents, large inputs, and back."""
import hashlib
import json
import os
import re
import struct

from tap import DATA, TMP, equal, lines, load, ok, run

entries = [json.loads(x) for x in (DATA / "tokens/gpt2.jsonl").read_text("utf-8").splitlines()]
names = []
for i, e in enumerate(entries):
    path = TMP / ("text%04d" % i)
    # A lone surrogate of JSON is U+FFFD.
    text = re.sub("[\ud800-\udfff]", "\ufffd", e.get("text", ""))
    path.write_bytes(bytes.fromhex(e["hex"]) if "hex" in e else text.encode())
    names.append(path)
have = [[int(t) for t in x.split()] for x in lines("encode", *names)]
wrong = [(e, h) for e, h in zip(entries, have) if h != e["ids"]]
ok(len(have) == len(entries) and not wrong, "%d texts" % len(entries), *wrong[:3])
back = run("decode", input=" ".join(str(t) for e in entries for t in e["ids"]).encode())[1]
equal(back, b"".join(p.read_bytes().decode("utf-8", "replace").encode() for p in names), "and back")

# The pieces of whole files: bos before each document.
pieces = json.loads((DATA / "expected/pieces.json").read_text())
for name in ("jsonl/plain/000_00001.jsonl", "jsonl/plain/000_00003.jsonl"):
    names = []
    for i, line in enumerate((DATA / name).read_text("utf-8").splitlines()):
        text = json.loads(line).get("text")
        if text:
            names.append(TMP / ("document%04d" % i))
            names[-1].write_text(text, "utf-8", newline="")
    ids = [t for x in lines("encode", *names) for t in [50256] + [int(t) for t in x.split()]]
    piece = pieces[name][0]
    equal((len(ids), hashlib.sha256(struct.pack("<%dH" % len(ids), *ids)).hexdigest()), (piece["tokens"], piece["sha256"]),
          name)

# Longer than what is read and encoded at once: lines of all kinds, and none at all.
texts = [json.loads(x)["text"] for x in (DATA / "jsonl/plain/000_00000.jsonl").read_text("utf-8").splitlines()
         if json.loads(x).get("text")]
one = "\n".join(texts) + "\n  \n\n\tx\r\n\r\ny  \nZ "
large = one * (12000000 // len(one.encode()) + 1)
ids = run("encode", "--format", "u16", input=large.encode())[1]
once = run("encode", "--format", "u16", input=one.encode() + b"\nA")[1]
equal(run("decode", "--format", "u16", input=ids)[1] == large.encode(), True, "12 MB and back")
part = run("encode", "--format", "u16", input=one.encode())[1]
ok(ids.startswith(part[:-2000]) and ids.endswith(part[2000:]), "it is cut where no word is", len(ids), len(part))
# The words of `one` begin and end alike wherever it stands, so that all of it has as many ids as its parts.
joined = run("encode", "--count", input=(one * 3).encode())[1]
two = run("encode", "--count", input=(one * 2).encode())[1]
n = large.count(one)
equal(len(ids) // 2, int(two) + (n - 2) * (int(joined) - int(two)), "as many ids as its parts")
# "ab", " ab" 2,999,999 times, " ": each but the last is one id or the same few.
few = int(run("encode", "--count", input=b"ab ab ")[1]) - int(run("encode", "--count", input=b"ab ")[1])
equal(int(run("encode", "--count", input=b"ab " * 3000000)[1]), int(run("encode", "--count", input=b"ab ")[1]) + 2999999 * few,
      "9 MB without an end of line")

tokens = load("encode", "--json", input="Hé 😀\n".encode())
equal("".join(t["bytes"] for t in tokens), "Hé 😀\n".encode().hex(), "--json: the bytes of all tokens")
equal([t["id"] for t in tokens], [int(t) for t in lines("encode", input="Hé 😀\n".encode())[0].split()], "--json: ids")
ok(any(t["text"] is None for t in tokens) and tokens[0]["text"] == "H", "--json: text where it is one", tokens)
invalid = b"a\xff\xc3(b\xe2\x82"
equal(run("encode", input=invalid)[1], run("encode", input=invalid.decode("utf-8", "replace").encode())[1],
      "invalid UTF-8 is replaced")
data = os.urandom(4000)
equal(run("decode", "--tokenizer", "o200k", input=run("encode", "--tokenizer", "o200k", input=data)[1])[1],
      data.decode("utf-8", "replace").encode(), "random bytes and back")
print("# end")
