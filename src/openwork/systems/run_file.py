"""The run file as a whole: the one place that knows which sections it has. No torch here."""

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import model_validator

from openwork.base.config import Layer, Settings, apply_assignments, build, read_run_file
from openwork.base.errors import ConfigError, RuleError
from openwork.base.toml import write_value
from openwork.data.batching import BatchSettings
from openwork.data.filters import FilterSettings
from openwork.data.settings import DataSettings
from openwork.decoding.settings import DecodingSettings
from openwork.models.families import ModelSettings
from openwork.models.presets import PRESETS
from openwork.models.settings import TransformerSettings
from openwork.systems.fine_tuning_settings import FineTuningSettings
from openwork.text.settings import TextSettings
from openwork.training.settings import TrainingSettings


class _ModelSection(Settings):
    model: ModelSettings


class DataSection(Settings):
    """What can be read of a run file before the other settings are chosen."""

    data: DataSettings


class TuningSection(Settings):
    """What says which bundle a run begins with; it is read before the settings that the bundle decides."""

    fine_tuning: FineTuningSettings


class RunSettings(Settings):
    """Everything that a training depends on."""

    data: DataSettings
    text: TextSettings = TextSettings()
    filters: FilterSettings = FilterSettings()
    batches: BatchSettings = BatchSettings()
    model: ModelSettings = TransformerSettings()
    training: TrainingSettings = TrainingSettings()
    fine_tuning: FineTuningSettings = FineTuningSettings()
    decoding: DecodingSettings = DecodingSettings()

    @model_validator(mode="after")
    def _tying_fits_vocabularies(self) -> "RunSettings":
        # Two vocabularies of the same size would pass for one when the model is built.
        if self.model.tying == "embeddings" and not self.text.shared:
            raise RuleError(
                "text.shared = false gives each side a vocabulary of its own, and a language model has one",
                hint="set text.shared = true",
            )
        if self.model.tying == "three-way" and not self.text.shared:
            raise RuleError(
                "text.shared = false gives each side a vocabulary of its own, which three-way tying cannot use",
                hint='set model.tying = "target" or text.shared = true',
            )
        return self

    @model_validator(mode="after")
    def _labels_fit_the_task(self) -> "RunSettings":
        task = getattr(self.model, "task", "write")  # families that write their targets name none
        kind = {"classify": "labels", "tag": "labels", "answer": "positions"}.get(task)
        if kind is not None and self.text.target_kind != kind:
            raise RuleError(
                f'model.task = "{task}" tells labels, and the targets are cut into pieces of text',
                hint=f'set text.target_kind = "{kind}" and text.shared = false',
            )
        if task == "embed":
            raise RuleError(
                'model.task = "embed" has nothing to learn: what it gives, the mean of vectors, has no right answer',
                hint='train with task = "fill", or read vectors of texts from a model that was (systems/embedding.py)',
            )
        metric = self.training.metric
        if task != "write" and metric in ("bleu", "chrf"):
            raise RuleError(
                f'training.metric = "{metric}" is for texts, and model.task = "{task}" writes none',
                hint='set training.metric = "score", the accuracy or F1 of the task, or "loss"',
            )
        if task == "foretell" and metric != "loss":
            raise RuleError(
                f'training.metric = "{metric}" is not measured of model.task = "foretell", which tells no labels',
                hint='set training.metric = "loss"',
            )
        if task == "write" and metric == "score":
            raise RuleError(
                'training.metric = "score" is that of a model with a task, and this one writes texts',
                hint='set training.metric = "bleu", "chrf", "exact" or "loss"',
            )
        return self

    @model_validator(mode="after")
    def _metric_fits_data(self) -> "RunSettings":
        if self.data.is_text and self.training.metric != "loss":
            raise RuleError(
                f"a text has no translations, which the metric {self.training.metric} needs",
                hint='set training.metric = "loss"',
            )
        return self

    @property
    def needs_whole_batches(self) -> bool:
        """Whether what is learnt of a sentence depends on its batch, so that none can be computed in parts."""
        # Families without this choice have no such norm.
        return getattr(self.model, "normalisation", "layer") == "batch"

    @model_validator(mode="after")
    def _whole_batches_where_they_are_needed(self) -> "RunSettings":
        if self.needs_whole_batches and (self.training.workers or 1) > 1:
            raise RuleError(
                f"training.workers = {self.training.workers} divides every batch, and batch normalisation takes its "
                "statistics from whole ones",
                hint='set training.workers = 1; or model.normalisation = "layer", where the model has it',
            )
        if self.needs_whole_batches and self.training.compile == "on":
            raise RuleError(
                'training.compile = "on" compiles layers, and those with batch normalisation are computed as written',
                hint='set training.compile = "auto"; or model.normalisation = "layer", where the model has it',
            )
        return self


def read_run(path: Path | None, assignments: Iterable[str], given: Mapping[str, Any]) -> Layer:
    """A run file, overridden by `--set` assignments, overridden by what the command line's own options give."""
    return lay_over(read_run_file(path) if path is not None else Layer(), assignments, given)


def lay_over(layer: Layer, assignments: Iterable[str], given: Mapping[str, Any]) -> Layer:
    """The layer, overridden by assignments, overridden by what the options give."""
    layer = apply_assignments(layer, assignments)
    for section, values in given.items():
        layer = apply_assignments(layer, [f"{section}.{key}={write_value(value)}" for key, value in values.items()])
    return layer


def _nearest_preset(wrong: str) -> str:
    close = difflib.get_close_matches(wrong, PRESETS, n=1)
    return f"did you mean {close[0]}?" if close else "openwork info lists them with their sizes"


def model_settings(values: Mapping[str, object]) -> ModelSettings:
    """The settings of a model alone, from values such as a preset's."""
    return _ModelSection.model_validate({"model": {"kind": "transformer", **values}}).model


def resolve_run(layer: Layer) -> RunSettings:
    """The settings that the layer describes; `model.preset` names a table of sizes that other keys override."""
    return build(RunSettings, with_preset(layer), layer.origins)


def with_preset(layer: Layer) -> dict[str, Any]:
    """The layer's values with those of the preset beneath them, as `RunSettings` knows them."""
    mapping = dict(layer.mapping)
    section = mapping.get("model", {})
    if not isinstance(section, Mapping):  # such as model = "tiny"
        return mapping
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
    data, training = mapping.get("data", {}), mapping.get("training", {})
    if isinstance(data, Mapping) and isinstance(training, Mapping) and _is_text(data):
        mapping["training"] = {"metric": "loss", **training}
    return mapping


def _is_text(data: Mapping[str, Any]) -> bool:
    """Whether a section [data], not yet looked at by anyone, names nothing but texts and single sides."""
    mix = data.get("mix")
    parts = mix if isinstance(mix, list | tuple) and mix else [data]
    return all(isinstance(part, Mapping) and ("text" in part or "side" in part) for part in parts)
