"""origin.py: documents of rows, and rows of documents, against the lines of the same texts and the ids themselves."""
import json
import os
import struct
import subprocess
import sys

from tap import DATA, TMP, equal, load, ok, run

BOS = 50256
SOURCE = DATA / "jsonl/plain"
T = 512


def texts():
    """(file, line, id, url) of every document with a text, a list for each file; each file is one piece."""
    out = []
    for path in sorted(SOURCE.iterdir()):
        documents = []
        for n, line in enumerate(path.read_text("utf-8").splitlines()):
            d = json.loads(line)
            if d.get("text"):
                documents.append((path.name, n, d.get("id"), d.get("url")))
        out.append(documents)
    return out


def pieces(documents):
    """The ids of each piece as far as they stand in sequences: of `shuffle=none` in one rank, row after row."""
    words = [SOURCE, "-o", "shuffle=none,batch_size=1,seq_len=%d" % T, "--batch", "0-"]
    raw = run("cat", *words)[1]
    rows = [struct.unpack("<%dH" % (T + 1), raw[i:i + 2 * T + 2]) for i in range(0, len(raw), 2 * T + 2)]
    where = json_objects(run("cat", *words, "--format", "json")[1].decode())
    out = {}
    for row, batch in zip(rows, where):
        r = batch["rows"][0]
        out.setdefault(r["file"], []).append((row, r))
    return out


def json_objects(text):
    decoder, at, out = json.JSONDecoder(), 0, []
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        out.append(value)
        while at < len(text) and text[at].isspace():
            at += 1
    return out


def check_file(documents, rows):
    """A document begins at each bos, in the order of the lines."""
    wrong = []
    ids = list(rows[0][0])
    for row, _ in rows[1:]:
        ids += row[1:]
    begins = [i for i, t in enumerate(ids) if t == BOS]
    for k, (row, r) in enumerate(rows):
        first, last = k * T, k * T + T
        want = []
        for n, begin in enumerate(begins):
            end = begins[n + 1] if n + 1 < len(begins) else len(ids)
            if begin <= last and end > first:
                want.append({"id": documents[n][2], "url": documents[n][3], "offset": max(begin, first) - first,
                             "skipped": max(first - begin, 0)})
        if r["documents"] != want or r["sequence"] != k:
            wrong.append((k, r["documents"], want))
    return wrong, begins, len(ids)


def check_find(documents, n, begin, end, options):
    """The rows that --find names hold the document, each where it says, and together all of it that is in a batch."""
    name, line, identity, _ = documents[n]
    found = load("cat", SOURCE, "-o", options, "--find", "%s:%d" % (name, line), "--json")
    by_id = load("cat", SOURCE, "-o", options, "--find", identity, "--json")
    if found != by_id or found["id"] != identity or found["first"] != begin or found["tokens"] < end - begin:
        return "%s:%d: %r" % (name, line, found)
    seen = set()
    for row in found["rows"]:
        w = [SOURCE, "-o", options, "--rank", row["rank"], "--batch", row["batch"], "--format", "json"]
        there = load("cat", *w)["rows"][row["row"]]
        match = [d for d in there["documents"] if d["id"] == identity and d["offset"] == row["offset"]
                 and d["skipped"] == row["skipped"]]
        if len(match) != 1 or there["sequence"] != row["sequence"]:
            return "%s:%d: %r is not in %r" % (name, line, row, there)
        seen.update(range(row["skipped"], row["skipped"] + row["tokens"]))
    whole = found["dropped_sequences"] == 0
    if whole and seen != set(range(found["tokens"])):
        return "%s:%d: %d of %d tokens found" % (name, line, len(seen), found["tokens"])
    return None


per_file = texts()
rows = pieces(per_file)
for documents in per_file:
    if not documents or documents[0][0] not in rows:
        continue
    name = documents[0][0]
    wrong, begins, length = check_file(documents, rows[name])
    ok(not wrong, "%s: documents of each row" % name, *wrong[:3])
    chosen = [n for n in range(len(begins) - 1) if n % 37 == 0]
    for options in ("seq_len=512,batch_size=4,world_size=3,seed=5", "seq_len=512,batch_size=2,stride=sequence,tail=pad,epoch=2"):
        bad = [b for b in (check_find(documents, n, begins[n], begins[n + 1], options) for n in chosen) if b]
        ok(not bad, "%s: rows of %d documents, %s" % (name, len(chosen), options), *bad[:3])

# A file of several pieces, whose lines are numbered through.
long = TMP / "long/jsonl"
text = [json.loads(x)["text"] for x in (long / "long.jsonl").read_text("utf-8").splitlines()]
for line in (0, len(text) // 2, len(text) - 2):
    found = load("cat", long, "-o", "seq_len=512,batch_size=8", "--find", "long.jsonl:%d" % line, "--json")
    row = found["rows"][0]
    raw = run("cat", long, "-o", "seq_len=512,batch_size=8", "--batch", row["batch"])[1]
    at = (row["row"] * (T + 1) + row["offset"]) * 2
    # Of its first tokens bos is none of the text.
    have = run("decode", "--format", "u16", input=raw[at + 2:at + 2 * row["tokens"]])[1].decode().rstrip("\ufffd")
    ok(row["skipped"] == 0 and len(have) > 0 and text[line].startswith(have), "line %d of a file of %d pieces" % (
        line, found["piece"] + 1), found, have[:80], text[line][:80])

# Row groups of Parquet, of the same documents.
parquet = load("cat", DATA / "sample/10BT", "-o", "seq_len=512,batch_size=4", "--find", "000_00001.parquet:77", "--json")
line = json.loads((SOURCE / "000_00001.jsonl").read_text("utf-8").splitlines()[77])
equal((parquet["id"], parquet["row"], parquet["file"]), (line["id"], 77, "000_00001.parquet"), "a row of Parquet")
equal(parquet, load("cat", DATA / "sample/10BT", "-o", "seq_len=512,batch_size=4", "--find", line["id"], "--json"),
      "the same by its id")

# All documents of an id, in pieces and files: their lines, and what the rows hold of each.
twice = TMP / "twice"
twice.mkdir()
want = []
for name in ("a.jsonl", "b.jsonl"):
    size = 0
    with open(twice / name, "w", encoding="utf-8") as f:
        for line in range(2600):
            same = line % 1000 == 7
            document = {"id": "same" if same else "%s-%d" % (name, line), "text": "line %d of %s " % (line, name) * 100}
            size += f.write(json.dumps(document) + "\n")
            if same:
                want.append((name, line))
    assert size > 4 << 20  # more than a piece
found = json_objects(run("cat", twice, "-o", "seq_len=64,batch_size=2,shuffle=none", "--find", "same", "--json")[1].decode())
equal([(f["file"], f["row"]) for f in found], want, "all documents of an id, by file and line")
by_line = load("cat", twice, "-o", "seq_len=64,batch_size=2,shuffle=none", "--find", "b.jsonl:7", "--json")
equal(found[3], by_line, "each as by its line")
row = found[1]["rows"][0]
raw = run("cat", twice, "-o", "seq_len=64,batch_size=2,shuffle=none", "--batch", row["batch"])[1]
at = (row["row"] * 65 + row["offset"]) * 2
have = run("decode", "--format", "u16", input=raw[at + 2:at + 2 * row["tokens"]])[1].decode()
ok(have.startswith("line 1007 of a.jsonl"[:len(have)]) and len(have) > 4, "and stands where it says", have, found[1])
many = TMP / "many"
many.mkdir()
(many / "a.jsonl").write_text("".join(json.dumps({"id": "x", "text": "a document"}) + "\n" for _ in range(1001)))
code, out, err = run("cat", many, "-o", "seq_len=4,batch_size=2", "--find", "x", "--json")
ok(code == 0 and len(json_objects(out.decode())) == 1000 and b"first 1000" in err, "a thousand of them at most", code, err)

# Text on a server is asked for again, as for any read.
control = TMP / "control"
control.write_text("")
server = subprocess.Popen([sys.executable, os.path.join(os.environ["top"], "tests/faultserver.py"), DATA, "--control", control,
                           "--with-parent"], stdout=subprocess.PIPE, text=True)
url = "http://127.0.0.1:%s/sample/10BT/000_00001.parquet" % server.stdout.readline().split()[1]
options = ["-o", "seq_len=512,batch_size=4", "--where"]
want = run("cat", DATA / "sample/10BT/000_00001.parquet", *options)[1]
equal(run("cat", url, *options)[1], want, "--where of a file on a server")
control.write_text("* status;code=503;first=2;at=9000\n")
code, out, err = run("cat", url, *options)
ok(code == 0 and out == want, "and when it fails twice", code, err)
control.write_text("* status;code=404;at=9000\n")
code, out, err = run("cat", url, *options)
ok(code == 1 and err.count(b"\n") == 1, "what cannot pass is told at once", code, err)
server.kill()
server.wait()
print("# end")
