"""Alternatives at a place: the most probable next tokens after a given prefix of the target."""

from collections.abc import Sequence

import torch

from openwork.base.symbols import SYMBOL_IDS, SymbolIds
from openwork.decoding.scoring import allow, best_tokens, log_normaliser
from openwork.models.interfaces import StepModel
from openwork.nn.shapes import Lengths, Source


@torch.no_grad()
def alternatives(
    model: StepModel,
    source: Source,
    source_lengths: Lengths,
    prefixes: Sequence[Sequence[int]],
    count: int,
    symbols: SymbolIds = SYMBOL_IDS,
) -> list[list[tuple[int, float]]]:
    """For each sentence the `count` most probable tokens after its prefix, each with its probability, best first.

    A prefix is tokens without the start symbol. The end symbol may be among the alternatives; tokens without any
    probability are left out.
    """
    if not prefixes:
        return []
    longest = max(map(len, prefixes))
    read = [[symbols.start, *one, *[symbols.pad] * (longest - len(one))] for one in prefixes]
    tokens = torch.tensor(read, dtype=source.dtype, device=source.device)
    logits, _ = model.step(tokens, model.start(source, source_lengths))
    last = torch.tensor([len(one) for one in prefixes], device=source.device)
    allowed = allow(logits[torch.arange(len(prefixes), device=source.device), last], symbols)
    values, best = best_tokens(allowed, count)
    probabilities = (values - log_normaliser(allowed)).exp()
    return [
        [(token, p) for token, p in zip(*row, strict=True) if p > 0]
        for row in zip(best.tolist(), probabilities.tolist(), strict=True)
    ]
