#!/bin/sh
# What a mount tells of itself: stats.json counts what readers asked for, stats.prom is Prometheus', `info --watch` shows both live.
. "$(dirname "$0")/functions.sh"

fineweb "$data/sample/10BT" "$mnt" -o world_size=2,batch_size=4,seq_len=256,shard_tokens=100000 || exit 99
taps "$PYTHON" "$here/stats.py" counts "$mnt"
prom() {
	grep -q '^# TYPE fineweb_reads_total counter$' "$mnt/stats.prom" && [ "$(stat -c %s "$mnt/stats.prom")" = "$(wc -c <"$mnt/stats.prom")" ] &&
		grep -q "^fineweb_read_seconds{mount=\"$mnt\",kind=\"batch\",quantile=\"0.99\"}  *0\.0" "$mnt/stats.prom" &&
		! grep -vE '^(# (HELP|TYPE) .*|[a-z_]+\{[^}]*\}  *[0-9.]+)$' "$mnt/stats.prom"
}
check "stats.prom is in Prometheus' text format" prom
if "${PYTHON_PEERS:-$PYTHON}" -c 'import prometheus_client' 2>/dev/null; then
	taps "${PYTHON_PEERS:-$PYTHON}" "$here/stats.py" prometheus "$mnt"
else
	skip "Prometheus' own parser reads stats.prom" "no prometheus_client"
fi
if command -v promtool >/dev/null; then
	check "promtool finds nothing wrong with it" sh -c 'promtool check metrics <"$mnt/stats.prom"'
else
	skip "promtool finds nothing wrong with it" "no promtool"
fi
check "info says how long reads took" sh -c 'fineweb info "$mnt" | grep -qE "which took: half at most [0-9.]+ (us|ms|s), 90 % .*, the longest [0-9.]+ (us|ms|s)$"'
lines() {
	COLUMNS=80 timeout 2.3 fineweb info "$mnt" --watch >"$tmp/lines"
	[ $? = 124 ] && [ "$(wc -l <"$tmp/lines")" -ge 2 ] && head -n 1 "$tmp/lines" | grep -q '^time .*reads/s .* p50 .* p99 .* max .*errors$' &&
		[ "$(sed -n 2p "$tmp/lines" | wc -m)" = 81 ] && ! grep -q "$(printf '\033')" "$tmp/lines"
}
check "info --watch into a file is a line a second of 80 columns" lines
check "and ends when nobody reads" timeout 20 sh -c 'fineweb info "$mnt" --watch | head -n 1'
taps "$PYTHON" "$here/stats.py" watch "$mnt"
check "nothing is left mounted" nothing_mounted
finish
