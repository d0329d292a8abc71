"""What the Python parts of the mount tests share: TAP lines, mounts, errno names. The environment is that of functions.sh."""
import errno
import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

DATA = Path(os.environ["data"])
TMP = Path(os.environ["tmp"])
FINEWEB = os.environ["FINEWEB"]


def say(line):
    print(line, flush=True)


def ok(passed, what, *why):
    """One TAP line; why is what stands below a failure."""
    say(("ok - " if passed else "not ok - ") + what)
    if not passed:
        for w in why:
            for line in str(w).splitlines()[:20]:
                say("# " + line)
    return passed


def equal(have, want, what):
    return ok(have == want, what, "have %.600r" % (have,), "want %.600r" % (want,))


def skip(what, reason):
    say("ok - %s # SKIP %s" % (what, reason))


def code(function, *args, **named):
    """The name of the errno with which a call fails, or "ok"."""
    try:
        function(*args, **named)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))
    return "ok"


def read(path):
    with open(path, "rb", buffering=0) as f:
        parts = []
        while True:
            part = f.read(1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)


def digest(path):
    """SHA-256 of a file, or the name of the errno with which reading it fails."""
    try:
        return hashlib.sha256(read(path)).hexdigest()
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))


def words(path):
    """A file as uint16 numbers, whatever this host's byte order."""
    b = read(path)
    return [b[i] | b[i + 1] << 8 for i in range(0, len(b), 2)]


def until(seconds, condition):
    """Waits until it holds; tells whether it did."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Mount:
    """with Mount([source, ...], "option,option") as m: m is the path. foreground: the process is m.process, its log m.log."""
    def __init__(self, sources=(), options="", foreground=False, timeout=90, **env):
        self.sources, self.options, self.foreground = [str(s) for s in sources], options, foreground
        self.timeout, self.env = timeout, env
        self.process, self.log = None, None

    def __enter__(self):
        self.path = Path(tempfile.mkdtemp(prefix="mount.", dir=TMP))
        options = ["source=" + s.replace(",", "\\,") for s in self.sources] + ([self.options] if self.options else [])
        command = [FINEWEB, str(self.path)] + (["-f"] if self.foreground else [])
        if options:
            command += ["-o", ",".join(options)]
        env = {**os.environ, **self.env}
        if self.foreground:
            self.log = Path(str(self.path) + ".log")
            with open(self.log, "wb") as log:
                self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env)
            ready = until(self.timeout, lambda: self.process.poll() is not None or (self.path / "stats.json").exists())
            if not ready or self.process.poll() is not None:
                said = self.log.read_text()
                self.__exit__()
                raise RuntimeError("%s: %s" % (" ".join(command), said))
        else:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.timeout,
                                  env=env)
            if done.returncode:
                raise RuntimeError("%s: exit %d: %s" % (" ".join(command), done.returncode, done.stderr))
            self.said = done.stderr
        return self

    def __exit__(self, *unused):
        def gone():
            return subprocess.run(["umount", str(self.path)], stderr=subprocess.DEVNULL).returncode == 0 or \
                str(self.path) not in Path("/proc/self/mounts").read_text().split()
        if not until(5, gone):
            subprocess.run(["umount", "-l", str(self.path)])
        if self.process:
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGKILL)
                self.process.wait()
        return False

    def __truediv__(self, name):
        return self.path / name

    def stats(self):
        return json.loads(read(self / "stats.json"))

    def dataset(self):
        return json.loads(read(self / "dataset.json"))
