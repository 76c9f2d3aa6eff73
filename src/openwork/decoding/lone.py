"""Beam search of one sentence: what `beam.py` does, by plain numbers.

For many sentences a search counts in tensors, since their operations cost a few microseconds each whatever their size.
For one sentence, with its few hypotheses, those hundred calls a step take longer than the model; lists take a tenth of
it. The numbers are rounded to float32 where tensors would be, so both searches find the same
(`tests/decoding/test_lone.py`). A model that can extend the hypotheses itself does.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import (
    GivenUp,
    Hypothesis,
    best_continuations,
    best_of,
    check_normaliser,
    choosing,
    is_settled,
    length_limits,
    nothing_given_up,
    penalty_of,
    scored,
)
from openwork.decoding.search_recorder import Considered, SearchRecorder
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import Continuations, StepModel, can_continue
from openwork.nn.shapes import AnySource


@torch.no_grad()
def search_one(
    model: StepModel,
    source: AnySource,
    source_lengths: Int[Tensor, "one"],
    settings: DecodingSettings,
    given_up: GivenUp = nothing_given_up,
    recorder: SearchRecorder | None = None,
) -> list[Hypothesis]:
    """The best finished hypotheses, the highest score first: as `beam_search` of this one sentence without rules."""
    beam = settings.beam
    results = Results(int(length_limits(source_lengths, settings)), settings)
    if recorder is not None:
        recorder.start(settings, results.limit)
    extended = _continuations(model, source, source_lengths, beam)
    histories: list[tuple[int, ...]] = [(SYMBOL_IDS.start,)]
    parents, values = [0], [0.0]
    while True:
        sums, tokens, normalisers = extended.extend([history[-1] for history in histories], parents, values)
        check_normaliser(sum(normalisers))
        width = len(sums) // len(histories)  # continuations of each hypothesis
        order = sorted(range(len(sums)), key=sums.__getitem__, reverse=True)[: 2 * beam]  # stable, reversed too
        possible = [place for place in order if sums[place] > -torch.inf]
        for place in possible[:beam]:
            if tokens[place] == SYMBOL_IDS.end:
                results.finish(histories[place // width][1:], sums[place])
        survivors = [place for place in possible if tokens[place] != SYMBOL_IDS.end][:beam]
        parents = [place // width for place in survivors]
        grown: list[tuple[int, ...]] = [
            (*histories[parent], tokens[place]) for parent, place in zip(parents, survivors, strict=True)
        ]
        own = [sums[place] for place in survivors]
        if recorder is not None:
            candidates = [Considered(place // width, tokens[place], sums[place]) for place in order]
            recorder.step(candidates, [(place // width, tokens[place]) for place in survivors], results.hypotheses)
        if results.are_settled(own, len(histories[0])) or given_up():
            results.stop(grown, own)
            if recorder is not None:
                recorder.stop(results.hypotheses)
            return best_of(results.hypotheses, settings)
        histories, values = grown, own


def _continuations(model: StepModel, source: AnySource, length: Int[Tensor, "one"], beam: int) -> Continuations:
    made = model.continuations(source, length, beam, 2 * beam) if can_continue(model) else None
    return made or SteppedContinuations(model, source, length, 2 * beam)


class SteppedContinuations:
    """`Continuations` of a model that offers steps."""

    def __init__(self, model: StepModel, source: AnySource, length: Int[Tensor, "one"], count: int) -> None:
        self.model, self.chooser, self.count = model, choosing(model), count
        self.state, self.rows = model.start(source, length), 1

    def extend(
        self, tokens: Sequence[int], parents: Sequence[int], values: Sequence[float]
    ) -> tuple[list[float], list[int], list[float]]:
        if list(parents) != list(range(self.rows)):
            self.state = self.state.select(torch.tensor(parents))
        self.rows = len(parents)
        logits, self.state = self.model.step(torch.tensor(tokens)[:, None], self.state)
        scores, ids = best_continuations(self.chooser, logits[:, -1], self.count)
        sums = scores + torch.tensor(values, dtype=scores.dtype)[:, None]
        return sums.flatten().tolist(), ids.flatten().tolist(), [0.0]  # log Z has been checked


class Results:
    """The finished hypotheses, and from them the knowledge of whether more can come; as `Finished` in `beam.py`."""

    def __init__(self, limit: int, settings: DecodingSettings) -> None:
        self.limit = limit
        self.settings = settings
        self.hypotheses: list[Hypothesis] = []
        self.scores: list[np.float32] = []  # of the finished ones, the best first

    def finish(self, tokens: tuple[int, ...], value: float) -> None:
        """Takes over a hypothesis that has ended, its symbols left out."""
        self.scores.append(np.float32(value) / self._penalty(len(tokens) + 1))
        self.scores.sort(reverse=True)
        self.hypotheses.append(scored(tokens, value, True, self.settings))

    def are_settled(self, values: list[float], length: int) -> bool:
        """Whether nothing that goes on, with these log-probabilities, can still change the result."""
        if not values or self.limit <= length:
            return True
        best, worst = self._score(self.settings.best - 1), self._score(self.settings.beam - 1)
        hope, now, last = np.float32(max(values)), self._penalty(length), self._penalty(self.limit)
        return bool(is_settled(self.settings, len(self.scores), best, worst, hope, now, last))

    def stop(self, histories: list[tuple[int, ...]], values: list[float]) -> None:
        """Takes over those that have not ended, start symbol and all, if none has or at the limit all shall count."""
        at_limit = bool(histories) and self.limit <= len(histories[0]) - 1
        if not self.scores or (self.settings.unfinished == "ranked" and at_limit):
            for tokens, value in zip(histories, values, strict=True):
                self.hypotheses.append(scored(tokens[1:], value, False, self.settings))

    def _score(self, place: int) -> np.float32:
        return self.scores[place] if place < len(self.scores) else np.float32(-np.inf)

    def _penalty(self, length: int) -> np.float32:
        return np.float32(penalty_of(length, self.settings))
