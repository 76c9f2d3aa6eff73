"""Muon: matrices of linear layers move by orthogonal steps, all other weights by Adam.

The mean of a matrix's gradients has a few large directions, and Adam moves the matrix along these. Muon (Jordan et al.
2024) moves it as far along every direction: the step is the orthogonal matrix nearest to the mean. Embeddings, biases
and the weights of norms are no maps from vectors to vectors, so Adam moves them.

Orthogonalising an n x m matrix (n <= m) takes 10 n^2 (2m + n) operations an update, where forward and backward take
6nm a token: 5n / T of the layers' time for batches of T tokens and n = m. So it is for large batches and narrow layers.
The step's size is right to a fifth, so its products may be of bfloat16, as Jordan et al. have them.
"""

import inspect
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

MOMENTUM = 0.95
# For each singular value s of a matrix, s <- a s + b s^3 + c s^5 (Jordan et al. 2024). After five times those from
# 0.002 to 1 lie between 0.68 and 1.21, which is near enough.
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5

_MATRICES = "matrices"  # of a group: whether these weights move by orthogonal steps


def orthogonal(
    matrices: Float[Tensor, "count n m"], precision: torch.dtype = torch.float32
) -> Float[Tensor, "count n m"]:
    """U V^T of each matrix U S V^T, nearly, by Newton-Schulz iterations; a matrix of zeros stays one.

    `precision`: of the products, and of what is returned.
    """
    a, b, c = COEFFICIENTS
    is_tall = matrices.shape[1] > matrices.shape[2]
    x = matrices.mT if is_tall else matrices
    x = (x / x.norm(dim=(1, 2), keepdim=True).clamp(min=1e-7)).to(precision)  # so that no singular value is above 1
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x


class Muon(torch.optim.Adam):
    """Moves the groups that `divide` has marked by orthogonal steps, the others by Adam.

    Args:
        groups, betas, epsilon: as Adam takes them.
        matrix_rate: what a group's rate is multiplied by for its matrices.

    `precision` is the type of the products that make steps orthogonal.
    """

    precision = torch.float32

    def __init__(
        self, groups: Iterable[dict[str, Any]], betas: tuple[float, float], epsilon: float, matrix_rate: float
    ) -> None:
        super().__init__(groups, 0.0, betas, epsilon, fused=True)
        self.matrix_rate = matrix_rate

    @torch.no_grad()
    def step(self, closure: None = None) -> None:
        """One update from the gradients."""
        groups = self.param_groups
        for group in groups:
            if group[_MATRICES]:
                self._move(group["params"], group["lr"] * self.matrix_rate)
        self.param_groups = [group for group in groups if not group[_MATRICES]]
        try:
            inspect.unwrap(torch.optim.Adam.step)(self)
        finally:
            self.param_groups = groups

    def _move(self, weights: list[nn.Parameter], rate: float) -> None:
        """W <- W - rate sqrt(max(1, n / m)) U V^T; matrices of one shape (n, m) are made orthogonal together."""
        alike = defaultdict[torch.Size, list[nn.Parameter]](list)
        for weight in weights:
            if weight.grad is not None:
                alike[weight.shape].append(weight)
        for shape, some in alike.items():
            steps = orthogonal(torch.stack([self._mean(weight) for weight in some]), self.precision)
            for weight, step in zip(some, steps.unbind(), strict=True):
                weight.sub_(step, alpha=rate * max(1.0, shape[0] / shape[1]) ** 0.5)

    def _mean(self, weight: nn.Parameter) -> Tensor:
        """The mean of the gradients after one more such gradient (Nesterov's momentum)."""
        assert weight.grad is not None
        state = self.state[weight]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = torch.zeros_like(weight)
        mean = state["momentum_buffer"].lerp_(weight.grad, 1 - MOMENTUM)
        return weight.grad.lerp(mean, MOMENTUM)


def divide(groups: Iterable[dict[str, Any]], model: nn.Module) -> list[dict[str, Any]]:
    """The groups, each divided into matrices of linear layers and the rest, and marked so."""
    linear = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    return [
        {**group, "params": weights, _MATRICES: are_matrices}
        for group in groups
        for are_matrices in (True, False)
        if (weights := [weight for weight in group["params"] if (id(weight) in linear) is are_matrices])
    ]
