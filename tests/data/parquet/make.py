# Makes the files beside it and expected.json, which holds what was put into them. Needs pyarrow; made with 26.0.1.
import json
import os
import random

import pyarrow as pa
import pyarrow.parquet as pq

here = os.path.dirname(os.path.abspath(__file__))
random.seed(11)
expected = {}


def write(name, table, texts, ints, **options):
    pq.write_table(table, os.path.join(here, name), **options)
    expected[name] = {"rows": table.num_rows, "texts": texts, "ints": ints}


# Null at each level above a text; a list and a map beside it; REQUIRED inside OPTIONAL and OPTIONAL inside REQUIRED.
rows = [
    {"doc": {"text": "one"}}, None, {"doc": None}, {"doc": {"text": None}}, {"doc": {"text": ""}}, {"doc": {"text": "six"}},
]
strict = [{"text": "a"}, None, {"text": ""}, {"text": "d"}, None, {"text": "f"}]
loose = [{"text": "A"}, {"text": None}, {"text": ""}, {"text": "D"}, {"text": None}, {"text": "F"}]
text = pa.string()
schema = pa.schema([
    ("tags", pa.list_(pa.struct([("text", text)]))),
    ("meta", pa.struct([("doc", pa.struct([("text", text)]))])),
    ("pairs", pa.map_(text, text)),
    ("strict", pa.struct([pa.field("text", text, nullable=False)])),
    pa.field("loose", pa.struct([("text", text)]), nullable=False),
    ("a.b", text),
])
nested = pa.Table.from_pydict({
    "tags": [[{"text": "x"}, {"text": "y"}], [], None, [{"text": "z"}], [None], []],
    "meta": rows,
    "pairs": [[("k", "v")], None, [], [], [], []],
    "strict": strict,
    "loose": loose,
    "a.b": ["1", "2", None, "4", "5", "6"],
}, schema=schema)
write("nested.parquet", nested, {
    "meta.doc.text": ["one", None, None, None, "", "six"],
    "strict.text": [r and r["text"] for r in strict],
    "loose.text": [r["text"] for r in loose],
    "a.b": ["1", "2", None, "4", "5", "6"],
}, {})

# Numbers: several blocks of differences, nulls, the ends of the range (differences wrap).
wide = [random.choice([0, 7, -1, 1 << 40, -(1 << 63), (1 << 63) - 1, None, random.getrandbits(20)]) for _ in range(700)]
narrow = [random.choice([0, 7, -1, -(1 << 31), (1 << 31) - 1, None, random.getrandbits(20)]) for _ in range(700)]
steady = [1000 + 3 * i for i in range(700)]
numbers = pa.table({"wide": pa.array(wide, pa.int64()), "narrow": pa.array(narrow, pa.int32()),
                    "steady": pa.array(steady, pa.int64())})
ints = {"wide": wide, "narrow": narrow, "steady": steady}
for name, options in {
    "ints_delta.parquet": {"column_encoding": {c: "DELTA_BINARY_PACKED" for c in ints}, "use_dictionary": False},
    "ints_plain.parquet": {"use_dictionary": False, "data_page_version": "2.0", "compression": "zstd"},
    "ints_dictionary.parquet": {"data_page_size": 300, "write_batch_size": 64},
}.items():
    write(name, numbers, {}, ints, **options)

# Many pages with CRCs and a page index; bytes that do not compress, which version 2 marks as such; shared prefixes.
noise = ["".join(chr(33 + random.randrange(94)) for _ in range(40)) if i % 7 else None for i in range(300)]
shared = [None if i % 11 == 3 else "https://example.org/a/" + "/".join("%03d" % (i // k) for k in (100, 10, 1)) for i in range(300)]
pages = pa.table({"noise": noise, "shared": shared})
options = {"data_page_size": 900, "write_batch_size": 32, "write_page_checksum": True, "write_page_index": True,
           "use_dictionary": False, "column_encoding": {"noise": "DELTA_LENGTH_BYTE_ARRAY", "shared": "DELTA_BYTE_ARRAY"}}
for version in ("1.0", "2.0"):
    write("pages_v%s.parquet" % version[0], pages, {"noise": noise, "shared": shared}, {}, data_page_version=version, **options)

with pq.ParquetWriter(os.path.join(here, "no_groups.parquet"), pages.schema):
    pass
expected["no_groups.parquet"] = {"rows": 0, "texts": {"noise": []}, "ints": {}}

with open(os.path.join(here, "expected.json"), "w") as f:
    json.dump(expected, f, sort_keys=True)
