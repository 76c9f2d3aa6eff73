"""Batches prepared ahead of their use, by a thread beside the training.

While an update is computed, the thread assembles the next batches and sends them to the device. Which batches come,
and in which order, is the stream's affair and does not change: the thread walks ahead with a place of its own, and the
run's place, which checkpoints keep, moves on only when a batch is taken.
"""

import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from openwork.training.batches.batch import Stream
from openwork.training.progress import Progress

BatchT = TypeVar("BatchT")
PATIENCE = 0.1  # seconds after which a waiting side looks whether the other one has ended


@dataclass(frozen=True)
class _Ready(Generic[BatchT]):
    """A batch, where it stands, and where the next one does; each place is (epoch, batch)."""

    place: tuple[int, int]
    batch: BatchT
    after: tuple[int, int]


class _Walker(Generic[BatchT]):
    """A thread that goes along a stream from a place on, at most `ahead` batches before they are taken."""

    def __init__(self, stream: Stream[BatchT], place: tuple[int, int], ahead: int) -> None:
        self._stream = stream
        self._ready: queue.Queue[_Ready[BatchT] | BaseException] = queue.Queue(ahead)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._walk, args=(place,), name="openwork-prefetch", daemon=True)
        self._thread.start()

    def take(self) -> _Ready[BatchT]:
        """The next batch, as soon as it is there; an error of the thread is raised here."""
        found = self._ready.get()
        if isinstance(found, BaseException):
            raise found
        return found

    def end(self) -> None:
        """Returns when the thread is gone."""
        self._ended.set()
        self._thread.join()

    def _walk(self, place: tuple[int, int]) -> None:
        progress = Progress(epoch=place[0], batch=place[1])
        try:
            while not self._ended.is_set():
                place = progress.epoch, progress.batch
                batch = self._stream.next(progress)
                self._put(_Ready(place, batch, (progress.epoch, progress.batch)))
        except BaseException as error:  # whatever it is, it belongs to whoever waits for the batch
            self._put(error)

    def _put(self, item: _Ready[BatchT] | BaseException) -> None:
        """Waits for a free place, or for the end."""
        while not self._ended.is_set():
            try:
                return self._ready.put(item, timeout=PATIENCE)
            except queue.Full:
                continue


class PrefetchedStream(Generic[BatchT]):
    """The batches of another stream, of which up to `ahead` are prepared before they are asked for."""

    def __init__(self, stream: Stream[BatchT], ahead: int) -> None:
        self._stream = stream
        self._ahead = ahead
        self._walker: _Walker[BatchT] | None = None

    def next(self, progress: Progress) -> BatchT:
        """The batch at `progress`, which moves on by one."""
        place = progress.epoch, progress.batch
        ready = self._walker.take() if self._walker else None
        if ready is None or ready.place != place:  # the first one, or the run was set to another place
            ready = self._walk_from(place).take()
        progress.epoch, progress.batch = ready.after
        return ready.batch

    def close(self) -> None:
        """Ends the thread; a stream that is used again starts a new one."""
        if self._walker is not None:
            self._walker.end()
            self._walker = None

    def _walk_from(self, place: tuple[int, int]) -> _Walker[BatchT]:
        self.close()
        self._walker = _Walker(self._stream, place, self._ahead)
        return self._walker


@contextmanager
def prefetched(stream: Stream[BatchT], ahead: int) -> Iterator[Stream[BatchT]]:
    """The stream with up to `ahead` batches prepared while the block runs (0: itself); its end ends the thread."""
    if ahead == 0:
        yield stream
        return
    ready = PrefetchedStream(stream, ahead)
    try:
        yield ready
    finally:
        ready.close()
