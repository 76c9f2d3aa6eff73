"""Groups of options: each field is an option of its own, and the command gets one value."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from openwork.cli.options import as_command


@dataclass(frozen=True)
class Size:
    """Two options, one of which must be given."""

    wide: Annotated[int, typer.Option(min=1, help="How wide.")]
    high: Annotated[int, typer.Option("--height", help="How high.")] = 2

    @property
    def area(self) -> int:
        return self.wide * self.high


def application() -> typer.Typer:
    app = typer.Typer(add_completion=False)

    @app.command()
    @as_command
    def draw(*, name: Annotated[str, typer.Argument()] = "it", size: Size, loud: bool = False) -> None:
        """Say how large it is."""
        print(name, size.area, loud)

    return app


def test_fields_are_options():
    answer = CliRunner().invoke(application(), ["box", "--wide", "3", "--loud"])
    assert (answer.exit_code, answer.output) == (0, "box 6 True\n")
    assert CliRunner().invoke(application(), ["--wide", "3", "--height", "5"]).output == "it 15 False\n"


@pytest.mark.slow
def test_limits_help_and_what_must_be_given_are_kept():
    text = CliRunner().invoke(application(), ["--help"]).output
    for words in ("--wide", "--height", "How wide.", "How high.", "Say how large it is.", "--loud"):
        assert words in text
    assert CliRunner().invoke(application(), ["--wide", "0"]).exit_code == 2
    assert CliRunner().invoke(application(), []).exit_code == 2
