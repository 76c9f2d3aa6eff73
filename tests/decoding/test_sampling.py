"""Sampling against the distribution that its definition gives, and its independence of everything but the seed."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from decoding.phrases import forbidden
from decoding.tables import TableModel, exhaustive, log_probability, probabilities, random_logits, sources
from openwork.decoding.constraints import SentenceConstraints
from openwork.decoding.left_to_right import distribution, draw
from openwork.decoding.search import decode
from openwork.decoding.settings import DecodingSettings

SEEDS = st.integers(0, 10**6)


def options(**values: float) -> DecodingSettings:
    return DecodingSettings.model_validate({"extra_length": 0, "samples": 1, **values})


def by_definition(scores: list[float], temperature: float, top_k: int, top_p: float) -> dict[int, float]:
    """Token -> probability: plain Python, from the papers."""
    weights = [math.exp(score / temperature) for score in scores]
    ranked = sorted(range(len(scores)), key=lambda token: (-weights[token], token))[: top_k or None]
    total = sum(weights[token] for token in ranked)
    kept, together = [], 0.0
    for token in ranked:
        if together >= top_p * total:
            break
        kept.append(token)
        together += weights[token]
    return {token: weights[token] / together for token in kept}


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    scores=st.lists(st.sampled_from([-2.0, -1.0, 0.0, 0.5, 2.0]), min_size=2, max_size=7),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
    top_k=st.integers(0, 9),
    top_p=st.sampled_from([0.21, 0.5, 0.83, 1.0]),
)
def test_distribution(scores: list[float], temperature: float, top_k: int, top_p: float) -> None:
    chosen = options(temperature=temperature, top_k=top_k, top_p=top_p)
    (p,), (tokens,) = distribution(torch.tensor([scores]), chosen)
    found = {token: value for token, value in zip(tokens.tolist(), p.tolist(), strict=True) if value > 0}
    assert found == pytest.approx(by_definition(scores, temperature, top_k, top_p), abs=1e-6)


def test_draws_fall_where_the_shares_lie() -> None:
    """By hand: shares 0.5, 0.3 and 0.2; a number at the very end takes the last token that has a share."""
    p, tokens = torch.tensor([[0.5, 0.3, 0.2, 0.0]]).double(), torch.tensor([[7, 4, 9, 5]])
    numbers = [0.0, 0.49, 0.51, 0.79, 0.81, 0.999999, 1.0]
    found = [draw(p, tokens, torch.tensor([number]).double()).item() for number in numbers]
    assert found == [7, 7, 4, 4, 9, 9, 9]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1.0, 0, 1.0), (0.6, 0, 1.0), (1.0, 2, 1.0), (1.5, 0, 0.7)]
)
def test_samples_come_as_often_as_they_should(temperature: float, top_k: int, top_p: float) -> None:
    """All targets of a small vocabulary are listed; the shares of 6,000 samples are those of the distribution."""
    vocabulary, limit, count = 7, 3, 6000
    logits = random_logits(11, vocabulary, 1.0)

    def warped(key: int, prefix: tuple[int, ...]) -> list[float]:
        row = logits(key, prefix)
        shares = by_definition(row[3:], temperature, top_k, top_p)
        return [-math.inf] * 3 + [math.log(shares[i]) if i in shares else -math.inf for i in range(vocabulary - 3)]

    expected = {}
    for score, tokens in exhaustive(logits, 0, vocabulary, limit + 1, 0.0):
        share = math.exp(log_probability(warped, 0, tokens, ended=len(tokens) < limit))
        if share > 0:
            expected[tokens] = share
        assert score <= 0
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-6)
    chosen = options(samples=count, temperature=temperature, top_k=top_k, top_p=top_p)
    (found,) = decode(TableModel(logits), *sources([0], [limit]), chosen)
    counts = Counter(h.tokens for h in found)
    assert set(counts) <= set(expected)
    distance = sum(abs(counts[tokens] / count - share) for tokens, share in expected.items()) / 2
    assert distance < 0.035
    for h in found[:20]:  # the probability is the model's, not that of the warped distribution
        worth = log_probability(logits, 0, h.tokens, ended=h.finished)
        assert h.log_probability == pytest.approx(worth, abs=1e-5)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(seed=SEEDS, lengths=st.lists(st.integers(2, 5), min_size=1, max_size=4), samples=st.integers(1, 3))
def test_samples_depend_on_the_sentence_alone(seed: int, lengths: list[int], samples: int) -> None:
    model = TableModel(random_logits(seed, 9, 1.0))
    chosen = options(samples=samples, seed=seed)
    together = decode(model, *sources(range(len(lengths)), lengths), chosen)
    torch.rand(3)  # other random numbers change nothing
    for key, length in enumerate(lengths):
        (alone,) = decode(model, *sources([key], [length]), chosen)
        assert [h.tokens for h in alone] == [h.tokens for h in together[key]]
        (fewer,) = decode(model, *sources([key], [length]), options(samples=1, seed=seed))
        assert fewer[0].tokens == alone[0].tokens


def test_the_seed_decides() -> None:
    model = TableModel(random_logits(1, 12, 0.5))
    source, lengths = sources([0], [9])
    found = [tuple(h.tokens for h in decode(model, source, lengths, options(samples=4, seed=s))[0]) for s in (0, 0, 1)]
    assert found[0] == found[1] != found[2]
    assert len(set(found[0])) == 4


def test_forbidden_tokens_are_not_drawn() -> None:
    model = TableModel(probabilities({(): {4: 0.98, 5: 0.02}, (5,): {3: 1.0}}, 6))
    constraints = [SentenceConstraints(forbidden=forbidden(6, (4,)))]
    (found,) = decode(model, *sources([0], [3]), options(samples=20, top_k=1), constraints=constraints)
    assert {h.tokens for h in found} == {(5,)}
