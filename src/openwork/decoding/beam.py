"""Beam search: at each step the most probable few prefixes of each sentence are continued.

A step, for all sentences at once:

    expand      every live hypothesis by its best next tokens; the best 2 x beam of a sentence are its candidates
    collect     a candidate that ends, and is among the best `beam`, is a finished hypothesis
    survivors   the best `beam` candidates that do not end are the new live hypotheses

Twice the beam, because at most `beam` of them can end: so `beam` remain to go on.

Constraints and diversity are other ways to expand; the coverage penalty gives each hypothesis a credit when it ends.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding import rows
from openwork.decoding.rules import Prefixes, TokenRule, restrict
from openwork.decoding.scoring import (
    GivenUp,
    Hypothesis,
    allow,
    best_continuations,
    best_of,
    best_tokens,
    choosing,
    is_settled,
    length_limits,
    log_normaliser,
    nothing_given_up,
    penalty_of,
    scored,
)
from openwork.decoding.search_recorder import Considered, SearchRecorder
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel
from openwork.nn.shapes import AnySource, Lengths, Logits


@dataclass(frozen=True)
class Live:
    """The hypotheses that go on. A place of the beam that is not taken has log-probability -inf."""

    sentences: Int[Tensor, "sentence"]  # the place of each one in the caller's batch
    tokens: Int[Tensor, "sentence beam position"]  # the start symbol first
    log_probabilities: Float[Tensor, "sentence beam"]

    def prefixes(self) -> Prefixes:
        """The same as rows."""
        return Prefixes(self.sentences.repeat_interleave(self.tokens.shape[1]), rows.fold(self.tokens))

    def newest(self, parents: Int[Tensor, "sentence beam"]) -> list[tuple[int, int]]:
        """Of the first sentence, for each hypothesis the place before and the newest token."""
        taken = (self.log_probabilities[0] > -torch.inf).nonzero().squeeze(-1)
        return list(zip(parents[0, taken].tolist(), self.tokens[0, taken, -1].tolist(), strict=True))


@dataclass(frozen=True)
class Candidates:
    """Continuations by one token, the one most wanted of each sentence first: usually the most probable."""

    log_probabilities: Float[Tensor, "sentence candidate"]
    parents: Int[Tensor, "sentence candidate"]  # places in the beam
    tokens: Int[Tensor, "sentence candidate"]

    def listed(self) -> list[Considered]:
        """Those of the first sentence."""
        columns = (self.parents[0].tolist(), self.tokens[0].tolist(), self.log_probabilities[0].tolist())
        return [Considered(*one) for one in zip(*columns, strict=True)]


Expansion = Callable[[Live, Tensor, int], Candidates]
"""The candidates of a step: what may follow each live hypothesis, from logits (rows, vocabulary) and the beam."""

Credit = Callable[[Any], Tensor]
"""What is added to the score of each row of a model's state, if it ends now; never above zero."""


@torch.no_grad()
def beam_search(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    settings: DecodingSettings,
    expansion: Expansion | None = None,
    credit: Credit | None = None,
    given_up: GivenUp = nothing_given_up,
    recorder: SearchRecorder | None = None,
) -> list[list[Hypothesis]]:
    """The best finished hypotheses of each sentence, at most `settings.best`, the highest score first.

    A sentence is done, and leaves the batch, when it has `patience` x `beam` finished hypotheses, or earlier when
    no live one can still enter the best, or when it is given up. At its length limit it is stopped; its unfinished
    hypotheses are given only if none is finished, so that every sentence has at least one, unless its rules allow none.
    (`stopping` and `unfinished` in the settings may say otherwise.) Of equals, the better parent and then the lower id
    comes first. The model should be in evaluation mode. `recorder`: gets what the search of one sentence does.
    """
    batch = source.shape[0]
    if batch == 0:
        return []
    expansion = expansion or Expand((), model)
    finished = Finished(length_limits(source_lengths, settings), settings)
    live = Live(
        torch.arange(batch, device=source.device),
        source_lengths.new_full((batch, 1, 1), SYMBOL_IDS.start),
        torch.zeros(batch, 1, device=source.device),
    )
    state = model.start(source, source_lengths)
    if recorder is not None:
        recorder.start(settings, int(finished.limits))
    while True:
        logits, state = model.step(rows.fold(live.tokens[..., -1:]), state)
        candidates = expansion(live, logits[:, -1], settings.beam)
        credits = None if credit is None else rows.unfold(credit(state), live.tokens.shape[1])
        finished.collect(live, candidates, credits)
        grown, parents = survivors(live, candidates, settings.beam)
        if recorder is not None:
            is_ruled = isinstance(expansion, Expand) and expansion.is_ruled
            unruled = Expand()(live, logits[:, -1], settings.beam).listed() if is_ruled else ()
            recorder.step(candidates.listed(), grown.newest(parents), finished.hypotheses[0], unruled)
        done = finished.done(grown)
        if left := given_up():
            done |= torch.isin(grown.sentences, torch.tensor(sorted(left), device=done.device))
        finished.stop(grown, done, None if credits is None else credits.gather(1, parents))
        kept = (~done).nonzero().squeeze(-1)
        if kept.numel() == 0:
            if recorder is not None:
                recorder.stop(finished.hypotheses[0])
            return finished.ranked()
        sentences, beam = live.log_probabilities.shape
        chosen = rows.selection(kept, parents[kept], beam)
        if not rows.in_place(chosen, sentences * beam):
            state = state.select(chosen)
        live = Live(grown.sentences[kept], grown.tokens[kept], grown.log_probabilities[kept])


class Expand:
    """The best 2 x beam continuations of each sentence that the rules allow (fewer if there are no more)."""

    def __init__(self, rules: Sequence[TokenRule] = (), model: StepModel | None = None) -> None:
        self.rules = rules
        self.chooser = choosing(model)

    @property
    def is_ruled(self) -> bool:
        """Whether others may be candidates than the most probable."""
        return bool(self.rules)

    def __call__(self, live: Live, logits: Logits, beam: int) -> Candidates:
        width = live.tokens.shape[1]
        values, tokens = self._best(live, logits, 2 * beam)
        choices = tokens.shape[-1]
        values = rows.unfold(values, width) + live.log_probabilities[..., None]
        best, order = values.flatten(1).sort(dim=-1, descending=True, stable=True)
        best, order = best[:, : 2 * beam], order[:, : 2 * beam]
        return Candidates(best, order // choices, rows.unfold(tokens, width).flatten(1).gather(1, order))

    def _best(self, live: Live, logits: Tensor, count: int) -> tuple[Tensor, Tensor]:
        if not self.rules:
            return best_continuations(self.chooser, logits, count)
        scores, normaliser = self.scores(live, logits)
        values, tokens = best_tokens(scores, count)
        return values - normaliser, tokens

    def scores(self, live: Live, logits: Logits) -> tuple[Logits, Float[Tensor, "rows 1"]]:
        """The logits, minus infinity for what may not come, and what makes log-probabilities of them."""
        allowed = allow(logits)
        normaliser = log_normaliser(allowed)
        if self.rules:
            allowed = restrict(allowed, normaliser, self.rules, live.prefixes())
        return allowed, normaliser


def survivors(live: Live, candidates: Candidates, beam: int) -> tuple[Live, Int[Tensor, "sentence beam"]]:
    """The best candidates that do not end, as the new live hypotheses, and their parents' places."""
    ended = candidates.tokens == SYMBOL_IDS.end
    values = candidates.log_probabilities.masked_fill(ended, -torch.inf)
    order = (values == -torch.inf).long().argsort(dim=-1, stable=True)[:, :beam]
    width = int((values > -torch.inf).sum(-1).max().clamp(1, order.shape[1]))  # places that no sentence takes: away
    order = order[:, :width]
    parents = candidates.parents.gather(1, order)
    history = live.tokens.gather(1, parents[..., None].expand(-1, -1, live.tokens.shape[2]))
    tokens = torch.cat([history, candidates.tokens.gather(1, order)[..., None]], dim=-1)
    return Live(live.sentences, tokens, values.gather(1, order)), parents


class Finished:
    """The finished hypotheses of a batch, and from them the knowledge of which sentences are done."""

    def __init__(self, limits: Lengths, settings: DecodingSettings) -> None:
        self.settings = settings
        self.limits = limits
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(limits.shape[0])]
        self.counts = torch.zeros_like(limits)
        # the scores of the best few so far, best first: what a live hypothesis has to beat
        kept = settings.best if settings.stopping == "enough" else settings.beam
        self.best = torch.full((limits.shape[0], kept), -torch.inf, device=limits.device)
        lengths = range(int(limits.max()) + 1)
        self.penalties = torch.tensor([penalty_of(n, settings) for n in lengths], device=limits.device)

    def collect(self, live: Live, candidates: Candidates, credits: Tensor | None = None) -> None:
        """Takes over the candidates that end, if they are among the first `beam` of their sentence.

        `credits` (sentence, beam) are added to the scores, each to those of its place's continuations.
        """
        values = candidates.log_probabilities[:, : self.settings.beam]
        ended = (candidates.tokens[:, : self.settings.beam] == SYMBOL_IDS.end) & (values > -torch.inf)
        if not bool(ended.any()):
            return
        length = live.tokens.shape[2]  # with the end symbol, without the start symbol
        scores = torch.where(ended, values / self.penalties[length], -torch.inf)
        added = None if credits is None else credits.gather(1, candidates.parents[:, : self.settings.beam])
        scores = scores if added is None else scores + added
        known = torch.cat([self.best[live.sentences], scores], dim=-1)
        self.best[live.sentences] = known.topk(self.best.shape[1]).values
        self.counts[live.sentences] += ended.sum(-1)
        sentence, place = ended.nonzero(as_tuple=True)
        parents = candidates.parents[sentence, place]
        chosen = live.sentences[sentence], live.tokens[sentence, parents], values[sentence, place]
        self._add(*chosen, True, None if added is None else added[sentence, place])

    def done(self, live: Live) -> Bool[Tensor, "sentence"]:
        """True for the sentences whose result is settled, at their limit, or without a live hypothesis."""
        s = live.sentences
        limits = self.limits[s]
        hope = live.log_probabilities.max(-1).values
        length = live.tokens.shape[2] - 1
        best, worst = self.best[s, self.settings.best - 1], self.best[s, -1]
        now, last = self.penalties[length], self.penalties[limits]
        settled = is_settled(self.settings, self.counts[s], best, worst, hope, now, last)
        return settled | (limits <= length) | (hope == -torch.inf)

    def stop(self, live: Live, done: Bool[Tensor, "sentence"], credits: Tensor | None = None) -> None:
        """Takes over unfinished hypotheses: of sentences that are done without a finished one, or all at the limit."""
        taken = done & (self.counts[live.sentences] == 0)
        if self.settings.unfinished == "ranked":
            taken |= self.limits[live.sentences] <= live.tokens.shape[2] - 1
        if bool(taken.any()):
            sentence, place = (taken[:, None] & (live.log_probabilities > -torch.inf)).nonzero(as_tuple=True)
            chosen = live.sentences[sentence], live.tokens[sentence, place], live.log_probabilities[sentence, place]
            self._add(*chosen, False, None if credits is None else credits[sentence, place])

    def ranked(self) -> list[list[Hypothesis]]:
        """The best of each sentence; of equal scores the one found first."""
        return [best_of(found, self.settings) for found in self.hypotheses]

    def _add(self, sentences: Tensor, tokens: Tensor, values: Tensor, finished: bool, credits: Tensor | None) -> None:
        added = [0.0] * values.shape[0] if credits is None else credits.tolist()
        # tolist() once for all: a loop over single tensor elements would cost more than the search
        rows_of = zip(sentences.tolist(), tokens.tolist(), values.tolist(), added, strict=True)
        for sentence, written, value, credit in rows_of:
            self.hypotheses[sentence].append(scored(tuple(written[1:]), value, finished, self.settings, credit))
