"""Extreme numbers of every option: refused with a sentence or taken, and every number has a greatest value."""

import math
from collections.abc import Iterator
from functools import cache
from typing import Any, get_args

import pytest
import typer
from typer.exceptions import TyperException

from openwork.cli.main import app

EXTREMES = ("0", "-1", str(10**18), str(-(10**18)), str(10**400), "9" * 5000, "1e308", "-1e308", "1e999", "nan")
EXTREMES += ("inf", "-inf", "", "\0", "x" * 5000, "²", "0x10", "1_000")


@cache
def number_options() -> dict[str, tuple[Any, Any]]:
    """Each option that takes a number, by command and name, with its context."""
    return {
        f"{context.command_path} {parameter.name}": (context, parameter)
        for context in _contexts(typer.main.get_command(app), None)
        for parameter in context.command.params
        if {int, float} & {parameter.type_descriptor.annotation, *get_args(parameter.type_descriptor.annotation)}
    }


def _contexts(command: Any, above: Any) -> Iterator[Any]:
    context = typer.Context(command, parent=above, info_name=command.name)
    yield context
    for below in getattr(command, "commands", {}).values():
        yield from _contexts(below, context)


def test_every_number_has_a_greatest_value():
    assert len(number_options()) > 40
    assert [name for name, (_, option) in number_options().items() if option.max is None] == []


@pytest.mark.parametrize("value", EXTREMES)
def test_what_is_taken_lies_between_the_bounds(value: str):
    for name, (context, option) in number_options().items():
        try:
            taken = option.process_value(context, value)
        except TyperException as error:
            assert error.format_message(), name
        else:
            assert taken is None or (math.isfinite(taken) and taken <= option.max), name
