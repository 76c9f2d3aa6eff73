"""R-Drop: two passes that differ in their dropout alone, and a price on their disagreement (Liang et al. 2021).

Half of the paper's equation 4, so that the loss stays one of nats per token and alpha = 0 is the plain loss:

    1/2 [CE(p1) + CE(p2)] + alpha/4 [KL(p1 || p2) + KL(p2 || p1)]
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.training.loss import (
    LossSums,
    SmoothingForm,
    chunk_cross_entropy,
    chunk_rows,
    even_share,
    log_normaliser,
    smoothed_cross_entropy,
)


def r_drop_loss(
    first: Float[Tensor, "tokens vocabulary"],
    second: Float[Tensor, "tokens vocabulary"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    alpha: float,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """The formula as it is written, from the logits of both passes."""
    one, two = (smoothed_cross_entropy(logits, targets, smoothing, form) for logits in (first, second))
    log_one, log_two = first.float().log_softmax(dim=-1), second.float().log_softmax(dim=-1)
    forwards = (log_one.exp() * (log_one - log_two)).sum()
    backwards = (log_two.exp() * (log_two - log_one)).sum()
    smoothed = (one.smoothed + two.smoothed) / 2 + alpha / 4 * (forwards + backwards)
    return LossSums(smoothed, (one.likelihood + two.likelihood) / 2, targets.numel())


def _chunk(
    logits: tuple[Tensor, Tensor], right: Tensor, share: float, alpha: float
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor]]:
    """Loss and likelihood of some rows, and the gradients with respect to both their logits.

    With d = log p1 - log p2, the gradient of KL(p1 || p2) + KL(p2 || p1) with respect to the first logits is
    p1 (d - KL(p1 || p2)) + p1 - p2; for the second all signs and places are exchanged.
    """
    one, two = (each.softmax(dim=-1) for each in logits)
    difference = logits[0] - log_normaliser(logits[0], one) - (logits[1] - log_normaliser(logits[1], two))
    forwards = (one * difference).sum(dim=-1, keepdim=True)
    backwards = -(two * difference).sum(dim=-1, keepdim=True)
    bent_one = one * (difference - forwards) + one - two
    bent_two = two * (-difference - backwards) + two - one
    chunks = [chunk_cross_entropy(each, p, right, share) for each, p in zip(logits, (one, two), strict=True)]
    gradients = (
        chunks[0].gradient.div_(2).add_(bent_one, alpha=alpha / 4),
        chunks[1].gradient.div_(2).add_(bent_two, alpha=alpha / 4),
    )
    divergence = (forwards + backwards).sum(dtype=torch.float64)
    smoothed = (chunks[0].smoothed + chunks[1].smoothed) / 2 + alpha / 4 * divergence
    return smoothed, (chunks[0].likelihood + chunks[1].likelihood) / 2, gradients


class _ProjectedRDrop(torch.autograd.Function):
    """The same joined with the output projection, a chunk of rows at a time (see `_ProjectedCrossEntropy`)."""

    @staticmethod
    def forward(
        ctx: Any, first: Tensor, second: Tensor, weight: Tensor, targets: Tensor, share: float, alpha: float,
        precision: torch.dtype,
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        rows = max(1, chunk_rows(weight) // 2)
        narrow_weight = weight.to(precision)
        hidden_gradients = torch.empty_like(first), torch.empty_like(second)
        weight_gradient = torch.zeros_like(weight, dtype=torch.float32)
        sums = torch.zeros(2, dtype=torch.float64, device=first.device)
        for start in range(0, first.shape[0], rows):
            part = slice(start, start + rows)
            narrow = first[part].to(precision), second[part].to(precision)
            logits = (narrow[0] @ narrow_weight.T).float(), (narrow[1] @ narrow_weight.T).float()
            smoothed, likelihood, gradients = _chunk(logits, targets[part, None], share, alpha)
            sums += torch.stack((smoothed, likelihood))
            for hidden, gradient, whole in zip(narrow, gradients, hidden_gradients, strict=True):
                narrow_gradient = gradient.to(precision)
                whole[part] = narrow_gradient @ narrow_weight
                weight_gradient += narrow_gradient.T @ hidden
        ctx.save_for_backward(*hidden_gradients, weight_gradient)
        smoothed, likelihood = sums.unbind()
        ctx.mark_non_differentiable(likelihood)
        return smoothed.float(), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scale = gradients[0]
        return *(tensor * scale for tensor in ctx.saved_tensors), None, None, None, None


def projected_r_drop(
    hidden: tuple[Float[Tensor, "tokens width"], Float[Tensor, "tokens width"]],
    weight: Float[Tensor, "vocabulary width"],
    targets: Int[Tensor, "tokens"],
    smoothing: float,
    alpha: float,
    precision: torch.dtype = torch.float32,
    form: SmoothingForm = "vocabulary",
) -> LossSums:
    """`r_drop_loss` of both passes' vectors, projected by `weight`, without ever holding all the logits."""
    share = even_share(smoothing, form, weight.shape[0])
    smoothed, likelihood = _ProjectedRDrop.apply(*hidden, weight, targets, share, alpha, precision)
    return LossSums(smoothed, likelihood, targets.numel())
