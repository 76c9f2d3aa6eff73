"""Beam search on tensors of fixed sizes: as `beam.beam_search` without rules and credits."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding import rows
from openwork.decoding.fixed.choice import best_in_order, normaliser_of
from openwork.decoding.fixed.found import FoundHypotheses
from openwork.decoding.fixed.model import FixedModel
from openwork.decoding.fixed.search import FixedSearch
from openwork.decoding.scoring import Hypothesis, is_settled, penalty_of
from openwork.decoding.settings import DecodingSettings
from openwork.machine.device import on_device
from openwork.nn.kernels.gpu import doubled
from openwork.nn.kernels.gpu.choice import BestParts, best_parts, is_suited
from openwork.nn.shapes import Lengths


class FixedBeamSearch(FixedSearch):
    """The live hypotheses, and what each step has found.

    `parents` (rows): the rows that these continue. `ended` (step, sentence, beam): the log-probabilities of the
    hypotheses that ended at a step, -inf where none did, and `continued` the rows that they continue. `stopped`
    (sentence, beam): those of hypotheses that have not ended when their sentence was done, if they count, and `lengths`
    (sentence) how many tokens they have.
    """

    def __init__(self, model: FixedModel, settings: DecodingSettings) -> None:
        super().__init__(model, settings)
        device, shape = model.device, (self.sentences, self.beam)
        self.first_rows: Int[Tensor, "sentence 1"] = torch.arange(0, self.rows, self.beam, device=device)[:, None]
        self.own_rows = torch.arange(self.rows, device=device)
        self.parents = self.own_rows.clone()
        self.log_probabilities: Float[Tensor, "sentence beam"] = torch.zeros(shape, device=device)
        self.ancestors = torch.zeros_like(self.history)
        self.ended: Float[Tensor, "step sentence beam"] = torch.zeros((model.capacity, *shape), device=device)
        self.continued = torch.zeros_like(self.ended, dtype=torch.int32)
        self.stopped: Float[Tensor, "sentence beam"] = torch.zeros(shape, device=device)
        self.lengths = torch.zeros_like(self.limits)
        self.counts = torch.zeros_like(self.limits)
        # the scores of the best few so far, best first: what a live hypothesis has to beat
        kept = settings.best if settings.stopping == "enough" else settings.beam
        self.best: Float[Tensor, "sentence kept"] = torch.zeros(self.sentences, kept, device=device)
        self.scores = torch.zeros(shape, device=device)  # of those that ended at the last step, -inf where none did
        self.normalisers = torch.zeros(self.sentences, device=device)  # the sums of log Z, as kernels leave them
        self.has_kernels = is_suited(device, model.vocabulary, self.beam, 2 * self.beam)
        lengths = range(1, model.capacity + 1)
        self.penalties: Float[Tensor, "step"] = torch.tensor([penalty_of(n, settings) for n in lengths], device=device)
        self.last_penalties: Float[Tensor, "sentence"] = torch.ones(self.sentences, device=device)

    def start(self, limits: Lengths) -> None:
        super().start(limits)
        self.parents.copy_(self.own_rows)
        self.log_probabilities.fill_(-torch.inf)
        self.log_probabilities[:, 0] = 0.0
        self.stopped.fill_(-torch.inf)
        self.lengths.zero_()
        self.counts.zero_()
        self.best.fill_(-torch.inf)
        self.last_penalties.fill_(1.0)
        if self.used:
            known = [penalty_of(n, self.settings) for n in range(1, int(limits.max()) + 1)]
            last = torch.tensor(known)[limits.cpu() - 1]
            self.last_penalties[: self.used] = on_device(last, self.limits.device)

    def advance(self) -> None:
        now = self.penalties.index_select(0, self.position.view(1))
        if self.has_kernels:
            self._choose(best_parts(self._logits(), self.added, 2 * self.beam))
        else:
            values, parents, tokens = self._candidates()
            self._collect(values, parents, tokens, now)
            self._survive(values, parents, tokens)
        known = torch.cat([self.best, self.scores], dim=-1)
        self.best.copy_(known.sort(dim=-1, descending=True).values[:, : self.best.shape[1]])
        self.position.add_(1)
        self._stop(now)
        self._end()

    def _choose(self, best: BestParts) -> None:
        """As `_candidates`, `_collect` and `_survive`, by a kernel."""
        from openwork.nn.kernels.gpu.choice_kernels import take_beam

        parts = best.shifts.shape[1]
        take_beam[(self.sentences,)](
            *best.all, self.tokens, self.parents, self.log_probabilities, self.history, self.ancestors, self.ended,
            self.continued, self.scores, self.counts, self.done, self.normalisers, self.penalties, self.position,
            self.sentences, self.beam, parts, 2 * self.beam, self.model.vocabulary, SYMBOL_IDS.end,
            ROWS=doubled(self.beam), PARTS=doubled(parts), EACH=doubled(parts * 2 * self.beam),
        )  # fmt: skip
        self.check.add_(self.normalisers.sum())

    def _parents(self) -> Int[Tensor, "rows"]:
        return self.parents

    def _candidates(self) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations by one token of each sentence, best first.

        Log-probabilities, the rows that they continue, and tokens; each (sentence, candidate).
        """
        scores = self._scores()
        values, tokens = best_in_order(scores, 2 * self.beam)
        normaliser = normaliser_of(scores, values[:, :1], tokens[:, :1])
        dead = self.log_probabilities == -torch.inf
        uncounted = (dead | self.done[:, None]).flatten()
        self.check.add_(normaliser.squeeze(1).masked_fill(uncounted, 0.0).sum())
        sums = rows.unfold(values - normaliser, self.beam) + self.log_probabilities[..., None]
        sums = sums.masked_fill(dead[..., None], -torch.inf)
        best, order = sums.flatten(1).sort(dim=-1, descending=True, stable=True)
        best, order = best[:, : 2 * self.beam], order[:, : 2 * self.beam]
        parents = order // tokens.shape[-1] + self.first_rows
        return best, parents, rows.unfold(tokens, self.beam).flatten(1).gather(1, order)

    def _collect(self, values: Tensor, parents: Tensor, tokens: Tensor, now: Tensor) -> None:
        """Takes over the candidates that end, if they are among the first `beam` of their sentence."""
        values, parents = values[:, : self.beam], parents[:, : self.beam]
        ended = (tokens[:, : self.beam] == SYMBOL_IDS.end) & (values > -torch.inf) & ~self.done[:, None]
        values = values.masked_fill(~ended, -torch.inf)
        self.scores.copy_((values / now).masked_fill_(~ended, -torch.inf))
        self.counts.add_(ended.sum(-1))
        self._put(self.ended, values)
        self._put(self.continued, parents)

    def _survive(self, values: Tensor, parents: Tensor, tokens: Tensor) -> None:
        """The best candidates that do not end are the new live hypotheses."""
        values = values.masked_fill(tokens == SYMBOL_IDS.end, -torch.inf)
        order = (values == -torch.inf).long().argsort(dim=-1, stable=True)[:, : self.beam]
        self.log_probabilities.copy_(values.gather(1, order))
        self.parents.copy_(rows.fold(parents.gather(1, order)))
        self.tokens.copy_(rows.fold(tokens.gather(1, order)))
        self._put(self.history, self.tokens)
        self._put(self.ancestors, self.parents)

    def _stop(self, now: Tensor) -> None:
        """Finds which sentences are done, and takes over their unfinished hypotheses where these count."""
        settled = self._settled(now)
        stops = (settled & ~self.done)[:, None]
        counted = self.counts == 0
        if self.settings.unfinished == "ranked":
            counted = counted | (self.limits <= self.position)
        taken = self.log_probabilities.masked_fill(~counted[:, None], -torch.inf)
        self.stopped.copy_(torch.where(stops, taken, self.stopped))
        self.lengths.copy_(torch.where(stops.squeeze(1), self.position, self.lengths))
        self.done.logical_or_(settled)

    def _settled(self, now: Tensor) -> Bool[Tensor, "sentence"]:
        """True for the sentences whose result is settled, at their limit, or without a live hypothesis."""
        hope = self.log_probabilities.amax(-1)
        best, worst = self.best[:, self.settings.best - 1], self.best[:, -1]
        settled = is_settled(self.settings, self.counts, best, worst, hope, now, self.last_penalties)
        return settled | (self.limits <= self.position) | (hope == -torch.inf)

    def _left(self) -> list[Tensor]:
        stored = self.history, self.ancestors, self.ended, self.continued
        return [*(part[: self.steps] for part in stored), self.stopped, self.lengths]

    def _hypotheses(self, used: int, *left: Any) -> list[list[Hypothesis]]:
        return FoundHypotheses(*left).best(used, self.settings)
