"""web.py URL WHAT: mounts folders of a web server that makes index pages."""
import os
import shutil
import sys

from expect import entry
from tap import DATA, TMP, Mount, digest, equal, ok, say

NONE = "world_size=1,batch_size=8,seq_len=256,seed=42,shuffle=none"


def wrong(m, expected):
    return ["%s: %s" % (p, have) for p, want in expected.items() if (have := digest(m / p)) != want]


def refused(source, options, *words):
    try:
        with Mount([source], options, timeout=60):
            return "it is mounted"
    except RuntimeError as e:
        return "" if all(w in str(e) for w in words) else str(e)


def main():
    url, what = sys.argv[1:3]
    cache = TMP / ("web." + what)
    cache.mkdir()
    want = entry("sample/10BT", NONE)["sha256"]
    options = "%s,cache=%s" % (NONE, cache)
    with Mount([url + "/sample/"], options) as m:
        ok(not wrong(m, want), "%s: the batches of a folder of folders" % what)
        first = m.dataset()["fingerprint"]
    added = TMP / "www/sample/10BT/000_00009.parquet"
    shutil.copy(DATA / "sample/10BT/000_00003.parquet", added)
    with Mount([url + "/sample/"], options) as m:
        equal(m.dataset()["fingerprint"], first, "%s: a new file: the first list stays" % what)
    with Mount([url + "/sample/"], options + ",repin") as m:
        ok(m.dataset()["fingerprint"] != first, "%s: repin: the new list" % what)
    added.unlink()
    with Mount([DATA / "jsonl/plain/000_00000.jsonl", DATA / "jsonl/plain/000_00001.jsonl"], NONE) as m:
        want = {p: digest(m / p) for p in ("rank_0/batch_%04d.bin" % i for i in (0, 1, 20, 40, 60))}
        documents = m.dataset()["documents"]
    with Mount([url + "/deep/"], NONE) as m:
        [digest(m / p) for p in want]
        ok(not wrong(m, want), "%s: names with blanks and '&', folders that are entered, and one that is hidden" % what)
        equal(m.dataset()["documents"], documents, "%s: and as many documents" % what)
    os.utime(TMP / "www/deep/x.jsonl", (1600000000, 1600000000))
    dates = []
    for i in range(2):
        with Mount([url + "/deep/x.jsonl"], options) as m:
            dates += [os.stat(m / "rank_0/batch_0000.bin").st_mtime, os.stat(m / "rank_0").st_mtime]
    equal(dates, [1600000000] * 4, "%s: everything has the date of the server's file, in the next mount too" % what)
    equal(refused(url + "/empty/", NONE, "/empty/"), "", "%s: a folder without data" % what)
    equal(refused(url + "/none/", NONE, "/none/", "404"), "", "%s: a folder that is not there" % what)
    equal(refused(url + "/sample/", NONE + ",name=x", "name=x"), "", "%s: name= is for the Hub" % what)


main()
say("# end")
