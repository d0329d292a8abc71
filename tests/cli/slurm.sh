#!/bin/sh
# examples/slurm-prepare.sh on a real Slurm of one machine: an array of 4, one task killed and requeued.
. "$(dirname "$0")/functions.sh"

PATH=$(cd "$(dirname "$FINEWEB")" && pwd):$PATH:/usr/sbin
export PATH
for needed in slurmctld slurmd sbatch munged; do
	if [ "$(id -u)" != 0 ] || ! command -v $needed >/dev/null; then
		echo "1..0 # SKIP needs root and slurm-wlm ($needed)"
		exit 0
	fi
done

s=$tmp/slurm
host=$(hostname -s)
mkdir -p "$s/state" "$s/spool"
chmod 755 "$tmp" "$s"
SLURM_CONF=$s/slurm.conf
export SLURM_CONF
cat >"$SLURM_CONF" <<E
ClusterName=test
SlurmctldHost=$host
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$s/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$s/state
SlurmdSpoolDir=$s/spool
SlurmctldPidFile=$s/slurmctld.pid
SlurmdPidFile=$s/slurmd.pid
SlurmctldLogFile=$s/slurmctld.log
SlurmdLogFile=$s/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
NodeName=$host CPUs=$(nproc) RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
E

cleanup() {
	for name in slurmd slurmctld munged; do
		[ -e "$s/$name.pid" ] && kill "$(cat "$s/$name.pid")" 2>/dev/null
	done
	sleep 1
	rm -rf "$tmp"
}
trap cleanup EXIT

dd if=/dev/urandom of="$s/key" bs=1024 count=1 2>/dev/null
chmod 400 "$s/key"
munged --force --key-file="$s/key" --socket="$s/munge" --pid-file="$s/munged.pid" --log-file="$s/munged.log" \
	--seed-file="$s/seed" >"$s/said" 2>&1 && slurmctld >>"$s/said" 2>&1 && sleep 2 && slurmd >>"$s/said" 2>&1
for i in 1 2 3 4 5 6 7 8 9 10; do
	sinfo -h -o %T 2>/dev/null | grep -q idle && break
	sleep 1
done
if ! sinfo -h -o %T 2>/dev/null | grep -q idle; then
	echo "1..0 # SKIP Slurm does not start here: $(cat "$s/said" "$s/slurmctld.log" 2>/dev/null | tail -n 1)"
	exit 0
fi

# Enough text that a task can be met at work.
mkdir "$tmp/source"
for i in 0 1 2 3 4 5 6 7; do
	for j in 0 1 2 3 4 5 6 7; do cat "$data"/jsonl/plain/*.jsonl; done >"$tmp/source/$i.jsonl"
done
SOURCE=$tmp/source
OUT=$tmp/out
OPTIONS="--shard-tokens=500000 --counts=exact"
export SOURCE OUT OPTIONS

# array MODE: submits the example's array, a smaller one, and says its number.
array() {
	MODE=$1 sbatch --parsable --array=0-3 --cpus-per-task=1 --mem=100 --time=5 --export=ALL --open-mode=append \
		-o "$tmp/$1.%a" "$top/examples/slurm-prepare.sh"
}

# ended JOB: waits until all of it has.
ended() {
	for i in $(seq 120); do
		[ -n "$(squeue -h -j "$1" 2>/dev/null)" ] || return 0
		# Slurm lets what was requeued wait two minutes.
		scontrol update JobId="${1}_1" StartTime=now >/dev/null 2>&1
		sleep 1
	done
	squeue
	return 1
}

job=$(array index)
check "an array of 4 counts" ended "$job"
check "each its files" sh -c '[ "$(cat "$1"/index.[0-3] | grep -c "has counted its files")" = 4 ]' - "$tmp"
job=$(array prepare)
for i in $(seq 200); do
	ls "$OUT"/*.part >/dev/null 2>&1 && break
	sleep 0.05
done
check "one task is killed and requeued" scontrol requeue "${job}_1"
check "an array of 4 prepares" ended "$job"
check "the parts are joined" "$FINEWEB" prepare "$SOURCE" -o "$OUT" $OPTIONS --join
"$FINEWEB" prepare "$SOURCE" -o "$tmp/one" $OPTIONS -q
check "to what one process writes" diff -r "$OUT" "$tmp/one"
[ "$failed" = 0 ] || sed 's/^/# /' "$tmp"/prepare.* "$s"/*.log | tail -n 60
finish
