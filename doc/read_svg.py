#!/usr/bin/env python3
"""read_svg.py >read.svg: what happens when a trainer reads a batch. Standard library only."""
W = 980
out = []


def box(x, y, w, h, title, *lines, kind="box"):
    out.append('<rect x="%d" y="%d" width="%d" height="%d" rx="6" class="%s"/>' % (x, y, w, h, kind))
    out.append('<text x="%d" y="%d" class="t">%s</text>' % (x + 12, y + 22, title))
    for k, line in enumerate(lines):
        out.append('<text x="%d" y="%d" class="s">%s</text>' % (x + 12, y + 41 + 16 * k, line))


def arrow(path, label="", x=0, y=0, anchor="start"):
    out.append('<path d="%s" class="a" marker-end="url(#m)"/>' % path)
    if label:
        out.append('<text x="%d" y="%d" class="l" text-anchor="%s">%s</text>' % (x, y, anchor, label))


box(30, 30, 250, 76, "trainer", "open /mnt/fw/rank_3/batch_0512.bin", "read 65,600 bytes", kind="out")
box(365, 30, 250, 76, "kernel", "page cache: a file that was read", "before is answered here, for ever")
box(700, 30, 250, 76, "fineweb: one loop thread", "rank, batch, row of a request", "answers what is at hand itself")
arrow("M280 60H363", "read", 322, 54, "middle")
arrow("M615 60H698", "FUSE_READ", 657, 54, "middle")
arrow("M698 88H617", "bytes", 657, 102, "middle")
arrow("M363 88H282", "bytes", 322, 102, "middle")

box(700, 150, 250, 92, "order: a pure function", "(seed, epoch, rank, batch, row)", "→ (file, piece, sequence)", "no table of the epoch, no state")
arrow("M825 106V148", "", 0, 0)
box(365, 150, 250, 92, "token shards on disk", "pread of T + 1 tokens a row;", "the rows of the next 8 batches are", "announced to the disk already", kind="disk")
box(365, 282, 250, 92, "cache: tokenised pieces", "a file a piece, checked at opening,", "shared by all mounts and nodes,", "the least recently used goes first", kind="disk")
arrow("M698 190H617", "tokens", 657, 184, "middle")
arrow("M760 242V320H617", "text", 690, 314, "middle")

box(700, 412, 250, 92, "not there yet: it waits", "Ctrl-C ends it at once; other reads", "and ls go on; whoever else asks for", "the piece waits for the same fetch")
arrow("M880 242V410", "miss", 888, 330)
box(365, 412, 250, 92, "fetch", "the ranges of one piece, pinned by", "ETag; retried with jitter for up to", "retry= seconds; Parquet, JSON lines", kind="net")
arrow("M698 450H617", "wanted", 657, 444, "middle")
box(30, 412, 250, 92, "tokenise", "a thread for a piece of about", "a million tokens; ids are those of", "tiktoken, byte for byte")
arrow("M363 450H282")
arrow("M155 412V328H363", "write, fsync, rename", 165, 322)
box(30, 540, 920, 54, "ahead of the reader",
    "reading in block c asks for all its pieces, then for those of c + 1; a reader who waits always goes first", kind="soft")
arrow("M490 540V506")

print("""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d 615" width="%d" height="615">
<style>
text{font-family:sans-serif;fill:#222}.t{font-size:15px;font-weight:bold}.s{font-size:12.5px;fill:#333}.l{font-size:12px;fill:#555}
.box{fill:#eef4fb;stroke:#2b6cb0}.out{fill:#f4fbee;stroke:#4d8c2b}.disk{fill:#fdf6e9;stroke:#c98a1b}.net{fill:#fbeeee;stroke:#b02b2b}
.soft{fill:#f7f7f7;stroke:#999;stroke-dasharray:5 4}.a{stroke:#444;stroke-width:1.5;fill:none}
</style>
<defs><marker id="m" markerWidth="9" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0 0L8 4L0 8z" fill="#444"/></marker></defs>
<rect width="%d" height="615" fill="#fff"/>""" % (W, W, W))
print("\n".join(out))
print("</svg>")
