"""The command `openwork`. Its commands are in `commands.py`; each loads what it needs when it runs."""

import difflib
import os
import re
import sys
from typing import Annotated

import typer
from typer import Option
from typer.exceptions import TyperException

from openwork import __version__
from openwork.base.errors import UsageError
from openwork.base.messages import find_language
from openwork.base.printing import guard_streams
from openwork.cli.commands import LazyGroup
from openwork.cli.completion import prepare_completion
from openwork.cli.language import take_language, translate_part, translate_titles
from openwork.cli.terminal import (
    DEBUG,
    INTERRUPTED,
    ErrorReporter,
    flush_streams,
    open_missing_streams,
    print_text,
    show_error,
)

app = typer.Typer(
    cls=LazyGroup,
    help="Train and use sequence-to-sequence Transformers, with every part in view.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print_text(f"openwork {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    lang: Annotated[str, Option(help="Language of help and messages: en or zh; else the locale's.")] = "",
) -> None:
    """Train and use sequence-to-sequence Transformers, with every part in view."""
    # `lang` is here only for the help: take_language has read it before
    if debug:
        os.environ[DEBUG] = "1"


def main() -> None:
    """Runs the command line and ends the process."""
    open_missing_streams()
    guard_streams()
    prepare_completion()
    with ErrorReporter() as errors:
        errors.code = _command_line()
    flush_streams()
    if errors.code and "RANK" in os.environ:  # one of several: torch's threads can crash an interpreter that ends
        os._exit(errors.code)
    sys.exit(errors.code)


def _command_line() -> int:
    arguments = take_language(sys.argv[1:])
    command = typer.main.get_command(app)
    if find_language(os.environ) != "en":
        translate_part(command)
        translate_titles()
    try:
        return command(arguments, prog_name="openwork", standalone_mode=False) or 0
    except typer.Abort:
        return INTERRUPTED
    except TyperException as error:
        return _refuse(error)


# Error messages of the command-line library (Click).
_REFUSED = {
    "U016": r"no such option: .*",
    "U017": r"no such command .*",
    "U018": r"missing argument .*",
    "U019": r"missing option .*",
    "U020": r"invalid value for .*: .*",
    "U021": r"option .* requires an argument",
    "U022": r"option .* does not take a value",
    "U023": r"got unexpected extra argument.*",
}


def _refuse(error: TyperException) -> int:
    """Reports a wrong command line like any other error."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "openwork"
    possible = getattr(error, "possibilities", None)
    message = error.message if possible else error.format_message()
    if not message:
        return UsageError.exit_code  # `openwork` or `openwork config` alone: the help has been printed
    near = difflib.get_close_matches(getattr(error, "option_name", ""), possible or [], n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    what = f"{message[:1].lower()}{message[1:]}".removesuffix(".")
    code = next((code for code, sentence in _REFUSED.items() if re.fullmatch(sentence, what, re.DOTALL)), "")
    show_error(UsageError(what, hint=f"{hint}{path} --help shows what there is", code=code))
    return UsageError.exit_code
