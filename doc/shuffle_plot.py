#!/usr/bin/env python3
"""shuffle_plot.py FINEWEB >shuffle.svg: from which file each row of an epoch is, for three ways to shuffle. Standard library only.

A made-up source of 140 files, as many as FineWeb-Edu's sample-100BT has, of 256 rows of 16,384 tokens each. shuffle=block is what
`fineweb cat --where` says of it. The second is what load_dataset(..., streaming=True).shuffle(buffer_size=10_000) does: the files in
random order, one after another, through a buffer of 10,000 documents (about ten million tokens, 610 rows) from which a random one
is taken each time. The third is a permutation of everything, which needs everything first."""
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FILES, ROWS, T, BUFFER, DOTS = 140, 256, 16384, 610, 2600
ALL = FILES * ROWS


def block_shuffle(fineweb):
    with tempfile.TemporaryDirectory() as folder:
        for k in range(FILES):
            with open(Path(folder) / ("%03d.bin" % k), "wb") as f:
                f.truncate(2 * (ROWS * T + 1))
        said = subprocess.run([fineweb, "cat", folder, "--where", "--batch", "0-", "--seq-len", str(T), "--batch-size", str(ROWS)],
                              check=True, capture_output=True, text=True, env={"FINEWEB_CACHE": folder, "FINEWEB_CONFIG": "/dev/null"})
    return [int(n) for n in re.findall(r"row \d+: (\d+)\.bin", said.stdout)]


def buffer_shuffle():
    dice = random.Random(0)
    files = list(range(FILES))
    dice.shuffle(files)
    buffer, out = [], []
    for row in (f for f in files for _ in range(ROWS)):
        if len(buffer) < BUFFER:
            buffer.append(row)
            continue
        k = dice.randrange(BUFFER)
        out.append(buffer[k])
        buffer[k] = row
    dice.shuffle(buffer)
    return out + buffer


def full_shuffle():
    rows = [f for f in range(FILES) for _ in range(ROWS)]
    random.Random(0).shuffle(rows)
    return rows


def mixed(rows, window=256):
    """How many files a batch of 256 rows is from, on average."""
    counts = [len(set(rows[i:i + window])) for i in range(0, len(rows) - window + 1, window)]
    return sum(counts) / len(counts)


def panel(top, title, rows, blocks=()):
    width, height, left = 880, 150, 70
    dice = random.Random(1)
    x = lambda i: left + width * i / ALL  # noqa: E731
    label = "a batch of 256 rows: %.0f files" % mixed(rows)
    # Neither lies over the other: a bold character of 15 px is at most 9.3 px wide on average, one of 12 px 7.
    assert 9.3 * len(title) + 7 * len(label) < width, title
    out = ['<text x="%d" y="%d" class="t">%s</text>' % (left, top - 8, title)]
    out.append('<text x="%d" y="%d" class="s" text-anchor="end">%s</text>' % (left + width, top - 8, label))
    out.append('<rect x="%d" y="%d" width="%d" height="%d" class="b"/>' % (left, top, width, height))
    for b in blocks:
        out.append('<path d="M%.1f %dv%d" class="k"/>' % (x(b), top, height))
    dots = sorted(dice.sample(range(ALL), DOTS))
    out.append('<path class="d" d="%s"/>' % "".join(
        "M%.1f %.1fh.01" % (x(i), top + 3 + (height - 6) * rows[i] / (FILES - 1)) for i in dots))
    out.append('<text x="%d" y="%d" class="s" text-anchor="end">file 0</text>' % (left - 6, top + 10))
    out.append('<text x="%d" y="%d" class="s" text-anchor="end">139</text>' % (left - 6, top + height))
    return out


def main():
    block = block_shuffle(sys.argv[1])
    assert len(block) == ALL, len(block)
    ends, at, c = [], 0, 0
    while at < ALL:
        at += min(2**28, 2**(20 + c)) // T
        ends.append(at)
        c += 1
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 980 640" width="980" height="640">', "<style>",
           "text{font-family:sans-serif;fill:#222}.t{font-size:15px;font-weight:bold}.s{font-size:12px;fill:#555}",
           ".b{fill:#fff;stroke:#bbb}.k{stroke:#e07b39;stroke-width:.7}.d{stroke:#2b6cb0;stroke-width:2.4;stroke-linecap:round;fill:none}",
           "</style>", '<rect width="980" height="640" fill="#fff"/>']
    out += panel(50, "shuffle=block: one piece to begin with, then mixed more and more", block, [e for e in ends if e < ALL])
    out += panel(250, "a buffer of 10,000 documents, file after file", buffer_shuffle())
    out += panel(450, "one permutation of everything (shuffle=full, torch): needs all of it", full_shuffle())
    out.append('<text x="70" y="622" class="s">row 0</text><text x="950" y="622" class="s" text-anchor="end">'
               'row %s of the epoch; orange: ends of blocks, each twice as long as the last, up to 2^28 tokens</text>' % format(ALL, ","))
    print("\n".join(out + ["</svg>"]))


main()
