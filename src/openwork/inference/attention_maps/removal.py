"""A trained model without one of its heads: the head's slice of the output projection is zero.

The output of an attention is a sum over its heads, each times its rows of W^O, so the sum without one head is exact.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from openwork.base.errors import UsageError
from openwork.base.messages import msg
from openwork.bundles.bundle import Bundle
from openwork.inference.attention_maps.capture import attending_model, no_attention
from openwork.inference.attention_maps.maps import KINDS, Kind
from openwork.inference.explainable import translation_to_explain
from openwork.inference.translation import Translation
from openwork.inspection.trace import check_head, check_layer
from openwork.nn.attention import MultiHeadAttention

ATTENTIONS: dict[Kind, str] = {
    "encoder": "encoder.layers.{}.self_attention",
    "decoder": "decoder.layers.{}.self_attention",
    "cross": "decoder.layers.{}.cross_attention",
}


@dataclass(frozen=True)
class HeadName:
    """A head of a model; layer and head count from 0."""

    kind: Kind
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.layer}:{self.head}"

    @classmethod
    def read(cls, text: str) -> "HeadName":
        """From KIND:LAYER:HEAD, such as "cross:0:3". ValueError for anything else."""
        kind, layer, head = text.split(":")
        if kind not in KINDS or not all(one.isascii() and one.isdigit() for one in (layer, head)):
            raise ValueError(text)
        return cls(kind, int(layer), int(head))  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """The name that `without_head` takes."""
        return f"{ATTENTIONS[self.kind].format(self.layer)}.{self.head + 1}"


def read_head(text: str) -> HeadName:
    """A head as it is typed. UsageError for anything else."""
    try:
        return HeadName.read(text)
    except ValueError as error:
        raise UsageError(
            f"{text!r} is no head",
            why="a head is named by the kind of its attention, its layer and its number, both counted from 0",
            hint="write it as encoder:0:3, decoder:0:3 or cross:0:3",
            code="U155",
        ) from error


@contextmanager
def without_head(model: nn.Module, name: str) -> Iterator[None]:
    """A context in which the model lacks a head, such as "encoder.layers.0.self_attention.2", the second.

    Where layers share their weights, all of them lack it.
    """
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


def translate_without(bundle: Bundle, text: str, head: HeadName) -> Translation:
    """The bundle's own translation by its own search without a head, whose output is zero before W^O.

    UsageError for a model without such a layer or head, and for what `capture` refuses.
    """
    check_removable(bundle, head)
    with without_head(bundle.model, head.name):
        return translation_to_explain(bundle, text)


def check_removable(bundle: Bundle, head: HeadName) -> None:
    """UsageError for a head that the model does not have."""
    model: Any = attending_model(bundle)
    layers = (model.encoder if head.kind == "encoder" else model.decoder).layers if _has_heads(model) else ()
    if not layers:
        raise no_attention(
            msg("attention heads that can be removed"),
            msg(f"it is of the kind {bundle.settings.model.kind}, and only Transformers have several heads"),
        )
    check_layer(head.layer, len(layers))
    attention: MultiHeadAttention = model.get_submodule(head.name.rpartition(".")[0])
    check_head(head.head, attention.heads.count)


def _has_heads(model: nn.Module) -> bool:
    return any(isinstance(module, MultiHeadAttention) for module in model.modules())
