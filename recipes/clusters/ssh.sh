#!/bin/bash
# Trains on several machines that share a file system: ./ssh.sh RUN FOLDER HOST...
# RUN is a run file or a recipe's name. FOLDER and the present folder are the same on all machines, which know this user's
# key and have openwork on their path. The first host has to let the others reach its port 29400.
set -euo pipefail

run=$1
folder=$2
shift 2
command=$(printf '%q ' torchrun \
    --nnodes "$#" \
    --nproc-per-node 8 \
    --rdzv-id openwork \
    --rdzv-backend c10d \
    --rdzv-endpoint "$1:29400" \
    --max-restarts 3 \
    -m openwork train "$run" --out "$folder")

# A terminal on each host, so that its processes end with this script. What fails on one ends all: the signal is sent
# until none runs, since a process that has just been started by bash may lose it.
trap 'while kill $(jobs -pr) 2>/dev/null; do sleep 0.1; done; wait' EXIT
for host in "$@"; do
    ssh -tt "$host" "cd $(printf '%q' "$PWD") && exec $command" < /dev/null &
done
for _ in "$@"; do
    wait -n
done
