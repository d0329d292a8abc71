#!/bin/sh
# slurm-prolog.sh: mounts the data of a job on its node, before its first task (slurm.conf: Prolog=, PrologFlags=Alloc).
#
# The job says what it wants in its comment: sbatch --comment='fineweb=/data/fineweb-edu,world_size=16,batch_size=32'.
# It reads /run/fineweb/$SLURM_JOB_ID/rank_$SLURM_PROCID. Every node has all ranks, and makes only what its own read.
set -eu
root=${BATCHES_ROOT-/run/fineweb}
comment=${SLURM_JOB_COMMENT-$(scontrol show job "$SLURM_JOB_ID" | sed -n 's/^ *Comment=//p')}
case $comment in
fineweb=*) ;;
*) exit 0 ;; # a job that wants none
esac
source=${comment#fineweb=}
options=
case $source in *,*) options=${source#*,} source=${source%%,*} ;; esac
mkdir -p "$root/$SLURM_JOB_ID"
# A failing prolog drains the node, so what is wrong with the job's own options only ends the job.
if ! fineweb "$source" "$root/$SLURM_JOB_ID" ${options:+-o "$options"}; then
	rmdir "$root/$SLURM_JOB_ID"
	echo "print fineweb could not mount $source" # Slurm shows the job what a task prolog prints
	if [ -n "${SLURM_CONF-}" ]; then scancel "$SLURM_JOB_ID"; fi
fi
