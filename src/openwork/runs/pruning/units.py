"""Heads and rows of feed-forward networks that a Transformer loses: in each layer those of the least importance."""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from openwork.base.errors import UsageError
from openwork.models.settings import TransformerSettings

Weights = Mapping[str, Tensor]
INNER = re.compile(r"(.*\.feedforward)\.contract$")
ATTENTION = re.compile(r"(.*_attention)\.output$")


def with_feedforward(
    settings: TransformerSettings, weights: Weights, importance: Mapping[str, Tensor], width: int
) -> tuple[TransformerSettings, dict[str, Tensor]]:
    """The model with so many rows in each feed-forward network: those of the greatest importance, in their order.

    UsageError for more than there are, and for networks that are no two or three plain matrices.
    """
    check_fewer("--feedforward", width, settings.feedforward_width)
    if settings.feedforward_rank is not None or settings.feedforward == "convolution":
        raise _not_these("--feedforward", "feed-forward networks of this kind")
    found = dict(weights)
    for name, units in importance.items():
        if (match := INNER.fullmatch(name)) is None:
            continue
        kept = _largest(units, width)
        for weight in [key for key in weights if key.startswith(f"{match[1]}.")]:
            part = weight.removeprefix(f"{match[1]}.")
            if part == "contract.weight":
                found[weight] = weights[weight][:, kept]
            elif part != "contract.bias":  # expand, and the gate of gated networks, with their biases
                found[weight] = weights[weight][kept]
    return settings.model_copy(update={"feedforward_width": width}), found


def with_heads(
    settings: TransformerSettings, weights: Weights, importance: Mapping[str, Tensor], heads: int
) -> tuple[TransformerSettings, dict[str, Tensor]]:
    """The model with so many heads in each attention, of the width that they have.

    UsageError for more than there are, and for attention whose heads are not alike.
    """
    check_fewer("--heads", heads, settings.heads)
    if settings.key_value_heads not in (None, settings.heads) or settings.attention == "additive":
        raise _not_these("--heads", "attention of this kind")
    if settings.positions in ("alibi", "relative", "bucketed"):
        raise _not_these("--heads", f"{settings.positions} positions, which differ from head to head")
    widths = [each or settings.width // settings.heads for each in (settings.head_width, settings.value_width)]
    found = dict(weights)
    for name, units in importance.items():
        if (match := ATTENTION.fullmatch(name)) is None:
            continue
        kept = _largest(units.view(settings.heads, -1).sum(dim=-1), heads)
        queries, values = ((kept[:, None] * width + torch.arange(width)).flatten() for width in widths)
        rows = {"query": queries, "key": queries, "value": values}
        for weight in [key for key in weights if key.startswith(f"{match[1]}.")]:
            part, _, kind = weight.removeprefix(f"{match[1]}.").partition(".")
            if part in rows:
                found[weight] = weights[weight][rows[part]]
            elif part == "output" and kind == "weight":
                found[weight] = weights[weight][:, values]
    new = {"heads": heads, "head_width": widths[0], "value_width": widths[1], "key_value_heads": None}
    return settings.model_copy(update=new), found


def _largest(importance: Tensor, count: int) -> Tensor:
    """The places of the `count` largest, ascending."""
    return importance.topk(count).indices.sort().values


def check_fewer(option: str, wanted: int, there: int) -> None:
    """UsageError for more than there are."""
    if wanted > there:
        raise UsageError(f"{option} {wanted}: the model has {there}", hint="name fewer than there are", code="U171")


def _not_these(option: str, what: str) -> UsageError:
    return UsageError(f"{option} does not go with {what}", hint=f"leave {option} out", code="U172")
