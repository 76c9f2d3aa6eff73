"""The training loop: updates, one after the other, announced to the observers."""

import time

from openwork.training.batches.stream import Stream, TrainingBatch
from openwork.training.moments import LoopState
from openwork.training.step import Updater


def train(updater: Updater, stream: Stream[TrainingBatch], run: LoopState) -> None:
    """Goes on from `run.progress` until all updates are made or an observer asks for the end."""
    try:
        for observer in run.observers:
            observer.started(run)
        _make_updates(updater, stream, run)
        for observer in run.observers:
            observer.finished(run)
    finally:
        for observer in run.observers:
            observer.closed(run)


def _make_updates(updater: Updater, stream: Stream[TrainingBatch], run: LoopState) -> None:
    progress = run.progress
    updater.divisions = progress.divisions
    while progress.step < run.settings.steps and run.stop_reason is None:
        before = time.perf_counter()
        batches = [stream.next(progress) for _ in range(run.settings.accumulate)]
        report = updater.update(batches, progress.step + 1, progress.rate_scale)
        progress.step = report.step
        progress.divisions = updater.divisions
        progress.target_tokens += report.target_tokens
        progress.seconds += time.perf_counter() - before
        for observer in run.observers:
            observer.stepped(run, report)
