"""All mistakes of a run file at once, and what is doubtful about it. No torch here."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openwork.base.config import Layer, apply_assignments, find_mistakes, read_run_file
from openwork.base.errors import DataError, OpenworkError
from openwork.data.corpora import catalogue as corpora
from openwork.runs.file.inheritance import inherit
from openwork.runs.file.keys import section_of
from openwork.runs.file.recipes import run_file_of
from openwork.runs.file.resolve import resolve_run, with_preset
from openwork.runs.file.settings import RunSettings
from openwork.runs.file.warnings import find_warnings


@dataclass(frozen=True)
class Checked:
    """The mistakes, in the order of their places, and the warnings."""

    mistakes: tuple[OpenworkError, ...]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        mistakes = [{name: getattr(error, name) for name in ("code", "what", "why", "hint")} for error in self.mistakes]
        return {"valid": not self.mistakes, "mistakes": mistakes, "warnings": list(self.warnings)}


def check_run_file(path: Path, assignments: list[str]) -> Checked:
    """Every mistake of a file; of a file that is not TOML, this one alone.

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
