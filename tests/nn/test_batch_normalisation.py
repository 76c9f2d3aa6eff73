"""Batch normalisation: by hand, as torch's without padding, blind to padding, in evaluation with fixed statistics."""

from copy import deepcopy

import pytest
import torch
from torch import Tensor, nn

from openwork.nn.normalisation import BatchNorm, has_batch_norms, real_positions, running_statistics

EPSILON = 1e-5  # torch's
ALL = torch.ones(3, 4, dtype=torch.bool)


def disturbed(width: int, epsilon: float = EPSILON) -> BatchNorm:
    """With a gain and a shift that say something."""
    torch.manual_seed(1)
    norm = BatchNorm(width, epsilon)
    nn.init.normal_(norm.weight, 1.0, 0.3)
    nn.init.normal_(norm.bias)
    return norm


def trained(norm: BatchNorm, x: Tensor, real: Tensor) -> Tensor:
    with real_positions(real):
        return norm.train()(x)


def test_by_hand() -> None:
    # One feature; the real positions hold 1, 3 and 8, padding holds 100: mean 12 / 3 = 4; squares 9 + 1 + 16 = 26, so
    # that the variance is 26 / 3 and without bias 26 / 2 = 13. Epsilon 1/3 makes the root 3: (1 - 4) / 3 = -1.
    norm = BatchNorm(1, epsilon=1 / 3)
    x = torch.tensor([[[1.0], [3.0]], [[8.0], [100.0]]])
    found = trained(norm, x, torch.tensor([[True, True], [True, False]]))
    torch.testing.assert_close(found[:, :, 0], torch.tensor([[-1.0, -1 / 3], [4 / 3, 32.0]]))
    # 0.9 * 0 + 0.1 * 4 and 0.9 * 1 + 0.1 * 13
    torch.testing.assert_close(norm.running_mean, torch.tensor([0.4]))
    torch.testing.assert_close(norm.running_variance, torch.tensor([2.2]))
    # evaluated: (7 - 0.4) / sqrt(2.2 + 1/3)
    assert norm.eval()(torch.tensor([[7.0]])).item() == pytest.approx(6.6 / (2.2 + 1 / 3) ** 0.5, rel=1e-6)


def test_it_is_the_frameworks_where_nothing_is_padding() -> None:
    ours, theirs = disturbed(5).double(), nn.BatchNorm1d(5, eps=EPSILON).double()
    theirs.load_state_dict({"weight": ours.weight, "bias": ours.bias}, strict=False)
    x = (2 * torch.randn(3, 4, 5, dtype=torch.float64) + 3).requires_grad_()
    for _ in range(3):
        direction, found = torch.randn(3, 4, 5, dtype=torch.float64), []
        outputs = trained(ours, x, ALL), theirs(x.flatten(0, 1)).view(3, 4, 5)
        for norm, output in zip((ours, theirs), outputs, strict=True):
            found.append((output, *torch.autograd.grad(output, [x, norm.weight, norm.bias], direction)))
        for one, other in zip(*found, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-10)
        torch.testing.assert_close(ours.running_mean, theirs.running_mean, rtol=0, atol=1e-10)
        torch.testing.assert_close(ours.running_variance, theirs.running_var, rtol=0, atol=1e-10)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x.flatten(0, 1)).view(3, 4, 5), rtol=0, atol=1e-10)


@pytest.mark.parametrize("stuffing", [0.0, 1e4])
def test_padding_does_not_count(stuffing: float) -> None:
    """Forward, gradients and statistics are those of the real positions alone, whatever stands in the padding."""
    padded_norm, norm = disturbed(5), disturbed(5)
    real = torch.tensor([[True, True, True, True], [True, False, False, False], [True, True, False, False]])
    x = torch.randn(3, 4, 5).masked_fill(~real[..., None], stuffing).requires_grad_()
    alone = x.detach()[real][None].requires_grad_()
    direction = torch.randn(3, 4, 5)
    padded = trained(padded_norm, x, real)[real]
    plain = trained(norm, alone, torch.ones(1, 7, dtype=torch.bool))[0]
    torch.testing.assert_close(padded, plain)
    padded.backward(direction[real])
    plain.backward(direction[real])
    assert x.grad is not None and alone.grad is not None
    torch.testing.assert_close(x.grad[real], alone.grad[0])
    assert not x.grad[~real].any()
    for name, statistic in running_statistics(norm).items():
        torch.testing.assert_close(running_statistics(padded_norm)[name], statistic)


def test_evaluation_leaves_the_statistics_and_needs_no_company() -> None:
    norm = disturbed(5)
    x = torch.randn(3, 4, 5)
    trained(norm, x, ALL)
    before = deepcopy(running_statistics(norm))
    whole = norm.eval()(x)
    assert torch.equal(whole[1, 2], norm(x[1, 2])) and torch.equal(whole[:1], norm(x[:1]))
    assert all(torch.equal(before[name], one) for name, one in running_statistics(norm).items())


def test_statistics_are_saved() -> None:
    norm, other, x = disturbed(5), BatchNorm(5, EPSILON), torch.randn(3, 4, 5)
    trained(norm, x, ALL)
    other.load_state_dict(norm.state_dict())
    assert torch.equal(other.eval()(x), norm.eval()(x))


def test_a_frozen_norm_keeps_its_statistics() -> None:
    norm, x = disturbed(5), torch.randn(3, 4, 5)
    evaluated = norm.eval()(x)
    norm.requires_grad_(False)
    assert torch.equal(trained(norm, x, ALL), evaluated)
    assert not norm.running_mean.any()


def test_one_position_or_none_is_finite_and_not_remembered() -> None:
    norm = BatchNorm(2)
    for count in (1, 0):
        found = trained(norm, torch.randn(1, 1, 2), torch.tensor([[count > 0]]))
        assert bool(found.isfinite().all())
    assert torch.equal(norm.running_mean, torch.zeros(2)) and torch.equal(norm.running_variance, torch.ones(2))


def test_statistics_of_a_narrow_type_are_exact() -> None:
    norm, x = disturbed(5), (100 + torch.randn(3, 4, 5)).bfloat16()
    assert trained(norm, x, ALL).dtype is torch.bfloat16
    torch.testing.assert_close(norm.running_mean, 0.1 * x.float().mean(dim=(0, 1)))


def test_training_it_without_knowing_the_padding_is_an_error() -> None:
    norm = BatchNorm(2)
    with pytest.raises(RuntimeError, match="real_positions"):
        norm(torch.randn(3, 4, 2))
    with pytest.raises(RuntimeError, match="real_positions"), real_positions(ALL):
        norm(torch.randn(3, 5, 2))  # positions of another side
    with real_positions(ALL):
        with real_positions(ALL[:2]):
            norm(torch.randn(2, 4, 2))
        norm(torch.randn(3, 4, 2))  # what was said before holds again


def test_which_models_have_some() -> None:
    assert has_batch_norms(nn.Sequential(nn.Linear(2, 2), BatchNorm(2))) and not has_batch_norms(nn.LayerNorm(2))
