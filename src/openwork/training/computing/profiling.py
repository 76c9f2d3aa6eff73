"""Updates that are watched by the framework's profiler: what ran when, in every thread."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.profiler import ProfilerActivity, profile, record_function

from openwork.models.interfaces import SequenceModel
from openwork.training.batches.batch import BatchStream
from openwork.training.computing import time_division as record
from openwork.training.progress import Progress
from openwork.training.step import StepReport, Updater


class Updates(NamedTuple):
    """Some updates in a row, and the seconds that they took together."""

    reports: tuple[StepReport, ...]
    seconds: float

    @property
    def seconds_each(self) -> float:
        return self.seconds / len(self.reports)

    @property
    def target_tokens(self) -> int:
        return sum(report.target_tokens for report in self.reports)


def make_updates(
    updater: Updater, stream: BatchStream, progress: Progress, count: int, seconds: float = math.inf
) -> Updates:
    """So many updates, or fewer if `seconds` are over, as the training loop makes them, but announced to nobody."""
    reports: list[StepReport] = []
    start = time.perf_counter()
    while len(reports) < count and (not reports or time.perf_counter() - start < seconds):
        with record_function(record.UPDATE):
            with record_function(record.DATA):
                batches = [stream.next(progress) for _ in range(updater.settings.accumulate)]
            report = updater.update(batches, progress.step + 1)
        progress.step = report.step
        reports.append(report)
    return Updates(tuple(reports), time.perf_counter() - start)


def profiled_updates(
    updater: Updater, stream: BatchStream, progress: Progress, count: int, seconds: float = math.inf
) -> tuple[Updates, record.Division]:
    """The same, with a record of what every thread did when."""
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * torch.cuda.is_available()
    # Without this, the profiler sees the thread that began it and the backward passes, but no other workers.
    all_threads = _ExperimentalConfig(profile_all_threads=True)
    with _places(updater), profile(activities=activities, experimental_config=all_threads) as recorded:
        updates = make_updates(updater, stream, progress, count, seconds)
    return updates, record.divide(
        record.Event(
            event.name, event.thread, event.time_range.start, event.time_range.end, event.sequence_nr,
            event.fwd_thread or 0, sum((kernel.duration for kernel in event.kernels), 0.0),
        )
        for event in recorded.events() or ()
        if event.device_type.name == "CPU" and not event.is_async
    )  # fmt: skip


@contextmanager
def _places(updater: Updater) -> Iterator[None]:
    """While the block runs, the record names the modules and the loss in which operators are called."""
    opened, objective = threading.local(), updater.objective

    def name_of(module: nn.Module) -> str | None:
        group = record.MODULES.get(type(module).__name__)
        return record.MODEL if isinstance(module, SequenceModel) else group and f"{record.PREFIX}{group}"

    def enter(module: nn.Module, _: Any) -> None:
        if name := name_of(module):
            label = record_function(name)
            label.__enter__()
            opened.__dict__.setdefault("labels", []).append(label)

    def leave(module: nn.Module, _: Any, __: Any) -> None:
        if name_of(module):
            opened.labels.pop().__exit__(None, None, None)

    def loss(*arguments: Any) -> Any:
        with record_function(record.LOSS):
            return objective(*arguments)

    handles = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)]
    updater.objective = loss
    try:
        yield
    finally:
        updater.objective = objective
        for handle in handles:
            handle.remove()
