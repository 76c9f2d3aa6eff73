"""Ctrl-C at any moment: exit code 130, no traceback, and never lost.

A KeyboardInterrupt can be lost: Python reports and forgets what is raised in a weak reference's callback or in
`__del__`, and libraries catch everything while they are loaded. So before there is any work to clear up after, and
while a module is being imported, the process ends at once; else KeyboardInterrupt is raised as usual.

This is the first module that the command loads, so it imports only what Python has loaded by then: `signal` itself
would take some milliseconds in which Ctrl-C gives a traceback.
"""

import _signal  # pyright: ignore[reportMissingImports]
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

INTERRUPTED = 130
_SHOW_CURSOR = b"\x1b[?25h"
_IMPORTING = "<frozen importlib"  # how the files of Python's own import machinery are called


class _State:
    """What has happened so far."""

    was_interrupted = False
    cursor_is_hidden = False


def end_at_once_on_ctrl_c() -> None:
    """Installs the handler for a process of our own; a process that is to ignore Ctrl-C (`nohup`, `&`) goes on so."""
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _end)
        sys.unraisablehook = _unraisable


class RaisingOnCtrlC:
    """Within it Ctrl-C raises KeyboardInterrupt, so that what is half done is cleared away."""

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
    """What a live display does with the cursor, to be put right when the process ends at once."""
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
    """Instead of `Exception ignored in`: the interruption is heeded."""
    if isinstance(lost.exc_value, KeyboardInterrupt):
        _end()
    sys.__unraisablehook__(lost)
