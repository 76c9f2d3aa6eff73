"""What every command shares: where things are printed, how an error looks, and the exit codes.

Data goes to standard output, everything else to standard error. Exit codes: 0 done, 1 failed, 2 wrong command line,
3 bad data or settings, 4 missing or unusable bundle, 130 interrupted.
"""

import os
import sys
import tempfile
import traceback
from collections.abc import Callable

import typer

from openwork.base.errors import OpenworkError

DEBUG = "OPENWORK_DEBUG"
INTERRUPTED = 130


def say(text: str) -> None:
    """A line for the person at the terminal."""
    print(text, file=sys.stderr, flush=True)


def show_error(error: OpenworkError) -> None:
    """error: what / why / hint, one line each."""
    say(f"error: {error.what}")
    if error.why:
        say(f"  why: {error.why}")
    if error.hint:
        say(f"  hint: {error.hint}")


def run(command: Callable[[], None]) -> None:
    """Runs the work of a command and ends with its exit code; only `--debug` lets a traceback reach the terminal."""
    code = _attempt(command, debug=bool(os.environ.get(DEBUG)))
    if code:
        raise typer.Exit(code)


def _attempt(command: Callable[[], None], *, debug: bool) -> int:
    try:
        command()
    except OpenworkError as error:
        if debug:
            raise
        show_error(error)
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (as in `| head`); Python must not complain while it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except typer.Exit:
        raise
    except Exception as error:
        if debug:
            raise
        show_error(_unexpected(error))
        return OpenworkError.exit_code
    return 0


def _unexpected(error: Exception) -> OpenworkError:
    """A mistake of ours, or a machine at its limits: the traceback goes to a file."""
    with tempfile.NamedTemporaryFile("w", prefix="openwork-", suffix=".log", delete=False, encoding="utf-8") as log:
        log.write("".join(traceback.format_exception(error)))
    if isinstance(error, MemoryError) or "not enough memory" in str(error):
        return OpenworkError(
            "not enough memory", why=f"details: {log.name}", hint="lower batches.tokens, or the beam when translating"
        )
    return OpenworkError(
        f"unexpected {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}".strip(),
        why=f"this is a mistake in openwork; details: {log.name}",
        hint="please report it with that file; --debug shows the traceback here",
    )
