"""Means of weights: of several checkpoints (section 6.1 of the paper), and a moving one while they are trained."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from openwork.models.weights import model_weights
from openwork.training.loop import LoopState, Observer
from openwork.training.step import StepReport


def average(weights: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each named tensor, summed in double precision; all sets have the same names."""
    total: dict[str, Tensor] = {}
    count = 0
    for count, one in enumerate(weights, start=1):
        if count > 1 and one.keys() != total.keys():
            raise ValueError("these weights belong to different models")
        for name, tensor in one.items():
            wide = tensor.to(torch.float64)
            total[name] = wide if count == 1 else total[name] + wide
    if count == 0:
        raise ValueError("there is nothing to average")
    return {name: (tensor / count).to(torch.float32) for name, tensor in total.items()}


class MovingAverage(Observer):
    """average <- decay average + (1 - decay) weights, after each update; the model itself goes on undisturbed.

    The decay is at most (1 + step) / (10 + step), so that the first weights, which are random, are soon forgotten (the
    rule of TensorFlow's ExponentialMovingAverage). It must observe before checkpoints are saved, so that the average up
    to that update is saved.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.model = model
        self.decay = decay
        self.weights = {name: tensor.clone() for name, tensor in model_weights(model).items()}

    def stepped(self, run: LoopState, report: StepReport) -> None:
        self.update(report.step)

    def update(self, step: int) -> None:
        """Takes the weights after update `step` in."""
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        own = model_weights(self.model)
        # average + share (weights - average): weights that never change, such as frozen ones, are kept bit for bit
        with torch.no_grad():
            for name, average in self.weights.items():
                if average.is_floating_point():
                    average.lerp_(own[name], share)

    def restore(self, weights: Mapping[str, Tensor]) -> None:
        for name, average in self.weights.items():
            average.copy_(weights[name])
