"""The optimisers, and their state as named tensors (so that a checkpoint needs no pickle).

The rate is set before each update by the schedule. A new optimiser is an entry of the table.

Nothing here imports torch's compiler, as the framework does when an optimiser is made and when it steps: that takes a
training one to four seconds and 60 to 70 MB (benchmarks/results/start-training.json).
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

from openwork.machine.precision import TYPES, PrecisionName
from openwork.training.muon import Muon, divide
from openwork.training.settings import TrainingSettings
from openwork.training.trained_weights import group_layers

Weights = Iterable[dict[str, Any]]  # groups of weights, as the framework's optimisers take them


Make = Callable[[Weights, TrainingSettings], torch.optim.Optimizer]

OPTIMISERS: dict[str, Make] = {
    # The paper's moments (section 5.3), one fused kernel for all weights.
    "adam": lambda weights, s: torch.optim.Adam(weights, 0.0, (s.beta1, s.beta2), s.epsilon, fused=True),
    # Adam that also shrinks each weight by rate times `weight_decay` (Loshchilov and Hutter 2019).
    "adamw": lambda weights, s: torch.optim.AdamW(
        weights, 0.0, (s.beta1, s.beta2), s.epsilon, s.weight_decay, fused=True
    ),
    # Gradient descent along a sum of gradients in which older ones fade by `momentum` an update.
    "sgd": lambda weights, s: torch.optim.SGD(weights, 0.0, s.momentum),
    # Each weight's gradient divided by the root of the sum of all its squares (Duchi et al. 2011).
    "adagrad": lambda weights, s: torch.optim.Adagrad(weights, 0.0, eps=s.epsilon),
    # Squares kept as one number a row and a column (Shazeer and Stern 2018); the rate is relative to the weights.
    "adafactor": lambda weights, s: torch.optim.Adafactor(weights, 0.0),
    # Orthogonal steps for matrices of linear layers, Adam for the rest (Jordan et al. 2024).
    "muon": lambda weights, s: Muon(weights, (s.beta1, s.beta2), s.epsilon, s.matrix_rate),
}

KEPT_FROM_COMPILER = "__dynamo_disable"  # an attribute: what to call instead of a function that is not to be compiled
SCALE = "scale"  # what the schedule's rate is multiplied by for the weights of a group


def make_optimiser(
    model: nn.Module,
    settings: TrainingSettings,
    moved: Iterable[nn.Parameter] | None = None,
    precision: PrecisionName = "float32",
) -> torch.optim.Optimizer:
    """The settings' optimiser of the weights that learn (of those `moved`, if given), by groups of layers.

    `precision`: of the matrix products, where the optimiser has some.
    """
    mine = None if moved is None else {id(weight) for weight in moved}
    grouped = group_layers(model, settings.layer_groups)
    grouped = [[weight for weight in weights if mine is None or id(weight) in mine] for weights in grouped]
    learning = [(number, weights) for number, weights in enumerate(grouped) if weights]
    groups = [{"params": weights, SCALE: settings.layer_decay**-number} for number, weights in learning]
    if settings.optimiser == "muon":
        groups = divide(groups, model)
    add_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    if not hasattr(add_group, KEPT_FROM_COMPILER):
        setattr(add_group, KEPT_FROM_COMPILER, add_group)
    optimiser = OPTIMISERS[settings.optimiser](groups, settings)
    if isinstance(optimiser, Muon):
        optimiser.precision = TYPES[precision]
    return optimiser


def skips_on_device(optimiser: torch.optim.Optimizer) -> bool:
    """Whether it finds out on the device, by `found_inf`, that a step is to be skipped."""
    return bool(optimiser.defaults.get("fused")) and not isinstance(optimiser, Muon)


def take_step(optimiser: torch.optim.Optimizer) -> None:
    """`optimiser.step()` without what the framework puts around it: for its compiler, profilers and hooks."""
    with torch.no_grad():
        inspect.unwrap(type(optimiser).step)(optimiser)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """The schedule's rate for an update; lower layers may have a part of it."""
    for group in optimiser.param_groups:
        group["lr"] = rate * group.get(SCALE, 1.0)


def optimiser_tensors(model: nn.Module, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """`PARAMETER/MOMENT` -> tensor, for every parameter that the optimiser remembers something of."""
    return {
        f"{name}/{key}": value
        for name, parameter in model.named_parameters()
        for key, value in optimiser.state.get(parameter, {}).items()
    }


def restore_optimiser(model: nn.Module, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """The inverse of `optimiser_tensors`; whatever the optimiser had gathered before is gone.

    Moments of weights that this optimiser does not move are left out.
    """
    moved = {id(weight) for group in optimiser.param_groups for weight in group["params"]}
    parameters = dict(model.named_parameters())
    fused = bool(optimiser.defaults.get("fused"))
    optimiser.state.clear()
    for name, value in tensors.items():
        parameter_name, key = name.rsplit("/", 1)
        parameter = parameters[parameter_name]
        if id(parameter) not in moved:
            continue
        # The count of updates: a fused kernel wants it beside the parameter, the others on the CPU.
        device = parameter.device if fused or key != "step" else torch.device("cpu")
        optimiser.state[parameter][key] = value.to(device, copy=True)
