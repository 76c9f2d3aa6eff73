"""R-Drop by hand, and joined with the projection equal to the formula as it is written."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from openwork.training import loss as loss_module
from openwork.training.loss import LossSums, SmoothingForm, projected_loss, smoothed_cross_entropy


def r_drop_loss(
    first: torch.Tensor,
    second: torch.Tensor,
    targets: torch.Tensor,
    smoothing: float,
    alpha: float,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """The formula as it is written, from the logits (tokens, vocabulary) of both passes."""
    one, two = (smoothed_cross_entropy(logits, targets, smoothing, form) for logits in (first, second))
    log_one, log_two = first.float().log_softmax(dim=-1), second.float().log_softmax(dim=-1)
    forwards = (log_one.exp() * (log_one - log_two)).sum()
    backwards = (log_two.exp() * (log_two - log_one)).sum()
    smoothed = (one.smoothed + two.smoothed) / 2 + alpha / 4 * (forwards + backwards)
    return LossSums(smoothed, (one.likelihood + two.likelihood) / 2, targets.numel())


def test_by_hand() -> None:
    # p1 = (1/2, 1/2), p2 = (3/4, 1/4), the right token is the first, no smoothing, alpha = 2.
    # Cross-entropies: ln 2 and ln 4/3; their mean is 1/2 ln 8/3.
    # KL(p1||p2) + KL(p2||p1) = sum (p2 - p1) ln(p2/p1) = 1/4 ln 3/2 - 1/4 ln 1/2 = 1/4 ln 3; times alpha/4 = 1/2.
    first, second = torch.tensor([[1.0, 1.0]]).log(), torch.tensor([[3.0, 1.0]]).log()
    right = torch.tensor([0])
    expected = math.log(8 / 3) / 2 + math.log(3) / 8
    plain = r_drop_loss(first, second, right, 0.0, 2.0)
    # the same logits as projections: the vectors pick a column of the matrix
    one, two = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])
    joined = projected_loss((one, two), torch.cat((first, second)).T.contiguous(), right, 0.0, alpha=2.0)
    for sums in (plain, joined):
        assert sums.smoothed.item() == pytest.approx(expected, rel=1e-6)
        assert sums.likelihood.item() == pytest.approx(math.log(8 / 3) / 2, rel=1e-6)
        assert sums.tokens == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", ["vocabulary", "others"])
@given(st.integers(0, 13), st.integers(1, 5), st.floats(0, 5), st.sampled_from([0.0, 0.1]))
def test_value_and_gradients_are_the_formulas(
    form: str, tokens: int, rows: int, alpha: float, smoothing: float
) -> None:
    generator = torch.Generator().manual_seed(tokens)
    first, second = (torch.randn(tokens, 5, generator=generator, requires_grad=True) for _ in range(2))
    weight = torch.randn(11, 5, generator=generator, requires_grad=True)
    targets = torch.randint(11, (tokens,), generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loss_module, "LOSS_CHUNK", 2 * 11 * rows)
        joined = projected_loss((first, second), weight, targets, smoothing, alpha=alpha, form=form)
    plain = r_drop_loss(first @ weight.T, second @ weight.T, targets, smoothing, alpha, form)
    torch.testing.assert_close(joined.smoothed, plain.smoothed, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(joined.likelihood.float(), plain.likelihood, rtol=1e-4, atol=1e-5)
    found, expected = (
        torch.autograd.grad(sums.smoothed, (first, second, weight), retain_graph=True) for sums in (joined, plain)
    )
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_two_equal_passes_cost_what_one_does() -> None:
    torch.manual_seed(1)
    hidden, weight, targets = torch.randn(6, 4), torch.randn(9, 4), torch.randint(9, (6,))
    one = projected_loss([hidden], weight, targets, 0.1)
    both = projected_loss((hidden, hidden.clone()), weight, targets, 0.1, alpha=5.0)
    torch.testing.assert_close(both.smoothed, one.smoothed)


def test_products_in_bfloat16_are_close() -> None:
    torch.manual_seed(2)
    hidden = torch.randn(32, 16), torch.randn(32, 16)
    weight, targets = torch.randn(20, 16), torch.randint(20, (32,))
    exact = projected_loss(hidden, weight, targets, 0.1, alpha=1.0)
    narrow = projected_loss(hidden, weight, targets, 0.1, torch.bfloat16, alpha=1.0)
    assert narrow.smoothed.item() == pytest.approx(exact.smoothed.item(), rel=0.02)
