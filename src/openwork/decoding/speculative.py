"""Greedy search with a draft: a small model proposes the next tokens, the large one checks them all at once.

Of the proposals those are kept that the large model would have chosen itself, and then comes its own next token
(Leviathan et al. 2023, algorithm 1, for a distribution that has one token). So the result is that of its greedy search,
and where the two agree several tokens come of one pass over the large model's weights.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import Hypothesis, best_continuations, choosing, length_limits, scored
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import ChoosingModel, StepModel
from openwork.nn.shapes import AnySource

FIRST, MOST = 4, 8  # tokens that are proposed: at first, and at most


@dataclass
class _Side:
    """A model that has read the first tokens of a target, in its state."""

    model: StepModel[Any]
    state: Any  # with a `position`, and with `cut`, which takes it back to an earlier one
    chooser: ChoosingModel | None

    @classmethod
    def of(cls, model: StepModel[Any], source: AnySource, source_lengths: Tensor) -> "_Side":
        return cls(model, model.start(source, source_lengths), choosing(model))

    def read(self, tokens: list[int]) -> tuple[Float[Tensor, "positions"], Int[Tensor, "positions"]]:
        """After each token, the best next one, with its log-probability."""
        logits, self.state = self.model.step(torch.tensor([tokens]), self.state)
        values, best = best_continuations(self.chooser, logits[0], 1)
        return values[:, 0], best[:, 0]

    def go_back(self, position: int) -> None:
        if self.state.position > position:
            self.state = self.state.cut(position)


@torch.no_grad()
def speculative_search(
    model: StepModel[Any],
    draft: StepModel[Any],
    source: AnySource,
    source_lengths: Int[Tensor, "one"],
    settings: DecodingSettings,
) -> Hypothesis:
    """The hypothesis of one sentence that greedy search by `model` finds; `draft` has the same vocabulary.

    The states of both can be taken back to an earlier position. Products of several rows are rounded otherwise than
    those of one, so where two tokens are equally probable to the last digits the result may differ.
    """
    limit = int(length_limits(source_lengths, settings))
    large, small = _Side.of(model, source, source_lengths), _Side.of(draft, source, source_lengths)
    written, total, ahead = [SYMBOL_IDS.start], 0.0, FIRST
    while True:
        proposed = _proposals(small, written, min(ahead, limit - len(written)))
        values, best = large.read([written[-1], *proposed])
        chosen = best.tolist()
        kept = next((place for place, token in enumerate(proposed) if token != chosen[place]), len(proposed))
        for token, value in zip(chosen[: kept + 1], values.tolist(), strict=False):
            total += value
            if token == SYMBOL_IDS.end:
                return scored(tuple(written[1:]), total, True, settings)
            written.append(token)
            if len(written) > limit:
                return scored(tuple(written[1:]), total, False, settings)
        for reader in (large, small):
            reader.go_back(len(written) - 1)
        ahead = min(MOST, ahead + 2) if kept == len(proposed) else max(1, ahead - 1)


def _proposals(draft: _Side, written: list[int], count: int) -> list[int]:
    """The next tokens by the draft, at most `count` and without an end symbol, which the model says itself."""
    proposed: list[int] = []
    waiting = written[draft.state.position :]
    while len(proposed) < count:
        token = int(draft.read(waiting)[1][-1])
        if token == SYMBOL_IDS.end:
            break
        proposed.append(token)
        waiting = [token]
    return proposed
