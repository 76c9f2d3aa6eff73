"""The optimiser, and its state as named tensors (so that a checkpoint needs no pickle)."""

import torch
from torch import Tensor, nn

from openwork.training.settings import TrainingSettings


def make_adam(model: nn.Module, settings: TrainingSettings) -> torch.optim.Adam:
    """Adam with the paper's moments (section 5.3), one fused kernel for all weights."""
    betas = (settings.beta1, settings.beta2)
    return torch.optim.Adam(model.parameters(), lr=0.0, betas=betas, eps=settings.epsilon, fused=True)


def optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """`PARAMETER/MOMENT` -> tensor, for every parameter that has been updated."""
    return {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def restore_optimiser(model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse of `optimiser_tensors`; whatever the optimiser had gathered before is gone."""
    parameters = dict(model.named_parameters())
    optimiser.state.clear()
    for name, value in tensors.items():
        parameter_name, key = name.rsplit("/", 1)
        parameter = parameters[parameter_name]
        # also the count of steps: the fused kernel wants it beside the parameter
        optimiser.state[parameter][key] = value.to(parameter.device, copy=True)
