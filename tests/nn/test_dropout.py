"""Dropout with byte masks: rate, scale, seed and gradient."""

import pytest
import torch

from openwork.nn.dropout import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5])
def test_the_rate_and_the_expectation(rate: float) -> None:
    torch.manual_seed(3)
    found = Dropout(rate)(torch.ones(300, 1001))
    rounded = round(rate * 256) / 256
    # 300,300 draws: four standard deviations are below 0.4 per cent
    assert (found == 0).float().mean().item() == pytest.approx(rounded, abs=0.004)
    assert found.mean().item() == pytest.approx(1.0, abs=0.01)
    kept = found[found != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rounded)))


def test_no_two_places_share_their_fate() -> None:
    # eight places come from one random word: neighbours must be independent all the same
    torch.manual_seed(4)
    dropped = (Dropout(0.5)(torch.ones(20000, 8)) == 0).float()
    correlation = torch.corrcoef(dropped.T)
    assert (correlation - torch.eye(8)).abs().max() < 0.03


def test_it_does_nothing_when_it_should() -> None:
    x = torch.randn(5, 7)
    assert Dropout(0.4).eval()(x) is x
    assert Dropout(0.0)(x) is x


@pytest.mark.parametrize("rate", [0.001, 0.999])
def test_rates_beyond_a_byte(rate: float) -> None:
    torch.manual_seed(5)
    found = Dropout(rate)(torch.ones(1000, 1000))
    assert (found == 0).float().mean().item() == pytest.approx(rate, abs=0.001)


def test_a_seed_decides() -> None:
    dropout, x = Dropout(0.3), torch.randn(3, 5)
    found = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        found.append(dropout(x))
    assert torch.equal(found[0], found[1]) and not torch.equal(found[0], found[2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_gradient_takes_the_same_mask(dtype: torch.dtype) -> None:
    torch.manual_seed(6)
    x = torch.ones(11, 13, dtype=dtype, requires_grad=True)
    found = Dropout(0.5)(x)
    assert found.dtype is dtype
    found.sum().backward()
    assert x.grad is not None and torch.equal(x.grad, found.detach())  # x is all ones


def test_any_shape_and_layout() -> None:
    found = Dropout(0.5)(torch.ones(3, 5).T)
    assert found.shape == (5, 3) and set(found.unique().tolist()) <= {0.0, 2.0}
    assert Dropout(0.5)(torch.ones(0, 4)).shape == (0, 4)
