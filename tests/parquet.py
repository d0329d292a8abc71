"""A small writer of Parquet files for tests: PLAIN, REQUIRED columns, one v1 page a chunk, uncompressed or gzip.

Source: parquet.thrift and Thrift's compact protocol. Rows can be had cheaply in millions, and a footer for any number of row
groups; what real writers write is in tests/data/writers.
"""
import struct
import zlib

INT64, BYTE_ARRAY = 2, 6
NONE, GZIP = 0, 2


def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


class I64(int):
    """A number of 64 bits; a plain int is one of 32."""


def value(v):
    """(type, bytes) of a value: I64, int, bytes, list, or dict of fields (a struct)."""
    if isinstance(v, I64):
        return 6, zigzag(v)
    if isinstance(v, int):
        return 5, zigzag(v)
    if isinstance(v, bytes):
        return 8, varint(len(v)) + v
    if isinstance(v, list):
        kinds = [value(x) for x in v]
        kind = kinds[0][0] if kinds else 12
        head = bytes([len(v) << 4 | kind]) if len(v) < 15 else bytes([0xf0 | kind]) + varint(len(v))
        return 9, head + b"".join(b for _, b in kinds)
    out, last = bytearray(), 0
    for field, x in sorted(v.items()):
        kind, b = value(x)
        out += bytes([(field - last) << 4 | kind]) + b
        last = field
    return 12, bytes(out) + b"\0"


def plain(values):
    """The PLAIN bytes of texts or of numbers."""
    if isinstance(values[0], int):
        return struct.pack("<%dq" % len(values), *values)
    return b"".join(x for v in values for x in (struct.pack("<I", len(v)), v))


def chunk(name, kind, codec, at, values, size, packed):
    """The ColumnChunk of a chunk of one page at `at`; size and packed with the page's header."""
    return {2: I64(at), 3: {1: kind, 2: [0], 3: [name], 4: codec, 5: I64(values), 6: I64(size), 7: I64(packed), 9: I64(at)}}


def footer(columns, rows, groups):
    """The end of a file. columns: [(name, kind)]; groups: list of RowGroup, or of their bytes with b"" joined: (n, bytes)."""
    schema = [{4: b"schema", 5: len(columns)}] + [{1: kind, 3: 0, 4: name} for name, kind in columns]
    if isinstance(groups, tuple):
        n, joined = groups
        head = value({1: 1, 2: schema, 3: I64(rows)})[1][:-1]
        body = head + b"\x19" + (bytes([n << 4 | 12]) if n < 15 else b"\xfc" + varint(n)) + joined + b"\0"
    else:
        body = value({1: 1, 2: schema, 3: I64(rows), 4: groups})[1]
    return body + struct.pack("<I", len(body)) + b"PAR1"


def page(body, values, codec):
    """(header and bytes, size decompressed with the header) of a data page."""
    packed = body
    if codec == GZIP:
        z = zlib.compressobj(1, wbits=31)
        packed = z.compress(body) + z.flush()
    head = value({1: 0, 2: len(body), 3: len(packed), 5: {1: values, 2: 0, 3: 3, 4: 3}})[1]
    return head + packed, len(head) + len(body)


class Writer:
    """with Writer(path, [(b"text", BYTE_ARRAY), ...]) as w: w.group({b"text": [b"..."]}), or (rows, PLAIN bytes) for a list."""
    def __init__(self, path, columns, codec=NONE):
        self.file, self.columns, self.codec = open(path, "wb"), columns, codec
        self.at, self.rows, self.groups = self.file.write(b"PAR1"), 0, []

    def group(self, values):
        chunks, rows = [], 0
        for name, kind in self.columns:
            v = values[name]
            rows, body = v if isinstance(v, tuple) else (len(v), plain(v))
            packed, size = page(body, rows, self.codec)
            chunks.append(chunk(name, kind, self.codec, self.at, rows, size, len(packed)))
            self.at += self.file.write(packed)
        self.rows += rows
        self.groups.append({1: chunks, 2: I64(self.at), 3: I64(rows)})

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.file.write(footer(self.columns, self.rows, self.groups))
        self.file.close()
        return False
