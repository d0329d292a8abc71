#!/bin/bash
# Writes a dataset as token shards with an array job: eight tasks, each its own part, into one shared folder.
#
#     sbatch --export=ALL,SOURCE=hf://datasets/HuggingFaceFW/fineweb-edu,OUT=/shared/edu examples/slurm-prepare.sh
#
# A task that is killed or requeued goes on after its last whole shard. The output does not depend on their number.
# When all have ended, one command checks that every part is there and writes dataset.json:
#
#     fineweb prepare "$SOURCE" -o "$OUT" --join
#
# with the same options. Counts that need tokenising (text without FineWeb's token_count column, or another tokenizer)
# come first, by the same array with MODE=index; all nodes then need one cache, on a shared filesystem.
#SBATCH --job-name=fineweb-prepare
#SBATCH --array=0-7
#SBATCH --cpus-per-task=32
#SBATCH --mem=8G
#SBATCH --time=12:00:00
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
set -eu

SOURCE=${SOURCE:?the dataset}
OUT=${OUT:?the folder to write to, on a shared filesystem}
OPTIONS=${OPTIONS:-}              # as --tokenizer=cl100k --shard-tokens=100M; the same for each command
export FINEWEB_CACHE=${FINEWEB_CACHE:-$OUT.cache}
threads=${SLURM_CPUS_PER_TASK:-$(nproc)}

# --task is not given: the array says which part this is.
case ${MODE:-prepare} in
index)   set -- index "$SOURCE" ;;
prepare) set -- prepare "$SOURCE" -o "$OUT" ;;
esac
# shellcheck disable=SC2086
exec fineweb "$@" --threads "$threads" $OPTIONS
