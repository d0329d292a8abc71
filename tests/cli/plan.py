"""plan.py: the numbers of --json, from the formulas as their papers print them."""
import json

from tap import TMP, equal, load, ok, run

GIB = 2 ** 30


def near(have, want, what):
    ok(abs(have - want) <= 1e-9 * abs(want), what, "have %r" % have, "want %r" % want)


# The course guide's own lines.
def calculate_memory_requirement(batch_size, seq_len, vocab_size, hidden_dim, num_layers):
    params = vocab_size * hidden_dim + num_layers * (4 * hidden_dim * hidden_dim)
    model = params * 2
    activations = batch_size * seq_len * hidden_dim * 4 * num_layers
    return (model + activations + model + params * 4 * 2) / 1024 ** 3


p = load("plan", "--json")
near(p["calculate_memory_requirement"]["total_gib"], calculate_memory_requirement(32, 1024, 50257, 768, 12),
     "the guide's formula")
p = load("plan", "--json", "--batch-size", 64, "--seq-len", 512, "--model", "gpt2-355M")
near(p["calculate_memory_requirement"]["total_gib"], calculate_memory_requirement(64, 512, 50257, 1024, 24), "of other sizes")

# Korthikanti et al. 2022: s b h (34 + 5 a s / h) bytes a layer; selective 34 s b h; full 2 s b h.
s, b, h, a, L, V = 1024, 32, 768, 12, 12, 50257
p = load("plan", "--json")
m = p["memory"]
n = 12 * L * h * h + 13 * L * h + V * h + s * h + 2 * h
equal(p["parameters"], n, "12 L h^2 + 13 L h + V h + s h + 2 h")
near(m["none"]["activations"], L * s * b * h * (34 + 5 * a * s / h), "activations, all kept")
near(m["selective"]["activations"], L * 34 * s * b * h, "activations, selective")
near(m["flash"]["activations"], L * (34 * s * b * h + 8 * a * s * b), "activations, FlashAttention")
near(m["full"]["activations"], L * 2 * s * b * h + s * b * h * (34 + 5 * a * s / h), "activations, full, and one layer whole")
near(m["none"]["weights"] + m["none"]["gradients"] + m["none"]["optimizer"], 16 * n, "ZeRO's 16 bytes a parameter")
near(m["none"]["logits"], 8 * s * b * V, "logits and their gradient in float32")
for r in m.values():
    near(r["total"], sum(r[k] for k in ("weights", "gradients", "optimizer", "activations", "logits", "context")), "the sum")

# The largest batch fits, the next does not.
for model in ("gpt2", "gpt2-1558M", "llama-3-8b"):
    p = load("plan", "--json", "--model", model, "--gpu-mem", "80G", "--gpus", 8, "--fsdp")
    for name, r in p["memory"].items():
        B = r["largest_batch"]
        if B:
            have = load("plan", "--json", "--model", model, "--gpus", 8, "--fsdp", "--batch-size", B)["memory"][name]["total"]
            over = load("plan", "--json", "--model", model, "--gpus", 8, "--fsdp", "--batch-size", B + 1)["memory"][name]["total"]
            ok(have <= 80 * GIB < over, "%s, %s: the largest batch in 80G" % (model, name), B, have, over)

# 0.5M tokens a step on 8 GPUs: 512 sequences, 64 a rank.
p = load("plan", "--json", "--gpu-mem", "80G", "--gpus", 8, "--global-batch-tokens", 524288)
equal((p["batch_size"], p["gradient_accumulation_steps"], p["global_batch_tokens"]), (64, 1, 524288), "a global batch at once")
p = load("plan", "--json", "--gpu-mem", "24G", "--global-batch-tokens", 524288)
B, steps = p["batch_size"], p["gradient_accumulation_steps"]
ok(B * steps == 512 and B <= p["memory"]["flash"]["largest_batch"], "a global batch in steps", p)
p = load("plan", "--json", "--batch-size", 32, "--global-batch-tokens", 131072)
equal((p["batch_size"], p["gradient_accumulation_steps"]), (32, 4), "the guide's 32 x 4 = 128")

# PaLM, appendix B: 6 N + 12 L h T operations a token (12 L H Q T with H Q = h).
p = load("plan", "--json", "--tokens", "10B", "--gpus", 8, "--mfu", "40%")
ops = 6 * (n - s * h) + 12 * L * h * s
r = p["run"]
near(r["operations_per_token"], ops, "operations a token")
near(r["tokens_per_second"], 8 * 312e12 * 0.4 / ops, "tokens a second")
near(r["hours"], 10e9 * ops / (8 * 312e12 * 0.4) / 3600, "hours")
equal(r["steps"], -(-10 ** 10 // (8 * 32 * 1024)), "steps")
near(r["bytes_read"], r["steps"] * 8 * 32 * 1025 * 2, "bytes read")
ok(r["read_keeps_up"] and r["tokenizer_keeps_up"], "it keeps up", r)
r = load("plan", "--json", "--tokens", "10B", "--gpus", 8, "--mfu", 1, "--gpu-flops", "1000000T")["run"]
ok(not r["read_keeps_up"] and not r["tokenizer_keeps_up"], "it says when it does not", r)
# What bench measured takes the place of the typical numbers.
bench = TMP / "bench.json"
rows = {"batches_warm": {"bytes_per_second": 7e8}, "mount_first": {"bytes_per_second": 1e6},
        "tokenizer_first": {"bytes_per_second": 2e7}}
words = ["plan", "--tokens", "10B", "--gpus", 8, "--threads", 3]
r = load(*words, "--json")["run"]
ok(not r["measured"] and r["read_keeps_up"], "without a bench the numbers are typical ones", r)
ok(b"typical" in run(*words)[1] and b"--bench FILE" in run(*words)[1], "which the output says")
bench.write_text(json.dumps(rows))
r = load(*words, "--json", "--bench", bench)["run"]
keys = ("measured", "mount_bytes_per_second", "tokenizer_bytes_per_second", "read_keeps_up")
equal([r[k] for k in keys], [True, 1e6, 6e7, False],
      "--bench takes the mount's speed, and the threads' together")
ok(b"as measured" in run(*words, "--bench", bench)[1], "and says whose they are")
rows["mount_first"] = None
bench.write_text(json.dumps(rows))
r = load(*words, "--json", "--bench", bench)["run"]
equal((r["mount_bytes_per_second"], r["read_keeps_up"]), (7e8, True), "where nothing could be mounted, that of the batches")
out = run("plan", "--tokens", "10B")[1].decode()
missing = [w for w in ("Korthikanti", "Rajbhandari", "Dao et al.", "PaLM", "calculate_memory_requirement") if w not in out]
equal(missing, [], "each formula has its source beside it")
code, out, err = run("plan", "--gpu-mem", "1G")
ok(code == 0 and b"not one sequence fits" in out and b"MOUNTPOINT" not in out, "too little memory", out)
print("# end")
