"""The compiled loss beside the formula in double precision, for this processor and for one with AVX2 alone."""

import pytest
import torch
from torch import Tensor

from nn.native import instructions  # noqa: F401
from openwork.nn.kernels import native
from openwork.nn.kernels.native import loss
from openwork.training.loss import chunk_cross_entropy, projected_loss

ROWS, SHARE = 70, 0.1
NEAR = {torch.float32: 1e-6, torch.bfloat16: 4e-3}  # the second: half of a unit in the last place of a number below 1


def drawn(vocabulary: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(vocabulary)
    logits = 4 * torch.randn(ROWS, vocabulary + 3, generator=generator)
    return logits.to(dtype)[:, :vocabulary], torch.randint(vocabulary, (ROWS,), generator=generator)


def by_formula(logits: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
    exact = logits.double()
    found = chunk_cross_entropy(exact, exact.softmax(dim=-1), right[:, None], SHARE)
    return found.gradient, torch.stack((found.smoothed, found.likelihood))


@pytest.mark.parametrize("dtype", list(NEAR), ids=str)
@pytest.mark.parametrize("vocabulary", [1, 5, 16, 37, 64, 1000, 4096])
def test_sums_and_gradients_are_those_of_the_formula(vocabulary: int, dtype: torch.dtype) -> None:
    logits, right = drawn(vocabulary, dtype)
    gradient, sums = by_formula(logits, right)
    found = loss.cross_entropy_(logits, right, SHARE)
    torch.testing.assert_close(found, sums, rtol=1e-6, atol=1e-5)
    torch.testing.assert_close(logits.double(), gradient, rtol=NEAR[dtype], atol=NEAR[dtype] / 2)


def two_by_formula(logits: list[Tensor], right: Tensor, alpha: float) -> tuple[list[Tensor], Tensor]:
    """1/2 [CE(p1) + CE(p2)] + alpha/4 [KL(p1 || p2) + KL(p2 || p1)], and its gradients by differentiation."""
    exact = [one.double().requires_grad_() for one in logits]
    one, two = (each.log_softmax(-1) for each in exact)
    mean = -(one + two) / 2
    likelihood = mean.gather(-1, right[:, None]).sum()
    divergence = ((one.exp() - two.exp()) * (one - two)).sum()
    smoothed = (1 - SHARE) * likelihood + SHARE * mean.mean(-1).sum() + alpha / 4 * divergence
    return list(torch.autograd.grad(smoothed, exact)), torch.stack((smoothed, likelihood)).detach()


@pytest.mark.parametrize("dtype", list(NEAR), ids=str)
@pytest.mark.parametrize("vocabulary", [1, 5, 16, 37, 1000])
def test_two_passes_are_those_of_the_formula(vocabulary: int, dtype: torch.dtype) -> None:
    (first, right), alpha = drawn(vocabulary, dtype), 5.0
    second = (first + torch.randn(first.shape, generator=torch.Generator().manual_seed(1))).to(dtype)
    gradients, sums = two_by_formula([first, second], right, alpha)
    found = loss.divergent_cross_entropy_(first, second, right, SHARE, alpha)
    torch.testing.assert_close(found, sums, rtol=1e-5, atol=1e-4)
    for one, expected in zip((first, second), gradients, strict=True):
        torch.testing.assert_close(one.double(), expected, rtol=NEAR[dtype] * 4, atol=NEAR[dtype] * 4)


def test_two_passes_that_are_one_have_its_loss() -> None:
    logits, right = drawn(37, torch.float32)
    alone, (first, second) = logits.clone(), (logits.clone(), logits.clone())
    expected = loss.cross_entropy_(alone, right, SHARE)
    torch.testing.assert_close(loss.divergent_cross_entropy_(first, second, right, SHARE, 5.0), expected)
    assert torch.equal(first, second)
    torch.testing.assert_close(first, alone / 2)


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16], ids=str)
def test_r_drop_is_the_same_with_and_without_it(precision: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(97, 16, generator=generator)
    passes = [torch.randn(50, 16, generator=generator) for _ in range(2)]
    targets = torch.randint(97, (50,), generator=generator)

    def computed() -> list[Tensor]:
        given = [one.clone().requires_grad_() for one in (weight, *passes)]
        sums = projected_loss(given[1:], given[0], targets, 0.1, precision, alpha=3.0)
        sums.smoothed.backward()
        return [sums.smoothed.detach(), sums.likelihood.float(), *(one.grad for one in given if one.grad is not None)]

    compiled = computed()
    monkeypatch.setattr(native, "takes", lambda *tensors: False)
    assert len(compiled) == 5
    for one, other in zip(compiled, computed(), strict=True):
        assert float((one - other).norm() / other.norm()) < (1e-5 if precision is torch.float32 else 1e-2)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FEWEST", 1)
    made = []
    for threads in (1, 3):
        monkeypatch.setattr(torch, "get_num_threads", lambda threads=threads: threads)
        logits, right = drawn(1000, torch.bfloat16)
        made.append((loss.cross_entropy_(logits, right, SHARE), logits))
    assert all(torch.equal(one, other) for one, other in zip(*made, strict=True))


def test_logits_far_from_each_other() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0], [-3e38, 3e38, 0.0], [-torch.inf, 0.0, 1.0]])
    right = torch.tensor([0, 1, 2])
    found = loss.cross_entropy_(logits, right, 0.0)
    expected = torch.tensor([[0.0, 0, 0], [0, 0, 0], [0, 1 / (1 + torch.e), -1 / (1 + torch.e)]])
    torch.testing.assert_close(logits, expected)
    assert found[1] == pytest.approx(torch.log(1 + torch.exp(torch.tensor(-1.0))).item(), rel=1e-5)


@pytest.mark.parametrize("place", [0, 7, 36])
def test_what_is_no_number_stays_none(place: int) -> None:
    logits, right = drawn(37, torch.float32)
    logits[3, place] = torch.nan
    assert not loss.cross_entropy_(logits, right, SHARE).isfinite().any()
    assert logits[3].isnan().any() and logits[[0, 1, 2, 4]].isfinite().all()


def test_no_rows_have_no_loss() -> None:
    assert loss.cross_entropy_(torch.zeros(0, 5), torch.zeros(0, dtype=torch.int64), SHARE).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("token", [-1, 37])
def test_a_token_outside_the_vocabulary_is_refused(token: int) -> None:
    logits, right = drawn(37, torch.float32)
    right[5] = token
    with pytest.raises(IndexError, match="vocabulary of 37"):
        loss.cross_entropy_(logits, right, SHARE)
