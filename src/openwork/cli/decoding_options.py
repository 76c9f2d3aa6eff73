"""The keys of [decoding] as options, which override the settings of the bundle."""

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, make_dataclass
from typing import Annotated, Any, get_args

from annotated_types import Ge, Gt, Le
from pydantic.fields import FieldInfo
from typer import Option

from openwork.base.errors import UsageError
from openwork.decoding.settings import DecodingSettings
from openwork.inference.settings import settings_over

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


class DecodingOptions(make_dataclass("_Keys", [_option(*item) for item in DecodingSettings.model_fields.items()])):
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
