"""Ctrl-C and SIGTERM: the first ends the run after the present update and saves; the second ends at once."""

import signal
from collections.abc import Callable
from types import FrameType
from typing import Any

from openwork.training.moments import Observer, Run

INTERRUPTED = "interrupted"

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers


class InterruptionObserver(Observer):
    """Catches the signals while the run lasts."""

    def __init__(self, announce: Callable[[], None] = lambda: None) -> None:
        """`announce` is called at the first signal: until the update or the validation ends, nothing else is seen."""
        self._announce = announce
        self._previous: dict[signal.Signals, Handler] = {}

    def started(self, run: Run) -> None:
        def handle(number: int, frame: FrameType | None) -> None:
            run.stop(INTERRUPTED)
            self._give_back()
            self._announce()

        for number in (signal.SIGINT, signal.SIGTERM):
            # None: the handler before was not set by Python, and Python cannot put it back
            self._previous[number] = signal.signal(number, handle) or signal.SIG_DFL

    def closed(self, run: Run) -> None:
        self._give_back()

    def _give_back(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()
