"""What a fine-tuning takes over from its bundle before anything is loaded: sizes, vocabulary, languages. No torch."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from openwork.base.config import Layer, build
from openwork.base.errors import ConfigError
from openwork.bundles.settings import read_bundle_settings
from openwork.bundles.versions import whole_bundle
from openwork.models.families import FAMILIES, model_settings
from openwork.models.presets import PRESETS
from openwork.runs.file.settings import TuningSection
from openwork.runs.usable import usable_bundle
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import KINDS
from openwork.text.symbols import SMALLEST_VOCABULARY
from openwork.training.settings import FineTuningSettings

SECTION = "fine_tuning"
CHOSEN = ("kind", "task", "tying")  # keys of the model that another kind or task has its own defaults for
FREE = ("separate_prompt",)  # no weight depends on it, and another way of reading prompts can be learnt
LAYERS = (("layers", "encoder_layers"), ("encoder_layers", "layers"))  # what says how deep the reading of a source is


def inherit(layer: Layer) -> Layer:
    """The layer with what the bundle of its section [fine_tuning] decides; the same layer without such a section.

    The model keeps its sizes, so a run file that names others is refused; dropout may change and how prompts are
    marked, as may all that concerns training. A run file that names another kind of model or another task gets one of
    these sizes, as far as it has them and nothing else is said. Languages and the search are the bundle's unless others
    are given. ConfigError and BundleError.
    """
    tuning = read_tuning(layer)
    if tuning.from_bundle is None:
        return layer
    folder = usable_bundle(Path(tuning.from_bundle))
    current = whole_bundle(folder)
    theirs = read_bundle_settings(current, folder)[1].mapping
    own = dict(layer.mapping)
    another = _is_another(layer, theirs["model"])
    tokenizers = TokenizerPair.load(current)
    own["model"] = (_other_model if another else _model)(layer, theirs["model"], folder)
    own["text"] = _other_text(layer, tokenizers) if another else _text(layer, tokenizers, tuning, folder)
    if not another:
        own["decoding"] = {**theirs.get("decoding", {}), **_section(layer, "decoding")}
    kept = ("source_language",) if another else ("source_language", "target_language")
    languages = {key: theirs[key] for key in kept if key in theirs}
    own["data"] = {**languages, **_section(layer, "data")}
    return replace(layer, mapping=own)


def read_tuning(layer: Layer) -> FineTuningSettings:
    """The section alone."""
    if SECTION not in layer.mapping:
        return FineTuningSettings()
    return build(TuningSection, {SECTION: layer.mapping[SECTION]}, layer.origins).fine_tuning


def _section(layer: Layer, name: str) -> dict[str, Any]:
    section = layer.mapping.get(name, {})
    return dict(section) if isinstance(section, Mapping) else {}


def _given(layer: Layer) -> dict[str, Any]:
    """What the run file says of the model, its preset's values beneath."""
    given = _section(layer, "model")
    preset = given.pop("preset", None)
    return {**(PRESETS.get(preset, {}) if isinstance(preset, str) else {}), **given}


def _is_another(layer: Layer, theirs: Mapping[str, Any]) -> bool:
    """Whether the run file asks for another kind of model, or another task of that kind."""
    known, given = model_settings(theirs).model_dump(), _given(layer)
    return any(key in given and given[key] != known.get(key) for key in ("kind", "task"))


def _other_model(layer: Layer, theirs: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The sizes of the layers are the bundle's where the run file says nothing, so that its weights fit."""
    given, known = _given(layer), model_settings(theirs).model_dump(exclude_none=True)
    kind = str(given.get("kind", known["kind"]))
    fields = next((family.model_fields for family in FAMILIES if family.model_fields["kind"].default == kind), {})
    inherited = {key: value for key, value in known.items() if key in fields and key not in CHOSEN}
    for ours, its in LAYERS:
        if ours in fields and its in known:
            inherited.setdefault(ours, known[its])
    return {**inherited, **given, "kind": kind}


def _other_text(layer: Layer, tokenizers: TokenizerPair) -> dict[str, Any]:
    """Of the source the bundle's; what is said of the vocabulary concerns the target."""
    given = _section(layer, "text")
    decided: dict[str, Any] = {} if "target_kind" in given else {"placeholders": tokenizers.source.placeholders}
    if tokenizers.source.kind in KINDS:
        decided["kind"] = tokenizers.source.kind
    return {**decided, **given}


def _model(layer: Layer, theirs: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    given = _section(layer, "model")
    preset = given.pop("preset", None)
    sizes = PRESETS.get(preset, {}) if isinstance(preset, str) else {}
    known = model_settings(theirs).model_dump()
    for key, value in {**sizes, **given}.items():
        if key in known and key not in FREE and "dropout" not in key and known[key] != value:
            origin = layer.origins.get(f"model.{key}") or layer.origins.get("model.preset") or "[model]"
            raise ConfigError(
                f"{origin}: model.{key} is {value}, but the bundle {folder} has {known[key]}",
                why="a model that is fine-tuned keeps its sizes",
                hint=f"leave model.{key} out, or train from nothing without fine_tuning.from_bundle",
                code="C044",
            )
    return {**theirs, **given}


def _text(layer: Layer, tokenizers: TokenizerPair, tuning: FineTuningSettings, folder: Path) -> dict[str, Any]:
    size = max(tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size) + tuning.new_pieces
    decided: dict[str, Any] = {
        "vocabulary_size": max(size, SMALLEST_VOCABULARY),
        "shared": tokenizers.shared,
        "placeholders": tokenizers.source.placeholders,
    }
    if tokenizers.source.kind in KINDS:
        decided["kind"] = tokenizers.source.kind
    given = _section(layer, "text")
    for key, value in {**decided, "source_file": None, "target_file": None}.items():
        if given.get(key, value) != value:
            origin = layer.origins.get(f"text.{key}") or "[text]"
            raise ConfigError(
                f"{origin}: text.{key} is {given[key]}, but the bundle {folder} makes it {value}",
                why="a model that is fine-tuned keeps its vocabulary",
                hint=f"leave text.{key} out; fine_tuning.new_pieces adds pieces to the vocabulary",
                code="C045",
            )
    return {**given, **decided}
