"""Ctrl-C at any moment: exit code 130 and no traceback.

A KeyboardInterrupt can be lost: Python drops one that is raised in a weak reference's callback or in `__del__`, and
libraries catch everything while they are imported. So the process ends at once while a module is imported and before
a command has work to clean up; otherwise KeyboardInterrupt is raised as usual.

This is the first module that the command imports, so it imports only modules that Python has already loaded: `signal`
itself takes some milliseconds, in which Ctrl-C would give a traceback.
"""

import _signal  # pyrefly: ignore[missing-import]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

INTERRUPTED = 130
_SHOW_CURSOR = b"\x1b[?25h"
_IMPORTING = "<frozen importlib"  # file names of Python's import system


class _State:
    was_interrupted = False
    cursor_is_hidden = False


def end_at_once_on_ctrl_c() -> None:
    """Installs the handler, unless the process ignores Ctrl-C (`nohup`, `&`) or has a handler of its own."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)
        sys.unraisablehook = _unraisable


class RaisingOnCtrlC:
    """A context in which Ctrl-C raises KeyboardInterrupt, so that unfinished work is cleaned up."""

    def __enter__(self) -> None:
        if _signal.getsignal(_signal.SIGINT) is _end:
            _signal.signal(_signal.SIGINT, _raise)

    def __exit__(self, *_: object) -> None:
        if _signal.getsignal(_signal.SIGINT) is _raise:
            _signal.signal(_signal.SIGINT, _end)


def was_interrupted() -> bool:
    """Whether Ctrl-C came while KeyboardInterrupt was raised, even if someone caught it."""
    return _State.was_interrupted


def note_cursor(*, is_hidden: bool) -> None:
    """Notes whether a live display hides the cursor, which is shown again when the process ends at once."""
    _State.cursor_is_hidden = is_hidden


def _end(number: int = 0, frame: "FrameType | None" = None) -> None:
    if _State.cursor_is_hidden:
        os.write(2, _SHOW_CURSOR)
    os._exit(INTERRUPTED)


def _raise(number: int, frame: "FrameType | None") -> None:
    _State.was_interrupted = True
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTING):
            _end()
        frame = frame.f_back
    raise KeyboardInterrupt


def _unraisable(lost: "Any") -> None:
    """Ends the process on a KeyboardInterrupt that Python would drop with `Exception ignored in`."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        _end()
    sys.__unraisablehook__(lost)
