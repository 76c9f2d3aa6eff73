"""A trained model without one of its heads: the head's slice of the output projection is zero while it is scored.

The output of an attention is a sum over its heads, each times its rows of W^O, so the sum without one head is exact.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from openwork.base.errors import ConfigError
from openwork.models.families import ModelSettings
from openwork.models.settings import DecoderSettings, EncoderSettings, TransformerSettings

if TYPE_CHECKING:
    from torch import nn

HEAD = "heads.without"  # key of a trial's settings, such as "encoder.layers.0.self_attention.2": head 2, from 1


def heads_of(model: ModelSettings) -> list[tuple[str, int]]:
    """Each attention of a Transformer by its name in the model, and its number of heads.

    ConfigError for a model without attention heads.
    """
    match model:
        case TransformerSettings():
            names = [f"encoder.layers.{layer}.self_attention" for layer in range(model.encoder_layers)]
            for kind in ("self", "cross"):
                names += [f"decoder.layers.{layer}.{kind}_attention" for layer in range(model.decoder_layers)]
        case DecoderSettings():
            names = [f"stack.layers.{layer}.self_attention" for layer in range(model.layers)]
        case EncoderSettings():
            names = [f"encoder.layers.{layer}.self_attention" for layer in range(model.layers)]
        case _:
            raise ConfigError(
                f"a model of the kind {model.kind} has no attention heads to remove",
                hint="name a Transformer, a decoder or an encoder as base",
                code="C138",
            )
    return [(name, model.heads) for name in names]


@contextmanager
def without_head(model: "nn.Module", name: str) -> Iterator[None]:
    """A context in which the model lacks a head, such as "encoder.layers.0.self_attention.2"."""
    import torch

    from openwork.nn.attention import MultiHeadAttention

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
