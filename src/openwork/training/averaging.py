"""The mean of several checkpoints' weights (section 6.1 of the paper)."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor


def average(weights: Iterable[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of each named tensor, summed in double precision; one set is held at a time.

    All sets must have the same names.
    """
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
