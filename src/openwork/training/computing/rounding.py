"""Training with rounded weights, for a bundle that keeps them in fewer bits (Jacob et al. 2018).

Forward and backward pass compute with the rounded weights. Their gradients move the unrounded ones, as if rounding were
the identity (the straight-through estimator of Bengio, Léonard and Courville 2013).
"""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from openwork.models.interfaces import SequenceModel
from openwork.models.weights import model_facts

Rounding = Callable[[Tensor], Tensor]
"""Maps a weight to its rounded values, of the same shape. Vectors are unchanged."""


def with_own_matrices(model: SequenceModel) -> SequenceModel:
    """Copies the model with its matrices. Vectors and persistent buffers are shared."""
    vectors = [weight for weight in model.parameters() if weight.dim() < 2]
    shared = [*vectors, *model_facts(model).values()]
    return copy.deepcopy(model, {id(tensor): tensor for tensor in shared})


@contextmanager
def rounded_weights(model: nn.Module, rounding: Rounding | None) -> Iterator[None]:
    """Rounds the model's weights within the block and restores them afterwards; None rounds nothing."""
    own = [] if rounding is None else [(weight, weight.detach().clone()) for weight in model.parameters()]
    try:
        if rounding is not None:
            round_weights(model, rounding)
        yield
    finally:
        with torch.no_grad():
            for weight, before in own:
                weight.copy_(before)


@torch.no_grad()
def round_weights(model: nn.Module, rounding: Rounding) -> None:
    """Rounds the model's own weights."""
    for weight in model.parameters():
        weight.copy_(rounding(weight.detach()))
