"""Greedy search on tensors of fixed sizes: as `left_to_right.greedy_search` without rules."""

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.fixed.choice import normaliser_of
from openwork.decoding.fixed.model import FixedModel
from openwork.decoding.fixed.search import FixedSearch
from openwork.decoding.scoring import Hypothesis, most_probable_tokens, scored
from openwork.decoding.settings import DecodingSettings
from openwork.nn.kernels.gpu import doubled
from openwork.nn.kernels.gpu.choice import BestParts, best_parts, is_suited
from openwork.nn.shapes import Lengths


class FixedGreedySearch(FixedSearch):
    """A model with a beam of one. `totals` (sentence): the log-probabilities of the targets so far."""

    def __init__(self, model: FixedModel, settings: DecodingSettings) -> None:
        super().__init__(model, settings)
        self.totals: Tensor = torch.zeros(self.sentences, device=model.device)
        self.normalisers = torch.zeros_like(self.totals)  # log Z of the last step, as kernels leave it
        self.has_kernels = is_suited(model.device, model.vocabulary, 1, 1)

    def start(self, limits: Lengths) -> None:
        super().start(limits)
        self.totals.zero_()

    def advance(self) -> None:
        if self.has_kernels:
            self._choose(best_parts(self._logits(), self.added, 1))
        else:
            self._take()
        self.position.add_(1)
        self._end()

    def _choose(self, best: BestParts) -> None:
        """As `_take`, by a kernel."""
        from openwork.nn.kernels.gpu.choice_kernels import take_greedy

        take_greedy[(self.rows,)](
            *best.all, self.tokens, self.history, self.totals, self.done, self.limits, self.normalisers, self.position,
            self.rows, best.shifts.shape[1], SYMBOL_IDS.end, PARTS=doubled(best.shifts.shape[1]), num_warps=1,
        )  # fmt: skip
        self.check.add_(self.normalisers.sum())

    def _take(self) -> None:
        """The most probable token of each sentence, and which are done."""
        scores = self._scores()
        value, token = most_probable_tokens(scores)
        normaliser = normaliser_of(scores, value[:, None], token[:, None]).squeeze(1)
        self.check.add_(normaliser.masked_fill(self.done, 0.0).sum())
        value = value - normaliser
        self.totals.add_(value.masked_fill(self.done, 0.0))
        self._put(self.history, token)
        self.tokens.copy_(token)
        is_last = self.limits <= self.position + 1
        self.done.logical_or_((token == SYMBOL_IDS.end) | is_last | (value == -torch.inf))

    def give_up(self, sentences: Collection[int]) -> None:
        super().give_up(sentences)
        self.totals.index_fill_(0, torch.tensor(sorted(sentences), device=self.totals.device), -torch.inf)

    def _left(self) -> list[Tensor]:
        return [self.history[: self.steps], self.totals, self.limits]

    def _hypotheses(self, used: int, *left: Any) -> list[list[Hypothesis]]:
        history, totals, limits = left
        facts = zip(history[:, :used].T.tolist(), totals[:used].tolist(), limits[:used].tolist(), strict=True)
        return [self._hypothesis(*one) for one in facts]

    def _hypothesis(self, tokens: list[int], total: float, limit: int) -> list[Hypothesis]:
        """What a sentence's tokens are, of which only the first are its own."""
        if total == -torch.inf:
            return []
        tokens = tokens[:limit]
        finished = SYMBOL_IDS.end in tokens
        kept = tuple(tokens[: tokens.index(SYMBOL_IDS.end)] if finished else tokens)
        return [scored(kept, total, finished, self.settings)]
