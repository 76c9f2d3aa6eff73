"""What every command shares: where things are printed, how an error looks, and the exit codes.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong command line,
3 bad data or settings, 4 missing or unusable bundle, 130 interrupted.
"""

import contextlib
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

import typer

from openwork.base.errors import OpenworkError, wants_memory
from openwork.base.messages import catalogue, find_language
from openwork.base.notices import LOGGER
from openwork.base.printing import escaped, one_line
from openwork.cli.interrupts import INTERRUPTED, note_cursor, was_interrupted

if TYPE_CHECKING:
    from rich.console import Console

DEBUG = "OPENWORK_DEBUG"
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextlib.contextmanager
def be_quiet(wanted: bool) -> Iterator[None]:
    """Within it, if it is wanted, only results and errors are shown."""
    before = _quiet.set(wanted or _quiet.get())
    try:
        yield
    finally:
        _quiet.reset(before)


def translated(text: str) -> str:
    """The sentence in the language of the person at the terminal."""
    return catalogue(find_language(os.environ)).translate(text)


def print_lines(lines: Iterable[str]) -> None:
    """The lines of a report on standard output, in the person's language."""
    print("\n".join(one_line(translated(line)) for line in lines))


def print_text(text: str) -> None:
    """A text of several lines on standard output, in the person's language already."""
    print(escaped(text))


def say(text: str) -> None:
    """A line for the person at the terminal; that nobody listens any more (as in `2>&1 | head`) ends no training."""
    if not _quiet.get():
        tell(translated(text))


def tell(text: str) -> None:
    """The same for a line that is in the person's language already, or is for programs."""
    # RuntimeError: a signal's handler speaks while a line is being printed
    with contextlib.suppress(OSError, RuntimeError):
        print(one_line(text), file=sys.stderr, flush=True)


class _Saying(logging.Handler):
    """Shows what the library has to say."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def progress_console() -> "Console":
    """Where the progress of a training is drawn: standard error, until nobody listens any more."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class LastingConsole(Console):
        def on_broken_pipe(self) -> None:  # rich would end the process here, and the training with it
            self.quiet = True

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):  # colours are no text, and the cursor is a control
                yield segment if segment.control else segment._replace(text=escaped(segment.text))

        def show_cursor(self, show: bool = True) -> bool:
            note_cursor(is_hidden=not show and self.is_terminal)
            return super().show_cursor(show)

    return LastingConsole(stderr=True, quiet=_quiet.get())


def open_missing_streams() -> None:
    """Gives a process that was started without one of the three streams (as by `<&-`) an empty one."""
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def show_error(error: OpenworkError) -> None:
    """error CODE: what / why / hint, one line each."""
    first = f"error {error.code}: " if error.code else "error: "
    for name, sentence in ((first, error.what), ("  why: ", error.why), ("  hint: ", error.hint)):
        if sentence:
            tell(f"{translated(name)}{translated(sentence)}")


class ErrorsTold:
    """Within it an error is told in a sentence and becomes the exit code; `--debug` lets its traceback through."""

    code = 0

    def __enter__(self) -> "ErrorsTold":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is not None:
            return self._tell(error)
        try:
            sys.stdout.flush()  # here, where a failure can still be told
        except BaseException as late:
            if not self._tell(late):
                raise
        self.code = self.code or (INTERRUPTED if was_interrupted() else 0)  # a library caught it
        return False

    def _tell(self, error: BaseException) -> bool:
        """Sets the exit code; False for what is no error of a command."""
        if isinstance(error, KeyboardInterrupt):
            say("interrupted")
            self.code = INTERRUPTED
        elif isinstance(error, BrokenPipeError):  # the reader of our output has gone, as in `| head`
            _discard(sys.stdout)
        elif isinstance(error, typer.Exit) or not isinstance(error, Exception) or os.environ.get(DEBUG):
            return False
        elif isinstance(error, OpenworkError):
            show_error(error)
            self.code = error.exit_code
        else:
            show_error(_refused_by_system(error) if isinstance(error, OSError) else _unexpected(error))
            self.code = OpenworkError.exit_code
        return True


@contextlib.contextmanager
def notices_shown() -> Iterator[None]:
    """Within it the person at the terminal reads what the library has to say."""
    handler = _Saying()
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)


def flush_streams() -> None:
    """Writes what is still held; what cannot be written was told before, where there is somebody to tell."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)


def _discard(stream: TextIO) -> None:
    """What the stream still holds goes nowhere, so that Python does not complain when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _refused_by_system(error: OSError) -> OpenworkError:
    why = error.strerror or str(error)
    if error.filename is not None:
        return OpenworkError(
            f"{os.fsdecode(error.filename)}: cannot be read or written",
            why=why,
            hint="check the path, your rights to it, and the room on its disk",
            code="E005",
        )
    _discard(sys.stdout)
    return OpenworkError("the output cannot be written", why=why, hint="check where standard output goes", code="E006")


def _unexpected(error: Exception) -> OpenworkError:
    """A mistake of ours, or a machine at its limits: the traceback goes to a file."""
    details = _log(error)
    if wants_memory(error):
        return OpenworkError(
            "not enough memory", why=details, hint="lower batches.tokens, or the beam when translating", code="E007"
        )
    first_line = (str(error).splitlines() or [""])[0]
    return OpenworkError(
        f"unexpected {type(error).__name__}: {first_line}".removesuffix(": "),
        why=f"this is a mistake in openwork; {details}",
        hint="please report it with that file; --debug shows the traceback here",
        code="E008",
    )


def _log(error: Exception) -> str:
    try:
        with tempfile.NamedTemporaryFile("w", prefix="openwork-", suffix=".log", delete=False, encoding="utf-8") as log:
            log.write("".join(traceback.format_exception(error)))
    except OSError:  # a full disk, perhaps the very cause
        return "the details could not be written to a file"
    return f"details: {log.name}"
