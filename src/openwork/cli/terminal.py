"""What every command shares: where things are printed, how an error looks, and the exit codes.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong command line,
3 bad data or settings, 4 missing or unusable bundle, 130 interrupted.
"""

import contextlib
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import typer

from openwork.base.error_codes import code_of
from openwork.base.errors import OpenworkError, wants_memory
from openwork.base.messages import catalogue, find_language

if TYPE_CHECKING:
    from rich.console import Console

DEBUG = "OPENWORK_DEBUG"
INTERRUPTED = 130


def translated(text: str) -> str:
    """The sentence in the language of the person at the terminal."""
    return catalogue(find_language(os.environ)).translate(text)


def print_lines(lines: Iterable[str]) -> None:
    """The lines of a report on standard output, in the person's language."""
    print("\n".join(map(translated, lines)))


def say(text: str) -> None:
    """A line for the person at the terminal; that nobody listens any more (as in `2>&1 | head`) ends no training."""
    tell(translated(text))


def tell(text: str) -> None:
    """The same for a line that is in the person's language already, or is for programs."""
    # RuntimeError: a signal's handler speaks while a line is being printed
    with contextlib.suppress(OSError, RuntimeError):
        print(text, file=sys.stderr, flush=True)


def progress_console() -> "Console":
    """Where the progress of a training is drawn: standard error, until nobody listens any more."""
    from rich.console import Console

    class LastingConsole(Console):
        def on_broken_pipe(self) -> None:  # rich would end the process here, and the training with it
            self.quiet = True

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
    code = _attempt(command, debug=bool(os.environ.get(DEBUG)))
    if code:
        raise typer.Exit(code)


def _attempt(command: Callable[[], None], *, debug: bool) -> int:
    try:
        command()
        sys.stdout.flush()  # here, where a failure can still be told
    except OpenworkError as error:
        if debug:
            raise
        show_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output has gone, as in `| head`
        _discard_output()
        return 0
    except typer.Exit:
        raise
    except Exception as error:
        if debug:
            raise
        show_error(_refused_by_system(error) if isinstance(error, OSError) else _unexpected(error))
        return OpenworkError.exit_code
    return 0


def _discard_output() -> None:
    """What standard output still holds goes nowhere, so that Python does not complain when it closes the stream."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refused_by_system(error: OSError) -> OpenworkError:
    why = error.strerror or str(error)
    if error.filename is not None:
        return OpenworkError(
            f"{os.fsdecode(error.filename)}: cannot be read or written",
            why=why,
            hint="check the path, your rights to it, and the room on its disk",
        )
    _discard_output()
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
