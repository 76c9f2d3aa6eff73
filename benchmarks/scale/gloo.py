"""Latency and bandwidth between processes on this machine, from the times of gloo's all-reduce.

As in a training, tensors are joined to one message, summed, and copied back.
"""

import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import multiprocessing

from openwork.cost.communication import Network, Traffic

SIZES = (1 << 12, 1 << 18, 1 << 21, 1 << 23, 25 << 20)  # bytes; the last is that of a bucket
REPEATS = 9
PATIENCE = timedelta(minutes=5)


def measure(processes: int, sizes: Sequence[int] = SIZES, repeats: int = REPEATS) -> dict[int, float]:
    """Median seconds of an all-reduce of so many bytes, as the first process sees it."""
    with tempfile.TemporaryDirectory(prefix="openwork-") as folder:
        received, sent = multiprocessing.Pipe(duplex=False)
        arguments = (processes, str(Path(folder) / "meeting"), tuple(sizes), repeats, sent)
        multiprocessing.start_processes(_time_sums, arguments, nprocs=processes, start_method="spawn")
        return received.recv()


def _time_sums(rank: int, processes: int, meeting: str, sizes: Sequence[int], repeats: int, sent: Connection) -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=processes, timeout=PATIENCE)
    found = {}
    for size in sizes:
        tensors, seconds = torch.ones(2, size // 8), []
        for _ in range(repeats + 1):
            dist.barrier()
            start = time.perf_counter()
            message = torch.cat(list(tensors))
            dist.all_reduce(message)
            for tensor, part in zip(tensors, message.chunk(2), strict=True):
                tensor.copy_(part)
            seconds.append(time.perf_counter() - start)
        found[size] = statistics.median(seconds[1:])  # the first one makes the connections
    if rank == 0:
        sent.send(found)
    dist.destroy_process_group()


def fit(seconds: dict[int, float], processes: int) -> Network:
    """The latency of a step and the bandwidth that fit the times of a ring best, relative errors counted."""
    steps = 2 * (processes - 1)
    amounts = [(steps, Traffic("all-reduce", size, 1).sent(processes)) for size in seconds]
    relative = np.array(amounts, float) / np.array(list(seconds.values()))[:, None]
    scale = relative.max(axis=0)
    found, *_ = np.linalg.lstsq(relative / scale, np.ones(len(relative)), rcond=None)
    latency, by_byte = np.maximum(found / scale, 1e-12).tolist()
    return Network(bandwidth=1 / by_byte, latency=latency, trees=False)
