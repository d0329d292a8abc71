"""What the Python parts of the subcommands' tests share. The environment is that of functions.sh."""
import json
import os
import subprocess
from pathlib import Path

DATA = Path(os.environ["data"])
TMP = Path(os.environ["tmp"])
FINEWEB = os.environ["FINEWEB"]


def ok(passed, what, *why):
    """One TAP line; why is what stands below a failure."""
    print(("ok - " if passed else "not ok - ") + what, flush=True)
    for w in () if passed else why:
        for line in str(w).splitlines()[:20]:
            print("# " + line)
    return passed


def equal(have, want, what):
    return ok(have == want, what, "have %.600r" % (have,), "want %.600r" % (want,))


def run(*words, **named):
    """Runs a subcommand; its exit code, stdout and stderr as bytes."""
    r = subprocess.run([FINEWEB] + [str(w) for w in words], capture_output=True, timeout=300, **named)
    return r.returncode, r.stdout, r.stderr


def lines(*words, **named):
    code, out, err = run(*words, **named)
    assert code == 0, (words, code, err)
    return out.decode().splitlines()


def load(*words, **named):
    """What a subcommand prints as JSON."""
    code, out, err = run(*words, **named)
    assert code == 0, (words, code, err)
    return json.loads(out)


def batches():
    return json.loads((DATA / "expected/batches.json").read_text())


def sources(entry):
    """The sources of an entry of batches.json; those of long/ were made by long.py."""
    return [TMP / s if s.startswith("long/") else DATA / s for s in entry["source"]]


def options_of(entry):
    return dict(o.split("=") for o in entry["options"].split(","))
