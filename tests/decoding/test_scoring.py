"""The definitions that all searches share, and the settings."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from decoding.rescoring import score
from decoding.tables import TableModel, random_logits, sources
from openwork.base.symbols import SYMBOL_IDS
from openwork.decoding.scoring import (
    allow,
    best_tokens,
    length_limits,
    length_penalty,
    log_normaliser,
    most_probable_tokens,
)
from openwork.decoding.settings import DecodingSettings


def test_length_penalty_by_hand() -> None:
    assert length_penalty(1, 0.6) == 1.0  # (5 + 1) / 6
    assert length_penalty(7, 1.0) == 2.0  # (5 + 7) / 6
    assert length_penalty(19, 0.5) == 2.0  # square root of 24 / 6
    assert length_penalty(100, 0.0) == 1.0


def test_limits_follow_the_source_up_to_the_maximum() -> None:
    chosen = DecodingSettings(extra_length=50, maximum_length=60)
    assert length_limits(torch.tensor([1, 10, 11]), chosen).tolist() == [51, 60, 60]
    assert length_limits(torch.tensor([0]), DecodingSettings(extra_length=0)).tolist() == [1]


def test_forbidden_symbols_have_no_share() -> None:
    logits = torch.tensor([[7.0, 7.0, 7.0, 0.0, math.log(3.0)]], dtype=torch.bfloat16)
    allowed = allow(logits)
    assert allowed.dtype == torch.float32
    probabilities = (allowed - log_normaliser(allowed)).exp()
    torch.testing.assert_close(probabilities, torch.tensor([[0.0, 0.0, 0.0, 0.25, 0.75]]), atol=2e-3, rtol=0)


@given(st.lists(st.lists(st.integers(-2, 2), min_size=9, max_size=9), min_size=1, max_size=4), st.integers(1, 10))
def test_best_tokens_is_the_head_of_a_stable_sort(rows: list[list[int]], count: int) -> None:
    scores = torch.tensor(rows, dtype=torch.float32)
    scores[scores == -2] = -torch.inf
    values, tokens = best_tokens(scores, count)
    expected, order = scores.sort(dim=-1, descending=True, stable=True)
    assert torch.equal(values, expected[:, :count])
    assert torch.equal(tokens, order[:, :count])


def test_rescoring_does_not_depend_on_the_neighbours() -> None:
    model = TableModel(random_logits(3, 8, 2.0))
    targets = [(4, 5, 6), (), (7,)]
    together = score(model, *sources([0, 1, 2], [3, 1, 2]), targets)
    alone = [score(model, *sources([key], [3]), [target]).item() for key, target in enumerate(targets)]
    assert together.tolist() == pytest.approx(alone, abs=1e-5)


def test_rescoring_forbidden_tokens_and_nothing() -> None:
    model = TableModel(random_logits(3, 8, 2.0))
    assert score(model, *sources([0], [1]), [(4, SYMBOL_IDS.unknown)]).item() == -math.inf
    assert score(model, *sources([0, 1], [1, 1]), [(), ()], ended=False).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="1 targets for 2 sources"):
        score(model, *sources([0, 1], [1, 1]), [()])


def test_more_hypotheses_than_the_beam_are_refused() -> None:
    with pytest.raises(ValidationError, match="best = 5 needs a beam of at least 5, and beam is 4"):
        DecodingSettings(best=5)
    with pytest.raises(ValidationError):
        DecodingSettings(length_penalty=-0.1)


@pytest.mark.parametrize("vocabulary", [300, 1000, 1024, 4003])
@pytest.mark.parametrize("decimals", [1, 6])
def test_large_vocabularies_are_searched_in_parts_with_the_same_result(vocabulary: int, decimals: int) -> None:
    generator = torch.Generator().manual_seed(vocabulary)
    scores = torch.randn(40, vocabulary, generator=generator).round(decimals=decimals)  # few decimals: many equals
    scores[:, :3] = -torch.inf
    scores[0, -1] = scores[1, 5] = 9.0
    expected, order = scores.sort(dim=-1, descending=True, stable=True)
    value, token = most_probable_tokens(scores)
    assert torch.equal(value, expected[:, 0]) and torch.equal(token, order[:, 0])
    for count in (1, 10, 20):
        values, tokens = best_tokens(scores, count)
        assert torch.equal(values, expected[:, :count]) and torch.equal(tokens, order[:, :count])


def test_the_normaliser_is_that_of_the_definition() -> None:
    logits = torch.tensor([[0.0, 1.0, 2.0], [100.0, -torch.inf, 100.0]])
    found = log_normaliser(logits)[:, 0].tolist()
    assert found == pytest.approx([math.log(1 + math.e + math.e**2), 100 + math.log(2)], rel=1e-6)
