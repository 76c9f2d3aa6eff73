"""Options shared by commands, and groups of options: a command takes a dataclass, whose fields are options."""

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer
from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo
from typer import Argument, Option

from openwork.base.errors import UsageError
from openwork.base.limits import LENGTH
from openwork.cli.interrupts import RaisingOnCtrlC
from openwork.cli.terminal import DEBUG, ErrorReporter, be_quiet, notices_shown
from openwork.decoding.settings import DecodingSettings
from openwork.inference.settings import settings_over

if TYPE_CHECKING:
    from openwork.machine.pool import Pool

IMPORTS = ("ct2", "hf", "marian")  # as in `interop/forms.py`, which takes seconds to import
EXPORTS = ("ct2", "hf", "marian", "onnx")


NAME_ONE = "name the folder that openwork train --out wrote, such as: openwork info en-de"


@dataclass(frozen=True)
class NamesBundle:
    """Marks a parameter that names a bundle: the first argument of the command, or --bundle."""

    help: str


WRITTEN = NamesBundle("The folder that openwork train --out wrote.")
Bundle = Annotated[Path, WRITTEN]
OptionalBundle = Annotated[Path | None, WRITTEN]
AsJson = Annotated[bool, Option("--json", help="JSON on standard output.")]
Assignments = Annotated[
    list[str] | None, Option("--set", help="Change a setting, such as model.width=256; repeatable.")
]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace what openwork wrote there before.")]


@dataclass(frozen=True)
class RayOptions:
    """Where the work is done: in this process, or by workers of Ray."""

    on: Annotated[Literal["ray"] | None, Option(help="Workers of Ray do it (extra scale); else this process.")] = None
    workers: Annotated[
        int | None, Option(min=1, max=LENGTH, help="Number of Ray workers, of one core each; else all cores.")
    ] = None
    address: Annotated[
        str | None, Option(help="HOST:PORT of a cluster of Ray, or auto; else Ray runs on this machine.")
    ] = None

    def check(self) -> None:
        """UsageError for options of Ray without it."""
        for name in ("workers", "address"):
            if self.on is None and getattr(self, name) is not None:
                raise UsageError(
                    f"--{name} goes with --on ray", hint=f"add --on ray, or leave --{name} out", code="U103"
                )

    def count(self) -> int:
        """The number of workers, as far as it is known here: of a cluster's only if it is given."""
        from openwork.machine.available import cores

        return 1 if self.on is None else self.workers or cores()

    def pool(self) -> "Pool":
        """The workers. ConfigError where Ray is not installed."""
        from openwork.machine.pool import OneProcess
        from openwork.machine.ray_pool import RayPool

        return OneProcess() if self.on is None else RayPool(self.workers, self.address)


def load(bundle: Path) -> Any:
    """Loads the bundle that a command names. A missing one is refused before torch is imported."""
    from openwork.runs.usable import usable_bundle

    folder = usable_bundle(bundle)
    from openwork.bundles.bundle import load_bundle

    return load_bundle(folder)


def check_form(name: str, known: Sequence[str]) -> None:
    """UsageError for an unknown format of models."""
    if name not in known:
        *others, last = known
        raise UsageError(
            f"{name!r} is no form that openwork knows", hint=f"known are {', '.join(others)} and {last}", code="U038"
        )


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """The function as a command, with an option for each field of dataclass parameters, and with errors reported.

    Every command has --quiet and --verbose; a bundle is an argument, or the option --bundle.
    """
    groups: dict[str, type] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in _parameters(function):
        if isinstance(parameter.annotation, type) and is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            parameters += _parameters(parameter.annotation)
        else:
            parameters.append(parameter)
    parameters += _parameters(Verbosity)
    bundles = [parameter for parameter in parameters if _mark(parameter) is not None]
    parameters = [one for parameter in parameters for one in _as_typed(parameter)]

    @functools.wraps(function)
    def command(**given: Any) -> None:
        if given.pop("verbose", False):
            os.environ[DEBUG] = "1"
        with be_quiet(given.pop("quiet", False)), notices_shown(), RaisingOnCtrlC(), ErrorReporter() as errors:
            for parameter in bundles:
                given[parameter.name] = _one_bundle(
                    parameter, given[parameter.name], given.pop(f"{parameter.name}_by_name")
                )
            for name, group in groups.items():
                given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
            function(**given)
        if errors.code:
            raise typer.Exit(errors.code)

    # typer reads the options from these
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


@dataclass(frozen=True)
class Verbosity:
    """Options of every command."""

    quiet: Annotated[bool, Option("--quiet", "-q", help="Only results and errors.")] = False
    verbose: Annotated[bool, Option("--verbose", "-v", help="Show the traceback of an error.")] = False


def _parameters(of: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function, or the fields of a dataclass, to be given by name."""
    found = inspect.signature(of, eval_str=True).parameters.values()
    return [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in found]


def _mark(parameter: inspect.Parameter) -> NamesBundle | None:
    """The mark of a parameter that names a bundle; None for others."""
    marks = getattr(parameter.annotation, "__metadata__", ())
    return next((mark for mark in marks if isinstance(mark, NamesBundle)), None)


def _as_typed(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """The parameters of the command line for one parameter: a bundle is an argument and an option.

    The option of a bool has no opposite --no-NAME, unlike typer's.
    """
    mark = _mark(parameter)
    if mark is None:
        kind, option, *_ = (*get_args(parameter.annotation), None, None)
        if kind is bool and option is not None and option.default is ...:
            option.default = f"--{parameter.name.replace('_', '-')}"
        return [parameter]
    type_ = parameter.annotation.__origin__
    if parameter.default is inspect.Parameter.empty:
        type_ = type_ | None
    argument = Annotated[type_, Argument(metavar="BUNDLE", help=mark.help, show_default=False)]
    option = Annotated[type_, Option("--bundle", "-m", metavar="BUNDLE", help="The same, by name.")]
    return [
        parameter.replace(annotation=argument, default=None),
        parameter.replace(name=f"{parameter.name}_by_name", annotation=option, default=None),
    ]


def _one_bundle(parameter: inspect.Parameter, first: Any, by_name: Any) -> Any:
    """The bundle that is named. UsageError for two, or for none where one is needed."""
    if first and by_name:
        one, other = (" ".join(map(str, named if isinstance(named, list) else [named])) for named in (first, by_name))
        raise UsageError(f"{one} and --bundle {other}: two bundles are named", hint="name one of them", code="U099")
    if not (first or by_name) and parameter.default is inspect.Parameter.empty:
        raise UsageError("no bundle was named", hint=NAME_ONE, code="U032")
    return first or by_name


# Options whose names differ from their keys.
NAMES = {"required": "--require", "forbidden": "--forbid"}


def option_name(key: str) -> str:
    """length_penalty: --length-penalty"""
    return NAMES.get(key, f"--{key.replace('_', '-')}")


def _option(key: str, known: FieldInfo) -> tuple[str, Any, Any]:
    """A dataclass field that `as_command` turns into an option; None: not given."""
    # An option accepts an excluded lower bound; the settings refuse it.
    lows = [bound.ge if isinstance(bound, Ge) else bound.gt for bound in known.metadata if isinstance(bound, Ge | Gt)]
    least: Any = next(iter(lows), None)
    most: Any = next((bound.le for bound in known.metadata if isinstance(bound, Le)), None)
    description = known.description or ""
    text = f"{description[:1].upper()}{description[1:]}."
    kind: Any = known.annotation
    if kind not in (int, float, str):  # repeatable texts, or a word, which the settings check
        kind = list[str] if Ellipsis in get_args(kind) else str
        text = text if kind is str else f"{text[:-1]}; repeatable."
    option = Option(option_name(key), min=least, max=most, help=text)
    return key, Annotated[kind | None, option], field(default=None)


_Keys: Any = make_dataclass("_Keys", [_option(*item) for item in DecodingSettings.model_fields.items()])


class DecodingOptions(_Keys):
    """Options of decoding: one for each key of [decoding]."""


def given(*groups: Any) -> dict[str, Any]:
    """The options of these groups that the command line gives."""
    values = {field.name: getattr(group, field.name) for group in groups for field in fields(group)}
    return {key: value for key, value in values.items() if value is not None and value is not False and value != []}


def settings_with_options(settings: Any, options: dict[str, Any], origins: Mapping[str, Any] | None = None) -> Any:
    """`settings_over`; UsageError for a beam that is too small for --best."""
    best = options.get("best", 1)
    if best > options.get("beam", best) and not options.get("samples"):
        raise UsageError(
            f"--best {best} needs a beam of at least {best}", hint=f"--beam {best}, or leave it out", code="U008"
        )
    return settings_over(settings, options, origins)


def check_streaming(others: Iterable[str]) -> None:
    """UsageError for the first of these options, which do not go with --stream."""
    for name in others:
        raise UsageError(
            f"--stream does not go with {name}",
            why="what is written cannot be taken back",
            hint="leave one of them out",
            code="U009",
        )


NOT_STREAMED = ("beam", "best", "groups", "coverage_penalty", "minimum_bayes_risk", "required")


def settings_for_streaming(settings: Any, options: dict[str, Any], origins: Mapping[str, Any] | None = None) -> Any:
    """Settings for one hypothesis, written from left to right; UsageError for options that need more."""
    excluded = (key for key in NOT_STREAMED if key in options)
    check_streaming(option_name(key) for key in excluded if key not in ("beam", "best") or options[key] != 1)
    single = {"beam": 1, "best": 1, "groups": 1, "coverage_penalty": 0.0, "minimum_bayes_risk": "none"}
    return settings_over(settings, {**options, **single, "samples": min(options.get("samples", 0), 1)}, origins)
