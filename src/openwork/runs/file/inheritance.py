"""What a fine-tuning takes over from its bundle before anything is loaded: sizes, vocabulary, languages. No torch."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from openwork.base.config import Layer, build_section
from openwork.base.errors import ConfigError
from openwork.bundles.folder import whole_bundle
from openwork.bundles.settings import encoder_of, read_bundle_settings
from openwork.models.families import FAMILIES, ModelSettings, model_settings, of_grid, reads
from openwork.models.presets import PRESETS
from openwork.runs.file.keys import section_of
from openwork.runs.usable import usable_bundle
from openwork.text.pair import TokenizerPair
from openwork.text.pieces.kinds import WHOLE_KINDS
from openwork.text.tokenizer import SMALLEST_VOCABULARY
from openwork.training.settings import FineTuningSettings

SECTION = "fine_tuning"
CHOSEN = ("kind", "task", "tying")  # keys of the model that another kind or task has its own defaults for
FREE = ("separate_prompt",)  # no weight depends on it
LAYERS = (("layers", "encoder_layers"), ("encoder_layers", "layers"))  # the keys for the depth of an encoder


def inherit(layer: Layer) -> Layer:
    """The layer with what the bundle of its section [fine_tuning] decides; the same layer without such a section.

    The model keeps its sizes, so a run file with others is refused; dropout, the separation of prompts and the settings
    of the training may change. A run file with another kind of model or another task gets one of these sizes, as far as
    it has them and gives no others. Languages and the search are the bundle's unless others are given. ConfigError and
    BundleError.
    """
    tuning = read_tuning(layer)
    if tuning.from_bundle is None:
        return layer
    folder = usable_bundle(Path(tuning.from_bundle))
    current = whole_bundle(folder)
    settings, read = read_bundle_settings(current, folder)
    theirs, tokenizers = read.mapping, TokenizerPair.load(current, encoder_of(settings))
    known, given, languages = model_settings(theirs["model"]), _given(layer), ["source_language"]
    own = dict(layer.mapping)
    if settings.series is not None:
        own["series"] = {**theirs["series"], **section_of(layer, "series")}
    if settings.picture is not None:
        begins_to_write = given.get("kind") == "captioner" != known.kind
        own["model"] = (
            _other_model(known, given) if begins_to_write else _model(layer, known, given, theirs["model"], folder)
        )
        own["picture"] = {**theirs["picture"], **section_of(layer, "picture")}
        if known.kind == "captioner":
            own["decoding"] = {**theirs.get("decoding", {}), **section_of(layer, "decoding")}
    elif settings.sound is not None:
        own["model"] = _model(layer, known, given, theirs["model"], folder)
        own["sound"] = {**theirs["sound"], **section_of(layer, "sound")}
        own["decoding"] = {**theirs.get("decoding", {}), **section_of(layer, "decoding")}
    elif any(key in given and given[key] != getattr(known, key, None) for key in ("kind", "task")):
        own["model"] = _other_model(known, given)
        own["text"] = _other_text(layer, tokenizers)
    else:
        own["model"] = _model(layer, known, given, theirs["model"], folder)
        own["text"] = _text(layer, tokenizers, tuning, folder)
        own["decoding"] = {**theirs.get("decoding", {}), **section_of(layer, "decoding")}
        languages.append("target_language")
    own["data"] = {**{key: theirs[key] for key in languages if key in theirs}, **section_of(layer, "data")}
    return replace(layer, mapping=own)


def read_tuning(layer: Layer) -> FineTuningSettings:
    """The section alone, which is read before the settings that its bundle decides."""
    return build_section(FineTuningSettings, SECTION, layer.mapping.get(SECTION, {}), layer.origins)


def _given(layer: Layer) -> dict[str, Any]:
    """The keys of the model in the run file, its preset's values beneath."""
    given = section_of(layer, "model")
    preset = given.pop("preset", None)
    return {**(PRESETS.get(preset, {}) if isinstance(preset, str) else {}), **given}


def _other_model(known: ModelSettings, given: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of the layers are the bundle's where the run file has none, so that its weights fit."""
    values = known.model_dump(exclude_none=True)
    kind = str(given.get("kind", known.kind))
    fields = next((family.model_fields for family in FAMILIES if family.model_fields["kind"].default == kind), {})
    inherited = {key: value for key, value in values.items() if key in fields and key not in CHOSEN}
    for ours, its in LAYERS:
        if ours in fields and its in values:
            inherited.setdefault(ours, values[its])
    return {**inherited, **given, "kind": kind}


def _model(
    layer: Layer, known: ModelSettings, given: Mapping[str, Any], theirs: Mapping[str, Any], folder: Path
) -> dict[str, Any]:
    """The bundle's, with other dropout and prompts if the run file has them."""
    values = known.model_dump()
    for key, value in given.items():
        if key in values and key not in FREE and "dropout" not in key and values[key] != value:
            origin = layer.origins.get(f"model.{key}") or layer.origins.get("model.preset") or "[model]"
            raise ConfigError(
                f"{origin}: model.{key} is {value}, but the bundle {folder} has {values[key]}",
                why="a model that is fine-tuned keeps its sizes",
                hint=f"leave model.{key} out, or train from nothing without fine_tuning.from_bundle",
                code="C044",
            )
    own = section_of(layer, "model")
    own.pop("preset", None)
    without = of_grid(theirs, (1, 1)) if reads(known) == "pictures" else ()  # which follow from the pictures' size
    return {**{key: value for key, value in theirs.items() if key not in without}, **own}


def _source_kind(tokenizers: TokenizerPair) -> dict[str, Any]:
    return {"kind": tokenizers.source.kind} if tokenizers.source.kind in WHOLE_KINDS else {}


def _other_text(layer: Layer, tokenizers: TokenizerPair) -> dict[str, Any]:
    """The source's keys are the bundle's; the others concern the target."""
    given = section_of(layer, "text")
    placeholders = {} if "target_kind" in given else {"placeholders": tokenizers.source.placeholders}
    return {**placeholders, **_source_kind(tokenizers), **given}


def _text(layer: Layer, tokenizers: TokenizerPair, tuning: FineTuningSettings, folder: Path) -> dict[str, Any]:
    """The bundle's vocabulary, with the new pieces."""
    size = max(tokenizers.source.vocabulary_size, tokenizers.target.vocabulary_size) + tuning.new_pieces
    decided = {
        "vocabulary_size": max(size, SMALLEST_VOCABULARY),
        "shared": tokenizers.shared,
        "placeholders": tokenizers.source.placeholders,
        **_source_kind(tokenizers),
    }
    given = section_of(layer, "text")
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
