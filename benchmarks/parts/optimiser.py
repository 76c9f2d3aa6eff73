"""Adam in one fused kernel beside its formula, weight by weight."""

import copy

import torch
from torch import Tensor, nn

from openwork.training.optimisers import make_optimiser
from openwork.training.settings import TrainingSettings
from parts.comparison import Comparison

RATE = 1e-3


def comparisons(scale: int = 16) -> list[Comparison]:
    """One update after another of some matrices, with the same gradients each time."""
    sizes = [(16 * scale, 256)] * 12 + [(500 * scale, 256)]
    plain = nn.ParameterList(nn.Parameter(torch.randn(size)) for size in sizes)
    for weight in plain:
        weight.grad = torch.randn_like(weight)
    ours = copy.deepcopy(plain)
    for weight, same in zip(plain, ours, strict=True):
        same.grad = weight.grad
    settings = TrainingSettings()
    fused, by_formula = make_optimiser(ours, settings), _ByFormula(list(plain), settings)

    def step_fused() -> list[Tensor]:
        for group in fused.param_groups:
            group["lr"] = RATE
        fused.step()
        return [weight.detach() for weight in ours]

    count = sum(weight.numel() for weight in plain)
    ways = {"formula": by_formula.step, "ours": step_fused}
    return [Comparison("optimiser", f"an update of {count:,} weights by Adam", ways)]


class _ByFormula:
    """Algorithm 1 of Kingma and Ba 2015."""

    def __init__(self, weights: list[nn.Parameter], settings: TrainingSettings) -> None:
        self.weights, self.settings, self.time = weights, settings, 0
        self.means, self.squares = ([torch.zeros_like(weight) for weight in weights] for _ in range(2))

    @torch.no_grad()
    def step(self) -> list[Tensor]:
        beta1, beta2 = self.settings.beta1, self.settings.beta2
        self.time += 1
        for weight, mean, square in zip(self.weights, self.means, self.squares, strict=True):
            assert weight.grad is not None
            mean.copy_(beta1 * mean + (1 - beta1) * weight.grad)
            square.copy_(beta2 * square + (1 - beta2) * weight.grad**2)
            unbiased, spread = mean / (1 - beta1**self.time), square / (1 - beta2**self.time)
            weight -= RATE * unbiased / (spread.sqrt() + self.settings.epsilon)
        return [weight.detach() for weight in self.weights]
