"""The command `openwork`: one module a command; what a command needs is loaded only when it runs."""

import os
from typing import Annotated

import typer

from openwork import __version__
from openwork.cli import demo, evaluate, info, tokenize, train, translate
from openwork.cli.terminal import DEBUG

app = typer.Typer(
    help="Train and use sequence-to-sequence Transformers, with every part in view.",
    no_args_is_help=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"openwork {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train and use sequence-to-sequence Transformers, with every part in view."""
    if debug:
        os.environ[DEBUG] = "1"


app.command("demo")(demo.demo)
app.command("train")(train.train)
app.command("translate")(translate.translate)
app.command("evaluate")(evaluate.evaluate)
app.command("info")(info.info)
app.command("tokenize")(tokenize.tokenize)


def main() -> None:
    """The entry point of the console script."""
    app(prog_name="openwork")
