"""The run file as a whole: the one place that knows which sections it has. No torch here."""

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, model_validator

from openwork.base.config import Layer, Settings, apply_assignments, build, read_run_file
from openwork.base.errors import ConfigError
from openwork.base.toml import write_value
from openwork.data.batching import BatchSettings
from openwork.data.filters import FilterSettings
from openwork.decoding.settings import DecodingSettings
from openwork.models.presets import PRESETS
from openwork.models.recurrent_settings import RecurrentSettings
from openwork.models.settings import TransformerSettings
from openwork.text.settings import TextSettings
from openwork.training.settings import TrainingSettings

ModelSettings = Annotated[TransformerSettings | RecurrentSettings, Field(discriminator="kind")]


class _ModelSection(Settings):
    model: ModelSettings


class DataSettings(Settings):
    """Where the sentence pairs come from: a corpus by name, two aligned files, or one TSV file."""

    corpus: str | None = Field(default=None, description="name of a known corpus, such as multi30k-en-de or dates")
    source: str | None = Field(default=None, description="file of source sentences, one a line")
    target: str | None = Field(default=None, description="file of their translations, one a line")
    tsv: str | None = Field(default=None, description="file of pairs, source and target separated by a tab")
    valid_source: str | None = Field(default=None, description="source sentences to validate with")
    valid_target: str | None = Field(default=None, description="their translations")
    valid_tsv: str | None = Field(default=None, description="pairs to validate with, separated by a tab")
    held_out: int = Field(
        default=1000, ge=1, description="pairs kept for validation where none are given; a tenth at most"
    )
    count: int | None = Field(default=None, ge=1, description="training pairs of a corpus to use; None: all it has")
    source_language: str | None = Field(default=None, description="language of the source, such as en")
    target_language: str | None = Field(default=None, description="language of the target, such as de")

    @model_validator(mode="after")
    def _one_origin(self) -> "DataSettings":
        origins = [self.corpus is not None, self.source is not None or self.target is not None, self.tsv is not None]
        if sum(origins) != 1:
            raise ValueError("name exactly one of: corpus, source and target, tsv")
        for one, other in (("source", "target"), ("valid_source", "valid_target")):
            if (getattr(self, one) is None) != (getattr(self, other) is None):
                raise ValueError(f"{one} and {other} go together")
        if self.valid_source is not None and self.valid_tsv is not None:
            raise ValueError("give either valid_source and valid_target, or valid_tsv")
        return self


class DataSection(Settings):
    """What can be read of a run file before the other settings are chosen."""

    data: DataSettings


class RunSettings(Settings):
    """Everything that a training depends on."""

    data: DataSettings
    text: TextSettings = TextSettings()
    filters: FilterSettings = FilterSettings()
    batches: BatchSettings = BatchSettings()
    model: ModelSettings = TransformerSettings()
    training: TrainingSettings = TrainingSettings()
    decoding: DecodingSettings = DecodingSettings()

    @model_validator(mode="after")
    def _tying_fits_vocabularies(self) -> "RunSettings":
        # Two vocabularies of the same size would pass for one when the model is built.
        if self.model.tying == "three-way" and not self.text.shared:
            raise ValueError(
                "text.shared = false gives each side a vocabulary of its own, which three-way tying cannot use; "
                'set model.tying = "target" or text.shared = true'
            )
        return self


def read_run(path: Path | None, assignments: Iterable[str], given: Mapping[str, Any]) -> Layer:
    """A run file, overridden by `--set` assignments, overridden by what the command line's own options give."""
    layer = read_run_file(path) if path is not None else Layer()
    layer = apply_assignments(layer, assignments)
    for section, values in given.items():
        layer = apply_assignments(layer, [f"{section}.{key}={write_value(value)}" for key, value in values.items()])
    return layer


def _nearest_preset(wrong: str) -> str:
    close = difflib.get_close_matches(wrong, PRESETS, n=1)
    return f"did you mean {close[0]}?" if close else "openwork info lists them with their sizes"


def model_settings(values: Mapping[str, object]) -> TransformerSettings | RecurrentSettings:
    """The settings of a model alone, from values such as a preset's."""
    return _ModelSection.model_validate({"model": {"kind": "transformer", **values}}).model


def resolve_run(layer: Layer) -> RunSettings:
    """The settings that the layer describes; `model.preset` names a table of sizes that other keys override."""
    mapping = dict(layer.mapping)
    section = mapping.get("model", {})
    if not isinstance(section, Mapping):  # such as model = "tiny"
        build(RunSettings, mapping, layer.origins)
    model = dict(section)
    preset = model.pop("preset", None)
    if preset is not None:
        if not isinstance(preset, str) or preset not in PRESETS:
            origin = layer.origins.get("model.preset")
            raise ConfigError(
                f"{origin or 'model.preset'}: there is no preset {preset!r}",
                why=f"presets: {', '.join(PRESETS)}",
                hint=_nearest_preset(str(preset)),
            )
        model = {**PRESETS[preset], **model}
    mapping["model"] = {"kind": "transformer", **model}
    return build(RunSettings, mapping, layer.origins)
