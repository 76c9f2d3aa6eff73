"""What an input reached in openwork's own code, so that inputs which reach further are changed further.

As AFL and libFuzzer do it, with lines of Python for basic blocks: an arc is a line and the one that followed it within
a call. Libraries in C are not seen; for readers that are mostly these, blind mutation tries more in the same time.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import openwork

SOURCE = str(Path(openwork.__file__).parent)
SMALLEST_CUT = 16  # the last cuts are this part of the input that they shorten

Arc = tuple[CodeType, int, int]
Trace = Callable[[FrameType, str, Any], Any]


class Guide:
    """The arcs that inputs have reached: all of them, and the last one."""

    def __init__(self) -> None:
        self.known: set[Arc] = set()
        self.last: set[Arc] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Within it, arcs are noted; this is ten times slower."""
        before, self.last = sys.gettrace(), set()
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)

    def takes(self, data: bytes, again: Callable[[bytes], None]) -> bytes | None:
        """The last input, as short as it can be and still reach what is new; None where nothing was new.

        `again` tries an input, with the guide watching. Short ones are better to change: a change hits what matters.
        """
        new = self.last - self.known
        self.known |= self.last
        if not new:
            return None
        step = most = max(len(data) // 2, 1)
        while step >= max(most // SMALLEST_CUT, 1):
            begin = 0
            while begin < len(data):
                shorter = data[:begin] + data[begin + step :]
                again(shorter)
                if new <= self.last:
                    data = shorter
                else:
                    begin += step
            step //= 2
        return data

    def _call(self, frame: FrameType, event: str, argument: Any) -> Trace | None:
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        code, last = frame.f_code, 0

        def line(frame: FrameType, event: str, argument: Any) -> Any:
            nonlocal last
            if event == "line":
                self.last.add((code, last, frame.f_lineno))
                last = frame.f_lineno
            return line

        return line
