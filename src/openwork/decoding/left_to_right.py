"""Targets generated token by token: greedy search, and sampling from the distribution (Holtzman et al. 2020).

Nothing is taken back; the two differ in the choice. What is drawn for a sentence depends on the seed, the sentence and
the number of the sample alone: not on the batch, nor on the machine's other random numbers.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.constraints import SentenceConstraints
from openwork.decoding.ensemble import Repeated
from openwork.decoding.rules import Prefixes, TokenRule, restrict, rules_for
from openwork.decoding.scoring import (
    GivenUp,
    Hypothesis,
    allow,
    best_continuations,
    best_tokens,
    choosing,
    length_limits,
    log_normaliser,
    most_probable_tokens,
    nothing_given_up,
    scored,
)
from openwork.decoding.settings import DecodingSettings
from openwork.models.interfaces import StepModel, can_be_greedy
from openwork.nn.shapes import AnySource, Lengths, Logits

Choose = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
"""From logits (rows, vocabulary), the chosen tokens' log-probabilities (rows,) and the tokens.

The other arguments are each row's sentence, and what is written of all sentences (sentence, place), start symbol first.
Minus infinity: there is no way to go on.
"""

Pick = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""From scores (rows, vocabulary), minus infinity where a token may not come, the chosen ones (rows,) and their tokens.

The other arguments are each row's sentence, and the place of the token in the target.
"""

OnToken = Callable[[int, int], None]
"""Called with a sentence and its next token as soon as that is chosen, the end symbol too."""


@torch.no_grad()
def write(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    settings: DecodingSettings,
    choose: Choose,
    on_token: OnToken | None = None,
    given_up: GivenUp = nothing_given_up,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence; none where the rules left no way to go on.

    A row that has ended, or is given up, leaves the batch. The model should be in evaluation mode.
    """
    batch = source.shape[0]
    if batch == 0:
        return []
    limits = length_limits(source_lengths, settings)
    written = source_lengths.new_full((batch, 1 + int(limits.max())), SYMBOL_IDS.pad)
    written[:, 0] = SYMBOL_IDS.start
    totals = torch.zeros(batch, device=source.device)  # log-probabilities of the targets
    live = torch.arange(batch, device=source.device)  # the sentence of each row
    own_totals, own_limits = totals, limits  # those of the live rows
    last = written[:, :1]
    state = model.start(source, source_lengths)
    for place in range(1, written.shape[1]):
        logits, state = model.step(last, state)
        value, token = choose(logits[:, -1], live, written[:, :place])
        own_totals = own_totals + value
        written[live, place] = token
        goes_on = (token != SYMBOL_IDS.end) & (own_limits > place) & (value > -torch.inf)
        if on_token is not None:  # before `given_up`, so that a row may be given up by what it has written
            for sentence, chosen, gained in zip(live.tolist(), token.tolist(), value.tolist(), strict=True):
                if gained > -math.inf:  # else the rules left no way to go on
                    on_token(sentence, chosen)
        if left := given_up():
            gone = torch.isin(live, torch.tensor(sorted(left), device=live.device))
            own_totals, goes_on = own_totals.masked_fill(gone, -torch.inf), goes_on & ~gone
        keep = goes_on.nonzero().squeeze(-1)
        if keep.numel() < live.numel():
            totals[live] = own_totals
            if keep.numel() == 0:
                break
            live, token, own_totals, own_limits = live[keep], token[keep], own_totals[keep], own_limits[keep]
            state = state.select(keep)
        last = token[:, None]
    return _hypotheses(written, totals, limits, settings)


def _hypotheses(
    written: Int[Tensor, "sentence place"],
    totals: Float[Tensor, "sentence"],
    limits: Lengths,
    settings: DecodingSettings,
) -> list[list[Hypothesis]]:
    """One for each sentence, from what stands after its start symbol; none for a log-probability of minus infinity."""
    found: list[list[Hypothesis]] = [[] for _ in range(written.shape[0])]
    rows = zip(written[:, 1:].tolist(), totals.tolist(), limits.tolist(), found, strict=True)
    for tokens, total, limit, hypotheses in rows:
        if total > -torch.inf:
            finished = SYMBOL_IDS.end in tokens
            kept = tuple(tokens[: tokens.index(SYMBOL_IDS.end) if finished else limit])
            hypotheses.append(scored(kept, total, finished, settings))
    return found


def by_scores(rules: Sequence[TokenRule], pick: Pick) -> Choose:
    """`pick`s among the tokens that may come, by the symbols and the rules."""

    def choose(logits: Logits, sentences: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        scores = allow(logits)
        normaliser = log_normaliser(scores)
        if rules:
            scores = restrict(scores, normaliser, rules, Prefixes(sentences, written[sentences]))
        value, token = pick(scores, sentences, written.shape[1] - 1)
        return value - normaliser.squeeze(-1), token

    return choose


def most_probable(scores: Tensor, sentences: Tensor, place: int) -> tuple[Tensor, Tensor]:
    """The token with the highest score of each row, the first of equals."""
    return most_probable_tokens(scores)


def greedy_search(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    settings: DecodingSettings,
    rules: Sequence[TokenRule] = (),
    on_token: OnToken | None = None,
    given_up: GivenUp = nothing_given_up,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, found token by token; the same as a beam of one.

    Of equally probable tokens the one with the lower id is taken.
    """
    if not rules and on_token is None and can_be_greedy(model):
        limits = length_limits(source_lengths, settings)
        targets = model.greedy_targets(source, source_lengths, limits, given_up)
        if targets is not None:
            return _hypotheses(*targets, limits, settings)
    chooser = None if rules else choosing(model)

    def best_of_model(logits: Logits, sentences: Tensor, written: Tensor) -> tuple[Tensor, Tensor]:
        value, token = best_continuations(chooser, logits, 1)
        return value.squeeze(-1), token.squeeze(-1)

    choose = best_of_model if chooser else by_scores(rules, most_probable)
    return write(model, source, source_lengths, settings, choose, on_token, given_up)


def sample(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    settings: DecodingSettings,
    constraints: Sequence[SentenceConstraints] | None = None,
    on_token: OnToken | None = None,
    given_up: GivenUp = nothing_given_up,
) -> list[list[Hypothesis]]:
    """`settings.samples` hypotheses for each sentence, in the order they were drawn; the same may come twice.

    Their log-probabilities are the model's, whatever distribution they were drawn from.
    """
    times = settings.samples
    repeated, lengths = source.repeat_interleave(times, 0), source_lengths.repeat_interleave(times, 0)
    draws = [(settings.seed, number) for number in range(times)] * source.shape[0]
    of_rows = [one for one in constraints or () for _ in range(times)]

    def rows_given_up() -> Collection[int]:
        return [row for sentence in given_up() for row in range(sentence * times, (sentence + 1) * times)]

    found = sample_each(Repeated(model, times), repeated, lengths, settings, draws, of_rows, on_token, rows_given_up)
    return [[one for row in found[first : first + times] for one in row] for first in range(0, len(found), times)]


def sample_each(
    model: StepModel,
    source: AnySource,
    source_lengths: Lengths,
    settings: DecodingSettings,
    draws: Sequence[tuple[int, int]],
    constraints: Sequence[SentenceConstraints] | None = None,
    on_token: OnToken | None = None,
    given_up: GivenUp = nothing_given_up,
) -> list[list[Hypothesis]]:
    """One hypothesis for each sentence, drawn by its own seed and number of the sample, `draws`.

    It is the one that `sample` gives to the sentence with that seed as the sample of that number.
    """
    numbers = _draws(source, source_lengths, settings, draws)
    rules = rules_for(settings, constraints, source_lengths)

    def pick(scores: Tensor, sentences: Tensor, place: int) -> tuple[Tensor, Tensor]:
        token = draw(*distribution(scores, settings), numbers[sentences, place])
        return scores.gather(1, token[:, None]).squeeze(1), token

    return write(model, source, source_lengths, settings, by_scores(rules, pick), on_token, given_up)


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


def _draws(
    source: Tensor, source_lengths: Tensor, settings: DecodingSettings, draws: Sequence[tuple[int, int]]
) -> Float[Tensor, "rows place"]:
    """The random numbers of each sentence, one for each place of the target."""
    limits = length_limits(source_lengths, settings).tolist()
    numbers = torch.zeros(len(limits), max(limits, default=0), dtype=torch.float64)
    rows = zip(source.tolist(), source_lengths.tolist(), limits, draws, strict=True)
    for row, (ids, length, limit, (own_seed, number)) in enumerate(rows):
        name = f"{own_seed} {number} {ids[:length]}".encode()
        seed = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "big") >> 1
        generator = torch.Generator().manual_seed(seed)
        numbers[row, :limit] = torch.rand(limit, generator=generator, dtype=torch.float64)
    return numbers.to(source.device)
