"""A trained model without one of its heads: the head's slice of the output projection is zero while it is scored.

The output of an attention is a sum over its heads, each times its rows of W^O, so the sum without one head is exact.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from openwork.nn.attention import MultiHeadAttention


@contextmanager
def without_head(model: nn.Module, name: str) -> Iterator[None]:
    """A context in which the model lacks a head, such as "encoder.layers.0.self_attention.2"."""
    place, _, number = name.rpartition(".")
    attention = model.get_submodule(place)
    assert isinstance(attention, MultiHeadAttention)
    width, first = attention.heads.value_width, int(number) - 1
    columns = slice(first * width, (first + 1) * width)
    with torch.no_grad():
        before = attention.output.weight[:, columns].clone()
        attention.output.weight[:, columns] = 0
    try:
        yield
    finally:
        with torch.no_grad():
            attention.output.weight[:, columns] = before
