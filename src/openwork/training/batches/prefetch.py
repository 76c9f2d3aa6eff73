"""Batches prepared ahead of their use, by a thread next to the training.

While an update is computed, the thread assembles the next batches and sends them to the device. The stream decides
which batches come, and in which order: the thread goes ahead with a place of its own, and the run's place, which
checkpoints keep, moves on only when a batch is taken.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from openwork.training.batches.batch import Stream, TrainingBatch
from openwork.training.progress import Progress

Place = tuple[int, int]
"""Epoch and batch."""


class PrefetchedStream:
    """The batches of another stream, of which up to `ahead` are prepared before they are asked for."""

    def __init__(self, stream: Stream, ahead: int) -> None:
        self._stream = stream
        self._ahead = ahead
        self._next: Place | None = None  # of the first batch that is prepared
        self._prepared: deque[Future[tuple[TrainingBatch, Place]]] = deque()

    def next(self, progress: Progress) -> TrainingBatch:
        """The batch at `progress`, which moves on by one; an error of the thread is raised here."""
        if self._next != (progress.epoch, progress.batch):  # the first one, or the run was set to another place
            self.close()
            self._thread = ThreadPoolExecutor(1, "openwork-prefetch")
            self._thread_progress = Progress(epoch=progress.epoch, batch=progress.batch)
        while len(self._prepared) <= self._ahead:
            self._prepared.append(self._thread.submit(self._prepare, self._thread_progress))
        self._next = None  # where this batch fails
        batch, self._next = self._prepared.popleft().result()
        progress.epoch, progress.batch = self._next
        return batch

    def _prepare(self, progress: Progress) -> tuple[TrainingBatch, Place]:
        """A batch, and the place of the one after it."""
        return self._stream.next(progress), (progress.epoch, progress.batch)

    def close(self) -> None:
        """Ends the thread; a stream that is used again starts a new one."""
        if self._prepared:
            self._thread.shutdown(cancel_futures=True)
        self._prepared.clear()
        self._next = None


@contextmanager
def prefetched(stream: Stream, ahead: int) -> Iterator[Stream]:
    """The stream with up to `ahead` batches prepared while the block runs (0: itself); its end ends the thread."""
    if ahead == 0:
        yield stream
        return
    ready = PrefetchedStream(stream, ahead)
    try:
        yield ready
    finally:
        ready.close()
