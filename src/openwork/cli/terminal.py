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
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TextIO

import typer

from openwork.base.error_codes import code_of
from openwork.base.errors import OpenworkError, wants_memory
from openwork.base.messages import catalogue, find_language
from openwork.base.notices import LOGGER
from openwork.base.printing import escaped, one_line
from openwork.cli.interrupts import INTERRUPTED, RaisingOnCtrlC, note_cursor, was_interrupted

if TYPE_CHECKING:
    from rich.console import Console

DEBUG = "OPENWORK_DEBUG"


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

    return LastingConsole(stderr=True)


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
    code = code_of(error)
    first = f"error {code}: " if code else "error: "
    for name, sentence in ((first, error.what), ("  why: ", error.why), ("  hint: ", error.hint)):
        if sentence:
            tell(f"{translated(name)}{translated(sentence)}")


def run(command: Callable[[], None]) -> None:
    """Runs the work of a command and ends with its exit code; only `--debug` lets a traceback reach the terminal."""
    handler = _Saying()
    LOGGER.addHandler(handler)
    try:
        with RaisingOnCtrlC():
            code = _attempt(command)
    finally:
        LOGGER.removeHandler(handler)
    if code:
        raise typer.Exit(code)


def run_command_line(command_line: Callable[[], int]) -> int:
    """The exit code of all that the process does; what was printed has gone out then, or it is said why it cannot."""
    codes: list[int] = []
    code = _attempt(lambda: codes.append(command_line()))
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # told before, where there is somebody to tell
            _discard(stream)
    return code or sum(codes)


def _attempt(command: Callable[[], None]) -> int:
    try:
        command()
        sys.stdout.flush()  # here, where a failure can still be told
    except OpenworkError as error:
        _raise_for_debug(error)
        show_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as in `| head`
        _discard(sys.stdout)
        return 0
    except typer.Exit:
        raise
    except Exception as error:
        _raise_for_debug(error)
        show_error(_refused_by_system(error) if isinstance(error, OSError) else _unexpected(error))
        return OpenworkError.exit_code
    return INTERRUPTED if was_interrupted() else 0  # a library caught it


def _raise_for_debug(error: Exception) -> None:
    if os.environ.get(DEBUG):
        raise error


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
        )
    _discard(sys.stdout)
    return OpenworkError("the output cannot be written", why=why, hint="check where standard output goes")


def _unexpected(error: Exception) -> OpenworkError:
    """A mistake of ours, or a machine at its limits: the traceback goes to a file."""
    details = _log(error)
    if wants_memory(error):
        return OpenworkError(
            "not enough memory", why=details, hint="lower batches.tokens, or the beam when translating"
        )
    first_line = (str(error).splitlines() or [""])[0]
    return OpenworkError(
        f"unexpected {type(error).__name__}: {first_line}".removesuffix(": "),
        why=f"this is a mistake in openwork; {details}",
        hint="please report it with that file; --debug shows the traceback here",
    )


def _log(error: Exception) -> str:
    try:
        with tempfile.NamedTemporaryFile("w", prefix="openwork-", suffix=".log", delete=False, encoding="utf-8") as log:
            log.write("".join(traceback.format_exception(error)))
    except OSError:  # a full disk, perhaps the very cause
        return "the details could not be written to a file"
    return f"details: {log.name}"
