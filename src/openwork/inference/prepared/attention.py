"""Attention of one query a row in a step of a search: equation 1 without masks and without copies.

The queries are already multiplied by 1 / sqrt(d_k): `layers.py` puts it into the weights.
"""

import torch
from jaxtyping import Float
from torch import Tensor

FEW_POSITIONS = 8  # up to so many, multiplying and adding up beats small matrix products


def attend_to_past(
    query: Float[Tensor, "rows queries_width"],
    key: Float[Tensor, "position rows queries_width"],
    value: Float[Tensor, "position rows values_width"],
    heads: int,
) -> Float[Tensor, "rows values_width"]:
    """Each row attends to all positions of its own past, without a mask.

    Positions are the first axis, so that writing one and reordering rows move whole lines of memory, and the softmax
    along it takes sixteen rows at once. Along a last axis shorter than sixteen it takes number by number, and costs
    more than the products.
    """
    positions, rows = key.shape[:2]
    keys, values = key.view(positions, rows * heads, -1), value.view(positions, rows * heads, -1)
    if positions <= FEW_POSITIONS:
        scores = (keys * query.view(rows * heads, -1)).sum(-1)
        return (scores.softmax(0).unsqueeze(-1) * values).sum(0).view(rows, -1)
    scores = torch.bmm(query.view(rows * heads, 1, -1), keys.permute(1, 2, 0))
    weights = scores.view(rows * heads, positions).t().contiguous().softmax(0).t().contiguous()
    return torch.bmm(weights.unsqueeze(1), values.transpose(0, 1)).view(rows, -1)


def attend_to_memory(
    query: Float[Tensor, "rows queries_width"],
    key: Float[Tensor, "sentence head source width"],
    value: Float[Tensor, "sentence head source value_width"],
    bias: Float[Tensor, "sentence head 1 source"],
) -> tuple[Float[Tensor, "rows values_width"], Float[Tensor, "sentence head queries source"]]:
    """The output of attention, and its weights. The rows of a sentence attend together to its memory, which is held
    once, not once for each hypothesis. `bias` masks the padding.
    """
    sentences, heads = key.shape[:2]
    each = query.shape[0] // sentences
    split = query.view(sentences, each, heads, -1).transpose(1, 2).reshape(sentences * heads, each, -1)
    weights = torch.baddbmm(bias.flatten(0, 1), split, key.flatten(0, 1).transpose(1, 2)).softmax(-1)
    found = torch.bmm(weights, value.flatten(0, 1)).view(sentences, heads, each, -1)
    return found.transpose(1, 2).reshape(query.shape[0], -1), weights.view(sentences, heads, each, -1)
