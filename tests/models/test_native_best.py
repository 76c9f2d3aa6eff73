"""The compiled choice of the best few is the one that `decoding/scoring.py` makes; hypotheses that share are whole."""

import pytest
import torch
from hypothesis import given, settings, strategies

from openwork.base.errors import OpenworkError
from openwork.decoding.scoring import best_continuations
from openwork.inference.prepared.caches import Past
from openwork.inference.prepared.native import NativeTransformer, problem
from openwork.inference.prepared.native.transformer import SharingState, with_room
from openwork.models.build import build_model
from openwork.models.interfaces import can_choose
from openwork.models.seq2seq import Transformer
from openwork.models.settings import TransformerSettings

pytestmark = pytest.mark.skipif(bool(problem()), reason=f"no compiled step: {problem()}")
SIZES = TransformerSettings(
    width=32, heads=2, feedforward_width=32, encoder_layers=1, decoder_layers=1, dropout=0.0, tying="target"
)


@pytest.fixture(scope="module")
def native() -> NativeTransformer:
    torch.manual_seed(1)
    model = build_model(SIZES, 11, 13).eval()
    assert isinstance(model, Transformer)
    return NativeTransformer(model)


def test_more_rows_find_as_many_positions() -> None:
    keys, values = torch.arange(24.0).reshape(4, 2, 3), torch.arange(40.0).reshape(4, 2, 5)
    past = Past([(keys.clone(), values.clone())], 2)
    assert with_room(past, 2, 2) is past
    ((wider, also),) = with_room(past, 2, 6).buffers
    assert wider.shape == (4, 6, 3) and also.shape == (4, 6, 5)
    assert torch.equal(wider[:2, :2], keys[:2]) and torch.equal(also[:2, :2], values[:2])


def test_it_is_a_model_that_can_choose(native: NativeTransformer) -> None:
    assert can_choose(native)


@given(
    rows=strategies.integers(1, 7), vocabulary=strategies.integers(5, 3000), count=strategies.integers(1, 12),
    seed=strategies.integers(0, 10**6), kinds=strategies.sampled_from([2, 40, 10**6]),
)  # fmt: skip
@pytest.mark.slow
@settings(deadline=None, max_examples=150)
def test_it_chooses_what_the_framework_chooses(
    native: NativeTransformer, rows: int, vocabulary: int, count: int, seed: int, kinds: int
) -> None:
    """With two kinds of numbers most are equal, and the lower id must come first."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randint(0, kinds, (rows, vocabulary), generator=generator) * (20.0 / kinds) - 7.0
    found, ids = best_continuations(native, logits, count)
    wanted, wanted_ids = best_continuations(None, logits, count)
    assert torch.equal(ids[wanted > -torch.inf], wanted_ids[wanted > -torch.inf])
    assert torch.allclose(found, wanted, atol=2e-6)


def test_by_hand(native: NativeTransformer) -> None:
    logits = torch.tensor([[9.0, 9.0, 9.0, 1.0, 2.0, 2.0, 0.0]])  # the first of these may not come
    added = torch.tensor([-torch.inf, -torch.inf, -torch.inf, 0.0, 0.0, 0.0, 0.0])
    scores, ids, normaliser = native.best(logits, added, 3)
    assert ids.tolist() == [[4, 5, 3]] and scores.tolist() == [[2.0, 2.0, 1.0]]
    total = torch.tensor([1.0, 2.0, 2.0, 0.0]).exp().sum()
    assert float(normaliser) == pytest.approx(float(total.log()), abs=1e-6)


@pytest.mark.parametrize("bad", [torch.nan, torch.inf])
@pytest.mark.parametrize("place", [5, 70, 99])
def test_logits_that_give_no_distribution_are_an_error(native: NativeTransformer, bad: float, place: int) -> None:
    logits = torch.zeros(3, 100)
    logits[1, place] = bad
    with pytest.raises(OpenworkError, match="no probabilities"):
        best_continuations(native, logits, 2)
    with pytest.raises(OpenworkError, match="no probabilities"):
        best_continuations(native, torch.full((1, 100), -torch.inf), 2)


def test_what_cannot_come_is_no_trouble(native: NativeTransformer) -> None:
    logits = torch.full((1, 300), -torch.inf)
    logits[0, 200] = -5000.0
    scores, ids = best_continuations(native, logits, 2)
    assert int(ids[0, 0]) == 200 and scores.tolist() == [[0.0, -torch.inf]]


@torch.no_grad()
def test_states_that_share_do_not_disturb_each_other(native: NativeTransformer) -> None:
    """Two states go on from one: what one writes must not reach the other, and more rows than before find room."""
    source, lengths = torch.tensor([[4, 5, 6], [7, 8, 9]]), torch.tensor([3, 3])
    first = native.start(source, lengths)
    _, second = native.step(torch.tensor([[4], [5]]), first)
    many = second.select(torch.tensor([1, 1, 0, 0, 1]))
    wanted, after = native.step(torch.tensor([[6], [7], [8], [9], [10]]), many)
    other, _ = native.step(torch.tensor([[11], [12]]), second)
    again, _ = native.step(torch.tensor([[6], [7], [8], [9], [10]]), many)
    assert torch.equal(wanted, again) and not torch.equal(other[0], wanted[2])
    assert isinstance(after, SharingState) and after.rows is not None
    assert after.rows.tolist() == [[1, 1, 0, 0, 1], [0, 1, 2, 3, 4]]
    alone, _ = native.step(torch.tensor([[5]]), native.start(source[1:], lengths[1:]))
    assert torch.allclose(alone, native.step(torch.tensor([[4], [5]]), first)[0][1:], atol=0.2)
