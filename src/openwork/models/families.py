"""The families of models: each a kind of the section `[model]`, with settings of its own. No torch here.

A new family is a file with its settings, a file with its model, and a line here and in the table of `build.py`.
Every family says with `tying` which of its matrices are one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any, get_args

from pydantic import Field

from openwork.base.config import Settings
from openwork.base.fields import all_keys
from openwork.base.messages import msg
from openwork.base.phrases import AsIs, Joined
from openwork.models.convolutional_settings import ByteNetSettings, ConvS2SSettings, WaveNetSettings
from openwork.models.recurrent_settings import RecurrentLabelsSettings, RecurrentLMSettings, RecurrentSettings
from openwork.models.settings import DecoderSettings, EncoderSettings, TransformerSettings

ModelSettings = Annotated[
    TransformerSettings
    | RecurrentSettings
    | RecurrentLabelsSettings
    | RecurrentLMSettings
    | EncoderSettings
    | DecoderSettings
    | ConvS2SSettings
    | ByteNetSettings
    | WaveNetSettings,
    Field(discriminator="kind"),
]
FAMILIES: tuple[type[Settings], ...] = get_args(get_args(ModelSettings)[0])


class _ModelSection(Settings):
    model: ModelSettings


def model_settings(values: Mapping[str, object]) -> ModelSettings:
    """The settings of a model alone, from values such as a preset's."""
    return _ModelSection.model_validate({"model": {"kind": "transformer", **values}}).model


@dataclass(frozen=True)
class ModelOption:
    """A key of the section `[model]`. `values` explains each value of a choice; `origin` is a paper."""

    family: str
    key: str
    takes: str
    default: str
    description: str
    values: dict[str, str]
    origin: str


def list_options() -> list[ModelOption]:
    """Every option of every family."""
    return [option for family in FAMILIES for option in _of(family)]


def _of(family: type[Settings]) -> Iterator[ModelOption]:
    kind = str(family.model_fields["kind"].default)
    for key in all_keys(family, "model."):
        extra = family.model_fields[key.last].json_schema_extra
        extra = extra if isinstance(extra, dict) else {}
        values = extra.get("values", {})
        explained = {str(name): str(text) for name, text in values.items()} if isinstance(values, dict) else {}
        if key.last != "kind":
            yield ModelOption(
                kind, key.name, key.takes, key.default, key.description, explained, str(extra.get("origin", ""))
            )


def option_lines(options: list[ModelOption]) -> list[str]:
    """One line an option, and one for each value of a choice."""
    lines: list[str] = []
    for family in dict.fromkeys(option.family for option in options):
        lines.append(msg(f'[model] of kind = "{family}"; * is the default'))
        for option in (option for option in options if option.family == family):
            lines.append(_option_line(option))
            for value, text in option.values.items():
                star = "*" if f'"{value}"' == option.default else " "
                lines.append(Joined(AsIs(f"  {star} {value:<12} "), text))
        lines.append("")
    return lines[:-1]


def _option_line(option: ModelOption) -> str:
    takes = () if option.values else (", or ", option.takes)
    origin = (" (", option.origin, ")") if option.origin else ()
    return Joined(f"{option.key} = ", option.default or "not set", *takes, ": ", option.description, *origin)


def option_values(options: list[ModelOption]) -> list[dict[str, Any]]:
    """For programs."""
    return [asdict(option) for option in options]
