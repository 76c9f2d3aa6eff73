"""Settings of `openwork translate`: a file in place of options. No torch here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import create_model

from openwork.base.config import Settings, build, build_section, read_run_file
from openwork.base.fields import option
from openwork.base.limits import LENGTH
from openwork.base.toml import ValueOrigin
from openwork.decoding.settings import DecodingSettings

TranslationPrecision = Literal["float32", "bfloat16", "int8", "auto"]

# The keys of [decoding] without the rules between them: those hold for what results with the bundle's own settings.
_KEYS: dict[str, Any] = {name: (known.annotation, known) for name, known in DecodingSettings.model_fields.items()}
_DecodingKeys = create_model(
    "DecodingKeys", __base__=Settings, __doc__="Differences from the bundle's own settings.", **_KEYS
)


class LineSettings(Settings):
    """The bundles, and the form of a line of input and of output."""

    bundle: tuple[Path, ...] = option(
        (), "folders that openwork train --out wrote, relative to this file; several: an ensemble"
    )
    terms: Path | None = option(
        None, "a glossary, relative to this file: source term, tab, target term that must be used"
    )
    requests: bool = option(False, 'lines of input are JSON with "text", "prefix", "required", "forbidden"')
    alternatives: int | None = option(
        None, "show what else could follow so many pieces, instead of translations", ge=0, le=LENGTH
    )
    guard: bool = option(False, "flag what should not be trusted, and search for it once more")
    stream: bool = option(False, "write each piece as soon as it is found")
    as_json: bool = option(False, "one JSON object a line, with scores")
    precision: TranslationPrecision = option(
        "float32", "number type of the matrix products; auto: the fastest on this machine, by measurement"
    )
    shortlist: Path | None = option(
        None, "what openwork shortlist wrote, relative to this file: only these pieces are looked at"
    )
    draft: Path | None = option(
        None, "bundle of a small model with the same vocabulary, relative to this file; it proposes, this one checks"
    )


class TranslationSettings(LineSettings):
    """The keys of a translation file."""

    decoding: _DecodingKeys = _DecodingKeys()  # pyrefly: ignore[invalid-annotation]


@dataclass(frozen=True)
class TranslationFile:
    """The values of a translation file, with paths of the file system; empty without a file."""

    lines: LineSettings = field(default_factory=LineSettings)
    decoding: Mapping[str, Any] = field(default_factory=dict)
    origins: Mapping[str, ValueOrigin] = field(default_factory=dict)


def read_translation_file(path: Path) -> TranslationFile:
    """Reads a translation file; ConfigError names the line of a mistake."""
    layer = read_run_file(path)
    given = build(TranslationSettings, layer.mapping, layer.origins)
    values: dict[str, Any] = {key: getattr(given, key) for key in LineSettings.model_fields}
    values["bundle"] = tuple(path.parent / bundle for bundle in given.bundle)
    for key in ("terms", "shortlist", "draft"):
        values[key] = None if values[key] is None else path.parent / values[key]
    decoding = given.decoding.model_dump(mode="json", exclude_unset=True)
    return TranslationFile(LineSettings(**values), decoding, layer.origins)


def settings_over(settings: Any, options: dict[str, Any], origins: Mapping[str, Any] | None = None) -> Any:
    """The bundle's settings with options over them; settings that exclude an option go back to their defaults.

    `origins`: the places in a file that options come from; ConfigError names the line of a mistake.
    """
    values = {**settings.model_dump(mode="json"), "best": 1, **options}
    if options.get("samples") == 0 or "beam" in options:  # a search, even if the bundle samples
        plain = type(settings)()
        kept = {"samples": 0, "temperature": plain.temperature, "top_k": plain.top_k, "top_p": plain.top_p}
        values = {**values, **{key: value for key, value in kept.items() if key not in options}}
    if values["samples"]:
        for key, value in (("groups", 1), ("coverage_penalty", 0.0)):
            values[key] = options.get(key, value)
        if "samples" in options and "best" not in options and values["minimum_bayes_risk"] == "none":
            values["best"] = values["samples"]
    elif "beam" not in options:
        values["beam"] = max(values["best"], settings.beam)
    return build_section(DecodingSettings, "decoding", values, origins or {})
