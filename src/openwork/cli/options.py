"""Options that belong together are one value: a command takes a dataclass, the command line each of its fields."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from openwork.base.errors import UsageError
from openwork.cli.interrupts import RaisingOnCtrlC
from openwork.cli.terminal import ErrorsTold, notices_shown

FORMS = ("ct2", "hf")  # as in `interop/forms.py`, which takes seconds to import
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what openwork wrote there before.")]


def check_form(name: str) -> None:
    """UsageError for a form of models that is not known."""
    if name not in FORMS:
        raise UsageError(
            f"{name!r} is no form that openwork knows", hint=f"known are {' and '.join(FORMS)}", code="U038"
        )


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as a command: options for the fields of its parameters that are dataclasses, and errors told."""
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _parameters(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(function)
    def command(**given: Any) -> None:
        with notices_shown(), RaisingOnCtrlC(), ErrorsTold() as told:
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            function(**given)
        if told.code:
            raise typer.Exit(told.code)

    # what typer reads to know the options
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameters(group: type) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [_parameter(field, hints[field.name]) for field in fields(group)]


def _parameter(field: Field[Any], hint: Any) -> inspect.Parameter:
    default = inspect.Parameter.empty if field.default is MISSING else field.default
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
