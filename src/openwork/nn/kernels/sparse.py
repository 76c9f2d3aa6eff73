"""Attention that computes only the blocks of a pattern: windows, random blocks and global tokens.

Each block of queries meets the keys of the global tokens, and those of the blocks that it sees, gathered side by side
(Zaheer et al. 2020, appendix D; Beltagy et al. 2020, section 3.2). The few queries of global tokens meet all keys. So
time and memory grow with the length. `reference.attention` with the same mask computes all pairs, and gives the same.
"""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from openwork.nn.dropout import dropout as dropped
from openwork.nn.kernels import WeightFunction, reference, widened
from openwork.nn.masks import Mask
from openwork.nn.patterns import NONE, Blocks
from openwork.nn.shapes import Bias, HeadOutputs, Keys, Queries, Values


def attention(
    query: Queries,
    key: Keys,
    value: Values,
    mask: Mask,
    scale: float,
    dropout: float = 0.0,
    bias: Bias | None = None,
    weight_function: WeightFunction | None = None,
) -> HeadOutputs:
    """Equation 1 over the pairs of the mask's pattern, by blocks; without a pattern, by the formula.

    Biases and other weights, and masks of given pairs, are for all pairs: these are computed by the formula.
    """
    if mask.pattern is None or any(other is not None for other in (bias, weight_function, mask.allowed)):
        return reference.attention(query, key, value, mask, scale, dropout, bias, weight_function)
    with torch.autocast(query.device.type, enabled=False):
        q, k, v = widened(query, key, value)
        if mask.key_starts is None:
            return _from_the_left(q, k, v, mask, scale, dropout).to(query.dtype)
        size, starts = key.shape[-2], mask.key_starts
        by = starts[:, None] + torch.arange(size, device=starts.device)
        q, k, v = (_moved(one, by) for one in _level(q, k, v))
        moved = replace(mask, key_starts=None, key_lengths=size - starts)
        found = _from_the_left(q, k, v, moved, scale, dropout)
        places = torch.arange(size - query.shape[-2], size, device=starts.device) - starts[:, None]
        return (_moved(found, places) * (places >= 0)[:, None, :, None]).to(query.dtype)


def is_worthwhile(query: Queries, mask: Mask) -> bool:
    """Whether queries are so many that blocks are less work than all pairs."""
    if mask.pattern is None:
        return False
    own = torch.zeros(1, 1, dtype=torch.long)
    each = mask.pattern.blocks_seen(own, torch.ones(1, dtype=torch.long), mask.is_causal).shape[-1]
    return query.shape[-2] > each * mask.pattern.block + mask.pattern.global_tokens


def _level(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """With as many queries as keys: zeros in the place of those that were computed before."""
    return torch.nn.functional.pad(query, (0, 0, key.shape[-2] - query.shape[-2], 0)), key, value


def _moved(heads: Tensor, columns: Int[Tensor, "batch position"]) -> Tensor:
    """The given columns of each row; those that are outside of it give its edge."""
    index = columns.clamp(0, heads.shape[-2] - 1)[:, None, :, None]
    return heads.gather(-2, index.expand(*heads.shape[:2], -1, heads.shape[-1]))


def _from_the_left(query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float, dropout: float) -> Tensor:
    """Rows whose padding, if any, is on the right."""
    pattern, size, queries = mask.pattern, key.shape[-2], query.shape[-2]
    assert pattern is not None
    found = _local(*_level(query, key, value), mask, scale, dropout)[:, :, size - queries : size]
    first = min(pattern.global_tokens, size) - (size - queries)  # so many of the queries are global tokens
    if mask.is_causal or first <= 0:
        return found
    everything = replace(mask, pattern=None)
    whole = reference.attention(query[:, :, :first], key, value, everything, scale, dropout)
    return torch.cat((whole, found[:, :, first:]), dim=-2)


def _local(query: Tensor, key: Tensor, value: Tensor, mask: Mask, scale: float, dropout: float) -> Tensor:
    """Each query over the keys of global tokens and of its blocks; as many queries as keys, and some for padding."""
    pattern, size = mask.pattern, key.shape[-2]
    assert pattern is not None
    count = -(-size // pattern.block)
    keys = _keys(mask, size, count, key.device)
    queries = torch.arange(count * pattern.block, device=key.device).unflatten(0, (count, pattern.block, 1))
    lengths = mask.counts(size, key.device)[:, None, None, None]
    allowed = (keys >= 0) & (keys < lengths) & ((keys < pattern.global_tokens) | pattern.within(queries, keys))
    if mask.is_causal:
        allowed = allowed & (keys <= queries)
    padded = torch.nn.functional.pad(query, (0, 0, 0, count * pattern.block - size))
    scores = padded.unflatten(2, (count, pattern.block)) @ _gathered(key, keys).transpose(-2, -1) * scale
    weights = scores.masked_fill(~allowed[:, None], reference.NOTHING).softmax(dim=-1)
    weights = torch.where(allowed.any(dim=-1, keepdim=True)[:, None], weights, torch.zeros_like(weights))
    return ((dropped(weights, dropout) if dropout else weights) @ _gathered(value, keys)).flatten(2, 3)


def _keys(mask: Mask, size: int, count: int, device: torch.device) -> Int[Tensor, "#batch block 1 each"]:
    """The positions of the keys that each block of queries meets, each once; NONE where there is none."""
    pattern = mask.pattern
    assert pattern is not None
    blocks = torch.arange(count, device=device)[None]
    seen = _distinct(pattern.blocks_seen(blocks, mask.counts(size, device), mask.is_causal))
    nearby = (seen[..., None] * pattern.block + torch.arange(pattern.block, device=device)).flatten(2)
    nearby = nearby.masked_fill((nearby < pattern.global_tokens) | (nearby >= size), NONE)
    first = torch.arange(min(pattern.global_tokens, size), device=device)
    return torch.cat((first.expand(*nearby.shape[:2], -1), nearby), dim=-1)[:, :, None]


def _distinct(seen: Blocks) -> Blocks:
    """NONE in the place of blocks that came before in their row."""
    again = (seen[..., :, None] == seen[..., None, :]).tril(-1).any(dim=-1)
    return seen.masked_fill(again, NONE)


def _gathered(
    heads: Float[Tensor, "batch head key width"], keys: Int[Tensor, "#batch block 1 each"]
) -> Float[Tensor, "batch head block each width"]:
    """The vectors at these positions; what is at NONE is hidden later."""
    batch, count, size, _ = heads.shape
    rows = torch.arange(batch, device=heads.device)[:, None, None] * size + keys[:, :, 0].clamp(min=0)
    found = heads.transpose(1, 2).flatten(2).flatten(0, 1).index_select(0, rows.flatten())
    return found.unflatten(0, tuple(rows.shape)).unflatten(-1, (count, -1)).permute(0, 3, 1, 2, 4)
