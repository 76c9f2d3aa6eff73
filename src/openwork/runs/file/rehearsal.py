"""A rehearsal: some updates of a run file on a built-in corpus, to see that all of it works before it costs anything.

No torch here.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from openwork.base.config import Layer
from openwork.data.batching import BatchSettings

CORPUS, PAIRS, HELD_OUT = "dates", 3_000, 100
MOST_TOKENS = 512  # of a batch: a model of the paper's size makes an update of them in seconds on one core
SENTENCES = 20


def rehearsal(layer: Layer, steps: int) -> Layer:
    """The layer with other data, small batches and `steps` updates, validated once, at their end.

    Model, optimiser, loss, rates of these first updates, precision and search stay what they are, and so does all that
    is said of the vocabulary, of which the dates fill only a part.
    """
    tokens = _section(layer, "batches").get("tokens", BatchSettings().tokens)
    small = min(tokens, MOST_TOKENS) if isinstance(tokens, int) else tokens  # a wrong value is told when it is built
    training = {
        "steps": steps,
        "cooldown": 0,
        "validate_every": steps,
        "validation_sentences": SENTENCES,
        "log_every": max(1, steps // 10),
    }
    changed = {
        # a mix of one: its validation pairs are held out, few of them, where a known corpus would bring its own
        "data": {"mix": [{"corpus": CORPUS, "count": PAIRS}], "held_out": HELD_OUT},
        "batches": {**_section(layer, "batches"), "tokens": small},
        "training": {**_section(layer, "training"), **training},
    }
    return replace(layer, mapping={**layer.mapping, **changed})


def _section(layer: Layer, name: str) -> Mapping[str, Any]:
    section = layer.mapping.get(name, {})
    return section if isinstance(section, Mapping) else {}
