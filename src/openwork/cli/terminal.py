"""Output of commands: printing, errors and exit codes.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong command line,
3 bad data or settings, 4 missing or unusable bundle, 130 interrupted.
"""

import contextlib
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TextIO

import typer

from openwork.base.errors import LOGGER, OpenworkError, wants_memory
from openwork.base.messages import catalogue, find_language
from openwork.base.printing import escaped, one_line, write_json
from openwork.cli.interrupts import INTERRUPTED, note_cursor, was_interrupted

if TYPE_CHECKING:
    from rich.console import Console

DEBUG = "OPENWORK_DEBUG"
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextlib.contextmanager
def be_quiet(wanted: bool) -> Iterator[None]:
    """A context in which, if `wanted`, only results and errors are shown."""
    before = _quiet.set(wanted or _quiet.get())
    try:
        yield
    finally:
        _quiet.reset(before)


def translated(text: str) -> str:
    """The sentence in the user's language."""
    return catalogue(find_language(os.environ)).translate(text)


def print_lines(lines: Iterable[str]) -> None:
    """Prints the lines of a report to standard output, in the user's language."""
    print("\n".join(one_line(translated(line)) for line in lines))


def print_result(values: Callable[[], Any], lines: Callable[[], Iterable[str]], *, as_json: bool) -> None:
    """Prints a result to standard output: its values as JSON for a program, or the lines of a report."""
    if as_json:
        write_json(values())
    else:
        print_lines(lines())


def print_text(text: str) -> None:
    """Prints a translated text of several lines to standard output."""
    print(escaped(text))


def print_styled(lines: Iterable[tuple[str, str]]) -> None:
    """Prints translated lines to standard output, each with its style, such as "bold"; without styles elsewhere."""
    if not sys.stdout.isatty():
        print_text("\n".join(text for text, _ in lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console()
    for text, style in lines:
        console.print(Text(escaped(text), style=style), soft_wrap=True)


def report(text: str) -> None:
    """Reports a line to the user on standard error; a closed stream (as in `2>&1 | head`) does not end a training."""
    if not _quiet.get():
        write_line(translated(text))


def write_line(text: str) -> None:
    """Writes a line to standard error that is translated already, or for programs."""
    # RuntimeError: a signal handler writes while a line is being printed
    with contextlib.suppress(OSError, RuntimeError):
        print(one_line(text), file=sys.stderr, flush=True)


class _NoticeHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        report(record.getMessage())


def progress_console() -> "Console":
    """The console for the progress of a training: standard error, until it is closed."""
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class LastingConsole(Console):
        def on_broken_pipe(self) -> None:  # rich would end the process here, and the training with it
            self.quiet = True

        def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):  # only text is escaped, no colours or controls
                yield segment if segment.control else segment._replace(text=escaped(segment.text))

        def show_cursor(self, show: bool = True) -> bool:
            note_cursor(is_hidden=not show and self.is_terminal)
            return super().show_cursor(show)

    return LastingConsole(stderr=True, quiet=_quiet.get())


def open_missing_streams() -> None:
    """Opens an empty stream for each of the three that the process lacks (as after `<&-`)."""
    for descriptor, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != descriptor:
                os.dup2(opened, descriptor)
                os.close(opened)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))


def show_error(error: OpenworkError) -> None:
    """Writes an error to standard error: "error CODE: what", why and hint, one line each."""
    first = f"error {error.code}: " if error.code else "error: "
    for name, sentence in ((first, error.what), ("  why: ", error.why), ("  hint: ", error.hint)):
        if sentence:
            write_line(f"{translated(name)}{translated(sentence)}")


class ErrorReporter:
    """A context that reports errors and sets the exit code; `--debug` lets the traceback through."""

    code = 0

    def __enter__(self) -> "ErrorReporter":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if error is not None:
            return self._report(error)
        try:
            sys.stdout.flush()  # here, where a failure can still be reported
        except BaseException as late:
            if not self._report(late):
                raise
        self.code = self.code or (INTERRUPTED if was_interrupted() else 0)  # a library caught it
        return False

    def _report(self, error: BaseException) -> bool:
        """Reports an error and sets the exit code; False for exceptions that are not errors of a command."""
        if isinstance(error, KeyboardInterrupt):
            report("interrupted")
            self.code = INTERRUPTED
        elif isinstance(error, BrokenPipeError):  # the reader of the output has ended, as in `| head`
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
    """A context in which the notices of the library are reported."""
    handler = _NoticeHandler()
    LOGGER.addHandler(handler)
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)


def flush_streams() -> None:
    """Flushes both output streams; failures have been reported before."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            _discard(stream)


def _discard(stream: TextIO) -> None:
    """Discards the stream's buffer, so that Python reports no error when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _refused_by_system(error: OSError) -> OpenworkError:
    why = error.strerror or str(error)
    if error.filename is not None:
        return OpenworkError(
            f"{os.fsdecode(error.filename)}: cannot be read or written",
            why=why,
            hint="check the path, your permissions, and the free disk space",
            code="E005",
        )
    _discard(sys.stdout)
    return OpenworkError("the output cannot be written", why=why, hint="check where standard output goes", code="E006")


def _unexpected(error: Exception) -> OpenworkError:
    """The error for a bug, or for exhausted memory; the traceback goes to a file."""
    try:
        with tempfile.NamedTemporaryFile("w", prefix="openwork-", suffix=".log", delete=False, encoding="utf-8") as log:
            log.write("".join(traceback.format_exception(error)))
        details = f"details: {log.name}"
    except OSError:  # a full disk, perhaps the cause
        details = "the details could not be written to a file"
    if wants_memory(error):
        return OpenworkError(
            "not enough memory", why=details, hint="lower batches.tokens, or the beam when translating", code="E007"
        )
    first_line = (str(error).splitlines() or [""])[0]
    return OpenworkError(
        f"unexpected {type(error).__name__}: {first_line}".removesuffix(": "),
        why=f"this is a bug in openwork; {details}",
        hint="please report it with that file; --debug shows the traceback here",
        code="E008",
    )
