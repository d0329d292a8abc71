#!/bin/sh
# The examples that need no GPU and no service manager, run as somebody would who meets them first.
. "$(dirname "$0")/functions.sh"
examples=$top/examples

fineweb "$data/sample/10BT" "$mnt" -o world_size=2,batch_size=4 || exit 99
inspect() {
	sh "$examples/inspect.sh" "$mnt" && grep -q "^[.]* 29 batches of 8200 bytes" "$tmp/said" && grep -q '"uptime_seconds"' "$tmp/said"
}
check "inspect.sh looks at everything" inspect
unmount

# Slurm: the prolog mounts what the job's comment says, the epilog unmounts it.
job() {
	BATCHES_ROOT=$tmp/jobs SLURM_JOB_ID=7 SLURM_JOB_COMMENT="fineweb=$data/sample/10BT,world_size=2,seed=3,batch_size=4" \
		sh "$examples/deploy/slurm-prolog.sh" && [ "$(stat -c %s "$tmp/jobs/7/rank_1/batch_0000.bin")" = 8200 ] || return
	start sleep 60 <"$tmp/jobs/7/rank_1/batch_0001.bin"
	BATCHES_ROOT=$tmp/jobs SLURM_JOB_ID=7 sh "$examples/deploy/slurm-epilog.sh" && [ ! -e "$tmp/jobs/7" ] && nothing_mounted
}
check "Slurm's prolog mounts and its epilog unmounts, though a task still reads" job
no_job() {
	BATCHES_ROOT=$tmp/jobs SLURM_JOB_ID=8 SLURM_JOB_COMMENT="something else" sh "$examples/deploy/slurm-prolog.sh" &&
		BATCHES_ROOT=$tmp/jobs SLURM_JOB_ID=8 sh "$examples/deploy/slurm-epilog.sh" && [ ! -e "$tmp/jobs/8" ]
}
check "a job that wants none gets none" no_job
broken_job() {
	BATCHES_ROOT=$tmp/jobs SLURM_JOB_ID=9 SLURM_JOB_COMMENT="fineweb=$tmp/none" sh "$examples/deploy/slurm-prolog.sh" &&
		grep -q "could not mount" "$tmp/said" && [ ! -e "$tmp/jobs/9" ]
}
check "a job whose source is not there does not fail the node" broken_job

# mount -t fineweb: the helper's own convention, as mount(8) calls it.
ln -s "$FINEWEB" "$tmp/mount.fineweb"
helper() {
	"$tmp/mount.fineweb" "$data/sample/10BT" "$mnt" -s -v -n -o rw,dev,suid,seed=1,batch_size=4 && is_mounted "$mnt" && unmount
}
check "mount.fineweb SOURCE DIR -s -v -n -o OPTIONS" helper
fake() {
	"$tmp/mount.fineweb" "$data/sample/10BT" "$mnt" -f -o rw && ! is_mounted "$mnt" && ! "$tmp/mount.fineweb" "$data/sample/10BT" "$mnt" -f -o sede=1
}
check "mount.fineweb -f looks and does not mount" fake
if [ ! -e /sbin/mount.fineweb ]; then
	ln -s "$FINEWEB" /sbin/mount.fineweb
	by_type() {
		mount -t fineweb "$data/sample/10BT" "$mnt" -o seed=1,batch_size=4 && is_mounted "$mnt" && unmount
	}
	check "mount -t fineweb SOURCE DIR" by_type
	# The lines of fstab, with a folder that is there.
	by_fstab() {
		sed -e "s#/data/fineweb-edu#$data/sample/10BT#; s#/mnt/edu#$mnt#; s/batch_size=32/batch_size=4/" -e '/hf:/d' "$examples/deploy/fstab" >"$tmp/fstab"
		mount -a -T "$tmp/fstab" && is_mounted "$mnt" && [ -d "$mnt/rank_7" ] && unmount
	}
	check "the line of fstab" by_fstab
	rm -f /sbin/mount.fineweb
else
	skip "mount -t fineweb SOURCE DIR" "/sbin/mount.fineweb is another one"
	skip "the line of fstab" "/sbin/mount.fineweb is another one"
fi

# Every line of fineweb.conf that has a value may be uncommented.
conf() {
	sed -n 's/^#\([a-z_]* = ..*\)/\1/p' "$top/doc/fineweb.conf" >"$tmp/conf"
	[ "$(wc -l <"$tmp/conf")" -gt 20 ] && fineweb "$data/sample/10BT" "$mnt" -o config="$tmp/conf" && unmount
}
check "fineweb.conf can be uncommented" conf

# The service: what the unit runs to start, as systemd does; a leading '-' says that a failure does not matter.
start_service() {
	sed -n 's/^ExecStart\(Pre\)*=//p' "$top/doc/fineweb@.service" | sed "s#%f#$mnt/service#g; s#/etc/fineweb/%i.conf#$tmp/service.conf#" >"$tmp/starts"
	[ "$(wc -l <"$tmp/starts")" = 2 ] || return 1
	while read -r line; do
		sh -c "${line#-}" </dev/null || [ "$line" != "${line#-}" ] || return 1
	done <"$tmp/starts"
	is_mounted "$mnt/service"
}
kill_service() {
	kill -9 $(pgrep -f "config=$tmp/service.conf") && wait_for 5 sh -c '! ls "$mnt/service" 2>/dev/null'
}
service() {
	printf 'source = %s\nworld_size = 2\nbatch_size = 4\n' "$data/sample/10BT" >"$tmp/service.conf"
	# Once before anybody has looked, once when the kernel has kept what somebody saw.
	start_service && kill_service && start_service && [ -e "$mnt/service/rank_1/batch_0000.bin" ] && kill_service && start_service &&
		cat "$mnt/service/rank_1/batch_0000.bin" >/dev/null && unmount "$mnt/service" && rmdir "$mnt/service"
}
check "fineweb@.service starts again after it was killed" service

if command -v systemd-analyze >/dev/null; then
	units() {
		mkdir -p "$tmp/units" && cp "$examples/deploy/mnt-fw.mount" "$top/doc/fineweb@.service" "$tmp/units" &&
			mv "$tmp/units/fineweb@.service" "$tmp/units/fineweb@mnt-fw.service" &&
			systemd-analyze verify --man=no "$tmp/units/mnt-fw.mount"
	}
	check "systemd finds nothing wrong with the units" units
else
	skip "systemd finds nothing wrong with the units" "no systemd"
fi
if "$PYTHON" -c 'import yaml' 2>/dev/null; then
	check "pod.yaml is YAML" "$PYTHON" -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))["spec"]["containers"]' "$examples/deploy/pod.yaml"
else
	skip "pod.yaml is YAML" "no yaml"
fi
check "nothing is left mounted" nothing_mounted
finish
