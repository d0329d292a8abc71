"""forms.py: texts of batches that cannot be read, or not now."""
import os
import shutil
import signal
import subprocess
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

from tap import DATA, TMP, Mount, code, equal, ok, read

# One damaged file among whole ones: blocks of a piece, in canonical order.
folder = TMP / "damaged"
folder.mkdir()
shutil.copy(DATA / "bad/good.parquet", folder / "0.parquet")
shutil.copy(DATA / "bad/page_damaged.parquet", folder / "1.parquet")
with Mount([folder], "batch_size=1,seq_len=64,shuffle=none") as m:
    batches = sorted(os.listdir(m / "rank_0"))
    wrong, bad = [], 0
    for name in batches:
        want = code(read, m / "rank_0" / name)
        for end in ".txt", ".json":
            have = code(read, (m / "rank_0" / name).with_suffix(end))
            if have != want and not (end == ".json" and want == "ok"):
                wrong.append((name, end, have, want))
        bad += want == "EBADMSG"
    ok(bad > 0 and bad < len(batches), "some of %d batches are damaged: %d" % (len(batches), bad))
    equal(wrong, [], "a text fails as its batch does")


class Server(SimpleHTTPRequestHandler):
    """Serves the sample, with ranges, until `stalled` is set."""
    stalled = threading.Event()

    def log_message(self, *unused):
        pass

    def do_GET(self):
        b = (DATA / "sample/10BT" / os.path.basename(self.path)).read_bytes()
        first, last = 0, len(b) - 1
        r = self.headers.get("Range")
        if r:
            a, z = r.split("=")[1].split("-")
            first, last = (int(a), min(last, int(z or last))) if a else (max(0, len(b) - int(z)), last)
        while self.stalled.is_set() and last - first > 3000:
            time.sleep(0.1)
        self.send_response(206 if r else 200)
        self.send_header("ETag", '"%s"' % os.path.basename(self.path))
        self.send_header("Accept-Ranges", "bytes")
        if r:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, last, len(b)))
        self.send_header("Content-Length", str(last - first + 1))
        self.end_headers()
        self.wfile.write(b[first:last + 1])


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
files = TMP / "remote.txt"
files.write_text("".join("http://127.0.0.1:%d/000_0000%d.parquet\n" % (server.server_port, k) for k in range(4)))
with Mount([files], "batch_size=1,seq_len=256,shuffle=none,block=1") as m:
    first = read(m / "rank_0/batch_0000.txt")
    ok(first.startswith(b"=== rank 0, row 0: "), "a text over HTTP", first[:80])
    os.listdir(m / "rank_0")  # until all is counted: a listing would wait for that
    Server.stalled.set()
    # Nobody may have read this far: its text has to be fetched.
    p = subprocess.Popen(["cat", str(m / "rank_0/batch_0900.txt")], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(1)
    ok(p.poll() is None, "a text whose piece does not come waits")
    begun = time.monotonic()
    equal(read(m / "rank_0/batch_0000.txt"), first, "one that is there is read meanwhile")
    os.listdir(m / "rank_0")
    ok(time.monotonic() - begun < 0.5, "in %.3f s" % (time.monotonic() - begun))
    p.send_signal(signal.SIGINT)
    begun = time.monotonic()
    p.wait()
    ok(time.monotonic() - begun < 1, "Ctrl-C ends the one that waits in %.2f s" % (time.monotonic() - begun))
    Server.stalled.clear()
print("# end")
