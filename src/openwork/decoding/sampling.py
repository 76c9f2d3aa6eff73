"""Sampling: the next token is drawn from the model's distribution, or from its head (Holtzman et al. 2020).

What is drawn for a sentence depends on the seed, the sentence and the number of the sample alone: not on the batch,
nor on the machine's other random numbers.
"""

import hashlib
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS, SymbolIds
from openwork.decoding.constraints import SentenceConstraints
from openwork.decoding.hypothesis import Hypothesis
from openwork.decoding.left_to_right import ChooseByScores, OnToken, write
from openwork.decoding.repeated import Repeated, repeat_constraints
from openwork.decoding.rules import rules_for
from openwork.decoding.scoring import best_tokens, length_limits
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel
from openwork.nn.shapes import Lengths, Logits, Source


def sample(
    model: StepModel,
    source: Source,
    source_lengths: Lengths,
    settings: DecodingSettings,
    symbols: SymbolIds = SYMBOL_IDS,
    constraints: Sequence[SentenceConstraints] | None = None,
    on_token: OnToken | None = None,
) -> list[list[Hypothesis]]:
    """`settings.samples` hypotheses for each sentence, in the order they were drawn; the same may come twice.

    Their log-probabilities are the model's, whatever distribution they were drawn from.
    """
    times = settings.samples
    numbers = _draws(source, source_lengths, settings)
    repeated, lengths = source.repeat_interleave(times, 0), source_lengths.repeat_interleave(times, 0)
    rules = rules_for(settings, repeat_constraints(constraints, times), lengths, symbols)

    def pick(scores: Tensor, sentences: Tensor, place: int) -> tuple[Tensor, Tensor]:
        token = draw(*distribution(scores, settings), numbers[sentences, place])
        return scores.gather(1, token[:, None]).squeeze(1), token

    choose = ChooseByScores(symbols, rules, pick)
    found = write(Repeated(model, times), repeated, lengths, settings, symbols, choose, on_token)
    return [[one for row in found[first : first + times] for one in row] for first in range(0, len(found), times)]


def distribution(
    scores: Logits, settings: DecodingSettings
) -> tuple[Float[Tensor, "rows choice"], Int[Tensor, "rows choice"]]:
    """The probabilities that are drawn from, and their tokens; equally probable tokens come by their ids.

    First the temperature, then the `top_k` most probable, then of these the fewest that have `top_p` together.
    """
    rows, vocabulary = scores.shape
    if settings.top_k:
        scores, tokens = best_tokens(scores, settings.top_k)
    elif settings.top_p < 1:
        scores, tokens = scores.sort(dim=-1, descending=True, stable=True)
    else:
        tokens = torch.arange(vocabulary, device=scores.device).expand(rows, vocabulary)
    probabilities = (scores.to(torch.float64) / settings.temperature).softmax(-1)
    if settings.top_p < 1:
        before = probabilities.cumsum(-1) - probabilities
        probabilities = probabilities.masked_fill(before >= settings.top_p, 0.0)
        probabilities = probabilities / probabilities.sum(-1, keepdim=True)
    return probabilities, tokens


def draw(
    probabilities: Float[Tensor, "rows choice"], tokens: Int[Tensor, "rows choice"], numbers: Float[Tensor, "rows"]
) -> Int[Tensor, "rows"]:
    """For a number from 0 to 1 of each row the token at whose share of the whole it falls."""
    ends = probabilities.cumsum(-1)
    chosen = (ends <= (numbers * ends[:, -1])[:, None]).sum(-1)
    # rounding may leave the number at the very end: the last token that has a share
    last = (probabilities > 0).long().cumsum(-1).argmax(-1)
    return tokens.gather(1, torch.minimum(chosen, last)[:, None]).squeeze(-1)


def _draws(source: Tensor, source_lengths: Tensor, settings: DecodingSettings) -> Float[Tensor, "rows place"]:
    """The random numbers of each sample, one for each place of the target."""
    limits = length_limits(source_lengths, settings).tolist()
    numbers = torch.zeros(len(limits) * settings.samples, max(limits, default=0), dtype=torch.float64)
    for sentence, (ids, length, limit) in enumerate(zip(source.tolist(), source_lengths.tolist(), limits, strict=True)):
        for number in range(settings.samples):
            name = f"{settings.seed} {number} {ids[:length]}".encode()
            seed = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") >> 1
            generator = torch.Generator().manual_seed(seed)
            row = sentence * settings.samples + number
            numbers[row, :limit] = torch.rand(limit, generator=generator, dtype=torch.float64)
    return numbers.to(source.device)
