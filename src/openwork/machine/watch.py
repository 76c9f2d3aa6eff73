"""A thread in each process of a training that notices the end of another one, and ends this one too.

Each process counts its beats in the store that all of them share, and listens to those of the next one; what has been
silent for some seconds has ended, or has stopped. A process that ends with an error says so there.
"""

import contextlib
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

import torch.distributed as dist
from torch.distributed.distributed_c10d import Store

from openwork.base.errors import OpenworkError

BEAT = 1.0  # seconds
SILENCE = 20.0  # seconds without a beat, after which a process is taken to have ended
SUSPICION = 6.0  # the same after a connection was broken
GRACE = 3.0  # seconds in which a process may end by itself
UNREACHABLE = 5  # beats in a row that do not reach the store

End = Callable[[OpenworkError | None], None]
LOST, FAILED = "lost", "failed"


class Watch:
    """Watches the other processes; `end` is called with the error to show, or with None where another shows it.

    `store` is for the caller's thread, `own` for this one: a store does one thing at a time.
    """

    def __init__(self, rank: int, count: int, store: Store, own: Store, end: End) -> None:
        self.rank, self.count = rank, count
        self._store, self._own, self._end = store, own, end
        self._stopped, self._suspicious = threading.Event(), threading.Event()
        self._heard: dict[int, tuple[int, float]] = {}  # by rank: beats, and when there was a new one
        self._thread = threading.Thread(target=self._run, name="openwork-watch", daemon=True)
        self._thread.start()

    def announce(self, name: str) -> None:
        """Notes in the store that something is done."""
        self._store.set(f"done/{name}", "1")

    def wait_for(self, name: str) -> None:
        """Waits, however long it takes, for what another process announces."""
        with self.failures():
            while not self._store.check([f"done/{name}"]):
                time.sleep(BEAT / 5)

    @contextlib.contextmanager
    def failures(self) -> Iterator[None]:
        """A context in which a broken connection is no error of its own: the watch finds out who has ended."""
        try:
            yield
        except (dist.DistError, RuntimeError) as error:
            self._await_verdict(error)

    @contextlib.contextmanager
    def ending(self) -> Iterator[None]:
        """A context whose errors end the other processes too. SystemExit where another has shown its error already."""
        try:
            yield
        except BaseException as error:
            first = True
            with contextlib.suppress(dist.DistError, RuntimeError):
                first = self._store.compare_set(FAILED, "", str(self.rank)) == str(self.rank).encode()
                self._leave(self._store)
            if first or not isinstance(error, OpenworkError):
                raise
            raise SystemExit(error.exit_code) from error

    def end(self) -> None:
        self._stopped.set()
        self._thread.join()

    def _leave(self, store: Store) -> None:
        """Says that this process ends. The first waits for the others: the store that they ask may end with it."""
        store.set(f"left/{self.rank}", "1")
        everyone, until = [f"left/{rank}" for rank in range(self.count)], time.monotonic() + SILENCE
        while self.rank == 0 and not store.check(everyone) and time.monotonic() < until:
            time.sleep(BEAT / 20)

    def _await_verdict(self, cause: Exception) -> NoReturn:
        # A launcher that sees a process end sends SIGTERM to the others; they say first who it was.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._suspicious.set()
        self._stopped.wait(SILENCE + 2 * SUSPICION)
        raise OpenworkError(
            "the connection between the processes of this training is broken",
            why=(str(cause).splitlines() or [""])[0],
            hint="check the network between the machines; the same command continues the run",
            code="E034",
        ) from cause

    def _run(self) -> None:
        failures = 0
        while not self._stopped.wait(BEAT):
            try:
                self._look()
                failures = 0
            except (dist.DistError, RuntimeError):
                failures += 1
            if failures == UNREACHABLE and not self._stopped.is_set():
                error = OpenworkError(
                    "what started the processes of this training has ended; so they end too",
                    why="the launcher, or process 0, was killed or cannot be reached",
                    hint="the same command continues the run from its newest checkpoint",
                    code="E038",
                )
                self._stop(error, is_lowest=self.rank < 2)

    def _look(self) -> None:
        self._own.add(f"beat/{self.rank}", 1)
        if self._own.check([FAILED]):
            if self._stopped.wait(GRACE):
                return
            self._leave(self._own)
            if not self._stopped.wait(GRACE):
                self._end(None)
            return
        suspicious = self._suspicious.is_set()
        others = [rank for rank in range(self.count) if rank != self.rank]
        watched = others if suspicious else [(self.rank + 1) % self.count]
        silent = [rank for rank in watched if self._silence(rank) > (SUSPICION if suspicious else SILENCE)]
        if silent:
            self._own.compare_set(LOST, "", json.dumps(silent))
        if self._own.check([LOST]):
            lost = json.loads(self._own.get(LOST))
            self._stop(self._lost(lost), is_lowest=self.rank == min({*others, self.rank} - {*lost}, default=self.rank))

    def _lost(self, ranks: list[int]) -> OpenworkError:
        return OpenworkError(
            f"process {', '.join(map(str, ranks))} of {self.count} has ended or does not answer; so the others end too",
            why="it was killed, or its machine has no memory left or cannot be reached",
            hint="the same command continues the run from its newest checkpoint",
            code="E035",
        )

    def _silence(self, rank: int) -> float:
        """Seconds since the last new beat of a process."""
        beats, now = self._own.add(f"beat/{rank}", 0), time.monotonic()
        before = self._heard.get(rank)
        if before is None or before[0] != beats:
            self._heard[rank] = before = beats, now
        return now - before[1]

    def _stop(self, error: OpenworkError, *, is_lowest: bool) -> None:
        """Ends this process; the lowest of those that are left shows the error."""
        if not is_lowest:
            time.sleep(GRACE)  # its sentence comes before a launcher speaks of this process
        self._end(error if is_lowest else None)
