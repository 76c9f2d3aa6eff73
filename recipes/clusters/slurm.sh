#!/bin/bash
# Trains on the nodes of a Slurm job: sbatch slurm.sh RUN FOLDER
# RUN is a run file or a recipe's name. FOLDER is on a file system that all nodes share. The same command continues a run.
#SBATCH --job-name=openwork
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --time=12:00:00
set -euo pipefail

run=$1
folder=$2
mapfile -t hosts < <(scontrol show hostnames "$SLURM_JOB_NODELIST")

# One task a node: torchrun, which starts a process for each of its eight GPUs.
srun --kill-on-bad-exit=1 torchrun \
    --nnodes "$SLURM_JOB_NUM_NODES" \
    --nproc-per-node 8 \
    --rdzv-id "$SLURM_JOB_ID" \
    --rdzv-backend c10d \
    --rdzv-endpoint "${hosts[0]}:29400" \
    --max-restarts 3 \
    -m openwork train "$run" --out "$folder"
