"""Greedy search: always the most probable next token."""

import torch
from jaxtyping import Int
from torch import Tensor

from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.scoring import SYMBOLS, SymbolIds, allow, length_limits, length_penalty, log_normaliser
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel


@torch.no_grad()
def greedy(
    model: StepModel,
    source: Int[Tensor, "batch source"],
    source_lengths: Int[Tensor, "batch"],
    settings: DecodingSettings,
    symbols: SymbolIds = SYMBOLS,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, found token by token; the same as a beam of one.

    Of equally probable tokens the one with the lower id is taken. A row that has ended leaves the batch. The model
    should be in evaluation mode.
    """
    batch = source.shape[0]
    if batch == 0:
        return []
    limits = length_limits(source_lengths, settings)
    written = source.new_full((batch, int(limits.max())), symbols.pad)
    log_probabilities = torch.zeros(batch, device=source.device)
    live = torch.arange(batch, device=source.device)  # the sentence of each row
    last = source.new_full((batch, 1), symbols.start)
    state = model.start(source, source_lengths)
    for place in range(written.shape[1]):
        logits, state = model.step(last, state)
        allowed = allow(logits[:, -1], symbols)
        value, token = allowed.max(-1)  # the first of equals
        log_probabilities[live] += value - log_normaliser(allowed).squeeze(-1)
        written[live, place] = token
        goes_on = (token != symbols.end) & (limits[live] > place + 1)
        keep = goes_on.nonzero().squeeze(-1)
        if keep.numel() == 0:
            break
        if keep.numel() < live.numel():
            live, token, state = live[keep], token[keep], state.select(keep)
        last = token[:, None]
    return _hypotheses(written, log_probabilities, limits, settings.length_penalty, symbols)


def _hypotheses(
    written: Tensor, log_probabilities: Tensor, limits: Tensor, alpha: float, symbols: SymbolIds
) -> list[list[Hypothesis]]:
    """The finished rows as values, cut at their end symbol or at their limit."""
    found = []
    for tokens, total, limit in zip(written.tolist(), log_probabilities.tolist(), limits.tolist(), strict=True):
        finished = symbols.end in tokens
        length = tokens.index(symbols.end) + 1 if finished else limit
        kept = tuple(tokens[: length - 1] if finished else tokens[:length])
        found.append([Hypothesis(kept, total, total / length_penalty(length, alpha), finished)])
    return found
