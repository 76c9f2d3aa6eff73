"""What is searched for: which tokens may come, how long a target may be, and how targets are ranked.

Every search and the re-scoring take these facts from here, so that a hypothesis means the same everywhere.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.errors import OpenworkError
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.settings import DecodingSettings, LengthRule
from openwork.models.interfaces import ChoosingModel, StepModel, can_choose
from openwork.nn.shapes import Lengths, Logits


@dataclass(frozen=True)
class Hypothesis:
    """One target sequence that a search proposes.

    `tokens` leaves out the start and the end symbol. `log_probability` is log P(tokens, end | source) in nats; of an
    unfinished hypothesis, one that the length limit stopped before its end symbol, log P(tokens | source). `score`
    is that divided by the length penalty; hypotheses are ranked by it.
    """

    tokens: tuple[int, ...]
    log_probability: float
    score: float
    finished: bool


def length_penalty(length: int, alpha: float, rule: LengthRule = "paper") -> float:
    """((5 + length) / 6)^alpha, the length in tokens with the end symbol (Wu et al. 2016, equation 14).

    A log-probability is divided by it, so the score of a longer target is raised. It grows with the length. The rule
    "power" is length^alpha, as Hugging Face's transformers have it: with alpha 1 the score is the mean of the tokens'
    log-probabilities.
    """
    return (length if rule == "power" else (5 + length) / 6) ** alpha


def penalty_of(length: int, settings: DecodingSettings) -> float:
    return length_penalty(length, settings.length_penalty, settings.length_rule)


def scored(
    tokens: tuple[int, ...], log_probability: float, finished: bool, settings: DecodingSettings, credit: float = 0.0
) -> Hypothesis:
    """The hypothesis with its score: its log-probability over the length penalty, plus the credit."""
    score = log_probability / penalty_of(len(tokens) + finished, settings)  # the end symbol counts
    return Hypothesis(tokens, log_probability, score + credit, finished)


def best_of(found: Sequence[Hypothesis], settings: DecodingSettings) -> list[Hypothesis]:
    """Those with the highest scores, best first; of equal scores the one found first."""
    return sorted(found, key=lambda one: -one.score)[: settings.best]


GivenUp = Callable[[], Collection[int]]
"""The sentences of a batch whose result nobody waits for any longer; asked at each step, at which they leave it."""


def nothing_given_up() -> Collection[int]:
    return ()


def is_settled(settings: DecodingSettings, count: Any, best: Any, worst: Any, hope: Any, now: Any, last: Any) -> Any:
    """Whether no continuation can change the result of a sentence: for numbers or for tensors of a batch.

    `count`: finished hypotheses. `best` and `worst`: the scores of number `best` and number `beam` of them. `hope`: the
    highest log-probability of a live one. `now` and `last`: the length penalties of its length and of the limit.

    A log-probability only falls and a penalty only grows with the length, so no continuation can score more than `hope`
    over the penalty of the longest target allowed. `stopping` = "no-better" is the rule of Hugging Face's transformers:
    enough are finished, and no live one has, at its length now, a better score than the worst of the best `beam`.
    """
    full = count >= settings.patience * settings.beam
    if settings.stopping == "no-better":
        full = full & (worst >= hope / now)
    return (best > hope / last) | full


def length_limits(source_lengths: Lengths, settings: DecodingSettings) -> Lengths:
    """The most tokens, end symbol included, that each target may have; at least one."""
    return (source_lengths + settings.extra_length).clamp(1, settings.maximum_length)


def allow(logits: Float[Tensor, "*rows vocabulary"]) -> Float[Tensor, "*rows vocabulary"]:
    """The logits in float32 at least, minus infinity for what may not come; the argument stays as it is.

    Probabilities are taken after this: they are those of the model given that no forbidden symbol comes.
    """
    return logits + forbidding(logits.shape[-1], torch.promote_types(logits.dtype, torch.float32), logits.device)


@lru_cache(maxsize=16)
def forbidding(vocabulary: int, dtype: torch.dtype, device: torch.device) -> Float[Tensor, "vocabulary"]:
    """Minus infinity for what may not come, zero for the rest: added by one operation, where filling takes one each."""
    with torch.inference_mode(False):  # it is kept, and later callers may differentiate
        added = torch.zeros(vocabulary, dtype=dtype, device=device)
        added[list(SYMBOL_IDS.forbidden)] = -torch.inf
    return added


def log_normaliser(allowed: Float[Tensor, "*rows vocabulary"]) -> Float[Tensor, "*rows 1"]:
    """log Z of each row: logit - log Z is the log-probability.

    Raises OpenworkError where the logits give no distribution.
    """
    return _checked(_logarithm_of_sum(allowed))


def _checked(normaliser: Float[Tensor, "*rows 1"]) -> Float[Tensor, "*rows 1"]:
    check_normaliser(float(normaliser.detach().sum()))  # of finite ones the sum is finite, and is one operation
    return normaliser


def check_normaliser(total: float) -> None:
    """Raises OpenworkError unless log Z, or the sum of several, is finite."""
    if not isfinite(total):
        raise OpenworkError(
            "the model gave no probabilities for the next token",
            why="its logits are infinite or not numbers",
            hint="the training may have diverged: look at its loss, or use an earlier checkpoint",
            code="E011",
        )


def _logarithm_of_sum(logits: Float[Tensor, "*rows vocabulary"]) -> Float[Tensor, "*rows 1"]:
    """log of the sum of exp(logits): the greatest logit less the greatest log-probability.

    So, because the framework's log-softmax reads and writes once, and its logsumexp twice as often
    (benchmarks/results/translating.json).
    """
    return logits.amax(-1, keepdim=True) - logits.log_softmax(-1).amax(-1, keepdim=True)


BLOCK = 128  # entries of a vocabulary whose greatest is found by vector instructions
FEW_ROWS = 6  # with fewer, the framework's one operation is faster than the several of a trick
FOLDS = 4  # how often the halves of a vocabulary are laid over each other, the greater of two entries remaining


def most_probable_tokens(scores: Logits) -> tuple[Float[Tensor, "rows"], Int[Tensor, "rows"]]:
    """The highest score of each row and the lowest id that has it.

    On a CPU the framework finds the greatest of many numbers by vector instructions, and its place one by one. So only
    the block that holds it is searched for the place.
    """
    rows, vocabulary = scores.shape
    blocks = vocabulary // BLOCK
    if scores.device.type != "cpu" or blocks < 2 or rows < FEW_ROWS:
        return scores.max(-1)
    parts = scores[:, : blocks * BLOCK].unflatten(-1, (blocks, BLOCK))
    block = parts.amax(-1).argmax(-1)
    value, place = parts[torch.arange(rows), block].max(-1)
    token = block * BLOCK + place
    if blocks * BLOCK == vocabulary:
        return value, token
    rest, place = scores[:, blocks * BLOCK :].max(-1)
    return torch.maximum(value, rest), torch.where(rest > value, place + blocks * BLOCK, token)


def highest(scores: Logits, count: int) -> tuple[Float[Tensor, "rows best"], Int[Tensor, "rows best"]]:
    """The `count` highest of each row and their ids, in no order that may be relied on among equals.

    As topk, which on a CPU compares numbers one by one. Here the halves of a row are first laid over each other several
    times, so that each column holds the greatest of its entries; the highest of all are in the highest columns.
    """
    vocabulary = scores.shape[-1]
    height = 2**FOLDS
    columns = vocabulary // height
    if scores.device.type != "cpu" or vocabulary % height or columns <= 2 * count or scores.shape[0] < FEW_ROWS:
        return scores.topk(count)
    greatest = scores
    for _ in range(FOLDS):
        greatest = torch.maximum(*greatest.chunk(2, dim=-1))
    best = greatest.topk(count, sorted=False).indices
    rows = best[:, None].expand(-1, height, -1)
    entries = scores.unflatten(-1, (height, columns)).gather(2, rows).flatten(1)
    values, place = entries.topk(count)
    return values, place // count * columns + best.gather(1, place % count)


def choosing(model: StepModel | None) -> ChoosingModel | None:
    """The model, if it can find the best tokens itself."""
    return model if model is not None and can_choose(model) else None


def best_continuations(
    model: ChoosingModel | None, logits: Logits, count: int
) -> tuple[Float[Tensor, "rows best"], Int[Tensor, "rows best"]]:
    """The log-probabilities and ids of the `count` best tokens that may come, as `best_tokens` orders them.

    `model` is the one that made the logits, if it can find them. Raises OpenworkError where they give no distribution.
    """
    count = min(count, logits.shape[-1])
    if model is not None:
        added = forbidding(logits.shape[-1], logits.dtype, logits.device)
        scores, tokens, normaliser = model.best(logits, added, count)
        return scores - _checked(normaliser), tokens
    allowed = allow(logits)
    normaliser = log_normaliser(allowed)
    scores, tokens = best_tokens(allowed, count)
    return scores - normaliser, tokens


def best_tokens(scores: Logits, count: int) -> tuple[Float[Tensor, "rows best"], Int[Tensor, "rows best"]]:
    """The `count` best of each row, best first, and of equals the lower id first.

    topk alone leaves open which of equals it takes. One candidate more than needed shows whether equals are on
    both sides of the cut, and only then the row is sorted again.
    """
    vocabulary = scores.shape[-1]
    count = min(count, vocabulary)
    values, tokens = highest(scores, min(count + 1, vocabulary))
    if not bool((values[:, 1:] == values[:, :-1]).any()):  # no equals, so there is one order only
        return values[:, :count], tokens[:, :count]
    doubtful = (values[:, count - 1] == values[:, -1]).nonzero().squeeze(-1)
    if count < vocabulary and doubtful.numel():
        cut = values[doubtful, count - 1, None]
        # distinct whole numbers: all that beat the cut come first, then equals, each by lower id
        ids = torch.arange(vocabulary, 0, -1, device=scores.device)
        ranks = ids * (scores[doubtful] >= cut) + vocabulary * (scores[doubtful] > cut)
        tokens[doubtful, :count] = ranks.topk(count).indices
    tokens = tokens[:, :count].sort(-1).values
    values, order = scores.gather(-1, tokens).sort(dim=-1, descending=True, stable=True)
    return values, tokens.gather(-1, order)
