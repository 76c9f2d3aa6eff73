"""A real forward pass to show numbers of: the paper's base model with one layer on each side, in float64."""

from collections.abc import Iterable

import torch

from openwork.base.messages import msg
from openwork.base.symbols import SYMBOL_IDS
from openwork.inspection.recorder import Recorder
from openwork.inspection.trace import Trace, bridged
from openwork.inspection.tracing import trace_forward
from openwork.models.build import build_transformer
from openwork.models.presets import PRESETS
from openwork.models.settings import TransformerSettings
from openwork.models.table3 import BASE

SEED = 1
# The symbols, then the words of two sentences that mean the same.
PIECES = ("<pad>", "<unk>", "<s>", "</s>", "the", "dog", "barks", "der", "Hund", "bellt")
SOURCE, RIGHT = (4, 5, 6, SYMBOL_IDS.end), (7, 8, 9, SYMBOL_IDS.end)
GIVEN = (SYMBOL_IDS.start, *RIGHT[:-1])
ENCODER, DECODER = "encoder.layers.0", "decoder.layers.0"


def names_of(ids: Iterable[int]) -> tuple[str, ...]:
    """The pieces with these ids."""
    return tuple(PIECES[one] for one in ids)


def forward_trace(*names: str, within: str = "") -> Trace:
    """The steps of these names, which are `within` a part, in the order of calculation; KeyError for unknown names.

    The layers that the base model has besides would only repeat what the first does. The weights are drawn by the seed;
    torch's own generator is left as it was.
    """
    settings = TransformerSettings.model_validate(PRESETS[BASE] | {"encoder_layers": 1, "decoder_layers": 1})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)
        model = build_transformer(settings, len(PIECES), len(PIECES))
    recorder = Recorder({"source": names_of(SOURCE), "target": names_of(GIVEN)})
    trace_forward(model, recorder, SOURCE, GIVEN)
    wanted = {within + name for name in names}
    missing = wanted - {step.name for step in recorder.steps}
    if missing:
        raise KeyError(f"the forward pass has no steps {sorted(missing)}")
    drawn = msg(
        f"The weights are drawn at random (seed {SEED}): the model has learnt nothing, its shapes are the paper's."
    )
    vocabulary = msg(f"The vocabulary has {len(PIECES)} entries; numbers are in float64, and nothing is dropped.")
    return Trace(
        "forward",
        "A forward pass with the sizes of the paper's base model, one layer on each side",
        tuple(bridged(recorder.steps, wanted)),
        (drawn, vocabulary),
    )
