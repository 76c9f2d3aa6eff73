"""How much a loss depends on each unit inside a model (Michel et al. 2019, equation 2, for heads and for rows alike).

    importance of unit u = mean over batches of | sum over tokens of a_u * dL/da_u |

`a_u` is what the unit gives to the matrix behind it: of a feed-forward network the numbers that `contract` reads, of an
attention those that `output` reads. To first order it is what the loss changes by if the unit gives zero.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from openwork.models.interfaces import SequenceModel
from openwork.training.batches.batch import TrainingBatch
from openwork.training.loss import batch_loss

READERS = ("contract", "output")  # names of the matrices that read units


def unit_importance(model: SequenceModel, batches: Iterable[TrainingBatch]) -> dict[str, Tensor]:
    """Of each matrix in a layer that reads units, by its name, the importance of every unit."""
    modules = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and name.rpartition(".")[2] in READERS and ".layers." in name
    }
    found = {name: torch.zeros(module.in_features, dtype=torch.float64) for name, module in modules.items()}
    model.eval()
    for count, batch in enumerate(batches, start=1):
        with _watched(modules) as inputs:
            loss = batch_loss(model, batch, 0.0, "float32").smoothed / batch.target_tokens
        names = [name for name in inputs if inputs[name].requires_grad]
        gradients = torch.autograd.grad(loss, [inputs[name] for name in names], allow_unused=True)
        for name, gradient in zip(names, gradients, strict=True):
            if gradient is not None:
                change = (inputs[name].detach() * gradient).flatten(0, -2).sum(dim=0, dtype=torch.float64).abs()
                found[name] += (change.cpu() - found[name]) / count
    return found


@contextmanager
def _watched(modules: dict[str, nn.Linear]) -> Iterator[dict[str, Tensor]]:
    """The inputs of the last call of each module, by name."""
    inputs: dict[str, Tensor] = {}

    def keep(name: str) -> torch.utils.hooks.RemovableHandle:
        return modules[name].register_forward_pre_hook(lambda _, given: inputs.update({name: given[0]}))

    handles = [keep(name) for name in modules]
    try:
        yield inputs
    finally:
        for handle in handles:
            handle.remove()
