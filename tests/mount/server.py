"""server.py TEST...: errors of an HTTP server, made by tests/faultserver.py: each errno, retries, interruption."""
import contextlib
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

from expect import GOOD, BY_PIECE, SAMPLE, differing, touching
from tap import DATA, FINEWEB, TMP, Mount, code, digest, equal, ok, read, say, until

WWW = TMP / "www"
CONTROL, LOG = TMP / "control", TMP / "requests"
number = 0


@contextlib.contextmanager
def server(fault=""):
    """A server of sample/10BT and bad/ below WWW; the faults of its control file are changed by control()."""
    control(fault)
    LOG.write_text("")
    here = os.path.dirname(os.path.abspath(__file__))
    p = subprocess.Popen([sys.executable, os.path.join(here, "../faultserver.py"), str(WWW), "--control", str(CONTROL), "--log",
                          str(LOG), "--with-parent"], stdout=subprocess.PIPE, text=True)
    try:
        yield "http://127.0.0.1:" + p.stdout.readline().split()[1], p
    finally:
        p.kill()
        p.wait()


def control(fault):
    CONTROL.write_text(fault + "\n")


def requests():
    return [line.split("\t") for line in LOG.read_text().splitlines()]


def fresh():
    """A new cache folder: everything is cold."""
    global number
    number += 1
    path = TMP / ("cold%d" % number)
    path.mkdir()
    return "cache=%s" % path


def counted(m):
    """Waits until a mount has counted everything: what fails from then on are reads."""
    until(20, lambda: m.dataset()["batches"] is not None)


def sample(url):
    return ["%s/000_0000%d.parquet" % (url, i) for i in range(4)]


def refused():
    """What fails with which errno, and that the other files' batches are right."""
    cases = (
        ("a server that refuses (403)", "status;code=403", "EACCES"),
        ("a server that refuses (401)", "status;code=401", "EACCES"),
        ("a file that changed (ETag)", "etag;tag=changed", "ESTALE"),
        ("a server that fails (503) beyond retry", "status;code=503", "EIO"),
        ("connections that are reset beyond retry", "reset;bytes=10", "EIO"),
        ("answers that are no HTTP", "garbage", "EIO"),
        ("an answer of another range", "range;kind=first", "EIO"),
        ("answers that are compressed unasked", "gzip", "ENOTSUP"),
    )
    for what, fault, name in cases:
        with server() as (url, _), Mount(sample(url), "%s,%s,retry=1" % (BY_PIECE, fresh()), foreground=True) as m:
            counted(m)
            control("000_00001* " + fault)
            begun = time.monotonic()
            wrong = differing(m, touching(1), [name])
            ok(not wrong, "%s is %s, other files read right" % (what, name), *wrong[:6])
            ok(time.monotonic() - begun < 25, "%s: ends within retry" % what, time.monotonic() - begun)
            ok("000_00001.parquet" in m.log.read_text(), "%s: the log names the URL" % what, m.log.read_text())


def unready():
    """A mount that cannot count its first batch fails in ready_timeout, with the cause."""
    for fault, cause in (("status;code=503", "503"), ("silent", ""), ("status;code=403", "403")):
        with server("* " + fault) as (url, _):
            begun = time.monotonic()
            r = subprocess.run([FINEWEB, sample(url)[0], str(TMP / "mnt"), "-o", "ready_timeout=3,retry=1,%s" % fresh()],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            lines = r.stderr.splitlines()
            ok(r.returncode == 32 and len(lines) == 1 and "000_00000.parquet" in lines[0] and cause in lines[0],
               "%s from the start: the mount fails, one line says why" % fault, r.returncode, r.stderr)
            ok(time.monotonic() - begun < 8 and not os.path.ismount(TMP / "mnt"), "%s: in time, nothing is left" % fault)


def silent():
    for what, fault in (("a server that never answers", "silent"), ("a transfer that stalls", "stall;bytes=100"),
                        ("a transfer that drips", "drip;rate=100")):
        with server() as (url, _), Mount(sample(url), "%s,%s,retry=2" % (BY_PIECE, fresh())) as m:
            counted(m)
            control("000_00001* " + fault)
            begun = time.monotonic()
            k = min(touching(1))
            equal(code(read, m / ("rank_0/batch_%04d.bin" % k)), "ETIMEDOUT", "%s is ETIMEDOUT after retry" % what)
            ok(time.monotonic() - begun < 20, "%s: in time" % what, time.monotonic() - begun)
            if fault == "silent":
                control("")
                time.sleep(13)
                wrong = differing(m)
                ok(not wrong, "%s: a while later it is tried again, all is right" % what, *wrong[:6])


def down():
    with server() as (url, p), Mount(sample(url), "%s,%s,retry=2" % (BY_PIECE, fresh())) as m:
        counted(m)
        cached = differing(m, set(range(10, 118)), ["?"])
        p.kill()
        p.wait()
        again = differing(m, set(range(10, 118)), ["?"])
        ok([c for c in cached if "batch 0:" in c] == [] == [c for c in again if "batch 0:" in c], "what is cached reads while the server is down")
    # Cold: nothing is cached but what counting read.
    with server() as (url, p), Mount(sample(url), "%s,%s,retry=2" % (BY_PIECE, fresh())) as m:
        counted(m)
        p.kill()
        p.wait()
        begun = time.monotonic()
        have = code(read, m / "rank_0/batch_0117.bin")
        ok(have in ("EIO", "ETIMEDOUT"), "a server that is down is EIO or ETIMEDOUT after retry", have)
        ok(1.9 < time.monotonic() - begun < 15, "and retry is what bounds it", time.monotonic() - begun)


def retried():
    """Faults that pass: the reader sees nothing of them."""
    for fault in ("status;code=503;first=2", "status;code=429;retry=1;first=1", "reset;bytes=100;first=1", "truncate;bytes=77;first=2",
                  "garbage;first=1", "length;first=1", "range;kind=garbage;first=1", "redirect;first=1", "chunked",
                  "unframed", "noetag", "late;seconds=0.02"):
        with server() as (url, _):
            try:
                if fault == "noetag":
                    control("* noetag")
                with Mount(sample(url), "%s,%s,retry=30" % (BY_PIECE, fresh())) as m:
                    counted(m)
                    control("* " + fault)
                    wrong = differing(m)
                    ok(not wrong, "%s: read right all the same" % fault, *wrong[:6])
            except RuntimeError as e:
                ok(False, fault, e)


def flipped():
    """good_crc.parquet has page CRCs: a byte that flips on the way is fetched once more, on a new connection."""
    crc = 5000  # in the first row group's text, and not in the last 64 KiB, which come with the footer
    options = "batch_size=2,seq_len=128,shuffle=none,retry=2"
    for what, fault in (("once", "flip;at=%d;first=1" % crc), ("always", "flip;at=%d" % crc)):
        with server() as (url, _):
            control("good_crc* " + fault)  # before the mount, which reads the first row group as it counts it
            with Mount(["%s/good_crc.parquet" % url], "%s,%s" % (options, fresh())) as m:
                flipped_once(m, what, crc)


def flipped_once(m, what, crc):
    have = [digest(m / ("rank_0/batch_%04d.bin" % k)) for k in range(26)]
    if what == "once":
        equal(have, GOOD, "a byte that flips on the way once: fetched once more, right")
    else:
        equal(have, ["EBADMSG" if k < 9 else GOOD[k] for k in range(26)], "a byte that always flips: EBADMSG, only its row group")
    # A range as it was asked for: bytes=FIRST-LAST; the end of the file is asked for as bytes=-N.
    ranges = [r[2][6:].split("-") for r in requests() if r[2].startswith("bytes=")]
    holding = [r for r in ranges if r[0] and int(r[0]) <= crc <= int(r[1])]
    equal(len(holding), 2, "%s: the range was fetched twice" % what)


libc = ctypes.CDLL(None, use_errno=True)


def interrupted():
    """A cold read ends at once with EINTR; ls and cached reads never wait for it; unmounting neither."""
    with server() as (url, _), Mount(sample(url), "%s,%s,retry=300" % (BY_PIECE, fresh()), foreground=True) as m:
        last = max(touching(0, {0})) - 1
        warm = [m / ("rank_0/batch_%04d.bin" % k) for k in range(last)]
        for f in warm[:4]:
            read(f)
        until(5, lambda: m.stats()["queue_length"] == 0)
        counted(m)
        control("000_0000[123]* silent")
        cold = [m / ("rank_0/batch_%04d.bin" % k) for k in sorted(touching(2) | touching(3) | touching(1))]
        readers = [subprocess.Popen(["cat", str(f)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for f in cold[:24]]
        time.sleep(1)
        ok(all(r.poll() is None for r in readers), "24 cold readers wait")
        times = []
        for f in warm[4:]:
            begun = time.monotonic()
            have = digest(f)
            times.append(time.monotonic() - begun)
            if have != SAMPLE["sha256"]["epoch_0/rank_0/" + f.name]:
                ok(False, "%s while others wait" % f.name, have)
        ok(max(times) < 0.3, "cached reads stay fast while 24 cold reads hang", max(times))
        begun = time.monotonic()
        names = os.listdir(m / "rank_0")
        [os.stat(m / "rank_0" / n) for n in names]
        m.dataset()
        ok(time.monotonic() - begun < 0.5 and len(names) == 118, "ls -l and dataset.json too", time.monotonic() - begun)

        begun = time.monotonic()
        for r in readers:
            r.send_signal(signal.SIGINT)
        codes = [r.wait(10) for r in readers]
        ok(time.monotonic() - begun < 1 and set(codes) == {-signal.SIGINT}, "SIGINT ends all of them at once", time.monotonic() - begun, codes)

        signal.signal(signal.SIGUSR1, lambda *_: None)
        signal.siginterrupt(signal.SIGUSR1, True)
        fd = os.open(cold[30], os.O_RDONLY)
        buffer = ctypes.create_string_buffer(100)
        main = threading.main_thread().ident
        threading.Timer(0.5, lambda: signal.pthread_kill(main, signal.SIGUSR1)).start()
        begun = time.monotonic()
        n = libc.read(fd, buffer, 100)
        equal((n, ctypes.get_errno()), (-1, 4), "read(2) fails with EINTR")
        ok(time.monotonic() - begun < 1.5, "at once", time.monotonic() - begun)
        os.close(fd)

        r = subprocess.Popen(["cat", str(cold[31])], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        begun = time.monotonic()
        m.process.send_signal(signal.SIGTERM)
        m.process.wait(20)
        ok(time.monotonic() - begun < 3, "SIGTERM ends the mount while a read hangs", time.monotonic() - begun)
        ok(r.wait(10) != 0, "and the reader with an error")


def texts():
    """Texts that hang on a silent server delay no text whose tokens are there, and none of them delays the end."""
    with server() as (url, _), Mount(sample(url), "%s,%s,retry=300" % (BY_PIECE, fresh()), foreground=True) as m:
        last = max(touching(0, {0})) - 1
        for k in range(last):
            read(m / ("rank_0/batch_%04d.bin" % k))
        until(5, lambda: m.stats()["queue_length"] == 0)
        counted(m)
        control("000_0000[123]* silent")
        cold = sorted(touching(2) | touching(3) | touching(1))
        hang = ["batch_%04d.txt" % k for k in cold[:20]] + ["batch_%04d.json" % k for k in cold[:20]]
        readers = [subprocess.Popen(["cat", str(m / "rank_0" / name)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for name in hang]
        time.sleep(1)
        ok(all(r.poll() is None for r in readers), "40 readers of texts wait for a silent server")
        begun = time.monotonic()
        for k in range(last):
            have = read(m / ("rank_0/batch_%04d.txt" % k))
            if not have.startswith(b"=== rank 0, row 0: 000_00000.parquet"):
                ok(False, "batch_%04d.txt" % k, have[:80])
        took = time.monotonic() - begun
        ok(last > 3 and took < 1, "meanwhile %d texts of tokens that are there take %.2f s" % (last, took))
        begun = time.monotonic()
        for r in readers[:30]:
            r.send_signal(signal.SIGINT)
        codes = [r.wait(10) for r in readers[:30]]
        ok(time.monotonic() - begun < 1 and set(codes) == {-signal.SIGINT}, "SIGINT ends them at once", codes)
        begun = time.monotonic()
        m.process.send_signal(signal.SIGTERM)
        m.process.wait(20)
        ok(time.monotonic() - begun < 3, "SIGTERM ends the mount while texts hang", time.monotonic() - begun)
        ok(all(r.wait(10) != 0 for r in readers[30:]), "and their readers with an error")


def known():
    """A file of which text was read is not asked for its footer in a later mount, though its pieces are gone. (A mount in the
    foreground has ended when it is left, and the next one has its index.)"""
    first = fresh()
    ends = {}
    for f in WWW.glob("000_*.parquet"):
        have = f.read_bytes()
        ends[f.name] = len(have) - 8 - int.from_bytes(have[-8:-4], "little")
    with server() as (url, _):
        with Mount(sample(url), "%s,%s" % (BY_PIECE, first), foreground=True) as m:
            wrong = differing(m)
            ok(not wrong, "a first mount reads footers and text", *wrong[:6])
        ok(any(spec.startswith("bytes=-") for _, _, spec, *_ in requests()), "it asks for the ends of files", *LOG.read_text().splitlines()[:5])
        for piece in (TMP / first.split("/")[-1] / "v1/pieces").rglob("*.tok"):
            piece.unlink()
        LOG.write_text("")
        with Mount(sample(url), "%s,%s" % (BY_PIECE, first), foreground=True) as m:
            wrong = differing(m)
            ok(not wrong, "a second one without the pieces gives the same", *wrong[:6])
        asked = [(path, spec) for _, path, spec, *_ in requests()]
        ok(asked and all(not spec.startswith("bytes=-") and int(spec.split("-")[1]) < ends[path] for path, spec in asked),
           "and asks for row groups alone", *asked[:10])


WWW.mkdir()
for f in list((DATA / "sample/10BT").glob("*.parquet")) + [DATA / "bad/good_crc.parquet"]:
    shutil.copy(f, WWW)
for name in sys.argv[1:]:
    globals()[name]()
say("# end")
