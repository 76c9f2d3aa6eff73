"""Patterns of self-attention over long texts: which pairs of positions there are, so that most need not be computed.

Positions are counted in a row's own sentence, padding aside, so that a pattern is the same in a batch and alone, in
steps and as a whole. A row is cut into blocks; a pattern says which blocks of keys a block of queries attends to, and
kernels compute these alone (`nn/kernels/sparse.py`). The first `global_tokens` attend to all and all attend to them.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

Blocks = Int[Tensor, "#batch block each"]
NONE = -1  # in the place of a block: there is none


@dataclass(frozen=True)
class Pattern:
    """`block`: positions of a block. `reach`: blocks of the window on each side, besides the own one."""

    block: int
    reach: int
    global_tokens: int = 0

    def blocks_seen(self, own: Int[Tensor, "#batch block"], counts: Int[Tensor, "#batch"], causal: bool) -> Blocks:
        """The blocks of keys of the blocks `own` of queries, in rows of `counts` positions; NONE where there is none.

        Besides, all see the global tokens. A block may come several times.
        """
        offsets = torch.arange(-self.reach, 1 if causal else self.reach + 1, device=own.device)
        return (own[..., None] + offsets).clamp(min=NONE)

    def within(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Whether positions whose blocks see each other do so themselves."""
        return torch.ones_like(queries == keys)

    def boolean(
        self,
        queries: Int[Tensor, "#batch query"],
        keys: Int[Tensor, "#batch key"],
        counts: Int[Tensor, "#batch"],
        causal: bool,
    ) -> Bool[Tensor, "#batch 1 query key"]:
        """All pairs of the positions `queries` and `keys`, for kernels that compute all."""
        queries, keys = queries[..., None], keys[:, None]
        allowed = (queries < self.global_tokens) | (keys < self.global_tokens)
        seen = self.blocks_seen(queries[..., 0] // self.block, counts, causal)
        for blocks in seen.unbind(dim=-1):
            allowed = allowed | ((keys // self.block == blocks[..., None]) & self.within(queries, keys))
        return allowed[:, None]


@dataclass(frozen=True)
class SlidingWindow(Pattern):
    """Sliding window: the positions at most `block` away on each side (Beltagy et al. 2020, section 3.1).

    Their w is twice that. `reach` is 1: with blocks as long as a side, no position sees further than the next block.
    """

    reach: int = 1

    def within(self, queries: Tensor, keys: Tensor) -> Tensor:
        return (queries - keys).abs() <= self.block


@dataclass(frozen=True)
class BigBird(Pattern):
    """Blocks of a window, and `random` blocks drawn for each block of queries (Zaheer et al. 2020, section 2).

    They are drawn with replacement from all blocks of the sentence, in causal attention from those before, by numbers
    that depend on `seed`, on the block of queries and on nothing else: the same in every pass, and in every length.
    """

    random: int = 0
    seed: int = 0

    def blocks_seen(self, own: Int[Tensor, "#batch block"], counts: Int[Tensor, "#batch"], causal: bool) -> Blocks:
        near = super().blocks_seen(own, counts, causal)
        draws = torch.arange(self.random, device=own.device)
        numbers = scrambled(scrambled(own[..., None] + self.seed * 0x9E3779B1) + draws)
        blocks = -(-counts[:, None, None] // self.block)
        drawn = (numbers * (own[..., None] if causal else blocks)) >> 32
        rows = max(near.shape[0], drawn.shape[0])
        return torch.cat((near.expand(rows, -1, -1), drawn.expand(rows, -1, -1)), dim=-1)


def scrambled(numbers: Tensor) -> Tensor:
    """32 bits that look random for each integer, the same on every device: multiplications and shifts that mix them."""
    x = numbers & 0xFFFFFFFF
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = ((x ^ (x >> shift)) * factor) & 0xFFFFFFFF
    return x ^ (x >> 16)
