"""Random parameter sets for order_print, and what order.py says of them.

    order_reference.py check ORDER_PY PROGRAM SETS     compares; prints "# ..." lines, exits with 1 at a difference
    order_reference.py record ORDER_PY SETS            prints SETS lines: SHA-256 of the listing, then the set
"""
import hashlib
import importlib.util
import random
import subprocess
import sys

sys.dont_write_bytecode = True
SHUFFLES, STRIDES, TAILS = ("block", "none", "full", "torch"), ("sequence", "piece"), ("drop", "pad")


def load(path):
    spec = importlib.util.spec_from_file_location("order", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_files(r, T):
    """Files as (uniform, token counts of the pieces)."""
    full, files = r.choice((0, 1, 2, 2, 5, 5)), []
    kind = r.choice(("uniform", "uneven", "both"))
    for _ in range(r.choice((1, 2, 3, 5, 8, 13, 70, 150) if r.random() < 0.1 else (1, 2, 3, 4, 6, 9))):
        n = r.choice((1, 1, 2, 3, 5, 9))
        uniform = kind == "uniform" or (kind == "both" and r.random() < 0.5)
        if uniform:
            if kind == "both" and r.random() < 0.2:
                full = r.choice((1, 3))
            last = r.randrange(0, full + 1)
            files.append((1, [full * T + 1] * (n - 1) + [last * T + r.randrange(0, T)]))
            if n == 1 or full == 0:
                files[-1] = (int(n > 1), files[-1][1])
        else:
            files.append((0, [r.choice((0, 1, r.randrange(0, 6 * T + 2))) for _ in range(n)]))
    return files


def make_set(order, r):
    T = r.choice((1, 2, 7, 1024, 65536, 1 << 19, 1 << 20))
    files = make_files(r, T)
    tokens = [ps for _, ps in files]
    q = sum(order.sequences(n, T) for ps in tokens for n in ps)
    bold = r.random() < 0.1  # often no batch then
    W = r.choice((1, 1, 2, 3, 4, 8, 17) if bold else [w for w in (1, 1, 2, 3, 4, 8) if 2 * w <= q or w == 1])
    B = r.choice((1, 1, 2, 3, 8, 70) if bold else [b for b in (1, 1, 2, 3, 8) if 2 * b * W <= q or b == 1])
    few = r.randrange(200) if bold else r.randrange(max(1, q // 2))
    shuffle = r.choice(SHUFFLES + ("block", "block"))
    stride = r.choice(STRIDES) if shuffle != "torch" else r.choice(("sequence",) * 9 + ("piece",))
    some = sum(map(sum, tokens))
    options = dict(
        T=T, W=W, B=B,
        seed=r.choice((0, 1, 42, r.getrandbits(64))), epoch=r.choice((0, 1, r.randrange(4096))),
        shuffle=shuffle, stride=stride, tail=r.choice(TAILS), mix_files=r.choice((1, 2, 3, 32, 1 << 20)),
        block=r.choice((1, T, 2 * T, 3 * T + 1, 1 << 20, 1 << 28, 1 << 40)),
        start=r.choice((0, 0, 1, few)) if stride == "sequence" or r.random() < 0.02 else 0,
        max_tokens=r.choice((0, 0, 0, r.randrange(some + 2), r.randrange(W * B * T, some + W * B * T + 1))),
        val_tokens=r.choice((0, 0, r.randrange(some + 2) // 3)))
    options["val"] = options["val_tokens"] > 0 and r.random() < 0.4
    every = [(f, p) for f, ps in enumerate(tokens) for p in range(len(ps))]
    damaged = r.sample(every, r.randrange(len(every))) if r.random() < 0.15 else []
    finds = [(f, p, r.randrange(max(1, order.sequences(tokens[f][p], T) + 1)))
             for f, p in r.sample(every, min(len(every), 4))]
    return files, options, damaged, finds


def line_of(order, case, hide):
    """The set as order_print reads it."""
    files, o, damaged, finds = case
    tokens = [ps for _, ps in files]
    _, rest = order.hold_out(tokens, o["val_tokens"])
    cut = rest[0] if rest else (len(tokens), 0)
    v = [o["T"], o["W"], o["B"], o["seed"], o["epoch"], SHUFFLES.index(o["shuffle"]), STRIDES.index(o["stride"]),
         TAILS.index(o["tail"]), o["mix_files"], o["block"], o["start"], o["max_tokens"], int(o["val"]), *cut,
         int(hide), len(files)]
    for uniform, ps in files:
        v += [uniform, len(ps)] + [order.sequences(n, o["T"]) for n in ps]
    v += [len(damaged)] + [x for d in damaged for x in d] + [len(finds)] + [x for f in finds for x in f]
    return " ".join(map(str, v))


def listing(order, case):
    """What order.py says."""
    files, o, damaged, finds = case
    invalid = o["stride"] == "piece" and not o["val"] and (o["shuffle"] == "torch" or o["start"])
    try:
        e = order.Epoch([ps for _, ps in files], damaged=damaged, **o)
    except ValueError:
        return "invalid\n" if invalid else "no batch\n"
    out = []
    for k in range(e.batches()):
        for rank in range(e.W):
            for j in range(e.B):
                try:
                    out.append("%d %d %d" % e.row(rank, k, j))
                except IOError:
                    out.append("damaged")
    found = []
    for f, p, s in finds:
        at = e.find(f, p, s) if s < e.q[f, p] else None
        found.append("found %d %d %d" % at if at else "found nowhere")
    out += found + found
    for blocks in e.blocks:
        out += ["block" + "".join(" %d:%d" % fp for fp in run) for _, _, run in blocks]
    out.append("sequences %d" % sum(e.n))
    return "\n".join(out) + "\n"


def small(order, case):
    """Whether order.py is done with it soon."""
    files, o, _, _ = case
    q = sum(order.sequences(n, o["T"]) for _, ps in files for n in ps)
    return q <= 250 and o["W"] * o["B"] <= 4 * max(q, 16)


def cases(order, seed, n):
    r = random.Random(seed)
    while n > 0:
        case = make_set(order, r)
        if small(order, case):
            n -= 1
            yield case, r.random() < 0.5


def check(order, program, n):
    made = list(cases(order, 1, n))
    lines = [line_of(order, case, hide) for case, hide in made]
    run = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    answers = run.stdout.split("end\n")
    bad, rows, none = 0, 0, 0
    for (case, _), line, got in zip(made, lines, answers):
        want = listing(order, case)
        rows += want.count("\n")
        none += want in ("no batch\n", "invalid\n")
        if got != want:
            bad += 1
            if bad <= 5:
                print("# differs:", line)
                for a, b in zip(want.splitlines() + ["(end)"], got.splitlines() + ["(end)"]):
                    if a != b:
                        print("# order.py: %s; here: %s" % (a, b))
                        break
    print("# %d sets, %d of them without a batch, %d lines, %d differ" % (len(made), none, rows, bad))
    return bad != 0 or len(answers) != len(made) + 1


def record(order, n):
    for case, hide in cases(order, 2, n):
        print(hashlib.sha256(listing(order, case).encode()).hexdigest(), line_of(order, case, hide))


def main():
    what, order = sys.argv[1], load(sys.argv[2])
    if what == "record":
        record(order, int(sys.argv[3]))
        return 0
    return check(order, sys.argv[3], int(sys.argv[4]))


if __name__ == "__main__":
    sys.exit(main())
