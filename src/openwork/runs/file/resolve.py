"""Final settings of a run from all their sources, with the origin of each value; and all mistakes of a run file.

Sources, the strongest first: options and assignments of the command line, a rehearsal, the run file and those it is
based on, the choice by the size of the data (without a run file), a bundle to fine-tune, a preset, defaults. No torch.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from openwork.base.config import (
    Layer,
    apply_assignments,
    build,
    build_section,
    find_mistakes,
    lay_over,
    read_run_file,
    to_toml,
)
from openwork.base.errors import ConfigError, DataError, OpenworkError, UsageError
from openwork.base.messages import nearest
from openwork.base.outputs import is_run
from openwork.base.phrases import Joined
from openwork.data.batching import BatchSettings
from openwork.data.corpora import catalogue as corpora
from openwork.models.families import PATCHES, of_grid
from openwork.models.presets import PRESETS
from openwork.runs.file.automatic import choose_layer, chosen_lengths, tuning_lengths
from openwork.runs.file.inheritance import inherit, read_tuning
from openwork.runs.file.keys import holds, leaves, section_of
from openwork.runs.file.recipes import run_file_of
from openwork.runs.file.settings import RunSettings
from openwork.runs.file.warnings import find_conflicts, find_warnings
from openwork.runs.length import follow_steps
from openwork.signals.settings import PictureSettings

DEFAULT = "default"
INHERITED = "the bundle that is fine-tuned"  # the origin of values that no file of the run and no default gives
CORPUS, PAIRS, HELD_OUT = "dates", 3_000, 100  # of a rehearsal
MOST_TOKENS = 512  # of its batches: a model of the paper's size makes an update of them in seconds on one core
SENTENCES = 20
OF_FEW_WORDS = {"beam": 1, "stopping": "no-better"}
"""The search of models that write of pictures and sounds. Greedy search is Whisper's own.

A model of few words is so sure of most that a beam finishes with unlikely short texts before the likely one has ended,
unless it goes on until nothing can be better.
"""


@dataclass(frozen=True)
class Resolved:
    """The settings of a run, and the layer that they were built of, with the origin of each key that was given."""

    settings: RunSettings
    layer: Layer

    @cached_property
    def values(self) -> dict[str, Any]:
        return dict(leaves(self.settings.model_dump(mode="json")))

    @cached_property
    def origins(self) -> dict[str, str]:
        """The origin of each dotted key's value, in words."""
        return {key: self._origin(key) for key in self.values}

    def _origin(self, key: str) -> str:
        layer, parts = self.layer, key.split(".")
        if holds(layer.mapping, parts):
            # A key of an inline table, as in model = {width = 64}, has the table's line.
            places = (layer.origins.get(".".join(parts[:depth])) for depth in range(len(parts), 0, -1))
            return str(next((place for place in places if place), INHERITED))
        section, _, name = key.rpartition(".")
        preset = section_of(layer, "model").get("preset") if section == "model" else None
        if preset is not None and name in PRESETS[preset]:
            where = layer.origins.get("model.preset")
            return f"preset {preset} ({where})" if where else f"preset {preset}"
        return DEFAULT

    def text(self, *, with_origins: bool) -> str:
        """An equivalent run file; with origins, each is a comment behind its value."""
        return to_toml(self.settings, self.origins if with_origins else {})

    def to_json(self) -> dict[str, Any]:
        """Plain values: each key with its value (null: not set) and its origin."""
        return {key: {"value": value, "origin": self.origins[key]} for key, value in self.values.items()}


def resolve(
    run_file: Path | None,
    assignments: Sequence[str],
    given: Mapping[str, Any],
    report: Callable[[str], None],
    *,
    rehearse: int | None = None,
) -> Resolved:
    """Run file, overridden by a rehearsal of so many updates, by assignments, and by the `given` sections.

    Without a run file the rest is chosen from the data. Reports which settings do not go together, except for a
    rehearsal, which is short on purpose.
    """
    path = None if run_file is None else run_file_of(run_file)
    file = layer = Layer() if run_file is None else _read(run_file)
    if rehearse is not None:
        layer = rehearsal(layer, rehearse)
    layer = lay_over(layer, assignments, given)
    if path is not None and rehearse is None:
        chosen = chosen_lengths if read_tuning(file).from_bundle is None else tuning_lengths
        layer = follow_steps(file, layer, chosen if is_run(path.parent) else None, report)
    resolved = resolve_layer(layer, report, choose_rest=path is None)
    for conflict in find_conflicts(resolved.settings, resolved.layer) if rehearse is None else ():
        report(Joined("warning: ", conflict))
    return resolved


def _read(named: Path) -> Layer:
    """What a run file, a run's folder or a recipe says. ConfigError for an experiment, which is no run."""
    layer = read_run_file(run_file_of(named))
    if "experiment" in layer.mapping and "data" not in layer.mapping:
        raise ConfigError(
            f"{named}: this is an experiment, which trains many runs",
            hint=f"openwork experiment run {named}; to train one of them name its base",
            code="C143",
        )
    return layer


def resolve_layer(layer: Layer, report: Callable[[str], None], *, choose_rest: bool) -> Resolved:
    """The last steps: choices from the data (with `choose_rest`), the bundle's settings, preset and defaults."""
    if "data" not in layer.mapping:
        raise UsageError(
            "there is nothing to train on", hint="give --source and --target, --corpus, or a run file", code="U040"
        )
    layer = inherit(choose_layer(layer, report) if choose_rest else layer)
    return Resolved(resolve_run(layer), layer)


def rehearsal(layer: Layer, steps: int) -> Layer:
    """The layer with a built-in corpus, small batches and `steps` updates, validated once, at their end.

    So a run file is tried before it costs anything. Model, optimiser, loss, rates of these first updates, precision,
    search and the settings of the vocabulary stay the same.
    """
    tokens = section_of(layer, "batches").get("tokens", BatchSettings().tokens)
    small = min(tokens, MOST_TOKENS) if isinstance(tokens, int) else tokens  # build refuses it
    training = {
        "steps": steps,
        "cooldown": 0,
        "validate_every": steps,
        "validation_sentences": SENTENCES,
        "log_every": max(1, steps // 10),
    }
    changed = {
        # a mix of one: its validation pairs are held out, few of them, where a known corpus would bring its own
        "data": {"mix": [{"corpus": CORPUS, "count": PAIRS}], "held_out": HELD_OUT},
        "batches": {**section_of(layer, "batches"), "tokens": small},
        "training": {**section_of(layer, "training"), **training},
    }
    return replace(layer, mapping={**layer.mapping, **changed})


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
            origin = layer.origins.get("model.preset", "model.preset")
            raise ConfigError(
                f"{origin}: there is no preset {preset!r}",
                why=f"presets: {', '.join(PRESETS)}",
                hint=nearest(str(preset), PRESETS) or "openwork info lists them with their sizes",
                code="C049",
            )
        model = {**PRESETS[preset], **model}
    mapping["model"] = {"kind": "transformer", **model}
    if mapping["model"]["kind"] == "whisper":
        mapping |= _for_sounds(mapping)
    if "series" in mapping:
        mapping |= _with_defaults(mapping, {"text": {"kind": "labels"}, "training": {"metric": "loss"}})
    if mapping["model"]["kind"] in tuple(PATCHES):  # what is given may be no text
        mapping |= _for_pictures(mapping, given=dict(section))
    data, training = mapping.get("data", {}), mapping.get("training", {})
    if isinstance(data, Mapping) and isinstance(training, Mapping):
        mix = data.get("mix")
        parts = mix if isinstance(mix, list | tuple) and mix else [data]
        if all(isinstance(part, Mapping) and ("text" in part or "side" in part) for part in parts):
            mapping["training"] = {"metric": "loss", **training}  # texts alone have no translations to score
    return mapping


def _for_pictures(mapping: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The sections that a model of pictures needs: a vocabulary of the targets, and what follows from their patches.

    `given`: the keys of the section [model] in the file, over which nothing is written.
    """
    sections = {name: mapping.get(name, {}) for name in ("picture", "text", "training", "decoding")}
    if not all(isinstance(section, Mapping) for section in sections.values()):
        return {}
    kind = mapping["model"]["kind"]
    writes = kind == "captioner"
    found: dict[str, Any] = {
        "picture": {"patch": PATCHES[kind], **sections["picture"]},
        "text": {"shared": False, **({} if writes else {"target_kind": "labels"}), **sections["text"]},
        "training": {"metric": "bleu" if writes else "score", **sections["training"]},
        **({"decoding": {**OF_FEW_WORDS, **sections["decoding"]}} if writes else {}),
    }
    model = dict(mapping["model"])
    with suppress(OpenworkError):  # which the settings of the run report
        picture = build_section(PictureSettings, "picture", found["picture"], {})
        model |= {key: value for key, value in of_grid(model, picture.grid).items() if key not in given}
    return {**found, "model": model}


def _for_sounds(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The sections that a model of sounds needs."""
    sections: dict[str, dict[str, Any]] = {
        "sound": {},
        "text": {"shared": False},
        "training": {"metric": "chrf"},
        "decoding": OF_FEW_WORDS,
    }
    return _with_defaults(mapping, sections)


def _with_defaults(mapping: Mapping[str, Any], sections: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """These sections, with the keys that the file gives over them."""
    given = {name: mapping.get(name, {}) for name in sections}
    return {name: {**sections[name], **own} for name, own in given.items() if isinstance(own, Mapping)}


@dataclass(frozen=True)
class Checked:
    """The mistakes, in the order of their places, and the warnings."""

    mistakes: tuple[OpenworkError, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        mistakes = [{name: getattr(error, name) for name in ("code", "what", "why", "hint")} for error in self.mistakes]
        return {"valid": not self.mistakes, "mistakes": mistakes, "warnings": list(self.warnings)}


def check_run_file(path: Path, assignments: list[str]) -> Checked:
    """Every mistake of a file; if it is not TOML, that one alone. UsageError for an assignment that is none."""
    try:
        layer = _read(path)
    except OpenworkError as error:
        return Checked((error,))
    layer = apply_assignments(layer, assignments)
    mistakes: list[OpenworkError] = []
    try:
        mapping = with_preset(layer)
    except OpenworkError as error:
        mistakes.append(error)
        model = {key: value for key, value in layer.mapping["model"].items() if key != "preset"}
        layer = Layer({**layer.mapping, "model": model}, layer.origins)
        mapping = with_preset(layer)
    mistakes += find_mistakes(RunSettings, mapping, layer.origins)
    mistakes += _unknown_corpora(layer)
    if mistakes:
        return Checked(tuple(mistakes))
    try:
        settings = resolve_run(inherit(layer))
    except OpenworkError as error:  # the bundle of a fine-tuning is not there, or does not fit
        return Checked((error,))
    return Checked((), tuple(find_warnings(settings, layer)))


def _unknown_corpora(layer: Layer) -> Iterator[OpenworkError]:
    for key in ("corpus", "valid_corpus"):
        name = section_of(layer, "data").get(key)
        try:
            if isinstance(name, str):
                corpora.find(name)
        except OpenworkError as error:
            where = layer.origins.get(f"data.{key}") or f"data.{key}"
            yield DataError(f"{where}: {error.what}", why=error.why, hint=error.hint, code=error.code)
