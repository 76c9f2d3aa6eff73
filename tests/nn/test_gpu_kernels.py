"""Kernels of a GPU beside the formulas; on a CPU by Triton's interpreter, if TRITON_INTERPRET=1 and Triton is there."""

import importlib.util
import os
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from openwork.nn.kernels import reference
from openwork.nn.kernels.gpu.linear import linear_in_layout
from openwork.nn.masks import Mask
from openwork.training.loss import smoothed_cross_entropy

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton") is not None
TOLERANCES = {torch.float32: 2e-5, torch.float16: 5e-3, torch.bfloat16: 3e-2}  # of the largest number


@pytest.fixture(scope="module")
def device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    if IS_INTERPRETED:
        return torch.device("cpu")
    pytest.skip("needs a GPU, or Triton's interpreter")


@pytest.fixture(params=[torch.float32, torch.float16, torch.bfloat16], ids=str)
def dtype(request: pytest.FixtureRequest, device: torch.device) -> torch.dtype:
    if device.type == "cpu" and request.param is torch.bfloat16:
        pytest.skip("the interpreter has no products in bfloat16")
    if device.type == "cuda" and request.param is torch.float32:
        pytest.skip("products in float32 are those of TF32 there")
    return request.param


def furthest(found: Sequence[Tensor], expected: Sequence[Tensor]) -> float:
    pairs = zip(found, expected, strict=True)
    return max(float((one.cpu().double() - other.cpu()).abs().max() / other.abs().max()) for one, other in pairs)


def random(*sizes: int, seed: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(device, dtype).requires_grad_()


def starts_of(lengths: Sequence[int], device: torch.device) -> Tensor:
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()], dtype=torch.int32, device=device)


def by_formula(heads: Sequence[Tensor], lengths: Sequence[Sequence[int]], mask: Mask, scale: float) -> Tensor:
    """Sentence by sentence, in double precision."""
    query, key, value = (
        one.split(list(sizes)) for one, sizes in zip(heads, (lengths[0], *lengths[1:] * 2), strict=True)
    )
    found = []
    for parts in zip(query, key, value, strict=True):
        rows = [part.transpose(0, 1)[None] for part in parts]
        found.append(reference.attention(rows[0], rows[1], rows[2], mask, scale)[0].transpose(0, 1))
    return torch.cat(found)


LENGTHS = [(3, 0, 7, 16, 1), (20, 33, 5, 64), (70, 130, 1, 0, 64)]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("width", [24, 64])
def test_attention_of_sentences_is_the_formula(
    lengths: tuple[int, ...], is_causal: bool, width: int, dtype: torch.dtype, device: torch.device
) -> None:
    from openwork.nn.kernels.gpu.attention import sentences

    others = lengths if is_causal else tuple(max(1, size * 5 % 90) for size in lengths)
    scale, sizes = width**-0.5, (sum(lengths), sum(others), sum(others))
    given = [random(size, 2, width, seed=seed, dtype=dtype, device=device) for seed, size in enumerate(sizes)]
    weights = torch.randn(sizes[0], 2, width, generator=torch.Generator().manual_seed(1)).to(device)
    starts = [starts_of(lengths, device), starts_of(others, device)]
    found, _ = sentences(given[0], given[1], given[2], starts, [max(lengths), max(others)], is_causal, scale)
    gradients = torch.autograd.grad((found.float() * weights).sum(), given)
    exact = [one.detach().cpu().double().requires_grad_() for one in given]
    expected = by_formula(exact, [lengths, others], Mask(is_causal=is_causal), scale)
    wanted = torch.autograd.grad((expected * weights.cpu()).sum(), exact)
    assert furthest([found.detach(), *gradients], [expected.detach(), *wanted]) < TOLERANCES[dtype]


@pytest.mark.parametrize("rows, width", [(7, 16), (33, 512), (5, 100), (3, 1024)])
@pytest.mark.parametrize("is_sum", [True, False])
def test_the_norm_of_a_sum_is_that_of_the_framework(
    rows: int, width: int, is_sum: bool, dtype: torch.dtype, device: torch.device
) -> None:
    from openwork.nn.kernels.gpu.norm import norm_of_sum

    given = [random(rows, width, seed=seed, dtype=dtype, device=device) for seed in range(1 + is_sum)]
    learnt = [random(width, seed=seed, dtype=torch.float32, device=device) for seed in (5, 6)]
    weights = torch.randn(rows, width, generator=torch.Generator().manual_seed(1)).to(device)
    found, _, _ = norm_of_sum(given[0], given[1] if is_sum else None, learnt[0], learnt[1], 1e-6)
    gradients = torch.autograd.grad((found.float() * weights).sum(), [*given, *learnt])
    exact = [one.detach().cpu().double().requires_grad_() for one in (*given, *learnt)]
    total = sum(exact[1 : 1 + is_sum], exact[0])
    expected = nn.functional.layer_norm(total, (width,), exact[-2], exact[-1], 1e-6)
    wanted = torch.autograd.grad((expected * weights.cpu()).sum(), exact)
    assert furthest([found.detach(), *gradients], [expected.detach(), *wanted]) < TOLERANCES[dtype]


@pytest.mark.parametrize("vocabulary", [10, 300, 5000])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_rows_and_its_gradient(
    vocabulary: int, smoothing: float, dtype: torch.dtype, device: torch.device
) -> None:
    """Rows of filling, whose right token is negative, do not count."""
    from openwork.nn.kernels.gpu.loss import cross_entropy_

    logits = random(6, vocabulary, seed=0, dtype=dtype, device=device).detach() * 3
    right = torch.tensor([1, 2, -1, 3, 9, -1], device=device)
    exact = logits.cpu().double().requires_grad_()
    real = right.cpu() >= 0
    # the formula computes in float32, which is finer than what is compared
    sums = smoothed_cross_entropy(exact[real], right.cpu()[real], smoothing)
    (wanted,) = torch.autograd.grad(sums.smoothed, exact)
    found = cross_entropy_(logits, right, smoothing)
    expected = torch.stack((sums.smoothed.detach(), sums.likelihood)).double()
    torch.testing.assert_close(found.cpu(), expected, rtol=1e-5, atol=1e-5)
    assert not logits[~real.to(device)].any()
    assert furthest([logits], [wanted]) < TOLERANCES[dtype]


@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_whose_gradient_has_the_layout_of_its_weight(bias: bool) -> None:
    layer = nn.Linear(6, 5, bias=bias)
    x = torch.randn(2, 3, 6, requires_grad=True)
    expected = torch.autograd.grad(layer(x).square().sum(), [x, *layer.parameters()])
    found = torch.autograd.grad(linear_in_layout(layer, x).square().sum(), [x, *layer.parameters()])
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    assert found[1].is_contiguous()
