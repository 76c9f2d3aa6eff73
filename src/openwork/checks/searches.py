"""Checks of beam search: its scores by teacher forcing, and a beam of full width against exhaustive search."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from openwork.base.phrases import Joined
from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import Differences, LargestDifference, NotApplicable
from openwork.checks.context import Probe, Spot, VerifyContext
from openwork.checks.ways import Pass, reading
from openwork.decoding.rescore import alternatives, score_tokens
from openwork.decoding.scoring import Hypothesis
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inspection.parting import TARGET
from openwork.models.interfaces import StepModel

TOLERANCE = 1e-3  # nats: a score is a sum over a whole target
LONGEST_TARGET = 40  # tokens; bounds the cost for a model that never predicts the end symbol
PIECES, LIMIT = 5, 4  # of the exhaustive search: pieces with the end symbol, and most tokens of a target
FULL_WIDTH = PIECES**LIMIT  # a beam that holds every prefix
STRONG_PENALTY = 8.0  # with which a target of four tokens may have 25 times the negative log-probability of one


def score(length: int, log_probability: float, settings: DecodingSettings) -> float:
    """The score of a hypothesis of so many tokens by its definition (Wu et al. 2016, equation 14)."""
    base = float(length) if settings.length_rule == "power" else (5.0 + length) / 6.0
    return log_probability / math.exp(settings.length_penalty * math.log(base))


@torch.no_grad()
def target_log_probability(context: VerifyContext, probe: Probe, tokens: Sequence[int], *, ended: bool) -> float:
    """log P(target | source) by teacher forcing, in double precision: pad, unknown and start have no share."""
    outputs = [*tokens, SYMBOL_IDS.end] if ended else list(tokens)
    one = reading(context, [replace(probe, target=(SYMBOL_IDS.start, *outputs[:-1]))])
    allowed = one.logits()[0].double().clone()
    allowed[:, list(SYMBOL_IDS.forbidden)] = -torch.inf
    return float(allowed.log_softmax(-1).gather(1, torch.tensor(outputs, device=allowed.device)[:, None]).sum())


def rescored(context: VerifyContext) -> LargestDifference:
    """Each hypothesis has the score of its tokens by teacher forcing: log-probability over length penalty.

    The search has the bundle's beam, length penalty and patience. All sentences are searched in one batch; each
    hypothesis is scored alone, by the definition and as `openwork score` does it.
    """
    own = context.bundle.settings.decoding
    plain = DecodingSettings(
        beam=own.beam, best=own.beam, length_penalty=own.length_penalty, length_rule=own.length_rule,
        patience=own.patience, stopping=own.stopping,
        maximum_length=min(own.maximum_length, context.within(LONGEST_TARGET)),
    )  # fmt: skip
    together = reading(context, context.probes)
    found = decode(context.model, together.source, together.lengths, plain)
    differences = Differences(TOLERANCE)
    for number, (probe, hypotheses) in enumerate(zip(context.probes, found, strict=True)):
        one = reading(context, [probe])
        for hypothesis in hypotheses:
            tokens, ended = hypothesis.tokens, hypothesis.finished
            expected = target_log_probability(context, probe, tokens, ended=ended)
            (again,) = score_tokens(context.model, one.source, one.lengths, [tokens], ended=ended).sum(-1).tolist()
            apart = max(
                abs(hypothesis.log_probability - expected),
                abs(again - expected),
                abs(hypothesis.score - score(len(tokens) + ended, expected, plain)),
            )
            differences.add(apart, partial(_spot, context, number, tokens))
    return differences.result()


def exhaustive(context: VerifyContext) -> LargestDifference:
    """With few pieces and short targets, a beam as wide as there are prefixes finds every target, best first.

    Asked for the best alone, it must not stop before longer targets that a strong length penalty makes better. A
    sentence is searched alone and twice in a batch, since these are two searches (`decoding/lone.py`).
    """
    own = context.bundle.settings.decoding
    every = DecodingSettings(
        beam=FULL_WIDTH, best=FULL_WIDTH, length_penalty=own.length_penalty, length_rule=own.length_rule,
        maximum_length=context.within(LIMIT),
    )  # fmt: skip
    best = every.model_copy(update={"best": 1, "length_penalty": STRONG_PENALTY})
    differences = Differences(TOLERANCE)
    for number, probe in enumerate(context.probes):
        one = reading(context, [probe])
        small = EagerToEnd(context.model, _likely_pieces(context, probe))
        terms = _every_target(context, small, probe, every.maximum_length)
        scores = {tokens: score(len(tokens) + 1, value, every) for tokens, value in terms.items()}
        for found in _in_both_ways(small, one, every):
            listed = {hypothesis.tokens: hypothesis.score for hypothesis in found}
            if missing := scores.keys() - listed.keys():
                wrong = Joined(f"of {len(scores)} targets {len(missing)} were not found")
                return LargestDifference(differences.largest, TOLERANCE, _spot(context, number, min(missing)), wrong)
            apart = {tokens: abs(listed[tokens] - value) for tokens, value in scores.items()}
            furthest = max(apart, key=apart.__getitem__)
            disorder = max(scores.values()) - scores[found[0].tokens]
            differences.add(max(apart[furthest], disorder), partial(_spot, context, number, furthest))
        highest = max(score(len(tokens) + 1, value, best) for tokens, value in terms.items())
        for (found,) in _in_both_ways(small, one, best):
            differences.add(abs(highest - found.score), partial(_spot, context, number, found.tokens))
    return differences.result()


def _in_both_ways(model: StepModel[Any], one: Pass, settings: DecodingSettings) -> list[list[Hypothesis]]:
    """What is found for one sentence alone, and for the same in a batch."""
    (alone,) = decode(model, one.source, one.lengths, settings)
    return [alone, decode(model, torch.cat([one.source] * 2), one.lengths.repeat(2), settings)[0]]


@dataclass(frozen=True)
class SmallVocabulary:
    """A model whose output is restricted to some pieces; these keep their ids and relative probabilities."""

    model: StepModel[Any]
    pieces: tuple[int, ...]

    def start(self, source: Tensor, source_lengths: Tensor) -> Any:
        return self.model.start(source, source_lengths)

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = self.model.step(tokens, state)
        small = torch.full_like(logits, -torch.inf)
        small[..., self.pieces] = logits[..., self.pieces]
        return small, state


class EagerToEnd(SmallVocabulary):
    """The end is e times as probable as the best of the others, so that a search always finds a short target first."""

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        logits, state = super().step(tokens, state)
        logits[..., SYMBOL_IDS.end] = logits[..., self.pieces[1:]].amax(-1) + 1.0
        return logits, state


def _likely_pieces(context: VerifyContext, probe: Probe) -> tuple[int, ...]:
    """The end symbol and the most probable first pieces."""
    one = reading(context, [probe])
    (likely,) = alternatives(context.model, one.source, one.lengths, [()], PIECES)
    pieces = [piece for piece, _ in likely if piece != SYMBOL_IDS.end][: PIECES - 1]
    if len(pieces) < PIECES - 1:
        raise NotApplicable("its vocabulary is too small")
    return (SYMBOL_IDS.end, *sorted(pieces))


def _every_target(
    context: VerifyContext, small: SmallVocabulary, probe: Probe, most: int
) -> dict[tuple[int, ...], float]:
    """Every target that ends within `most` tokens, with its log-probability."""
    targets = [tokens for length in range(most) for tokens in product(small.pieces[1:], repeat=length)]
    one = reading(context, [probe] * len(targets))
    values = score_tokens(small, one.source, one.lengths, targets).sum(-1).tolist()
    return dict(zip(targets, values, strict=True))


def _spot(context: VerifyContext, number: int, tokens: Sequence[int]) -> Spot:
    pieces = map(context.bundle.tokenizers.target.piece, tokens)
    return Spot(sentence=number + 1, side=TARGET, position=len(tokens), piece=" ".join(pieces))
