"""The best tokens of each row by operations whose shapes depend on no data."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.nn.shapes import Logits

BLOCK = 32  # entries whose greatest is found before they are sorted


def best_in_order(
    scores: Float[Tensor, "rows entries"], count: int
) -> tuple[Float[Tensor, "rows best"], Int[Tensor, "rows best"]]:
    """The `count` highest of each row, best first, and of equals the lower id first, as `scoring.best_tokens` has them.

    A row is cut into blocks. Its `count` best entries are in the `count` best blocks, if these are ordered by their
    greatest entries, and of equals the earlier comes first: each better block has an entry that comes before all of
    another's. So only few entries have to be sorted; the rest of a row is read once.
    """
    size = scores.shape[-1]
    count = min(count, size)
    blocks = size // BLOCK
    if blocks <= count:
        values, places = scores.sort(dim=-1, descending=True, stable=True)
        return values[:, :count], places[:, :count]
    end = blocks * BLOCK
    parts = scores[:, :end].unflatten(-1, (blocks, BLOCK))
    _, chosen = best_in_order(parts.amax(-1), count)
    chosen = chosen.sort(dim=-1).values[..., None]  # entries in the order of their ids, as a stable sort needs them
    places = (chosen * BLOCK + torch.arange(BLOCK, device=scores.device)).flatten(1)
    values = parts.gather(1, chosen.expand(-1, -1, BLOCK)).flatten(1)
    if end < size:  # an incomplete block, which is always sorted with them
        rest = torch.arange(end, size, device=scores.device).expand(scores.shape[0], -1)
        places, values = torch.cat([places, rest], dim=-1), torch.cat([values, scores[:, end:]], dim=-1)
    values, order = values.sort(dim=-1, descending=True, stable=True)
    return values[:, :count], places.gather(1, order[:, :count])


def normaliser_of(
    scores: Logits, value: Float[Tensor, "rows 1"], token: Int[Tensor, "rows 1"]
) -> Float[Tensor, "rows 1"]:
    """log Z of each row, from its highest score and the token that has it, as `scoring.log_normaliser` computes it."""
    return value - scores.log_softmax(-1).gather(-1, token)
