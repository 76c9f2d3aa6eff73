"""All that is wrong with a run file, told at once, and what is doubtful about it. No torch here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openwork.base.config import Layer, apply_assignments, find_mistakes, read_run_file
from openwork.base.errors import DataError, OpenworkError
from openwork.data.corpora import catalogue as corpora
from openwork.runs.file.inheritance import inherit
from openwork.runs.file.recipes import run_file_of
from openwork.runs.file.resolve import resolve_run, with_preset
from openwork.runs.file.settings import RunSettings
from openwork.runs.file.warnings import find_warnings


@dataclass(frozen=True)
class Checked:
    """What was found, mistakes in the order of their places."""

    mistakes: tuple[OpenworkError, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        told = [{name: getattr(error, name) for name in ("code", "what", "why", "hint")} for error in self.mistakes]
        return {"valid": not self.mistakes, "mistakes": told, "warnings": list(self.warnings)}


def check_run_file(path: Path, assignments: list[str]) -> Checked:
    """Every mistake of a file as far as it can be told: what is not TOML is all that is told of it.

    UsageError for an assignment that is none.
    """
    try:
        layer = read_run_file(run_file_of(path))
    except OpenworkError as error:
        return Checked((error,))
    layer = apply_assignments(layer, assignments)
    mistakes: list[OpenworkError] = []
    try:
        mapping = with_preset(layer)
    except OpenworkError as error:
        mistakes.append(error)
        layer = _without_preset(layer)
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


def _without_preset(layer: Layer) -> Layer:
    section = layer.mapping["model"]
    model = {key: value for key, value in section.items() if key != "preset"}
    return Layer({**layer.mapping, "model": model}, layer.origins)


def _unknown_corpora(layer: Layer) -> Iterator[OpenworkError]:
    data = layer.mapping.get("data")
    for key in ("corpus", "valid_corpus"):
        name = data.get(key) if isinstance(data, Mapping) else None
        try:
            if isinstance(name, str):
                corpora.find(name)
        except OpenworkError as error:
            where = layer.origins.get(f"data.{key}") or f"data.{key}"
            yield DataError(f"{where}: {error.what}", why=error.why, hint=error.hint, code=error.code)
