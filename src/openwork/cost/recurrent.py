"""Cost of the parts of recurrent models, by formula. No torch here."""

from collections.abc import Iterator
from typing import NamedTuple

from openwork.cost.part import CostPart, SentenceLengths
from openwork.cost.transformer import IDS, TABLES
from openwork.models.recurrent_settings import RecurrentSettings


class CellCost(NamedTuple):
    """Cost of a kind of cell.

    Args:
        gates: blocks of its matrices.
        alone: numbers that a single cell keeps for each of its outputs, without the output itself.
        outputs: numbers in the type of the products that the kernel of a whole layer keeps for each of its outputs;
            measured (tests/cost/test_cost.py).
        wide_outputs: likewise, in float32.
        inputs: likewise for each of its inputs, in the type of the products.
        wide_inputs: likewise, in float32.
    """

    gates: int
    alone: float
    outputs: float
    wide_outputs: float
    inputs: float
    wide_inputs: float


CELLS = {
    "rnn": CellCost(1, 0, 1, 0, 1, 0),
    "lstm": CellCost(4, 6, 8, 2.5, 3, 4),
    "gru": CellCost(3, 6, 6, 1, 1, 0),
}
MASK = 1 / 4  # of a float32 number: torch's layers keep a byte for each element of a dropout mask


def recurrent_parts(s: RecurrentSettings, source: int, target: int, lengths: SentenceLengths) -> Iterator[CostPart]:
    """The parts of the model with vocabularies of `source` and `target` entries."""
    n, m, width = lengths.source, lengths.target, s.width
    cell, tables = CELLS[s.cell], TABLES[s.tying]
    yield CostPart("embeddings and output", 1, width * (tables[0] * source + tables[1] * target), m * width * target, 0)
    masks = int(s.dropout > 0)
    yield CostPart("embedding dropout", 1, 0, wide=masks * width * (n + m) + IDS * (n + m))
    directions, upper = s.memory_width // s.encoder_width, s.encoder_layers - 1
    yield _layer("encoder, first layer, one direction", directions, cell, width, s.encoder_width, n)
    if upper:
        yield _layer("encoder, one direction", directions * upper, cell, s.memory_width, s.encoder_width, n)
        yield CostPart("dropout between layers", upper, 0, wide=masks * MASK * s.memory_width * n)
    yield _attention(s, lengths)
    states = s.decoder_layers * width
    yield CostPart("bridge", 1, s.encoder_width * states + states, s.encoder_width * states, states)
    seen = 0 if s.attention == "none" else s.memory_width
    if s.attention == "additive":
        products = cell.gates * width * (width + seen + width)
        kept = m * (cell.alone * width + width + seen)
        yield CostPart("decoder, first layer", 1, products + 2 * cell.gates * width, m * products, kept)
    else:
        yield _layer("decoder, first layer", 1, cell, width, width, m)
    for layer in range(s.decoder_layers - 1):
        inputs = width + seen if layer == 0 and s.attention == "additive" else width
        yield _layer(f"decoder, layer {layer + 2}", 1, cell, inputs, width, m)
        is_own = layer == 0 and s.attention == "additive"  # not in a layer of torch, whose masks are bytes
        mask = masks * inputs * m
        yield CostPart("dropout below", 1, 0, kept=mask * is_own, wide=mask * MASK * (not is_own))
    read = width + seen
    yield CostPart("readout", 1, read * width + width, m * read * width, m * (read + (1 + masks) * width))


def _attention(s: RecurrentSettings, lengths: SentenceLengths) -> CostPart:
    n, m, width, memory, inner = lengths.source, lengths.target, s.width, s.memory_width, s.score_width
    both = m * n * (width + memory)  # scores and sums
    match s.attention:
        case "additive":
            return CostPart(
                "additive attention",
                1,
                weights=width * inner + memory * inner + inner,
                products=m * width * inner + n * memory * inner + m * n * (inner + memory),
                kept=n * memory + m * width + m * n * (inner + 2),
            )
        case "dot":
            return CostPart("dot attention", 1, 0, products=both, kept=n * memory + m * width + 2 * m * n)
        case "general":
            kept = n * (memory + width) + m * width + 2 * m * n
            return CostPart("general attention", 1, memory * width, products=n * memory * width + both, kept=kept)
        case "none":
            return CostPart("no attention", 1, 0, kept=m * n)


def _layer(name: str, count: int, cell: CellCost, inputs: int, width: int, length: float) -> CostPart:
    products = cell.gates * width * (inputs + width)
    kept = length * (cell.outputs * width + cell.inputs * inputs)
    wide = length * (cell.wide_outputs * width + cell.wide_inputs * inputs)
    return CostPart(name, count, products + 2 * cell.gates * width, length * products, kept, wide)
