"""Checks of beam search: its scores by teacher forcing, and a beam of full width against exhaustive search."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor

from openwork.base.phrases import Joined
from openwork.base.symbols import SYMBOL_IDS
from openwork.checks.check import Differences, LargestDifference, NotApplicable
from openwork.checks.context import Probe, Spot, VerifyContext
from openwork.checks.plain_search import score, target_log_probability
from openwork.checks.ways import reading
from openwork.decoding.rescore import alternatives
from openwork.decoding.rescore import score as scored_again
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings
from openwork.inspection.parting import TARGET
from openwork.models.interfaces import StepModel

TOLERANCE = 1e-3  # nats: a score is a sum over a whole target
LONGEST_TARGET = 40  # tokens; bounds the cost for a model that never predicts the end symbol
PIECES, LIMIT = 5, 4  # of the exhaustive search: pieces with the end symbol, and most tokens of a target
FULL_WIDTH = PIECES**LIMIT  # a beam that holds every prefix


def rescored(context: VerifyContext) -> LargestDifference:
    """Each hypothesis has the score of its tokens by teacher forcing: log-probability over length penalty.

    The search has the bundle's beam, length penalty and patience. All sentences are searched in one batch; each
    hypothesis is scored alone, by the definition (`plain_search.py`) and as `openwork score` does it.
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
            expected = target_log_probability(context.model, one.source, one.lengths, tokens, ended=ended)
            (again,) = scored_again(context.model, one.source, one.lengths, [tokens], ended=ended).tolist()
            apart = max(
                abs(hypothesis.log_probability - expected),
                abs(again - expected),
                abs(hypothesis.score - score(len(tokens) + ended, expected, plain)),
            )
            differences.add(apart, partial(_spot, context, number, tokens))
    return differences.result()


def exhaustive(context: VerifyContext) -> LargestDifference:
    """With few pieces and short targets, a beam as wide as there are prefixes finds every target, best first.

    A sentence is searched alone and twice in a batch, since these are two searches (`decoding/lone.py`).
    """
    own = context.bundle.settings.decoding
    settings = DecodingSettings(
        beam=FULL_WIDTH, best=FULL_WIDTH, length_penalty=own.length_penalty, length_rule=own.length_rule,
        maximum_length=context.within(LIMIT),
    )  # fmt: skip
    differences = Differences(TOLERANCE)
    for number, probe in enumerate(context.probes):
        one = reading(context, [probe])
        small = SmallVocabulary(context.model, _likely_pieces(context, probe))
        (alone,) = decode(small, one.source, one.lengths, settings)
        in_batch, _ = decode(small, one.source.repeat(2, 1), one.lengths.repeat(2), settings)
        scores = _every_score(context, small, probe, settings)
        for found in (alone, in_batch):
            listed = {hypothesis.tokens: hypothesis.score for hypothesis in found}
            if missing := scores.keys() - listed.keys():
                wrong = Joined(f"of {len(scores)} targets {len(missing)} were not found")
                return LargestDifference(differences.largest, TOLERANCE, _spot(context, number, min(missing)), wrong)
            apart = {tokens: abs(listed[tokens] - value) for tokens, value in scores.items()}
            furthest = max(apart, key=apart.__getitem__)
            disorder = max(scores.values()) - scores[found[0].tokens]
            differences.add(max(apart[furthest], disorder), partial(_spot, context, number, furthest))
    return differences.result()


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


def _likely_pieces(context: VerifyContext, probe: Probe) -> tuple[int, ...]:
    """The end symbol and the most probable first pieces."""
    one = reading(context, [probe])
    (likely,) = alternatives(context.model, one.source, one.lengths, [()], PIECES)
    pieces = [piece for piece, _ in likely if piece != SYMBOL_IDS.end][: PIECES - 1]
    if len(pieces) < PIECES - 1:
        raise NotApplicable("its vocabulary is too small")
    return (SYMBOL_IDS.end, *sorted(pieces))


def _every_score(
    context: VerifyContext, small: SmallVocabulary, probe: Probe, settings: DecodingSettings
) -> dict[tuple[int, ...], float]:
    """Every target that ends within the limit, with its score."""
    targets = [
        tokens for length in range(settings.maximum_length) for tokens in product(small.pieces[1:], repeat=length)
    ]
    one = reading(context, [probe] * len(targets))
    values = scored_again(small, one.source, one.lengths, targets).tolist()
    pairs = zip(targets, values, strict=True)
    return {tokens: score(len(tokens) + 1, value, settings) for tokens, value in pairs}


def _spot(context: VerifyContext, number: int, tokens: Sequence[int]) -> Spot:
    pieces = map(context.bundle.tokenizers.target.piece, tokens)
    return Spot(sentence=number + 1, side=TARGET, position=len(tokens), piece=" ".join(pieces))
