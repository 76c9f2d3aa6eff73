"""The only place where (sentence, beam) is folded into rows, the axis that a model sees, and unfolded again.

Row number = sentence x beam width + place in the beam.
"""

import torch
from jaxtyping import Int, Shaped
from torch import Tensor


def fold(x: Shaped[Tensor, "sentence beam *rest"]) -> Shaped[Tensor, "rows *rest"]:
    """One row for each hypothesis."""
    return x.flatten(0, 1)


def unfold(x: Shaped[Tensor, "rows *rest"], beam: int) -> Shaped[Tensor, "sentence beam *rest"]:
    """The hypotheses of each sentence beside each other."""
    return x.unflatten(0, (-1, beam))


def selection(
    sentences: Int[Tensor, "kept"], parents: Int[Tensor, "kept new_beam"], beam: int
) -> Int[Tensor, "new_rows"]:
    """The old rows that the new ones continue.

    `sentences` are the kept ones, counted among the old; `parents` are places in their old beams, which were `beam`
    wide.
    """
    return (sentences[:, None] * beam + parents).flatten()


def in_place(selected: Int[Tensor, "new_rows"], count: int) -> bool:
    """Whether a selection out of `count` rows leaves each where it is, so that nothing need be copied."""
    return selected.shape[0] == count and bool((selected == torch.arange(count, device=selected.device)).all())
