"""Final settings of a run from all their sources, step by step.

Sources, the strongest first: options and assignments of the command line, a rehearsal, the run file and those it is
based on, what is chosen by the size of the data (without a run file), a bundle to fine-tune, a preset, defaults.
"""

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openwork.base.config import Layer, build, lay_over, read_run
from openwork.base.errors import ConfigError, UsageError
from openwork.base.outputs import is_run
from openwork.base.phrases import Joined
from openwork.models.presets import PRESETS
from openwork.runs.file.automatic import choose_layer, chosen_lengths, tuning_lengths
from openwork.runs.file.inheritance import inherit, read_tuning
from openwork.runs.file.recipes import run_file_of
from openwork.runs.file.rehearsal import rehearsal
from openwork.runs.file.settings import RunSettings
from openwork.runs.file.warnings import find_conflicts
from openwork.runs.length import follow_steps


@dataclass(frozen=True)
class Resolved:
    """The settings of a run, and the layer that they were built of, with the origin of each key that was given."""

    settings: RunSettings
    layer: Layer


def resolve(
    run_file: Path | None,
    assignments: Sequence[str],
    given: Mapping[str, Any],
    report: Callable[[str], None],
    *,
    rehearse: int | None = None,
) -> Resolved:
    """Run file, overridden by a rehearsal of so many updates, by assignments, and by the sections that are `given`.

    Without a run file the rest is chosen from the data. Reports which settings do not go together; a rehearsal is short
    on purpose.
    """
    path = None if run_file is None else run_file_of(run_file)
    file = layer = read_run(path, [], {})
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


def resolve_layer(layer: Layer, report: Callable[[str], None], *, choose_rest: bool) -> Resolved:
    """The last steps: what is chosen from the data, with `choose_rest`; what a bundle decides; preset and defaults."""
    if "data" not in layer.mapping:
        raise UsageError(
            "there is nothing to train on", hint="give --source and --target, --corpus, or a run file", code="U040"
        )
    layer = inherit(choose_layer(layer, report) if choose_rest else layer)
    return Resolved(resolve_run(layer), layer)


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
