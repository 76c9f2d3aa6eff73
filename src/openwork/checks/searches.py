"""Checks of the search: its scores by another way, and whether a beam that holds everything finds everything."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import LargestDifference, NotApplicable
from openwork.checks.formulas import score, target_log_probability
from openwork.checks.passes import reading
from openwork.checks.subject import Probe, Spot, VerifyContext
from openwork.decoding.alternatives import alternatives
from openwork.decoding.rescore import score as scored_again
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inspection.parting import TARGET
from openwork.models.interfaces import StepModel

TOLERANCE = 1e-3  # nats: a score is a sum over a whole target
LONGEST_TARGET = 40  # where a search is stopped, so that a model that never ends costs little
PIECES, LIMIT = 5, 4  # pieces, the end symbol among them, and most tokens of a target that is one of all there are
EVERYTHING = PIECES**LIMIT  # a beam that holds every beginning


def rescored(subject: VerifyContext) -> LargestDifference:
    """Each hypothesis has the score that follows from its tokens: the probability by teacher forcing, over the penalty.

    The search is a plain one with the bundle's beam, length penalty and patience; all sentences are searched together,
    and each hypothesis is scored for itself, by the definition (`formulas.py`) and as `openwork score` does it.
    """
    own = subject.bundle.settings.decoding
    plain = DecodingSettings(
        beam=own.beam, best=own.beam, length_penalty=own.length_penalty, length_rule=own.length_rule,
        patience=own.patience, stopping=own.stopping,
        maximum_length=min(own.maximum_length, subject.within(LONGEST_TARGET)),
    )  # fmt: skip
    together = reading(subject, subject.probes)
    found = decode(subject.model, together.source, together.lengths, plain)
    worst, spot = 0.0, None
    for number, (probe, hypotheses) in enumerate(zip(subject.probes, found, strict=True)):
        one = reading(subject, [probe])
        for hypothesis in hypotheses:
            tokens, ended = hypothesis.tokens, hypothesis.finished
            expected = target_log_probability(subject.model, one.source, one.lengths, tokens, ended=ended)
            (again,) = scored_again(subject.model, one.source, one.lengths, [tokens], ended=ended).tolist()
            apart = max(
                abs(hypothesis.log_probability - expected),
                abs(again - expected),
                abs(hypothesis.score - score(len(tokens) + ended, expected, plain)),
            )
            if apart > TOLERANCE and spot is None:
                spot = _spot(subject, number, tokens)
            worst = max(worst, apart)
    return LargestDifference(worst, TOLERANCE, spot)


def exhaustive(subject: VerifyContext) -> LargestDifference:
    """With few pieces and short targets, a beam as wide as there are beginnings gives every target, best first.

    A sentence is searched alone and beside itself, since these are two searches (`decoding/lone.py`).
    """
    own = subject.bundle.settings.decoding
    settings = DecodingSettings(
        beam=EVERYTHING, best=EVERYTHING, length_penalty=own.length_penalty, length_rule=own.length_rule,
        maximum_length=subject.within(LIMIT),
    )  # fmt: skip
    worst, spot = 0.0, None
    for number, probe in enumerate(subject.probes):
        one = reading(subject, [probe])
        small = SmallVocabulary(subject.model, _likely_pieces(subject, probe))
        (alone,) = decode(small, one.source, one.lengths, settings)
        beside, _ = decode(small, one.source.repeat(2, 1), one.lengths.repeat(2), settings)
        scores = _every_score(subject, small, probe, settings)
        for found in (alone, beside):
            listed = {hypothesis.tokens: hypothesis.score for hypothesis in found}
            if missing := scores.keys() - listed.keys():
                return LargestDifference(
                    worst, TOLERANCE, _spot(subject, number, min(missing)), _missing_reason(len(missing), len(scores))
                )
            apart = {tokens: abs(listed[tokens] - value) for tokens, value in scores.items()}
            furthest = max(apart, key=apart.__getitem__)
            disorder = max(scores.values()) - scores[found[0].tokens]
            if spot is None and max(apart[furthest], disorder) > TOLERANCE:
                spot = _spot(subject, number, furthest)
            worst = max(worst, apart[furthest], disorder)
    return LargestDifference(worst, TOLERANCE, spot)


@dataclass(frozen=True)
class SmallVocabulary:
    """A model that may say only some of its pieces; they keep their ids, and their shares of the probability."""

    model: StepModel[Any]
    pieces: tuple[int, ...]

    def start(self, source: Tensor, source_lengths: Tensor) -> Any:
        return self.model.start(source, source_lengths)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = self.model.step(tokens, state)
        small = torch.full_like(logits, -torch.inf)
        small[..., self.pieces] = logits[..., self.pieces]
        return small, state


def _likely_pieces(subject: VerifyContext, probe: Probe) -> tuple[int, ...]:
    """The end symbol and the most probable first pieces."""
    one = reading(subject, [probe])
    (likely,) = alternatives(subject.model, one.source, one.lengths, [()], PIECES)
    pieces = [piece for piece, _ in likely if piece != SYMBOL_IDS.end][: PIECES - 1]
    if len(pieces) < PIECES - 1:
        raise NotApplicable("its vocabulary is too small")
    return (SYMBOL_IDS.end, *sorted(pieces))


def _every_score(
    subject: VerifyContext, small: SmallVocabulary, probe: Probe, settings: DecodingSettings
) -> dict[tuple[int, ...], float]:
    """Every target that ends within the limit, with its score."""
    targets = [
        tokens for length in range(settings.maximum_length) for tokens in product(small.pieces[1:], repeat=length)
    ]
    one = reading(subject, [probe] * len(targets))
    values = scored_again(small, one.source, one.lengths, targets).tolist()
    pairs = zip(targets, values, strict=True)
    return {tokens: score(len(tokens) + 1, value, settings) for tokens, value in pairs}


def _spot(subject: VerifyContext, number: int, tokens: Sequence[int]) -> Spot:
    """A hypothesis, by its sentence and pieces."""
    pieces = map(subject.bundle.tokenizers.target.piece, tokens)
    return Spot(sentence=number + 1, side=TARGET, position=len(tokens), piece=" ".join(pieces))


def _missing_reason(missing: int, count: int) -> str:
    return f"of {count} targets {missing} were not found"
