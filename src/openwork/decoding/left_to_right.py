"""Targets written token by token, with nothing taken back: greedy search and sampling differ in the choice."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from openwork.base.symbols import SymbolIds
from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.rules import Prefixes, TokenRule, restrict
from openwork.decoding.scoring import allow, length_limits, log_normaliser, scored
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel
from openwork.nn.shapes import Lengths, Logits, Source

Choose = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""From logits (rows, vocabulary), the chosen tokens' log-probabilities (rows,) and the tokens.

The other arguments are each row's sentence, and what is written of all sentences (sentence, place), start symbol first.
Minus infinity: there is no way to go on.
"""

Pick = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""From scores (rows, vocabulary), minus infinity where a token may not come, the chosen ones (rows,) and their tokens.

The other arguments are each row's sentence, and the place of the token in the target.
"""

OnToken = Callable[[int, int], None]
"""Called with a sentence and its next token as soon as that is chosen, the end symbol too."""


@torch.no_grad()
def write(
    model: StepModel,
    source: Source,
    source_lengths: Lengths,
    settings: DecodingSettings,
    symbols: SymbolIds,
    choose: Choose,
    on_token: OnToken | None = None,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence; none where the rules left no way to go on.

    A row that has ended leaves the batch. The model should be in evaluation mode.
    """
    batch = source.shape[0]
    if batch == 0:
        return []
    limits = length_limits(source_lengths, settings)
    written = source.new_full((batch, 1 + int(limits.max())), symbols.pad)
    written[:, 0] = symbols.start
    totals = torch.zeros(batch, device=source.device)  # log-probabilities of the targets
    live = torch.arange(batch, device=source.device)  # the sentence of each row
    own_totals, own_limits = totals, limits  # those of the live rows
    last = written[:, :1]
    state = model.start(source, source_lengths)
    for place in range(1, written.shape[1]):
        logits, state = model.step(last, state)
        value, token = choose(logits[:, -1], live, written[:, :place])
        own_totals = own_totals + value
        written[live, place] = token
        goes_on = (token != symbols.end) & (own_limits > place) & (value > -torch.inf)
        if on_token is not None:
            for sentence, chosen in zip(live.tolist(), token.tolist(), strict=True):
                on_token(sentence, chosen)
        keep = goes_on.nonzero().squeeze(-1)
        if keep.numel() < live.numel():
            totals[live] = own_totals
            if keep.numel() == 0:
                break
            live, token, own_totals, own_limits = live[keep], token[keep], own_totals[keep], own_limits[keep]
            state = state.select(keep)
        last = token[:, None]
    return _hypotheses(written[:, 1:], totals, limits, settings, symbols)


class ChooseByScores:
    """`pick`s among the tokens that may come, by the symbols and the rules."""

    def __init__(self, symbols: SymbolIds, rules: Sequence[TokenRule], pick: Pick) -> None:
        self.symbols = symbols
        self.rules = rules
        self.pick = pick

    def __call__(self, logits: Logits, sentences: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        scores = allow(logits, self.symbols)
        normaliser = log_normaliser(scores)
        if self.rules:
            scores = restrict(scores, normaliser, self.rules, Prefixes(sentences, written[sentences]))
        value, token = self.pick(scores, sentences, written.shape[1] - 1)
        return value - normaliser.squeeze(-1), token


def _hypotheses(
    written: Tensor, log_probabilities: Tensor, limits: Tensor, settings: DecodingSettings, symbols: SymbolIds
) -> list[list[Hypothesis]]:
    """The rows as values, cut at their end symbol or at their limit; those that could not go on are left out."""
    found: list[list[Hypothesis]] = []
    for tokens, total, limit in zip(written.tolist(), log_probabilities.tolist(), limits.tolist(), strict=True):
        if total == -torch.inf:
            found.append([])
            continue
        finished = symbols.end in tokens
        kept = tuple(tokens[: tokens.index(symbols.end) if finished else limit])
        found.append([scored(kept, total, finished, settings)])
    return found
