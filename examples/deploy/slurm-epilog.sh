#!/bin/sh
# slurm-epilog.sh: unmounts what slurm-prolog.sh mounted, after the last task of a job (slurm.conf: Epilog=).
root=${BATCHES_ROOT-/run/fineweb}
mount=$root/$SLURM_JOB_ID
[ -d "$mount" ] || exit 0
# A task that is being killed may still hold a file: -l takes the mount out of sight at once.
umount "$mount" 2>/dev/null || umount -l "$mount"
rmdir "$mount"
