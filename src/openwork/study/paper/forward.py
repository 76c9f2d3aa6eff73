"""A real forward pass to show numbers of: the paper's base model with one layer on each side, in float64."""

from collections.abc import Sequence

import torch

from openwork.base.symbols import SYMBOL_IDS
from openwork.inspection.recorder import Recorder, Side
from openwork.inspection.selection import bridged
from openwork.inspection.trace import Step, Trace
from openwork.inspection.tracing import trace_forward
from openwork.models.build import build_transformer
from openwork.models.presets import PRESETS
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings
from openwork.models.table3 import BASE

SEED = 1
# The words of two sentences that mean the same; a word's id is its place after the symbols.
WORDS = ("the", "dog", "barks", "der", "Hund", "bellt")
FIRST_WORD = 4
SOURCE = (*(FIRST_WORD + WORDS.index(word) for word in ("the", "dog", "barks")), SYMBOL_IDS.end)
RIGHT = (*(FIRST_WORD + WORDS.index(word) for word in ("der", "Hund", "bellt")), SYMBOL_IDS.end)
GIVEN = (SYMBOL_IDS.start, *RIGHT[:-1])
VOCABULARY = FIRST_WORD + len(WORDS)


def names_of(ids: Sequence[int]) -> tuple[str, ...]:
    """The words of these ids."""
    symbols = {SYMBOL_IDS.pad: "<pad>", SYMBOL_IDS.unknown: "<unk>", SYMBOL_IDS.start: "<s>", SYMBOL_IDS.end: "</s>"}
    return tuple(symbols[one] if one in symbols else WORDS[one - FIRST_WORD] for one in ids)


def one_layer_settings() -> TransformerSettings:
    """The base model's, but for the number of layers: the others would only repeat what the first does."""
    return TransformerSettings.model_validate(PRESETS[BASE] | {"encoder_layers": 1, "decoder_layers": 1})


def build_one_layer() -> Transformer:
    """That model with weights drawn by the seed; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        return build_transformer(one_layer_settings(), VOCABULARY, VOCABULARY)


def forward_steps() -> list[Step]:
    """Every step of the pass over "the dog barks" and "der Hund bellt"."""
    pieces: dict[Side, Sequence[str]] = {"source": names_of(SOURCE), "target": names_of(GIVEN)}
    recorder = Recorder(pieces)
    trace_forward(build_one_layer(), recorder, SOURCE, GIVEN)
    return recorder.steps


def forward_trace(*names: str) -> Trace:
    """The steps of these names, in the order of calculation; KeyError if there is none of a name."""
    steps = forward_steps()
    missing = set(names) - {step.name for step in steps}
    if missing:
        raise KeyError(f"the forward pass has no steps {sorted(missing)}")
    return Trace(
        "forward",
        "A forward pass with the sizes of the paper's base model, one layer on each side",
        tuple(bridged(steps, set(names))),
        tuple(_assumption_lines()),
    )


def _assumption_lines() -> list[str]:
    return [
        f"The weights are drawn at random (seed {SEED}): the model has learnt nothing, its shapes are the paper's.",
        f"The vocabulary has {VOCABULARY} entries; numbers are in float64, and nothing is dropped.",
    ]
