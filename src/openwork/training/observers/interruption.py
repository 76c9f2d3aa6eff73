"""Ctrl-C and SIGTERM: the first ends the run after the present update and saves; the second ends at once."""

import signal
from types import FrameType

from openwork.training.moments import Observer, Run

INTERRUPTED = "interrupted"


class InterruptionObserver(Observer):
    """Catches the signals while the run lasts."""

    def __init__(self) -> None:
        self._previous: dict[signal.Signals, object] = {}

    def started(self, run: Run) -> None:
        def handle(number: int, frame: FrameType | None) -> None:
            run.stop(INTERRUPTED)
            self._give_back()

        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.signal(number, handle)

    def finished(self, run: Run) -> None:
        self._give_back()

    def _give_back(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # type: ignore[arg-type]
        self._previous.clear()
