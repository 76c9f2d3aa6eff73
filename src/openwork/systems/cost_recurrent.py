"""What the parts of the recurrent model cost, by formula. No torch here."""

from collections.abc import Iterator

from openwork.models.recurrent_settings import RecurrentSettings
from openwork.systems.cost_part import Lengths, Part
from openwork.systems.cost_transformer import TABLES

GATES = 4  # of an LSTM: input, forget, cell, output
KEPT = 7  # numbers that a cell keeps for each of its outputs: the gates, cell, its tanh, the output


def recurrent_parts(s: RecurrentSettings, source: int, target: int, lengths: Lengths) -> Iterator[Part]:
    """The parts of the model with vocabularies of `source` and `target` entries."""
    n, m, width, inner = lengths.source, lengths.target, s.width, s.score_width
    tables = TABLES[s.tying]
    yield Part("embeddings and output", 1, width * (tables[0] * source + tables[1] * target), m * width * target, 0)
    yield Part("embedding dropout", 1, 0, kept=2 * width * (n + m))
    yield _lstm("encoder, first layer, one direction", 2, width, width, n)
    if s.encoder_layers > 1:
        yield _lstm("encoder, one direction", 2 * (s.encoder_layers - 1), 2 * width, width, n)
    yield Part(
        "additive attention",
        1,
        weights=width * inner + 2 * width * inner + inner,
        products=m * width * inner + n * 2 * width * inner + m * n * (inner + 2 * width),
        kept=m * inner + n * inner + m * n * inner,
    )
    states = s.decoder_layers * width
    yield Part("bridge", 1, width * states + states, width * states, states)
    yield _lstm("decoder, first layer", 1, 3 * width, width, m)
    for layer in range(s.decoder_layers - 1):
        yield _lstm(f"decoder, layer {layer + 2}", 1, 3 * width if layer == 0 else width, width, m)
    yield Part("readout", 1, 3 * width * width + width, m * 3 * width * width, m * 5 * width)


def _lstm(name: str, count: int, inputs: int, width: int, length: int) -> Part:
    products = GATES * width * (inputs + width)
    return Part(name, count, products + 2 * GATES * width, length * products, length * (KEPT * width + inputs))
