"""Figures of the documents and of the paper that stand beside those of an experiment.

Transformer 模型全景分析报告, section 9.2, gives no source for its figures; Table 3 is that of Vaswani et al. (2017).
Both are BLEU of WMT 2014, so what can be compared is how much a change costs, not the score.
"""

from collections.abc import Mapping
from typing import NamedTuple

from openwork.experiments.search.spaces import Value
from openwork.models.presets import BASE, ROWS, Row

# Section 9.2.2: what is changed -> BLEU; the complete Transformer has 28.4.
COMPLETE = 28.4
ABLATIONS: tuple[tuple[dict[str, Value], float], ...] = (
    ({"model.heads": 1}, 26.1),
    ({"model.norm": "no-residual"}, 23.5),
    ({"model.positions": "none"}, 22.8),
    ({"model.feedforward": "convolution"}, 28.1),
)
# Section 9.2.1: setting -> value -> BLEU of the LSTM and of the Transformer.
SENSITIVITY: dict[str, dict[float, tuple[float, float]]] = {
    "training.learning_rate": {1e-5: (23.1, 25.8), 5e-5: (24.2, 27.5), 1e-4: (24.1, 28.2), 5e-4: (22.5, 27.1)},
    "model.dropout": {0.1: (24.0, 27.9), 0.2: (24.5, 28.4), 0.3: (23.8, 27.8), 0.4: (22.9, 26.5)},
}
# Section 9.1: the LSTM at its best, the Transformer with the LSTM's settings, the Transformer at its best.
BASELINE, SWAPPED, TUNED = 24.5, 26.8, 28.4


class PublishedChange(NamedTuple):
    """How much a change costs or gains in BLEU of WMT 2014; None where a source does not say."""

    documents: float | None
    paper: float | None


def published_change(variant: str, settings: Mapping[str, Value]) -> PublishedChange:
    """The published figures of an ablation or a row of Table 3, as differences from the complete model.

    `settings` are all that the variant changes. A row of the table is also found by its name ("A1") or its preset.
    """
    documents = next((round(bleu - COMPLETE, 1) for change, bleu in ABLATIONS if dict(settings) == change), None)
    row = next((row for row in ROWS if _is_row(row, variant, settings)), None)
    return PublishedChange(documents, None if row is None else round(row.bleu - ROWS[0].bleu, 1))


def published_score(variant: str, key: str, value: Value) -> float | None:
    """The documents' BLEU of an LSTM or a Transformer, by the variant's name, at a value of a setting."""
    found = SENSITIVITY.get(key, {}).get(value) if isinstance(value, int | float) else None
    if found is None:
        return None
    name = variant.lower()
    return found[0] if "lstm" in name else found[1] if "transformer" in name else None


def _is_row(row: Row, variant: str, settings: Mapping[str, Value]) -> bool:
    changes = {f"model.{key}": value for key, value in row.changes.items()}
    changes |= {f"training.{key}": value for key, value in row.training.items()}
    by_preset = {"model.preset": row.preset, **{key: changes[key] for key in changes if key.startswith("training.")}}
    named = variant == row.name or (variant == row.preset and row.preset != BASE)
    return named or (bool(changes) and dict(settings) in (changes, by_preset))
