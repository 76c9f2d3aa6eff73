"""What a bundle or a preset is: sizes, settings, scores, and whether a bundle still says what it said."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from openwork.base.errors import UsageError
from openwork.models.build import build_model
from openwork.models.interfaces import count_weights
from openwork.models.presets import PRESETS
from openwork.systems.bundle import load_bundle, replay_golden
from openwork.systems.bundle_folder import find_bundle
from openwork.systems.run_file import model_settings

SHOWN_VOCABULARY = 37_000  # the paper's, for counting a preset's weights


@dataclass(frozen=True)
class Description:
    """For a person, and for a program."""

    lines: list[str]
    values: dict[str, Any]


def describe(name: str | None) -> Description:
    """A bundle's folder, a preset, or (without a name) all presets."""
    if name is None:
        return _all_presets()
    if name in PRESETS and not Path(name).exists():
        return _preset(name)
    if not Path(name).exists():
        near = difflib.get_close_matches(name, PRESETS, n=1)
        raise UsageError(
            f"{name}: neither a folder nor a preset",
            why=f"presets: {', '.join(PRESETS)}",
            hint=f"did you mean {near[0]}?" if near else "give a preset, or a bundle's folder",
        )
    return _bundle(Path(name))


def _weights(name: str) -> int:
    """Counted on a model without numbers, so that even the largest is instant."""
    with torch.device("meta"):
        model = build_model(model_settings(PRESETS[name]), SHOWN_VOCABULARY, SHOWN_VOCABULARY)
    return count_weights(model)


def _all_presets() -> Description:
    counts = {name: _weights(name) for name in PRESETS}
    lines = [f"presets, with their weights at a vocabulary of {SHOWN_VOCABULARY:,}:"]
    lines += [f"  {name:<16} {count / 1e6:8.2f} million" for name, count in counts.items()]
    return Description(lines, {"vocabulary": SHOWN_VOCABULARY, "weights": counts})


def _preset(name: str) -> Description:
    values = model_settings(PRESETS[name]).model_dump(exclude_none=True)
    count = _weights(name)
    lines = [f"{name}: {count:,} weights at a shared vocabulary of {SHOWN_VOCABULARY:,}"]
    lines += [f"  {key:<20} {value}" for key, value in values.items()]
    return Description(lines, {"preset": name, "vocabulary": SHOWN_VOCABULARY, "weights": count, "model": values})


def _bundle(path: Path) -> Description:
    bundle = load_bundle(path)
    count = count_weights(bundle.model)
    changed = replay_golden(bundle)
    kept = len(bundle.golden) - len(changed)
    lines = [
        f"{find_bundle(path)}: {count:,} weights",
        f"golden examples: {kept} of {len(bundle.golden)} give what they gave when the bundle was written",
        *(f"  changed: {then.source!r} gave {then.translation!r}, now {now.translation!r}" for then, now in changed),
        "",
        bundle.card.strip(),
    ]
    values = {
        "path": str(find_bundle(path)),
        "weights": count,
        "golden": {"examples": len(bundle.golden), "reproduced": kept},
        "settings": bundle.settings.model_dump(mode="json", exclude_none=True),
    }
    return Description(lines, values)
