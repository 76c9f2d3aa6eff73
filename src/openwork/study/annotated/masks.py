"""From the documents' masks to descriptions that kernels read. In 001 zero hides; in 003 True hides, as in torch."""

from dataclasses import replace

import torch
from torch import Tensor

from openwork.base.errors import ConfigError
from openwork.nn.masks import EVERYTHING, Mask

FILL = -1e9  # what 001 puts in the place of a hidden score


def of_scores(mask: Tensor | None) -> Mask:
    """A mask (..., query, key) that is broadcast against the scores as it is, four axes at most."""
    return EVERYTHING if mask is None else Mask(allowed=mask[(None,) * (4 - mask.dim())] != 0)


def of_positions(mask: Tensor | Mask | None) -> Mask:
    """A mask (batch, key), (batch, query, key) or (batch, head, query, key); a batch of 1 serves all sentences.

    None hides nothing, and a description is taken as it is. ConfigError for any other number of axes.
    """
    if mask is None or isinstance(mask, Mask):
        return mask or EVERYTHING
    if not 2 <= mask.dim() <= 4:
        raise ConfigError(
            f"a mask of {mask.dim()} axes does not say whom it hides from whom",
            why="a mask is (batch, key), (batch, query, key) or (batch, head, query, key)",
            hint="for one sentence, put a batch of one before its positions: mask[None]",
            code="C001",
        )
    if mask.dim() == 2:
        mask = mask[:, None]
    return of_scores(mask[:, None] if mask.dim() == 3 else mask)


def of_target(mask: Tensor | Mask | None) -> Mask:
    """The mask of a decoder's own positions, which never shows the future unless it was asked to.

    A mask that says nothing of the queries, None among them, is joined with the causal one. One that has a row for each
    query says all there is to say, and so does a description.
    """
    described = of_positions(mask)
    says_all = isinstance(mask, Mask) or (described.allowed is not None and described.allowed.shape[-2] > 1)
    return described if says_all else replace(described, is_causal=True)


def of_framework(mask: Tensor | None, heads: int) -> Mask:
    """A mask as torch wants it, (query, key) or (batch * heads, query, key): True hides, or -1e9 and less added to it.

    ConfigError for numbers in between: they would shift scores instead of hiding them.
    """
    if mask is None:
        return EVERYTHING
    hidden = mask <= FILL if mask.is_floating_point() else mask
    if hidden.dtype is not torch.bool or not (hidden | (mask == 0)).all():
        raise ConfigError(
            "this mask holds neither booleans nor numbers that hide",
            why="here True hides; a number is added to the score, and only 0, or -1e9 and less, shows or hides a key",
            hint="of ones for what is shown and zeros for what is hidden, give mask == 0",
            code="C002",
        )
    return of_scores(~(hidden if hidden.dim() == 2 else hidden.unflatten(0, (-1, heads))))
