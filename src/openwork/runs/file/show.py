"""Every setting of a run with its value, and where each value comes from. No torch here."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from openwork.base.config import Layer, to_toml
from openwork.models.presets import PRESETS
from openwork.runs.file.keys import holds, leaves
from openwork.runs.file.resolve import Resolved
from openwork.runs.file.settings import RunSettings

DEFAULT = "default"
INHERITED = "the bundle that is fine-tuned"  # what no file of the run says and no default gives


@dataclass(frozen=True)
class Shown:
    """The settings of a run, and the origin of each dotted key in words."""

    settings: RunSettings
    origins: Mapping[str, str]

    def text(self, *, with_origins: bool) -> str:
        """A run file that says the same; with origins, each stands as a comment behind its value."""
        return to_toml(self.settings, self.origins if with_origins else {})

    def to_json(self) -> dict[str, Any]:
        """Plain values: each key with its value (null: not set) and its origin."""
        values = dict(leaves(self.settings.model_dump(mode="json")))
        return {key: {"value": value, "origin": self.origins[key]} for key, value in values.items()}


def show(resolved: Resolved) -> Shown:
    """The settings, and why each value is what it is."""
    settings, layer = resolved.settings, resolved.layer
    keys = [key for key, _ in leaves(settings.model_dump(mode="json"))]
    return Shown(settings, {key: _origin(key, layer) for key in keys})


def _origin(key: str, layer: Layer) -> str:
    parts = key.split(".")
    if holds(layer.mapping, parts):
        # What stands in an inline table, as in model = {width = 64}, has the table's line.
        places = (layer.origins.get(".".join(parts[:depth])) for depth in range(len(parts), 0, -1))
        return str(next((place for place in places if place), INHERITED))
    section, _, name = key.rpartition(".")
    preset = _preset(layer) if section == "model" else None
    if preset is not None and name in PRESETS[preset]:
        where = layer.origins.get("model.preset")
        return f"preset {preset} ({where})" if where else f"preset {preset}"
    return DEFAULT


def _preset(layer: Layer) -> str | None:
    model = layer.mapping.get("model")
    return model.get("preset") if isinstance(model, Mapping) else None
