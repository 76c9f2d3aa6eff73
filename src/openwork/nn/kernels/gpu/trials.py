"""Trials of the kernels that trainings use, on the device and with the sizes of a model."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from openwork.nn.kernels import gpu, reference
from openwork.nn.masks import Mask

DTYPE = torch.bfloat16
# Sentences of one tile of each length, and of several: queries, and keys where these are those of another side.
LENGTHS = (((3, 16, 1, 9), (8, 2, 16, 5)), ((20, 32, 5, 0), (31, 7, 1, 4)), ((64, 40, 2, 9), (33, 64, 8, 1)),
           ((130, 70, 1, 64), (90, 7, 200, 3)))  # fmt: skip
ROWS, WIDTH, VOCABULARY, SHARE, RATE = 33, 520, 5000, 0.1, 0.2
MOST_DEVIATIONS = 6


def try_training_kernels(model: nn.Module, heads: set[tuple[int, int]], device: torch.device) -> bool:
    """Tries those that `model` would use, whose attentions have heads of these widths; whether the loss's is right."""
    if not gpu.runs_triton(device):
        return False
    for width, value_width in heads:
        if width == value_width <= gpu.WIDEST:
            gpu.is_right(device, ("attention", width), lambda width=width: attention_difference(device, width))
    try_norms(model, device)
    gpu.is_right(device, ("rectified",), lambda: rectified_difference(device))
    return gpu.is_right(device, ("loss",), lambda: loss_difference(device))


def try_norms(model: nn.Module, device: torch.device) -> None:
    """Tries the kernels of its layer norms, with their gradients, also where only inference is wanted."""
    with torch.inference_mode(False), torch.enable_grad():
        for width in {module.normalized_shape[-1] for module in model.modules() if isinstance(module, nn.LayerNorm)}:
            gpu.is_right(device, ("norm", width), lambda width=width: norm_difference(device, width))


def random(*sizes: int, seed: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(seed)).to(device, dtype).requires_grad_()


def furthest(found: list[Tensor], expected: list[Tensor]) -> float:
    """The largest difference of two lists of tensors, each as a share of its largest number; infinite for NaN."""
    differences = [
        float((one.detach().cpu().double() - other.detach()).abs().max() / other.detach().abs().max())
        for one, other in zip(found, expected, strict=True)
    ]
    return max(one if one == one else float("inf") for one in differences)


def in_double(given: list[Tensor]) -> list[Tensor]:
    """The same numbers in double precision, on the CPU."""
    return [one.detach().cpu().double().requires_grad_() for one in given]


def by_formula(heads: list[Tensor], sizes: tuple[tuple[int, ...], ...], mask: Mask, scale: float) -> Tensor:
    """Attention, sentence by sentence."""
    parts = (one.split(list(each)) for one, each in zip(heads, (sizes[0], sizes[1], sizes[1]), strict=True))
    found = []
    for sentence in zip(*parts, strict=True):
        query, key, value = (part.transpose(0, 1)[None] for part in sentence)
        found.append(reference.attention(query, key, value, mask, scale)[0].transpose(0, 1))
    return torch.cat(found)


def attention_difference(device: torch.device, width: int, dtype: torch.dtype = DTYPE) -> float:
    """Forwards and backwards, over all lengths of tiles, in the order and across two sides."""
    from openwork.nn.kernels.gpu.attention import sentences

    scale, worst = width**-0.5, 0.0
    for lengths, others in LENGTHS:
        for is_causal in (True, False):
            sizes = (lengths, lengths if is_causal else others)
            counts = [sum(sizes[0]), sum(sizes[1]), sum(sizes[1])]
            given = [
                random(count, 2, width, seed=seed, device=device, dtype=dtype) for seed, count in enumerate(counts)
            ]
            weights = random(counts[0], 2, width, seed=9, device=device, dtype=dtype)
            starts = [
                torch.tensor([0, *torch.tensor(one).cumsum(0).tolist()], dtype=torch.int32, device=device)
                for one in sizes
            ]
            longest = [max(one) for one in sizes]
            found, _ = sentences(given[0], given[1], given[2], starts, longest, is_causal, scale)
            gradients = torch.autograd.grad(found, given, weights.detach())
            exact = in_double(given)
            expected = by_formula(exact, sizes, Mask(is_causal=is_causal), scale)
            wanted = torch.autograd.grad(expected, exact, in_double([weights])[0].detach())
            worst = max(worst, furthest([found, *gradients], [expected, *wanted]))
    return worst


def norm_difference(device: torch.device, width: int, dtype: torch.dtype = DTYPE) -> float:
    """Of a vector, of a sum, and of a sum with dropout, forwards and backwards."""
    from openwork.nn.kernels.gpu.norm import norm_of_sum

    worst = 0.0
    for count, rate in ((1, 0.0), (2, 0.0), (2, RATE)):
        given = [random(ROWS, width, seed=seed, device=device, dtype=dtype) for seed in range(count)]
        learnt = [random(width, seed=seed, device=device, dtype=torch.float32) for seed in (5, 6)]
        weights = random(ROWS, width, seed=9, device=device, dtype=dtype).detach()
        seed = torch.tensor([3], device=device) if rate else None
        found, _, _ = norm_of_sum(given[0], given[1] if count == 2 else None, learnt[0], learnt[1], 1e-6, rate, seed)
        gradients = torch.autograd.grad(found, [*given, *learnt], weights)
        exact = in_double([*given, *learnt])
        # a number that was dropped has no gradient
        mask = (gradients[1] != 0).cpu().double() / (1 - rate) if rate else torch.ones(())
        total = exact[0] + mask * exact[1] if count == 2 else exact[0]
        expected = functional.layer_norm(total, (width,), exact[-2], exact[-1], 1e-6)
        wanted = torch.autograd.grad(expected, exact, in_double([weights])[0].detach())
        is_fair = not rate or _is_likely(mask == 0, rate)
        worst = max(worst, furthest([found, *gradients], [expected, *wanted]) if is_fair else float("inf"))
    return worst


def _is_likely(drawn: Tensor, rate: float) -> bool:
    """Whether so many of independent draws, each true with probability `rate`, are no wonder."""
    deviation = (rate * (1 - rate) / drawn.numel()) ** 0.5
    return abs(float(drawn.double().mean()) - rate) < MOST_DEVIATIONS * deviation


def rectified_difference(device: torch.device, width: int = WIDTH, dtype: torch.dtype = DTYPE) -> float:
    """The gradient before max(0, .), and its sums."""
    from openwork.nn.kernels.gpu.rectified import rectified_backward

    given, gradient = (random(ROWS, width, seed=seed, device=device, dtype=dtype).detach() for seed in (1, 2))
    exact, slopes = in_double([given, gradient])
    (expected,) = torch.autograd.grad(exact.relu(), exact, slopes.detach())
    return furthest([*rectified_backward(gradient, given.relu())], [expected, expected.sum(dim=0)])


def loss_difference(device: torch.device, vocabulary: int = VOCABULARY, dtype: torch.dtype = DTYPE) -> float:
    """The sums and the gradient, with rows that do not count."""
    from openwork.nn.kernels.gpu.loss import cross_entropy_

    right = torch.arange(ROWS) * 7 % vocabulary
    right[::5] = -1
    logits = random(ROWS, vocabulary, seed=0, device=device, dtype=dtype).detach()
    (exact,) = in_double([logits])
    logarithms = exact[right >= 0].log_softmax(-1)
    likelihood = -logarithms.gather(-1, right[right >= 0, None]).sum()
    smoothed = (1 - SHARE) * likelihood - SHARE * logarithms.mean(-1).sum()
    (wanted,) = torch.autograd.grad(smoothed, exact)
    sums = cross_entropy_(logits, right.to(device), SHARE)
    return furthest([logits, sums], [wanted, torch.stack((smoothed, likelihood))])
