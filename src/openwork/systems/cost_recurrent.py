"""What the parts of the recurrent model cost, by formula. No torch here."""

from collections.abc import Iterator

from openwork.models.recurrent_settings import RecurrentSettings
from openwork.systems.cost_part import Lengths, Part
from openwork.systems.cost_transformer import IDS, TABLES

GATES = 4  # of an LSTM: input, forget, cell, output
CELL = 7  # numbers that a single cell keeps for each of its outputs: the gates, cell, its tanh, the output
# What the kernel of a whole layer keeps, found by measurement (tests/systems/test_cost.py): numbers in the type of the
# products, and in float32, for each of its outputs and of its inputs.
OUTPUTS, WIDE_OUTPUTS = 8, 2.5
INPUTS, WIDE_INPUTS = 3, 4


def recurrent_parts(s: RecurrentSettings, source: int, target: int, lengths: Lengths) -> Iterator[Part]:
    """The parts of the model with vocabularies of `source` and `target` entries."""
    n, m, width, inner = lengths.source, lengths.target, s.width, s.score_width
    tables = TABLES[s.tying]
    yield Part("embeddings and output", 1, width * (tables[0] * source + tables[1] * target), m * width * target, 0)
    masks = int(s.dropout > 0)
    yield Part("embedding dropout", 1, 0, wide=masks * width * (n + m) + IDS * (n + m))
    yield _lstm("encoder, first layer, one direction", 2, width, width, n)
    if s.encoder_layers > 1:
        yield _lstm("encoder, one direction", 2 * (s.encoder_layers - 1), 2 * width, width, n)
        yield Part("dropout between layers", s.encoder_layers - 1, 0, kept=masks * 2 * width * n)
    yield Part(
        "additive attention",
        1,
        weights=width * inner + 2 * width * inner + inner,
        products=m * width * inner + n * 2 * width * inner + m * n * (inner + 2 * width),
        kept=n * 2 * width + m * width + m * n * (inner + 2),
    )
    states = s.decoder_layers * width
    yield Part("bridge", 1, width * states + states, width * states, states)
    products = GATES * width * (3 * width + width)
    kept = m * ((CELL - 1) * width + 3 * width)
    yield Part("decoder, first layer", 1, products + 2 * GATES * width, m * products, kept)
    for layer in range(s.decoder_layers - 1):
        yield _lstm(f"decoder, layer {layer + 2}", 1, 3 * width if layer == 0 else width, width, m)
        yield Part("dropout below", 1, 0, kept=masks * (3 * width if layer == 0 else width) * m)
    yield Part("readout", 1, 3 * width * width + width, m * 3 * width * width, m * (4 + masks) * width)


def _lstm(name: str, count: int, inputs: int, width: int, length: float) -> Part:
    """A layer in one direction."""
    products = GATES * width * (inputs + width)
    kept = length * (OUTPUTS * width + INPUTS * inputs)
    wide = length * (WIDE_OUTPUTS * width + WIDE_INPUTS * inputs)
    return Part(name, count, products + 2 * GATES * width, length * products, kept, wide)
