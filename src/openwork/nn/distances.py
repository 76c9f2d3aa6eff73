"""Positions inside attention: scores that depend on how far a key is from its query.

Each kind has two methods. `rotate` prepares queries and keys by their position in the sentence; `bias` gives
what is added to the scores. The last query is at the last key, as in `masks.py`, so that steps with a cache are
rows of the whole. Cross-attention has no distances: its queries and keys are in different sentences.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from openwork.nn.positions import SinusoidTable
from openwork.nn.shapes import Queries, Scores


class Distances(nn.Module):
    """How attention depends on the distance of a query and a key; by itself it does not."""

    def rotate(self, heads: Tensor, first: int) -> Tensor:
        """Queries or keys (batch, head, position, head_width), the first of them at position `first`."""
        return heads

    def bias(self, query: Tensor, keys: int, scale: float) -> Tensor | None:
        """A number added to each score of `keys` keys, broadcastable to (batch, head, query, key); None: nothing."""
        return None


def offsets(queries: int, keys: int, device: torch.device | None = None) -> Int[Tensor, "query key"]:
    """Position of the key minus position of the query: 0 where a query meets its own key, negative for earlier keys."""
    positions = torch.arange(keys, device=device)
    return positions[None, :] - (torch.arange(queries, device=device)[:, None] + (keys - queries))


class NoDistances(Distances):
    """The paper's: queries and keys as they are, since the embeddings hold the positions."""


class Rotary(SinusoidTable, Distances):
    """Rotates each pair of numbers by pos / 10000^(2i / head_width) (Su et al. 2021, equation 34).

    A query at m and a key at n, both rotated, have the product of the query and the key rotated by n - m alone.
    The angles are those of the sinusoids, so the table is the same.
    """

    def rotate(
        self, heads: Float[Tensor, "batch head position head_width"], first: int
    ) -> Float[Tensor, "batch head position head_width"]:
        """The pairs (x_2i, x_2i+1), rotated; in float32 at least, as far positions need the digits."""
        sine, cosine = self.rows(first, first + heads.shape[-2]).unflatten(-1, (-1, 2)).unbind(-1)
        even, odd = heads.to(torch.promote_types(heads.dtype, torch.float32)).unflatten(-1, (-1, 2)).unbind(-1)
        rotated = torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), dim=-1)
        return rotated.flatten(-2).to(heads.dtype)


def slopes(heads: int) -> list[float]:
    """2^(-8/h), 2^(-16/h), ... 2^-8 for h heads, a power of two (Press et al. 2022, section 3).

    For other numbers, as in their code: those of the next lower power of two, then every other one of the next higher.
    """
    power = 2 ** (heads.bit_length() - 1)
    found = [2 ** (-8 * head / power) for head in range(1, power + 1)]
    between = [2 ** (-4 * head / power) for head in range(1, 2 * power + 1, 2)]
    return [*found, *between][:heads]


class LinearBiases(Distances):
    """ALiBi: each score is lowered by slope x distance, with a slope of its own for each head (Press et al. 2022).

    They have only earlier keys; in the encoder later keys are lowered alike.
    """

    slopes: Tensor

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(heads)), persistent=False)

    def bias(self, query: Queries, keys: int, scale: float) -> Float[Tensor, "head query key"]:
        distance = offsets(query.shape[-2], keys, query.device).abs()
        return -self.slopes[:, None, None] * distance


class RelativeKeys(Distances):
    """Adds to each key a learned vector for its offset from the query, clipped at k (Shaw et al. 2018, equation 4).

    The vectors are shared by the heads. They are added to the keys alone and not also to the values: that would need
    the weights of all pairs, and their table 3 finds the same BLEU without.
    """

    def __init__(self, head_width: int, clipping: int) -> None:
        super().__init__()
        self.clipping = clipping
        self.table = nn.Embedding(2 * clipping + 1, head_width)  # w^K, of the offsets -k to k

    def bias(self, query: Queries, keys: int, scale: float) -> Scores:
        """q (k + a)^T = q k^T + q a^T: each query meets all vectors once, and each key takes the one of its offset."""
        products = query @ self.table.weight.to(query.dtype).T * scale
        index = offsets(query.shape[-2], keys, query.device).clamp(-self.clipping, self.clipping) + self.clipping
        return products.gather(-1, index.expand(*products.shape[:2], -1, -1))


class BucketedBiases(Distances):
    """Adds to each score a learned number for its head and for the bucket of the offset (Raffel et al. 2020, T5).

    The nearest offsets have a bucket each; further ones share buckets that widen with the logarithm of the distance,
    and from `furthest` on all are in the last one. With `both_ways` half of the buckets are for later keys; without,
    later keys are in the bucket of distance 0. T5 has one table for all layers of a stack; here each layer has its own.
    """

    def __init__(self, heads: int, buckets: int, furthest: int, *, both_ways: bool) -> None:
        super().__init__()
        self.furthest = furthest
        self.both_ways = both_ways
        self.table = nn.Embedding(buckets, heads)

    def bias(self, query: Queries, keys: int, scale: float) -> Float[Tensor, "head query key"]:
        return self.table(self.bucket(offsets(query.shape[-2], keys, query.device))).permute(2, 0, 1)

    def bucket(self, offset: Int[Tensor, "query key"]) -> Int[Tensor, "query key"]:
        count = self.table.num_embeddings // 2 if self.both_ways else self.table.num_embeddings
        distance = offset.abs() if self.both_ways else (-offset).clamp(min=0)
        near = count // 2
        growth = (distance.clamp(min=near).float() / near).log() / math.log(self.furthest / near)
        far = (near + (growth * (count - near)).long()).clamp(max=count - 1)
        found = torch.where(distance < near, distance, far)
        return found + count * (offset > 0) if self.both_ways else found
