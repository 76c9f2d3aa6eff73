"""From the layers of a run file to its settings."""

import difflib
from collections.abc import Mapping
from typing import Any

from openwork.base.config import Layer, build
from openwork.base.errors import ConfigError
from openwork.models.presets import PRESETS
from openwork.runs.file.settings import RunSettings


def _nearest_preset(wrong: str) -> str:
    close = difflib.get_close_matches(wrong, PRESETS, n=1)
    return f"did you mean {close[0]}?" if close else "openwork info lists them with their sizes"


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
                code="C049",
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
