#!/usr/bin/env python3
"""Lazy reading over HTTP, ours and Python's ways: bytes, requests and seconds to the first batch, and what is sustained.

usage: lazy.py first|sustained BUILD SCRATCH [ROUNDS]

SCRATCH is what lazy.sh made: data/ (lazy_data.py) and venv/. Starts one nginx on the last CPU, in front of it the proxy tests/delayproxy.py, and
counts requests and bytes in nginx's own log. The programs take turns, ROUNDS (5) times."""
import glob
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import time

what, build, scratch = sys.argv[1:4]
rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
here = os.path.dirname(os.path.abspath(__file__))
fineweb, python = f"{build}/fineweb", f"{scratch}/venv/bin/python"
RANKS = f"{here}/../../src/token/vocab/r50k_base.tiktoken"
LOG, mnt = f"{scratch}/nginx/access.log", f"{scratch}/mnt"
RTT_MS, LINE = 30, float(os.environ.get("BENCH_LINE", 40))  # LINE: megabytes a second of the slow line
PASSES = ("pass0", "pass1", "pass4")
cpus = sorted(os.sched_getaffinity(0))
ONE, SERVER = str(cpus[0]), str(cpus[-1])
sizes = json.load(open(f"{scratch}/data/sizes.json"))
started = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(port, *command):
    started.append(subprocess.Popen(["taskset", "-c", SERVER, *command]))
    for _ in range(200):
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.02)
    sys.exit(f"{command[0]} does not answer")


def start_nginx():
    port = free_port()
    os.makedirs(f"{scratch}/nginx", exist_ok=True)
    with open(f"{scratch}/nginx/nginx.conf", "w") as f:
        f.write(f"""user root; master_process off; daemon off; pid {scratch}/nginx/pid; error_log {scratch}/nginx/error.log;
events {{ worker_connections 256; }}
http {{
    log_format bench '$msec $request_time $request_method $status $body_bytes_sent';
    access_log {LOG} bench;
    client_body_temp_path {scratch}/nginx/t; proxy_temp_path {scratch}/nginx/t; fastcgi_temp_path {scratch}/nginx/t;
    uwsgi_temp_path {scratch}/nginx/t; scgi_temp_path {scratch}/nginx/t;
    sendfile on; tcp_nodelay on; keepalive_requests 100000;
    server {{ listen 127.0.0.1:{port}; root {scratch}/data; }}
}}
""")
    start(port, "nginx", "-p", f"{scratch}/nginx", "-c", f"{scratch}/nginx/nginx.conf")
    return port


def start_delay(target, rtt, rate=None):
    port = free_port()
    start(port, sys.executable, f"{here}/../delayproxy.py", str(port), str(target), str(rtt), *([str(rate)] if rate else []))
    return port


def peer(kind, name, url, *more, cpu=ONE):
    """What lazy_peer.py says, or None where its packages are not there."""
    p = subprocess.run(["taskset", "-c", cpu, python, f"{here}/lazy_peer.py", kind, name, url, f"{scratch}/data/gpt2.json", RANKS, *more],
                       capture_output=True, text=True, env=dict(os.environ, HF_HOME=f"{scratch}/hf", HF_DATASETS_OFFLINE="1"))
    if p.returncode == 0:
        return json.loads(p.stdout.splitlines()[-1])
    missing.setdefault(name, (p.stderr.strip().splitlines() or ["it failed"])[-1][:150])
    return None


missing = {}


def requests(until):
    """Requests and megabytes that the server had answered then, and requests that had begun."""
    time.sleep(0.3)
    done = begun = size = 0
    for line in open(LOG):
        ended, took, _, _, sent = line.split()
        begun += float(ended) - float(took) <= until
        if float(ended) <= until:
            done += 1
            size += int(sent)
    return done, begun, size / 1e6


def read(path):
    with open(path, "rb", buffering=0) as f:
        while f.read(1 << 20):
            pass


def mount(url, cpu, *options):
    cores = ["taskset", "-c", cpu] if cpu else []
    subprocess.run([*cores, fineweb, url, mnt, "-o", ",".join((f"cache={scratch}/cache", *options))], check=True)


def umount():
    subprocess.run(["umount", mnt], check=True)


def forget(pieces_only=False):
    """Removes cache and index, or the cached tokens only."""
    for folder in glob.glob(f"{scratch}/cache/*/pieces") if pieces_only else [f"{scratch}/cache"]:
        shutil.rmtree(folder, ignore_errors=True)


def ours_first(url, known):
    """Mount and first batch, and of that the read alone."""
    forget(pieces_only=known)
    open(LOG, "w").close()
    begun = time.time()
    mount(url, ONE)
    ready = time.time()
    read(f"{mnt}/rank_0/batch_0000.bin")
    ended = time.time()
    counted = requests(ended)
    umount()
    return ended - begun, ended - ready, counted


def first():
    port = start_nginx()
    far = start_delay(port, RTT_MS)
    rows = {}
    peers = ["polars", "pyarrow", "datasets, columns=text", "datasets, streaming"]
    for _ in range(rounds):
        for net, at in (("loopback", port), (f"{RTT_MS} ms", far)):
            url = f"http://127.0.0.1:{at}/first.parquet"
            for label, known in (("fineweb, nothing known", False), ("fineweb, footer known", True)):
                rows.setdefault((net, label), []).append(ours_first(url, known))
            for name in peers:
                open(LOG, "w").close()
                got = peer("first", name, url)
                if got:
                    seconds = got["ended"] - got["begun"]
                    rows.setdefault((net, name), []).append((seconds, seconds, requests(got["ended"])))
    print(f"First batch of 32 x 1025 tokens of a file of {os.path.getsize(scratch + '/data/first.parquet') / 1e6:.0f} MB, 30 row groups; "
          f"median (best) of {rounds}, imports not counted")
    print(f"{'round trip':10s}  {'':26s} {'seconds':>15s} {'read alone':>15s} {'requests (begun)':>17s} {'MB':>7s}")
    for (net, label), got in rows.items():
        total, alone = [g[0] for g in got], [g[1] for g in got]
        done, begun, size = got[-1][2]
        print(f"{net:10s}  {label:26s} {middle(total, 3):>15s} {middle(alone, 3):>15s} {f'{done} ({begun})':>17s} {size:7.2f}")


def middle(values, digits):
    """The median and the best: of seconds (3 digits) the least, of speeds the greatest."""
    best = min(values) if digits == 3 else max(values)
    return f"{statistics.median(values):.{digits}f} ({best:.{digits}f})"


def run_timed(cpu, *command):
    """Seconds of wall and of CPU time that a command takes; all CPUs where cpu is None."""
    begun = time.time()
    p = subprocess.Popen([*(["taskset", "-c", cpu] if cpu else []), *command], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode != 0:
        sys.exit(f"{command} fails")
    return time.time() - begun, used.ru_utime + used.ru_stime


def daemon():
    """Process id of the mount's daemon."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if f.read().split(b"\0")[0] == fineweb.encode():
                    return int(pid)
        except OSError:
            pass
    sys.exit("the mount has no daemon")


def timed_mount(url, cpu):
    forget()
    begun = time.time()
    mount(url, cpu)
    _, reader = run_timed(cpu, "cat", f"{mnt}/rank_0/epoch.bin")
    took = time.time() - begun
    # The clock of the CPU time of another process: clock_getcpuclockid(3).
    cpu_time = time.clock_gettime((~daemon() << 3) | 2) + reader
    umount()
    return took, cpu_time


def timed_prepare(url, cpu):
    forget()
    shutil.rmtree(f"{scratch}/out", ignore_errors=True)
    return run_timed(cpu, fineweb, "prepare", url, "-o", f"{scratch}/out", "-q", "--cache", f"{scratch}/cache")


def passes(rows, label, run):
    """Runs the passes once more. Of all times of one pass the least counts: what else the machine does only adds to it."""
    for name in PASSES:
        got = run(name)
        if got is None:
            return
        best = rows.setdefault(label, {}).get(name, got)
        rows[label][name] = tuple(map(min, got, best))


def rates(took):
    """Megabytes of text a second, first pass and warm, each by the wall clock and by CPU time; None: not known. Differences of two passes, so
    that starting does not count."""
    out = []
    for a, b in zip(PASSES, PASSES[1:]):
        for i in (0, 1):
            seconds = took[b][i] - took[a][i] if b in took else 0
            out.append((sizes[b] - sizes[a]) / 1e6 / seconds if seconds > 0 else None)
    return out


def peer_passes(rows, label, url):
    def run(name):
        got = peer("sustained", label, f"{url}/{name}.parquet")
        return got and (got["ended"] - got["begun"], got["cpu"])
    passes(rows, label, run)


def tokenizer_rate():
    """Megabytes a second of one thread of our tokenizer alone, first pass and warm, on the same text."""
    p = subprocess.run(["taskset", "-c", ONE, f"{build}/tests/bench/bench_token", "-r", "3", "gpt2", f"{scratch}/text.txt"],
                       capture_output=True, text=True, check=True)
    return tuple(float(x) for x in re.search(r"cold (\S+) MB/s, warm (\S+) MB/s", p.stdout).groups())


def line_rate(url):
    """Megabytes of text a second that the server gives to who only reads: of the file's bytes, times what they decompress to."""
    begun = time.time()
    subprocess.run(["curl", "-sSfo", "/dev/null", f"{url}/pass4.parquet"], check=True)
    return sizes["pass4"] / 1e6 / (time.time() - begun)


def cell(rate):
    return "" if rate is None else f"{rate:.1f}"


def sustained():
    port = start_nginx()
    near, slow = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{start_delay(port, RTT_MS, LINE)}"
    rows, two, lines = {}, {}, {near: [], slow: []}
    alone, datasets = [], []
    for k in range(rounds):
        passes(rows, "fineweb, mount", lambda n: timed_mount(f"{near}/{n}.parquet", ONE))
        passes(rows, "fineweb prepare", lambda n: timed_prepare(f"{near}/{n}.parquet", ONE))
        peer_passes(rows, "pyarrow + gigatoken", near)
        if k == 0:
            # A thousand documents take it two seconds, and no pass is warmer than another.
            datasets = [peer("sustained", "datasets + tokenizers", f"{near}/pass1.parquet", "1000")]
        alone.append(tokenizer_rate())
        for label, url in (("loopback", near), (f"{LINE:.0f} MB/s, {RTT_MS} ms", slow)):
            lines[url].append(line_rate(url))
            passes(two, label, lambda n, url=url: timed_mount(f"{url}/{n}.parquet", None))
    print(f"Sustained on one core, nginx on another: MB of text a second, fetched, decoded, tokenised; best of {rounds}; "
          f"{sizes['pass1'] / 1e6:.0f} MB of distinct text")
    print(f"{'':24s} {'first pass':>12s} {'of CPU time':>12s} {'warm':>12s} {'of CPU time':>12s}")
    table = [(label, rates(took)) for label, took in rows.items()]
    for got in filter(None, datasets):
        wall, cpu = (got["text"] / 1e6 / t for t in (got["ended"] - got["begun"], got["cpu"]))
        table.append(("datasets + tokenizers", [wall, cpu, None, None]))
    first_pass, warm = (max(a[i] for a in alone) for i in (0, 1))
    table.append(("our tokenizer alone", [None, first_pass, None, warm]))
    for label, got in table:
        print(f"{label:24s} " + " ".join(f"{cell(rate):>12s}" for rate in got))
    print(f"On {len(cpus)} cores, nginx on them too, through a mount, and the share of the smaller of the line and {len(cpus)} times our tokenizer")
    print(f"{'':20s} {'line':>8s} {'tokenizer':>16s} {'first pass':>16s} {'warm':>16s}")
    for (label, took), url in zip(two.items(), (near, slow)):
        line, most, cells = max(lines[url]), [len(cpus) * first_pass, len(cpus) * warm], []
        for rate, bound in zip(rates(took)[::2], most):
            cells.append(f"{cell(rate)} ({100 * (rate or 0) / min(line, bound):.0f} %)")
        print(f"{label:20s} {line:8.1f} {f'{most[0]:.0f}, {most[1]:.0f}':>16s} {cells[0]:>16s} {cells[1]:>16s}")


os.makedirs(mnt, exist_ok=True)
os.environ["FINEWEB_CONFIG"] = "/dev/null"
try:
    {"first": first, "sustained": sustained}[what]()
    for name, why in missing.items():
        print(f"without {name}: {why}")
finally:
    if os.path.ismount(mnt):
        umount()
    for p in started:
        p.terminate()
        p.wait()
