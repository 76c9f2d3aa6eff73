"""The families of models: each a kind of the section `[model]`, with settings of its own. No torch here.

A new family is a file with its settings, a file with its model, and a line here and in the table of `build.py`.
Every family says with `tying` which of its matrices are one.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Field, TypeAdapter

from openwork.base.config import Settings
from openwork.models.convolutional_settings import ByteNetSettings, CnnSettings, ConvS2SSettings, WaveNetSettings
from openwork.models.recurrent_settings import RecurrentLabelsSettings, RecurrentLMSettings, RecurrentSettings
from openwork.models.settings import (
    CaptionSettings,
    DecoderSettings,
    EncoderSettings,
    SpeechSettings,
    TransformerSettings,
    VisionSettings,
)

ModelSettings = Annotated[
    TransformerSettings
    | RecurrentSettings
    | RecurrentLabelsSettings
    | RecurrentLMSettings
    | EncoderSettings
    | DecoderSettings
    | ConvS2SSettings
    | ByteNetSettings
    | WaveNetSettings
    | VisionSettings
    | CnnSettings
    | SpeechSettings
    | CaptionSettings,
    Field(discriminator="kind"),
]
FAMILIES: tuple[type[Settings], ...] = get_args(get_args(ModelSettings)[0])


def reads(settings: ModelSettings) -> Literal["text", "pictures", "sounds"]:
    """What the sources of a model are."""
    return getattr(settings, "reads", "text")


def continues(settings: ModelSettings) -> bool:
    """Whether the target of a model continues its source, as that of a language model does."""
    return settings.kind in ("decoder", "wavenet")


def context(settings: ModelSettings) -> int | None:
    """The most tokens of a prompt and its continuation together, end symbol included; None: any number."""
    if settings.kind != "decoder" or settings.positions != "learned":
        return None
    return settings.table_size - settings.separate_prompt


PATCHES = {"vit": 16, "cnn": 1, "captioner": 16}
"""The kinds that read pictures, and the pixels of a side of their usual patches."""


def of_grid(model: Mapping[str, object], grid: tuple[int, int]) -> dict[str, int]:
    """The keys of a model of pictures that follow from the rows and columns of their patches."""
    rows, columns = grid
    if model.get("kind") == "cnn":
        return {"columns": columns}
    if model.get("kind") == "captioner":  # whose positions of patches end nowhere
        return {}
    return {"maximum_length": rows * columns + 1} if model.get("positions") == "learned" else {}  # and a class token


_ANY_FAMILY: TypeAdapter[ModelSettings] = TypeAdapter(ModelSettings)


def model_settings(values: Mapping[str, object]) -> ModelSettings:
    """The settings of a model alone, from values such as a preset's."""
    return _ANY_FAMILY.validate_python({"kind": "transformer", **values})
