"""Cross-entropy with label smoothing (section 5.4 of the paper), as sums: division happens where a number is shown."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

# Rows of logits that stand in memory at once: 256 rows of 8,000 logits are 8 MB, about what a core's caches hold.
CHUNK_ELEMENTS = 2_000_000


@dataclass(frozen=True)
class LossSums:
    """`smoothed` is what training minimises, `likelihood` the plain -log p of the right tokens, `tokens` a count."""

    smoothed: Tensor
    likelihood: Tensor
    tokens: int


def smoothed_cross_entropy(
    logits: Float[Tensor, "tokens vocabulary"], targets: Int[Tensor, "tokens"], smoothing: float
) -> LossSums:
    """-sum_v q(v) log p(v) with q = (1 - smoothing) on the right token and smoothing / V spread over all V.

    This is the form of Szegedy et al. 2016, which the paper cites.
    """
    log_probabilities = logits.float().log_softmax(dim=-1)
    likelihood = -log_probabilities.gather(-1, targets[:, None]).sum()
    uniform = -log_probabilities.mean(dim=-1).sum()
    return LossSums((1 - smoothing) * likelihood + smoothing * uniform, likelihood.detach(), targets.numel())


class _ProjectedCrossEntropy(torch.autograd.Function):
    """The same joined with the output projection, a chunk of rows at a time.

    The gradient with respect to the logits is softmax - q, known as soon as the loss is; making it at once means
    that (tokens, vocabulary) never stands in memory and the logits are computed once.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, smoothing: float, precision: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        vocabulary = weight.shape[0]
        rows = max(1, CHUNK_ELEMENTS // vocabulary)
        narrow_weight = weight.to(precision)
        hidden_gradient = torch.empty_like(hidden)
        weight_gradient = torch.zeros_like(weight, dtype=torch.float32)
        smoothed = torch.zeros((), dtype=torch.float64)
        likelihood = torch.zeros((), dtype=torch.float64)
        for start in range(0, hidden.shape[0], rows):
            chunk = hidden[start : start + rows].to(precision)
            right = targets[start : start + rows, None]
            logits = (chunk @ narrow_weight.T).float()
            gradient = logits.softmax(dim=-1)
            # log sum exp, from the largest entry of each row: a second pass over exp would cost as much as the rest.
            normaliser = logits.amax(dim=-1, keepdim=True) - gradient.amax(dim=-1, keepdim=True).log()
            chunk_likelihood = (normaliser - logits.gather(-1, right)).sum(dtype=torch.float64)
            uniform = (normaliser - logits.mean(dim=-1, keepdim=True)).sum(dtype=torch.float64)
            likelihood += chunk_likelihood.cpu()
            smoothed += ((1 - smoothing) * chunk_likelihood + smoothing * uniform).cpu()
            gradient.sub_(smoothing / vocabulary)
            gradient.scatter_add_(-1, right, torch.full_like(right, smoothing - 1, dtype=gradient.dtype))
            narrow_gradient = gradient.to(precision)
            hidden_gradient[start : start + rows] = narrow_gradient @ narrow_weight
            weight_gradient += narrow_gradient.T @ chunk
        ctx.save_for_backward(hidden_gradient, weight_gradient)
        ctx.mark_non_differentiable(likelihood)
        return smoothed.to(hidden.device, torch.float32), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None, None]:
        hidden_gradient, weight_gradient = ctx.saved_tensors
        scale = gradients[0]
        return hidden_gradient * scale, weight_gradient * scale, None, None, None


def projected_cross_entropy(
    hidden: Float[Tensor, "tokens width"],
    weight: Float[Tensor, "vocabulary width"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    precision: torch.dtype = torch.float32,
) -> LossSums:
    """`smoothed_cross_entropy(hidden @ weight.T, ...)` without ever holding all the logits.

    `precision` is the type of the matrix products; sums and softmax are in float32.
    """
    smoothed, likelihood = _ProjectedCrossEntropy.apply(hidden, weight, targets, smoothing, precision)
    return LossSums(smoothed, likelihood, targets.numel())
