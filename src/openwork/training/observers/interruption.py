"""Ctrl-C, SIGTERM and a terminal that is closed: the first ends the run after the present update and saves; the second
ends at once."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from openwork.training.moments import LoopState, Observer

INTERRUPTED = "interrupted"

Handler = Callable[[int, FrameType | None], Any] | int | signal.Handlers


class InterruptionObserver(Observer):
    """Catches the signals while the run lasts."""

    def __init__(self, announce: Callable[[], None] = lambda: None) -> None:
        """`announce` is called at the first signal: until the update or the validation ends, nothing else is seen."""
        self._announce = announce
        self._previous: dict[signal.Signals, Handler] = {}

    def started(self, run: LoopState) -> None:
        def handle(number: int, frame: FrameType | None) -> None:
            run.stop(INTERRUPTED)
            self._give_back()
            self._announce()

        for number in (signal.SIGINT, *_endings()):
            # None: the handler before was not set by Python, and Python cannot put it back
            self._previous[number] = signal.signal(number, handle) or signal.SIG_DFL

    def closed(self, run: LoopState) -> None:
        self._give_back()

    def _give_back(self) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()


def _endings() -> list[signal.Signals]:
    """What else ends a process in good order; a closed terminal not where it is to be ignored (nohup)."""
    hang_up = getattr(signal, "SIGHUP", None)  # Windows has none
    if hang_up is None or signal.getsignal(hang_up) is signal.SIG_IGN:
        return [signal.SIGTERM]
    return [signal.SIGTERM, hang_up]


@contextmanager
def ending_like_ctrl_c() -> Iterator[None]:
    """Within it these signals raise KeyboardInterrupt, as Ctrl-C does: what is half written is cleared away, and it is
    said how to go on. Only the main thread can be told of signals; elsewhere nothing changes."""

    def handle(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handle) or signal.SIG_DFL for number in _endings()}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
