"""Errors of local files: damaged, not supported, changed; and what an mmap reader gets."""
import json
import mmap
import os
import shutil
import signal
import subprocess

from expect import GOOD, JSONL_2, BY_PIECE, RAW, batches_of, differing, touching
from tap import DATA, FINEWEB, TMP, Mount, code, digest, equal, ok, read, say, until


def folder(name):
    path = TMP / name
    path.mkdir()
    return path


def uncountable():
    """A file that cannot be counted stands behind a good one: batches before it are right, later ones fail, skip leaves it out."""
    errors = json.loads((DATA / "expected/errors.json").read_text())
    raw, jsonl = batches_of(RAW, 128, 2), batches_of(JSONL_2, 128, 2)
    good = {
        ".parquet": (DATA / "bad/good.parquet", GOOD),
        ".bin": (DATA / "tokens/raw/fineweb_train_000000.bin", raw),
        ".jsonl": (DATA / "jsonl/plain/000_00002.jsonl", jsonl),
        ".jsonl.gz": (DATA / "jsonl/gz/000_00002.jsonl.gz", jsonl),
        ".jsonl.zst": (DATA / "jsonl/zst/000_00002.jsonl.zst", jsonl),
    }
    for name, error in errors.items():
        want = error.split(",")[0].split()[0]
        if "cannot be counted" not in error and want != "ENOTSUP":
            continue
        ending = name[name.index("."):]
        first, batches = good[ending]
        d = folder("un-" + name)
        shutil.copy(first, d / ("0" + ending))
        shutil.copy(DATA / "bad" / name, d / ("1" + ending))
        options = "batch_size=2,seq_len=128,shuffle=none,block=2000,retry=2"
        try:
            with Mount([d], options) as m:
                have = [digest(m / ("rank_0/batch_%04d.bin" % k)) for k in range(len(batches))]
                equal(have, batches, "%s: batches of the file before it are right" % name)
                equal(code(read, m / ("rank_0/batch_%04d.bin" % (len(batches) + 2))), want, "%s: later ones are %s" % (name, want))
                equal(m.dataset()["batches"], None, "%s: how many batches there are is not known" % name)
            with Mount([d], options + ",on_error=skip") as m:
                until(10, lambda: m.dataset()["batches"] is not None)
                equal(m.dataset()["batches"], len(batches), "%s: on_error=skip leaves the file out" % name)
                have = [digest(m / ("rank_0/batch_%04d.bin" % k)) for k in range(len(batches))]
                equal(have, batches, "%s: and serves the other" % name)
        except RuntimeError as e:
            ok(False, name, e)
        alone = subprocess.run([FINEWEB, str(DATA / "bad" / name), str(TMP / "mnt"), "-o", "batch_size=2,seq_len=128,retry=2"],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        lines = alone.stderr.splitlines()
        ok(alone.returncode == 32 and len(lines) == 1 and name in lines[0] and not os.path.ismount(TMP / "mnt"),
           "%s alone: the mount fails with one line that names it" % name, alone.returncode, alone.stderr)


def pages():
    """A damaged page fails the batches of its row group, in a batch and in epoch.bin, and nothing else."""
    for name in ("page_damaged", "page_header", "page_crc"):
        # Row groups of 2241, 2131 and 2470 tokens: 17, 16 and 19 sequences of 128.
        bad = set(range(17 // 2, -(-33 // 2)))
        want = ["EBADMSG" if k in bad else GOOD[k] for k in range(26)]
        with Mount([DATA / "bad" / (name + ".parquet")], "batch_size=2,seq_len=128,shuffle=none", foreground=True) as m:
            equal([digest(m / ("rank_0/batch_%04d.bin" % k)) for k in range(26)], want, "%s: only its row group fails" % name)
            ok("%s.parquet" % name in m.log.read_text(), "%s: the log names the file" % name, m.log.read_text())
            n = m.log.read_text().count("\n")
            for k in bad:
                code(read, m / ("rank_0/batch_%04d.bin" % k))
            ok(m.log.read_text().count("\n") == n, "%s: a failure is remembered, not logged again" % name, m.log.read_text())
            size = 2 * 129 * 2
            fd = os.open(m / "rank_0/epoch.bin", os.O_RDONLY)
            first = os.pread(fd, 2 * size, 0)
            equal(first, read(m / "rank_0/batch_0000.bin") + read(m / "rank_0/batch_0001.bin"), "%s: epoch.bin before it" % name)
            equal(code(os.pread, fd, 100, 10 * size), "EBADMSG", "%s: epoch.bin in it" % name)
            equal(os.pread(fd, size, 25 * size), read(m / "rank_0/batch_0025.bin"), "%s: epoch.bin behind it" % name)
            os.close(fd)
            child = os.fork()
            if child == 0:
                with open(m / ("rank_0/batch_%04d.bin" % min(bad)), "rb") as f:
                    mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)[0]
                os._exit(0)
            equal(os.WTERMSIG(os.waitpid(child, 0)[1]), signal.SIGBUS, "%s: an mmap reader gets SIGBUS" % name)


def changed():
    """A file that is replaced under the mount is ESTALE where it was not read yet, and nowhere else."""
    for how in ("replaced", "truncated", "removed"):
        d = folder("changed-" + how)
        for i in range(4):
            shutil.copy(DATA / ("sample/10BT/000_0000%d.parquet" % i), d)
        cache = folder("cache-" + how)
        with Mount([d], "%s,cache=%s,retry=2" % (BY_PIECE, cache)) as m:
            f = d / "000_00003.parquet"
            if how == "replaced":
                shutil.copy(DATA / "edu/000_00000.parquet", d / "new")
                os.rename(d / "new", f)
            elif how == "truncated":
                os.truncate(f, 60000)
            else:
                f.unlink()
            wrong = differing(m, touching(3), ["ESTALE"])
            ok(not wrong, "a file that is %s under the mount is ESTALE, the others read right" % how, *wrong[:8])


def tokens():
    """An id outside the vocabulary fails only the batches with it."""
    d = folder("ids")
    shutil.copy(DATA / "bad/id_out_of_range.bin", d / "1.bin")
    (d / "0.bin").write_bytes(RAW[:2 * 1290])
    good = batches_of(RAW[:2 * 1290], 1, 3)
    with Mount([d], "batch_size=3,seq_len=1,shuffle=none") as m:
        equal([digest(m / ("rank_0/batch_%04d.bin" % k)) for k in (0, 200, 428)], [good[0], good[200], good[428]],
              "an id outside the vocabulary: the neighbours are right")


uncountable()
pages()
changed()
tokens()
say("# end")
